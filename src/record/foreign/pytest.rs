//! The storage of pytest-benchmark: one JSON file a run.

use serde_json::Value;

use super::{Branch, Brought, ForeignError, json, number, object};
use crate::model::metric::{Better, Unit};
use crate::model::robust::median;

const WANTED: &str = "file of pytest-benchmark";
const SOURCE: &str = "pytest-benchmark";
/// The job whose runs they are.
pub const JOB: &str = "pytest";
/// More rounds are not kept one by one.
const ROUNDS_MAX: usize = 1000;

/// The run that a file tells of; `None` for one without a number.
///
/// # Errors
/// When it is no such file.
pub fn run(path: &str, bytes: &[u8]) -> Result<Option<Brought>, ForeignError> {
    let value = json(path, bytes)?;
    let top = object(path, WANTED, &value)?;
    let form = |why: &str| ForeignError::form(path, WANTED, why);
    let benchmarks = top.get("benchmarks").and_then(Value::as_array);
    let benchmarks = benchmarks.ok_or_else(|| form("it has no `benchmarks`"))?;
    let date = top.get("datetime").and_then(Value::as_str).and_then(time);
    let date = date.ok_or_else(|| form("it has no `datetime`"))?;
    let mut run = Brought::new(path, JOB, date);
    commit(&mut run, top.get("commit_info"));
    run.machine = top.get("machine_info").and_then(machine);
    for benchmark in benchmarks {
        let name = benchmark.get("fullname").or_else(|| benchmark.get("name"));
        let (Some(name), Some(stats)) = (name.and_then(Value::as_str), benchmark.get("stats"))
        else {
            continue;
        };
        let rounds: Vec<f64> = stats
            .get("data")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_f64)
            .filter(|value| value.is_finite())
            .collect();
        let told = stats.get("median").and_then(Value::as_f64);
        let Some(value) = told.or_else(|| median(&rounds)).filter(|value| value.is_finite()) else {
            continue;
        };
        let mut metric = number(value, Unit::Seconds, Better::Lower, SOURCE, "median of rounds");
        let count = stats.get("rounds").and_then(Value::as_u64).unwrap_or(1);
        metric.n = u32::try_from(count).unwrap_or(u32::MAX).max(1);
        if (2..=ROUNDS_MAX).contains(&rounds.len()) {
            metric.repetitions = rounds;
        }
        run.add(name, metric);
    }
    Ok((!run.metrics.is_empty()).then_some(run))
}

/// `2024-01-31T12:00:00.123456+00:00`; older versions wrote no zone and meant UTC.
fn time(text: &str) -> Option<jiff::Timestamp> {
    text.parse().ok().or_else(|| format!("{text}Z").parse().ok())
}

fn commit(run: &mut Brought, told: Option<&Value>) {
    let Some(told) = told else { return };
    let text = |key: &str| told.get(key).and_then(Value::as_str);
    run.commit = text("id").map(str::to_owned);
    run.committed = text("time").or_else(|| text("author_time")).and_then(time);
    run.dirty = told.get("dirty").and_then(Value::as_bool);
    if let Some(branch) = text("branch").filter(|branch| !branch.starts_with('(')) {
        run.branch = Branch::Named(branch.to_owned());
    }
}

fn machine(told: &Value) -> Option<String> {
    let cpu = told.get("cpu");
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let brand = cpu.and_then(|cpu| text(cpu.get("brand_raw").or_else(|| cpu.get("brand"))));
    let count = cpu.and_then(|cpu| cpu.get("count")).and_then(Value::as_u64);
    let count = count.map(|count| format!("{count} cores"));
    let node = text(told.get("node"));
    let parts: Vec<String> =
        text(told.get("machine")).into_iter().chain(brand.or(node)).chain(count).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_rounds_and_commit() {
        let text = r#"{"machine_info":{"machine":"x86_64","cpu":{"brand_raw":"EPYC","count":4}},
            "commit_info":{"id":"abc","time":"2024-01-31T12:00:00+01:00","dirty":true,"branch":"main"},
            "benchmarks":[
              {"name":"test_a","fullname":"tests/t.py::test_a[1]","stats":{"median":0.5,"rounds":7}},
              {"name":"test_b","stats":{"data":[1.0,3.0,2.0]}},
              {"name":"test_c","stats":{}}],
            "datetime":"2024-01-31T12:34:56.789000","version":"4.0.0"}"#;
        let run = run("Linux/0001_x.json", text.as_bytes()).unwrap().unwrap();
        let a = &run.metrics["tests_t.py_test_a_1"];
        assert_eq!((a.value, a.n), (0.5, 7));
        assert_eq!(run.metrics["test_b"].repetitions, [1.0, 3.0, 2.0]);
        assert!((run.metrics["test_b"].value - 2.0).abs() < 1e-12);
        assert_eq!(run.metrics.len(), 2);
        assert_eq!((run.dirty, run.branch), (Some(true), Branch::Named("main".to_owned())));
        assert_eq!(run.machine.as_deref(), Some("x86_64, EPYC, 4 cores"));
        assert_eq!(run.started.to_string(), "2024-01-31T12:34:56.789Z");
    }

    #[test]
    fn what_is_no_such_file_is_told() {
        for (text, told) in [
            ("{}", "no `benchmarks`"),
            (r#"{"benchmarks":[]}"#, "no `datetime`"),
            (r#"{"benchmarks":[],"datetime":"soon"}"#, "no `datetime`"),
            ("", "no JSON"),
        ] {
            let error = run("a.json", text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
