//! The results folder of airspeed velocity: `<machine>/<commit>-<environment>.json`, with units in
//! `benchmarks.json` beside the machines.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Branch, Brought, ForeignError, better_of, json, number, object, of_millis};
use crate::model::metric::Unit;
use crate::model::param::Param;
use crate::model::units;

const WANTED: &str = "results file of asv";
const SOURCE: &str = "asv";
/// The job whose runs they are.
pub const JOB: &str = "asv";

/// Units of benchmarks, by name.
pub type Units = BTreeMap<String, String>;

/// What `benchmarks.json` tells.
///
/// # Errors
/// When it is no object.
pub fn units(path: &str, bytes: &[u8]) -> Result<Units, ForeignError> {
    let value = json(path, bytes)?;
    let all = object(path, "benchmarks file of asv", &value)?.iter();
    let unit = |(name, benchmark): (&String, &Value)| {
        Some((name.clone(), benchmark.get("unit")?.as_str()?.to_owned()))
    };
    Ok(all.filter_map(unit).collect())
}

/// The run that a file tells of; `None` for one without a number.
///
/// # Errors
/// When it is no results file.
pub fn run(path: &str, bytes: &[u8], known: &Units) -> Result<Option<Brought>, ForeignError> {
    let value = json(path, bytes)?;
    let top = object(path, WANTED, &value)?;
    let form = |why: &str| ForeignError::form(path, WANTED, why);
    let results = top.get("results").and_then(Value::as_object);
    let results = results.ok_or_else(|| form("it has no `results`"))?;
    let date = top.get("date").and_then(of_millis).ok_or_else(|| form("it has no `date`"))?;
    let mut run = Brought::new(path, JOB, date);
    run.commit = top.get("commit_hash").and_then(Value::as_str).map(str::to_owned);
    // asv measures commits of the branches that it is told, the default one's first.
    run.branch = Branch::Default;
    run.machine = path.rsplit('/').nth(1).map(str::to_owned);
    for key in ["env_name", "python"] {
        if let Some(text) = top.get(key).and_then(Value::as_str) {
            let param = Param { value: text.into(), default: None, identity: true };
            run.params.insert(key.to_owned(), param);
        }
    }
    let columns: Vec<&str> = top
        .get("result_columns")
        .and_then(Value::as_array)
        .map_or_else(Vec::new, |list| list.iter().filter_map(Value::as_str).collect());
    for (name, result) in results {
        for (name, value) in values(name, result, &columns) {
            let benchmark = name.split('(').next().unwrap_or(&name);
            let (unit, factor) = unit_of(benchmark, known);
            if (value * factor).is_finite() {
                let better = better_of(&unit);
                run.add(&name, number(value * factor, unit, better, SOURCE, "result"));
            }
        }
    }
    Ok((!run.metrics.is_empty()).then_some(run))
}

/// The numbers of a benchmark, each with the params that gave it behind its name.
fn values(name: &str, result: &Value, columns: &[&str]) -> Vec<(String, f64)> {
    let place = |wanted: &str| columns.iter().position(|column| *column == wanted);
    let (numbers, params) = match result {
        // Version 1: a number, or an object.
        Value::Number(_) => (result, None),
        Value::Object(map) => (map.get("result").unwrap_or(&Value::Null), map.get("params")),
        Value::Array(list) => {
            let of = |wanted, usual| list.get(place(wanted).unwrap_or(usual));
            (of("result", 0).unwrap_or(&Value::Null), of("params", 1))
        }
        _ => return Vec::new(),
    };
    let combinations = combinations(params);
    match numbers {
        Value::Array(list) => list
            .iter()
            .enumerate()
            .filter_map(|(at, value)| {
                let named = combinations.get(at).filter(|words| !words.is_empty());
                let name = named.map_or_else(
                    || if list.len() > 1 { format!("{name}({at})") } else { name.to_owned() },
                    |words| format!("{name}({words})"),
                );
                Some((name, value.as_f64()?))
            })
            .collect(),
        other => other.as_f64().map(|value| (name.to_owned(), value)).into_iter().collect(),
    }
}

/// Every combination of params, in the order of results: the last param turns fastest.
fn combinations(params: Option<&Value>) -> Vec<String> {
    const MOST: usize = 10_000;
    let lists = params.and_then(Value::as_array);
    let mut all = vec![String::new()];
    for list in lists.into_iter().flatten().filter_map(Value::as_array) {
        if all.len().saturating_mul(list.len()) > MOST {
            return Vec::new();
        }
        let longer = |start: &String| -> Vec<String> {
            let word =
                |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let joint = if start.is_empty() { "" } else { "," };
            list.iter().map(|value| format!("{start}{joint}{}", word(value))).collect()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// As `benchmarks.json` says, else as the name does.
fn unit_of(benchmark: &str, known: &Units) -> (Unit, f64) {
    if let Some(text) = known.get(benchmark) {
        return units::from_declared(text);
    }
    let name = benchmark.rsplit('.').next().unwrap_or(benchmark);
    let starts = |word: &str| name.starts_with(word);
    match name {
        _ if starts("time_") || starts("timeraw_") => (Unit::Seconds, 1.0),
        _ if starts("mem_") || starts("peakmem_") => (Unit::Bytes, 1.0),
        _ => (Unit::None, 1.0),
    }
}

/// Whether a file of the folder may be a results file.
pub fn is_results(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or_default();
    let is_json = name.strip_suffix(".json").is_some_and(|stem| stem.contains('-'));
    is_json && parts.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_both_versions() {
        let known = units(
            "b",
            br#"{"a.time_x":{"unit":"seconds"},"a.track_y":{"unit":"KiB"},"version":2}"#,
        )
        .unwrap();
        let newer = r#"{"commit_hash":"abc","env_name":"py3","date":1700000000000,"python":"3.12",
            "result_columns":["result","params","version"],
            "results":{"a.time_x":[[0.5,-Infinity,0.25,NaN],[["1","2"],["'u'","'v'"]]],
                       "a.track_y":[[2],[]], "a.gone":null}, "version":2}"#;
        let run = run("m1/abc-py3.json", newer.as_bytes(), &known).unwrap().unwrap();
        let names: Vec<_> =
            run.metrics.iter().map(|(name, one)| (name.as_str(), one.value)).collect();
        assert_eq!(names, [("a.time_x_1_u", 0.5), ("a.time_x_2_u", 0.25), ("a.track_y", 2048.0)]);
        assert_eq!(run.machine.as_deref(), Some("m1"));
        let older = br#"{"commit_hash":"abc","date":1700000000000,
            "results":{"time_z":0.125,"mem_q":{"result":[7],"params":[]}},"version":1}"#;
        let run = super::run("m1/abc-py3.json", older, &Units::new()).unwrap().unwrap();
        assert_eq!(run.metrics["time_z"].unit, Unit::Seconds);
        assert_eq!(run.metrics["mem_q"].unit, Unit::Bytes);
    }

    #[test]
    fn what_is_no_results_file_is_told() {
        for (text, told) in
            [("{}", "no `results`"), (r#"{"results":{}}"#, "no `date`"), ("7", "no object")]
        {
            let error = run("m/a-b.json", text.as_bytes(), &Units::new()).unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
        let empty = br#"{"results":{},"date":1700000000000}"#;
        assert!(run("m/a-b.json", empty, &Units::new()).unwrap().is_none());
        assert!(is_results("m/abc-py.json") && !is_results("benchmarks.json"));
        assert!(!is_results("m/machine.json"));
    }
}
