//! What a job's own profiler wrote goes into the bundle, the record and the results repository.

use std::fs;
use std::path::Path;

use perftrail::profile::stored;
use perftrail::record::profiles::PROFILE_FILE;
use serde_json::Value;

use crate::support::Project;

/// A project whose job leaves copies of these fixtures in its output folder.
fn with_job(names: &[&str], more: &str) -> Project {
    let project = Project::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/profiles");
    for name in names {
        let bytes = fs::read(fixtures.join(name)).expect("a fixture");
        fs::write(project.path(name), bytes).expect("a copy");
    }
    let copies: Vec<String> = names.iter().map(|name| format!("cp {name} {{output}}/")).collect();
    let run = if copies.is_empty() { "true".to_owned() } else { copies.join(" && ") };
    project.file(
        "perftrail.toml",
        &format!("{more}\n[[job]]\nname = \"j\"\nrun = \"{run}\"\nprofiler = \"self\"\n"),
    );
    project.commit("A job");
    project
}

fn notices<'a>(record: &'a Value, code: &str) -> Vec<&'a str> {
    let all = record["notices"].as_array().expect("notices");
    all.iter()
        .filter(|notice| notice["code"] == code)
        .filter_map(|notice| notice["message"].as_str())
        .collect()
}

fn file<'a>(record: &'a Value, path: &str) -> &'a Value {
    let files = record["files"].as_array().expect("files");
    files.iter().find(|file| file["path"] == path).unwrap_or(&Value::Null)
}

#[test]
fn a_profile_is_read_kept_and_summed_up() {
    let project = with_job(&["cprofile.pstats", "pyspy.speedscope.json"], "");
    project.perftrail(&["run"]).exits(0);
    let record = project.record();
    let profiles = record["profiles"].as_array().expect("profiles");
    let sources: Vec<&str> = profiles.iter().filter_map(|one| one["source"].as_str()).collect();
    assert_eq!(sources[0], "cprofile.pstats");
    assert_eq!((&profiles[0]["shape"], &profiles[0]["step"]), (&"table".into(), &"j".into()));
    assert_eq!(profiles[0]["weights"][0]["measured"], "traced");
    assert!(profiles[0]["kept"].is_null(), "nothing was left out");
    let stored = fs::read(project.bundle().join(PROFILE_FILE)).expect("the profiles");
    let stored = stored::decode(&stored).expect("profiles");
    assert_eq!(stored.len(), profiles.len());
    let sum = profiles[0]["weights"][0]["sum"].as_f64().expect("a sum");
    assert!((stored[0].sum(0) - sum).abs() < 1e-9);
    let functions = record["functions"].as_array().expect("functions");
    assert!(!functions.is_empty() && functions.len() <= 60);
    assert!(functions.iter().any(|one| one["function"] == "group_by" && one["profile"] == 0));
    assert_eq!(file(&record, "raw/cprofile.pstats")["role"], "raw");
    assert!(file(&record, "files/cprofile.pstats").is_null(), "not kept twice");
    assert!(project.bundle().join("raw/cprofile.pstats").is_file());
}

#[test]
fn the_policy_decides_where_raw_files_go() {
    for (policy, in_bundle, published) in
        [("never", false, false), ("bundle", true, false), ("publish", true, true)]
    {
        let results = format!("[results]\nraw = \"{policy}\"\n");
        let project = with_job(&["cprofile.pstats"], &results);
        project.perftrail(&["run", "--publish", "--to", "results"]).exits(0);
        let raw = "raw/cprofile.pstats";
        assert_eq!(project.bundle().join(raw).is_file(), in_bundle, "{policy}");
        let stored = crate::support::git(
            &project.path("results"),
            &project.root(),
            &["ls-tree", "-r", "--name-only", "results"],
        );
        assert_eq!(stored.contains(raw), published, "{policy}: {stored}");
        assert!(stored.contains(PROFILE_FILE), "{policy}: {stored}");
        let record = project.record();
        assert_eq!(file(&record, raw)["left_out"].is_null(), in_bundle, "{policy}");
        project.perftrail(&["fsck", "--to", "results"]).exits(0);
    }
}

#[test]
fn what_cannot_be_read_is_one_line_and_the_run_goes_on() {
    let project = Project::new();
    project
        .file("cut.json", r#"{"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"na"#)
        .file("data.perf", "PERFILE2 and so on")
        .file("counts.txt", "births 12\ndeaths 13\n")
        .file("plot.html", "<!doctype html><p>a page</p>")
        .file("perftrail.toml", "[[job]]\nname = \"j\"\nrun = \"cp cut.json data.perf counts.txt plot.html {output}\"\nprofiler = \"self\"\n");
    project.perftrail(&["run"]).exits(0);
    let record = project.record();
    assert_eq!(record["run"]["status"], "succeeded");
    assert_eq!(record["profiles"].as_array().map(Vec::len), Some(0));
    let unread = notices(&record, "profile_unread");
    assert_eq!(unread.len(), 2, "{unread:?}");
    assert!(unread[0].starts_with("cut.json: read as speedscope, byte "), "{unread:?}");
    assert!(
        unread[1].starts_with("data.perf: byte 0: a perf.data file can only be read"),
        "{unread:?}"
    );
    assert!(unread.iter().all(|line| !line.contains('\n')));
    assert_eq!(file(&record, "raw/cut.json")["role"], "raw", "the unread file is listed");
    assert_eq!(file(&record, "files/plot.html")["role"], "collected");
    assert_eq!(file(&record, "files/counts.txt")["role"], "collected");
    assert!(notices(&record, "profile_none").is_empty(), "the unread files say it");
}

#[test]
fn a_job_that_profiles_itself_and_leaves_nothing_is_told() {
    let project = with_job(&[], "");
    project.perftrail(&["run"]).exits(0);
    assert_eq!(notices(&project.record(), "profile_none").len(), 1);
}

#[test]
fn one_run_in_two_formats_is_one_profile() {
    let project = with_job(&["pyinstrument.pyisession.gz", "pyinstrument.json"], "");
    project.perftrail(&["run"]).exits(0);
    let record = project.record();
    let profiles = record["profiles"].as_array().expect("profiles");
    assert_eq!(profiles.len(), 1, "{profiles:?}");
    assert_eq!(profiles[0]["format"], "pyinstrument_session");
    assert_eq!(notices(&record, "profile_twice").len(), 1);
}

#[test]
fn each_step_has_its_own_profile() {
    let project = Project::new();
    for (name, from) in
        [("a.folded", "pyspy-before.collapsed"), ("b.folded", "pyspy-after.collapsed")]
    {
        let fixture =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/profiles").join(from);
        fs::copy(fixture, project.path(name)).expect("a copy");
    }
    project.file(
        "perftrail.toml",
        "[[job]]\nname = \"j\"\nprofiler = \"self\"\n[[job.step]]\nname = \"one\"\nrun = \"cp a.folded {output}\"\n\
         [[job.step]]\nname = \"two\"\nrun = \"cp b.folded {output}\"\n",
    );
    project.perftrail(&["run"]).exits(0);
    let record = project.record();
    let steps: Vec<&Value> =
        record["profiles"].as_array().expect("profiles").iter().map(|one| &one["step"]).collect();
    assert_eq!(steps, ["one", "two"]);
    assert!(
        record["functions"].as_array().expect("functions").iter().any(|one| one["step"] == "two")
    );
}

#[test]
fn a_profile_larger_than_its_budget_is_made_smaller_and_keeps_its_sums() {
    use std::fmt::Write as _;
    let project = Project::new();
    let mut stacks = String::new();
    for i in 0..20_000_u32 {
        let scattered = i.wrapping_mul(2_654_435_761);
        writeln!(stacks, "main;group_{};work_{scattered:x};leaf_{i} {}", i % 97, i % 13 + 1)
            .expect("text");
    }
    let sum: u32 = (0..20_000_u32).map(|i| i % 13 + 1).sum();
    project.file("big.folded", &stacks).file(
        "perftrail.toml",
        "[results]\nmax_file = \"64 KiB\"\n[[job]]\nname = \"j\"\nrun = \"cp big.folded {output}\"\nprofiler = \"self\"\n",
    );
    project.perftrail(&["run"]).exits(0);
    let record = project.record();
    let profile = &record["profiles"][0];
    assert_eq!(profile["nodes"], 1 + 97 + 20_000 + 20_000);
    assert!(profile["kept"].as_u64().is_some_and(|kept| kept < 30_000), "{profile}");
    assert_eq!(profile["weights"][0]["sum"].as_f64(), Some(f64::from(sum)));
    assert!(fs::metadata(project.bundle().join(PROFILE_FILE)).expect("a file").len() <= 64 << 10);
}

#[test]
fn what_is_imported_is_looked_at_too() {
    let project = with_job(&["cprofile.pstats"], "");
    fs::create_dir(project.path("out")).expect("a folder");
    fs::copy(project.path("cprofile.pstats"), project.path("out/run.bin")).expect("a copy");
    let sha = "0123456789abcdef0123456789abcdef01234567";
    project.perftrail(&["import", "files", "out", "--job", "other", "--commit", sha]).exits(0);
    let record = project.record();
    assert_eq!(record["profiles"][0]["source"], "run.bin");
    assert!(record["profiles"][0]["step"].is_null());
}

/// Metrics of the record by name: value, unit, source, method, exactness, n.
fn metric(record: &Value, name: &str) -> (f64, String, String, String, String, u64) {
    let metric = &record["metrics"][name];
    let text = |key: &str| metric[key].as_str().unwrap_or("missing").to_owned();
    (
        metric["value"].as_f64().unwrap_or(f64::NAN),
        text("unit"),
        text("source"),
        text("method"),
        text("exactness"),
        metric["n"].as_u64().unwrap_or(0),
    )
}

#[test]
fn results_of_benchmarks_are_metrics_of_the_run() {
    let project = Project::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/profiles");
    for (from, to) in [
        ("hyperfine.json", "hyperfine.json"),
        ("go.bench", "go.txt"),
        ("psrecord.log", "one.log"),
        ("psrecord.csv", "two.log"),
        ("criterion-estimates.json", "c/new/estimates.json"),
        ("criterion-benchmark.json", "c/new/benchmark.json"),
        ("criterion-sample.json", "c/new/sample.json"),
    ] {
        let to = project.path("files").join(to);
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        fs::copy(fixtures.join(from), to).expect("a copy");
    }
    project
        .file("files/elapsed.json", r#"{"get_dem": 19.9, "do_computations": 4.6}"#)
        .file(
            "files/simple_profile.json",
            r#"{"max_footprint_mb": 814.0, "total_elapsed_sec": 31.5}"#,
        )
        .file(
            "perftrail.toml",
            "[[job]]\nname = \"j\"\nrun = \"cp -r files/* {output}\"\nprofiler = \"self\"\n\
             read = [{ path = \"**/elapsed.json\", as = \"phases\" }]\n",
        );
    project.perftrail(&["run"]).exits(0);
    let record = project.record();
    let (value, unit, source, method, exactness, n) = metric(&record, "sim-10");
    assert!((value - 0.391_398_081_82).abs() < 1e-12);
    assert_eq!(
        (unit.as_str(), source.as_str(), method.as_str(), exactness.as_str(), n),
        ("s", "hyperfine", "median", "exact", 5)
    );
    assert_eq!(record["metrics"]["sim-10"]["better"], "lower");
    let (value, _, source, method, exactness, _) = metric(&record, "group_by.500");
    assert!((value - 6.385_795_871_997_862e-5).abs() < 1e-15, "{value}");
    assert_eq!(
        (source.as_str(), method.as_str(), exactness.as_str()),
        ("criterion estimates", "slope", "sampled")
    );
    assert_eq!(metric(&record, "GroupBy.n_2000.MB.s").1, "B/s");
    let (peak, unit, ..) = metric(&record, "one.psrecord.memory_peak");
    assert!((peak - 153_530_400.768).abs() < 1e-3 && unit == "B", "{peak} {unit}");
    assert!(metric(&record, "two.psrecord.memory_peak").0 > 1e6, "told apart by the files' names");
    let series: Vec<&str> = record["series"]
        .as_array()
        .expect("series")
        .iter()
        .filter_map(|series| series["name"].as_str())
        .collect();
    assert!(series.contains(&"one.psrecord.cpu"), "{series:?}");
    // MiB, because Scalene says so; seconds by name; a rule decides about the rest.
    assert!((metric(&record, "max_footprint_mb").0 - 814.0 * 1_048_576.0).abs() < 1e-3);
    assert_eq!(metric(&record, "total_elapsed_sec").1, "s");
    assert!(record["metrics"]["get_dem"].is_null(), "a rule has read it");
    let phases = record["phases"].as_array().expect("phases");
    assert!(phases.iter().any(|phase| phase["name"] == "get_dem"), "{phases:?}");
    assert_eq!(file(&record, "raw/hyperfine.json")["role"], "raw");
    assert_eq!(file(&record, "files/simple_profile.json")["role"], "collected");
    assert!(notices(&record, "profile_none").is_empty());
    assert!(notices(&record, "profiled").is_empty(), "nothing was profiled");
}

#[test]
fn a_job_that_profiles_itself_says_that_its_numbers_hold_the_cost() {
    let project = with_job(&["cprofile.pstats"], "");
    project.perftrail(&["run"]).exits(0);
    assert_eq!(notices(&project.record(), "profiled").len(), 1);
}
