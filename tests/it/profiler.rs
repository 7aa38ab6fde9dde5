//! Profilers that perftrail starts. Those of Python's own run here; the others, which come from a
//! package registry, run in `tests/profilers/run`.

use serde_json::Value;

use crate::support::Project;

const SIM: &str = "import sys\n\
def update_population(n):\n    return sum(i * i for i in range(n))\n\
def main():\n    for _ in range(5):\n        update_population(60000)\n\
if __name__ == '__main__':\n    main()\n    sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)\n";

fn project() -> Project {
    let project = Project::new();
    project.file("sim.py", SIM).file("pkg/__init__.py", "").file("pkg/mod.py", SIM);
    project.commit("A program");
    project
}

fn codes(record: &Value) -> Vec<&str> {
    let notices = record["notices"].as_array().expect("notices");
    notices.iter().filter_map(|notice| notice["code"].as_str()).collect()
}

fn functions(record: &Value) -> Vec<&str> {
    let functions = record["functions"].as_array().expect("functions");
    functions.iter().filter_map(|one| one["function"].as_str()).collect()
}

#[test]
fn cprofile_follows_files_modules_and_texts_and_keeps_the_exit_code() {
    for command in [
        ["python3", "sim.py", "0"].as_slice(),
        &["python3", "-m", "pkg.mod"],
        &["python3", "-c", "import pkg.mod; pkg.mod.main()"],
    ] {
        let project = project();
        let args = [&["run", "--profiler", "cprofile", "--"], command].concat();
        project.perftrail(&args).exits(0);
        let record = project.record();
        assert!(functions(&record).contains(&"update_population"), "{command:?}: {record}");
        assert_eq!(record["tool"]["profiler"]["name"], "cprofile");
        let version = record["tool"]["profiler"]["version"].as_str().expect("a version");
        assert!(version.starts_with("3."), "{version}");
        assert!(codes(&record).contains(&"profiled"), "{:?}", codes(&record));
        let calls = record["functions"].as_array().expect("functions").iter();
        let mut calls = calls.filter(|one| one["function"] == "update_population");
        assert_eq!(calls.next().expect("the function")["calls"], 5, "exact counts");
    }
    let project = project();
    project.perftrail(&["run", "--profiler", "cprofile", "--", "python3", "sim.py", "7"]).exits(3);
    let record = project.record();
    assert_eq!(record["run"]["exit_code"], 7, "the profiler hides nothing");
    assert!(functions(&record).contains(&"update_population"), "a failed run has its profile too");
}

#[test]
fn the_last_of_several_repetitions_is_profiled_and_does_not_count() {
    let project = project();
    project.file(
        "perftrail.toml",
        "[[job]]\nname = \"j\"\nrun = \"cd . && A=1 python3 sim.py | tee {output}/log.txt\"\nprofiler = \"cprofile\"\nrepetitions = 3\n",
    );
    project.perftrail(&["run"]).exits(0);
    let record = project.record();
    let repetitions = &record["run"]["repetitions"];
    assert_eq!((&repetitions["planned"], &repetitions["completed"]), (&3.into(), &2.into()));
    assert_eq!(record["metrics"]["cpu_time"]["n"], 2);
    assert!(codes(&record).contains(&"profiled_apart") && !codes(&record).contains(&"profiled"));
    assert!(functions(&record).contains(&"update_population"));
    assert_eq!(record["profiles"][0]["step"], "j");
}

#[test]
fn a_profiled_repetition_that_fails_leaves_the_numbers() {
    let project = project();
    // Fails only under the profiler.
    project.file("odd.py", "import sys\nsys.exit(9 if 'cProfile' in sys.modules else 0)\n");
    let args = ["run", "--profiler", "cprofile", "--repetitions", "2", "--", "python3", "odd.py"];
    project.perftrail(&args).exits(0);
    let record = project.record();
    assert_eq!(record["run"]["status"], "succeeded");
    assert_eq!(record["metrics"]["cpu_time"]["n"], 1);
    assert!(codes(&record).contains(&"profiled_repetition_failed"), "{:?}", codes(&record));
}

#[test]
fn what_no_profiler_can_follow_is_said_before_anything_runs() {
    let project = project();
    for (command, word) in [
        ("python3 sim.py; python3 sim.py", "a step of its own"),
        ("(python3 sim.py)", "loops, subshells"),
        ("make && true", "no Python program"),
    ] {
        let toml = format!(
            "[[job]]\nname = \"j\"\nrun = \"touch ran; {command}\"\nprofiler = \"pyinstrument\"\n"
        );
        project.file("perftrail.toml", &toml);
        let answer = project.perftrail(&["run"]).exits(2);
        assert!(answer.stderr.contains(word), "{command}: {}", answer.stderr);
        assert!(!project.path("ran").exists(), "nothing ran");
    }
}

#[test]
fn a_profiler_that_is_missing_is_told_before_the_job() {
    let project = project();
    project.file("sim.py", "open('ran', 'w')\n");
    let args = ["run", "--profiler", "pyinstrument", "--", "python3", "-I", "-S", "sim.py"];
    let answer = project.perftrail(&args).exits(3);
    let record = project.record();
    assert_eq!(record["run"]["status"], "setup_failed");
    assert!(codes(&record).contains(&"profiler_missing"), "{}", answer.stderr);
    assert!(record.to_string().contains("pip install pyinstrument"), "{record}");
    assert!(!project.path("ran").exists(), "the job did not run");
}

#[test]
fn steps_that_are_not_python_run_as_they_are() {
    let project = project();
    project.file(
        "perftrail.toml",
        "[[job]]\nname = \"j\"\nprofiler = \"cprofile\"\n[[job.step]]\nname = \"prepare\"\nrun = \"./prepare\"\n\
         [[job.step]]\nname = \"simulate\"\nrun = [\"python3\", \"sim.py\"]\n",
    );
    project.file("prepare", "#!/bin/sh\ntrue\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(project.path("prepare"), mode).expect("a mode");
    project.perftrail(&["run"]).exits(0);
    let record = project.record();
    assert_eq!(record["profiles"].as_array().map(Vec::len), Some(1));
    assert_eq!(record["profiles"][0]["step"], "simulate");
    assert!(codes(&record).contains(&"not_profiled"));
}
