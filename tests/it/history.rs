//! `perftrail history` on plain series.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::{Answer, Project};

/// Judges a series that stands in a file.
fn judged(name: &str, text: &str, args: &[&str]) -> Answer {
    let project = Project::bare_folder();
    project.file(name, text);
    project.perftrail(&[&["history", "--series", name], args].concat())
}

fn json_of(series: &Value) -> Value {
    let answer = judged("series.json", &series.to_string(), &["--format", "json"]);
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{series}");
    serde_json::from_str(&answer.stdout).expect("JSON alone on stdout")
}

/// Place and state of each change.
fn told(series: &Value) -> Vec<(u64, String)> {
    let found = json_of(series);
    let changes = found["change_points"].as_array().expect("changes").iter();
    let change = |change: &Value| {
        (
            change["index"].as_u64().expect("a place"),
            change["state"].as_str().expect("a state").to_owned(),
        )
    };
    changes.map(change).collect()
}

fn of(pieces: &[(usize, &[f64])]) -> Value {
    let piece = |(count, values): &(usize, &[f64])| -> Vec<f64> {
        values.iter().copied().cycle().take(*count).collect()
    };
    json!(pieces.iter().flat_map(piece).collect::<Vec<f64>>())
}

#[test]
fn cases_with_a_known_answer() {
    let confirmed = |at: u64| vec![(at, "confirmed".to_owned())];
    let calm: &[f64] = &[100.0, 101.0, 99.0, 100.0];
    for (name, series, expected) in [
        ("constant", of(&[(30, &[5.0])]), vec![]),
        ("constant, then a step", of(&[(15, &[5.0]), (15, &[5.5])]), confirmed(15)),
        ("nothing, then something", of(&[(12, &[0.0]), (12, &[4096.0])]), confirmed(12)),
        ("all zero", of(&[(20, &[0.0])]), vec![]),
        ("negative", of(&[(20, &[-10.0, -9.7, -10.2]), (20, &[-7.0, -6.8, -7.1])]), confirmed(20)),
        ("across zero", of(&[(20, &[-0.5, -0.4, -0.6]), (20, &[0.6, 0.7, 0.5])]), confirmed(20)),
        ("two neighbours by turns", of(&[(60, &[25.0, 26.0, 26.0, 25.0, 26.0])]), vec![]),
        ("a spike", of(&[(4, calm), (1, &[180.0]), (7, calm)]), vec![]),
        ("two spikes", of(&[(4, calm), (2, &[180.0, 175.0]), (8, calm)]), vec![]),
        ("three spikes", of(&[(14, calm), (3, &[180.0, 175.0, 177.0]), (14, calm)]), vec![]),
        ("a spike at the end", of(&[(9, calm), (1, &[180.0])]), vec![(9, "unusual".to_owned())]),
        (
            "runs without a number",
            json!([
                100, null, 101, 99, null, 100, 99, 121, null, 120, 119, null, 120, 121, 120, 119
            ]),
            confirmed(7),
        ),
        ("one", json!([3.2]), vec![]),
        ("three", json!([1, 1, 2]), vec![]),
        ("none", json!([]), vec![]),
        ("tiny numbers", of(&[(10, &[1e-9]), (10, &[2e-9])]), confirmed(10)),
    ] {
        assert_eq!(told(&series), expected, "{name}");
    }
}

#[test]
fn small_steps_that_add_up_are_told_in_the_end() {
    let values: Vec<i32> = (0..48).map(|i| 1000 + 4 * (i / 8)).collect();
    let told = told(&json!(values));
    assert!(told.len() == 1 && told[0].0 >= 32, "{told:?}");
}

#[test]
fn machines_and_commits_of_a_csv_count() {
    let mut text = "commit,machine,value\n".to_owned();
    for i in 0..60 {
        let slow = i % 7 < 2;
        let noise = [0.1, -0.6, 0.5, -0.2, 0.7, -0.4, 0.3][i * 3 % 7];
        let value =
            (100.0 + noise) * if slow { 1.15 } else { 1.0 } * if i < 35 { 1.0 } else { 1.05 };
        let machine = if slow { "b" } else { "a" };
        writeln!(text, "c{i:039},{machine},{value}").expect("a string takes all");
    }
    let answer = judged("night.csv", &text, &["--better", "lower", "--unit", "s"]);
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
    assert!(answer.stdout.contains("Level rose 5."), "{}", answer.stdout);
    assert!(answer.stdout.contains("confirmed"), "{}", answer.stdout);
    assert!(answer.stdout.contains("This is worse."), "{}", answer.stdout);
    assert!(answer.stdout.contains("▲"), "{}", answer.stdout);
    assert!(answer.stdout.lines().all(|line| line.chars().count() < 400));
}

#[test]
fn the_same_series_gives_the_same_bytes() {
    let values: Vec<f64> =
        (0..90).map(|i| f64::from(i * 7919 % 101) + if i < 50 { 300.0 } else { 400.0 }).collect();
    for format in ["text", "md", "json"] {
        let text = json!({ "values": values }).to_string();
        let first = judged("a.json", &text, &["--format", format]);
        assert_eq!(first.code, 0);
        assert_eq!(first.stdout, judged("a.json", &text, &["--format", format]).stdout);
    }
}

#[test]
fn names_in_a_file_do_nothing() {
    let evil = "\u{1b}[2J<script>|`x`";
    let mut values = vec![100.0; 12];
    values.extend([130.0; 12]);
    let series = json!({ "values": values, "commit": (0..24).map(|i| format!("{evil}{i}")).collect::<Vec<_>>() });
    for format in ["text", "md"] {
        let answer = judged("evil.json", &series.to_string(), &["--format", format]);
        assert_eq!(answer.code, 0);
        assert!(!answer.stdout.contains('\u{1b}'), "{}", answer.stdout);
        assert!(format == "text" || !answer.stdout.contains("<script"), "{}", answer.stdout);
    }
}

#[test]
fn what_is_no_series_is_said_once() {
    for (name, text, why) in [
        ("a.csv", "seconds\n3\n", "no column `value`"),
        ("a.csv", "value\n3\nquick\n", "line 3"),
        ("a.json", "{\"values\": 3}", "no JSON series"),
    ] {
        let answer = judged(name, text, &[]);
        assert_eq!(answer.code, 2, "{}", answer.stderr);
        assert!(answer.stderr.contains(why) && answer.stderr.contains(name), "{}", answer.stderr);
        assert_eq!(answer.stdout, "");
    }
    let project = Project::bare_folder();
    assert_eq!(project.perftrail(&["history", "--series", "nowhere.csv"]).code, 2);
    project.file("a.csv", "value\n1\n");
    let bad = project.perftrail(&["history", "--series", "a.csv", "--min-effect", "much"]);
    assert_eq!(bad.code, 2);
}
