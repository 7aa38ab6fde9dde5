//! `command: publish` of the Action: runs of a plan that never came, and numbers that fail a step.

use std::fs;

use serde_json::{Value, json};

use crate::action::{Runner, TWO_JOBS};
use crate::desk::Desk;
use crate::history_repository::{night, publish};
use crate::support::Answer;

/// The plan of both runs that a push asks for.
fn planned(runner: &Runner) -> String {
    runner.runs("push", &json!({"ref": "refs/heads/main"}), &[("command", "gate")], 0);
    runner.output("plan")
}

const PUSHED: &str = "\
[[job]]
name = \"first\"
run = \"true\"
[[job]]
name = \"second\"
run = \"echo {years}\"
[job.params]
years = 5
";

#[test]
fn runs_of_a_plan_that_never_came_are_recorded_as_lost() {
    let runner = Runner::new(PUSHED);
    let plan = planned(&runner);
    // Neither job left as much as a folder.
    let publish = [("command", "publish"), ("plan", plan.as_str())];
    let answer = runner.runs("push", &json!({}), &publish, 3);
    assert!(answer.stdout.contains("::error title=first::first: lost"), "{}", answer.stdout);
    let published = runner.published();
    assert_eq!(published.len(), 2, "{published:?}");
    for path in &published {
        let record = runner.record(path);
        assert_eq!(
            (&record["run"]["status"], &record["run"]["identity"]),
            (&"lost".into(), &"planned".into())
        );
        assert_eq!(record["commit"]["sha"], runner.sha);
    }
    assert_eq!(runner.output("status"), "lost");
    assert_eq!((runner.output("record"), runner.output("bundle")), (String::new(), String::new()));
    assert_eq!(runner.output("run-path").lines().count(), 2);
    let summary = runner.text("GITHUB_STEP_SUMMARY");
    assert!(summary.contains("## first: lost") && summary.contains("## second: lost"), "{summary}");

    // One comes after all, from a plan in a file; the other stays lost.
    runner.project.file("plan.json", &plan);
    let measure = [("command", "run"), ("plan", "plan.json")];
    runner.runs("push", &json!({}), &measure, 0);
    let second =
        runner.project.bundles().into_iter().find(|path| path.to_string_lossy().contains("second"));
    fs::remove_dir_all(second.expect("its bundle")).expect("removed");
    let publish = [("command", "publish"), ("plan", "plan.json")];
    runner.runs("push", &json!({}), &publish, 3);
    let published = runner.published();
    let mut statuses: Vec<Value> =
        published.iter().map(|path| runner.record(path)["run"]["status"].clone()).collect();
    statuses.sort_by_key(ToString::to_string);
    assert_eq!(statuses, ["lost", "succeeded"]);
    assert_eq!(runner.output("record").lines().count(), 1);
    assert_eq!(runner.output("bundle"), "perftrail-out");
}

#[test]
fn a_plan_that_is_none_is_refused_and_without_one_a_bundle_must_be_there() {
    let runner = Runner::new(TWO_JOBS);
    for (plan, words) in
        [("{}", "plan"), ("nowhere.json", "nowhere.json"), ("{\"runs\": 3}", "plan")]
    {
        let answer = runner.runs("push", &json!({}), &[("command", "publish"), ("plan", plan)], 2);
        assert!(answer.stderr.contains(words), "{}", answer.stderr);
    }
    let answer = runner.runs("push", &json!({}), &[("command", "publish")], 2);
    assert!(answer.stderr.contains("recorded as lost"), "{}", answer.stderr);
    assert!(runner.published().is_empty());
}

#[test]
fn a_regression_fails_the_step_when_all_is_published_and_told() {
    let desk = Desk::new();
    publish(&desk, &(0..20).map(|n| night(n, 100.0, |_| {})).collect::<Vec<_>>());
    publish(&desk, &[night(20, 112.0, |_| {})]);
    let runner = Runner::new("");
    desk.bundle("slow", &night(21, 112.0, |_| {}));
    let bundles = runner.project.path("perftrail-out");
    fs::create_dir(&bundles).expect("a folder");
    fs::rename(desk.path("out/slow"), bundles.join("slow")).expect("moved");
    let to = desk.repository().display().to_string();
    let inputs =
        |fail_on: &'static str| [("command", "publish"), ("to", to.as_str()), ("fail-on", fail_on)];
    let commits = desk.commits();
    for fail_on in ["always", "Regressed"] {
        let answer = runner.runs("schedule", &json!({}), &inputs(fail_on), 2);
        assert!(answer.stderr.contains("known are never and regressed"), "{}", answer.stderr);
    }
    assert_eq!(desk.commits(), commits, "said before anything is done");
    let answer = runner.runs("schedule", &json!({}), &inputs("regressed"), 4);
    assert_eq!(desk.commits(), commits + 1);
    assert!(
        answer.stdout.contains("::error title=simulation::Regressed: CPU time"),
        "{}",
        answer.stdout
    );
    assert!(answer.stderr.contains("everything is published"), "{}", answer.stderr);
    assert!(runner.text("GITHUB_STEP_SUMMARY").contains("Regressed"));
    assert_eq!(runner.output("verdict"), "regressed");
    // Saying it again does not make it good.
    runner.runs("schedule", &json!({}), &inputs("regressed"), 4);
    assert_eq!(desk.commits(), commits + 1);
    let answer = runner.runs("schedule", &json!({}), &inputs("never"), 0);
    assert!(answer.stdout.contains("::warning title=simulation::Regressed"), "{}", answer.stdout);
    // The job counts more than its numbers, and what it measured more than either.
    let slow =
        night(22, 112.0, |record| record.run.status = perftrail::model::status::Status::Failed);
    desk.bundle("failed", &slow);
    fs::rename(desk.path("out/failed"), bundles.join("failed")).expect("moved");
    let answer = Answer::of(&mut runner.step("schedule", &json!({}), &inputs("regressed")));
    answer.exits(3);
}
