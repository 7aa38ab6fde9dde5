//! What a file held: profiles, numbers, series, and what people should know about the reading.

use std::collections::HashMap;

use serde::Serialize;

use super::model::Profile;
use super::sniff::Kind;
use crate::model::metric::{Better, Exactness, Unit};
use crate::model::names::{METRIC_NAME_MAX, is_metric_name};
use crate::record::series::{Series, SeriesSource};

/// What a file held.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The format.
    pub kind: Kind,
    /// What the file names, for numbers that stand in another file beside it; empty without.
    pub title: String,
    /// Profiles, in the file's order.
    pub profiles: Vec<Profile>,
    /// Named numbers, in the file's order; names are unique.
    pub metrics: Vec<Reported>,
    /// Numbers over time.
    pub series: Vec<Series>,
    /// What may mislead: one sentence each, lower case.
    pub notices: Vec<String>,
}

/// A number that a tool reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reported {
    /// A fit metric name, made from the label.
    pub name: String,
    /// The name as the tool spells it, without what is private.
    pub label: String,
    /// The number, in base units; finite.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// Which way it gets better.
    pub better: Better,
    /// How the tool made it from the samples: `mean`, `median`, `slope`; empty for a plain number.
    pub method: String,
    /// The samples behind it in base units, where the file has them.
    pub samples: Vec<f64>,
    /// How many samples are behind it, as the tool counts; `None` where it does not say.
    pub n: Option<u64>,
    /// The standard deviation of the samples as the tool gives it, in the base unit.
    pub deviation: Option<f64>,
    /// How far it can be trusted.
    pub exactness: Exactness,
}

impl Reading {
    /// Nothing yet.
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            title: String::new(),
            profiles: Vec::new(),
            metrics: Vec::new(),
            series: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// Adds a plain number where less is better. One that is not finite is left out.
    pub(super) fn metric(&mut self, label: &str, value: f64, unit: Unit) -> Option<&mut Reported> {
        if !value.is_finite() {
            self.note(format!(
                "`{}` is not a finite number and left out",
                super::names::clean(label)
            ));
            return None;
        }
        let label = super::names::clean(label);
        self.metrics.push(Reported {
            name: metric_name(&label),
            label,
            value,
            unit,
            better: Better::Lower,
            method: String::new(),
            samples: Vec::new(),
            n: None,
            deviation: None,
            exactness: Exactness::Sampled,
        });
        self.metrics.last_mut()
    }

    /// Adds a number that was counted, or read from a clock at begin and end.
    pub(super) fn exact(&mut self, label: &str, value: f64, unit: Unit) -> Option<&mut Reported> {
        let metric = self.metric(label, value, unit)?;
        metric.exactness = Exactness::Exact;
        Some(metric)
    }

    /// Says something once.
    pub(super) fn note(&mut self, notice: impl Into<String>) {
        let notice = notice.into();
        if self.notices.len() < 20 && !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }

    /// Makes the names of metrics and series unique: later ones get a number.
    pub(super) fn with_unique_names(mut self) -> Self {
        let mut metrics = Taken::default();
        for metric in &mut self.metrics {
            metric.name = metrics.unique(&metric.name);
        }
        let mut series = Taken::default();
        for one in &mut self.series {
            one.name = series.unique(&one.name);
        }
        self
    }
}

/// Names that are taken, with the last number given out for each.
#[derive(Default)]
struct Taken(HashMap<String, u64>);

impl Taken {
    fn unique(&mut self, name: &str) -> String {
        let Some(last) = self.0.get(name) else {
            self.0.insert(name.to_owned(), 1);
            return name.to_owned();
        };
        let stem: String = name.chars().take(METRIC_NAME_MAX - 8).collect();
        let mut number = *last;
        let found = loop {
            number += 1;
            let candidate = format!("{stem}.{number}");
            if !self.0.contains_key(&candidate) {
                break candidate;
            }
        };
        self.0.insert(name.to_owned(), number);
        self.0.insert(found.clone(), 1);
        found
    }
}

/// A fit metric name: `group_by/2000` becomes `group_by.2000`.
pub fn metric_name(label: &str) -> String {
    let mut name = String::new();
    for c in label.chars() {
        let c = match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' | '.' => c,
            '/' | ':' | '\\' => '.',
            _ => '_',
        };
        let repeats = matches!(c, '.' | '_') && name.ends_with(c);
        if !repeats {
            name.push(c);
        }
    }
    let trimmed = name.trim_matches(['.', '_', '-']);
    let mut name = if trimmed.is_empty() { "value".to_owned() } else { trimmed.to_owned() };
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert(0, '_');
    }
    name.truncate(METRIC_NAME_MAX);
    debug_assert!(is_metric_name(&name));
    name
}

/// A series without a buckets' spread.
pub(super) fn series(name: &str, unit: Unit, t: Vec<f64>, value: Vec<f64>) -> Series {
    Series {
        name: metric_name(name),
        unit,
        source: SeriesSource::Reported,
        x_name: None,
        t,
        x: Vec::new(),
        value,
        min: Vec::new(),
        max: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn labels_become_names() {
        for (label, name) in [
            ("group_by/2000", "group_by.2000"),
            ("test_sim.py::test_mix[n=5]", "test_sim.py.test_mix_n_5"),
            ("2fast", "_2fast"),
            ("…", "value"),
            ("", "value"),
        ] {
            assert_eq!(metric_name(label), name);
        }
    }

    #[test]
    fn names_are_made_unique() {
        let mut reading = Reading::new(Kind::Go);
        for label in ["a b", "a/b", "a_b", "a_b"] {
            reading.metric(label, 1.0, Unit::None);
        }
        let names: Vec<_> =
            reading.with_unique_names().metrics.into_iter().map(|m| m.name).collect();
        assert_eq!(names, ["a_b", "a.b", "a_b.2", "a_b.3"]);
    }

    proptest! {
        #[test]
        fn any_label_makes_a_fit_name(label in ".{0,200}") {
            prop_assert!(is_metric_name(&metric_name(&label)));
        }
    }
}
