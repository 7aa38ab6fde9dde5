//! Whole files: what comes out of a right one, what a wrong one is told.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;
use toml::de::{DeTable, DeValue};

use super::keys::{self, Kind};
use super::*;

const SAMPLE: &str = include_str!("sample.toml");

fn errors(text: &str) -> String {
    parse("f.toml", text).expect_err("an error").to_string()
}

#[test]
fn every_key_of_a_right_file_is_read() {
    let config = parse(FILE, SAMPLE).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(config.results.repository, Some(Target::At("owner/results".to_owned())));
    assert_eq!(config.results.dispatch.as_deref(), Some("new-profiling-results"));
    assert_eq!(config.triggers.labels, ["run-profiler"]);
    let job = &config.jobs[0];
    assert_eq!(job.timeout, Some(Duration::from_hours(10)));
    assert_eq!(job.total_timeout, Some(Duration::from_hours(36)));
    assert_eq!((job.repetitions, job.warmups, job.workload), (3, 1, 1));
    assert_eq!(job.env["OMP_NUM_THREADS"], "1");
    assert_eq!(
        job.params.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(),
        ["years", "population", "show_progress"]
    );
    assert_eq!(job.params[0].kind, ParamType::Int);
    assert_eq!(job.params[1].choices, [json!(2000), json!(50_000)]);
    assert_eq!((job.params[2].identity, job.params[2].kind), (false, ParamType::Bool));
    assert_eq!(job.read[2].x.as_deref(), Some("date"));
    assert_eq!(job.read[3].unit["footprint"], "MiB");
    assert!(job.read[3].required && !job.read[0].required);
    assert_eq!(job.steps, [Step { name: "scale_run".to_owned(), run: job.steps[0].run.clone() }]);
    assert_eq!(config.jobs[1].steps[1].run, Command::Argv(vec!["python".into(), "run.py".into()]));
    assert_eq!(
        config.metrics[0].fail.map(|t| (t.relative, t.absolute)),
        Some((Some(0.1), Some(5.0)))
    );
    assert_eq!(config.metrics[1].name, "memory_peak");
    assert_eq!(
        config.functions[0].ignore.as_ref().map(|i| i.until),
        Some(scalar::date("2027-03-01"))
    );
}

#[test]
fn the_sample_holds_every_key() {
    let table = DeTable::parse(SAMPLE).expect("TOML").into_inner();
    let mut seen = std::collections::BTreeSet::new();
    collect_keys(&table, &mut seen);
    for table in keys::ALL {
        for key in table.keys.iter().filter(|key| key.name != "rename") {
            assert!(seen.contains(key.name), "{} {}", table.written, key.name);
        }
    }
}

fn collect_keys(table: &DeTable<'_>, seen: &mut std::collections::BTreeSet<String>) {
    for (key, value) in table {
        seen.insert(key.get_ref().to_string());
        match value.get_ref() {
            DeValue::Table(inner) => collect_keys(inner, seen),
            DeValue::Array(items) => {
                for inner in items.iter().filter_map(|item| item.get_ref().as_table()) {
                    collect_keys(inner, seen);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn an_empty_file_is_the_default() {
    assert_eq!(parse(FILE, ""), Ok(Config::default()));
    assert_eq!(parse(FILE, "\u{feff}# nothing\r\n"), Ok(Config::default()));
    let job = &parse(FILE, "[[job]]\nname = 'a'\nrun = 'true'\n").expect("a job").jobs[0];
    assert_eq!(*job, Job::bare("a", Command::Shell("true".to_owned())));
}

/// The defaults that the table of keys shows are those of the types.
#[test]
fn defaults_that_are_shown_are_true() {
    let mut text = String::new();
    for table in [&keys::RESULTS, &keys::HISTORY, &keys::TRIGGERS, &keys::REPORT, &keys::JOB] {
        let _ = writeln!(text, "{}", table.written);
        if table.written == "[[job]]" {
            text += "name = 'a'\nrun = 'true'\n";
        }
        for key in table.keys.iter().filter(|key| reference::is_written(key.default)) {
            let _ = writeln!(text, "{} = {}", key.name, key.default);
        }
    }
    let config = parse(FILE, &text).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let bare = Job::bare("a", Command::Shell("true".to_owned()));
    assert_eq!(config, Config { jobs: vec![bare], ..Config::default() });
}

#[test]
fn wrong_files_are_told_what_is_wrong_where() {
    insta::assert_snapshot!(errors(
        r#"colour = "red"
[results]
repositry = "a/b"
branch = 5
max_file = "1 parsec"
log = "ful"
layout = "{commit}/{rnu}"

[[job]]
name = "a b"
run = "x {years} `{who}`"
step = [{ name = "s", run = "y" }]
repetitons = 3

[[job]]
name = "sim"
repetitions = 0
timeout = 90
collect = ["/etc/*", "a[", "../x"]
count = { bad = "(" }
read = [{ path = "x.json", as = "metric" }, { path = "y", as = "metrics", x = "t" }]
on = ["scheduel"]

[[job]]
name = "SIM"
run = []
params = { run = 1, x = { type = "int", default = "five" }, X = 1, y = { default = 3, choices = [1, 2] } }

[metric.cpu_time]
fail = "lots"
ignore = { until = "tomorrow" }
"#
    ), @r#"
        f.toml:1:1: unknown key `colour` in the top of the file: known are `results`, `history`, `triggers`, `report`, `job`, `metric`, `function`
        f.toml:3:1: unknown key `repositry` in [results]: did you mean `repository`?
        f.toml:4:10: `results.branch` is a whole number, expected a string
        f.toml:5:12: `results.max_file` is `1 parsec`, expected a size such as "500 kB", "1 MiB" or a number of bytes
        f.toml:6:7: `results.log` is `ful`: did you mean `full`?
        f.toml:7:10: `results.layout` cannot be used: `{rnu}` is unknown: did you mean `run`?
        f.toml:10:8: `a b` cannot name a job: a name starts with a letter or `_`, goes on with letters, digits, `_` or `-`, and has at most 40 characters
        f.toml:11:7: `run` with `step`: a job has one command or several steps, not both
        f.toml:13:1: unknown key `repetitons` in [[job]]: did you mean `repetitions`?
        f.toml:15:1: [[job]] has no `run`: a job needs a command: `run`, or one [[job.step]] or more
        f.toml:17:15: `job[1].repetitions` is `0`, expected a whole number from 1 to 10000
        f.toml:18:11: `job[1].timeout` is a whole number, expected a duration such as "90s", "1h 30m" or "2d" (units ms, s, m, h, d)
        f.toml:19:12: `job[1].collect[0]` is `/etc/*`, expected a relative glob that stays inside the project, such as "out/**/*.csv"
        f.toml:19:22: `job[1].collect[1]` is no glob: unclosed character class; missing ']'
        f.toml:19:28: `job[1].collect[2]` is `../x`, expected a relative glob that stays inside the project, such as "out/**/*.csv"
        f.toml:20:17: `job[1].count.bad` is no regular expression: unclosed group
        f.toml:21:33: `job[1].read[0].as` is `metric`: did you mean `metrics`?
        f.toml:21:79: `x` with `as = "metrics"`: only a series has x values
        f.toml:22:7: `job[1].on[0]` is `scheduel`: did you mean `schedule`?
        f.toml:25:8: a job named `SIM` stands already on line 16: names are unique, upper and lower case count as the same
        f.toml:26:7: `job[2].run` is ``, expected a command that is not empty
        f.toml:27:12: a param cannot be named `run`: perftrail keeps the words `commit`, `event`, `run`, `run_number`, `output`, `job`, `help`, `accept`, `against`, `sha`, `repetitions` for itself
        f.toml:27:51: `job[2].params.x.default` is a string, expected a whole number (its type is "int")
        f.toml:27:61: a param named `X` stands already on line 27: names are unique, upper and lower case count as the same
        f.toml:27:84: `job[2].params.y.default` is `3`, expected one of the choices 1, 2
        f.toml:30:8: `metric.cpu_time.fail` is `lots`, expected a share such as "2%", an amount such as "5 s" or "10 MiB", or a list of both
        f.toml:31:10: ignore has no `because`: people will ask for the reason
        f.toml:31:20: `metric.cpu_time.ignore.until` is `tomorrow`, expected a date such as "2027-03-01"
        "#);
}

#[test]
fn text_that_is_no_toml_is_told_where() {
    insta::assert_snapshot!(errors("[results\nbranch = \n"), @r"f.toml:1:9: unclosed table, expected `]`");
    insta::assert_snapshot!(errors("a = 1\na = 2\n"), @r"f.toml:2:1: duplicate key");
}

#[test]
fn placeholders_stand_where_they_can_be_filled() {
    let job = |run: &str| {
        format!(
            "[[job]]\nname = 'a'\nrun = {run}\n[job.params]\nwho = 'x'\nn = 1\nfast = {{ default = true, flag = '--fast' }}\n"
        )
    };
    for run in [
        r#""""a "{who}" '{who}' {who} $(b {who}) `{n}` {fast} ${who} {else}""""#,
        "['a', '{who}-{n}', '{fast}']",
    ] {
        assert_eq!(parse(FILE, &job(run)).err().map(|e| e.to_string()), None, "{run}");
    }
    insta::assert_snapshot!(
        [r#""a `{who}`""#, r#"'a "{fast}"'"#, "['a', 'x={fast}']", r#""cat <<E\n{output}\nE""#]
            .map(|run| errors(&job(run)))
            .join("\n"),
        @r#"
        f.toml:3:7: `{who}` in `job[0].run` stands where the shell has rules of its own and no quoting holds (a here-document, backticks, $'…', arithmetic, inside ${…}, after such a part): put it before, into "$( )", or give the command as a list of strings
        f.toml:3:7: `{fast}` in `job[0].run` stands inside quotes, but its param becomes a flag, which is a word of its own: take the quotes away
        f.toml:3:7: `{fast}` in `job[0].run` is part of a longer string, but its param becomes a flag: make it a list item of its own
        f.toml:3:7: `{output}` in `job[0].run` stands where the shell has rules of its own and no quoting holds (a here-document, backticks, $'…', arithmetic, inside ${…}, after such a part): put it before, into "$( )", or give the command as a list of strings
        "#
    );
    let setup = "[[job]]\nname = 'a'\nrun = 'b'\nsetup = 'mkdir {output}/x'\n";
    insta::assert_snapshot!(errors(setup), @r"f.toml:4:9: `{output}` in `job[0].setup` is made for each repetition, after `setup`: use `prepare` instead");
}

/// For every key of every table: a value of a wrong type is told with the key's name.
#[test]
fn every_key_has_a_type() {
    for table in keys::ALL {
        for key in table.keys {
            let wrong = match key.kind {
                Kind::Truth => "7",
                _ => "true",
            };
            if matches!((table.written, key.name), ("[job.params.NAME]", "default")) {
                continue;
            }
            let name = key.name;
            let text = match table.written {
                "[[job.step]]" => format!("[[job]]\nname='a'\n[[job.step]]\n{name} = {wrong}"),
                "[[job.keep]]" => {
                    format!("[[job]]\nname='a'\nrun='b'\nkeep = [{{ {name} = {wrong} }}]")
                }
                "[[job.read]]" => {
                    format!("[[job]]\nname='a'\nrun='b'\nread = [{{ {name} = {wrong} }}]")
                }
                "[job.params.NAME]" => {
                    format!(
                        "[[job]]\nname='a'\nrun='b'\nparams.p = {{ default = 1, {name} = {wrong} }}"
                    )
                }
                "[metric.NAME]" => format!("[metric.m]\n{name} = {wrong}"),
                "ignore" => format!("[metric.m]\nignore = {{ {name} = {wrong} }}"),
                written => format!("{written}\n{name} = {wrong}"),
            };
            let message = errors(&text);
            let told = message
                .lines()
                .any(|line| line.contains(&format!("{name}` is ")) && line.contains(" expected "));
            assert!(told, "{text}\n{message}");
        }
    }
}

#[test]
fn reserved_and_equal_names_are_refused() {
    let named = |name: &str| format!("[[job]]\nname = '{name}'\nrun = 'x'\n");
    for name in ["help", "accept", "AGAINST", "", "../../x", "a.b", &"n".repeat(1_000_000 / 2)] {
        assert!(parse(FILE, &named(name)).is_err(), "{}", &name[..name.len().min(20)]);
    }
    for name in ["commit", "output", "repetitions", "sha", "job", "a.b"] {
        let text = format!("{}[job.params]\n'{name}' = 1\n", named("a"));
        assert!(parse(FILE, &text).is_err(), "{name}");
    }
    insta::assert_snapshot!(errors(&format!("{}{}", named("Sim"), named("sim"))), @r"f.toml:5:8: a job named `sim` stands already on line 2: names are unique, upper and lower case count as the same");
}

#[test]
fn hostile_files_get_an_answer() {
    let long = "x".repeat(1_000_000);
    for text in [
        format!("{long} = 1"),
        format!("a = \"{long}\""),
        format!("a = {}", "[".repeat(500_000)),
        format!("a = {}1{}", "{a=".repeat(100_000), "}".repeat(100_000)),
        format!("[{}a]", "a.".repeat(400_000)),
        format!("{}a = 1", "a.".repeat(400_000)),
        format!("{}a = 1", "'a' . ".repeat(100_000)),
        "a = 1\n".repeat(100_000),
        (0..50_000).fold(String::new(), |text, i| format!("{text}k{i} = 1\n")),
        "[[job]]\n".repeat(100_000),
        format!("{long}{long}"),
        "\0".to_owned(),
        "[[job]]\nname = 'a'\nrun = \"echo \\u0000\"".to_owned(),
    ] {
        let problems = parse(FILE, &text).expect_err("an error");
        let message = problems.to_string();
        assert!(message.len() < 200_000, "{} bytes of message", message.len());
    }
}

#[test]
fn dots_outside_keys_are_no_depth() {
    let text = format!(
        "# {dots}\n[[job]]\nname = 'a'\nrun = \"echo {dots} \\\"{dots}\"\nsetup = '''\n{dots}'{dots}\n'''\n",
        dots = ".".repeat(200)
    );
    assert!(parse(FILE, &text).is_ok());
}
