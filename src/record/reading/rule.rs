//! What `read` asks for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::pick;
use crate::model::metric::Unit;
use crate::model::text::shown;
use crate::model::units;
use crate::record::marks::UNIT_MAX;

/// Files that the job writes and perftrail reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadRule {
    /// Which files: a glob.
    pub path: String,
    /// What their content is.
    #[serde(rename = "as")]
    pub as_what: ReadAs,
    /// The column of a series that holds the x values.
    pub x: Option<String>,
    /// Name = path in the file; empty: everything is read.
    pub pick: BTreeMap<String, String>,
    /// Name = unit.
    pub unit: BTreeMap<String, String>,
    /// Name in the file = name in the record.
    pub rename: BTreeMap<String, String>,
    /// Whether the run fails when nothing is read.
    pub required: bool,
    /// The line of the configuration that the rule stands on, for messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

/// What the content of a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadAs {
    /// Named numbers.
    Metrics,
    /// Inputs that the job reports itself.
    Params,
    /// Numbers over time or another x.
    Series,
    /// Seconds by name of phase.
    Phases,
    /// Texts and numbers for people.
    Extra,
}

impl ReadAs {
    /// The word in the file.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Metrics => "metrics",
            Self::Params => "params",
            Self::Series => "series",
            Self::Phases => "phases",
            Self::Extra => "extra",
        }
    }

    /// What that word means.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Metrics, Self::Params, Self::Series, Self::Phases, Self::Extra]
            .into_iter()
            .find(|one| one.word() == word)
    }
}

impl ReadRule {
    /// The rule for messages: ``read of `out/*.json` (line 12)``.
    pub(super) fn told(&self) -> String {
        let path = shown(&self.path);
        match self.line {
            Some(line) => format!("read of `{path}` (line {line})"),
            None => format!("read of `{path}`"),
        }
    }

    /// The name in the record of a name in the file.
    pub(super) fn renamed<'a>(&'a self, name: &'a str) -> &'a str {
        self.rename.get(name).map_or(name, String::as_str)
    }

    /// The base unit and factor of a value: declared under its name in the record or in the
    /// file, else by the end of one of its names.
    pub(super) fn unit_of(&self, in_record: &str, in_file: &str) -> (Unit, f64) {
        let declared = self.unit.get(in_record).or_else(|| self.unit.get(in_file));
        if let Some(text) = declared {
            return units::from_declared(&text.chars().take(UNIT_MAX).collect::<String>());
        }
        let picked = self.pick.get(in_file).map(String::as_str);
        [Some(in_file), Some(in_record), picked]
            .into_iter()
            .flatten()
            .find_map(units::from_name_suffix)
            .unwrap_or((Unit::None, 1.0))
    }

    /// The wanted values: name in the record, name in the file, value.
    pub(super) fn wanted<'a>(&'a self, value: &'a Value) -> Vec<(String, String, &'a Value)> {
        if self.pick.is_empty() {
            let all = pick::leaves(value).into_iter();
            return all
                .map(|(name, value)| (self.renamed(&name).to_owned(), name, value))
                .collect();
        }
        self.pick
            .iter()
            .filter_map(|(name, path)| {
                let found = pick::at(value, path)?;
                Some((self.renamed(name).to_owned(), name.clone(), found))
            })
            .collect()
    }
}
