//! google-benchmark's JSON: each repetition by itself, then what was made of them. User counters
//! stand among the other keys. Of files with aggregates alone the median or mean is taken; `cv`
//! says its unit is time and is a share.

use serde_json::Value;

use super::{Bench, Context, Taken, number, scaled, text};
use crate::model::metric::{Better, Unit};
use crate::model::units::from_declared;
use crate::profile::reading::Reading;

/// Keys that are no counters of the user's.
const KNOWN: &[&str] = &[
    "name",
    "run_name",
    "run_type",
    "family_index",
    "per_family_instance_index",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "real_time",
    "cpu_time",
    "time_unit",
    "aggregate_name",
    "aggregate_unit",
    "label",
    "error_occurred",
    "error_message",
    "skipped",
    "skip_message",
    "bytes_per_second",
    "items_per_second",
    "big_o",
    "real_coefficient",
    "cpu_coefficient",
    "rms",
];
/// Most different numbers of a file.
const RESULTS_MAX: usize = 20_000;

/// The samples of one number of one benchmark.
struct Row {
    label: String,
    unit: Unit,
    better: Better,
    samples: Vec<f64>,
    method: Option<&'static str>,
}

pub(super) fn take(context: &Context<'_>, file: &Value, reading: &mut Reading) -> Taken {
    let Some(all) = file.get("benchmarks").and_then(Value::as_array) else {
        return Err("`benchmarks`");
    };
    let single: Vec<&Value> =
        all.iter().filter(|one| text(one, "run_type") != Some("aggregate")).collect();
    let mut rows: Vec<Row> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for one in &single {
        let label = text(one, "run_name").or_else(|| text(one, "name")).unwrap_or_default();
        if one.get("error_occurred").and_then(Value::as_bool) == Some(true) {
            let label = crate::profile::names::clean(label);
            reading.note(format!("`{label}` failed and is left out"));
            continue;
        }
        for (label, unit, better, value) in numbers(one, label) {
            let next = rows.len();
            let at = *places.entry(label.clone()).or_insert(next);
            if at == next && next < RESULTS_MAX {
                rows.push(Row { label, unit, better, samples: Vec::new(), method: None });
            }
            if let Some(row) = rows.get_mut(at) {
                row.samples.push(value);
            }
        }
    }
    if single.is_empty() {
        rows = aggregates(all);
    }
    for row in rows {
        let mut bench = Bench::new(&row.label, row.unit, row.samples);
        bench.better = row.better;
        if let Some(method) = row.method {
            bench.told = bench.samples.pop().map(|value| (value, method));
        }
        bench.tell(context, reading);
    }
    Ok(())
}

/// The numbers of a row of the file.
fn numbers(one: &Value, label: &str) -> Vec<(String, Unit, Better, f64)> {
    let (unit, factor) = from_declared(text(one, "time_unit").unwrap_or("ns"));
    let mut found = Vec::new();
    if let Some(real) = number(one, "real_time") {
        found.push((label.to_owned(), unit.clone(), Better::Lower, scaled(real, factor)));
    }
    if let Some(cpu) = number(one, "cpu_time") {
        found.push((format!("{label}.cpu_time"), unit, Better::Lower, scaled(cpu, factor)));
    }
    for (key, unit) in [("bytes_per_second", "B/s"), ("items_per_second", "1/s")] {
        if let Some(rate) = number(one, key) {
            let unit = Unit::Other(unit.to_owned());
            found.push((format!("{label}.{key}"), unit, Better::Higher, rate));
        }
    }
    let counters = one.as_object().into_iter().flatten();
    for (key, value) in counters.filter(|(key, _)| !KNOWN.contains(&key.as_str())).take(50) {
        if let Some(value) = value.as_f64() {
            found.push((format!("{label}.{key}"), Unit::None, Better::Neither, value));
        }
    }
    found
}

/// Medians where there are any, else means.
fn aggregates(all: &[Value]) -> Vec<Row> {
    let of = |name: &'static str| -> Vec<Row> {
        let fits = |one: &&Value| text(one, "aggregate_name") == Some(name);
        let rows = all
            .iter()
            .filter(fits)
            .flat_map(|one| numbers(one, text(one, "run_name").unwrap_or_default()));
        rows.take(RESULTS_MAX)
            .map(|(label, unit, better, value)| Row {
                label,
                unit,
                better,
                samples: vec![value],
                method: Some(name),
            })
            .collect()
    };
    let medians = of("median");
    if medians.is_empty() { of("mean") } else { medians }
}
