//! `read` and `keep`: what becomes of files that a job writes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::keys::READ_AS;
use super::patterns::check_glob;
use super::problem::What;
use super::section::Section;
use crate::model::names::is_metric_name;

/// Files that are kept verbatim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepRule {
    /// Which files.
    pub path: String,
    /// Whether HTML and SVG among them are published as such.
    pub html: bool,
}

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
    pub fn word(self) -> &'static str {
        match self {
            Self::Metrics => READ_AS[0],
            Self::Params => READ_AS[1],
            Self::Series => READ_AS[2],
            Self::Phases => READ_AS[3],
            Self::Extra => READ_AS[4],
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Metrics, Self::Params, Self::Series, Self::Phases, Self::Extra]
            .into_iter()
            .find(|one| one.word() == word)
    }
}

impl KeepRule {
    pub(crate) fn read(section: &Section<'_>) -> Option<Self> {
        let html = section.truth("html").unwrap_or(false);
        Some(Self { path: path(section, "says which files to keep")?, html })
    }
}

impl ReadRule {
    pub(crate) fn read(section: &Section<'_>) -> Option<Self> {
        if !section.has("as") {
            section.missing(
                "as",
                "says whether the files hold metrics, params, series, phases or extra",
            );
        }
        let path = path(section, "says which files to read");
        let as_what = section.word("as").and_then(ReadAs::from_word);
        let x = section.text("x");
        let (pick, rename) = (named(section, "pick"), named(section, "rename"));
        let unit = section.plain_map("unit");
        let required = section.truth("required").unwrap_or(false);
        let x = x.map(|x| x.value);
        let rule = Self { path: path?, as_what: as_what?, x, pick, unit, rename, required };
        if rule.x.is_some() && rule.as_what != ReadAs::Series {
            let what = What::Together {
                first: "x".to_owned(),
                second: format!("as = \"{}\"", rule.as_what.word()),
                why: "only a series has x values",
            };
            section.sink.add(&section.span_of("x"), what);
        }
        Some(rule)
    }
}

fn path(section: &Section<'_>, why: &'static str) -> Option<String> {
    if !section.has("path") {
        section.missing("path", why);
    }
    let path = section.text("path")?;
    check_glob(section, &path);
    Some(path.value)
}

/// A map whose names of the record are fit: the keys of `pick`, the values of `rename`.
fn named(section: &Section<'_>, key: &'static str) -> BTreeMap<String, String> {
    let entries = section.text_map(key).unwrap_or_default();
    for (name, value) in &entries {
        let in_record = if key == "pick" { name } else { value };
        if !is_metric_name(&in_record.value) {
            section.bad_value(in_record, &in_record.value, super::METRIC_NAME);
        }
    }
    entries.into_iter().map(|(name, value)| (name.value, value.value)).collect()
}
