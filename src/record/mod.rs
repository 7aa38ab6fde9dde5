//! The record: what a run leaves behind for ever, the bundle's `stats.json`.
//!
//! Numbers are finite and in base units, times are RFC 3339 UTC. What is not known is `null`
//! and has its reason beside it. Format history: 1.0 is the first; 1.1 adds `amended` and
//! `changed_paths` of `commit.against`.

pub mod canonical;
pub mod clean;
pub mod foreign;
pub mod index;
pub mod layout;
pub mod marks;
pub mod profiles;
pub mod read;
pub mod reading;
pub mod redact;
pub mod secrets;
pub mod series;
pub mod shard;

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::metric::{Better, Exactness, Unit};
use crate::model::names::CommitSha;
use crate::model::status::{Identity, Status};

pub use crate::model::param::Param;

/// The name every record bears.
pub const SCHEMA_NAME: &str = "perftrail-stats";
/// The meter of a run that was brought in: nothing of it was measured here.
pub const IMPORTED: &str = "imported";
/// The version this program writes.
pub const SCHEMA: Schema = Schema { name: SchemaName::Stats, major: 1, minor: 1 };

/// One run, whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// What this file is.
    pub schema: Schema,
    /// The run: what ran, when, and how it ended.
    pub run: Run,
    /// The repository whose program ran.
    pub repository: Repository,
    /// The commit that was measured.
    pub commit: Commit,
    /// What started the run.
    pub trigger: Trigger,
    /// Where it ran.
    pub machine: Machine,
    /// What it ran with.
    pub environment: Environment,
    /// The programs that measured.
    pub tool: Tool,
    /// The job's declared inputs, defaults included.
    pub params: BTreeMap<String, Param>,
    /// Numbers of the job, by name.
    pub metrics: BTreeMap<String, Metric>,
    /// Built-in metrics and indicators that could not be had, each with its reason.
    pub unavailable: BTreeMap<String, String>,
    /// The commands of the job, in order.
    pub steps: Vec<Step>,
    /// Named stretches of time, of the last completed repetition, in order of their begin.
    pub phases: Vec<Phase>,
    /// What `series.json` holds, in short.
    pub series: Vec<SeriesSummary>,
    /// What `profile.json.gz` holds, in short.
    pub profiles: Vec<profiles::ProfileSummary>,
    /// The functions that matter most, at most 60.
    pub functions: Vec<profiles::TopFunction>,
    /// What `--additional-stats` gave, verbatim, and what `read … as = "extra"` found.
    pub extra: BTreeMap<String, Value>,
    /// Files beside the record, and those left out with the reason.
    pub files: Vec<File>,
    /// Indicators of what may have spoilt the run.
    pub disturbances: Vec<Disturbance>,
    /// What people should know about this run, in order.
    pub notices: Vec<Notice>,
    /// What measuring itself cost.
    pub overhead: Overhead,
    /// Set when the run is one side of a comparison.
    pub comparison: Option<Value>,
    /// Corrections of `commit` by people, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub amended: Vec<Amendment>,
}

/// A correction of the commit that a run says it measured. The digest covers the commit as the run
/// told it, so a correction leaves it as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Amendment {
    /// When.
    #[schemars(with = "String")]
    pub date: Timestamp,
    /// Who says so.
    pub author: String,
    /// Why.
    pub because: String,
    /// The commit as it stood before.
    pub commit: Commit,
}

/// Name and version of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Schema {
    /// Always `perftrail-stats`.
    pub name: SchemaName,
    /// Readers of another major version do not understand this file.
    pub major: u32,
    /// A higher minor version only adds.
    pub minor: u32,
}

/// The names a record's schema may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SchemaName {
    /// A run's record.
    #[serde(rename = "perftrail-stats")]
    Stats,
}

/// What ran and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The run's name: the last folder of its path.
    pub id: String,
    /// The job's name.
    pub job: String,
    /// A label made from the params by the job's `tag`.
    pub tag: Option<String>,
    /// Raised by people when the job itself changes: it cuts the history.
    pub workload: u32,
    /// Which of several otherwise equal runs this is (an operating system, say).
    pub variant: Option<String>,
    /// How it ended.
    pub status: Status,
    /// The job's exit code: its own, 127 not found, 126 not executable, 128+n signal, 124 timed out.
    /// `null` while it runs or when it never started.
    pub exit_code: Option<i32>,
    /// When the run was decided.
    #[schemars(with = "String")]
    pub planned: Timestamp,
    /// When measuring began; `null` when it never did.
    #[schemars(with = "Option<String>")]
    pub started: Option<Timestamp>,
    /// When measuring ended; `null` while it runs.
    #[schemars(with = "Option<String>")]
    pub ended: Option<Timestamp>,
    /// How often the job ran.
    pub repetitions: Repetitions,
    /// sha256 of the canonical record as the run finished it; `null` while it runs.
    pub digest: Option<String>,
    /// How the identity is known.
    pub identity: Identity,
    /// Names of the metrics that are judged, in order of the configuration.
    pub judged: Vec<String>,
}

/// How often the job ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repetitions {
    /// Asked for.
    pub planned: u32,
    /// Ended with every step succeeded; only these count in `metrics`.
    pub completed: u32,
    /// Ran before, not counted.
    pub warmups: u32,
}

/// The repository whose program ran; `null` parts have their reason in `unknown`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repository {
    /// `github.com`.
    pub host: Option<String>,
    /// The account or organisation.
    pub owner: Option<String>,
    /// The repository's name; outside any repository the folder's.
    pub name: Option<String>,
    /// Why a part is `null`.
    pub unknown: BTreeMap<String, String>,
}

/// The measured commit; `null` parts have their reason in `unknown`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Commit {
    /// The full id; `null` outside a repository or before the first commit.
    pub sha: Option<CommitSha>,
    /// Its tree.
    pub tree: Option<String>,
    /// Its parents, first parent first.
    pub parents: Option<Vec<CommitSha>>,
    /// When it was committed.
    #[schemars(with = "Option<String>")]
    pub committed: Option<Timestamp>,
    /// The first line of its message, for people.
    pub subject: Option<String>,
    /// The branch or tag, `refs/heads/main`; `null` when HEAD is detached.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// The default branch's name.
    pub default_branch: Option<String>,
    /// Where the commit's line left the default branch.
    pub merge_base: Option<CommitSha>,
    /// Paths that differ from the merge base or first parent, at most 300.
    pub changed_paths: Option<Vec<String>>,
    /// How the commit stands to others.
    pub against: Vec<Against>,
    /// Whether index or tracked files differ from the commit.
    pub dirty: Option<bool>,
    /// How many untracked files there were.
    pub untracked_files: Option<u64>,
    /// Why a part is `null`.
    pub unknown: BTreeMap<String, String>,
}

impl Commit {
    /// A commit of which only the id is known, and `why` the rest is not.
    pub fn known_by_id(sha: Option<CommitSha>, why: &str) -> Self {
        let parts = ["tree", "parents", "committed", "ref", "merge_base", "changed_paths", "dirty"];
        let unknown = parts.map(|part| (part.to_owned(), why.to_owned())).into();
        Self { sha, unknown, ..Self::default() }
    }
}

/// How the commit stands to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Against {
    /// The other commit.
    pub sha: CommitSha,
    /// Commits that only the measured one has.
    pub ahead: u64,
    /// Commits that only the other one has.
    pub behind: u64,
    /// Paths that differ from the other commit's, where it is an ancestor and they are few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_paths: Option<Vec<String>>,
}

/// What started the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trigger {
    /// `local`, or the name of the event.
    pub event: String,
    /// Who started it; `null` outside a service that knows.
    pub actor: Option<String>,
    /// The page of the service's run.
    pub run_url: Option<String>,
    /// The service's id of the run.
    pub run_id: Option<u64>,
    /// The service's running number.
    pub run_number: Option<u64>,
    /// Which try of that run.
    pub attempt: Option<u32>,
    /// The pull request that asked.
    pub pull_request: Option<u64>,
}

/// Where it ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// sha256 over `parts`, the first 16 digits: equal means the same kind of machine in every part.
    pub fingerprint: String,
    /// Machines of one group may be compared: the configured name, else runner class,
    /// architecture, processor, cores and memory to 10 %.
    pub group: String,
    /// What the fingerprint is made of, as text. A part that cannot be read is missing.
    pub parts: BTreeMap<String, String>,
}

/// What it ran with; a part that cannot be read is missing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Interpreters on the path: name and version.
    pub interpreters: BTreeMap<String, String>,
    /// The container or runner image.
    pub image: Option<String>,
    /// sha256 of lock files at the project's root, by path.
    pub lock_files: BTreeMap<String, String>,
    /// Variables that bear on speed, where they are set (`OMP_NUM_THREADS`, `PYTHONHASHSEED`, …).
    pub variables: BTreeMap<String, String>,
    /// Names of variables that were held back from the job.
    pub held_back: Vec<String>,
}

/// The programs that measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// perftrail's version.
    pub version: String,
    /// How processes were measured: `linux` or `portable`; `imported` when not by perftrail.
    pub meter: String,
    /// The profiler, `none` without one.
    pub profiler: Profiler,
}

/// The profiler of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Profiler {
    /// Its name, `none` without one.
    pub name: String,
    /// Its version, where it says one.
    pub version: Option<String>,
    /// The arguments given to it.
    pub args: Vec<String>,
}

/// One named number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// The median over the completed repetitions.
    pub value: f64,
    /// `s`, `B`, `count`, `ratio`, or the job's own.
    pub unit: Unit,
    /// Which way it gets better.
    pub better: Better,
    /// Where it was read: `wait4`, `procfs`, `cgroup`, `clock`, `job`, a file's path, …
    pub source: String,
    /// How the value was made from what was read.
    pub method: String,
    /// How far it can be trusted.
    pub exactness: Exactness,
    /// The truth is not below this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower: Option<f64>,
    /// The truth is not above this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<f64>,
    /// How many repetitions gave a value.
    pub n: u32,
    /// The value of each, in order.
    pub repetitions: Vec<f64>,
}

/// One command of the job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Its name; a job with a single command has one step of the job's name.
    pub name: String,
    /// What was run, as text.
    pub command: String,
    /// How it ended the last time it ran.
    pub status: Status,
    /// Its exit code, as in `run`.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Numbers of this step, median over the completed repetitions.
    pub metrics: BTreeMap<String, Metric>,
    /// Built-in metrics of this step that could not be had.
    pub unavailable: BTreeMap<String, String>,
}

/// A named stretch of time inside a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    /// Its name; a dot groups.
    pub name: String,
    /// The step it lay in.
    pub step: String,
    /// Seconds from the start of the repetition; `null` when only its length is known.
    pub begin: Option<f64>,
    /// Seconds from the start of the repetition; `null` when the job never
    /// ended it, or when only its length is known.
    pub end: Option<f64>,
    /// Numbers of this phase: `duration`, `cpu_time`, `memory_peak`, where they could be had.
    pub metrics: BTreeMap<String, Metric>,
}

/// A series in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesSummary {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// `sampled` or `reported`.
    pub source: series::SeriesSource,
    /// The file that holds it, beside the record.
    pub file: String,
    /// How many points are kept.
    pub points: u64,
    /// The smallest value seen.
    pub min: f64,
    /// The greatest value seen.
    pub max: f64,
    /// The last value seen.
    pub last: f64,
}

/// A file beside the record, or one left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct File {
    /// The path in the bundle (`files/…`); for a file left out, where it would be.
    pub path: String,
    /// Its size as the job left it.
    pub bytes: u64,
    /// sha256 of its content as the job left it; `null` when it was not read.
    pub sha256: Option<String>,
    /// What it is here for.
    pub role: FileRole,
    /// Why it is not in the bundle; `null` for one that is.
    pub left_out: Option<String>,
}

/// What a file is here for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileRole {
    /// A page or data file of perftrail's own.
    Bundle,
    /// An output of the job that `collect` names.
    Collected,
    /// A file that `keep` wants verbatim.
    Kept,
    /// Raw output of a profiler.
    Raw,
}

/// An indicator of what may have spoilt the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disturbance {
    /// `steal`, `foreign_cpu`, `throttled`, `pressure_memory`, `pressure_io`, `run_queue_wait`, …
    pub name: String,
    /// What was seen.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// Beyond this it counts; `null` for one that is only told.
    pub limit: Option<f64>,
    /// Whether it counts: the run was disturbed.
    pub exceeded: bool,
    /// One sentence for people.
    pub message: String,
}

/// Something people should know about a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// How much it matters.
    pub level: Level,
    /// A stable key, `read_nothing`, `outside_tree`, …
    pub code: String,
    /// What happened, why, and what to do.
    pub message: String,
}

/// How much a notice matters.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Good to know.
    Info,
    /// A number may mislead, or something is missing.
    Warning,
    /// The run failed because of it.
    Error,
}

/// What measuring itself cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overhead {
    /// CPU time of perftrail's own threads while the job ran, in seconds.
    pub cpu_time: f64,
    /// CPU time of the thread that samples, in seconds; 0 in records that do not tell it apart.
    #[serde(default)]
    pub sampler_cpu_time: f64,
    /// Ticks of the sampler.
    pub samples: u64,
    /// Ticks that came late, and were not made up for.
    pub late_samples: u64,
    /// CPU time of a usual tick, in seconds.
    pub sample_cost_median: f64,
    /// CPU time of the dearest tick, in seconds.
    pub sample_cost_max: f64,
    /// Time between ticks at the end, in seconds.
    pub interval: f64,
    /// Sweeps that read proportional memory.
    pub pss_sweeps: u64,
    /// CPU time of the thread that makes these sweeps, in seconds.
    pub pss_cpu_time: f64,
    /// How long writes of the job's output had to wait for perftrail's own output, in seconds.
    pub output_blocked: f64,
}

/// The JSON Schema of the record, which `schemas/record.v1.json` holds.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Record);
    schema.insert("title".to_owned(), Value::from("perftrail record"));
    schema.to_value()
}

impl Record {
    /// The notices of at least that level.
    pub fn notices_from(&self, level: Level) -> impl Iterator<Item = &Notice> {
        self.notices.iter().filter(move |notice| notice.level >= level)
    }

    /// What disturbed the run.
    pub fn disturbed_by(&self) -> impl Iterator<Item = &Disturbance> {
        self.disturbances.iter().filter(|disturbance| disturbance.exceeded)
    }
}
