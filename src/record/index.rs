//! The index: one line a run, enough for history, comparison and the first page.
//!
//! A line is a pure function of the stored record, so index and pages can be made anew from the
//! run folders at any time.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::names::CommitSha;
use crate::model::status::{Identity, Status};

/// Longest line, its newline not counted.
pub const LINE_MAX: usize = 4096;

/// One run in the index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The run's folder, from the repository's root.
    pub path: String,
    /// The record's `run.digest`.
    pub digest: Option<String>,
    /// When it began; for a run that never did, when it was planned.
    pub start: Timestamp,
    /// When it was planned: the order of histories.
    pub planned: Timestamp,
    /// The job's name.
    pub job: String,
    /// The tag, where the job makes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// How it ended.
    pub status: Status,
    /// `host/owner/name`, parts that are not known left out.
    pub repository: String,
    /// The measured commit.
    pub commit: Option<CommitSha>,
    /// The first line of its message, cut to 72 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The branch or tag.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Where it left the default branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_base: Option<CommitSha>,
    /// Whether the commit lies on the default branch, as far as the record knows.
    pub on_default_branch: bool,
    /// Whether tracked files differed from the commit; `null` when not known.
    pub dirty: Option<bool>,
    /// What started it.
    pub event: String,
    /// The page of the service's run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_url: Option<String>,
    /// The pull request that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<u64>,
    /// How the identity is known.
    pub identity: Identity,
    /// The machine's group.
    pub machine: String,
    /// The machine's fingerprint.
    pub fingerprint: String,
    /// The profiler's name and version, `none` without one.
    pub profiler: String,
    /// The job's workload number.
    pub workload: u32,
    /// The variant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Params that are part of the history's key, all of them with their values.
    pub params: BTreeMap<String, Value>,
    /// The start of a sha256 over what must be equal for runs to share a history: repository,
    /// job, identity params, machine group, profiler, workload, variant and schema major.
    pub key: String,
    /// Names of the indicators that were exceeded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<String>,
    /// Judged, built-in and reported metrics, in that order as far as the line's length allows.
    pub metrics: BTreeMap<String, Entry>,
    /// How many metrics did not fit: they are read from the record.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// One metric of a line: `[value, n, spread, method]`.
///
/// `spread` is the median absolute deviation of the repetitions times 1.4826, in the metric's own
/// unit; `null` for fewer than two. `method` is `source:method`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry(pub f64, pub u32, pub Option<f64>, pub String);
