//! Levels of a history and the points where they changed.
//!
//! Numbers are judged as logarithms. An exact cut into levels gives candidates ([`segment`]); what
//! the noise and the resemblance of neighbours explain is given up again ([`boundary`],
//! [`levels`]); machines and slow trends are fitted beside the levels ([`machines`], [`trend`]).
//! The smallest effect worth telling decides only what is told, never where the levels are. No
//! step uses chance: the same input gives the same answer.

mod boundary;
mod exact;
pub mod file;
pub mod judgement;
mod levels;
mod limits;
mod machines;
mod noise;
mod part;
mod segment;
pub mod series;
#[cfg(test)]
mod tests;
mod transient;
mod trend;

use judgement::{ChangePoint, Estimate, Judgement, State};
use part::Part;
use series::{Judged, Scale, Series};

pub use boundary::two_sided as chance_of;

/// The smallest change worth telling. Both parts must be reached, where both are given.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effect {
    /// A share of the level.
    pub relative: Option<f64>,
    /// An amount, in the metric's unit.
    pub absolute: Option<f64>,
}

impl Effect {
    /// An effect that is a share.
    pub const fn share(share: f64) -> Self {
        Self { relative: Some(share), absolute: None }
    }

    /// The smallest change of the level `from` that is worth telling, in the metric's unit.
    pub fn least(self, from: f64) -> f64 {
        let share = self.relative.map_or(0.0, |share| share * from.abs());
        share.max(self.absolute.unwrap_or(0.0))
    }

    /// Whether a change from `from` to `to` is worth telling; no change never is.
    pub fn is_reached(self, from: f64, to: f64) -> bool {
        let difference = (to - from).abs();
        // A share of numbers that were computed: the last digit must not decide.
        let slack = 1.0 + 1e-9;
        let share = self.relative.is_none_or(|share| difference * slack >= share * from.abs());
        let amount = self.absolute.is_none_or(|amount| difference * slack >= amount);
        difference > 0.0 && share && amount
    }
}

/// Judges `series`. `least` is the smallest change worth telling; for exact numbers `least_exact`.
pub fn judge(series: &Series, least: Effect, least_exact: Effect) -> Judgement {
    let whole = Judged::of(series);
    let exact = exact::is_exact(&whole, series.exact);
    let effect = if exact { least_exact } else { least };
    let mut judgement = Judgement {
        scale: whole.scale,
        exact,
        noise: 0.0,
        judged: 0,
        calibrating: Vec::new(),
        machines: Vec::new(),
        levels: Vec::new(),
        change_points: Vec::new(),
        transients: Vec::new(),
        trend: None,
        limits: None,
    };
    for judged in whole.parts() {
        let part = Part::new(judged, exact, effect);
        if let (Some(before), Some(first)) = (judgement.levels.last(), part.levels.first()) {
            let (index, from, to) = (first.from, before.value, first.value);
            judgement.change_points.push(accepted(
                index,
                before.to,
                from,
                to,
                first.points,
                &whole,
            ));
        }
        part.add_to(&mut judgement);
    }
    judgement
}

/// A change that people accepted, as it is told.
fn accepted(
    index: usize,
    after: usize,
    from: f64,
    to: f64,
    points: usize,
    whole: &Judged,
) -> ChangePoint {
    let sure = |value| Estimate { value, low: value, high: value };
    ChangePoint {
        index,
        after: Some(after),
        range: (index, index),
        state: State::Accepted,
        from,
        to,
        ratio: (whole.scale == Scale::Ratio).then(|| sure(to / from)),
        difference: sure(to - from),
        p: None,
        points,
        gap: 0,
        machine_changed: false,
    }
}
