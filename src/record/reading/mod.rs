//! Reads files that a job wrote into metrics, params, series, phases and extra.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
