//! asv's results of one commit: rows by column, which may be cut short. A result is a list over
//! the product of all params, or nothing when it failed. The file holds bare `Infinity`. The unit
//! is told by the beginning of the benchmark's name.

use serde_json::Value;

use super::{Bench, Context, Taken, list};
use crate::model::metric::{Better, Unit};
use crate::profile::names;
use crate::profile::reading::Reading;

pub(super) fn take(context: &Context<'_>, file: &Value, reading: &mut Reading) -> Taken {
    let Some(results) = file.get("results").and_then(Value::as_object) else {
        return Err("`results`");
    };
    let columns = list(file, "result_columns");
    let place = |name: &str, other: usize| {
        columns.iter().position(|column| column.as_str() == Some(name)).unwrap_or(other)
    };
    let (at_result, at_params) = (place("result", 0), place("params", 1));
    for (name, row) in results {
        // Before 0.5 a row was an object, or the bare result.
        let cell = |at: usize, key: &str| row.get(key).or_else(|| row.get(at));
        let values = match cell(at_result, "result") {
            Some(Value::Array(values)) => values.as_slice(),
            _ if row.is_number() => std::slice::from_ref(row),
            Some(one @ Value::Number(_)) => std::slice::from_ref(one),
            _ => {
                reading.note(format!("`{}` failed and is left out", names::clean(name)));
                continue;
            }
        };
        let params: Vec<&[Value]> = cell(at_params, "params")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(|axis| axis.as_array().map(Vec::as_slice).unwrap_or_default())
            .collect();
        tell(context, name, values, &params, reading);
    }
    Ok(())
}

fn tell(
    context: &Context<'_>,
    name: &str,
    values: &[Value],
    params: &[&[Value]],
    reading: &mut Reading,
) {
    let (unit, better) = unit_of(name);
    for (at, value) in values.iter().take(context.limits.values).enumerate() {
        let label = format!("{name}{}", combination(params, at));
        match value.as_f64() {
            Some(value) => {
                let mut bench = Bench::new(&label, unit.clone(), Vec::new());
                bench.told = Some((value, "asv"));
                bench.better = better;
                bench.tell(context, reading);
            }
            None => {
                reading.note(format!("`{}` failed and is left out", names::clean(&label)));
            }
        }
    }
}

/// `(20, home)`: the params of the result at that place. The last axis turns first.
fn combination(params: &[&[Value]], mut at: usize) -> String {
    let mut parts: Vec<String> = Vec::new();
    for axis in params.iter().rev().filter(|axis| !axis.is_empty()) {
        let text = axis[at % axis.len()].as_str().unwrap_or_default();
        parts.push(text.trim_matches('\'').chars().take(60).collect());
        at /= axis.len();
    }
    parts.reverse();
    if parts.is_empty() { String::new() } else { format!("({})", parts.join(", ")) }
}

fn unit_of(name: &str) -> (Unit, Better) {
    let method = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
    let starts = |words: &[&str]| words.iter().any(|word| method.starts_with(word));
    if starts(&["time"]) {
        (Unit::Seconds, Better::Lower)
    } else if starts(&["mem", "peakmem"]) {
        (Unit::Bytes, Better::Lower)
    } else {
        (Unit::None, Better::Neither)
    }
}
