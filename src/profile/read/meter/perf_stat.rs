//! `perf stat`: with `-j` one JSON object a line, with `-x,` fields, else a table for people. A
//! counter that took turns with others is scaled up by perf and so not exact. What could not be
//! counted says so and is no 0. Lines of one event (by CPU, by interval) add up.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::super::error::{Fault, Reason};
use super::super::super::lines::Lines;
use super::super::super::names;
use super::super::super::reading::Reading;
use crate::model::metric::{Exactness, Unit};
use crate::model::units::from_declared;

/// Most different events of a file.
const EVENTS_MAX: usize = 500;

/// One event's count.
struct Row {
    event: String,
    unit: String,
    value: f64,
    /// Percent of the time that it was counted.
    share: f64,
}

/// What a line says.
enum Said {
    Count(Row),
    NotCounted(String),
    Nothing,
}

pub(super) fn read(lines: &mut Lines<'_, '_>, reading: &mut Reading) -> Result<(), Fault> {
    let mut rows: BTreeMap<String, (u64, Row)> = BTreeMap::new();
    let mut missing: Vec<String> = Vec::new();
    let mut order = Vec::new();
    while let Some(line) = lines.next()? {
        let text = String::from_utf8_lossy(line);
        match said(text.trim()) {
            Said::Count(row) => {
                if let Some((lines, known)) = rows.get_mut(&row.event) {
                    *lines += 1;
                    known.value += row.value;
                    known.share = known.share.min(row.share);
                } else if rows.len() < EVENTS_MAX {
                    order.push(row.event.clone());
                    rows.insert(row.event.clone(), (1, row));
                }
            }
            Said::NotCounted(event) => {
                if missing.len() < 20 && !missing.contains(&event) {
                    missing.push(event);
                }
            }
            Said::Nothing => {}
        }
    }
    if rows.is_empty() && missing.is_empty() {
        return Err(lines.wrong(Reason::Missing { what: "a counter" }));
    }
    for event in order {
        if let Some((_, row)) = rows.remove(&event) {
            tell(&row, reading);
        }
    }
    if !missing.is_empty() {
        reading.note(format!("perf could not count {}", missing.join(", ")));
    }
    Ok(())
}

fn tell(row: &Row, reading: &mut Reading) {
    let (unit, factor) = match row.unit.as_str() {
        "" => (Unit::Count, 1.0),
        "msec" => (Unit::Seconds, 1e-3),
        other => from_declared(other),
    };
    let Some(metric) = reading.exact(&row.event, row.value * factor, unit) else { return };
    "perf stat".clone_into(&mut metric.method);
    if row.share < 99.995 {
        metric.exactness = Exactness::Sampled;
        "perf stat, scaled".clone_into(&mut metric.method);
        reading.note(format!(
            "perf counted `{}` for {:.1} % of the time and scaled it up",
            row.event, row.share
        ));
    }
}

fn said(line: &str) -> Said {
    if line.starts_with('{') {
        return serde_json::from_str::<Value>(line).map_or(Said::Nothing, |line| of_json(&line));
    }
    let fields: Vec<&str> = line.split(',').collect();
    // With `-A` or `-I` other fields stand before the count.
    if fields.len() >= 5 {
        for at in 0..3 {
            let (Some(value), Some(unit), Some(event)) =
                (fields.get(at), fields.get(at + 1), fields.get(at + 2))
            else {
                break;
            };
            let share = fields.get(at + 4).and_then(|share| share.parse().ok());
            if let Some(share) = share
                && !event.is_empty()
                && event.parse::<f64>().is_err()
            {
                return count(value, unit, event, share);
            }
        }
    }
    of_table(line)
}

fn of_json(line: &Value) -> Said {
    let text = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default();
    let share = line.get("pcnt-running").and_then(Value::as_f64).unwrap_or(100.0);
    if text("event").is_empty() {
        return Said::Nothing;
    }
    count(text("counter-value"), text("unit"), text("event"), share)
}

/// `  74.27 msec task-clock   #  0.245 CPUs utilized`, or `0.30 seconds time elapsed`.
fn of_table(line: &str) -> Said {
    let line = line.split('#').next().unwrap_or(line).trim();
    if let Some(event) = line.strip_prefix("<not supported>").or(line.strip_prefix("<not counted>"))
    {
        return count("<not", "", event.trim(), 100.0);
    }
    let mut words = line.split_whitespace();
    let (Some(value), Some(second)) = (words.next(), words.next()) else { return Said::Nothing };
    let value = value.replace(',', "");
    match (second, words.next()) {
        ("seconds", Some("time")) => count(&value, "s", "elapsed", 100.0),
        ("seconds", Some(part @ ("user" | "sys"))) => count(&value, "s", part, 100.0),
        ("msec", Some(event)) => count(&value, "msec", event, 100.0),
        (event, None) => count(&value, "", event, 100.0),
        _ => Said::Nothing,
    }
}

fn count(value: &str, unit: &str, event: &str, share: f64) -> Said {
    let event = names::clean(event);
    match value.parse::<f64>() {
        Ok(value) if value.is_finite() => {
            Said::Count(Row { event, unit: unit.to_owned(), value, share })
        }
        _ if value.starts_with("<not") => Said::NotCounted(event),
        _ => Said::Nothing,
    }
}
