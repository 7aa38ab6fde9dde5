//! Metrics: units, directions, exactness, and the one table of built-in metrics.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The unit of a number. Data is always in base units: seconds, bytes, counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
pub enum Unit {
    /// Seconds, `s`.
    Seconds,
    /// Bytes, `B`.
    Bytes,
    /// A plain number of things, `count`.
    Count,
    /// A share of one: 0.02 is two percent, `ratio`.
    Ratio,
    /// The job did not say: an empty text.
    None,
    /// A unit of the job's own, kept as it was written.
    Other(String),
}

impl Unit {
    /// The unit's text in records.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Seconds => "s",
            Self::Bytes => "B",
            Self::Count => "count",
            Self::Ratio => "ratio",
            Self::None => "",
            Self::Other(text) => text,
        }
    }
}

impl From<String> for Unit {
    fn from(text: String) -> Self {
        match text.as_str() {
            "s" => Self::Seconds,
            "B" => Self::Bytes,
            "count" => Self::Count,
            "ratio" => Self::Ratio,
            "" => Self::None,
            _ => Self::Other(text),
        }
    }
}

impl From<Unit> for String {
    fn from(unit: Unit) -> Self {
        unit.as_str().to_owned()
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which way a metric gets better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// Neither: a change is only a change.
    Neither,
}

/// How far a value can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Exactness {
    /// Counted by the kernel or by the job itself.
    Exact,
    /// The truth lies between `lower` and `upper`.
    Bounded,
    /// Seen only at the ticks of the sampler.
    Sampled,
    /// The whole machine's, not the job's.
    Host,
}

/// A built-in metric: what perftrail measures for every job.
#[derive(Debug)]
pub struct BuiltIn {
    /// The key in records, tables and configuration.
    pub name: &'static str,
    /// The words for people.
    pub label: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// Which way it gets better.
    pub better: Better,
    /// How step values make the job's value.
    pub over_steps: OverSteps,
    /// Whether it stands in the first table of a report.
    pub headline: bool,
}

/// How the values of a repetition's steps become the repetition's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverSteps {
    /// They add up.
    Sum,
    /// The greatest counts.
    Max,
}

macro_rules! built_in {
    ($name:literal, $label:literal, $unit:ident, $better:ident, $over:ident, $headline:literal) => {
        BuiltIn {
            name: $name,
            label: $label,
            unit: Unit::$unit,
            better: Better::$better,
            over_steps: OverSteps::$over,
            headline: $headline,
        }
    };
}

/// Every built-in metric, in the order of reports.
pub static BUILT_IN: &[BuiltIn] = &[
    built_in!("duration", "Duration", Seconds, Lower, Sum, true),
    built_in!("duration_tree", "Duration to the last process", Seconds, Lower, Sum, false),
    built_in!("cpu_time", "CPU time", Seconds, Lower, Sum, true),
    built_in!("cpu_user", "CPU time, user", Seconds, Lower, Sum, false),
    built_in!("cpu_system", "CPU time, system", Seconds, Lower, Sum, false),
    built_in!("memory_peak", "Memory, peak", Bytes, Lower, Max, true),
    built_in!("memory_peak_process", "Memory, peak of one process", Bytes, Lower, Max, false),
    built_in!("memory_peak_cgroup", "Memory, peak of the cgroup", Bytes, Lower, Max, false),
    built_in!("disk_read_bytes", "Read from disk", Bytes, Lower, Sum, true),
    built_in!("disk_write_bytes", "Written to disk", Bytes, Lower, Sum, true),
    built_in!("io_read_bytes", "Read by calls", Bytes, Lower, Sum, false),
    built_in!("io_write_bytes", "Written by calls", Bytes, Lower, Sum, false),
    built_in!("io_reads", "Read calls", Count, Lower, Sum, false),
    built_in!("io_writes", "Write calls", Count, Lower, Sum, false),
    built_in!("page_faults_major", "Page faults, major", Count, Lower, Sum, false),
    built_in!("page_faults_minor", "Page faults, minor", Count, Lower, Sum, false),
    built_in!(
        "context_switches_voluntary",
        "Context switches, voluntary",
        Count,
        Lower,
        Sum,
        false
    ),
    built_in!(
        "context_switches_involuntary",
        "Context switches, involuntary",
        Count,
        Lower,
        Sum,
        false
    ),
    built_in!("processes_max", "Processes at once", Count, Neither, Max, false),
    built_in!("threads_max", "Threads at once", Count, Neither, Max, false),
    built_in!("output_bytes", "Size of outputs", Bytes, Neither, Sum, true),
    built_in!("output_files", "Output files", Count, Neither, Sum, false),
    built_in!("warnings", "Warnings", Count, Lower, Sum, true),
    built_in!("host_disk_reads", "Whole machine: disk reads", Count, Neither, Sum, false),
    built_in!("host_disk_writes", "Whole machine: disk writes", Count, Neither, Sum, false),
    built_in!("host_disk_read_bytes", "Whole machine: read from disk", Bytes, Neither, Sum, false),
    built_in!(
        "host_disk_write_bytes",
        "Whole machine: written to disk",
        Bytes,
        Neither,
        Sum,
        false
    ),
    built_in!(
        "host_disk_read_time",
        "Whole machine: time of disk reads",
        Seconds,
        Neither,
        Sum,
        false
    ),
    built_in!(
        "host_disk_write_time",
        "Whole machine: time of disk writes",
        Seconds,
        Neither,
        Sum,
        false
    ),
];

/// The built-in metric of that name.
pub fn built_in(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|metric| metric.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_fit() {
        for (i, metric) in BUILT_IN.iter().enumerate() {
            assert!(crate::model::names::is_metric_name(metric.name));
            assert!(BUILT_IN[..i].iter().all(|earlier| earlier.name != metric.name));
        }
    }

    #[test]
    fn units_round_trip() {
        for text in ["s", "B", "count", "ratio", "", "people"] {
            assert_eq!(String::from(Unit::from(text.to_owned())), text);
        }
    }
}
