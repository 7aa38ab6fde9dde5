//! What a program tells perftrail: the JSON lines of `PERFTRAIL_STATS`.
//!
//! Reading a line is pure; when it was read is told by the caller.

use serde_json::{Map, Value};
use thiserror::Error;

use crate::model::metric::{Better, Unit, built_in};
use crate::model::names::is_metric_name;
use crate::model::units;

/// Longest line that is looked at, its newline not counted.
pub const LINE_MAX: usize = 64 * 1024;
/// Longest note that is kept, in bytes; a longer one is cut.
pub const NOTE_MAX: usize = 2000;
/// Longest unit of a job's own, in characters.
pub const UNIT_MAX: usize = 40;
/// Longest x value of a series, in characters.
pub const X_MAX: usize = 80;

/// One thing that a line says.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// A number of the job's own, in base units.
    Metric {
        /// Its name as the job wrote it.
        name: String,
        /// Its value.
        value: f64,
        /// Its unit.
        unit: Unit,
        /// Which way it gets better, where the job said so.
        better: Option<Better>,
    },
    /// A phase begins.
    PhaseBegin {
        /// Its name.
        name: String,
        /// The job's own time stamp.
        t: Option<f64>,
    },
    /// A phase ends.
    PhaseEnd {
        /// Its name.
        name: String,
        /// The job's own time stamp.
        t: Option<f64>,
    },
    /// One point of a series, in base units.
    Series {
        /// The series' name.
        name: String,
        /// The value.
        value: f64,
        /// The job's own x value, as text.
        x: Option<String>,
        /// The unit.
        unit: Unit,
        /// The job's own time stamp.
        t: Option<f64>,
    },
    /// A sentence for people.
    Note(String),
}

/// Why a line was not understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MarkError {
    /// More than [`LINE_MAX`] bytes.
    #[error("the line is longer than {LINE_MAX} bytes")]
    TooLong,
    /// Not JSON, or a number no computer can hold (`NaN`, `1e999`).
    #[error("it is not JSON ({reason})")]
    NotJson {
        /// What the JSON reader says.
        reason: String,
    },
    /// JSON, but not `{…}`.
    #[error("it is not an object")]
    NotAnObject,
    /// An object without anything in it.
    #[error("the object is empty")]
    Empty,
    /// A name that cannot name a metric, phase or series.
    #[error("`{name}` cannot be a name: letters, digits, `_`, `.`, `-`, at most 80 characters")]
    Name {
        /// The start of the name, made printable.
        name: String,
    },
    /// A field that is missing or holds something else.
    #[error("`{field}` must be {wanted}")]
    Field {
        /// The field.
        field: &'static str,
        /// What it must be.
        wanted: &'static str,
    },
    /// A bare object whose values are not all numbers.
    #[error("`{name}` is not a number, and the line is no metric, phase, series or note")]
    NotANumber {
        /// The key, made printable.
        name: String,
    },
}

/// Reads one line, without its newline. A line of spaces says nothing.
///
/// # Errors
/// When the line is none of the known forms. Such a line is counted by the caller, never fatal.
pub fn parse_line(line: &[u8]) -> Result<Vec<Mark>, MarkError> {
    if line.len() > LINE_MAX {
        return Err(MarkError::TooLong);
    }
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(Vec::new());
    }
    let value: Value = serde_json::from_slice(line)
        .map_err(|error| MarkError::NotJson { reason: printable(&error.to_string()) })?;
    let Value::Object(map) = value else {
        return Err(MarkError::NotAnObject);
    };
    match &map {
        map if map.get("metric").is_some_and(Value::is_string) => metric(map).map(one),
        map if map.get("phase").is_some_and(Value::is_string) => phase(map).map(one),
        map if map.get("series").is_some_and(Value::is_string) => series(map).map(one),
        map if map.get("note").is_some_and(Value::is_string) => note(map).map(one),
        map => bare(map),
    }
}

fn one(mark: Mark) -> Vec<Mark> {
    vec![mark]
}

/// The name a job's metric gets: `job.NAME` where it bears a built-in's, else its own.
pub fn reported_name(name: &str) -> String {
    if built_in(name).is_some() { format!("job.{name}") } else { name.to_owned() }
}

fn metric(map: &Map<String, Value>) -> Result<Mark, MarkError> {
    let name = name_in(map, "metric")?;
    let better = match map.get("better") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(match text.as_str() {
            "lower" => Better::Lower,
            "higher" => Better::Higher,
            "neither" => Better::Neither,
            _ => return Err(wrong_better()),
        }),
        Some(_) => return Err(wrong_better()),
    };
    let (value, unit) = value_in(map, &name)?;
    Ok(Mark::Metric { name, value, unit, better })
}

fn wrong_better() -> MarkError {
    MarkError::Field { field: "better", wanted: "`lower`, `higher` or `neither`" }
}

fn phase(map: &Map<String, Value>) -> Result<Mark, MarkError> {
    let name = name_in(map, "phase")?;
    let t = time_in(map)?;
    match map.get("event").and_then(Value::as_str) {
        Some("begin") => Ok(Mark::PhaseBegin { name, t }),
        Some("end") => Ok(Mark::PhaseEnd { name, t }),
        _ => Err(MarkError::Field { field: "event", wanted: "`begin` or `end`" }),
    }
}

fn series(map: &Map<String, Value>) -> Result<Mark, MarkError> {
    let name = name_in(map, "series")?;
    let x = match map.get("x") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(printable_to(text, X_MAX)),
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(_) => return Err(MarkError::Field { field: "x", wanted: "a text or a number" }),
    };
    let t = time_in(map)?;
    let (value, unit) = value_in(map, &name)?;
    Ok(Mark::Series { name, value, x, unit, t })
}

fn note(map: &Map<String, Value>) -> Result<Mark, MarkError> {
    let text = map.get("note").and_then(Value::as_str).unwrap_or_default().trim();
    if text.is_empty() {
        return Err(MarkError::Field { field: "note", wanted: "a text that is not empty" });
    }
    Ok(Mark::Note(cut(text, NOTE_MAX).to_owned()))
}

fn bare(map: &Map<String, Value>) -> Result<Vec<Mark>, MarkError> {
    if map.is_empty() {
        return Err(MarkError::Empty);
    }
    map.iter()
        .map(|(name, value)| {
            let number = value
                .as_f64()
                .filter(|number| number.is_finite())
                .ok_or_else(|| MarkError::NotANumber { name: printable(name) })?;
            let name = fit_name(name)?;
            let (unit, factor) = units::of_reported(&name, None);
            let value = finite(number * factor)?;
            Ok(Mark::Metric { name, value, unit, better: None })
        })
        .collect()
}

fn name_in(map: &Map<String, Value>, key: &str) -> Result<String, MarkError> {
    fit_name(map.get(key).and_then(Value::as_str).unwrap_or_default())
}

fn fit_name(name: &str) -> Result<String, MarkError> {
    if is_metric_name(name) {
        Ok(name.to_owned())
    } else {
        Err(MarkError::Name { name: printable(name) })
    }
}

fn value_in(map: &Map<String, Value>, name: &str) -> Result<(f64, Unit), MarkError> {
    let number = map.get("value").and_then(Value::as_f64).ok_or_else(no_number)?;
    let (unit, factor) = match map.get("unit") {
        None | Some(Value::Null) => units::of_reported(name, None),
        Some(Value::String(text)) if is_fit_unit(text) => units::from_declared(text),
        Some(_) => {
            return Err(MarkError::Field { field: "unit", wanted: "a short text" });
        }
    };
    Ok((finite(number * factor)?, unit))
}

fn is_fit_unit(text: &str) -> bool {
    text.chars().count() <= UNIT_MAX && !text.chars().any(is_unprintable)
}

fn finite(number: f64) -> Result<f64, MarkError> {
    if number.is_finite() { Ok(number) } else { Err(no_number()) }
}

fn no_number() -> MarkError {
    MarkError::Field { field: "value", wanted: "a finite number" }
}

fn time_in(map: &Map<String, Value>) -> Result<Option<f64>, MarkError> {
    match map.get("t") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value
            .as_f64()
            .filter(|t| t.is_finite() && *t >= 0.0)
            .map(Some)
            .ok_or(MarkError::Field { field: "t", wanted: "a number of seconds" }),
    }
}

/// Control characters, and those that turn the writing direction.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn printable(text: &str) -> String {
    printable_to(text, 60)
}

fn printable_to(text: &str, max: usize) -> String {
    text.chars().take(max).map(|c| if is_unprintable(c) { '\u{fffd}' } else { c }).collect()
}

/// `text` cut to at most `max` bytes at a character's edge.
fn cut(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn only(line: &str) -> Mark {
        let marks = parse_line(line.as_bytes()).expect("a good line");
        assert_eq!(marks.len(), 1, "{line}");
        marks.into_iter().next().expect("one mark")
    }

    fn number(line: &str) -> (f64, Unit) {
        match only(line) {
            Mark::Metric { value, unit, .. } | Mark::Series { value, unit, .. } => (value, unit),
            other => panic!("{line} gave {other:?}"),
        }
    }

    #[test]
    fn the_four_forms() {
        assert_eq!(
            only(r#"{"metric": "rows", "value": 51000, "unit": "count", "better": "lower"}"#),
            Mark::Metric {
                name: "rows".into(),
                value: 51000.0,
                unit: Unit::Count,
                better: Some(Better::Lower)
            }
        );
        assert_eq!(
            only(r#"{"phase": "initialise", "event": "begin"}"#),
            Mark::PhaseBegin { name: "initialise".into(), t: None }
        );
        assert_eq!(
            only(r#"  {"phase": "a.b", "event": "end", "t": 1.5}  "#),
            Mark::PhaseEnd { name: "a.b".into(), t: Some(1.5) }
        );
        assert_eq!(
            only(r#"{"series": "queue", "value": 812, "x": "2010-02-01"}"#),
            Mark::Series {
                name: "queue".into(),
                value: 812.0,
                x: Some("2010-02-01".into()),
                unit: Unit::None,
                t: None
            }
        );
        assert_eq!(only(r#"{"note": "seed 0"}"#), Mark::Note("seed 0".into()));
    }

    #[test]
    fn bare_numbers_are_metrics() {
        let marks = parse_line(br#"{"rows": 3, "load_ms": 1500, "seen_MiB": 2}"#).expect("good");
        assert_eq!(marks.len(), 3);
        assert!(marks.contains(&Mark::Metric {
            name: "load_ms".into(),
            value: 1.5,
            unit: Unit::Seconds,
            better: None
        }));
        assert!(parse_line(b"").expect("nothing").is_empty());
    }

    #[test]
    fn units_become_base_units() {
        for (line, value, unit) in [
            (r#"{"a_sec": 2}"#, 2.0, Unit::Seconds),
            (r#"{"a_s": 2}"#, 2.0, Unit::Seconds),
            (r#"{"a_minutes": 2}"#, 120.0, Unit::Seconds),
            (r#"{"a_MB": 2}"#, 2e6, Unit::Bytes),
            (r#"{"a_mb": 2}"#, 2e6, Unit::Bytes),
            (r#"{"a_bytes": 2}"#, 2.0, Unit::Bytes),
            (r#"{"births": 2}"#, 2.0, Unit::None),
            (r#"{"metric":"a_ms","value":2,"unit":"people"}"#, 2.0, Unit::Other("people".into())),
            (r#"{"metric":"a","value":2,"unit":"%"}"#, 0.02, Unit::Ratio),
            (r#"{"series":"a","value":3,"unit":"KiB"}"#, 3072.0, Unit::Bytes),
        ] {
            assert_eq!(number(line), (value, unit), "{line}");
        }
    }

    #[test]
    fn bad_lines_say_why() {
        for (line, message) in [
            (r#"{"metric": "../../x", "value": 1}"#, "cannot be a name"),
            (r#"{"rows": NaN}"#, "not JSON"),
            (r#"{"rows": 1e999}"#, "not JSON"),
            (r#"{"rows": Infinity}"#, "not JSON"),
            (r#"{"a_minutes": 1e308}"#, "finite number"),
            (r#"{"metric": "a", "value": "1"}"#, "finite number"),
            (r#"{"metric": "a", "value": 1, "better": "up"}"#, "`better`"),
            (r#"{"metric": "a", "value": 1, "unit": 3}"#, "`unit`"),
            (r#"{"phase": "a"}"#, "`event`"),
            (r#"{"phase": "a", "event": "begin", "t": -1}"#, "`t`"),
            (r#"{"a": {"b": 1}}"#, "not a number"),
            (r#"{"a": 1, "b": "x"}"#, "not a number"),
            (r#"{"note": " "}"#, "`note`"),
            ("{}", "empty"),
            ("[1]", "not an object"),
            ("hello", "not JSON"),
        ] {
            let error = parse_line(line.as_bytes()).expect_err(line);
            assert!(error.to_string().contains(message), "{line}: {error}");
        }
        let long = format!(r#"{{"{}": 1}}"#, "a".repeat(1_000_000));
        assert_eq!(parse_line(long.as_bytes()), Err(MarkError::TooLong));
        let deep = "[".repeat(50_000);
        assert!(matches!(parse_line(deep.as_bytes()), Err(MarkError::NotJson { .. })));
    }

    #[test]
    fn a_built_ins_name_is_kept_apart() {
        assert_eq!(reported_name("duration"), "job.duration");
        assert_eq!(reported_name("births"), "births");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_line(&line);
        }

        #[test]
        fn every_value_is_finite(value in any::<f64>(), name in "[a-z_]{1,9}(_ms|_MB|_minutes)?") {
            let line = format!("{{\"{name}\": {value:?}}}");
            if let Ok(marks) = parse_line(line.as_bytes()) {
                for mark in marks {
                    let Mark::Metric { value, .. } = mark else { panic!("{mark:?}") };
                    prop_assert!(value.is_finite());
                }
            }
        }
    }
}
