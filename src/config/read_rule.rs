//! `read` and `keep`: what becomes of files that a job writes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::patterns::check_glob;
use super::problem::What;
use super::section::Section;
use crate::model::names::is_metric_name;
use crate::record::reading::{ReadAs, ReadRule};

/// Files that are kept verbatim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepRule {
    /// Which files.
    pub path: String,
    /// Whether HTML and SVG among them are published as such.
    pub html: bool,
}

impl KeepRule {
    pub(crate) fn read(section: &Section<'_>) -> Option<Self> {
        let html = section.truth("html").unwrap_or(false);
        Some(Self { path: path(section, "says which files to keep")?, html })
    }
}

/// A rule of `read`.
pub(crate) fn read_rule(section: &Section<'_>) -> Option<ReadRule> {
    if !section.has("as") {
        section
            .missing("as", "says whether the files hold metrics, params, series, phases or extra");
    }
    let path = path(section, "says which files to read");
    let as_what = section.word("as").and_then(ReadAs::from_word);
    let x = section.text("x");
    let (pick, rename) = (named(section, "pick"), named(section, "rename"));
    let unit = section.plain_map("unit");
    let required = section.truth("required").unwrap_or(false);
    let x = x.map(|x| x.value);
    let line = Some(section.sink.line(section.span.start));
    let rule = ReadRule { path: path?, as_what: as_what?, x, pick, unit, rename, required, line };
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
