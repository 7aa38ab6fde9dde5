//! `data.js` of github-action-benchmark: suites, each with its commits, each with its numbers.

use serde_json::Value;

use super::{Branch, Brought, ForeignError, better_of, json, number, object, of_millis};
use crate::model::metric::{Better, Unit};
use crate::model::units;

const WANTED: &str = "data.js of github-action-benchmark";
const SOURCE: &str = "github-action-benchmark";

/// What a file holds.
#[derive(Debug)]
pub struct DataJs {
    /// The project, as an address.
    pub project: Option<String>,
    /// Its runs, in the order of the file.
    pub runs: Vec<Brought>,
}

/// Reads the file: JSON, perhaps behind `window.BENCHMARK_DATA =`.
///
/// # Errors
/// When it is no such file. Entries that are not understood are told in their run's place by none.
pub fn read(path: &str, bytes: &[u8]) -> Result<DataJs, ForeignError> {
    let start = bytes.iter().position(|byte| *byte == b'{').unwrap_or(0);
    let text = String::from_utf8_lossy(&bytes[start..]);
    let value = json(path, text.trim_end().trim_end_matches(';').as_bytes())?;
    let top = object(path, WANTED, &value)?;
    let entries = top
        .get("entries")
        .and_then(Value::as_object)
        .ok_or_else(|| ForeignError::form(path, WANTED, "it has no `entries`"))?;
    let mut runs = Vec::new();
    for (suite, list) in entries {
        let list = list.as_array().into_iter().flatten();
        runs.extend(list.filter_map(|entry| run(path, suite, entry)));
    }
    let project = top.get("repoUrl").and_then(Value::as_str).map(str::to_owned);
    Ok(DataJs { project, runs })
}

fn run(path: &str, suite: &str, entry: &Value) -> Option<Brought> {
    let mut run = Brought::new(path, suite, of_millis(entry.get("date")?)?);
    let commit = entry.get("commit");
    let text = |key: &str| commit?.get(key)?.as_str().map(str::to_owned);
    "push".clone_into(&mut run.event);
    run.branch = Branch::Default;
    run.commit = text("id");
    run.subject = text("message").and_then(|text| text.lines().next().map(str::to_owned));
    run.committed = text("timestamp").and_then(|text| text.parse().ok());
    let tool = entry.get("tool").and_then(Value::as_str).unwrap_or_default();
    if !tool.is_empty() {
        run.extra.insert("tool".to_owned(), tool.into());
    }
    for bench in entry.get("benches")?.as_array()? {
        let value = bench.get("value").and_then(Value::as_f64);
        let Some(value) = value.filter(|value| value.is_finite()) else { continue };
        let text = |key: &str| bench.get(key).and_then(Value::as_str).unwrap_or_default();
        let (unit, factor) = unit_of(text("unit"));
        let metric = number(value * factor, unit.clone(), better(tool, &unit), SOURCE, "reported");
        run.add(text("name"), metric);
    }
    (!run.metrics.is_empty()).then_some(run)
}

/// `ns/iter`, `ns/op` and `ms/iter` are times; whatever is counted in a second is kept.
fn unit_of(text: &str) -> (Unit, f64) {
    let once = text.split_once('/').filter(|(_, per)| matches!(*per, "iter" | "op" | "iteration"));
    units::from_declared(once.map_or(text, |(unit, _)| unit))
}

fn better(tool: &str, unit: &Unit) -> Better {
    match tool {
        "customBiggerIsBetter" | "pytest" | "benchmarkjs" | "benchmarkluau" => Better::Higher,
        "customSmallerIsBetter" => Better::Lower,
        _ => better_of(unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_commits_and_units() {
        let text = r#"window.BENCHMARK_DATA = {
  "lastUpdate": 1700000000000, "repoUrl": "https://github.com/o/n",
  "entries": {
    "Rust Benchmark": [
      {"commit": {"id": "abc", "message": "One\n\nmore", "timestamp": "2023-11-14T22:13:20+01:00"},
       "date": 1700000000000, "tool": "cargo",
       "benches": [{"name": "bench/fib 10", "value": 135, "range": "± 24", "unit": "ns/iter"},
                   {"name": "bad", "value": null, "unit": "ns/iter"}]},
      {"date": "no"}, 3
    ],
    "Python": [
      {"commit": {"id": "abc"}, "date": 1700000001000, "tool": "pytest",
       "benches": [{"name": "t", "value": 41.5, "unit": "iter/sec"}]}
    ]}};
"#;
        let found = read("dev/bench/data.js", text.as_bytes()).unwrap();
        assert_eq!(found.project.as_deref(), Some("https://github.com/o/n"));
        let [rust, python] = found.runs.as_slice() else { panic!("{:?}", found.runs) };
        assert_eq!((rust.job.as_str(), rust.subject.as_deref()), ("Rust_Benchmark", Some("One")));
        let fib = &rust.metrics["bench_fib_10"];
        assert!((fib.value - 135e-9).abs() < 1e-15);
        assert_eq!((&fib.unit, fib.better), (&Unit::Seconds, Better::Lower));
        assert_eq!(rust.metrics.len(), 1);
        assert_eq!(python.metrics["t"].better, Better::Higher);
        assert_eq!(python.metrics["t"].unit, Unit::Other("iter/sec".to_owned()));
    }

    #[test]
    fn what_is_no_such_file_is_told() {
        for (text, told) in [
            ("", "no JSON"),
            ("{}", "no `entries`"),
            ("window.X = {", "no JSON"),
            ("[]", "no object"),
        ] {
            let error = read("data.js", text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
