//! Reads files that a job wrote into metrics, params, series, phases and extra.
//!
//! What a file holds is told by its content, never by its name. Broken parts are named in notices
//! and the rest is read; a number that is not finite is never taken.

mod document;
mod outcome;
mod pick;
mod rule;
mod series;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value;

use self::document::Form;
use self::outcome::Outcome;
use super::Notice;
use super::series::Series;
use crate::model::metric::Unit;
use crate::model::param::Param;
use crate::model::text::shown;

pub(in crate::record) use document::named_numbers;
pub use document::{FILE_MAX, Unreadable};
pub use rule::{ReadAs, ReadRule};

/// Most metrics, params, phases or extras from one rule.
pub const NAMES_MAX: usize = 2000;
/// Longest text of a param or extra, in bytes.
pub const TEXT_MAX: usize = 4096;
/// A file that a job wrote.
#[derive(Clone, Copy, Debug)]
pub struct JobFile<'a> {
    /// Its path, for people.
    pub path: &'a str,
    /// Its content.
    pub bytes: &'a [u8],
}

/// What a rule found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadOutcome {
    /// Numbers in base units, by their names in the record.
    pub metrics: BTreeMap<String, ReadMetric>,
    /// Inputs that the job reports itself.
    pub params: BTreeMap<String, Param>,
    /// Numbers over time or another x.
    pub series: Vec<Series>,
    /// Stretches of time.
    pub phases: Vec<ReadPhase>,
    /// Texts and numbers for people.
    pub extra: BTreeMap<String, Value>,
    /// What people should know. One of [`Level::Error`](crate::record::Level::Error) fails the run.
    pub notices: Vec<Notice>,
}

/// A number from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadMetric {
    /// Its value, in its unit.
    pub value: f64,
    /// Its base unit.
    pub unit: Unit,
    /// The file it was read from.
    pub source: String,
}

/// A phase from a file, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadPhase {
    /// Its name.
    pub name: String,
    /// When it began, from the start of the repetition; `None` when the file does not say.
    pub begin: Option<f64>,
    /// How long it was.
    pub duration: f64,
}

/// Reads the files that a rule's glob matched, in order. Of two values of one name the last counts.
///
/// `others` are paths of files that were there and did not match; where none did, the one that
/// looks most like the rule's is named.
pub fn read(rule: &ReadRule, files: &[JobFile<'_>], others: &[&str]) -> ReadOutcome {
    let mut outcome = Outcome::default();
    let form = if rule.as_what == ReadAs::Series { Form::Table } else { Form::Single };
    for file in files {
        let path = shown(file.path);
        match document::parse(file.bytes, form) {
            Ok(document) => {
                if let Some((lines, first)) = document.skipped {
                    let what = format!(
                        "`{path}`: {lines} lines were not understood, the first is line {first}"
                    );
                    outcome.warn("read_lines", what);
                }
                outcome.take(rule, file.path, &document);
            }
            Err(why) => outcome.warn("read_unreadable", format!("`{path}` was not read: {why}")),
        }
    }
    outcome.finish(rule, files.len(), others)
}

impl ReadOutcome {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.metrics.is_empty()
            && self.params.is_empty()
            && self.series.is_empty()
            && self.phases.is_empty()
            && self.extra.is_empty()
    }
}
