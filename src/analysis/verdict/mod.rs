//! Whether one run is slower: its numbers against the level of its history.
//!
//! A single run outside the limits of its level is *unusual*, never more. *Suspected* and
//! *confirmed* are words of a change point, which takes at least three runs. What fails must have
//! more than one run's evidence, unless the numbers are exact.

mod metric;
mod repetitions;
#[cfg(test)]
mod tests;

use std::time::Duration;

use super::histories::{Rules, Standing, accepted_for};
use super::history::Effect;
use super::history::judgement::{Limits, State};
use crate::config::MetricRule;
use crate::config::scalar::Threshold;
use crate::model::metric::{Better, Unit, built_in};
use crate::model::names::CommitSha;
use crate::record::index::{Entry, Line};

/// Over all judged metrics together, the share of wrong words among those said.
const FALSE_SHARE: f64 = 0.01;

/// How runs are judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judging {
    /// Which runs enter histories, and what people accepted.
    pub rules: Rules,
    /// The judged metrics; empty: `cpu_time`.
    pub metrics: Vec<MetricRule>,
    /// Shorter jobs are measured again when a run is unusual.
    pub confirm_within: Duration,
    /// Files that a change may touch without changing what the job does.
    pub quiet_paths: Vec<String>,
    /// Whether a configuration says so; else what the results repository keeps of one counts.
    pub given: bool,
}

/// What is known of a run beside its line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Commits since which only files changed that need no run, documents for example.
    pub unchanged_since: Vec<CommitSha>,
    /// Other commits with the very same files.
    pub same_trees: Vec<CommitSha>,
    /// Measured commits that the run's commit descends from, the nearest first.
    pub ancestors: Vec<CommitSha>,
}

/// What can be said of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunVerdict {
    /// Over all judged metrics.
    pub word: Word,
    /// How loud it is.
    pub severity: Severity,
    /// Whether measuring again would decide.
    pub confirm: bool,
    /// Of each judged metric, in the order of the configuration.
    pub metrics: Vec<MetricVerdict>,
}

/// The verdict's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    /// There is no number to judge.
    NothingMeasured,
    /// It cannot be told.
    Inconclusive,
    /// No change larger than what would have been seen.
    Unchanged,
    /// It moved, and neither way is better.
    Changed,
    /// Better.
    Improved,
    /// Worse.
    Regressed,
    /// Some metrics are better, some worse.
    Mixed,
}

impl Word {
    /// The word itself.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NothingMeasured => "nothing measured",
            Self::Inconclusive => "inconclusive",
            Self::Unchanged => "unchanged",
            Self::Changed => "changed",
            Self::Improved => "improved",
            Self::Regressed => "regressed",
            Self::Mixed => "mixed",
        }
    }
}

/// How loud a verdict is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing to do.
    #[default]
    Quiet,
    /// Worse than a limit that warns.
    Warns,
    /// Worse than a limit that fails, by more than one run's evidence.
    Fails,
}

/// What can be said of one metric of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricVerdict {
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: Unit,
    /// The word.
    pub word: Word,
    /// What the word rests on.
    pub evidence: Evidence,
    /// The run's value; `None` where it has none.
    pub value: Option<f64>,
    /// What it was held against.
    pub baseline: Option<Baseline>,
    /// The value, or the new level, over the baseline; `None` where a ratio says nothing.
    pub ratio: Option<f64>,
    /// Where the value was expected.
    pub limits: Option<Limits>,
    /// The chance of such a value if nothing had changed.
    pub p: Option<f64>,
    /// How loud it is.
    pub severity: Severity,
    /// The limits in force: the smallest effect, the one that warns, the one that fails.
    pub bounds: Bounds,
    /// Why it is not louder.
    pub caveats: Vec<Caveat>,
    /// Why nothing is said about it for now.
    pub ignored: Option<String>,
}

/// What a word rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Nothing to rest on: what is missing.
    Missing(Missing),
    /// The value lies within its limits.
    Within,
    /// One run, or so many of one commit, outside the limits.
    Unusual {
        /// How many.
        runs: usize,
    },
    /// A change point.
    ChangePoint {
        /// How sure it is.
        state: State,
        /// How many runs the new level has.
        runs: usize,
    },
    /// Exact numbers that differ.
    Exact,
    /// The repetitions of two runs: it may warn and never fail.
    Provisional,
}

/// What is missing for a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The run has no such number.
    Value,
    /// It is the first of its history.
    Earlier,
    /// The level has too few runs: so many.
    Runs(usize),
}

/// What a run was held against.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// The level, in the metric's unit.
    pub level: f64,
    /// How many runs it has.
    pub runs: usize,
    /// The commit of its newest run.
    pub commit: Option<CommitSha>,
    /// That run's folder.
    pub path: String,
    /// Whether that commit is known to be an ancestor of the run's.
    pub is_ancestor: bool,
}

/// Limits of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Smaller changes are not told.
    pub least: Effect,
    /// Worse by more warns.
    pub warn: Effect,
    /// Worse by more fails.
    pub fail: Effect,
}

/// Why a verdict may warn and not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caveat {
    /// Something else took the machine's time.
    Disturbed,
    /// Another machine or tool than that of the baseline.
    OtherMachine,
    /// The baseline is the same commit.
    SameCommit,
    /// The baseline's commit has the same files.
    SameTree,
    /// Only files changed that need no run.
    NothingChanged,
    /// It rests on one run.
    OneRun,
}

impl Caveat {
    /// The reason in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Disturbed => "the run was disturbed",
            Self::OtherMachine => "the machine, its image or the profiler is another one",
            Self::SameCommit => "the baseline is the same commit",
            Self::SameTree => "the baseline's commit has the same files",
            Self::NothingChanged => "only files changed that the job does not read",
            Self::OneRun => "one run is no evidence",
        }
    }
}

/// Judges the run `run` by `lines`, which share its key and may hold it.
pub fn verdict(lines: &[&Line], run: &Line, facts: &Facts, judging: &Judging) -> RunVerdict {
    let names: Vec<&str> = match judging.metrics.as_slice() {
        [] => vec![by_default(run)],
        rules => rules.iter().map(|rule| rule.name.as_str()).collect(),
    };
    let mut metrics: Vec<MetricVerdict> =
        names.iter().map(|name| metric::judge(name, lines, run, facts, judging)).collect();
    discover(&mut metrics);
    for verdict in &mut metrics {
        let rule = judging.metrics.iter().find(|rule| rule.name == verdict.metric);
        let accepted = accepted_for(run, &verdict.metric, &judging.rules.epochs).map(str::to_owned);
        metric::conclude(verdict, rule, accepted, run);
    }
    let short = run
        .metrics
        .get("duration")
        .is_some_and(|duration| duration.value() <= judging.confirm_within.as_secs_f64());
    let undecided = |verdict: &MetricVerdict| {
        verdict.word == Word::Regressed
            && verdict.caveats == [Caveat::OneRun]
            && verdict.ignored.is_none()
    };
    RunVerdict {
        word: overall(&metrics),
        severity: metrics.iter().map(|verdict| verdict.severity).max().unwrap_or_default(),
        confirm: short && metrics.iter().any(undecided),
        metrics,
    }
}

/// What is judged where no configuration says: CPU time, as perftrail measured it or, where the
/// run was measured elsewhere, as that was told.
fn by_default(run: &Line) -> &'static str {
    let told = !run.metrics.contains_key("cpu_time") && run.metrics.contains_key("job.cpu_time");
    if told { "job.cpu_time" } else { "cpu_time" }
}

/// Takes values as unusual whose chance is small even among so many metrics (Benjamini and
/// Hochberg, "Controlling the false discovery rate", JRSS B 57, 1995).
fn discover(metrics: &mut [MetricVerdict]) {
    let mut chances: Vec<f64> = metrics.iter().filter_map(|verdict| verdict.p).collect();
    chances.sort_by(f64::total_cmp);
    let count = chances.len() as f64;
    let holds = |(i, p): &(usize, &f64)| **p <= FALSE_SHARE * (*i as f64 + 1.0) / count;
    let bound = chances.iter().enumerate().filter(holds).map(|(_, p)| *p).next_back();
    for verdict in metrics.iter_mut().filter(|verdict| verdict.p.is_some()) {
        let unusual = bound.is_some_and(|bound| verdict.p.is_some_and(|p| p <= bound));
        if verdict.evidence == Evidence::Within && unusual {
            verdict.evidence = Evidence::Unusual { runs: 1 };
        } else if matches!(verdict.evidence, Evidence::Unusual { .. }) && !unusual {
            verdict.evidence = Evidence::Within;
        }
    }
}

fn overall(metrics: &[MetricVerdict]) -> Word {
    let loud = || metrics.iter().filter(|verdict| verdict.ignored.is_none());
    let any = |word: Word| loud().any(|verdict| verdict.word == word);
    if any(Word::Regressed) && any(Word::Improved) {
        return Word::Mixed;
    }
    [Word::Regressed, Word::Improved, Word::Changed, Word::Unchanged, Word::Inconclusive]
        .into_iter()
        .find(|word| any(*word))
        .unwrap_or(if loud().next().is_some() { Word::NothingMeasured } else { Word::Inconclusive })
}

impl Bounds {
    /// The limits that `rule` sets for a metric of `unit`. Without them, what is worth telling is
    /// worth a warning, and enough to fail where failing is asked for.
    pub fn of(rule: Option<&MetricRule>, unit: &Unit, exact: bool) -> Self {
        let usual = match unit {
            _ if exact => Effect::default(),
            Unit::Bytes => Effect::share(0.01),
            _ => Effect::share(0.02),
        };
        let effect = |threshold: Threshold| Effect {
            relative: threshold.relative,
            absolute: threshold.absolute,
        };
        let least = rule.and_then(|rule| rule.min_effect).map_or(usual, effect);
        let warn = rule.and_then(|rule| rule.warn).map_or(least, effect);
        let fail = rule.and_then(|rule| rule.fail).map_or(warn, effect);
        Self { least, warn, fail }
    }
}

/// Which way a metric gets better: as the rule says, else as the metric is; for a job's own its
/// newest entry tells.
pub fn better(rule: Option<&MetricRule>, name: &str, entry: Option<&Entry>) -> Better {
    let known = || built_in(name).map(|known| known.better);
    let own = || known().or_else(|| entry.map(|entry| entry.better(name)));
    rule.and_then(|rule| rule.better).or_else(own).unwrap_or(Better::Neither)
}

/// Whether runs of that standing are points of their history.
fn is_point(run: &Line, judging: &Judging) -> bool {
    Standing::of(run, &judging.rules.events) == Standing::Enters
}
