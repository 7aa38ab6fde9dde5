//! What measuring one step gives.

use std::collections::BTreeMap;

use crate::model::metric::{Better, Exactness, Unit};
use crate::model::status::Status;
use crate::record::series::{Series, SeriesSource};
use crate::record::{Notice, Overhead};

use super::log::{BoundedLog, LogBudget};
use super::procfs::Io;

/// One value of a built-in metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// In the metric's base unit; finite.
    pub value: f64,
    /// How far it can be trusted.
    pub exactness: Exactness,
    /// Where it was read: `clock`, `wait4`, `procfs`, `cgroup`, `diskstats`.
    pub source: &'static str,
    /// How it was made from what was read: a short word that stays the same from run to run.
    pub method: &'static str,
    /// The truth is not below this; `None` when nothing is known beyond the value.
    pub lower: Option<f64>,
    /// The truth is not above this; `None` when nothing is known beyond the value.
    pub upper: Option<f64>,
}

impl Reading {
    pub(super) fn new(
        value: f64,
        exactness: Exactness,
        source: &'static str,
        method: &'static str,
    ) -> Self {
        Self { value, exactness, source, method, lower: None, upper: None }
    }

    pub(super) fn between(mut self, lower: Option<f64>, upper: Option<f64>) -> Self {
        self.lower = lower;
        self.upper = upper;
        self
    }
}

/// How the step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Its own code, 127 not found, 126 not executable, 128 + n for a signal, 124 timed out,
    /// however it had to be ended. `None` while it runs.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// `Running`, `Succeeded`, `Failed`, `TimedOut`, `Cancelled` or `OutOfMemory`.
    pub status: Status,
}

/// One step, measured. While the step runs the same shape tells what is known so far.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Seconds from the start to the end of all of it, or to now.
    pub elapsed: f64,
    /// How it ended.
    pub ending: Ending,
    /// Built-in metrics, by name.
    pub readings: BTreeMap<&'static str, Reading>,
    /// Built-in metrics that could not be had, each with its reason.
    pub unavailable: BTreeMap<&'static str, String>,
    /// `memory`, `memory_pss`, `cpu`, `processes`, `threads`, and what the job reported.
    pub series: Vec<Series>,
    /// The job's phases, in order of their begin.
    pub phases: Vec<PhaseSpan>,
    /// What the job reported besides.
    pub reported: Reported,
    /// What the job printed.
    pub output: Output,
    /// What people should know.
    pub notices: Vec<Notice>,
    /// What measuring cost.
    pub overhead: Overhead,
    /// For the judgement of what disturbed the run.
    pub share: Share,
    /// The I/O counters behind the readings; `None` where they could not be had.
    pub io: Option<Io>,
}

impl Measurement {
    /// Whether the job told anything through `PERFTRAIL_STATS`.
    pub fn has_told(&self) -> bool {
        let reported = |series: &Series| series.source == SeriesSource::Reported;
        !self.phases.is_empty()
            || self.reported != Reported::default()
            || self.series.iter().any(reported)
    }
}

/// What the job used, as the judgement of disturbances needs it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// The job's CPU time in seconds.
    pub cpu_time: f64,
    /// Perftrail's own CPU time in seconds.
    pub own_cpu_time: f64,
    /// The job's involuntary context switches; `None` when not known.
    pub involuntary_switches: Option<f64>,
    /// Seconds that the job's threads ran, as sampled; `None` when never sampled.
    pub run_time: Option<f64>,
    /// Seconds that they were ready and waited for a CPU, sampled together with `run_time`.
    pub wait_time: Option<f64>,
}

impl Share {
    /// Both steps together.
    pub fn add(&mut self, other: &Self) {
        let sum = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        self.cpu_time += other.cpu_time;
        self.own_cpu_time += other.own_cpu_time;
        self.involuntary_switches = sum(self.involuntary_switches, other.involuntary_switches);
        self.run_time = sum(self.run_time, other.run_time);
        self.wait_time = sum(self.wait_time, other.wait_time);
    }
}

/// A phase as the job told it.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseSpan {
    /// Its name; a dot groups.
    pub name: String,
    /// Seconds from the start of the step.
    pub begin: f64,
    /// Seconds from the start of the step; `None` when the job never ended it.
    pub end: Option<f64>,
    /// CPU time of the tree within the phase, in seconds, sampled at both marks; `None` for a
    /// phase without end, or where processes cannot be sampled.
    pub cpu_time: Option<f64>,
    /// The greatest memory of the tree seen within the phase, in bytes, summed over processes;
    /// `None` where processes cannot be sampled.
    pub memory_peak: Option<f64>,
}

/// What the job reported through `PERFTRAIL_STATS`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reported {
    /// The last value of each metric, in order of their first.
    pub metrics: Vec<ReportedMetric>,
    /// Sentences for people.
    pub notes: Vec<String>,
}

/// A number of the job's own.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedMetric {
    /// Its name; `job.NAME` where the job used a built-in's name.
    pub name: String,
    /// The last value the job gave, in base units.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// Which way it gets better, where the job said so.
    pub better: Option<Better>,
}

/// What the job printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Both streams, within the budget.
    pub log: BoundedLog,
    /// Bytes on standard output.
    pub stdout_bytes: u64,
    /// Bytes on standard error.
    pub stderr_bytes: u64,
    /// Lines on both.
    pub lines: u64,
    /// How many lines matched each counter; `warnings` is always there.
    pub counts: BTreeMap<String, u64>,
    /// Something kept a stream open after every process had ended: what it wrote later is missing.
    pub truncated: bool,
}

impl Output {
    pub(super) fn empty(budget: LogBudget) -> Self {
        Self {
            log: BoundedLog::new(budget),
            stdout_bytes: 0,
            stderr_bytes: 0,
            lines: 0,
            counts: BTreeMap::new(),
            truncated: false,
        }
    }
}
