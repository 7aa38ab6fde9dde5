//! `[metric.NAME]` and `[[function]]`: what is judged, and how.

use std::time::Duration;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::keys::METRIC;
use super::patterns;
use super::scalar::{self, Threshold};
use super::section::Section;
use crate::model::metric::Better;
use crate::model::names::is_metric_name;

/// A judged metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricRule {
    /// The metric's name.
    pub name: String,
    /// Which way it gets better; `None`: the metric's own.
    pub better: Option<Better>,
    /// Smaller changes are never told; `None`: the default of 2 %.
    pub min_effect: Option<Threshold>,
    /// Worse by more than this warns.
    pub warn: Option<Threshold>,
    /// Worse by more than this fails.
    pub fail: Option<Threshold>,
    /// Says nothing about it for a while.
    pub ignore: Option<Ignore>,
}

impl MetricRule {
    /// The rule of a metric of which nothing is said.
    pub fn of(name: &str) -> Self {
        let name = name.to_owned();
        Self { name, better: None, min_effect: None, warn: None, fail: None, ignore: None }
    }
}

/// A change that people know about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ignore {
    /// The first day on which it counts again; `None`: never.
    pub until: Option<Date>,
    /// The reason.
    pub because: String,
}

/// A rule for functions of a profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionRule {
    /// `file glob:function glob`; `None`: every function.
    pub matches: Option<String>,
    /// Functions below this are not judged.
    pub min_time: Option<Duration>,
    /// Worse by more than this warns.
    pub warn: Option<Threshold>,
    /// Says nothing about them for a while.
    pub ignore: Option<Ignore>,
    /// Files whose functions `compare` shows; empty: every file.
    pub show: Vec<String>,
    /// Files whose functions `compare` leaves out.
    pub hide: Vec<String>,
}

pub(crate) fn metrics(top: &Section<'_>) -> Vec<MetricRule> {
    let entries = top.entries("metric").unwrap_or_default();
    entries
        .into_iter()
        .filter_map(|(name, value)| {
            if !is_metric_name(&name.value) {
                top.bad_value(&name, &name.value, super::METRIC_NAME);
            }
            let section = top.section(&value, &METRIC)?;
            Some(MetricRule {
                name: name.value,
                better: section.word("better").and_then(better),
                min_effect: section.threshold("min_effect"),
                warn: section.threshold("warn"),
                fail: section.threshold("fail"),
                ignore: ignore(&section),
            })
        })
        .collect()
}

fn better(word: &str) -> Option<Better> {
    match word {
        "lower" => Some(Better::Lower),
        "higher" => Some(Better::Higher),
        "neither" => Some(Better::Neither),
        _ => None,
    }
}

fn ignore(section: &Section<'_>) -> Option<Ignore> {
    let section = section.table("ignore")?;
    if !section.has("because") {
        section.missing("because", "people will ask for the reason");
    }
    let until = section.date("until");
    let because = section.text("because")?;
    if because.value.trim().is_empty() {
        section.bad_value(&because, "", "a reason");
    }
    Some(Ignore { until, because: because.value })
}

pub(crate) fn functions(top: &Section<'_>) -> Vec<FunctionRule> {
    top.tables("function")
        .iter()
        .map(|section| {
            let matches = section.text("match");
            if let Some(text) = &matches {
                let parts = text.value.rsplit_once(':');
                let compiles = parts.is_some_and(|(file, function)| {
                    !file.is_empty()
                        && !function.is_empty()
                        && patterns::glob(file).is_ok()
                        && patterns::glob(function).is_ok()
                });
                if !compiles {
                    let expected = "`file glob:function glob`, such as \"src/*.py:load_*\"";
                    section.bad_value(text, &text.value, expected);
                }
            }
            FunctionRule {
                matches: matches.map(|text| text.value),
                min_time: section.parsed("min_time", scalar::duration),
                warn: section.threshold("warn"),
                ignore: ignore(section),
                show: patterns::globs(section, "show"),
                hide: patterns::globs(section, "hide"),
            }
        })
        .collect()
}
