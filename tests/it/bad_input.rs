//! What people and workflows hand over wrongly: plans, configurations, variables, odd repositories.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Answer, Project, git, read_json};

const CONFIG: &str =
    "[[job]]\nname = \"a\"\nrun = \"echo {n}\"\ntag = \"{n}\"\n[job.params]\nn = 5\n";

/// A project with a plan that is right.
fn planned() -> (Project, Value) {
    let project = Project::new();
    project.file("perftrail.toml", CONFIG).commit("Configure");
    let plan = project.perftrail(&["run", "--dry-run"]).exits(0);
    (project, serde_json::from_str(&plan.stdout).expect("JSON"))
}

fn with(project: &Project, plan: &Value) -> Answer {
    project.file("plan.json", &plan.to_string());
    project.perftrail(&["run", "--quiet", "--plan", "plan.json"])
}

#[test]
fn a_plan_made_by_hand_is_held_to_the_rules() {
    let (project, plan) = planned();
    with(&project, &plan).exits(0);
    let job = "/runs/0/job";
    let rule = |path: &str| json!([{"path": path, "as": "metrics", "x": null, "pick": {}, "unit": {}, "rename": {}, "required": false}]);
    for (place, value, told) in [
        (format!("{job}/name"), json!("../../x"), "runs[0].job.name"),
        (format!("{job}/name"), json!("a".repeat(1000)), "at most 40"),
        (format!("{job}/cwd"), json!("/etc"), "inside the project"),
        (format!("{job}/cwd"), json!("a/../.."), "inside the project"),
        (format!("{job}/collect"), json!(["../**"]), "inside the project"),
        (format!("{job}/collect"), json!(["a["]), "relative glob"),
        (format!("{job}/keep"), json!([{"path": "/etc/*", "html": true}]), "inside the project"),
        (format!("{job}/read"), rule("/etc/passwd"), "inside the project"),
        (format!("{job}/count"), json!([{"name": "x", "pattern": "("}]), "regular expression"),
        (format!("{job}/repetitions"), json!(0), "1 to 10000"),
        (format!("{job}/repetitions"), json!(4_000_000_000_u32), "1 to 10000"),
        (format!("{job}/repetitions"), json!(1e30), "expected u32 at line 1"),
        (format!("{job}/timeout"), json!(-1), "negative"),
        (format!("{job}/timeout"), json!(1e11), "ten years"),
        (format!("{job}/env"), json!({"A=B": "x"}), "without `=`"),
        (format!("{job}/env"), json!({"A": "x\u{0}"}), "NUL"),
        (format!("{job}/steps"), json!([]), "one step or more"),
        (format!("{job}/steps"), json!([{"name": "a", "run": [""]}]), "a command"),
        (format!("{job}/machine"), json!("x\u{1b}[1m"), "x\\u{1b}[1m"),
        (format!("{job}/judged"), json!(["../x"]), "runs[0].job.judged"),
        (format!("{job}/profiler"), json!("gprof"), "unknown variant `gprof`"),
        (format!("{job}/repetition"), json!(2), "did you mean `repetitions`?"),
        ("/runs/0/params/n/value".to_owned(), json!({"a": 1}), "a text of at most"),
        ("/runs/0/params/n/value".to_owned(), json!("x".repeat(5000)), "a text of at most"),
        (
            "/runs/0/params".to_owned(),
            json!({"../n": {"value": 1, "default": 1, "identity": true}}),
            "../n",
        ),
        ("/runs/0/tag".to_owned(), json!("../../x"), "runs[0].tag"),
        ("/runs/0/additional".to_owned(), json!({"k": "x".repeat(100_000)}), "64 KiB"),
        ("/facts/event".to_owned(), json!("../x"), "facts.event"),
        ("/facts/variant".to_owned(), json!("\u{1b}"), "facts.variant"),
        ("/facts/planned".to_owned(), json!("0001-01-01T00:00:00Z"), "after 1970"),
        ("/facts/commit".to_owned(), json!("HEAD"), "40 or 64 hex digits at line 1"),
        ("/version".to_owned(), json!(2), "version 2"),
        ("/runs".to_owned(), json!(7), "no plan"),
    ] {
        let mut wrong = plan.clone();
        let (parent, key) = place.rsplit_once('/').expect("a place");
        wrong.pointer_mut(parent).expect("a parent")[key] = value;
        let answer = with(&project, &wrong).exits(2);
        assert!(answer.stderr.contains(told), "{place}: {}", answer.stderr);
        assert!(!answer.stderr.contains('\u{1b}'), "{place}");
    }
    assert_eq!(project.bundles().len(), 1, "nothing but the right plan has run");
}

#[test]
fn files_that_are_none_are_refused_at_once() {
    let project = Project::new();
    let made = Command::new("mkfifo").arg(project.path("pipe")).status().expect("mkfifo");
    assert!(made.success());
    project.file("bad.toml", "x = 1\n").file("deep.json", &"[".repeat(200_000));
    fs::write(project.path("bytes.toml"), b"x = \"\xff\"").expect("a file");
    project.file("large.toml", &"# words\n".repeat(600_000));
    for (flag, file, told) in [
        ("--config", "pipe", "no regular file"),
        ("--plan", "pipe", "no regular file"),
        ("--config", "/dev/zero", "no regular file"),
        ("--config", ".", "directory"),
        ("--config", "missing.toml", "missing.toml"),
        ("--config", "bytes.toml", "UTF-8"),
        ("--config", "large.toml", "larger than 4 MiB"),
        ("--config", "bad.toml", "bad.toml:1:1: unknown key `x`"),
        ("--plan", "deep.json", "recursion"),
    ] {
        let answer = project.perftrail(&["run", flag, file]).exits(2);
        assert!(answer.stderr.contains(told), "{file}: {}", answer.stderr);
        assert!(answer.stderr.len() < 3000, "{file}: {} bytes", answer.stderr.len());
    }
}

#[test]
fn a_configuration_names_key_line_and_nearest() {
    let project = Project::new();
    for (text, told) in [
        (
            "[[job]]\nname = \"a\"\nrunn = \"true\"",
            ":3:1: unknown key `runn` in [[job]]: did you mean `run`?",
        ),
        (
            "[[job]]\nname = \"a\"\nrun = \"true\"\nrepetitions = \"3\"",
            "repetitions` is a string, expected a whole number",
        ),
        ("[[job]]\nname = \"a\\u001b\"\nrun = \"true\"", ":2:8: `a\\u{1b}` cannot name a job"),
        ("[[job]]\nname = \"a\"\nrun = \"true\"\nenv = { A = \"\\u0000\" }", "NUL"),
        ("[[job]]\nname = \"a\"\nrun = \"true\"\ncwd = \"../x\"", "inside the project"),
        ("[resultz]", ":1:2: unknown key `resultz`"),
        ("a = [[[[", ":1:"),
    ] {
        project.file("perftrail.toml", text);
        let answer = project.perftrail(&["run"]).exits(2);
        assert!(answer.stderr.contains(told), "{text}: {}", answer.stderr);
        assert!(!answer.stderr.contains('\u{1b}'));
    }
    // Many errors are not a flood.
    project.file("perftrail.toml", &format!("x = {}", "[".repeat(100_000)));
    let answer = project.perftrail(&["run"]).exits(2);
    assert!(answer.stderr.lines().count() < 10, "{} bytes", answer.stderr.len());
    fs::remove_file(project.path("perftrail.toml")).expect("a file");
    let answer = project.perftrail(&["run", "--repetitions", "4000000000", "--", "true"]).exits(2);
    assert!(answer.stderr.contains("at most 10000"), "{}", answer.stderr);
}

#[test]
fn a_variable_that_is_set_to_nothing_is_not_set() {
    let project = Project::new();
    for name in [
        "TO",
        "BRANCH",
        "PUBLISH_TIMEOUT",
        "JOB",
        "OUTPUT_DIR",
        "CONFIG",
        "PLAN",
        "PARAM",
        "STEP",
        "PROFILER",
        "PROFILER_ARGS",
        "REPETITIONS",
        "WARMUPS",
        "TIMEOUT",
        "ADDITIONAL_STATS",
        "MACHINE",
        "VARIANT",
        "FORMAT",
        "METER",
        "QUIET",
        "VERBOSE",
        "PUBLISH",
        "PROPAGATE_EXIT",
    ] {
        let variable = format!("PERFTRAIL_{name}");
        let mut command = project.command(&["run", "--dry-run", "--", "true"]);
        Answer::of(command.env(&variable, "")).exits(0);
    }
    let mut command = project.command(&["runs"]);
    let answer = Answer::of(command.env("PERFTRAIL_FORMAT", " \n"));
    assert!(answer.stderr.contains("perftrail-results"), "{}", answer.stderr);
}

#[test]
fn truth_values_and_lists_are_as_workflows_write_them() {
    let project = Project::new();
    let run = |name: &str, value: &str| {
        let mut command = project.command(&["run", "--format", "json", "--", "true"]);
        let answer = Answer::of(command.env(name, value)).exits(0);
        serde_json::from_str::<Value>(&answer.stdout).expect("JSON alone")["runs"][0].clone()
    };
    for (value, published) in
        [("true", true), ("TRUE", true), ("1", true), ("false", false), ("0", false)]
    {
        let shown = run("PERFTRAIL_PUBLISH", value);
        assert_eq!(shown["published"].is_string(), published, "{value}");
    }
    let listed = run("PERFTRAIL_ADDITIONAL_STATS", "a=1\nb c=2 3\n\nd=x=y\n");
    assert_eq!(listed["record"]["extra"], json!({"a": "1", "b c": "2 3", "d": "x=y"}));
    let mut command = project.command(&["run", "--", "true"]);
    let answer = Answer::of(command.env("PERFTRAIL_PUBLISH", "banana")).exits(2);
    assert!(answer.stderr.contains("banana") && answer.stderr.contains("--publish"));
}

#[test]
fn an_output_folder_with_other_things_in_it_stays_theirs() {
    let project = Project::new();
    project.perftrail(&["run", "--quiet", "--output", ".", "--", "true"]).exits(0);
    assert!(!project.path(".gitignore").exists());
    project.file("file", "x");
    for output in ["file", "/dev/null"] {
        let answer = project.perftrail(&["run", "--output", output, "--", "true"]).exits(1);
        assert!(answer.stderr.contains("choose another with --output"), "{}", answer.stderr);
    }
    let odd = std::ffi::OsString::from_vec(b"-o \xff".to_vec());
    let mut command = project.command(&["run", "--quiet"]);
    command.arg("--output").arg(PathBuf::from(".").join(odd)).args(["--", "true"]);
    Answer::of(&mut command).exits(0);
}

#[test]
fn two_runs_of_one_second_lie_beside_each_other() {
    let project = Project::new();
    let children: Vec<_> = (0..4)
        .map(|_| {
            let mut command = project.command(&["run", "--quiet", "--", "true"]);
            command.stdout(std::process::Stdio::null()).spawn().expect("perftrail")
        })
        .collect();
    for mut child in children {
        assert!(child.wait().expect("it ended").success());
    }
    assert_eq!(project.bundles().len(), 4);
}

#[test]
fn a_program_whose_name_no_path_holds_is_measured_under_a_fit_one() {
    let project = Project::new();
    fs::copy("/bin/true", project.path("a b;$(x)é")).expect("a program");
    project.perftrail(&["run", "--quiet", "--publish", "--", "./a b;$(x)é"]).exits(0);
    assert_eq!(project.record()["run"]["job"], "a_b___x__");
    let answer = project.perftrail(&["run", "--job", "../x", "--", "true"]).exits(2);
    assert!(answer.stderr.contains("`../x` cannot name a job"), "{}", answer.stderr);
}

/// Runs and publishes; gives the record and the path of the run.
fn published(project: &Project) -> (Value, String) {
    let answer = project.perftrail(&["run", "--publish", "--", "true"]).exits(0);
    let path = answer.stdout.lines().find_map(|line| line.strip_prefix("published  "));
    (project.record(), path.unwrap_or_else(|| panic!("{}", answer.stdout)).to_owned())
}

#[test]
fn without_a_commit_a_run_is_stored_as_uncommitted() {
    let project = Project::bare_folder();
    let (record, path) = published(&project);
    assert!(path.starts_with("runs/uncommitted/"), "{path}");
    assert_eq!(record["commit"]["unknown"]["sha"], "this is not a git repository");
    let project = Project::bare_folder();
    project.git(&["init", "-q"]);
    let (record, path) = published(&project);
    assert!(path.starts_with("runs/uncommitted/"), "{path}");
    assert_eq!(record["commit"]["unknown"]["sha"], "the repository has no commit yet");
}

#[test]
fn a_dirty_tree_is_told_everywhere() {
    let project = Project::new();
    project.file("README.md", "Changed.\n");
    let answer = project.perftrail(&["run", "--", "true"]).exits(0);
    let bundle = project.bundle();
    assert_eq!(project.record()["commit"]["dirty"], true);
    let words = "Uncommitted changes";
    assert!(answer.stdout.contains(words), "{}", answer.stdout);
    for page in ["README.md", "report.html"] {
        assert!(fs::read_to_string(bundle.join(page)).expect("a page").contains(words), "{page}");
    }
}

#[test]
fn checkouts_of_every_kind_are_read() {
    let origin = Project::new();
    let sha = origin.commit("Two");
    let home = origin.path("..").join("home");
    let place = |name: &str| origin.path("..").join(name);
    let url = format!("file://{}", origin.root().display());
    git(&origin.root(), &home, &["clone", "-q", "--depth", "1", &url, "../shallow"]);
    git(&origin.root(), &home, &["worktree", "add", "-q", "--detach", "../linked"]);
    git(&origin.root(), &home, &["clone", "-q", &url, "../others"]);
    // Only root can give a repository away; everybody else sees their own.
    let _ = Command::new("chown").args(["-R", "65534:65534"]).arg(place("others")).status();
    for (name, part) in [("shallow", "parents"), ("linked", "ref"), ("others", "")] {
        let mut command = origin.command(&["run", "--quiet", "--", "true"]);
        Answer::of(command.current_dir(place(name))).exits(0);
        let bundle = fs::read_dir(place(name).join("perftrail-out")).expect("bundles").flatten();
        let bundle = bundle.map(|entry| entry.path()).find(|path| path.is_dir()).expect("one");
        let record = read_json(&bundle.join("stats.json"));
        assert_eq!(record["commit"]["sha"], sha.as_str(), "{name}");
        assert!(part.is_empty() || record["commit"]["unknown"][part].is_string(), "{name}");
    }
}
