//! The landing page of a results repository.

use jiff::{SignedDuration, Timestamp};
use perftrail::model::names::CommitSha;
use perftrail::model::status::Status;
use perftrail::record::index::Line;
use perftrail::report::landing::{Landing, LandingOptions, render};

use crate::report_samples::{self as samples, HOSTILE};

/// Runs of one history, a day apart: some failed, one dirty, one on a branch, a step upwards.
fn history(runs: u32) -> Vec<Line> {
    let record = samples::good().record;
    let first: Timestamp = "2026-09-01T03:10:00Z".parse().expect("a time");
    (0..runs)
        .map(|i| {
            let mut record = record.clone();
            record.run.started = Some(first + SignedDuration::from_hours(24 * i64::from(i)));
            record.commit.sha = CommitSha::parse(&format!("{:040x}", 0xabc_0000 + i));
            let cpu_time = record.metrics.get_mut("cpu_time").expect("a metric");
            cpu_time.value = 118.0 + f64::from(i * 37 % 11) / 4.0 + if i > 25 { 17.0 } else { 0.0 };
            if i % 13 == 7 {
                record.run.status = Status::Failed;
                record.metrics.clear();
            }
            record.commit.dirty = Some(i == 30);
            let mut line = Line::of(&record, &format!("runs/00/{i:040x}/2026-09-01/local-{i}-sim"));
            line.on_default_branch = i != 20;
            line
        })
        .collect()
}

fn landing(lines: &[Line]) -> Landing {
    render(lines, &LandingOptions::default()).expect("a landing page")
}

fn svg(landing: &Landing) -> String {
    let (_, bytes) = landing.files.first().expect("a drawing");
    String::from_utf8(bytes.clone()).expect("UTF-8")
}

#[test]
fn the_newest_runs_and_a_trend() {
    let lines = history(40);
    let landing = landing(&lines);
    if let Some(folder) = std::env::var_os("PERFTRAIL_TEST_PAGES") {
        let path = std::path::PathBuf::from(folder).join("trend.svg");
        std::fs::write(path, svg(&landing)).expect("a drawing");
    }
    let [(path, bytes)] = landing.files.as_slice() else { panic!("one history, one drawing") };
    assert_eq!(*path, format!("trends/simulation-{}.svg", lines[0].key));
    assert!(bytes.len() < 6000, "{} bytes", bytes.len());
    insta::assert_snapshot!(landing.markdown);
}

#[test]
fn a_trend_has_words_and_needs_no_script() {
    let svg = svg(&landing(&history(40)));
    for needed in
        ["<title", "<desc", "prefers-color-scheme:dark", "role=\"img\"", "aria-labelledby"]
    {
        assert!(svg.contains(needed), "{needed}");
    }
    for blocked in ["<script", "href", "url(", "onload", "@import"] {
        assert!(!svg.contains(blocked), "{blocked}");
    }
    let failed = svg.split("class=\"failed\" d=\"").nth(1).and_then(|rest| rest.split('"').next());
    assert_eq!(failed.expect("a path").matches('M').count(), 3, "each failed run is marked");
}

#[test]
fn the_order_of_lines_does_not_matter() {
    let mut lines = history(40);
    let once = landing(&lines);
    lines.reverse();
    assert_eq!(landing(&lines), once);
}

#[test]
fn only_the_newest_are_shown() {
    let lines = history(300);
    let options = LandingOptions { runs: 5, histories: 1, points: 50, ..LandingOptions::default() };
    let landing = render(&lines, &options).expect("a landing page");
    assert_eq!(landing.markdown.matches("local-").count(), 5 + 1, "rows, and the latest value");
    assert!(landing.markdown.contains("Older runs are in `index/`."));
    let points = svg(&landing);
    let drawn =
        points.split("class=\"points\" d=\"").nth(1).and_then(|rest| rest.split('"').next());
    assert!(drawn.expect("a path").matches('M').count() <= 50);
}

#[test]
fn an_empty_repository_says_so() {
    let landing = landing(&[]);
    assert_eq!(landing.markdown, "No run has been published yet.\n");
    assert!(landing.files.is_empty());
}

#[test]
fn histories_that_measured_nothing_have_no_trend() {
    let lines: Vec<Line> =
        history(20).into_iter().filter(|line| line.status != Status::Succeeded).collect();
    let landing = landing(&lines);
    assert!(landing.files.is_empty() && landing.markdown.contains("✗ failed"));
}

fn hostile_history(runs: u32) -> Vec<Line> {
    history(runs)
        .into_iter()
        .map(|mut line| {
            for text in [
                &mut line.job,
                &mut line.key,
                &mut line.event,
                &mut line.machine,
                &mut line.repository,
                &mut line.profiler,
            ] {
                HOSTILE.clone_into(text);
            }
            line.path = format!("runs/{HOSTILE}");
            line.run_url = Some("javascript:alert(1)".to_owned());
            line.variant = Some(HOSTILE.to_owned());
            line.params.insert(HOSTILE.to_owned(), HOSTILE.into());
            line
        })
        .collect()
}

#[test]
fn a_landing_page_of_long_lines_is_shortened() {
    let mut lines = hostile_history(40);
    for (i, line) in lines.iter_mut().enumerate() {
        line.key = format!("{i:016x}");
        line.job = "@".repeat(120);
    }
    let landing = landing(&lines);
    assert!(landing.markdown.len() <= 64 * 1024, "{} bytes", landing.markdown.len());
    assert_eq!(landing.markdown.matches("![").count(), landing.files.len(), "no drawing unseen");
    assert!(!landing.files.is_empty());
}

#[test]
fn hostile_lines_are_inert() {
    let lines = hostile_history(3);
    let landing = landing(&lines);
    let markdown = landing.markdown.replace("\\[", "").replace("\\]", "");
    for live in
        ["<script", "<img", "@user", "](http", "#1 ", "javascript:", "`code", "\u{202e}", "\u{0}"]
    {
        assert!(!markdown.contains(live), "{live} in {markdown}");
    }
    let [(path, _)] = landing.files.as_slice() else { panic!("one drawing") };
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
    assert!(
        path.starts_with("trends/") && path.chars().all(plain) && !path.contains(".."),
        "{path}"
    );
    assert!(!svg(&landing).contains("<script") && !svg(&landing).contains("<img"));
}
