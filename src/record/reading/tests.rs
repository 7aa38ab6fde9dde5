use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::record::Level;

fn rule(as_what: ReadAs) -> ReadRule {
    ReadRule {
        path: "out/**".to_owned(),
        as_what,
        x: None,
        pick: BTreeMap::new(),
        unit: BTreeMap::new(),
        rename: BTreeMap::new(),
        required: false,
        line: Some(12),
    }
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

fn read_one(rule: &ReadRule, text: &str) -> ReadOutcome {
    read(rule, &[JobFile { path: "out/f", bytes: text.as_bytes() }], &[])
}

fn values(outcome: &ReadOutcome) -> Vec<(&str, f64, &str)> {
    outcome.metrics.iter().map(|(n, m)| (n.as_str(), m.value, m.unit.as_str())).collect()
}

fn codes(outcome: &ReadOutcome) -> Vec<&str> {
    outcome.notices.iter().map(|notice| notice.code.as_str()).collect()
}

const STATS: &str = r#"{"start_time": 1730507010.0564642, "duration": 27817.0234746933,
  "cpu_time": 27552.1655431, "disk_reads": 449, "disk_write_MB": 1134.665728, "disk_read_s": 1.425,
  "memory_rss_MiB": 6024.0625, "pop_df_rows": 62000, "sha": "8f22e783", "trigger": "schedule",
  "html_output": "schedule_1361.html"}"#;

#[test]
fn a_whole_file_of_numbers() {
    let outcome = read_one(&rule(ReadAs::Metrics), STATS);
    assert_eq!(
        values(&outcome),
        [
            ("disk_read_s", 1.425, "s"),
            ("disk_reads", 449.0, ""),
            ("disk_write_MB", 1_134_665_728.0, "B"),
            ("job.cpu_time", 27_552.165_543_1, ""),
            ("job.duration", 27_817.023_474_693_3, ""),
            ("memory_rss_MiB", 6024.0625 * 1_048_576.0, "B"),
            ("pop_df_rows", 62_000.0, ""),
            ("start_time", 1_730_507_010.056_464_2, ""),
        ]
    );
    assert_eq!(outcome.metrics["pop_df_rows"].source, "out/f");
    assert!(outcome.notices.is_empty(), "{:?}", outcome.notices);
}

#[test]
fn every_form_gives_the_same_metrics() {
    for text in [
        r#"{"rows": 2, "mem_MB": 1.5}"#,
        "\u{feff}{\"rows\": 2,\r\n \"mem_MB\": \"1.5\"}\r\n",
        r#"[{"rows": 1}, {"rows": 2, "mem_MB": 1.5}]"#,
        "{\"rows\": 1, \"mem_MB\": 9}\n\n{\"rows\": 2, \"mem_MB\": 1.5}",
        "rows,mem_MB\n1,9\n2,1.5",
        "\u{feff}rows;mem_MB\r\n2;1.5\r\n",
        "rows\tmem_MB\n2\t1.5\n",
        "\"rows\", \"mem_MB\"\n2,1.5\n",
        "rows = 2\nmem_MB = 1.5",
        "# made by hand\nrows: 2\r\nmem_MB: '1.5'\r\n",
        "rows=1\nrows=2\nmem_MB=1.5e0\n",
    ] {
        let outcome = read_one(&rule(ReadAs::Metrics), text);
        assert_eq!(values(&outcome), [("mem_MB", 1_500_000.0, "B"), ("rows", 2.0, "")], "{text}");
    }
}

#[test]
fn picks_units_and_renames() {
    let text = r#"{"max_footprint_mb": 814.5, "elapsed_time_sec": 31.5,
        "files": [{"cpu.py": {"percent": 30}}], "names": {"a": "x"}}"#;
    let mut rule = rule(ReadAs::Metrics);
    rule.pick = map(&[
        ("footprint", "max_footprint_mb"),
        ("elapsed", "elapsed_time_sec"),
        ("share", "files[0][\"cpu.py\"].percent"),
        ("gone", "files[3].percent"),
        ("name", "names.a"),
    ]);
    rule.unit = map(&[("footprint", "MiB"), ("cpu_share", "%")]);
    rule.rename = map(&[("share", "cpu_share")]);
    let outcome = read_one(&rule, text);
    assert_eq!(
        values(&outcome),
        [
            ("cpu_share", 0.3, "ratio"),
            ("elapsed", 31.5, "s"),
            ("footprint", 814.5 * 1_048_576.0, "B"),
        ]
    );
    assert_eq!(codes(&outcome), ["read_no_number", "read_missing"]);
    insta::assert_snapshot!(outcome.notices[1].message, @r"read of `out/**` (line 12): not found were `gone (files[3].percent)`, `name (names.a)`");
}

#[test]
fn numbers_that_are_none_are_named() {
    let text = r#"{"a": NaN, "b": -Infinity, "c": "NaN", "d": "1e999", "e": {"f": Infinity}, "g": 1,
        "text NaN": "Infinity and beyond", "h_MiB": 1e308}"#;
    let outcome = read_one(&rule(ReadAs::Metrics), text);
    assert_eq!(values(&outcome), [("g", 1.0, "")]);
    insta::assert_snapshot!(outcome.notices[0].message, @r"read of `out/**` (line 12): no finite numbers: `a`, `b`, `c`, `d`, `e.f`, and 1 more");
}

#[test]
fn nothing_read_is_never_silent() {
    let mut rule = rule(ReadAs::Metrics);
    for (required, level) in [(false, Level::Warning), (true, Level::Error)] {
        rule.required = required;
        for files in [vec![], vec![JobFile { path: "f", bytes: b"{\"a\": \"text\"}" }]] {
            let outcome = read(&rule, &files, &["a"]);
            assert_eq!(codes(&outcome), ["read_nothing"]);
            assert_eq!(outcome.notices[0].level, level);
        }
    }
    rule.path = "out/profile.jsn".to_owned();
    let none = read(&rule, &[], &["a", "out/profile.json"]);
    insta::assert_snapshot!(none.notices[0].message, @r"read of `out/profile.jsn` (line 12) as metrics found nothing: no file matches; `out/profile.json` is there");
    rule.pick = map(&[("x", "a.b")]);
    let outcome = read_one(&rule, r#"{"a": {"c": 1}}"#);
    assert_eq!(outcome.notices.last().map(|n| n.level), Some(Level::Error));
    insta::assert_snapshot!(outcome.notices[0].message, @r"read of `out/profile.jsn` (line 12) as metrics found nothing: none of its picks is in the file: `x (a.b; a.c is there)`");
    // One pick of two is not nothing.
    rule.pick = map(&[("x", "a.b"), ("y", "a.c")]);
    let outcome = read_one(&rule, r#"{"a": {"c": 1}}"#);
    assert_eq!(codes(&outcome), ["read_missing"]);
    assert!(outcome.notices.iter().all(|notice| notice.level == Level::Warning));
}

#[test]
fn params_keep_their_types() {
    let text = r#"{"years": 5, "log": "WARNING", "parse": true, "coefficient": null, "a b": 1}"#;
    let outcome = read_one(&rule(ReadAs::Params), text);
    let values: Vec<_> =
        outcome.params.iter().map(|(n, p)| (n.as_str(), p.value.clone())).collect();
    assert_eq!(values, [("log", json!("WARNING")), ("parse", json!(true)), ("years", json!(5))]);
    assert!(outcome.params.values().all(|param| param.default.is_none() && !param.identity));
    assert_eq!(codes(&outcome), ["read_unfit_name"]);
    let outcome = read_one(&rule(ReadAs::Extra), text);
    assert_eq!(outcome.extra["a b"], json!(1));
}

const LOGGED: &str = "date,duration_minutes,memory_rss_MiB,pop_df_rows,time\n\
    2010-01-01,0.5,632.25,50000,2024-11-02T00:24:11.324038\n\
    2010-02-01,1.0,,50100,2024-11-02T00:25:11.324038\n\
    2010-03-01,nan,640,x,2024-11-02T00:26:11.324038\n";

#[test]
fn a_table_over_time_is_series() {
    let mut rule = rule(ReadAs::Series);
    rule.x = Some("date".to_owned());
    let outcome = read_one(&rule, LOGGED);
    let shape: Vec<_> = outcome
        .series
        .iter()
        .map(|s| (s.name.as_str(), s.unit.as_str(), s.value.clone(), s.x.join(" ")))
        .collect();
    assert_eq!(
        shape,
        [
            ("duration_minutes", "s", vec![30.0, 60.0], "2010-01-01 2010-02-01".to_owned()),
            (
                "memory_rss_MiB",
                "B",
                vec![632.25 * 1_048_576.0, 640.0 * 1_048_576.0],
                "2010-01-01 2010-03-01".to_owned()
            ),
            ("pop_df_rows", "", vec![50_000.0, 50_100.0], "2010-01-01 2010-02-01".to_owned()),
        ]
    );
    assert!(outcome.series.iter().all(|s| s.x_name.as_deref() == Some("date") && s.t.is_empty()));
    assert_eq!(codes(&outcome), ["read_not_finite"]);
}

#[test]
fn series_from_json() {
    let mut rule = rule(ReadAs::Series);
    for text in [
        r#"{"queue": [1, 2, 3], "names": ["a", "b", "c"], "other": 5}"#,
        r#"[{"queue": 1}, {"queue": 2, "names": "b"}, {"queue": 3}]"#,
        "{\"queue\": 1}\n{\"queue\": 2}\n{\"queue\": \"3\"}\n",
    ] {
        let outcome = read_one(&rule, text);
        assert_eq!(outcome.series.len(), 1, "{text}");
        assert_eq!(
            (outcome.series[0].name.as_str(), &outcome.series[0].value),
            ("queue", &vec![1.0, 2.0, 3.0])
        );
    }
    rule.x = Some("when".to_owned());
    rule.pick = map(&[("events", "queue"), ("gone", "quene")]);
    rule.rename = map(&[("events", "event_queue")]);
    let outcome = read_one(&rule, r#"[{"queue": 1}]"#);
    assert_eq!(outcome.series[0].name, "event_queue");
    assert_eq!(codes(&outcome), ["read_no_x", "read_missing"]);
}

#[test]
fn long_series_are_thinned() {
    let text = (0..12_000).fold("v\n".to_owned(), |text, i| format!("{text}{i}\n"));
    let series = &read_one(&rule(ReadAs::Series), &text).series[0];
    assert_eq!((series.value.len(), series.min.len(), series.max.len()), (4000, 4000, 4000));
    assert!((series.value[0] - 1.0).abs() < 1e-9);
    assert_eq!((series.min[3999], series.max[3999]), (11_997.0, 11_999.0));
}

#[test]
fn phases_are_seconds_by_name() {
    let text = r#"{"get_dem": 628.8, "read": "2.5", "init_ms": 500, "size_MB": 3,
        "main": {"begin": 1.5, "end": 4}, "note": "x"}"#;
    let outcome = read_one(&rule(ReadAs::Phases), text);
    let mut phases: Vec<_> =
        outcome.phases.iter().map(|p| (p.name.as_str(), p.begin, p.duration)).collect();
    phases.sort_by_key(|(name, ..)| *name);
    assert_eq!(
        phases,
        [
            ("get_dem", None, 628.8),
            ("init_ms", None, 0.5),
            ("main", Some(1.5), 2.5),
            ("read", None, 2.5),
        ]
    );
    assert_eq!(codes(&outcome), ["read_no_number"]);
}

#[test]
fn output_of_time_can_be_picked() {
    let text = "\tCommand being timed: \"sleep 1\"\n\tUser time (seconds): 0.25\n\
        \tMaximum resident set size (kbytes): 2048\n\tExit status: 0\n";
    let mut rule = rule(ReadAs::Metrics);
    rule.pick =
        map(&[("rss", "Maximum resident set size (kbytes)"), ("user", "User time (seconds)")]);
    rule.unit = map(&[("rss", "KiB"), ("user", "s")]);
    let outcome = read_one(&rule, text);
    assert_eq!(values(&outcome), [("rss", 2_097_152.0, "B"), ("user", 0.25, "s")]);
}

#[test]
fn broken_lines_are_counted_and_the_rest_is_read() {
    for text in
        ["{\"a\": 1}\n{broken\n{\"a\": 2}\n[1]", "a,b\n1,1\n9\n2,2\n1,2,3", "a = 2\nwords\nmore"]
    {
        let outcome = read_one(&rule(ReadAs::Metrics), text);
        assert_eq!(values(&outcome)[0], ("a", 2.0, ""));
        assert_eq!(codes(&outcome), ["read_lines"]);
        assert!(outcome.notices[0].message.contains("2 lines"), "{}", outcome.notices[0].message);
    }
}

#[test]
fn what_cannot_be_read_says_why() {
    let messages: Vec<_> = [
        &b""[..],
        b" \r\n ",
        b"<!doctype html><html>",
        b"{\"a\": ",
        b"\x1f\x8b\x08rest",
        b"a\0b",
        b"only words",
    ]
    .into_iter()
    .map(|bytes| read(&rule(ReadAs::Metrics), &[JobFile { path: "f.json", bytes }], &[]))
    .map(|outcome| outcome.notices[0].message.clone())
    .collect();
    insta::assert_snapshot!(messages.join("\n"), @r"
        `f.json` was not read: it is empty
        `f.json` was not read: it is empty
        `f.json` was not read: it holds HTML, not data: some profilers write a page into a file named `.json`
        `f.json` was not read: it starts like JSON, but is not: EOF while parsing a value at line 1 column 5
        `f.json` was not read: it is not text
        `f.json` was not read: it is not text
        `f.json` was not read: it is neither JSON, nor JSON lines, nor CSV, nor lines of `key = value`
        ");
}

#[test]
fn of_two_values_the_last_counts() {
    let files = [("a", "{\"x\": 1}"), ("b", "{\"x\": 2}")]
        .map(|(path, text)| JobFile { path, bytes: text.as_bytes() });
    let outcome = read(&rule(ReadAs::Metrics), &files, &[]);
    assert_eq!((outcome.metrics["x"].value, outcome.metrics["x"].source.as_str()), (2.0, "b"));
    assert_eq!(codes(&outcome), ["read_twice"]);
}

#[test]
fn hostile_files_get_an_answer() {
    let long = "n".repeat(1_000_000);
    let many = (0..30_000).map(|i| format!("\"k{i}\": {i}")).collect::<Vec<_>>().join(",");
    let nested = format!("{}1{}", "{\"a\":".repeat(100), "}".repeat(100));
    let inner = format!("{{\"{long}\": {{{many}}}}}");
    for text in [
        format!("{{\"{long}\": 1, \"../../x\": 2, \"ok\": 3}}"),
        format!("{{{many}}}"),
        nested,
        inner,
        "[".repeat(1_000_000),
        "{\"a\":".repeat(1_000_000),
        format!("{long}={long}"),
        format!("{}c\n{}1", "c,".repeat(4999), "1,".repeat(4999)),
        (0..3000).fold(String::new(), |text, i| format!("{text}{{\"k{i}\": 1}}\n")),
        "\u{202e}\u{7}=1\n".repeat(1000),
        "\"".to_owned(),
        "{\"NaN\\".to_owned(),
        "x".repeat(FILE_MAX + 1),
    ] {
        for as_what in
            [ReadAs::Metrics, ReadAs::Params, ReadAs::Series, ReadAs::Phases, ReadAs::Extra]
        {
            let outcome = read_one(&rule(as_what), &text);
            assert!(
                outcome.metrics.len() <= NAMES_MAX && outcome.series.len() <= series::SERIES_MAX
            );
            assert!(outcome.metrics.keys().all(|name| name.len() <= 84));
            assert!(outcome.notices.iter().all(|notice| notice.message.len() < 2000));
        }
    }
    let ragged = (0..4000).fold(String::new(), |text, i| {
        let column = i % 1000;
        format!("{text}{{\"k{column}\": 1}}\n")
    });
    assert_eq!(
        codes(&read_one(&rule(ReadAs::Series), &ragged)),
        ["read_unreadable", "read_nothing"]
    );
    let outcome = read_one(&rule(ReadAs::Metrics), &format!("{{{many}}}"));
    assert_eq!((outcome.metrics.len(), codes(&outcome)), (NAMES_MAX, vec!["read_too_many"]));
}

proptest! {
    #[test]
    fn numbers_come_back(numbers in prop::collection::btree_map("[a-z]{1,8}", -1e12..1e12, 1..8)) {
        let expected: Vec<_> = numbers.iter().map(|(name, value)| (name.as_str(), *value, "")).collect();
        let json = serde_json::to_string(&numbers).expect("JSON");
        let pairs = numbers.iter().map(|(name, value)| format!("{name} = {value}"));
        let pairs = pairs.collect::<Vec<_>>().join("\n");
        let csv = format!(
            "{},last\n{},0\n",
            numbers.keys().cloned().collect::<Vec<_>>().join(","),
            numbers.values().map(f64::to_string).collect::<Vec<_>>().join(","),
        );
        for text in [json, pairs, csv] {
            let mut outcome = read_one(&rule(ReadAs::Metrics), &text);
            outcome.metrics.remove("last");
            let outcome = ReadOutcome { metrics: outcome.metrics, ..ReadOutcome::default() };
            prop_assert_eq!(&values(&outcome), &expected, "{}", text);
        }
    }

    #[test]
    fn any_bytes_get_an_answer(
        start in prop::sample::select(vec!["", "{", "[", "a,b\n", "a=", "\u{feff}", "{\"a\":NaN,"]),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        as_what in prop::sample::select(vec![ReadAs::Metrics, ReadAs::Params, ReadAs::Series, ReadAs::Phases, ReadAs::Extra]),
    ) {
        let bytes = [start.as_bytes(), &bytes].concat();
        let outcome = read(&rule(as_what), &[JobFile { path: "f", bytes: &bytes }], &[]);
        prop_assert!(!outcome.is_empty() || outcome.notices.iter().any(|n| n.code == "read_nothing"));
        prop_assert!(outcome.metrics.values().all(|metric| metric.value.is_finite()));
    }
}
