//! `perftrail amend`: a run that says it measured another commit is put right, and says so.

use perftrail::record::Record;
use serde_json::Value;

use crate::desk::Desk;
use crate::history_repository::{night, perftrail, publish};
use crate::support::Answer;

const RIGHT: &str = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00";

fn amend(desk: &Desk, run: &str, commit: &str) -> Answer {
    let because = "the comment ran on the pull request's commit, <b>not</b> on main's";
    let args = ["amend", run, "--commit", commit, "--because", because, "--author", "A. Person"];
    perftrail(desk, &args)
}

fn record(desk: &Desk, path: &str) -> Value {
    serde_json::from_str(&desk.show(&format!("{path}/stats.json"))).expect("JSON")
}

/// The index line of the run whose folder is `path`.
fn line(desk: &Desk, path: &str) -> Value {
    let shards: Vec<String> =
        desk.tree().into_iter().filter(|name| name.starts_with("index/")).collect();
    let lines: Vec<Value> = shards
        .iter()
        .flat_map(|shard| desk.show(shard).lines().map(str::to_owned).collect::<Vec<_>>())
        .map(|line| serde_json::from_str(&line).expect("a line"))
        .collect();
    lines.into_iter().find(|line| line["path"] == path).expect("the run's line")
}

fn path_of(desk: &Desk, record: &Record) -> String {
    let id = format!("/{}/stats.json", record.run.id);
    let path = desk.tree().into_iter().find(|path| path.ends_with(&id)).expect("the run");
    path.trim_end_matches("/stats.json").to_owned()
}

#[test]
fn a_mislabelled_run_is_put_right_and_leaves_a_trace() {
    let desk = Desk::new();
    let records: Vec<Record> = (0..12).map(|n| night(n, 100.0, |_| {})).collect();
    publish(&desk, &records);
    let path = path_of(&desk, &records[5]);
    let old = records[5].commit.sha.as_ref().expect("a commit").to_string();
    let digest = record(&desk, &path)["run"]["digest"].clone();

    let answer = amend(&desk, &old[..10], RIGHT).exits(0);
    assert!(answer.stderr.contains("says now that it measured c0ffee00"), "{}", answer.stderr);
    let told = record(&desk, &path);
    assert_eq!(told["commit"]["sha"], RIGHT);
    assert_eq!(told["run"]["identity"], "claimed");
    assert_eq!(told["run"]["digest"], digest, "what the run finished is still proved");
    let amended = &told["amended"][0];
    assert_eq!(amended["commit"]["sha"], old.as_str());
    assert_eq!(amended["author"], "A. Person");
    assert!(amended["because"].as_str().is_some_and(|text| text.contains("<b>not</b>")));
    assert!(amended["date"].as_str().is_some_and(|text| text.starts_with("20")));
    let line = line(&desk, &path);
    assert_eq!((&line["commit"], &line["amended"]["from"]), (&RIGHT.into(), &old.as_str().into()));
    let page = desk.show(&format!("{path}/README.md"));
    assert!(page.contains("**Amended:**") && page.contains("A. Person"), "{page}");
    assert!(!page.contains("<b>not"), "a reason is inert: {page}");
    assert!(!desk.show(&format!("{path}/report.html")).contains("<b>not"));
    assert!(desk.show("README.md").contains("amended"));
    perftrail(&desk, &["fsck"]).exits(0);

    // Nothing is known of the new commit's place, so the run stands beside the history.
    let answer = perftrail(&desk, &["history", "--metric", "cpu_time", "--format", "json"]);
    let found: Value = serde_json::from_str(&answer.exits(0).stdout).expect("JSON");
    assert_eq!(found["histories"][0]["points"], 11);
    assert_eq!(found["histories"][0]["beside"]["of other branches"], 1);

    // Both names lead there.
    for name in [&old[..10], &RIGHT[..10], path.as_str()] {
        let text = perftrail(&desk, &["report", name]).exits(0).stdout;
        assert!(text.contains("Amended"), "{name}: {text}");
    }
}

#[test]
fn it_is_done_once_and_can_be_done_back() {
    let desk = Desk::new();
    let records: Vec<Record> = (0..3).map(|n| night(n, 100.0, |_| {})).collect();
    publish(&desk, &records);
    let path = path_of(&desk, &records[2]);
    let old = records[2].commit.sha.as_ref().expect("a commit").to_string();
    amend(&desk, "latest", RIGHT).exits(0);
    let commits = desk.commits();
    let answer = amend(&desk, &path, RIGHT).exits(0);
    assert!(answer.stderr.contains("says already"), "{}", answer.stderr);
    assert_eq!(desk.commits(), commits);

    // The bundle is there already, whatever people corrected since.
    let again = desk.bundle("again", &records[2]);
    let answer = perftrail(&desk, &["publish", &again.display().to_string()]).exits(0);
    assert!(answer.stderr.contains("is published already"), "{}", answer.stderr);
    assert_eq!(desk.commits(), commits);

    amend(&desk, &path, &old).exits(0);
    let told = record(&desk, &path);
    assert_eq!(told["commit"]["sha"], old.as_str());
    assert_eq!(told["amended"].as_array().map(Vec::len), Some(2));
    perftrail(&desk, &["fsck"]).exits(0);
    let rebuilt = desk.commits();
    perftrail(&desk, &["fsck", "--rebuild"]).exits(0);
    assert_eq!(desk.commits(), rebuilt, "everything is as it should be");
}

#[test]
fn what_cannot_be_put_right_is_told() {
    let desk = Desk::new();
    publish(&desk, &[night(0, 100.0, |_| {})]);
    for (run, commit, told) in [
        ("latest", "c0ffee", "no full commit id"),
        ("latest", "--help", "a value is required"),
        ("latest~4", RIGHT, "has not so many such runs"),
        ("ffffffff", RIGHT, "no run"),
    ] {
        let answer = amend(&desk, run, commit).exits(2);
        assert!(answer.stderr.contains(told), "{run} {commit}: {}", answer.stderr);
    }
    let answer =
        perftrail(&desk, &["amend", "latest", "--commit", RIGHT, "--because", " "]).exits(2);
    assert!(answer.stderr.contains("1 to 1000"), "{}", answer.stderr);
    assert_eq!(desk.commits(), 1);
}

#[test]
fn in_a_clone_the_new_commit_is_known_whole() {
    let project = crate::support::Project::new();
    let first = project.git(&["rev-parse", "HEAD"]);
    project.perftrail(&["run", "--job", "sim", "--publish", "--", "true"]).exits(0);
    let second = project.file("a.txt", "1").commit("Two (#12)");
    project.perftrail(&["run", "--job", "sim", "--publish", "--", "true"]).exits(0);
    project.file("b.txt", "1").commit("Three");
    let third = project.git(&["rev-parse", "HEAD"]);
    let args = ["amend", &second[..8], "--commit", "HEAD", "--because", "checked out late"];
    project.perftrail(&args).exits(0);
    let report = project.perftrail(&["report", "latest", "--format", "json"]).exits(0);
    let report: Value = serde_json::from_str(&report.stdout).expect("JSON");
    let commit = &report["commit"];
    assert_eq!((&commit["sha"], &commit["subject"]), (&third.as_str().into(), &"Three".into()));
    assert_eq!(commit["merge_base"], third.as_str(), "it lies on the default branch");
    assert_eq!(commit["parents"][0], second.as_str());
    assert_eq!(commit["against"][0]["sha"], first.as_str());
    assert_eq!(commit["against"][0]["ahead"], 2);
    project.perftrail(&["fsck"]).exits(0);
}
