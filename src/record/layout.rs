//! Names of runs and places of their folders.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{Record, canonical};
use crate::model::names::CommitSha;
use crate::model::param::Param;

/// The folder of the runs in a results repository.
pub const RUNS_DIR: &str = "runs";
/// The record's file name in a bundle.
pub const RECORD_FILE: &str = "stats.json";
/// The self-contained page.
pub const PAGE_FILE: &str = "report.html";
/// The same as Markdown.
pub const README_FILE: &str = "README.md";
/// The top of the call tree as a drawing.
pub const CALL_TREE_FILE: &str = "call-tree.svg";
/// The job's output.
pub const LOG_FILE: &str = "log.txt.gz";
/// Collected and kept files.
pub const FILES_DIR: &str = "files";
/// Raw profiler output.
pub const RAW_DIR: &str = "raw";

/// What a run's name is made of.
#[derive(Clone, Debug)]
pub struct RunName<'a> {
    /// Where the run was started.
    pub origin: Origin<'a>,
    /// The job's name.
    pub job: &'a str,
    /// Params that differ from their defaults, with their values.
    pub params: &'a BTreeMap<String, Value>,
    /// The variant, where one was given.
    pub variant: Option<&'a str>,
    /// Which confirmation of another run this is; `None` for the run itself.
    pub confirm: Option<u32>,
}

/// Where a run was started.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    /// By a service that numbers its runs.
    Service {
        /// The event's name.
        event: &'a str,
        /// The service's id of the run.
        run_id: u64,
        /// The attempt in which the `run` job ran.
        attempt: u32,
    },
    /// By hand on some machine.
    Local {
        /// When.
        at: Timestamp,
        /// Four hex digits, so that two runs of one second differ.
        random: u16,
    },
}

impl RunName<'_> {
    /// `<event>-<run_id>-<attempt>-<job>` or `local-<HHMMSS>-<4 hex>-<job>`, and `-<6 hex>` of
    /// the sha256 over the canonical JSON of what sets the run apart, where there is any.
    pub fn id(&self) -> String {
        let start = match self.origin {
            Origin::Service { event, run_id, attempt } => format!("{event}-{run_id}-{attempt}"),
            Origin::Local { at, random } => {
                let time = at.strftime("%H%M%S").to_string();
                format!("local-{time}-{random:04x}")
            }
        };
        match self.apart() {
            Some(hash) => format!("{start}-{}-{hash}", self.job),
            None => format!("{start}-{}", self.job),
        }
    }

    fn apart(&self) -> Option<String> {
        let mut apart: Map<String, Value> =
            self.params.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        if let Some(variant) = self.variant {
            apart.insert("variant".to_owned(), Value::from(variant));
        }
        if let Some(confirm) = self.confirm {
            apart.insert("confirm".to_owned(), Value::from(confirm));
        }
        (!apart.is_empty()).then(|| canonical::digest_of(&Value::Object(apart))[..6].to_owned())
    }
}

/// Longest name of a run.
pub const RUN_ID_MAX: usize = 160;

/// Whether `text` can name a run: letters, digits, `_`, `-` and `.`, begun by a letter or digit.
pub fn is_run_id(text: &str) -> bool {
    text.len() <= RUN_ID_MAX
        && text.bytes().next().is_some_and(|c| c.is_ascii_alphanumeric())
        && text.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.'))
        && !text.contains("..")
        && !text.ends_with('.')
}

/// The UTC day of `time` as `YYYY-MM-DD`.
pub fn day(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}

/// The run's folder in a results repository, by the default layout:
/// `runs/<2 hex>/<commit>/<date>/<run>`, or `runs/uncommitted/<date>/<run>` without a commit.
pub fn run_path(commit: Option<&CommitSha>, start: Timestamp, id: &str) -> String {
    let date = day(start);
    match commit {
        Some(sha) => format!("runs/{}/{sha}/{date}/{id}", &sha.as_str()[..2]),
        None => format!("runs/uncommitted/{date}/{id}"),
    }
}

/// When a run began for its path and its place in the index: `started`, or `planned` for one that never did.
pub fn start_of(record: &Record) -> Timestamp {
    record.run.started.unwrap_or(record.run.planned)
}

/// Params that differ from their defaults: these set runs of one job apart.
pub fn differing(params: &BTreeMap<String, Param>) -> BTreeMap<String, Value> {
    params
        .iter()
        .filter(|(_, param)| param.default.as_ref().is_some_and(|default| *default != param.value))
        .map(|(name, param)| (name.clone(), param.value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> Timestamp {
        "2026-11-30T23:59:58Z".parse().expect("a time")
    }

    #[test]
    fn names_of_runs() {
        let none = BTreeMap::new();
        let mut name = RunName {
            origin: Origin::Local { at: at(), random: 0xa3 },
            job: "sim",
            params: &none,
            variant: None,
            confirm: None,
        };
        assert_eq!(name.id(), "local-235958-00a3-sim");
        name.origin = Origin::Service { event: "schedule", run_id: 99, attempt: 2 };
        assert_eq!(name.id(), "schedule-99-2-sim");
        let params = BTreeMap::from([("years".to_owned(), Value::from(5))]);
        name.params = &params;
        let with_params = name.id();
        assert!(with_params.starts_with("schedule-99-2-sim-") && with_params.len() == 24);
        name.variant = Some("macos");
        assert_ne!(name.id(), with_params);
    }

    #[test]
    fn places_of_runs() {
        let sha = CommitSha::parse(&"ab".repeat(20)).expect("a commit");
        assert_eq!(run_path(Some(&sha), at(), "r"), format!("runs/ab/{sha}/2026-11-30/r"));
        assert_eq!(run_path(None, at(), "r"), "runs/uncommitted/2026-11-30/r");
    }
}
