use super::super::super::reading::Reported;
use super::super::super::{Options, read_bytes};
use super::*;
use crate::model::metric::Exactness;

fn metrics(text: &str) -> Reading {
    read_bytes(text.as_bytes(), &Options::default()).unwrap()
}

fn line(metric: &Reported) -> String {
    format!("{} = {} {} {}", metric.name, metric.value, metric.unit, metric.method)
}

#[test]
fn hyperfine_failing_commands_single_runs_and_rising_memory() {
    let reading = metrics(
        r#"{"results": [
        {"command": "python /opt/me/sim.py", "mean": 2.0, "stddev": null, "median": 2.0, "user": 1.0,
         "system": 0.5, "times": [2.0], "memory_usage_byte": [24559616], "exit_codes": [0]},
        {"command": "fails", "mean": 1.0, "times": [1.0, 3.0], "memory_usage_byte": [24559616], "exit_codes": [3, null]}]}"#,
    );
    let lines: Vec<_> = reading.metrics.iter().map(line).collect();
    assert_eq!(
        lines,
        [
            "python_sim.py = 2 s median",
            "python_sim.py.user = 1 s mean",
            "python_sim.py.system = 0.5 s mean",
            "fails = 2 s median"
        ]
    );
    assert_eq!(reading.metrics[0].deviation, None);
    assert!(reading.notices[0].contains("2 of 2 runs of `fails` failed"), "{:?}", reading.notices);
    assert!(reading.notices[1].contains("memory"), "{:?}", reading.notices);
}

#[test]
fn go_samples_are_put_together_and_the_processors_leave_the_name() {
    let reading = metrics(
        "pkg: a.org/sim\nBenchmarkX-2 10 100 ns/op 16 B/op\nBenchmarkX-2 10 300 ns/op 16 B/op\nBenchmarkY/n=5-2 3 7 ns/op 147.5 MB/s\n",
    );
    let lines: Vec<_> = reading.metrics.iter().map(line).collect();
    assert_eq!(lines[1], "X.B.op = 16 B median");
    assert_eq!(lines[3], "Y.n_5.MB.s = 147500000 B/s median");
    assert!((reading.metrics[0].value - 2e-7).abs() < 1e-18 && reading.metrics[0].n == Some(2));
    assert_eq!(reading.metrics[3].better, Better::Higher);
    let one = metrics("BenchmarkX-2 1 5 ns/op\nBenchmarkX-4 1 5 ns/op\n");
    assert_eq!(one.metrics[0].name, "X-2", "processors that differ stay");
}

#[test]
fn google_aggregates_are_not_samples_and_shares_are_not_times() {
    let row = |kind: &str, name: &str, time: f64| {
        format!(
            r#"{{"name": "a_{name}", "run_name": "a", "run_type": "{kind}", "aggregate_name": "{name}", "aggregate_unit": "time", "real_time": {time}, "cpu_time": 1, "time_unit": "us", "pairs": 9}}"#
        )
    };
    let with = |rows: &[String]| {
        metrics(&format!(
            r#"{{"context": {{"library_build_type": "release"}}, "benchmarks": [{}]}}"#,
            rows.join(",")
        ))
    };
    let all = with(&[
        row("iteration", "", 10.0),
        row("iteration", "", 30.0),
        row("aggregate", "cv", 0.5),
    ]);
    assert_eq!(all.metrics.len(), 3);
    assert!((all.metrics[0].value - 2e-5).abs() < 1e-12, "{:?}", all.metrics[0]);
    let aggregates = with(&[
        row("aggregate", "mean", 10.0),
        row("aggregate", "median", 20.0),
        row("aggregate", "cv", 0.5),
    ]);
    assert!((aggregates.metrics[0].value - 2e-5).abs() < 1e-12);
    assert_eq!(aggregates.metrics[0].method, "median");
}

#[test]
fn asv_has_infinity_failed_results_and_units_in_names() {
    let reading = metrics(
        r#"{"commit_hash": "x", "result_columns": ["result", "params", "version", "stats_ci_99_a"], "results": {
        "b.time_f": [[0.5, null], [["1", "2"]], "v", [-Infinity, NaN]], "b.S.peakmem_g": [[1024], []], "b.track_h": [[7]], "b.time_x": [null, []]}}"#,
    );
    let lines: Vec<_> = reading.metrics.iter().map(line).collect();
    assert_eq!(
        lines,
        ["b.time_f_1 = 0.5 s asv", "b.S.peakmem_g = 1024 B asv", "b.track_h = 7  asv"]
    );
    assert_eq!(reading.notices.len(), 2, "{:?}", reading.notices);
}

#[test]
fn criterion_is_the_slope_or_else_the_mean() {
    let estimates = |slope: &str| {
        format!(
            r#"{{"mean": {{"point_estimate": 2000}}, "slope": {slope}, "std_dev": {{"point_estimate": 5}}}}"#
        )
    };
    let slope = metrics(&estimates(r#"{"point_estimate": 1000}"#));
    assert_eq!(line(&slope.metrics[0]), "time = 0.000001 s slope");
    assert_eq!(slope.metrics[0].exactness, Exactness::Sampled);
    assert_eq!(metrics(&estimates("null")).metrics[0].method, "mean");
    let name = metrics(r#"{"group_id": "g", "full_id": "g/500"}"#);
    assert_eq!((name.title.as_str(), name.metrics.len()), ("g/500", 0));
    let sample = metrics(r#"{"sampling_mode": "Linear", "iters": [1, 2], "times": [10, 40]}"#);
    assert_eq!(sample.metrics[0].samples.len(), 2);
}

#[test]
fn pyperf_leaves_calibration_out() {
    let reading = metrics(
        r#"{"benchmarks": [{"metadata": {"name": "a"}, "runs": [{"metadata": {}, "warmups": [[1, 0.2]]}, {"metadata": {}, "values": [1.0, 3.0]}]},
        {"metadata": {"name": "m", "unit": "byte"}, "runs": [{"values": [512]}]}], "metadata": {"unit": "second"}}"#,
    );
    let lines: Vec<_> = reading.metrics.iter().map(line).collect();
    assert_eq!(lines, ["a = 2 s median", "m = 512 B median"]);
}
