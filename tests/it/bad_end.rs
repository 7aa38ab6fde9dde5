//! Runs that cannot be carried out to their end: what was measured stays, with status and reason.

use std::fs;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::measure::{alive, oracle, until};
use crate::support::{Project, notice, read_json};

fn configured(job: &str) -> Project {
    let project = Project::new();
    let other = "[[job]]\nname = \"other\"\nrun = \"true\"\n";
    project.file("perftrail.toml", &format!("[[job]]\nname = \"first\"\n{job}\n{other}"));
    project
}

/// The records of both jobs, in order.
#[track_caller]
fn both(project: &Project) -> [Value; 2] {
    let mut records: Vec<Value> =
        project.bundles().iter().map(|bundle| read_json(&bundle.join("stats.json"))).collect();
    records.sort_by_key(|record| record["run"]["job"] != "first");
    for bundle in project.bundles() {
        assert!(bundle.join("report.html").is_file() && bundle.join("log.txt.gz").is_file());
    }
    records.try_into().unwrap_or_else(|records| panic!("two records: {records:?}"))
}

#[test]
fn a_set_up_that_fails_is_a_record_and_keeps_no_other_job_from_running() {
    let project = configured("setup = \"echo no; exit 7\"\nrun = \"true\"");
    project.perftrail(&["run", "--publish"]).exits(3);
    let [first, other] = both(&project);
    assert_eq!(
        (&first["run"]["status"], &first["run"]["exit_code"]),
        (&"setup_failed".into(), &7.into())
    );
    assert_eq!(other["run"]["status"], "succeeded");
    let listed = project.perftrail(&["runs"]).exits(0);
    assert!(
        listed.stdout.contains("set-up failed") || listed.stdout.contains("setup"),
        "{}",
        listed.stdout
    );
}

#[test]
fn a_folder_that_is_missing_is_a_record_and_is_published() {
    let project = configured("cwd = \"gone\"\nrun = \"true\"");
    let answer = project.perftrail(&["run", "--publish"]).exits(2);
    assert!(answer.stderr.contains("check `cwd`"), "{}", answer.stderr);
    let [first, other] = both(&project);
    assert_eq!(first["run"]["status"], "setup_failed");
    assert!(notice(&first, "not_run").contains("gone"));
    assert!(first["run"]["digest"].is_string());
    assert_eq!(other["run"]["status"], "succeeded");
    assert_eq!(answer.stdout.matches("published ").count(), 2, "{}", answer.stdout);
}

#[test]
fn a_folder_that_vanishes_between_repetitions_costs_only_the_later_ones() {
    let project = configured("cwd = \"sub\"\nrun = \"cd ..; rm -rf sub\"\nrepetitions = 3");
    fs::create_dir(project.path("sub")).expect("a folder");
    project.perftrail(&["run"]).exits(2);
    let [first, _] = both(&project);
    assert_eq!(first["run"]["status"], "failed");
    assert_eq!(first["run"]["repetitions"]["completed"], 1);
    assert_eq!(first["metrics"]["cpu_time"]["n"], 1);
}

#[test]
fn a_job_that_tidies_up_the_place_for_temporary_files_goes_on() {
    let project = configured(
        "run = \"echo '{\\\"m\\\": 4}' >> $PERFTRAIL_STATS; rm -rf $(dirname $PERFTRAIL_OUTPUT)\"\nrepetitions = 2",
    );
    project.perftrail(&["run"]).exits(0);
    assert_eq!(both(&project)[0]["run"]["repetitions"]["completed"], 2);
}

#[test]
fn steps_that_ran_are_measured_whatever_the_next_one_does() {
    let project = configured(
        "[[job.step]]\nname = \"one\"\nrun = \"echo '{\\\"m\\\": 4}' >> $PERFTRAIL_STATS\"\n\
         [[job.step]]\nname = \"two\"\nrun = \"d=$(dirname $PERFTRAIL_STATS); rm -rf $d; echo > $d\"\n\
         [[job.step]]\nname = \"three\"\nrun = \"true\"",
    );
    let answer = project.perftrail(&["run"]).exits(1);
    let [first, _] = both(&project);
    assert_eq!(first["run"]["status"], "failed");
    assert_eq!(first["metrics"]["m"]["value"], 4.0);
    assert!(first["steps"][0]["metrics"]["cpu_time"]["value"].is_number());
    assert_eq!(first["steps"][2]["status"], "skipped");
    let place = notice(&first, "not_run").to_owned();
    assert!(answer.stderr.contains(&place), "{}", answer.stderr);
    let left = place.split("stats.jsonl").next().and_then(|text| text.split(" in ").nth(1));
    if let Some(left) = left {
        let _ = fs::remove_file(left.trim_end_matches('/'));
    }
}

#[test]
fn another_commit_than_the_planned_one_runs_nothing() {
    let project = configured("run = \"true\"");
    project.commit("Configure");
    let plan = project.perftrail(&["run", "--dry-run"]).exits(0);
    project.file("plan.json", &plan.stdout);
    project.commit("Go on");
    let answer = project.perftrail(&["run", "--plan", "plan.json"]).exits(5);
    assert!(answer.stderr.contains("the plan is for commit"), "{}", answer.stderr);
    assert!(project.bundles().is_empty());
}

/// perftrail at work on a job that nobody can ask to end, in processes that bear the token.
struct AtWork {
    child: Child,
    token: String,
    project: Project,
}

impl AtWork {
    fn begin(name: &str, kind: &str) -> Self {
        let project = Project::new();
        let token = format!("{name}-{}", std::process::id());
        let mut command = project.command(&["run", "--quiet", "--"]);
        command.arg(oracle()).args([kind, &token]).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("perftrail");
        let at_work = Self { child, token, project };
        until("the job begins", || {
            // All of its processes, and perftrail.
            at_work.record().is_some()
                && alive(&at_work.token) > if kind == "escape" { 6 } else { 1 }
        });
        at_work
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a pid");
        kill_process(pid, signal).expect("a signal");
    }

    fn record(&self) -> Option<Value> {
        let bytes = fs::read(self.project.bundles().first()?.join("stats.json")).ok()?;
        // It is replaced in one step: whoever looks sees it whole.
        Some(serde_json::from_slice(&bytes).expect("JSON"))
    }

    fn publish(&self) {
        let bundle = self.project.bundle();
        self.project.perftrail(&["publish", &bundle.to_string_lossy()]).exits(0);
    }
}

fn measured(record: &Value) -> bool {
    record["metrics"]["duration"].is_object() || record["metrics"]["cpu_time"].is_object()
}

#[test]
fn a_killed_perftrail_leaves_a_fresh_record_and_no_process() {
    let mut at_work = AtWork::begin("killed", "ignoreterm");
    until("the record is fresh", || at_work.record().as_ref().is_some_and(measured));
    at_work.child.kill().expect("it runs");
    at_work.child.wait().expect("it ended");
    until("the job ends too", || alive(&at_work.token) == 0);
    let record = at_work.record().expect("a record");
    assert_eq!(record["run"]["status"], "interrupted");
    at_work.publish();
}

#[test]
fn a_request_to_end_is_on_disk_at_once_and_ends_every_process() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut at_work = AtWork::begin("asked", "escape");
        at_work.signal(signal);
        // Long before the job is gone, which does not listen.
        until("the record tells", || {
            at_work.record().is_some_and(|record| record["run"]["status"] == "cancelled")
        });
        let ended = at_work.child.wait().expect("it ended");
        assert_eq!(ended.code(), Some(3));
        assert_eq!(alive(&at_work.token), 0);
        assert!(at_work.record().as_ref().is_some_and(measured));
        at_work.publish();
    }
}
