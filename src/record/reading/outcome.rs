//! Takes what a document holds, and tells what was wrong with it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::document::{Content, Document, Table};
use super::pick;
use super::rule::{ReadAs, ReadRule};
use super::series::{SERIES_MAX, Wanted};
use super::{NAMES_MAX, ReadMetric, ReadOutcome, ReadPhase, TEXT_MAX};
use crate::model::metric::Unit;
use crate::model::names::is_metric_name;
use crate::model::param::Param;
use crate::model::text::{nearest, shown};
use crate::record::marks::reported_name;
use crate::record::{Level, Notice};

/// Longest text in a metric's place that may be a number; longer ones are ids.
const NUMBER_TEXT_MAX: usize = 24;
/// Most names that are looked at for the nearest.
const KNOWN_MAX: usize = 2000;
/// Names that one notice lists.
const LISTED: usize = 5;

/// What has been found so far, and what was wrong with it.
#[derive(Default)]
pub(super) struct Outcome {
    found: ReadOutcome,
    picked: BTreeSet<String>,
    not_finite: BTreeSet<String>,
    unfit: BTreeSet<String>,
    no_number: BTreeSet<String>,
    twice: BTreeSet<String>,
    too_many: usize,
    /// Names in the files, for what is missing.
    known: BTreeSet<String>,
}

/// What a value is where a number is wanted.
pub(super) enum Found {
    Number(f64),
    NotFinite,
    NoNumber,
}

/// The number that a value is, a text of one included.
pub(super) fn number(value: &Value) -> Found {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) if text.len() <= NUMBER_TEXT_MAX => text.trim().parse().ok(),
        _ => None,
    };
    match number {
        Some(number) if number.is_finite() => Found::Number(number),
        Some(_) => Found::NotFinite,
        None => Found::NoNumber,
    }
}

impl Outcome {
    pub(super) fn take(&mut self, rule: &ReadRule, path: &str, document: &Document) {
        let value = match &document.content {
            Content::Table(table) => return self.take_series(rule, table),
            Content::Single(value) => value,
        };
        if !rule.pick.is_empty() {
            let names = pick::leaves(value).into_iter().map(|(name, _)| name);
            self.known.extend(names.take(KNOWN_MAX.saturating_sub(self.known.len())));
        }
        if rule.as_what == ReadAs::Phases && rule.pick.is_empty() {
            self.take_spans(rule, value);
        }
        for (name, in_file, value) in rule.wanted(value) {
            let fit = match rule.as_what {
                ReadAs::Extra => is_extra_name(&name),
                _ => is_metric_name(&name),
            };
            if !fit {
                // Only what would have been read is worth a word.
                if rule.as_what != ReadAs::Metrics || !matches!(number(value), Found::NoNumber) {
                    self.unfit.insert(shown(&name));
                }
                continue;
            }
            let taken = match rule.as_what {
                ReadAs::Metrics => self.take_metric(rule, path, &name, &in_file, value),
                ReadAs::Phases => self.take_phase(rule, &name, &in_file, value),
                ReadAs::Params => self.take_param(&name, value),
                ReadAs::Extra => self.take_extra(&name, value),
                ReadAs::Series => false,
            };
            if taken {
                self.picked.insert(in_file);
            }
        }
    }

    /// A number in base units; tells of one that is not finite, and of a picked value that is none.
    fn number(
        &mut self,
        rule: &ReadRule,
        name: &str,
        in_file: &str,
        value: &Value,
    ) -> Option<(f64, Unit)> {
        let (unit, factor) = rule.unit_of(name, in_file);
        match number(value) {
            Found::Number(number) if (number * factor).is_finite() => Some((number * factor, unit)),
            Found::Number(_) | Found::NotFinite => {
                self.not_finite(name);
                None
            }
            Found::NoNumber => {
                if !rule.pick.is_empty() {
                    self.no_number.insert(shown(name));
                }
                None
            }
        }
    }

    fn take_metric(
        &mut self,
        rule: &ReadRule,
        path: &str,
        name: &str,
        in_file: &str,
        value: &Value,
    ) -> bool {
        let Some((value, unit)) = self.number(rule, name, in_file, value) else { return false };
        let name = reported_name(name);
        if !self.has_room(self.found.metrics.len()) {
            return false;
        }
        let metric = ReadMetric { value, unit, source: path.to_owned() };
        if self.found.metrics.insert(name.clone(), metric).is_some() {
            self.twice.insert(name);
        }
        true
    }

    fn take_param(&mut self, name: &str, value: &Value) -> bool {
        let Some(value) = self.single(name, value) else { return false };
        if !self.has_room(self.found.params.len()) {
            return false;
        }
        // A job reports params after the fact: they are told, they do not part histories.
        let param = Param { value, default: None, identity: false };
        if self.found.params.insert(name.to_owned(), param).is_some() {
            self.twice.insert(name.to_owned());
        }
        true
    }

    fn take_extra(&mut self, name: &str, value: &Value) -> bool {
        let Some(value) = self.single(name, value) else { return false };
        if !self.has_room(self.found.extra.len()) {
            return false;
        }
        if self.found.extra.insert(name.to_owned(), value).is_some() {
            self.twice.insert(name.to_owned());
        }
        true
    }

    /// A text, number or truth value as it is.
    fn single(&mut self, name: &str, value: &Value) -> Option<Value> {
        match value {
            Value::String(text) if text.len() > TEXT_MAX => {
                self.no_number.insert(shown(name));
                None
            }
            Value::String(_) | Value::Number(_) | Value::Bool(_) => Some(value.clone()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Phases as `{name: {begin, end}}`.
    fn take_spans(&mut self, rule: &ReadRule, value: &Value) {
        for (in_file, span) in value.as_object().into_iter().flatten() {
            let seconds = |key: &str| match span.get(key).map(number) {
                Some(Found::Number(seconds)) => Some(seconds),
                _ => None,
            };
            let (Some(begin), Some(end)) = (seconds("begin"), seconds("end")) else { continue };
            let name = rule.renamed(in_file);
            if begin >= 0.0 && end >= begin && is_metric_name(name) {
                self.add_phase(name, Some(begin), end - begin);
                self.picked.insert(in_file.clone());
            }
        }
    }

    fn take_phase(&mut self, rule: &ReadRule, name: &str, in_file: &str, value: &Value) -> bool {
        // Begin and end of a phase have been taken as one.
        let outer = in_file.rsplit_once('.').map(|(outer, _)| outer);
        if outer
            .is_some_and(|outer| self.found.phases.iter().any(|p| p.name == rule.renamed(outer)))
        {
            return false;
        }
        let Some((duration, unit)) = self.number(rule, name, in_file, value) else { return false };
        if duration < 0.0 || !matches!(unit, Unit::Seconds | Unit::None) {
            self.no_number.insert(shown(name));
            return false;
        }
        self.add_phase(name, None, duration)
    }

    fn add_phase(&mut self, name: &str, begin: Option<f64>, duration: f64) -> bool {
        if !self.has_room(self.found.phases.len()) {
            return false;
        }
        let phase = ReadPhase { name: name.to_owned(), begin, duration };
        match self.found.phases.iter_mut().find(|earlier| earlier.name == name) {
            Some(earlier) => {
                *earlier = phase;
                self.twice.insert(name.to_owned());
            }
            None => self.found.phases.push(phase),
        }
        true
    }

    fn take_series(&mut self, rule: &ReadRule, table: &Table) {
        let names = table.columns.iter().map(|column| column.name.clone());
        self.known.extend(names.take(KNOWN_MAX.saturating_sub(self.known.len())));
        let column = |name: &str| table.columns.iter().find(|column| column.name == name);
        let x = rule.x.as_deref().and_then(column);
        if let (Some(name), None, false) = (&rule.x, x, table.columns.is_empty()) {
            let near = nearest(name, self.known.iter().map(String::as_str));
            let near = near.map(|near| format!("; `{}` is there", shown(near)));
            let message = format!(
                "{}: there is no column `{}` for the x values{}",
                rule.told(),
                shown(name),
                near.unwrap_or_default()
            );
            self.warn("read_no_x", message);
        }
        let wanted: Vec<(&str, &str)> = if rule.pick.is_empty() {
            table
                .columns
                .iter()
                .map(|column| (column.name.as_str(), column.name.as_str()))
                .collect()
        } else {
            rule.pick.iter().map(|(name, column)| (name.as_str(), column.as_str())).collect()
        };
        for (asked, in_file) in wanted {
            let is_x = x.is_some_and(|x| x.name == in_file);
            let Some(column) = column(in_file).filter(|_| !is_x) else { continue };
            let name = rule.renamed(asked);
            let (unit, factor) = rule.unit_of(name, asked);
            let Some(series) = Wanted { name, unit, factor, column, x }.series(self) else {
                continue;
            };
            if !is_metric_name(name) {
                self.unfit.insert(shown(name));
            } else if self.found.series.len() >= SERIES_MAX {
                self.too_many += 1;
            } else {
                self.picked.insert(asked.to_owned());
                if let Some(i) = self.found.series.iter().position(|one| one.name == name) {
                    self.twice.insert(name.to_owned());
                    self.found.series.remove(i);
                }
                self.found.series.push(series);
            }
        }
    }

    fn has_room(&mut self, taken: usize) -> bool {
        let room = taken < NAMES_MAX;
        self.too_many += usize::from(!room);
        room
    }

    pub(super) fn not_finite(&mut self, name: &str) {
        self.not_finite.insert(shown(name));
    }

    pub(super) fn warn(&mut self, code: &str, message: String) {
        self.found.notices.push(Notice { level: Level::Warning, code: code.to_owned(), message });
    }

    /// Tells what was wrong, and whether there is anything at all.
    pub(super) fn finish(mut self, rule: &ReadRule, files: usize, others: &[&str]) -> ReadOutcome {
        let told = rule.told();
        for (code, names, what) in [
            ("read_not_finite", std::mem::take(&mut self.not_finite), "no finite numbers"),
            ("read_unfit_name", std::mem::take(&mut self.unfit), "unfit as names, use `rename`"),
            ("read_no_number", std::mem::take(&mut self.no_number), "not what is read"),
            ("read_twice", std::mem::take(&mut self.twice), "found twice, the last counts"),
        ] {
            if !names.is_empty() {
                self.warn(code, format!("{told}: {what}: {}", list(&names)));
            }
        }
        if self.too_many > 0 {
            let more = self.too_many;
            self.warn(
                "read_too_many",
                format!("{told}: {more} more values were left out, `pick` names those that count"),
            );
        }
        let missing = self.missing(rule);
        if self.found.is_empty() {
            let level = if rule.required { Level::Error } else { Level::Warning };
            let why = why_nothing(rule, files, others, &missing);
            let message = format!("{told} as {} found nothing: {why}", rule.as_what.word());
            self.found.notices.push(Notice { level, code: "read_nothing".to_owned(), message });
        } else if !missing.is_empty() {
            self.warn("read_missing", format!("{told}: not found were {}", list(&missing)));
        }
        self.found
    }

    /// Picks that were not found, each with the name in the files that looks most like it.
    fn missing(&self, rule: &ReadRule) -> BTreeSet<String> {
        let known = || self.known.iter().map(String::as_str);
        let one = |(name, path): (&String, &String)| match nearest(path, known()) {
            Some(near) if near != path => {
                format!("{} ({}; {} is there)", shown(name), shown(path), shown(near))
            }
            _ => format!("{} ({})", shown(name), shown(path)),
        };
        rule.pick.iter().filter(|(name, _)| !self.picked.contains(*name)).map(one).collect()
    }
}

/// Why a rule found nothing at all.
fn why_nothing(
    rule: &ReadRule,
    files: usize,
    others: &[&str],
    missing: &BTreeSet<String>,
) -> String {
    let place = if files == 1 { "the file".to_owned() } else { format!("{files} files") };
    if files > 0 && missing.is_empty() {
        format!("no {} in {place} of that path", rule.as_what.word())
    } else if files > 0 {
        format!("none of its picks is in {place}: {}", list(missing))
    } else {
        let near = nearest(&rule.path, others.iter().take(KNOWN_MAX).copied());
        let near = near.map(|path| format!("; `{}` is there", shown(path)));
        format!("no file matches{}", near.unwrap_or_default())
    }
}

fn is_extra_name(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= 200 && !name.chars().any(char::is_control)
}

fn list(names: &BTreeSet<String>) -> String {
    let mut list: Vec<_> = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    if names.len() > LISTED {
        list.push(format!("and {} more", names.len() - LISTED));
    }
    list.join(", ")
}
