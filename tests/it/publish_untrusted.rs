//! Bundles that a job left which ran a stranger's code: whatever they say, nothing but what was
//! planned is published, and one wrong thing refuses the whole.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use perftrail::app::publish::{Awaited, Options, Pages, Published, publish};
use perftrail::config;
use perftrail::model::status::Identity;
use perftrail::record::canonical;
use perftrail::results::{BRANCH, Target};
use serde_json::{Value, json};

use crate::fake_github::{BOT, FakeGitHub, FakePull, FakeRepository, FakeToken};
use crate::support::{Answer, Project, read_json};

const CONFIG: &str = r#"
[[job]]
name = "sim"
run = "mkdir -p out && echo 1,2 > out/a.csv && echo '<script>' > out/page.html && echo done"
collect = ["out/*.csv"]
keep = [{ path = "out/*.html", html = true }]
[job.params]
years = 5
"#;
const STEP: [(&str, &str); 9] = [
    ("GITHUB_ACTIONS", "true"),
    ("GITHUB_EVENT_NAME", "issue_comment"),
    ("GITHUB_RUN_ID", "42"),
    ("GITHUB_RUN_NUMBER", "9"),
    ("GITHUB_RUN_ATTEMPT", "2"),
    ("GITHUB_REPOSITORY", "lab/model"),
    ("GITHUB_SERVER_URL", "https://github.com"),
    ("GITHUB_ACTOR", "wim"),
    ("CI", "true"),
];

/// A bundle of pull request 7, measured as it was planned.
struct Measured {
    project: Project,
    bundle: PathBuf,
    now: jiff::Timestamp,
}

/// A copy of it, to be changed.
struct Copy<'a> {
    folder: PathBuf,
    of: &'a Measured,
}

impl Measured {
    fn new() -> Self {
        let project = Project::new();
        let head = project.file("perftrail.toml", CONFIG).commit("Measure me");
        let step = |args: &[&str]| {
            let mut command = project.command(args);
            Answer::of(command.envs(STEP)).exits(0)
        };
        let mut plan: Value =
            serde_json::from_str(&step(&["run", "--dry-run"]).stdout).expect("a plan");
        plan["facts"]["pull_request"] = json!({
            "number": 7, "head": head, "head_branch": "faster", "is_fork": true,
            "head_repository": "eve/model", "base": "0".repeat(40), "base_branch": "main",
        });
        project.file("plan.json", &plan.to_string());
        step(&["run", "--plan", "plan.json"]);
        let bundle = project.bundle();
        let ended = read_json(&bundle.join("stats.json"))["run"]["ended"].clone();
        let now = ended.as_str().expect("a time").parse().expect("a time");
        Self { project, bundle, now }
    }

    fn options(&self) -> Options {
        let variables: Vec<(OsString, OsString)> =
            STEP.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let plan = self.project.path("plan.json");
        let awaited = Awaited::load(&plan, &self.project.root(), &variables, None);
        Options {
            to: Target::Local(self.project.path("results")),
            branch: BRANCH.to_owned(),
            rules: config::Results::default(),
            trusted: true,
            identity: Identity::Claimed,
            awaited: Some(awaited.expect("a plan")),
            now: self.now,
            pages: Pages::default(),
            judging: perftrail::app::verdict::judging(&config::Config::default()),
            ancestry: perftrail::app::ancestry::Ancestry::default(),
        }
    }

    fn publish(&self, bundles: &[&Path]) -> Published {
        let bundles: Vec<PathBuf> = bundles.iter().map(|path| path.to_path_buf()).collect();
        publish(&bundles, &self.options(), &mut |_| true).expect("an outcome")
    }

    fn copy(&self, number: usize) -> Copy<'_> {
        let folder = self.project.path("copies").join(number.to_string());
        for entry in walkdir::WalkDir::new(&self.bundle) {
            let entry = entry.expect("an entry");
            let to = folder.join(entry.path().strip_prefix(&self.bundle).expect("below"));
            if entry.file_type().is_dir() {
                fs::create_dir_all(to).expect("a folder");
            } else {
                fs::copy(entry.path(), to).expect("a copy");
            }
        }
        Copy { folder, of: self }
    }
}

impl Copy<'_> {
    fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// Changes the record, whose digest then fits again.
    fn record(&self, change: impl FnOnce(&mut Value)) {
        let mut record = read_json(&self.path("stats.json"));
        change(&mut record);
        let digest = canonical::digest_of(&canonical::without_published(record.clone()));
        record["run"]["digest"] = json!(digest);
        fs::write(self.path("stats.json"), record.to_string()).expect("a record");
    }

    fn set(&self, pointer: &str, value: Value) {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        self.record(|record| record.pointer_mut(parent).expect("the place")[key] = value);
    }

    /// Adds a file, listed or not.
    fn file(&self, path: impl AsRef<OsStr>, is_listed: bool) {
        let place = self.folder.join(Path::new(path.as_ref()));
        fs::create_dir_all(place.parent().expect("a folder")).expect("folders");
        fs::write(&place, "x").expect("a file");
        if is_listed {
            list(self, &path.as_ref().to_string_lossy(), None);
        }
    }
}

/// Lists a file that is not there.
fn list(it: &Copy<'_>, path: &str, left_out: Option<&str>) {
    let entry = json!({
        "path": path, "bytes": 1, "role": "collected",
        "sha256": canonical::sha256_hex(b"x"), "left_out": left_out,
    });
    it.record(|record| record["files"].as_array_mut().expect("files").push(entry));
}

type Tamper = fn(&Copy<'_>);

/// What is done to the bundle, and what is said of it.
const HOSTILE: &[(&str, Tamper)] = &[
    // Another identity.
    ("of no run of the plan", |it| it.set("/commit/sha", json!("1".repeat(40)))),
    ("of no run of the plan", |it| it.set("/run/job", json!("other"))),
    ("of no run of the plan", |it| it.set("/run/variant", json!("mine"))),
    ("of no run of the plan", |it| it.set("/params/years/value", json!(1))),
    ("its time of planning", |it| it.set("/run/planned", json!("2026-01-01T00:00:00Z"))),
    ("its name is", |it| it.set("/run/id", json!("issue_comment-43-1-sim"))),
    ("its name is", |it| it.set("/run/id", json!("issue_comment-42-3-sim"))),
    ("its name is", |it| it.set("/run/id", json!("schedule-42-2-sim"))),
    ("its label", |it| it.set("/run/tag", json!("[x](https://evil.example)"))),
    ("its workload", |it| it.set("/run/workload", json!(2))),
    ("its judged metrics", |it| it.set("/run/judged", json!(["duration"]))),
    ("its repetitions", |it| it.set("/run/repetitions/planned", json!(100))),
    ("its repository", |it| it.set("/repository/owner", json!("eve"))),
    ("its repository", |it| it.set("/repository/host", json!("evil.example"))),
    ("its repository", |it| it.set("/repository/name", json!("other"))),
    ("its pull request", |it| it.set("/trigger/pull_request", json!(8))),
    ("its pull request", |it| it.set("/trigger/pull_request", Value::Null)),
    ("its branch", |it| it.set("/commit/ref", json!("refs/heads/main"))),
    ("its event", |it| it.set("/trigger/event", json!("schedule"))),
    ("its workflow run", |it| it.set("/trigger/run_id", json!(43))),
    ("its workflow run", |it| it.set("/trigger/run_number", json!(10))),
    ("its workflow run", |it| it.set("/trigger/run_url", json!("https://evil.example/"))),
    ("its actor", |it| it.set("/trigger/actor", json!("ada"))),
    ("its profiler", |it| it.set("/tool/profiler/name", json!("perf"))),
    ("what only publishing adds", |it| it.set("/comparison", json!({"id": 1}))),
    ("what only publishing adds", |it| {
        it.set("/commit/against", json!([{"sha": "1".repeat(40), "ahead": 0, "behind": 0}]));
    }),
    ("no run leaves a bundle", |it| it.set("/run/status", json!("lost"))),
    ("no run leaves a bundle", |it| it.set("/run/status", json!("skipped"))),
    // Times.
    ("run.started is", |it| it.set("/run/started", json!("2026-01-01T00:00:00Z"))),
    ("run.ended is", |it| it.set("/run/ended", json!("2226-01-01T00:00:00Z"))),
    ("the run never started", |it| it.set("/run/started", Value::Null)),
    // Numbers and texts.
    ("metrics.duration is -1", |it| it.set("/metrics/duration/value", json!(-1.0))),
    ("longer than any run", |it| it.set("/metrics/duration/value", json!(1e12))),
    ("beyond what is measured", |it| it.set("/metrics/duration/value", json!(1e300))),
    ("more values than", |it| it.set("/metrics/duration/n", json!(1000))),
    ("outside its own bounds", |it| it.set("/metrics/duration/lower", json!(1e6))),
    ("more were completed", |it| it.set("/run/repetitions/completed", json!(9))),
    ("bytes of text", |it| it.set("/commit/subject", json!("x".repeat(100_000)))),
    ("a key of", |it| it.set("/extra", json!({"k".repeat(1000): 1}))),
    ("nests deeper", |it| {
        let deep = (0..20).fold(json!(1), |inner, _| json!([inner]));
        it.set("/extra", json!({ "deep": deep }));
    }),
    ("holds more than 400000 values", |it| it.set("/extra", json!({"many": vec![0; 400_001]}))),
    ("not JSON", |it| fs::write(it.path("stats.json"), "{\"schema\":").expect("a record")),
    ("larger than it may be", |it| {
        fs::write(it.path("stats.json"), " ".repeat(9 << 20)).expect("a record");
    }),
    ("changed after the run", |it| {
        let text = fs::read_to_string(it.path("stats.json")).expect("a record");
        fs::write(it.path("stats.json"), text.replace("\"exit_code\": 0", "\"exit_code\": 1"))
            .expect("a record");
    }),
    // Files.
    ("it is a link", |it| {
        fs::remove_file(it.path("log.txt.gz")).expect("the log");
        std::os::unix::fs::symlink("/etc/passwd", it.path("log.txt.gz")).expect("a link");
    }),
    ("it is no plain file", |it| {
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, it.path("files/pipe"), mode).expect("a pipe");
    }),
    ("the name .git is reserved", |it| it.file("files/.git/config", true)),
    ("the name con.csv is reserved", |it| it.file("files/con.csv", true)),
    ("the name _config.yml is reserved", |it| it.file("files/_config.yml", true)),
    ("cannot be shown or stored", |it| it.file("files/a\\b", true)),
    ("cannot be shown or stored", |it| it.file("files/a\u{202e}fdp", true)),
    ("ends in a dot", |it| it.file("files/a.", true)),
    ("differs from files/out/A only in case", |it| {
        it.file("files/out/A", true);
        it.file("files/out/a", true);
    }),
    ("not UTF-8", |it| it.file(OsStr::from_bytes(b"files/\xff"), false)),
    ("too deep", |it| it.file(format!("files/{}x", "d/".repeat(20)), true)),
    ("not listed in the record", |it| it.file("files/more.csv", false)),
    ("not listed in the record", |it| it.file("raw/more.bin", false)),
    ("is no file of a bundle", |it| it.file("index.html", true)),
    ("is in no folder of a bundle", |it| it.file("site/index.html", true)),
    ("a part that leads elsewhere", |it| list(it, "files/../../README.md", None)),
    ("a part that leads elsewhere", |it| list(it, "files/../x", Some("it was too large"))),
    ("has an empty part", |it| list(it, "/etc/passwd", None)),
    ("is listed twice", |it| {
        it.file("files/twice", true);
        it.file("files/twice", true);
    }),
    ("is not the file that the record lists", |it| {
        fs::write(it.path("files/out/a.csv"), "9,9\n").expect("a file");
    }),
    ("bytes, and the record says", |it| {
        fs::write(it.path("files/out/a.csv"), "much more\n").expect("a file");
    }),
    ("holds 5001 files", |it| {
        fs::create_dir_all(it.path("raw")).expect("a folder");
        let there = walkdir::WalkDir::new(&it.folder).into_iter().flatten();
        let there = there.filter(|entry| entry.file_type().is_file()).count() - 1;
        for number in there..5001 {
            fs::write(it.path(&format!("raw/{number}")), "").expect("a file");
        }
    }),
    ("holds no series", |it| fs::write(it.path("series.json"), "{}").expect("a file")),
    ("holds no profile", |it| fs::write(it.path("profile.json.gz"), "x").expect("a file")),
    ("cannot be unpacked", |it| fs::write(it.path("log.txt.gz"), "x").expect("a file")),
];

#[test]
fn every_hostile_bundle_is_refused_whole_and_nothing_is_published() {
    assert!(HOSTILE.len() >= 40, "{}", HOSTILE.len());
    let measured = Measured::new();
    for (number, (reason, tamper)) in HOSTILE.iter().enumerate() {
        let copy = measured.copy(number);
        tamper(&copy);
        let published = copy.of.publish(&[&copy.folder]);
        let told: Vec<String> = published.refused.iter().map(|one| one.why.to_string()).collect();
        assert!(told.len() == 1 && told[0].contains(reason), "{number} {reason}: {told:?}");
        assert!(!told[0].chars().any(|c| c.is_control() || c == '\u{202e}'), "{told:?}");
        assert!(published.runs.is_empty() && published.commit.is_none(), "{reason}: {published:?}");
        assert!(!measured.project.path("results").exists(), "{reason}");
        fs::remove_dir_all(&copy.folder).expect("the copy");
    }
}

#[test]
fn of_two_bundles_of_one_run_neither_is_taken() {
    let measured = Measured::new();
    let copies = [measured.copy(1), measured.copy(2)];
    copies[1].set("/metrics/duration/value", json!(0.5));
    let published = measured.publish(&[&copies[0].folder, &copies[1].folder]);
    assert_eq!((published.refused.len(), published.runs.len()), (2, 0), "{published:?}");
    assert!(published.refused[0].why.to_string().contains("another bundle is of the same run"));
}

#[test]
fn what_was_planned_is_published_without_what_a_browser_would_run() {
    let measured = Measured::new();
    let published = measured.publish(&[&measured.bundle]);
    assert!(published.is_whole(), "{:?}", published.refused);
    let run = &published.runs[0];
    let left_out: Vec<&str> = run.left_out.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(left_out, ["files/out/page.html"]);
    let project = &measured.project;
    let listed = project.perftrail(&["runs", "--to", "results", "--format", "json"]).exits(0);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let one = &listed["runs"][0];
    assert_eq!((&one["identity"], &one["pull_request"]), (&json!("planned"), &json!(7)));
    assert_eq!(one["ref"], "refs/pull/7/head");
    // The attempt that measured may be older than the one that publishes.
    assert!(run.path.contains("/issue_comment-42-2-sim"), "{}", run.path);
    let again = measured.publish(&[&measured.bundle]);
    assert_eq!((again.commit, again.runs.len()), (None, 1));
}

#[test]
fn a_confirmation_is_a_run_of_its_own() {
    let measured = Measured::new();
    assert!(measured.publish(&[&measured.bundle]).is_whole());
    let project = &measured.project;
    let mut again = project.command(&["run", "--plan", "plan.json", "--confirm", "1"]);
    Answer::of(again.envs(STEP)).exits(0);
    let bundles = project.bundles();
    let second = bundles.iter().find(|path| **path != measured.bundle).expect("another bundle");
    let variables: Vec<(OsString, OsString)> =
        STEP.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let plan = project.path("plan.json");
    let awaited = Awaited::load(&plan, &project.root(), &variables, Some(1)).expect("a plan");
    let hour = jiff::SignedDuration::from_mins(1);
    let options =
        Options { awaited: Some(awaited), now: measured.now + hour, ..measured.options() };
    let published =
        publish(std::slice::from_ref(second), &options, &mut |_| true).expect("an outcome");
    assert!(published.is_whole(), "{:?}", published.refused);
    let listed = project.perftrail(&["runs", "--to", "results", "--format", "json"]).exits(0);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(2));
}

/// `perftrail publish` in a job without a checkout: it asks GitHub for the configuration.
fn publish_job(measured: &Measured, plan: &Value) -> Answer {
    const BASE: &str = "0000000000000000000000000000000000000000";
    let github = FakeGitHub::start();
    let mut repository = FakeRepository::of("public");
    // The budget of the base counts, whatever lies in the workspace.
    let config = format!("[results]\nlog = \"none\"\n{CONFIG}");
    repository.files.insert((BASE.to_owned(), "perftrail.toml".to_owned()), config);
    github.repository("lab/model", repository).token("ghs_x", FakeToken::reads("lab/model"));
    measured.project.file("told.json", &plan.to_string());
    let bundle = measured.bundle.to_string_lossy().into_owned();
    let mut command = measured.project.command(&[
        "publish",
        &bundle,
        "--plan",
        "told.json",
        "--to",
        "./results",
        "--format",
        "json",
    ]);
    command.envs(STEP).env("GITHUB_TOKEN", "ghs_x");
    command.env("GITHUB_API_URL", &github.variables()["GITHUB_API_URL"]);
    Answer::of(&mut command)
}

/// GitHub with the project and its pull request 7.
fn with_pull_request() -> FakeGitHub {
    let github = FakeGitHub::start();
    let mut repository = FakeRepository::of("public");
    repository.files.insert(("0".repeat(40), "perftrail.toml".to_owned()), CONFIG.to_owned());
    repository.pulls.insert(7, FakePull::from("eve/model", &"1".repeat(40)));
    github.repository("lab/model", repository).token("ghs_x", FakeToken::tells("lab/model"));
    github
}

/// A step of the Action that publishes by a plan, and its comments under pull request 7.
fn action(
    github: &FakeGitHub,
    measured: &Measured,
    plan: &str,
    bundle: &Path,
) -> (Answer, Vec<String>) {
    let mut command = measured.project.command(&["action"]);
    command.envs(STEP).env("GITHUB_WORKSPACE", measured.project.root());
    for name in ["GITHUB_API_URL", "GITHUB_GRAPHQL_URL"] {
        command.env(name, &github.variables()[name]);
    }
    for (name, value) in [
        ("INPUT_COMMAND", "publish"),
        ("INPUT_PLAN", plan),
        ("INPUT_BUNDLE", bundle.to_str().expect("a path")),
        ("INPUT_TO", "./results"),
        ("INPUT_GITHUB-TOKEN", "ghs_x"),
    ] {
        command.env(name, value);
    }
    let answer = Answer::of(&mut command);
    let model = github.model();
    let comments = model.repositories["lab/model"].pulls[&7].comments.iter();
    let ours = comments.filter(|comment| comment.author == BOT);
    (answer, ours.map(|comment| comment.body.clone()).collect())
}

/// A step of the Action that publishes one bundle, and what it says: its comments, and the state of
/// the newest status.
fn told_by_action(github: &FakeGitHub, measured: &Measured, bundle: &Path) -> (Vec<String>, Value) {
    let plan = fs::read_to_string(measured.project.path("plan.json")).expect("a plan");
    let (_, comments) = action(github, measured, &plan, bundle);
    let model = github.model();
    let newest = model.repositories["lab/model"].statuses.last().expect("a status");
    (comments, newest.1["state"].clone())
}

#[test]
fn what_came_of_a_run_is_told_under_its_pull_request() {
    let (measured, github) = (Measured::new(), with_pull_request());
    let spoilt = measured.copy(0);
    fs::write(spoilt.folder.join("stats.json"), "{}").expect("a file");
    let (comments, state) = told_by_action(&github, &measured, &spoilt.folder);
    assert_eq!((comments.len(), &state), (1, &json!("error")), "{comments:?}");
    assert!(comments[0].contains("sim: not published"), "{}", comments[0]);

    for _ in 0..2 {
        let (comments, state) = told_by_action(&github, &measured, &measured.bundle);
        assert_eq!((comments.len(), &state), (1, &json!("success")), "{comments:?}");
        for part in ["### sim: no verdict yet", "CPU time", "runs/"] {
            assert!(comments[0].contains(part), "{part} is missing in {}", comments[0]);
        }
        assert!(!comments[0].contains("not published"), "{}", comments[0]);
    }

    // What came beside it is told in the same comment, once for each reason.
    for number in [1, 2] {
        measured.copy(number).set("/run/job", json!("other"));
    }
    let both = measured.project.path("copies");
    fs::rename(&measured.bundle, both.join("sim")).expect("moved");
    fs::remove_dir_all(&spoilt.folder).expect("removed");
    let (comments, state) = told_by_action(&github, &measured, &both);
    assert_eq!((comments.len(), &state), (1, &json!("success")), "{comments:?}");
    let told = comments[0].matches("of no run of the plan").count();
    assert_eq!(told, 1, "{}", comments[0]);
    assert!(comments[0].contains("CPU time"), "{}", comments[0]);
}

#[test]
fn a_run_is_laid_on_what_its_comment_names() {
    let measured = Measured::new();
    let mut plan = read_json(&measured.project.path("plan.json"));
    plan["facts"]["pull_request"]["against"] =
        json!({"reference": "main", "commit": "1".repeat(40)});
    let answer = publish_job(&measured, &plan).exits(0);
    assert!(
        answer.stderr.contains("against main (111111111111): nothing stored"),
        "{}",
        answer.stderr
    );
    let left = "log.txt.gz: the configuration publishes no log";
    assert!(answer.stderr.contains(left), "{}", answer.stderr);
    let own = plan["facts"]["commit"].clone();
    plan["facts"]["pull_request"]["against"]["commit"] = own;
    let answer = publish_job(&measured, &plan).exits(0);
    let line = answer.stderr.lines().find(|line| line.contains(" against main (")).expect("a line");
    assert!(!line.contains("nothing stored") && !line.contains("cannot be compared"), "{line}");
}

#[test]
fn accepting_writes_an_epoch_of_the_pull_request() {
    let measured = Measured::new();
    let mut plan = read_json(&measured.project.path("plan.json"));
    publish_job(&measured, &plan).exits(0);
    plan["runs"] = json!([]);
    plan["accept"] = json!({"metric": "cpu_time", "because": "exact now", "author": "ada"});
    let epochs = || {
        let at = measured.project.path("results");
        crate::support::git(&at, &at, &["show", "results:epochs.toml"])
    };
    for _ in 0..2 {
        publish_job(&measured, &plan).exits(0);
        assert_eq!(epochs().matches("[[epoch]]").count(), 1, "{}", epochs());
    }
    for part in ["pull_request = 7", "author = \"ada\"", "because = \"exact now\""] {
        assert!(epochs().contains(part), "{}", epochs());
    }
    plan["accept"]["metric"] = json!("cpu_tiem");
    let answer = publish_job(&measured, &plan).exits(2);
    assert!(answer.stderr.contains("did you mean \"cpu_time\"?"), "{}", answer.stderr);
}

#[test]
fn whoever_accepts_is_told_what_came_of_it() {
    let (measured, github) = (Measured::new(), with_pull_request());
    let mut plan = read_json(&measured.project.path("plan.json"));
    publish_job(&measured, &plan).exits(0);
    plan["runs"] = json!([]);
    plan["facts"]["pull_request"]["comment"] = json!({"id": 12, "author": "ada"});
    plan["accept"] = json!({"metric": "happiness", "because": "exact now", "author": "ada"});
    let accepts = |plan: &Value, code: i32| {
        let (answer, comments) = action(&github, &measured, &plan.to_string(), &measured.bundle);
        answer.exits(code);
        comments
    };
    for _ in 0..2 {
        let comments = accepts(&plan, 2);
        assert_eq!(comments.len(), 1, "once, however often it runs: {comments:?}");
        assert!(comments[0].contains("Nothing is accepted: "), "{}", comments[0]);
    }
    plan["accept"]["metric"] = json!("cpu_time");
    for _ in 0..2 {
        let comments = accepts(&plan, 0);
        assert_eq!(comments.len(), 2, "{comments:?}");
        assert!(comments[1].contains("is accepted since pull request 7"), "{}", comments[1]);
    }
}

#[test]
fn a_bundle_that_never_came_is_recorded_as_lost() {
    let measured = Measured::new();
    let empty = measured.project.path("empty");
    fs::create_dir(&empty).expect("a folder");
    let published = measured.publish(&[&empty]);
    assert_eq!(published.runs[0].lost.as_deref(), Some("sim"), "{published:?}");
}

#[test]
fn a_workflow_that_was_skipped_lost_nothing() {
    let measured = Measured::new();
    let mut plan = read_json(&measured.project.path("plan.json"));
    fs::remove_dir_all(&measured.bundle).expect("the bundle goes");
    for (succeeded, told) in [(true, "it was skipped, nothing is published"), (false, "lost")] {
        plan["facts"]["measured_by"] =
            json!({"run_id": 99, "attempt": 1, "run_number": 5, "succeeded": succeeded});
        let answer = publish_job(&measured, &plan).exits(0);
        let said = answer.stdout + &answer.stderr;
        assert!(said.contains(told), "{said}");
        assert_eq!(measured.project.path("results").exists(), !succeeded, "{said}");
    }
}
