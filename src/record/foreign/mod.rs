//! Results that other tools keep, as runs. Pure: files come in as bytes, runs go out.
//!
//! A number keeps the name that its tool gave it, and has its unit. One that bears the name of a
//! built-in metric is `job.NAME`: what perftrail measures and what others said never mix.

pub mod asv;
pub mod data_js;
pub mod pytest;
pub mod record;
pub mod tlomodel;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::marks::reported_name;
use super::series::Series;
use super::{Metric, Notice};
use crate::model::metric::{Better, Exactness, Unit};
use crate::model::names::{CommitSha, METRIC_NAME_MAX, is_metric_name, job_name_from};
use crate::model::param::Param;
use crate::record::reading::named_numbers;

/// Largest file that is read, in bytes.
pub const FILE_MAX: u64 = 64 << 20;

/// A run that was measured elsewhere.
#[derive(Clone, Debug)]
pub struct Brought {
    /// The file that tells of it.
    pub source: String,
    /// The job.
    pub job: String,
    /// What started it, as GitHub names events.
    pub event: String,
    /// The service's running number.
    pub number: Option<u64>,
    /// The commit, all digits or the start of it.
    pub commit: Option<String>,
    /// The first line of the commit's message.
    pub subject: Option<String>,
    /// When it was committed.
    pub committed: Option<Timestamp>,
    /// Which line of commits it lies on.
    pub branch: Branch,
    /// Whether files differed from the commit.
    pub dirty: Option<bool>,
    /// When it began.
    pub started: Timestamp,
    /// How long it took, in seconds.
    pub seconds: Option<f64>,
    /// Where it ran.
    pub machine: Option<String>,
    /// Its inputs.
    pub params: BTreeMap<String, Param>,
    /// Its numbers, in base units.
    pub metrics: BTreeMap<String, Metric>,
    /// Texts about it.
    pub extra: BTreeMap<String, Value>,
    /// Its numbers over time.
    pub series: Vec<Series>,
    /// Files that people may want to see, by path.
    pub pages: Vec<String>,
    /// Whether the whole machine was busy with something else.
    pub disturbed: Option<f64>,
    /// What people should know.
    pub notices: Vec<Notice>,
}

/// Which line of commits a run lies on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Branch {
    /// The default branch, as its event says.
    Default,
    /// This one.
    Named(String),
    /// Nobody knows.
    Unknown,
}

/// Why a file tells of no run.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// It is no JSON.
    #[error("{path} is no JSON: {source}")]
    Json {
        /// The file.
        path: String,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// It is something else.
    #[error("{path} is no {wanted}: {why}")]
    Form {
        /// The file.
        path: String,
        /// What it should be.
        wanted: &'static str,
        /// What is missing.
        why: String,
    },
}

impl ForeignError {
    fn form(path: &str, wanted: &'static str, why: impl Into<String>) -> Self {
        Self::Form { path: path.to_owned(), wanted, why: why.into() }
    }
}

impl Brought {
    /// A run of which nothing is known but when it began.
    pub fn new(source: &str, job: &str, started: Timestamp) -> Self {
        Self {
            source: source.to_owned(),
            job: job_name_from(job),
            event: "local".to_owned(),
            number: None,
            commit: None,
            subject: None,
            committed: None,
            branch: Branch::Unknown,
            dirty: None,
            started,
            seconds: None,
            machine: None,
            params: BTreeMap::new(),
            metrics: BTreeMap::new(),
            extra: BTreeMap::new(),
            series: Vec::new(),
            pages: Vec::new(),
            disturbed: None,
            notices: Vec::new(),
        }
    }

    /// The whole id of its commit, where it is given whole.
    pub fn sha(&self) -> Option<CommitSha> {
        self.commit.as_deref().and_then(CommitSha::parse)
    }

    /// When it ended.
    pub fn ended(&self) -> Option<Timestamp> {
        let took = SignedDuration::try_from_secs_f64(self.seconds?).ok()?;
        self.started.checked_add(took).ok()
    }

    /// Adds a number under a name that fits; of two that would bear one name the later has `.2`.
    fn add(&mut self, name: &str, metric: Metric) {
        let name = fit_name(name);
        let mut fit = reported_name(&name);
        let mut count = 2;
        while self.metrics.contains_key(&fit) {
            let end = format!(".{count}");
            let start: String = name.chars().take(METRIC_NAME_MAX - end.len()).collect();
            fit = format!("{start}{end}");
            count += 1;
        }
        self.metrics.insert(fit, metric);
    }
}

/// One number of another tool.
fn number(value: f64, unit: Unit, better: Better, source: &str, method: &str) -> Metric {
    Metric {
        value,
        unit,
        better,
        source: source.to_owned(),
        method: method.to_owned(),
        exactness: Exactness::Exact,
        lower: None,
        upper: None,
        n: 1,
        repetitions: vec![value],
    }
}

/// Which way numbers of a unit get better: times and sizes by becoming less.
const fn better_of(unit: &Unit) -> Better {
    match unit {
        Unit::Seconds | Unit::Bytes => Better::Lower,
        _ => Better::Neither,
    }
}

/// A name of characters that metrics may have.
fn fit_name(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let mut name = String::new();
    for c in text.chars() {
        let c = if fits(c) { c } else { '_' };
        if !(c == '_' && name.ends_with('_')) {
            name.push(c);
        }
    }
    let name = name.trim_end_matches(['_', '.', '-']);
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let name = if begins { name.to_owned() } else { format!("_{name}") };
    // `job.` may come before it.
    let name: String = name.chars().take(METRIC_NAME_MAX - 4).collect();
    if is_metric_name(&name) { name } else { "_".to_owned() }
}

fn json(path: &str, bytes: &[u8]) -> Result<Value, ForeignError> {
    let read = match std::str::from_utf8(bytes) {
        // Python writes `NaN` and `Infinity`; what they stand for has no number, and the rest has.
        Ok(text) => serde_json::from_str(&named_numbers(text)),
        Err(_) => serde_json::from_slice(bytes),
    };
    read.map_err(|source| ForeignError::Json { path: path.to_owned(), source })
}

fn object<'a>(
    path: &str,
    wanted: &'static str,
    value: &'a Value,
) -> Result<&'a Map<String, Value>, ForeignError> {
    value.as_object().ok_or_else(|| ForeignError::form(path, wanted, "it is no object"))
}

/// Milliseconds since 1970.
fn of_millis(value: &Value) -> Option<Timestamp> {
    let millis = value.as_f64().filter(|millis| millis.is_finite())?;
    of_seconds(millis / 1000.0)
}

/// Seconds since 1970; nothing before it, and nothing that no run can be of.
fn of_seconds(seconds: f64) -> Option<Timestamp> {
    let since = SignedDuration::try_from_secs_f64(seconds).ok()?;
    let time = Timestamp::UNIX_EPOCH.checked_add(since).ok()?;
    (seconds > 0.0 && time.as_second() < 32_503_680_000).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_fit() {
        for (text, name) in [
            ("test_fib[10]", "test_fib_10"),
            ("fib(10)/ns per op", "fib_10_ns_per_op"),
            ("3 sums", "_3_sums"),
            ("", "_"),
            ("ünï", "_n"),
            ("time.peakmem_x", "time.peakmem_x"),
        ] {
            assert_eq!(fit_name(text), name, "{text}");
        }
        assert!(is_metric_name(&reported_name(&fit_name(&"x".repeat(200)))));
    }

    #[test]
    fn names_that_would_be_one_stay_apart() {
        let mut run = Brought::new("f", "a job!", Timestamp::UNIX_EPOCH);
        for name in ["a b", "a/b", "a_b", "cpu_time"] {
            run.add(name, number(1.0, Unit::None, Better::Neither, "f", "told"));
        }
        let names: Vec<&str> = run.metrics.keys().map(String::as_str).collect();
        assert_eq!(names, ["a_b", "a_b.2", "a_b.3", "job.cpu_time"]);
        assert_eq!(run.job, "a_job_");
    }

    #[test]
    fn times_outside_of_any_run_are_none() {
        assert!(of_seconds(1_701_419_806.5).is_some());
        for seconds in [0.0, -5.0, 1e12, f64::NAN, f64::INFINITY] {
            assert_eq!(of_seconds(seconds), None, "{seconds}");
        }
    }
}
