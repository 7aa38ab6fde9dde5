//! How a run's commit lies to those measured before it: where that comes from, what it is good for.

use std::process::Command;

use perftrail::model::names::CommitSha;
use perftrail::record::{Against, Record, canonical};
use serde_json::Value;

use crate::desk::Desk;
use crate::fake_github::{Failure, FakeGitHub, FakePull, FakeRepository, FakeToken};
use crate::history_repository::{night, perftrail, publish};
use crate::support::{Answer, Project};

const TOKEN: &str = "ghs_of_the_project";
const SOURCE: &str = "lab/model";

/// What the published record of the newest run says of its commit.
fn published(project: &Project, sha: &str) -> Vec<Value> {
    let git = |args: &[&str]| {
        let results = project.path("perftrail-results");
        crate::support::git(&results, &project.path("../home"), args)
    };
    let tree = git(&["ls-tree", "-r", "--name-only", "results"]);
    let is_it = |path: &&str| path.contains(sha) && path.ends_with("/stats.json");
    let path = tree.lines().find(is_it).expect("the run's record");
    let record: Value =
        serde_json::from_str(&git(&["show", &format!("results:{path}")])).expect("JSON");
    record["commit"]["against"].as_array().expect("a list").clone()
}

fn measure(project: &Project) {
    project.perftrail(&["run", "--job", "sim", "--publish", "--", "true"]).exits(0);
}

#[test]
fn a_clone_tells_the_nearest_measured_ancestor_and_what_changed_since() {
    let project = Project::new();
    let first = project.git(&["rev-parse", "HEAD"]);
    measure(&project);
    assert_eq!(published(&project, &first), Vec::<Value>::new(), "nothing was measured before");
    project.file("a.txt", "1").commit("One");
    let second = project.file("b.txt", "2").commit("Two");
    measure(&project);
    let told = published(&project, &second);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["sha"], first);
    assert_eq!((&told[0]["ahead"], &told[0]["behind"]), (&2.into(), &0.into()));
    assert_eq!(told[0]["changed_paths"], serde_json::json!(["a.txt", "b.txt"]));

    // A branch that left before the newest measured commit.
    project.git(&["checkout", "-q", "-b", "faster", &first]);
    let branch = project.file("c.txt", "3").commit("Three");
    measure(&project);
    let told = published(&project, &branch);
    let all: Vec<_> = told.iter().map(|one| (&one["sha"], &one["ahead"], &one["behind"])).collect();
    assert_eq!(
        all,
        [
            (&first.clone().into(), &1.into(), &0.into()),
            (&second.clone().into(), &1.into(), &2.into()),
        ]
    );
    let report = project.perftrail(&["report", &branch[..8], "--format", "json"]).exits(0);
    let report: Value = serde_json::from_str(&report.stdout).expect("JSON");
    let baseline = &report["verdict"]["metrics"][0]["baseline"];
    assert_eq!(baseline["commit"], first, "{report}");
    assert_eq!(baseline["is_ancestor"], true);
    project.perftrail(&["fsck", "--to", "perftrail-results"]).exits(0);
}

#[test]
fn a_shallow_clone_says_nothing_of_what_it_cannot_know() {
    let project = Project::new();
    measure(&project);
    project.commit("Two");
    let head = project.git(&["rev-parse", "HEAD"]);
    let url = format!("file://{}", project.root().display());
    let place = project.path("../shallow");
    project.git(&["clone", "-q", "--depth", "1", &url, &place.display().to_string()]);
    let results = project.path("perftrail-results").display().to_string();
    let mut command =
        project.command(&["run", "--job", "sim", "--publish", "--to", &results, "--", "true"]);
    Answer::of(command.current_dir(&place)).exits(0);
    assert_eq!(published(&project, &head), Vec::<Value>::new());
}

/// Runs of one history at GitHub, and a project there.
struct Hub {
    desk: Desk,
    github: FakeGitHub,
}

impl Hub {
    fn new(repository: FakeRepository) -> Self {
        let github = FakeGitHub::start();
        github.repository(SOURCE, repository).token(TOKEN, FakeToken::reads(SOURCE));
        Self { desk: Desk::new(), github }
    }

    fn publish(&self, record: &Record) -> Answer {
        let bundle = self.desk.bundle(&record.run.id, record).display().to_string();
        let repository = self.desk.repository().display().to_string();
        let mut command = Command::new(env!("CARGO_BIN_EXE_perftrail"));
        command
            .args(["publish", &bundle, "--to", &repository])
            .current_dir(self.desk.path("home"))
            .env_clear()
            .envs(self.github.variables())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.desk.path("home"))
            .env("PERFTRAIL_GITHUB_TOKEN", TOKEN);
        Answer::of(&mut command)
    }

    fn against(&self, record: &Record) -> Vec<Against> {
        let sha = record.commit.sha.as_ref().expect("a commit").as_str();
        let is_it = |path: &String| path.contains(sha) && path.ends_with("/stats.json");
        let path = self.desk.tree().into_iter().find(is_it).expect("the record");
        let text = self.desk.show(&path);
        perftrail::record::read::read(text.as_bytes()).expect("a record").record.commit.against
    }
}

/// A run of a commit whose place only GitHub knows.
fn at_github(n: i64, change: impl FnOnce(&mut Record)) -> Record {
    night(n, 100.0, |record| {
        record.repository.host = Some("127.0.0.1".to_owned());
        record.repository.owner = Some("lab".to_owned());
        record.repository.name = Some("model".to_owned());
        change(record);
    })
}

fn sha(record: &Record) -> String {
    record.commit.sha.as_ref().expect("a commit").to_string()
}

#[test]
fn github_is_asked_where_there_is_no_clone() {
    let nights: Vec<Record> = (0..3).map(|n| at_github(n, |_| {})).collect();
    let pull = at_github(5, |record| {
        record.run.id = "pull_request-9-1-simulation".to_owned();
        record.trigger.event = "pull_request".to_owned();
        record.trigger.pull_request = Some(9);
        record.commit.reference = None;
        record.commit.merge_base = None;
    });
    let [a, b, c, p] = [&nights[0], &nights[1], &nights[2], &pull].map(sha);
    let repository = FakeRepository::of("private")
        .commit(&a, &[])
        .commit("between", &[&a])
        .commit(&b, &["between"])
        .commit(&c, &[&b])
        .commit(&p, &[&b])
        .branch("main", &c)
        .touches(&p, &[("src/new.py", Some("src/old.py"))]);
    let hub = Hub::new(repository);
    for night in &nights {
        hub.publish(night).exits(0);
    }
    let told = hub.against(&nights[1]);
    assert_eq!((told[0].sha.to_string(), told[0].ahead, told[0].behind), (a, 2, 0));
    hub.publish(&pull).exits(0);
    let told = hub.against(&pull);
    let seen: Vec<_> =
        told.iter().map(|one| (one.sha.to_string(), one.ahead, one.behind)).collect();
    assert_eq!(seen, [(b, 1, 0), (c, 1, 1)], "the nearest ancestor first");
    let paths = told[0].changed_paths.as_ref().expect("what changed");
    assert_eq!(paths, &["src/new.py", "src/old.py"]);
    let asked = hub.github.requests().len();
    hub.publish(&pull).exits(0);
    assert_eq!(hub.github.requests().len(), asked, "what is there needs nothing");
    perftrail(&hub.desk, &["fsck"]).exits(0);
}

#[test]
fn a_commit_that_is_gone_or_a_server_in_trouble_stops_no_publish() {
    let nights: Vec<Record> = (0..3).map(|n| at_github(n, |_| {})).collect();
    // The first commit was rebased away.
    let repository =
        FakeRepository::of("private").commit(&sha(&nights[1]), &[]).commit(&sha(&nights[2]), &[]);
    let hub = Hub::new(repository);
    hub.publish(&nights[0]).exits(0);
    let answer = hub.publish(&nights[1]).exits(0);
    assert_eq!(hub.against(&nights[1]), []);
    assert!(!answer.stderr.contains("not known"), "{}", answer.stderr);
    hub.github.fail([Failure::refusal(403, "Resource not accessible by integration")]);
    let answer = hub.publish(&nights[2]).exits(0);
    assert!(answer.stderr.contains("lie to earlier ones is not known"), "{}", answer.stderr);
    assert_eq!(hub.against(&nights[2]), []);
}

/// What people accept under pull request 9.
const EPOCH: &str = r#"[[epoch]]
metric = "cpu_time"
repository = "127.0.0.1/lab/model"
pull_request = 9
because = "exact solver"
author = "ada"
date = "2026-11-30"
"#;

#[test]
fn a_level_begins_with_the_first_run_that_holds_its_pull_request() {
    let slow = |n: i64| if n < 21 { 1.0 } else { 1.3 };
    let nights: Vec<Record> = (0..30)
        .map(|n| {
            at_github(n, |record| {
                record.metrics.get_mut("cpu_time").expect("a metric").value *= slow(n);
            })
        })
        .collect();
    let shas: Vec<String> = nights.iter().map(sha).collect();
    // It is merged between two nights by a commit that is not measured, and nothing that is
    // measured names it.
    let merge = "c".repeat(40);
    let mut repository = FakeRepository::of("private").commit(&shas[0], &[]);
    for (n, pair) in shas.windows(2).enumerate() {
        let parent = if n == 20 { &merge } else { &pair[0] };
        repository = repository.commit(&pair[1], &[parent]);
    }
    let hub = Hub::new(repository.commit(&merge, &[&shas[20]]));
    let pull = FakePull::from(SOURCE, &"d".repeat(40));
    let stands = |pull: &FakePull| {
        let mut model = hub.github.model();
        let repository = model.repositories.get_mut(SOURCE).expect("the project");
        repository.pulls.insert(9, pull.clone());
    };
    stands(&pull);
    publish(&hub.desk, &nights[..20]);
    hub.desk.put("epochs.toml", "100644", EPOCH);
    hub.publish(&nights[20]).exits(0);
    assert_eq!(hub.desk.show("epochs.toml"), EPOCH.trim_end(), "it is not merged");

    stands(&pull.merged(&merge, "2026-12-20T20:00:00Z"));
    hub.github.fail([Failure::refusal(403, "Resource not accessible by integration")]);
    hub.publish(&nights[21]).exits(0);
    assert_eq!(hub.desk.show("epochs.toml"), EPOCH.trim_end(), "nobody told");
    hub.github.recover();
    let answer = hub.publish(&nights[22]).exits(0);
    assert!(answer.stderr.contains("that pull request 9 brings begins at"), "{}", answer.stderr);
    let begins = format!(
        "pull_request = 9\ncommit = \"{}\"\nplanned = \"{}\"\n",
        shas[21], nights[21].run.planned
    );
    assert_eq!(
        hub.desk.show("epochs.toml"),
        EPOCH.trim_end().replace("pull_request = 9\n", &begins)
    );
    let asked = hub.github.requests().len();
    hub.publish(&nights[23]).exits(0);
    let asked = hub.github.requests().split_off(asked);
    assert!(asked.iter().all(|request| !request.contains("/pulls/")), "{asked:?}");

    publish(&hub.desk, &nights[24..]);
    let found = perftrail(&hub.desk, &["history", "--metric", "cpu_time", "--format", "json"]);
    let found: Value = serde_json::from_str(&found.exits(0).stdout).expect("JSON");
    let change = &found["histories"][0]["change_points"][0];
    assert_eq!((&change["index"], &change["state"]), (&21.into(), &"accepted".into()), "{found}");
    perftrail(&hub.desk, &["fsck"]).exits(0);
}

/// Twenty quiet nights, then two slow ones; what becomes of the second.
fn second_slow_night(change: impl FnOnce(&mut Record, &Record)) -> Value {
    let desk = Desk::new();
    let tree = |record: &mut Record| record.commit.tree = Some("7".repeat(40));
    let mut records: Vec<Record> = (0..20).map(|n| night(n, 100.0, tree)).collect();
    records.push(night(20, 112.0, tree));
    let before = records[20].clone();
    let last = night(21, 112.0, |record| {
        record.commit.tree = Some("8".repeat(40));
        change(record, &before);
    });
    records.push(last);
    publish(&desk, &records);
    let quiet = "[triggers]\nskip_when_only = [\"docs/**\"]\n";
    std::fs::write(desk.path("home/perftrail.toml"), quiet).expect("a configuration");
    let answer = perftrail(&desk, &["report", "latest", "--format", "json"]).exits(0);
    let report: Value = serde_json::from_str(&answer.stdout).expect("JSON");
    report["verdict"].clone()
}

#[test]
fn equal_trees_and_changed_documents_may_warn_and_never_fail() {
    let of = |change: &dyn Fn(&mut Record, &Record)| {
        second_slow_night(|record, before| change(record, before))["severity"].clone()
    };
    assert_eq!(of(&|_, _| {}), "fails");
    assert_eq!(of(&|record, _| record.commit.tree = Some("7".repeat(40))), "warns");
    let paths = |paths: &[&str]| Some(paths.iter().map(|path| (*path).to_owned()).collect());
    let against = |record: &mut Record, before: &Record, changed: &[&str]| {
        let sha = before.commit.sha.clone().expect("a commit");
        record.commit.against =
            vec![Against { sha, ahead: 3, behind: 0, changed_paths: paths(changed) }];
    };
    assert_eq!(of(&|record, before| against(record, before, &["docs/a.md"])), "warns");
    assert_eq!(of(&|record, before| against(record, before, &["docs/a.md", "x.py"])), "fails");
    // The level that it is held against ends before both slow nights, and the record knows nothing
    // of the commits there.
    let found = second_slow_night(|record, before| against(record, before, &["docs/a.md"]));
    let baseline = &found["metrics"][0]["baseline"];
    assert_eq!(
        (&baseline["is_ancestor"], &baseline["runs"]),
        (&false.into(), &20.into()),
        "{found}"
    );
}

#[test]
fn a_commit_that_is_measured_late_stands_at_its_own_place() {
    let desk = Desk::new();
    let level = |n: i64| if n < 12 { 100.0 } else { 120.0 };
    let mut records: Vec<Record> = (0..24).map(|n| night(n, level(n), |_| {})).collect();
    let known = |n: usize| -> CommitSha { records[n].commit.sha.clone().expect("a commit") };
    let (nearest, newest) = (known(5), known(23));
    for n in 30..33 {
        let (nearest, newest) = (nearest.clone(), newest.clone());
        records.push(night(n, 100.0, move |record| {
            let of = |sha, ahead, behind| Against { sha, ahead, behind, changed_paths: None };
            record.commit.against = vec![of(nearest, 1, 0), of(newest, 0, 20)];
        }));
    }
    for record in &mut records {
        record.run.digest = Some(canonical::record_digest(record).expect("JSON"));
    }
    publish(&desk, &records);
    let answer = perftrail(&desk, &["history", "--metric", "cpu_time", "--format", "json"]);
    let found: Value = serde_json::from_str(&answer.exits(0).stdout).expect("JSON");
    let changes = found["histories"][0]["change_points"].as_array().expect("changes");
    assert_eq!(changes.len(), 1, "no way back at the end: {changes:?}");
    assert_eq!(changes[0]["index"], 15, "three of the old level came in");
    let answer = perftrail(&desk, &["report", "latest", "--format", "json"]).exits(0);
    let report: Value = serde_json::from_str(&answer.stdout).expect("JSON");
    assert_eq!(report["verdict"]["word"], "inconclusive", "{}", report["verdict"]);
    let baseline = &report["verdict"]["metrics"][0]["baseline"];
    assert_eq!(baseline["commit"], nearest.as_str(), "{baseline}");
}
