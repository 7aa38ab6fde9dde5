//! What is said of runs whose history is known.

use super::*;
use crate::model::status::Status;
use crate::record::index::Entry;
use crate::record::read::read;

const NOISE: [f64; 13] = [0.3, -1.2, 0.8, 1.5, -0.4, -0.9, 0.1, 1.1, -1.6, 0.6, -0.2, 0.9, -1.0];

/// A night's run, with 1 % of noise.
fn night(number: usize, level: f64) -> Line {
    let bytes = include_bytes!("../../../tests/fixtures/records/v1/succeeded.json");
    let mut record = read(bytes).unwrap().record;
    let begin: jiff::Timestamp = "2026-01-01T02:00:00Z".parse().unwrap();
    let days = i64::try_from(number).unwrap() * 24;
    record.run.planned = begin + jiff::Span::new().hours(days);
    record.commit.sha = CommitSha::parse(&format!("{number:040x}"));
    let mut line = Line::of(&record, &format!("runs/{number}"));
    (line.on_default_branch, line.dirty, line.pull_request) = (true, Some(false), None);
    "schedule".clone_into(&mut line.event);
    line.disturbed.clear();
    let value = level * (1.0 + 0.01 * NOISE[number * 5 % 13]);
    let entry = Entry(value, 1, None, "kernel:reaped".to_owned());
    line.metrics = [("cpu_time", &entry), ("duration", &entry)]
        .map(|(name, entry)| (name.to_owned(), entry.clone()))
        .into();
    line
}

fn nights(count: usize, level: f64) -> Vec<Line> {
    (0..count).map(|number| night(number, level)).collect()
}

fn judging() -> Judging {
    Judging { confirm_within: Duration::from_mins(30), ..Judging::default() }
}

fn judged(lines: &[Line], run: &Line) -> RunVerdict {
    judged_by(lines, run, &judging())
}

fn judged_by(lines: &[Line], run: &Line, judging: &Judging) -> RunVerdict {
    let all: Vec<&Line> = lines.iter().collect();
    verdict(&all, run, &Facts::default(), judging)
}

#[test]
fn the_first_runs_are_not_judged_and_say_what_would_show() {
    let first = night(0, 100.0);
    let found = judged(&[], &first);
    assert_eq!(found.word, Word::Inconclusive);
    assert_eq!(found.metrics[0].evidence, Evidence::Missing(Missing::Earlier));
    let third = judged(&nights(2, 100.0), &night(2, 150.0));
    assert_eq!(third.metrics[0].evidence, Evidence::Missing(Missing::Runs(2)));
    assert!(third.metrics[0].limits.is_some());
    assert_eq!((third.severity, third.confirm), (Severity::Quiet, false));
}

#[test]
fn too_few_runs_are_those_of_the_level() {
    let mut lines = nights(20, 100.0);
    lines.extend((20..32).map(|number| night(number, 170.0)));
    lines.extend((32..35).map(|number| night(number, 100.0)));
    let of_level = |found: &RunVerdict| found.metrics[0].baseline.as_ref().unwrap().runs;
    // A branch's run brings no news of a change: it is held against the newest level.
    let mut beside = night(35, 130.0);
    "pull_request".clone_into(&mut beside.event);
    let found = judged(&lines, &beside);
    assert_eq!(of_level(&found), 3);
    assert_eq!(found.metrics[0].evidence, Evidence::Missing(Missing::Runs(3)));
}

#[test]
fn a_run_within_its_limits_is_unchanged() {
    let found = judged(&nights(20, 100.0), &night(20, 100.0));
    assert_eq!(found.word, Word::Unchanged);
    let baseline = found.metrics[0].baseline.as_ref().unwrap();
    assert_eq!((baseline.runs, baseline.path.as_str()), (20, "runs/19"));
}

#[test]
fn one_run_outside_is_unusual_and_never_fails() {
    let found = judged(&nights(20, 100.0), &night(20, 130.0));
    assert_eq!(found.word, Word::Regressed);
    assert_eq!(found.metrics[0].evidence, Evidence::Unusual { runs: 1 });
    assert_eq!((found.severity, found.confirm), (Severity::Warns, true));
    let mut long = night(20, 130.0);
    long.metrics.get_mut("duration").unwrap().0 = 7200.0;
    assert!(!judged(&nights(20, 100.0), &long).confirm);
}

#[test]
fn a_second_run_of_the_commit_decides() {
    let mut lines = nights(20, 100.0);
    lines.push(night(20, 130.0));
    let mut again = night(21, 130.0);
    again.commit.clone_from(&lines[20].commit);
    let found = judged(&lines, &again);
    assert_eq!((found.word, found.severity), (Word::Regressed, Severity::Fails));
    // It came out as before: the first was chance.
    let mut calm = night(21, 100.0);
    calm.commit.clone_from(&lines[20].commit);
    assert_eq!(judged(&lines, &calm).word, Word::Unchanged);
}

#[test]
fn the_words_of_a_step_night_by_night() {
    let mut lines = nights(20, 100.0);
    let mut said = Vec::new();
    for number in 20..30 {
        let run = night(number, 112.0);
        let found = judged(&lines, &run);
        said.push((found.word, found.metrics[0].evidence, found.severity));
        if number < 29 {
            // Level, count and commit are of one level: the one before the step.
            let metric = &found.metrics[0];
            let baseline = metric.baseline.as_ref().unwrap();
            assert_eq!((baseline.runs, baseline.path.as_str()), (20, "runs/19"), "{number}");
            assert!((99.0..101.0).contains(&baseline.level), "{number}: {}", baseline.level);
            assert_eq!(metric.limits.unwrap().points, 20, "{number}");
        }
        lines.push(run);
    }
    let point = |state, runs| Evidence::ChangePoint { state, runs };
    assert_eq!(said[0], (Word::Regressed, Evidence::Unusual { runs: 1 }, Severity::Warns));
    assert_eq!(said[1], (Word::Regressed, Evidence::Unusual { runs: 2 }, Severity::Fails));
    assert_eq!(said[2], (Word::Regressed, point(State::Suspected, 3), Severity::Fails));
    assert_eq!(said[5], (Word::Regressed, point(State::Confirmed, 6), Severity::Fails));
    assert_eq!(said[8], (Word::Regressed, point(State::Confirmed, 9), Severity::Fails));
    // Then it is the level that later runs are held against.
    assert_eq!(said[9], (Word::Unchanged, Evidence::Within, Severity::Quiet));
}

#[test]
fn limits_of_the_configuration_count_and_never_below_the_smallest_effect() {
    let threshold = |share| Some(Threshold { relative: Some(share), absolute: None });
    let lines = nights(20, 100.0);
    let mut cpu = MetricRule::of("cpu_time");
    (cpu.min_effect, cpu.warn, cpu.fail) = (threshold(0.2), threshold(0.02), threshold(0.3));
    let by = |rule: &MetricRule| Judging { metrics: vec![rule.clone()], ..judging() };
    assert_eq!(judged_by(&lines, &night(20, 110.0), &by(&cpu)).word, Word::Unchanged);
    assert_eq!(judged_by(&lines, &night(20, 125.0), &by(&cpu)).severity, Severity::Warns);
    cpu.warn = Some(Threshold { relative: Some(0.1), absolute: Some(50.0) });
    cpu.fail = None;
    assert_eq!(judged_by(&lines, &night(20, 125.0), &by(&cpu)).severity, Severity::Quiet);
    cpu.better = Some(Better::Higher);
    assert_eq!(judged_by(&lines, &night(20, 125.0), &by(&cpu)).word, Word::Improved);
}

#[test]
fn what_is_ignored_is_said_and_quiet_until_its_day() {
    let mut cpu = MetricRule::of("cpu_time");
    cpu.ignore = Some(crate::config::Ignore {
        until: Some("2026-02-01".parse().unwrap()),
        because: "known".to_owned(),
    });
    let by = Judging { metrics: vec![cpu], ..judging() };
    let early = judged_by(&nights(20, 100.0), &night(20, 130.0), &by);
    assert_eq!(early.metrics[0].ignored.as_deref(), Some("known"));
    assert_eq!((early.severity, early.confirm), (Severity::Quiet, false));
    assert_eq!(judged_by(&nights(40, 100.0), &night(40, 130.0), &by).severity, Severity::Warns);
}

#[test]
fn other_machines_and_disturbed_runs_may_warn_and_never_fail() {
    let mut lines = nights(20, 100.0);
    lines.push(night(20, 130.0));
    for change in [
        |line: &mut Line| line.disturbed = vec!["steal".to_owned()],
        |line: &mut Line| "other".clone_into(&mut line.fingerprint),
    ] {
        let mut run = night(21, 130.0);
        change(&mut run);
        let found = judged(&lines, &run);
        assert_eq!(found.severity, Severity::Warns, "{found:?}");
        assert!(!found.metrics[0].caveats.is_empty());
    }
    let all: Vec<&Line> = lines.iter().collect();
    let known: Vec<CommitSha> = lines.iter().filter_map(|line| line.commit.clone()).collect();
    for facts in [
        Facts { unchanged_since: known.clone(), ..Facts::default() },
        Facts { same_trees: known.clone(), ..Facts::default() },
    ] {
        let found = verdict(&all, &night(21, 130.0), &facts, &judging());
        assert_eq!(found.severity, Severity::Warns, "{found:?}");
    }
    // What is known of another commit says nothing about the baseline.
    let facts = Facts { unchanged_since: known[..3].to_vec(), ..Facts::default() };
    assert_eq!(verdict(&all, &night(21, 130.0), &facts, &judging()).severity, Severity::Fails);
}

#[test]
fn a_second_run_on_a_new_machine_does_not_fail_either() {
    let mut lines = nights(20, 100.0);
    let on_new = |number| {
        let mut line = night(number, 130.0);
        "new".clone_into(&mut line.fingerprint);
        line
    };
    lines.push(on_new(20));
    let found = judged(&lines, &on_new(21));
    assert_eq!(found.severity, Severity::Warns, "{found:?}");
    assert!(found.metrics[0].caveats.contains(&Caveat::OtherMachine), "{found:?}");
}

#[test]
fn a_pull_request_is_held_against_the_level_of_its_ancestor() {
    let mut lines = nights(20, 100.0);
    lines.extend((20..40).map(|number| night(number, 130.0)));
    let mut run = night(45, 100.0);
    (run.pull_request, run.on_default_branch) = (Some(7), false);
    run.merge_base.clone_from(&lines[15].commit);
    let found = judged(&lines, &run);
    assert_eq!(found.word, Word::Unchanged);
    let baseline = found.metrics[0].baseline.as_ref().unwrap();
    assert!(baseline.is_ancestor && baseline.path == "runs/15", "{baseline:?}");
    // Nobody knows where it began: the newest level counts, and it says so.
    run.merge_base = None;
    let found = judged(&lines, &run);
    assert_eq!(found.word, Word::Improved);
    assert!(!found.metrics[0].baseline.as_ref().unwrap().is_ancestor);
}

#[test]
fn repetitions_of_two_runs_may_warn() {
    let many = |number, value| {
        let mut line = night(number, 100.0);
        let entry = Entry(value, 7, Some(1.0), "kernel:reaped".to_owned());
        line.metrics.insert("cpu_time".to_owned(), entry);
        line
    };
    let found = judged(&[many(0, 100.0)], &many(1, 120.0));
    assert_eq!((found.word, found.metrics[0].evidence), (Word::Regressed, Evidence::Provisional));
    assert_eq!(found.severity, Severity::Warns);
    assert_eq!(judged(&[many(0, 100.0)], &many(1, 100.4)).word, Word::Inconclusive);
    assert_eq!(judged(&[night(0, 100.0)], &many(1, 120.0)).word, Word::Inconclusive);
}

#[test]
fn many_metrics_do_not_make_chance_a_word() {
    let names: Vec<String> = (0..200).map(|i| format!("m{i}")).collect();
    let with = |number: usize, odd: f64| {
        let mut line = night(number, 100.0);
        let value = line.metrics["cpu_time"].value();
        for (i, name) in names.iter().enumerate() {
            let value = if i == 3 { value * odd } else { value };
            let entry = Entry(value, 1, None, "job:told".to_owned());
            line.metrics.insert(name.clone(), entry);
        }
        line
    };
    let lines: Vec<Line> = (0..20).map(|number| with(number, 1.0)).collect();
    let by =
        Judging { metrics: names.iter().map(|name| MetricRule::of(name)).collect(), ..judging() };
    // Alone it would be unusual: among two hundred it is not.
    let slight = with(21, 1.05);
    assert_eq!(judged_by(&lines, &slight, &by).word, Word::Unchanged);
    let alone = Judging { metrics: vec![MetricRule::of("m3")], ..judging() };
    assert_eq!(judged_by(&lines, &slight, &alone).word, Word::Changed);
    assert_eq!(judged_by(&lines, &with(21, 2.0), &by).word, Word::Changed);
}

#[test]
fn runs_without_numbers_are_not_judged() {
    let mut run = night(20, 100.0);
    run.status = Status::Failed;
    let found = judged(&nights(20, 100.0), &run);
    assert_eq!((found.word, found.severity), (Word::NothingMeasured, Severity::Quiet));
}

#[test]
fn exact_numbers_fail_by_one_run() {
    let mut lines = Vec::new();
    for number in 0..6 {
        let mut line = night(number, 0.0);
        line.commit = CommitSha::parse(&format!("{:040x}", number / 2));
        let entry = Entry(5000.0, 1, None, "kernel:counted".to_owned());
        line.metrics.insert("cpu_time".to_owned(), entry);
        lines.push(line);
    }
    let mut run = lines[5].clone();
    run.planned = "2026-03-01T00:00:00Z".parse().unwrap();
    run.commit = CommitSha::parse(&"f".repeat(40));
    "runs/new".clone_into(&mut run.path);
    assert_eq!(judged(&lines, &run).word, Word::Unchanged);
    run.metrics.get_mut("cpu_time").unwrap().0 = 5001.0;
    let found = judged(&lines, &run);
    assert_eq!((found.word, found.severity), (Word::Regressed, Severity::Fails));
}
