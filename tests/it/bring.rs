//! `perftrail import` of what other tools keep.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Answer, Project};

/// Brings in a path; results lie beside the project.
fn import(project: &Project, kind: &str, path: &str, more: &[&str]) -> Answer {
    project.perftrail(&[&["import", kind, path, "--to", "results"], more].concat())
}

fn show(project: &Project, path: &str) -> String {
    let home = project.path("../home");
    crate::support::git(&project.path("results"), &home, &["show", &format!("results:{path}")])
}

fn tree(project: &Project) -> Vec<String> {
    let home = project.path("../home");
    let args = ["ls-tree", "-r", "--name-only", "results"];
    let listed = crate::support::git(&project.path("results"), &home, &args);
    listed.lines().map(str::to_owned).collect()
}

/// The record of the run whose name begins so.
fn record(project: &Project, run: &str) -> (String, Value) {
    let is_it = |path: &&String| {
        path.ends_with("/stats.json") && path.split('/').any(|part| part.starts_with(run))
    };
    let tree = tree(project);
    let path = tree.iter().find(is_it).unwrap_or_else(|| panic!("no {run} in {tree:?}"));
    let record = serde_json::from_str(&show(project, path)).expect("JSON");
    (path.trim_end_matches("/stats.json").to_owned(), record)
}

fn histories(project: &Project, metric: &str) -> Vec<Value> {
    let args = ["history", "--metric", metric, "--format", "json", "--to", "results"];
    let answer = project.perftrail(&args).exits(0);
    let found: Value = serde_json::from_str(&answer.stdout).expect("JSON");
    found["histories"].as_array().expect("histories").clone()
}

/// The files of one night in the form of TLOmodel-profiling.
fn night(
    project: &Project,
    root: &str,
    event: &str,
    number: u64,
    day: u64,
    seconds: f64,
) -> String {
    let sha = format!("{:040x}", 0x00c0_ffee_0000 + day);
    let start = 1_701_419_806.5 + 86_400.0 * day as f64;
    let folder = format!("{root}/2024/{:02}/{:02}/0026", 1 + day / 28, 1 + day % 28);
    let stem = format!("{folder}/{event}_{number}_{sha}");
    let stats = json!({
        "start_time": start, "duration": seconds, "cpu_time": seconds - 10.0,
        "disk_reads": 449, "disk_writes": 87826, "disk_read_MB": 2.25,
        "disk_write_MB": if event == "issue_comment" { 90_000.0 } else { 1_100.0 + day as f64 },
        "disk_read_s": 1.425, "memory_rss_MiB": 6024.0625,
        "pop_df_rows": 62000, "pop_df_mem_mb": 115.429_265, "pop_df_times_extended": 12,
        "new_number": 7, "new_size_MB": 2, "new_text": "some <b>text</b>",
        "sha": sha, "trigger": event, "html_output": format!("{event}_{number}_{sha}.html"),
    });
    // Neither file ends with a newline there.
    project.file(&format!("{stem}.stats.json"), &format!("{stats:#}"));
    let args = json!({
        "years": 5, "initial_population": 50000, "seed": 0, "capabilities_coefficient": null,
        "show_progress_bar": day.is_multiple_of(2), "log_level": "WARNING",
        "disable_health_system": false,
    });
    project.file(&format!("{stem}.args.json"), &format!("{args:#}"));
    project.file(
        &format!("{stem}.logged-stats.csv"),
        "date,duration_minutes,memory_rss_MiB,pop_df_rows,time\n\
         2010-01-01,0.5,632.0,50000,2024-11-02T00:24:11.3\n\
         2010-02-01,1.5,640.0,50010,2024-11-02T00:25:11.3\n",
    );
    project.file(&format!("{stem}.html"), "<script>page()</script>");
    project.file(
        &format!("{folder}/scale_run_profiling__2024-01-01T000000.log"),
        "{\"uuid\":\"a\",\"type\":\"header\",\"level\":\"WARNING\"}\n\
         {\"uuid\":\"a\",\"values\":[1]}\n{\"uuid\":\"a\",\"values\":[2]}\n",
    );
    stem
}

#[test]
fn a_tree_of_tlomodel_profiling_is_brought_in_unchanged() {
    let project = Project::new();
    for day in 0..30 {
        let seconds = if day < 15 { 33_000.0 } else { 27_000.0 } + 10.0 * (day % 7) as f64;
        night(&project, "tlo/profiling_results", "schedule", 200 + day, day, seconds);
    }
    night(&project, "tlo/profiling_results", "issue_comment", 500, 31, 42_000.0);
    project.file("tlo/README.md", "Results\n").file("tlo/profiling_results/x_1_2.stats.json", "{}");
    let answer = import(&project, "tlomodel", "tlo", &[]).exits(0);
    assert_eq!(answer.stderr.matches("published as").count(), 31, "{}", answer.stderr);

    let (path, told) = record(&project, "schedule-205-");
    let metric = |name: &str| (&told["metrics"][name]["value"], &told["metrics"][name]["unit"]);
    for (name, value, unit) in [
        ("job.duration", 33_050.0, "s"),
        ("job.cpu_time", 33_040.0, "s"),
        ("disk_reads", 449.0, "count"),
        ("disk_read_MB", 2.25e6, "B"),
        ("disk_read_s", 1.425, "s"),
        ("memory_rss_MiB", 6024.0625 * 1_048_576.0, "B"),
        ("pop_df_rows", 62000.0, "count"),
        ("pop_df_mem_MB", 115_429_265.0, "B"),
        ("new_number", 7.0, ""),
        ("new_size_MB", 2e6, "B"),
        ("job.warnings", 2.0, "count"),
        ("log_bytes", 99.0, "B"),
    ] {
        assert_eq!(metric(name), (&value.into(), &unit.into()), "{name}");
    }
    assert_eq!(told["metrics"]["disk_reads"]["exactness"], "host");
    assert_eq!(told["extra"]["new_text"], "some <b>text</b>");
    assert_eq!(told["extra"]["trigger"], "schedule");
    assert_eq!(told["params"]["years"]["value"], 5);
    assert_eq!(told["params"]["capabilities_coefficient"]["value"], Value::Null);
    assert_eq!(told["params"]["show_progress_bar"]["identity"], false);
    assert_eq!(told["run"]["started"], "2023-12-06T08:36:46.5Z");
    assert_eq!(told["run"]["identity"], "claimed");
    assert_eq!(told["tool"]["meter"], "imported");
    assert_eq!(told["repository"]["name"], "TLOmodel");
    let series: Value =
        serde_json::from_str(&show(&project, &format!("{path}/series.json"))).expect("JSON");
    let minutes = series["series"].as_array().expect("a list").iter();
    let minutes = minutes.clone().find(|one| one["name"] == "duration_minutes");
    let minutes = minutes.expect("a column");
    assert_eq!(minutes["value"], json!([30.0, 90.0]), "in seconds");
    assert_eq!(minutes["x"], json!(["2010-01-01", "2010-02-01"]));
    let page = show(&project, &format!("{path}/README.md"));
    assert!(!page.contains("<b>text"), "{page}");
    assert!(
        tree(&project).iter().any(|file| file.starts_with(&path)
            && file.contains(".html")
            && file.contains("/files/")),
        "the page is kept"
    );

    let (_, comment) = record(&project, "issue_comment-500-");
    assert_eq!(comment["disturbances"][0]["name"], "host_disk_writes");
    let found = histories(&project, "job.cpu_time");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["points"], 30, "the comment stands beside");
    assert_eq!(found[0]["change_points"][0]["index"], 15);
    assert_eq!(found[0]["change_points"][0]["state"], "confirmed");
    assert_eq!(found[0]["unit"], "s");
    project.perftrail(&["fsck", "--to", "results"]).exits(0);

    // A tree that has grown: only what is new comes.
    night(&project, "tlo/profiling_results", "schedule", 900, 35, 27_000.0);
    let answer = import(&project, "tlomodel", "tlo", &[]).exits(0);
    assert!(answer.stderr.contains("31 of 32 runs are there already"), "{}", answer.stderr);
    let before = tree(&project);
    import(&project, "tlomodel", "tlo", &[]).exits(0);
    assert_eq!(tree(&project), before);
}

#[test]
fn pages_that_lie_on_the_branch_are_linked_where_they_are() {
    let project = Project::new();
    let stem = night(&project, "results/profiling_results", "schedule", 7, 3, 100.0);
    let git = |args: &[&str]| {
        crate::support::git(&project.path("results"), &project.path("../home"), args)
    };
    git(&["init", "-q", "-b", "results"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "As it was"]);
    git(&["checkout", "-q", "-b", "elsewhere"]);
    import(&project, "tlomodel", "results", &[]).exits(0);
    let (path, told) = record(&project, "schedule-7-");
    let page = format!("{}.html", stem.trim_start_matches("results/"));
    let name = page.rsplit('/').next().expect("a name");
    assert_eq!(told["extra"][format!("in_results:{name}")], page.as_str());
    assert_eq!(told["files"].as_array().map(Vec::len), Some(1), "the series alone");
    let readme = show(&project, &format!("{path}/README.md"));
    assert!(readme.contains(&format!("(../../../../../{page})")), "{readme}");
    assert!(tree(&project).contains(&page), "what was there stays");
    project.perftrail(&["fsck", "--to", "results"]).exits(0);
}

#[test]
fn data_js_of_github_action_benchmark() {
    let project = Project::new();
    let entry = |n: u64, value: f64| {
        json!({
            "commit": {"id": format!("{n:040x}"), "message": format!("Change {n} (#{n})"),
                       "timestamp": "2024-01-31T12:00:00+01:00", "url": "https://github.com/o/n"},
            "date": 1_700_000_000_000_u64 + n * 86_400_000, "tool": "cargo",
            "benches": [{"name": "fib 10", "value": value, "range": "± 3", "unit": "ns/iter"},
                        {"name": "fib 20", "value": 2.0 * value, "unit": "ns/iter"}],
        })
    };
    let entries: Vec<Value> = (0..24)
        .map(|n| entry(n, if n < 12 { 100.0 } else { 130.0 } + (n * 5 % 3) as f64))
        .collect();
    let data = json!({"lastUpdate": 1, "repoUrl": "https://github.com/o/n",
                      "entries": {"Rust Benchmark": entries}});
    project.file("site/dev/bench/data.js", &format!("window.BENCHMARK_DATA = {data}"));
    import(&project, "github-action-benchmark", "site", &[]).exits(0);
    let found = histories(&project, "fib_10");
    assert_eq!(found[0]["points"], 24);
    assert_eq!(found[0]["change_points"][0]["index"], 12);
    assert_eq!(found[0]["change_points"][0]["direction"], "worse");
    assert_eq!(found[0]["change_points"][0]["pull_request"], 12);
    let file = project.path("site/dev/bench/data.js").display().to_string();
    let answer = import(&project, "github-action-benchmark", &file, &[]).exits(0);
    assert!(answer.stderr.contains("24 of 24 runs are there already"), "{}", answer.stderr);
    project.perftrail(&["fsck", "--to", "results"]).exits(0);
}

#[test]
fn results_of_asv_by_machine() {
    let project = Project::new();
    project.file(
        "asv/results/benchmarks.json",
        r#"{"suite.time_run":{"unit":"seconds"},"suite.track_size":{"unit":"MiB"},"version":2}"#,
    );
    for machine in ["big", "small"] {
        project.file(&format!("asv/results/{machine}/machine.json"), r#"{"machine":"m"}"#);
        for n in 0..3 {
            let result = json!({
                "commit_hash": format!("{n:040x}"), "env_name": "py3.12", "python": "3.12",
                "date": 1_700_000_000_000_u64 + n * 1000,
                "result_columns": ["result", "params"],
                "results": {"suite.time_run": [[0.5, null], [["10", "20"]]],
                            "suite.track_size": [[3.0], []]},
                "version": 2,
            });
            project
                .file(&format!("asv/results/{machine}/{n:08x}-py3.12.json"), &result.to_string());
        }
    }
    let answer =
        import(&project, "asv", "asv", &["--project", "lab/model", "--default-branch", "trunk"]);
    let answer = answer.exits(0);
    assert_eq!(answer.stderr.matches("published as").count(), 6, "{}", answer.stderr);
    let found = histories(&project, "suite.time_run_10");
    assert_eq!(found.len(), 2, "a history a machine");
    let size = histories(&project, "suite.track_size");
    assert_eq!(size[0]["runs"][0]["value"], 3.0 * 1_048_576.0);
    assert_eq!(size[0]["unit"], "B");
    project.perftrail(&["fsck", "--to", "results"]).exits(0);
}

#[test]
fn the_storage_of_pytest_benchmark() {
    let project = Project::new();
    for n in 0..3 {
        let run = json!({
            "machine_info": {"machine": "x86_64", "cpu": {"brand_raw": "EPYC", "count": 4}},
            "commit_info": {"id": format!("{n:040x}"), "dirty": n == 2, "branch": "main"},
            "benchmarks": [{"fullname": "t.py::test_a[5]", "stats": {"median": 0.5, "rounds": 9}}],
            "datetime": format!("2024-01-0{}T00:00:00.000000+00:00", n + 1), "version": "4.0.0",
        });
        project.file(&format!("store/Linux-CPython/000{n}_x.json"), &run.to_string());
    }
    project.file("store/Linux-CPython/other.json", "[]");
    let answer = import(&project, "pytest-benchmark", "store", &[]).exits(0);
    assert!(answer.stderr.contains("passed over: Linux-CPython/other.json"), "{}", answer.stderr);
    let found = histories(&project, "t.py_test_a_5");
    assert_eq!(found[0]["points"], 2);
    assert_eq!(found[0]["beside"]["of uncommitted changes"], 1);
}

#[test]
fn what_is_not_there_is_told() {
    let project = Project::new();
    project.file("empty/note.txt", "x").file("bad/data.js", "window.BENCHMARK_DATA = {");
    for (kind, path, told) in [
        ("tlomodel", "empty", "holds no *.stats.json"),
        ("asv", "nowhere", "neither a folder nor a file"),
        ("github-action-benchmark", "bad", "holds no data.js"),
        ("pytest-benchmark", "empty", "holds no JSON files"),
    ] {
        let answer = import(&project, kind, path, &[]).exits(2);
        assert!(answer.stderr.contains(told), "{kind}: {}", answer.stderr);
    }
    let answer = import(&project, "asv", "empty", &["--project", "../x"]).exits(2);
    assert!(answer.stderr.contains("is no project"), "{}", answer.stderr);
    assert!(!Path::new(&project.path("results")).exists());
    fs::create_dir(project.path("results")).expect("a folder");
}
