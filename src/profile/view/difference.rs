//! What changed from one profile to another, by function.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::model::{Frame, FrameKind, FunctionKey, Measured, Origin, Profile, Weight};
use super::charged::charged;
use super::functions::{FunctionCost, functions_by};
use crate::model::metric::Unit;

/// A change that is smaller than so many standard deviations of the counts behind it is noise.
pub const NOISE_DEVIATIONS: f64 = 3.0;

/// Why two profiles cannot be laid on each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Incomparable {
    /// Different units.
    #[error("one profile weighs {one} in `{one_unit}`, the other {other} in `{other_unit}`")]
    Unit {
        /// What the first weighs.
        one: String,
        /// Its unit.
        one_unit: Unit,
        /// What the second weighs.
        other: String,
        /// Its unit.
        other_unit: Unit,
    },
    /// Numbers of different kinds.
    #[error("the {weight} of one profile is {}, of the other {}", one.as_str(), other.as_str())]
    Measured {
        /// What is weighed.
        weight: String,
        /// How the first was come by.
        one: Measured,
        /// How the second was come by.
        other: Measured,
    },
    /// A profile without a weight.
    #[error("a profile weighs nothing")]
    Nothing,
}

/// A number on both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// Of the first profile.
    pub before: f64,
    /// Of the second.
    pub after: f64,
}

impl Pair {
    /// How much more the second has.
    pub fn change(&self) -> f64 {
        self.after - self.before
    }

    /// The change as a share of the first; `None` where that is 0.
    pub fn relative(&self) -> Option<f64> {
        (self.before > 0.0).then(|| self.change() / self.before).filter(|share| share.is_finite())
    }
}

/// On which side a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// On both.
    Both,
    /// Only in the second profile.
    New,
    /// Only in the first.
    Vanished,
}

/// What changed in one function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Its name.
    pub function: String,
    /// Its file.
    pub file: String,
    /// What it belongs to.
    pub module: String,
    /// Whose code it is.
    pub origin: Origin,
    /// The line it is defined on in the second profile, else in the first; 0 where not known.
    pub line: u32,
    /// On which side it is.
    pub presence: Presence,
    /// What it spent itself.
    #[serde(rename = "self")]
    pub own: Pair,
    /// What it spent with all it called; `null` where a side does not know.
    pub total: Option<Pair>,
    /// How often it was called; `null` where a side does not count.
    pub calls: Option<Pair>,
    /// A change of `self` below this is noise; `null` where the counts behind it are not known.
    pub own_noise: Option<f64>,
    /// The same for `total`.
    pub total_noise: Option<f64>,
}

impl Change {
    /// Whether what it spent itself changed by more than noise; for numbers without a known noise
    /// any change does.
    pub fn is_beyond_noise(&self) -> bool {
        self.own.change().abs() > self.own_noise.unwrap_or(0.0)
    }
}

/// What changed in what an own function costs with all that it calls outside the project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Charge {
    /// Its name.
    pub function: String,
    /// Its file.
    pub file: String,
    /// The line it is defined on in the second profile, else in the first; 0 where not known.
    pub line: u32,
    /// What it is charged with.
    pub spent: Pair,
    /// A change below this is noise; `null` where the counts behind it are not known.
    pub noise: Option<f64>,
}

impl Charge {
    /// Whether it changed by more than noise; for numbers without a known noise any change does.
    pub fn is_beyond_noise(&self) -> bool {
        self.spent.change().abs() > self.noise.unwrap_or(0.0)
    }
}

/// What changed between two profiles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// What is weighed, its unit and how it was come by; the same on both sides.
    pub weight: Weight,
    /// What all functions spent.
    pub sum: Pair,
    /// The functions, the greatest change of what they spent themselves first.
    pub functions: Vec<Change>,
    /// The project's own functions with what they call outside of it, the greatest change first;
    /// empty where a side does not tell who called whom.
    pub charged: Vec<Charge>,
    /// What may mislead: one sentence each.
    pub notices: Vec<String>,
}

/// Lays two profiles on each other. Of their weights the first is taken that both have.
///
/// # Errors
/// When no weight of both has the same unit and was come by in the same way.
pub fn difference(before: &Profile, after: &Profile) -> Result<Difference, Incomparable> {
    let (at_before, at_after) = common_weight(before, after)?;
    let sides = [(before, at_before), (after, at_after)];
    let per_sample = sides.map(|(profile, weight)| per_sample(profile, weight));
    let keys = paired_keys(before, after);
    let mut order: Vec<(&Frame, [Option<FunctionCost>; 2])> = Vec::new();
    let mut known = HashMap::new();
    for (side, (profile, weight)) in sides.into_iter().enumerate() {
        for cost in functions_by(profile, weight, &keys[side]) {
            let frame = &profile.frames[cost.frame as usize];
            if frame.kind == FrameKind::Other {
                continue;
            }
            let key = keys[side][cost.frame as usize];
            let place = *known.entry(key).or_insert_with(|| {
                order.push((frame, [None, None]));
                order.len() - 1
            });
            order[place].0 = frame;
            order[place].1[side] = Some(cost);
        }
    }
    let mut changes: Vec<Change> =
        order.into_iter().map(|(frame, costs)| change(frame, costs, per_sample)).collect();
    changes.sort_by(|one, other| {
        let size = |change: &Change| change.own.change().abs();
        size(other)
            .total_cmp(&size(one))
            .then_with(|| (&one.file, &one.function).cmp(&(&other.file, &other.function)))
    });
    Ok(Difference {
        weight: after.weights[at_after].clone(),
        sum: Pair { before: before.sum(at_before), after: after.sum(at_after) },
        functions: changes,
        charged: charges(sides, &keys, per_sample),
        notices: notices(before, after),
    })
}

/// For each side, and each of its frames, the function that it is on both sides. Those of one name in
/// one file are told apart where both sides have as many of them; else nobody knows which is which,
/// and they count as one.
pub(super) fn paired_keys<'p>(
    before: &'p Profile,
    after: &'p Profile,
) -> [Vec<FunctionKey<'p>>; 2] {
    let mut keys = [before.keys(), after.keys()];
    let counts = [&keys[0], &keys[1]].map(|keys| {
        let mut counts: HashMap<FunctionKey<'p>, u32> = HashMap::new();
        for key in keys {
            let count = counts.entry(FunctionKey { nth: 0, ..*key }).or_default();
            *count = (*count).max(key.nth + 1);
        }
        counts
    });
    for key in keys.iter_mut().flatten().filter(|key| key.nth > 0) {
        let one = FunctionKey { nth: 0, ..*key };
        if counts[0].get(&one) != counts[1].get(&one) {
            key.nth = 0;
        }
    }
    keys
}

fn charges(
    sides: [(&Profile, usize); 2],
    keys: &[Vec<FunctionKey<'_>>; 2],
    per_sample: [Option<f64>; 2],
) -> Vec<Charge> {
    let [Some(before), Some(after)] = sides.map(|(profile, weight)| charged(profile, weight))
    else {
        return Vec::new();
    };
    let mut pairs: HashMap<FunctionKey<'_>, (&Frame, Pair)> = HashMap::new();
    for (side, (profile, _), costs) in [(0, sides[0], before), (1, sides[1], after)] {
        for (at, cost) in costs {
            let frame = &profile.frames[at as usize];
            let key = keys[side][at as usize];
            let pair = pairs.entry(key).or_insert((frame, Pair::default()));
            pair.0 = frame;
            *(if side == 0 { &mut pair.1.before } else { &mut pair.1.after }) += cost;
        }
    }
    let mut charges: Vec<Charge> = pairs
        .into_values()
        .map(|(frame, spent)| Charge {
            function: frame.function.clone(),
            file: frame.file.clone(),
            line: frame.line,
            spent,
            noise: noise(spent, per_sample),
        })
        .collect();
    charges.sort_by(|one, other| {
        let size = |charge: &Charge| charge.spent.change().abs();
        size(other)
            .total_cmp(&size(one))
            .then_with(|| (&one.file, &one.function).cmp(&(&other.file, &other.function)))
    });
    charges
}

/// The places of the first weight that both have.
pub(super) fn common_weight(
    before: &Profile,
    after: &Profile,
) -> Result<(usize, usize), Incomparable> {
    let (Some(one), Some(other)) = (before.weights.first(), after.weights.first()) else {
        return Err(Incomparable::Nothing);
    };
    let mut same_unit = None;
    for (at, weight) in before.weights.iter().enumerate() {
        let fits = |other: &&Weight| other.unit == weight.unit && other.measured == weight.measured;
        let named =
            after.weights.iter().position(|other| fits(&other) && other.name == weight.name);
        if let Some(place) = named {
            return Ok((at, place));
        }
        let like = after.weights.iter().position(|other| fits(&other));
        same_unit = same_unit.or(like.map(|place| (at, place)));
    }
    if let Some(places) = same_unit.filter(|_| is_plain(&one.unit)) {
        return Ok(places);
    }
    if one.unit == other.unit && one.measured != other.measured {
        return Err(Incomparable::Measured {
            weight: one.name.clone(),
            one: one.measured,
            other: other.measured,
        });
    }
    Err(Incomparable::Unit {
        one: one.name.clone(),
        one_unit: one.unit.clone(),
        other: other.name.clone(),
        other_unit: other.unit.clone(),
    })
}

/// Seconds are seconds and bytes are bytes, whatever a tool calls them; counts of different
/// things are not.
fn is_plain(unit: &Unit) -> bool {
    matches!(unit, Unit::Seconds | Unit::Bytes)
}

/// What one sample weighs; 0 for exact numbers, `None` where it cannot be known.
pub(super) fn per_sample(profile: &Profile, weight: usize) -> Option<f64> {
    match profile.weights[weight].measured {
        Measured::Exact => Some(0.0),
        Measured::Traced => None,
        Measured::Sampled | Measured::Estimated => {
            let samples = profile.samples.filter(|samples| *samples > 0)?;
            Some(profile.sum(weight) / samples as f64)
        }
    }
}

/// Counts of samples vary as their square root does; both sides add up.
pub(super) fn noise(pair: Pair, per_sample: [Option<f64>; 2]) -> Option<f64> {
    let [one, other] = per_sample;
    let variance = pair.before * one? + pair.after * other?;
    Some(NOISE_DEVIATIONS * variance.sqrt())
}

fn change(frame: &Frame, costs: [Option<FunctionCost>; 2], per_sample: [Option<f64>; 2]) -> Change {
    let presence = match &costs {
        [None, _] => Presence::New,
        [_, None] => Presence::Vanished,
        _ => Presence::Both,
    };
    let [before, after] = costs;
    let side = |cost: &Option<FunctionCost>, get: fn(&FunctionCost) -> Option<f64>| {
        cost.as_ref().map_or(Some(0.0), get)
    };
    let pair = |get: fn(&FunctionCost) -> Option<f64>| {
        Some(Pair { before: side(&before, get)?, after: side(&after, get)? })
    };
    let own = pair(|cost| Some(cost.own)).unwrap_or_default();
    let total = pair(|cost| cost.total);
    Change {
        function: frame.function.clone(),
        file: frame.file.clone(),
        module: frame.module.clone(),
        origin: frame.origin,
        line: frame.line,
        presence,
        own,
        total,
        calls: pair(|cost| cost.calls.map(|calls| calls as f64)),
        own_noise: noise(own, per_sample),
        total_noise: total.and_then(|total| noise(total, per_sample)),
    }
}

fn notices(before: &Profile, after: &Profile) -> Vec<String> {
    let mut notices = Vec::new();
    let tool =
        |profile: &Profile| profile.tool.clone().unwrap_or_else(|| profile.format.to_string());
    if tool(before) != tool(after) {
        notices.push(format!(
            "the profiles come from different tools, {} and {}: differences may be theirs",
            tool(before),
            tool(after)
        ));
    }
    if let (Some(one), Some(other)) = (before.interval, after.interval)
        && one.total_cmp(&other).is_ne()
    {
        notices.push(format!("the sampling intervals differ, {one} s and {other} s"));
    }
    notices
}
