//! Histories of bad input: never a wrong word, and where the evidence is short it is said.

use perftrail::model::metric::Unit;
use perftrail::record::{Metric, Record};
use serde_json::Value;

use crate::desk::Desk;
use crate::history_repository::{night, perftrail, publish};

/// The histories of a metric, as JSON.
fn histories(desk: &Desk, metric: &str) -> Vec<Value> {
    let answer = perftrail(desk, &["history", "--metric", metric, "--format", "json"]).exits(0);
    let found: Value = serde_json::from_str(&answer.stdout).expect("JSON alone on stdout");
    found["histories"].as_array().expect("histories").clone()
}

fn changes(history: &Value) -> Vec<Value> {
    history["change_points"].as_array().expect("changes").clone()
}

/// Nights with a number of the job's own.
fn nights_of(count: i64, value: impl Fn(i64) -> (f64, Unit)) -> Vec<Record> {
    let one = |n: i64| {
        night(n, 100.0, |record| {
            let mut metric: Metric = record.metrics["pop_df_rows"].clone();
            let (value, unit) = value(n);
            (metric.value, metric.unit, metric.n) = (value, unit, 1);
            metric.repetitions = vec![value];
            record.metrics.insert("queue".to_owned(), metric);
        })
    };
    (0..count).map(one).collect()
}

fn configured(desk: &Desk, text: &str) {
    std::fs::write(desk.path("home/perftrail.toml"), text).expect("a configuration");
}

#[test]
fn equal_times_and_two_runs_of_one_commit() {
    let desk = Desk::new();
    let first = night(0, 100.0, |_| {});
    let same_time: Vec<Record> =
        (0..8).map(|n| night(n, 100.0, |record| record.run.planned = first.run.planned)).collect();
    publish(&desk, &same_time);
    assert_eq!(histories(&desk, "cpu_time")[0]["points"], 8);
    perftrail(&desk, &["fsck"]).exits(0);

    let desk = Desk::new();
    let level = |n: i64| if n < 12 { 100.0 } else { 120.0 };
    let mut records: Vec<Record> = (0..26).map(|n| night(n, level(n), |_| {})).collect();
    let sha = records[11].commit.sha.clone();
    // The machine was slow when the commit was measured again, or the other time.
    records[12] = night(12, 120.0, |record| record.commit.sha.clone_from(&sha));
    publish(&desk, &records);
    let found = changes(&histories(&desk, "cpu_time")[0]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_ne!(found[0]["index"], 12, "no level begins between runs of one commit");
}

#[test]
fn zero_negative_and_a_unit_that_changed() {
    let desk = Desk::new();
    publish(&desk, &nights_of(24, |n| (if n < 12 { 0.0 } else { 4096.0 }, Unit::Count)));
    let found = changes(&histories(&desk, "queue")[0]);
    assert_eq!(found.len(), 1);
    assert_eq!((&found[0]["index"], &found[0]["ratio"]), (&12.into(), &Value::Null));

    let desk = Desk::new();
    let below = |n: i64| (if n < 12 { -10.0 } else { -7.0 } + 0.01 * (n % 3) as f64, Unit::Count);
    publish(&desk, &nights_of(24, below));
    let found = histories(&desk, "queue");
    assert_eq!(found[0]["scale"], "difference");
    assert_eq!(changes(&found[0])[0]["index"], 12);

    let desk = Desk::new();
    let unit = |n: i64| if n < 12 { (5.0, Unit::Count) } else { (5e6, Unit::Bytes) };
    publish(&desk, &nights_of(24, unit));
    let found = histories(&desk, "queue");
    let units: Vec<&Value> = found.iter().map(|history| &history["unit"]).collect();
    assert_eq!(units, ["B", "count"], "two histories, the newest first");
    assert!(found.iter().all(|history| changes(history).is_empty()), "{found:?}");
}

#[test]
fn one_run_and_ten_thousand_numbers() {
    let desk = Desk::new();
    let mut record = night(0, 100.0, |_| {});
    let metric = record.metrics["pop_df_rows"].clone();
    for n in 0..9_900 {
        record.metrics.insert(format!("m{n:05}"), metric.clone());
    }
    record.run.judged = vec!["m07777".to_owned()];
    let digest = perftrail::record::canonical::record_digest(&record).expect("JSON");
    record.run.digest = Some(digest);
    publish(&desk, &[record]);
    let shard = desk.tree().into_iter().find(|path| path.starts_with("index/")).expect("a month");
    let line = desk.show(&shard);
    assert!(line.trim_end().len() <= 4096 && line.contains("\"m07777\""), "{}", line.len());
    let text = perftrail(&desk, &["history", "--metric", "m07777"]).exits(0).stdout;
    assert!(text.contains("Too few runs"), "{text}");
    let text = perftrail(&desk, &["history", "--metric", "m09899"]).exits(0).stdout;
    assert_eq!(text, "no history matches\n");
    let text = perftrail(&desk, &["report", "latest"]).exits(0).stdout;
    assert!(text.contains("the first of its history"), "no verdict from one run");
    perftrail(&desk, &["fsck"]).exits(0);
}

#[test]
fn lines_of_newer_formats_are_read_and_damaged_ones_named_passed_over_and_made_anew() {
    let desk = Desk::new();
    publish(&desk, &(0..8).map(|n| night(n, 100.0, |_| {})).collect::<Vec<_>>());
    let shard = desk.tree().into_iter().find(|path| path.starts_with("index/")).expect("a month");
    let good = desk.show(&shard);
    let newer = good.replacen('{', "{\"energy\":[1,2],", 1);
    desk.put(&shard, "100644", &format!("{newer}\n"));
    assert_eq!(histories(&desk, "cpu_time")[0]["points"], 8);

    let damaged = good.replacen("\"planned\":", "\"planned\":nonsense", 1);
    desk.put(&shard, "100644", &format!("{damaged}\n"));
    let args = ["history", "--metric", "cpu_time"];
    let answer = perftrail(&desk, &args).exits(0);
    assert!(answer.stderr.contains(&format!("{shard} line 1")), "{}", answer.stderr);
    assert!(answer.stdout.contains("7 runs"), "{}", answer.stdout);
    perftrail(&desk, &["fsck", "--rebuild"]).exits(0);
    let answer = perftrail(&desk, &args).exits(0);
    assert!(answer.stderr.is_empty() && answer.stdout.contains("8 runs"), "{}", answer.stdout);
}

#[test]
fn the_events_that_enter_are_the_configurations() {
    let desk = Desk::new();
    let event = |n: i64| if n % 2 == 0 { "schedule" } else { "push" };
    let records: Vec<Record> = (0..16)
        .map(|n| night(n, 100.0, |record| event(n).clone_into(&mut record.trigger.event)))
        .collect();
    publish(&desk, &records);
    assert_eq!(histories(&desk, "cpu_time")[0]["points"], 16);
    configured(&desk, "[history]\nevents = [\"push\"]\n");
    let found = histories(&desk, "cpu_time");
    assert_eq!(found[0]["points"], 8);
    assert_eq!(found[0]["beside"]["of other events"], 8);
}

#[test]
fn a_metric_is_ignored_until_its_day_with_the_reason() {
    let desk = Desk::new();
    let level = |n: i64| if n < 20 { 100.0 } else { 112.0 };
    publish(&desk, &(0..22).map(|n| night(n, level(n), |_| {})).collect::<Vec<_>>());
    let report = |until: &str, code: i32| {
        configured(
            &desk,
            &format!(
                "[metric.cpu_time]\nignore = {{ until = \"{until}\", because = \"known, #7\" }}\n"
            ),
        );
        perftrail(&desk, &["report", "latest", "--fail-on", "regressed"]).exits(code).stdout
    };
    // The newest night is that of 2026-12-21.
    let text = report("2026-12-22", 0);
    assert!(text.contains("Ignored: known, #7"), "{text}");
    let text = report("2026-12-21", 4);
    assert!(!text.contains("Ignored"), "{text}");
}
