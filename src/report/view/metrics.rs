//! Metrics as rows: value, spread, certainty, and the earlier value beside it.

use serde::Serialize;

use super::cell::{Cell, Section, Table, number, text};
use crate::model::metric::{self, Exactness, Unit};
use crate::model::{quantity, robust};
use crate::record::index::Entry;
use crate::record::{Metric, Record};
use crate::report::{EarlierRun, plain};

/// As many metrics of the job's own join the headline; more of them would bury it.
const REPORTED_IN_HEADLINE: usize = 4;
/// Most repetitions whose values are listed.
const REPETITIONS_LISTED: usize = 12;

/// Longest unit of a job's own, in characters.
pub(crate) const UNIT_MAX: usize = 24;

/// One metric. Texts of what cannot be said are reasons, never empty.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct MetricRow {
    pub(crate) label: String,
    pub(crate) name: String,
    /// Whether a verdict depends on it.
    pub(crate) judged: bool,
    pub(crate) value: Cell,
    /// `± 0.02 s, n=3` or `n=1`.
    pub(crate) spread: Cell,
    /// `exact`, `between 1.20 and 1.31 GiB`, …
    pub(crate) certainty: Cell,
    pub(crate) earlier: Cell,
    pub(crate) change: Cell,
}

/// A value with its unit; a unit of the job's own is kept short and visible.
pub(crate) fn amount(value: f64, unit: &Unit) -> String {
    match unit {
        Unit::Other(name) => quantity::human(value, &Unit::Other(plain::line(name, UNIT_MAX))),
        known => quantity::human(value, known),
    }
}

/// The words for a metric: its label where it is built in, else its name.
pub(crate) fn label_of(name: &str) -> String {
    metric::built_in(name).map_or_else(|| plain::name(name), |known| known.label.to_owned())
}

/// Whether perftrail measured it: the job's own metrics come after these.
fn is_built_in(name: &str) -> bool {
    metric::built_in(name).is_some()
}

impl MetricRow {
    fn measured(record: &Record, name: &str, metric: &Metric, earlier: EarlierRun<'_>) -> Self {
        let (earlier, change) = beside(name, metric, earlier);
        Self {
            label: label_of(name),
            name: plain::name(name),
            judged: record.run.judged.iter().any(|judged| judged == name),
            value: Cell::number(amount(metric.value, &metric.unit)),
            spread: Cell::number(spread(metric)),
            certainty: Cell::text(&certainty(metric)),
            earlier,
            change,
        }
    }

    fn absent(record: &Record, name: &str) -> Self {
        let reason = match record.unavailable.get(name) {
            Some(reason) => format!("not measured: {reason}"),
            None => "not measured".to_owned(),
        };
        let nothing = Cell::absent("–");
        Self {
            label: label_of(name),
            name: plain::name(name),
            judged: record.run.judged.iter().any(|judged| judged == name),
            value: Cell::absent(&reason),
            spread: nothing.clone(),
            certainty: nothing.clone(),
            earlier: nothing.clone(),
            change: nothing,
        }
    }

    fn of(record: &Record, name: &str, earlier: EarlierRun<'_>) -> Self {
        match record.metrics.get(name) {
            Some(metric) => Self::measured(record, name, metric, earlier),
            None => Self::absent(record, name),
        }
    }
}

/// `± 0.02 s, n=3`: the spread of the repetitions, where there are two or more.
fn spread(metric: &Metric) -> String {
    match robust::spread(&metric.repetitions) {
        Some(spread) => format!("± {}, n={}", amount(spread, &metric.unit), metric.n),
        None => format!("n={}", metric.n),
    }
}

fn certainty(metric: &Metric) -> String {
    let show = |value| amount(value, &metric.unit);
    let bounds = match (metric.lower, metric.upper) {
        (Some(lower), Some(upper)) => format!("between {} and {}", show(lower), show(upper)),
        (Some(lower), None) => format!("at least {}", show(lower)),
        (None, Some(upper)) => format!("at most {}", show(upper)),
        (None, None) => String::new(),
    };
    let word = match metric.exactness {
        Exactness::Exact => "exact",
        Exactness::Bounded => "bounded",
        Exactness::Sampled => "sampled",
        Exactness::Host => "whole machine",
    };
    match (metric.exactness, bounds.is_empty()) {
        (Exactness::Bounded, false) => bounds,
        (_, true) => word.to_owned(),
        (_, false) => format!("{word}, {bounds}"),
    }
}

/// The earlier value and the change, or why there is none.
fn beside(name: &str, metric: &Metric, earlier: EarlierRun<'_>) -> (Cell, Cell) {
    let EarlierRun::Found(line) = earlier else {
        return (Cell::absent("no earlier run"), Cell::absent("–"));
    };
    let Some(entry) = line.metrics.get(name) else {
        let reason = if line.more > 0 { "not in the index" } else { "not measured then" };
        return (Cell::absent(reason), Cell::absent("–"));
    };
    if entry.method() != Entry::of(name, metric).method() {
        return (Cell::absent("measured in another way"), Cell::absent("–"));
    }
    let change = match quantity::relative(entry.value(), metric.value) {
        Some(change) => Cell::number(change),
        None if entry.value().to_bits() == metric.value.to_bits() => Cell::number("0.0 %"),
        None => Cell::absent("–"),
    };
    (Cell::number(amount(entry.value(), &metric.unit)), change)
}

/// The names of the record's metrics: judged ones, built-in ones, the job's own.
fn ordered(record: &Record) -> Vec<&str> {
    let judged = record.run.judged.iter().map(String::as_str);
    let built_in = metric::BUILT_IN.iter().map(|known| known.name);
    let own = record.metrics.keys().map(String::as_str).filter(|name| !is_built_in(name));
    let mut names: Vec<&str> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for name in judged.chain(built_in).chain(own) {
        if record.metrics.contains_key(name) && seen.insert(name) {
            names.push(name);
        }
    }
    names
}

/// The first numbers of a report: judged metrics, the built-in headline, a few of the job's own.
pub(crate) fn headline(record: &Record, earlier: EarlierRun<'_>) -> Vec<MetricRow> {
    let own: Vec<&str> =
        record.metrics.keys().map(String::as_str).filter(|name| !is_built_in(name)).collect();
    let own = if own.len() > REPORTED_IN_HEADLINE { Vec::new() } else { own };
    let built_in = metric::BUILT_IN.iter().filter(|known| known.headline).map(|known| known.name);
    let mut names: Vec<&str> = built_in.collect();
    for name in record.run.judged.iter().map(String::as_str).chain(own) {
        if !names.contains(&name) && names.len() < 24 {
            names.push(name);
        }
    }
    names.into_iter().map(|name| MetricRow::of(record, name, earlier)).collect()
}

/// Every metric, and what was not measured.
pub(crate) fn all(record: &Record, earlier: EarlierRun<'_>) -> Section {
    let names = ordered(record);
    let mut lead = Vec::new();
    if names.is_empty() {
        lead.push("Nothing was measured.".to_owned());
    } else {
        lead.push(
            "Values are medians of the completed repetitions; ± is 1.4826 times their median \
             absolute deviation."
                .to_owned(),
        );
    }
    let measured = measured(record, &names, earlier);
    let built_in = metric::BUILT_IN.iter().filter(|known| !record.metrics.contains_key(known.name));
    let missing = built_in.map(|known| {
        let reason = record.unavailable.get(known.name);
        vec![named(known.name), Cell::absent(reason.map_or("not measured in this run", |r| r))]
    });
    let missing = Table::new("Not measured", &[text("Metric"), text("Why")], missing);
    Section::new("metrics", "All metrics", lead, vec![measured, missing])
}

fn named(name: &str) -> Cell {
    if is_built_in(name) {
        Cell::Named { label: label_of(name), name: name.to_owned() }
    } else {
        Cell::code(&plain::name(name))
    }
}

fn measured(record: &Record, names: &[&str], earlier: EarlierRun<'_>) -> Table {
    let columns = [
        text("Metric"),
        number("Value"),
        number("Spread"),
        number("Earlier"),
        number("Change"),
        text("Certainty"),
        text("Source and method"),
        number("Each repetition"),
    ];
    let rows = names.iter().filter_map(|name| record.metrics.get_key_value(*name)).map(
        |(name, metric)| {
            let row = MetricRow::measured(record, name, metric, earlier);
            let (method, each) = (method(metric), each(metric));
            vec![
                named(name),
                row.value,
                row.spread,
                row.earlier,
                row.change,
                row.certainty,
                method,
                each,
            ]
        },
    );
    let mut table = Table::new("Measured and reported", &columns, rows);
    if !matches!(earlier, EarlierRun::Found(_)) {
        table = table.without("Earlier").without("Change");
    }
    let repeated = record.metrics.values().any(|metric| metric.repetitions.len() > 1);
    if repeated { table } else { table.without("Each repetition") }
}

fn method(metric: &Metric) -> Cell {
    Cell::text(&format!(
        "{}: {}",
        plain::line(&metric.source, 80),
        plain::line(&metric.method, 160)
    ))
}

/// The values one by one; a single one is the value itself.
fn each(metric: &Metric) -> Cell {
    if metric.repetitions.len() < 2 {
        return Cell::absent("one value");
    }
    let listed: Vec<String> = metric
        .repetitions
        .iter()
        .take(REPETITIONS_LISTED)
        .map(|value| amount(*value, &metric.unit))
        .collect();
    let rest = metric.repetitions.len() - listed.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    Cell::number(plain::line(&format!("{}{more}", listed.join(" · ")), 400))
}

/// The value of a step's or phase's metric, or why there is none.
pub(crate) fn part_value(
    metrics: &std::collections::BTreeMap<String, Metric>,
    name: &str,
    reason: Option<&String>,
) -> Cell {
    match metrics.get(name) {
        Some(metric) => Cell::number(amount(metric.value, &metric.unit)),
        None => Cell::absent(reason.map_or("not measured", |reason| reason)),
    }
}
