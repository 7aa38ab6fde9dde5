//! Two runs laid on each other: numbers, phases, outputs, functions, and one sentence that explains.
//!
//! This tells what differs; whether a difference is a regression is a verdict's to say.

mod icicle;
mod page;
mod rules;
mod sentence;
mod text;

use std::collections::BTreeMap;

use serde::Serialize;

use super::plain;
use crate::model::metric::{BUILT_IN, Unit};
use crate::profile::model::{Profile, Weight};
use crate::profile::view::difference::{Change, Charge, Difference, Pair, difference};
use crate::record::{FileRole, Metric, Record};

pub use page::{markdown, page};
pub use rules::FunctionRules;
pub use text::render;

use rules::Said;

/// Most functions of a profile that are told.
const FUNCTIONS_MAX: usize = 15;
/// A change of a function below this share of everything is not told.
const SHARE_MIN: f64 = 0.005;
/// Most outputs that are named.
const OUTPUTS_MAX: usize = 20;

/// One of the two runs.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The record.
    pub record: &'a Record,
    /// Its profiles.
    pub profiles: &'a [Profile],
}

/// What differs.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// The first run.
    pub before: String,
    /// The second.
    pub after: String,
    /// One sentence.
    pub sentence: String,
    /// Why the numbers may not be comparable, one sentence each.
    pub warnings: Vec<String>,
    /// Numbers of the job that both have.
    pub metrics: Vec<Moved>,
    /// Durations of phases and steps that both have.
    pub durations: Vec<Moved>,
    /// Outputs whose sha256 differs, or that only one run has.
    pub outputs: Vec<String>,
    /// Profiles that both have.
    pub profiles: Vec<Pairing>,
    /// Functions that are worse than a rule of `[[function]]` allows, one sentence each.
    pub worse: Vec<String>,
    /// Functions that changed and that a rule says are known, one sentence each.
    pub ignored: Vec<String>,
}

/// A number in both runs.
#[derive(Debug, Serialize)]
pub struct Moved {
    /// What it is, for people.
    pub label: String,
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// In the first run.
    pub before: f64,
    /// In the second.
    pub after: f64,
}

/// A profile of the second run and its partner.
#[derive(Debug, Serialize)]
pub struct Pairing {
    /// Which.
    pub label: String,
    /// What changed, the greatest change first; `None` where they cannot be laid on each other.
    pub difference: Option<Told>,
    /// Why they cannot; empty where they can.
    pub why: String,
}

/// The part of a difference that is told.
#[derive(Debug, Serialize)]
pub struct Told {
    /// What is weighed, the same on both sides.
    pub weight: Weight,
    /// What all functions spent.
    pub sum: Pair,
    /// What may mislead: one sentence each.
    pub notices: Vec<String>,
    /// The functions that are told, the greatest change first.
    pub functions: Vec<Noted>,
    /// The project's own functions that changed, with what they call outside of it; empty where
    /// a side does not tell who called whom.
    pub charged: Vec<Charge>,
    /// How many functions changed by less than noise, or by next to nothing.
    pub quiet: usize,
    /// How many changed by more and are not told.
    pub left_out: usize,
    /// How many changed by more and are hidden by a rule.
    pub hidden: usize,
}

/// A function that changed.
#[derive(Debug, Serialize)]
pub struct Noted {
    /// What changed.
    #[serde(flatten)]
    pub change: Change,
    /// What a rule says of it; empty where none does.
    pub rule: String,
}

impl Moved {
    /// The change as a share of the first; `None` where that is 0.
    pub(super) fn relative(&self) -> Option<f64> {
        (self.before != 0.0).then(|| (self.after - self.before) / self.before.abs())
    }
}

/// Lays two runs on each other.
pub fn findings(before: Side<'_>, after: Side<'_>, rules: &FunctionRules) -> Findings {
    let metrics = metrics(&before.record.metrics, &after.record.metrics);
    let (mut worse, mut ignored) = (Vec::new(), Vec::new());
    let mut told = |difference| told(difference, rules, &mut worse, &mut ignored);
    let profiles: Vec<Pairing> = after
        .profiles
        .iter()
        .filter_map(|profile| pairing(before.profiles, profile, &mut told))
        .collect();
    Findings {
        before: name(before.record),
        after: name(after.record),
        sentence: sentence::explain(&metrics, &profiles),
        warnings: warnings(before, after),
        metrics,
        durations: durations(before.record, after.record),
        outputs: outputs(before.record, after.record),
        profiles,
        worse,
        ignored,
    }
}

/// Whether the two ran on machines that may be compared.
pub fn same_machines(before: &Record, after: &Record) -> bool {
    before.machine.group == after.machine.group
}

fn name(record: &Record) -> String {
    let sha = record.commit.sha.as_ref().map_or("no commit", |sha| sha.short());
    format!("{} at {sha} ({})", plain::name(&record.run.job), plain::name(&record.run.id))
}

fn warnings(before: Side<'_>, after: Side<'_>) -> Vec<String> {
    let (one, other) = (before.record, after.record);
    let mut warnings = Vec::new();
    let mut differs = |what: &str, a: &str, b: &str| {
        if a != b {
            let (a, b) = (plain::line(a, 120), plain::line(b, 120));
            warnings.push(format!("{what} differ: {a} and {b}"));
        }
    };
    differs("the machine groups", &one.machine.group, &other.machine.group);
    differs("the jobs", &one.run.job, &other.run.job);
    differs("the profilers", &one.tool.profiler.name, &other.tool.profiler.name);
    let params = |record: &Record| {
        let identity = record.params.iter().filter(|(_, param)| param.identity);
        let list: Vec<String> =
            identity.map(|(name, param)| format!("{name}={}", param.value)).collect();
        list.join(", ")
    };
    differs("the params", &params(one), &params(other));
    for (record, which) in [(one, "first"), (other, "second")] {
        if record.run.repetitions.completed == 0 {
            warnings.push(format!("no repetition of the {which} run is complete"));
        }
        if record.disturbed_by().next().is_some() {
            warnings.push(format!("the {which} run was disturbed"));
        }
        if record.notices.iter().any(|notice| notice.code == "profiled") {
            warnings.push(format!("the numbers of the {which} run include its profiler's cost"));
        }
    }
    if before.profiles.is_empty() != after.profiles.is_empty() {
        warnings.push("only one of the runs has a profile".to_owned());
    }
    warnings
}

/// Built-in metrics in their order, then the job's own.
fn metrics(before: &BTreeMap<String, Metric>, after: &BTreeMap<String, Metric>) -> Vec<Moved> {
    let built_in = BUILT_IN.iter().map(|metric| (metric.name, metric.label));
    let is_own = |name: &&String| BUILT_IN.iter().all(|metric| metric.name != name.as_str());
    let own = after.keys().filter(is_own).map(|name| (name.as_str(), name.as_str()));
    let moved = |(name, label): (&str, &str)| {
        let (one, other) = (before.get(name)?, after.get(name)?);
        // Values of another source or method are not comparable, even under one name.
        let same =
            one.unit == other.unit && one.source == other.source && one.method == other.method;
        same.then(|| Moved {
            label: plain::line(label, 80),
            name: plain::line(name, 80),
            unit: other.unit.clone(),
            before: one.value,
            after: other.value,
        })
    };
    built_in.chain(own).filter_map(moved).collect()
}

fn durations(before: &Record, after: &Record) -> Vec<Moved> {
    let of = |label: String, one: Option<&Metric>, other: Option<&Metric>| {
        Some(Moved {
            name: label.clone(),
            label,
            unit: Unit::Seconds,
            before: one?.value,
            after: other?.value,
        })
    };
    let steps = after.steps.iter().filter(|_| after.steps.len() > 1).filter_map(|step| {
        let other = before.steps.iter().find(|other| other.name == step.name)?;
        let label = format!("step {}", plain::name(&step.name));
        of(label, other.metrics.get("duration"), step.metrics.get("duration"))
    });
    let phases = after.phases.iter().enumerate().filter_map(|(at, phase)| {
        let is_same =
            |other: &&crate::record::Phase| other.name == phase.name && other.step == phase.step;
        // A phase that comes several times is set beside its own turn.
        let turn = after.phases[..at].iter().filter(is_same).count();
        let other = before.phases.iter().filter(is_same).nth(turn)?;
        let label = format!("phase {}", plain::name(&phase.name));
        of(label, other.metrics.get("duration"), phase.metrics.get("duration"))
    });
    steps.chain(phases).collect()
}

fn outputs(before: &Record, after: &Record) -> Vec<String> {
    let digests = |record: &Record| -> BTreeMap<String, Option<String>> {
        let outputs = record
            .files
            .iter()
            .filter(|file| matches!(file.role, FileRole::Collected | FileRole::Kept));
        outputs.map(|file| (file.path.clone(), file.sha256.clone())).collect()
    };
    let (one, other) = (digests(before), digests(after));
    let mut told = Vec::new();
    for (path, digest) in &other {
        match one.get(path) {
            None => told.push(format!("{} is new", plain::line(path, 200))),
            Some(old) if old.is_some() && digest.is_some() && old != digest => {
                told.push(format!("{} differs", plain::line(path, 200)));
            }
            Some(_) => {}
        }
    }
    let gone = one.keys().filter(|path| !other.contains_key(*path));
    told.extend(gone.map(|path| format!("{} is gone", plain::line(path, 200))));
    if told.len() > OUTPUTS_MAX {
        let more = told.len() - OUTPUTS_MAX;
        told.truncate(OUTPUTS_MAX);
        told.push(format!("and {more} more"));
    }
    told
}

/// The profile of the first run that belongs to this one; `None` where there is none.
fn pairing(
    before: &[Profile],
    after: &Profile,
    told: &mut impl FnMut(Difference) -> Told,
) -> Option<Pairing> {
    let partner = partner(before, after)?;
    let label = label(after);
    Some(match difference(partner, after) {
        Ok(difference) => Pairing { label, difference: Some(told(difference)), why: String::new() },
        Err(why) => Pairing { label, difference: None, why: why.to_string() },
    })
}

fn partner<'p>(before: &'p [Profile], after: &Profile) -> Option<&'p Profile> {
    before.iter().find(|other| other.step == after.step && other.name == after.name)
}

fn label(profile: &Profile) -> String {
    let parts = [profile.step.as_deref().unwrap_or("whole job"), &profile.name];
    let parts: Vec<String> =
        parts.iter().filter(|part| !part.is_empty()).map(|part| plain::line(part, 60)).collect();
    parts.join(", ")
}

fn told(
    difference: Difference,
    rules: &FunctionRules,
    worse: &mut Vec<String>,
    ignored: &mut Vec<String>,
) -> Told {
    let Difference { weight, sum, functions, mut charged, notices } = difference;
    let least = SHARE_MIN * sum.before.max(sum.after);
    let counts = |change: &Change| change.is_beyond_noise() && change.own.change().abs() >= least;
    charged.retain(|charge| {
        charge.is_beyond_noise()
            && charge.spent.change().abs() >= least
            && !rules.hides(&charge.file, &charge.function)
    });
    charged.truncate(FUNCTIONS_MAX);
    let mut told = Told {
        weight,
        sum,
        notices,
        functions: Vec::new(),
        charged,
        quiet: 0,
        left_out: 0,
        hidden: 0,
    };
    for change in functions {
        if !counts(&change) {
            told.quiet += 1;
            continue;
        }
        let rule = match rules.said(&change, &told.weight.unit) {
            Said::Hidden => {
                told.hidden += 1;
                continue;
            }
            Said::TooSmall => {
                told.quiet += 1;
                continue;
            }
            Said::Nothing => String::new(),
            Said::Ignored(reason) => {
                let reason = plain::line(&reason, 200);
                ignored.push(format!("{}: {reason}", sentence::moved_by(&change, &told.weight)));
                format!("known: {reason}")
            }
            Said::Worse(limit) => {
                let moved = sentence::moved_by(&change, &told.weight);
                worse.push(format!("{moved}: more than the {limit} that a rule allows"));
                format!("over {limit}")
            }
        };
        if told.functions.len() < FUNCTIONS_MAX {
            told.functions.push(Noted { change, rule });
        } else {
            told.left_out += 1;
        }
    }
    told
}

#[cfg(test)]
mod tests;
