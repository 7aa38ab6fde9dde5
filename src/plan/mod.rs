//! The plan: jobs with their params at one commit, decided before anything runs.
//!
//! A plan can be written to a file in one place and carried out in another. After it, no code
//! knows what started the run except to print it.

mod check;
pub mod environment;
pub mod files;
pub mod hints;
pub mod pull_request;
pub mod render;
pub mod resolve;
mod seconds;
pub mod stem;
pub mod wrap;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::config::{Command, CountRule, KeepRule, Profiler, ReadRule, Step};
use crate::model::names::CommitSha;
use crate::model::param::Param;
use crate::record::canonical;

#[cfg(test)]
mod tests;

pub use check::{Fault, REASON_MAX};
pub use pull_request::{Acceptance, Against, Asking, MeasuredBy, PullRequest};
pub use render::{RenderError, Surroundings};
pub use resolve::{PlanError, make};

/// The version of the plan's format that this program writes, and the newest it reads.
pub const VERSION: u32 = 1;
/// The metric that is judged when the configuration names none.
pub const JUDGED_BY_DEFAULT: &str = "cpu_time";

/// What is known of a plan before any configuration is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// `local`, or the name of the event.
    pub event: String,
    /// The commit to measure; `None` outside a repository or before the first commit.
    pub commit: Option<CommitSha>,
    /// The service's running number.
    pub run_number: Option<u64>,
    /// Which of several otherwise equal runs this is.
    pub variant: Option<String>,
    /// When the plan was made.
    pub planned: Timestamp,
    /// The pull request that the runs act for; `None` for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<PullRequest>,
    /// The run of the service that measures, where it is not the one that made the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_by: Option<MeasuredBy>,
    /// Which confirmation of the runs this is, from 1; `None` for the runs themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<u32>,
}

/// Everything that will run, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The version of this format.
    pub version: u32,
    /// What was known before.
    pub facts: Facts,
    /// The runs; empty when no job is for this event.
    pub runs: Vec<PlannedRun>,
    /// A change to be accepted instead of running anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept: Option<Acceptance>,
}

/// One job with one set of params.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedRun {
    /// The job, resolved.
    pub job: JobSpec,
    /// The job's declared inputs, defaults included.
    pub params: BTreeMap<String, Param>,
    /// The job's label for these params.
    pub tag: Option<String>,
    /// Strings that are added to the record as they are.
    pub additional: BTreeMap<String, String>,
}

/// A job with flags over file over defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// Its name.
    pub name: String,
    /// The commands, in order, placeholders not yet filled.
    pub steps: Vec<Step>,
    /// Whether the commands were typed after `--`: nothing in them is a placeholder.
    pub verbatim: bool,
    /// Runs once before, not measured.
    pub setup: Option<Command>,
    /// Runs before each repetition, not measured.
    pub prepare: Option<Command>,
    /// The folder the commands run in, from the project's root.
    pub cwd: String,
    /// Variables for the commands.
    pub env: BTreeMap<String, String>,
    /// Held-back variables that are let through.
    pub env_pass: Vec<String>,
    /// Flags that params become, by the param's name.
    pub flags: BTreeMap<String, String>,
    /// Globs of outputs.
    pub collect: Vec<String>,
    /// Files kept verbatim.
    pub keep: Vec<KeepRule>,
    /// Files the job writes and perftrail reads.
    pub read: Vec<ReadRule>,
    /// Counters of lines.
    pub count: Vec<CountRule>,
    /// How often the job is measured.
    pub repetitions: u32,
    /// How often it runs before, not counted.
    pub warmups: u32,
    /// The longest time for one repetition, in seconds; `None`: no limit.
    #[serde(with = "seconds")]
    pub timeout: Option<Duration>,
    /// The longest time for the whole job, in seconds; `None`: no limit.
    #[serde(with = "seconds")]
    pub total_timeout: Option<Duration>,
    /// The profiler.
    pub profiler: Profiler,
    /// Arguments for the profiler.
    pub profiler_args: Vec<String>,
    /// Names the machine group; `None`: found from the machine.
    pub machine: Option<String>,
    /// Raised when the job itself changes.
    pub workload: u32,
    /// Names of the judged metrics, in the order of the file.
    pub judged: Vec<String>,
}

/// Why a plan cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not a plan.
    #[error("this is no plan")]
    Json(#[from] serde_json::Error),
    /// A value that no configuration could have given.
    #[error("{0}")]
    Fault(#[from] check::Fault),
    /// Written by a newer perftrail.
    #[error(
        "the plan has version {found}, this perftrail reads up to {VERSION}: use the version that wrote it"
    )]
    Newer {
        /// The plan's version.
        found: u64,
    },
}

impl Plan {
    /// The plan as JSON.
    ///
    /// # Errors
    /// When it cannot be written as JSON, which a number that is not finite would cause.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// Equal for plans of the same jobs, params and variant, whatever the commit: for names of
    /// artifacts and concurrency groups.
    pub fn key(&self) -> String {
        let run = |run: &PlannedRun| {
            let params: BTreeMap<_, _> =
                run.params.iter().map(|(name, param)| (name, &param.value)).collect();
            serde_json::json!({ "job": run.job.name, "params": params })
        };
        let runs: Vec<_> = self.runs.iter().map(run).collect();
        let whole = serde_json::json!({ "runs": runs, "variant": self.facts.variant });
        let mut key = canonical::digest_of(&whole);
        key.truncate(12);
        key
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// When it is no plan, one of a newer version, or one that breaks the rules of the configuration.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        let value: serde_json::Value = serde_json::from_str(text)?;
        let version = value.get("version").and_then(serde_json::Value::as_u64);
        if let Some(found) = version.filter(|version| *version > u64::from(VERSION)) {
            return Err(ReadError::Newer { found });
        }
        // From the text, so that an error tells line and column.
        let plan: Self = serde_json::from_str(text)?;
        check::check(&plan, &value)?;
        Ok(plan)
    }
}
