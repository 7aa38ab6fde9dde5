//! Histories of a results repository: which runs enter, what is said of them.

use std::process::Command;

use perftrail::analysis::judging::JudgingFile;
use perftrail::model::names::CommitSha;
use perftrail::model::status::Status;
use perftrail::record::{Record, canonical};
use serde_json::Value;

use crate::desk::{Desk, numbered};
use crate::support::Answer;

/// Whether a file is the drawing of the first number of a history.
fn is_first_drawing(path: &str) -> bool {
    path.starts_with("trends/") && path.contains(".svg") && !path.contains("memory_peak")
}

const NOISE: [f64; 13] = [0.3, -1.2, 0.8, 1.5, -0.4, -0.9, 0.1, 1.1, -1.6, 0.6, -0.2, 0.9, -1.0];

/// A night's run of about `level` seconds, with 1 % of noise.
pub(crate) fn night(n: i64, level: f64, change: impl FnOnce(&mut Record)) -> Record {
    let mut record = numbered(n * 24);
    record.disturbances.clear();
    "schedule".clone_into(&mut record.trigger.event);
    record.trigger.pull_request = None;
    record.commit.reference = Some("refs/heads/main".to_owned());
    record.commit.default_branch = Some("main".to_owned());
    record.commit.dirty = Some(false);
    let place = usize::try_from(n * 5 % 13).expect("a place");
    for name in ["cpu_time", "duration"] {
        let metric = record.metrics.get_mut(name).expect("a built-in metric");
        metric.value = level * (1.0 + 0.01 * NOISE[place]);
        (metric.n, metric.repetitions, metric.lower, metric.upper) = (1, Vec::new(), None, None);
    }
    change(&mut record);
    record.run.digest = Some(canonical::record_digest(&record).expect("JSON"));
    record
}

/// Publishes runs, all in one commit.
pub(crate) fn publish(desk: &Desk, records: &[Record]) {
    let bundles: Vec<_> =
        records.iter().map(|record| desk.bundle(&record.run.id, record)).collect();
    let paths: Vec<_> = bundles.iter().map(std::path::PathBuf::as_path).collect();
    let published = desk.publish(&paths).expect("published");
    assert!(published.is_whole(), "{published:?}");
}

/// Runs the program beside the repository.
pub(crate) fn perftrail(desk: &Desk, args: &[&str]) -> Answer {
    let repository = desk.repository().display().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_perftrail"));
    command
        .args(args)
        .args(["--to", &repository])
        .current_dir(desk.path("home"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", desk.path("home"));
    Answer::of(&mut command)
}

fn histories(desk: &Desk, args: &[&str]) -> Vec<Value> {
    let answer = perftrail(desk, &[&["history", "--format", "json"], args].concat()).exits(0);
    let found: Value = serde_json::from_str(&answer.stdout).expect("JSON alone on stdout");
    found["histories"].as_array().expect("histories").clone()
}

fn cpu_time(desk: &Desk) -> Value {
    let found = histories(desk, &["--metric", "cpu_time"]);
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

#[test]
fn a_step_is_told_with_its_commits_and_only_entering_runs_count() {
    let desk = Desk::new();
    let level = |n: i64| if n < 20 { 100.0 } else { 108.0 };
    let mut records: Vec<Record> = (0..36).map(|n| night(n, level(n), |_| {})).collect();
    records[20].commit.subject = Some("Speed nothing up (#77)".to_owned());
    records[7] = night(7, 100.0, |record| record.run.status = Status::Failed);
    // Beside the history: slow, and nobody's fault.
    for n in [12, 13, 14] {
        records.push(night(n, 300.0, |record| {
            record.run.id = format!("pr-{n}");
            record.trigger.event = "pull_request".to_owned();
            record.trigger.pull_request = Some(5);
            record.run.planned += jiff::SignedDuration::from_mins(30);
        }));
    }
    records.push(night(15, 300.0, |record| {
        "dirty".clone_into(&mut record.run.id);
        record.commit.dirty = Some(true);
    }));
    for record in &mut records {
        record.run.digest = Some(canonical::record_digest(record).expect("JSON"));
    }
    publish(&desk, &records);
    let found = cpu_time(&desk);
    assert_eq!(found["points"], 36);
    assert_eq!(found["failed"], 1);
    assert_eq!(found["beside"]["of pull requests"], 3);
    assert_eq!(found["beside"]["of uncommitted changes"], 1);
    assert_eq!(found["unit"], "s");
    let changes = found["change_points"].as_array().expect("changes");
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0]["index"], 20);
    assert_eq!(changes[0]["state"], "confirmed");
    assert_eq!(changes[0]["direction"], "worse");
    assert_eq!(changes[0]["pull_request"], 77);
    let sha = records[20].commit.sha.as_ref().map(CommitSha::as_str);
    assert_eq!(changes[0]["commit"].as_str(), sha);

    let text = perftrail(&desk, &["history", "--metric", "cpu_time"]).exits(0).stdout;
    assert!(text.contains("(pull request 77)") && text.contains("▲"), "{text}");
    assert!(text.contains("Beside the history: 3 of pull requests"), "{text}");
    let page = perftrail(&desk, &["history", "--format", "md"]).exits(0).stdout;
    assert!(page.contains("### cpu\\_time · ") || page.contains("### cpu_time · "), "{page}");
    assert!(page.contains("### memory"), "{page}");
    assert_eq!(
        perftrail(&desk, &["history", "--job", "none"]).exits(0).stdout,
        "no history matches\n"
    );
}

#[test]
fn order_is_that_of_planning_whatever_the_clocks_say() {
    let desk = Desk::new();
    let records: Vec<Record> = (0..24)
        .map(|n| {
            night(n, if n < 12 { 100.0 } else { 120.0 }, |record| {
                // The machines' clocks go back a month every other night.
                if n % 2 == 0 {
                    let month = jiff::SignedDuration::from_hours(30 * 24);
                    record.run.started = record.run.started.map(|time| time - month);
                }
            })
        })
        .collect();
    publish(&desk, &records);
    let found = cpu_time(&desk);
    assert_eq!(found["change_points"][0]["index"], 12, "{found}");
    assert_eq!(found["change_points"].as_array().map(Vec::len), Some(1));
}

#[test]
fn another_machine_or_workload_is_another_history() {
    let desk = Desk::new();
    let mut records: Vec<Record> = (0..12).map(|n| night(n, 100.0, |_| {})).collect();
    records.extend((12..24).map(|n| {
        night(n, 150.0, |record| "another machine".clone_into(&mut record.machine.group))
    }));
    records.extend((24..30).map(|n| night(n, 200.0, |record| record.run.workload = 2)));
    publish(&desk, &records);
    let found = histories(&desk, &["--metric", "cpu_time"]);
    assert_eq!(found.len(), 3);
    for history in &found {
        assert_eq!(history["change_points"].as_array().map(Vec::len), Some(0), "{history}");
    }
    // Newest first.
    assert_eq!(found[0]["points"], 6);
}

#[test]
fn far_from_the_project_its_kept_rules_count() {
    let desk = Desk::new();
    let records: Vec<Record> = (0..24).map(|n| night(n, 100.0 + n as f64 / 8.0, |_| {})).collect();
    publish(&desk, &records);
    let names = |desk: &Desk| -> Vec<String> {
        let found = histories(desk, &[]);
        found.iter().map(|one| one["metric"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names(&desk), ["cpu_time", "memory_peak"]);
    let text = "[metric.duration]\nmin_effect = \"50 %\"\n";
    let config = perftrail::config::parse("perftrail.toml", text).expect("a configuration");
    let mut rules = JudgingFile::default();
    let project = perftrail::record::index::repository_name(&records[0].repository);
    rules.set(&project, &perftrail::app::verdict::judging(&config));
    let file = String::from_utf8(rules.to_bytes()).expect("JSON");
    desk.put("judging.json", "100644", &file);
    assert_eq!(names(&desk), ["duration"]);
    let changes = |args: &[&str]| {
        let found = histories(&desk, &[&["--metric", "duration"], args].concat());
        found[0]["change_points"].as_array().expect("changes").len()
    };
    assert_eq!(changes(&[]), 0);
    assert!(changes(&["--min-effect", "0.1 %"]) > 0);
    std::fs::write(desk.path("home/perftrail.toml"), "[metric.cpu_time]\nbetter = \"lower\"\n")
        .expect("a configuration");
    assert_eq!(names(&desk), ["cpu_time"], "the one at hand comes first");
}

#[test]
fn a_damaged_line_is_named_and_passed_over() {
    let desk = Desk::new();
    publish(&desk, &(0..8).map(|n| night(n, 100.0, |_| {})).collect::<Vec<_>>());
    let shard = desk.tree().into_iter().find(|path| path.starts_with("index/")).expect("a month");
    let text = format!("{}\n{{\"path\": broken\n", desk.show(&shard));
    desk.put(&shard, "100644", &text);
    let answer = perftrail(&desk, &["history", "--metric", "cpu_time"]).exits(0);
    assert!(answer.stderr.contains(&shard), "{}", answer.stderr);
    assert!(answer.stdout.contains("8 runs"), "{}", answer.stdout);
}

fn verdict_of(desk: &Desk, run: &str, args: &[&str], code: i32) -> Value {
    let answer =
        perftrail(desk, &[&["report", run, "--format", "json"], args].concat()).exits(code);
    let record: Value = serde_json::from_str(&answer.stdout).expect("JSON alone on stdout");
    record["verdict"].clone()
}

#[test]
fn verdicts_night_by_night_stand_in_pages_json_and_exit_code() {
    let desk = Desk::new();
    publish(&desk, &[night(0, 100.0, |_| {})]);
    let first = verdict_of(&desk, "latest", &["--fail-on", "regressed"], 0);
    assert_eq!(first["word"], "inconclusive", "{first}");
    assert_eq!(first["metrics"][0]["evidence"], "no earlier run");
    publish(&desk, &(1..20).map(|n| night(n, 100.0, |_| {})).collect::<Vec<_>>());
    assert_eq!(verdict_of(&desk, "latest", &[], 0)["word"], "unchanged");

    // The first slow night may be chance: it warns, and asks for another run.
    let slow = night(20, 112.0, |_| {});
    let bundle = desk.bundle("slow", &slow);
    let answer = perftrail(
        &desk,
        &["publish", &bundle.display().to_string(), "--format", "json", "--fail-on", "regressed"],
    )
    .exits(0);
    let published: Value = serde_json::from_str(&answer.stdout).expect("JSON");
    assert_eq!(published["confirm"], true, "{published}");
    assert_eq!(published["runs"][0]["verdict"]["severity"], "warns");
    assert!(answer.stderr.contains("Regressed: CPU time"), "{}", answer.stderr);

    // The second one is evidence.
    let next = desk.bundle("next", &night(21, 112.0, |_| {}));
    let next = next.display().to_string();
    perftrail(&desk, &["publish", &next, "--fail-on", "regressed"]).exits(4);
    let verdict = verdict_of(&desk, "latest", &["--fail-on", "regressed"], 4);
    assert_eq!(verdict["metrics"][0]["runs"], 2, "{verdict}");
    verdict_of(&desk, "latest", &[], 0);
    let text = perftrail(&desk, &["report", "latest"]).exits(0).stdout;
    assert!(text.contains("unusual in 2 runs") && text.contains("Baseline:"), "{text}");
    let page =
        desk.tree().into_iter().find(|path| path.ends_with("schedule-504-1-simulation/README.md"));
    let page = desk.show(&page.expect("a run's page"));
    assert!(page.contains("**Regressed:**") && page.contains("unusual in 2 runs"), "{page}");
}

#[test]
fn an_error_in_judging_never_stops_a_publish() {
    let desk = Desk::new();
    publish(&desk, &[night(0, 100.0, |_| {})]);
    desk.put("epochs.toml", "100644", "epoch = 3\n");
    let bundle = desk.bundle("next", &night(1, 100.0, |_| {}));
    let answer = perftrail(&desk, &["publish", &bundle.display().to_string()]).exits(0);
    assert!(answer.stderr.contains("not judged: epochs.toml"), "{}", answer.stderr);
    let text = perftrail(&desk, &["report", "latest"]).exits(0).stdout;
    assert!(text.contains("Not judged: epochs.toml"), "{text}");
}

#[test]
fn an_accepted_change_is_the_new_level() {
    let desk = Desk::new();
    let level = |n: i64| if n < 16 { 100.0 } else { 120.0 };
    let records: Vec<Record> = (0..20).map(|n| night(n, level(n), |_| {})).collect();
    publish(&desk, &records);
    assert_eq!(cpu_time(&desk)["change_points"][0]["state"], "suspected");
    assert_eq!(verdict_of(&desk, "latest", &["--fail-on", "regressed"], 4)["word"], "regressed");

    let sha = records[16].commit.sha.as_ref().expect("a commit");
    let accept = |since: &str| {
        let because = "exact solver, see \"notes\"";
        perftrail(
            &desk,
            &["accept", "cpu_time", "--since", since, "--because", because, "--author", "A"],
        )
    };
    for since in ["ffffffff", "ab"] {
        let answer = accept(since).exits(2);
        assert!(answer.stderr.contains("no measured commit"), "{}", answer.stderr);
    }
    accept(&sha.as_str()[..10]).exits(0);
    let commits = desk.commits();
    assert!(accept(sha.as_str()).exits(0).stderr.contains("before"));
    assert_eq!(desk.commits(), commits, "accepted once");
    let epochs = desk.show("epochs.toml");
    assert!(epochs.contains(sha.as_str()) && epochs.contains("exact solver"), "{epochs}");

    let found = cpu_time(&desk);
    assert_eq!(found["change_points"][0]["state"], "accepted", "{found}");
    assert_eq!(verdict_of(&desk, "latest", &["--fail-on", "regressed"], 0)["severity"], "quiet");
    let trend = desk.tree().into_iter().find(|path| is_first_drawing(path)).expect("a trend");
    assert!(desk.show(&trend).contains("class=\"accepted\""));
    perftrail(&desk, &["fsck"]).exits(0);
}

#[test]
fn the_landing_page_and_the_badge_tell_verdict_and_date() {
    let desk = Desk::new();
    publish(&desk, &(0..30).map(|n| night(n, 100.0, |_| {})).collect::<Vec<_>>());
    let badge: Value = serde_json::from_str(&desk.show("badge.json")).expect("an endpoint");
    assert_eq!(badge["schemaVersion"], 1);
    assert!(badge["message"].as_str().is_some_and(|text| text.starts_with("unchanged, 20")));
    publish(&desk, &(30..40).map(|n| night(n, 118.0, |_| {})).collect::<Vec<_>>());
    assert!(desk.show("badge.svg").contains("unchanged"), "held against its new level");
    let page = desk.show("README.md");
    assert!(page.contains("| Regressed |") && page.contains("| Unchanged |"), "{page}");
    assert!(page.contains("The level rose"), "{page}");
    let trend = desk.tree().into_iter().find(|path| is_first_drawing(path)).expect("a trend");
    let trend = desk.show(&trend);
    assert!(trend.contains("class=\"levels\"") && trend.contains("class=\"changes\""), "{trend}");
    perftrail(&desk, &["fsck"]).exits(0);
}
