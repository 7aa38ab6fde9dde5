//! Whole plans from whole configurations.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::config::overrides::BareCommand;
use crate::config::{Config, Overrides, parse};

const FILE: &str = r#"
[[job]]
name = "scale_run"
on = ["schedule", "comment"]
run = "sim --years {years} --who {who} {fast} --out {output} {mode}"
prepare = "mkdir -p {output}/x"
tag = "{years}__{who}"
machine = "dedicated"
timeout = "10h"
[job.params]
years = 5
who = "a b"
fast = { default = false, flag = "--fast", identity = false }
mode = { default = 2, choices = [1, 2], flag = "--mode" }

[[job]]
name = "scout"
step = [{ name = "prep", run = ["python", "prep.py", "{event}-{run_number}"] }, { name = "run", run = "b" }]

[metric.memory_peak]
[metric.cpu_time]
"#;

fn config() -> Config {
    parse("f.toml", FILE).unwrap_or_else(|problems| panic!("{problems}"))
}

fn facts(event: &str) -> Facts {
    Facts {
        event: event.to_owned(),
        commit: CommitSha::parse(&"ab".repeat(20)),
        run_number: Some(7),
        variant: None,
        planned: "2026-11-30T23:59:58Z".parse().expect("a time"),
        pull_request: None,
        measured_by: None,
        confirm: None,
    }
}

fn around() -> Surroundings<'static> {
    Surroundings {
        commit: None,
        event: "schedule",
        run: "schedule-9-1-sim",
        run_number: Some(7),
        output: Some("/tmp/out put"),
    }
}

fn command(run: &PlannedRun) -> String {
    run.steps(&around()).expect("steps")[0].run.text()
}

fn asking(params: &[(&str, &str)]) -> Overrides {
    let params = params.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Overrides { job: Some("scale_run".to_owned()), params, ..Overrides::default() }
}

fn refused(overrides: &Overrides) -> String {
    make(&config(), overrides, &facts("local")).expect_err("an error").to_string()
}

#[test]
fn every_job_of_the_event_runs_in_the_order_of_the_file() {
    for (event, jobs) in [
        ("schedule", vec!["scale_run", "scout"]),
        ("issue_comment", vec!["scale_run", "scout"]),
        ("push", vec!["scout"]),
    ] {
        let plan = make(&config(), &Overrides::default(), &facts(event)).expect("a plan");
        let names: Vec<_> = plan.runs.iter().map(|run| run.job.name.as_str()).collect();
        assert_eq!(names, jobs, "{event}");
        assert_eq!(plan.runs[0].job.judged, ["memory_peak", "cpu_time"]);
    }
}

#[test]
fn flags_count_more_than_the_file_and_the_file_more_than_defaults() {
    let mut overrides = asking(&[("years", "1"), ("years", "20"), ("fast", "true"), ("mode", "1")]);
    let run = make(&config(), &asking(&[]), &facts("local")).expect("a plan").runs.remove(0);
    assert_eq!((run.job.repetitions, run.job.machine.as_deref()), (1, Some("dedicated")));
    assert_eq!(run.job.timeout, Some(Duration::from_hours(10)));
    assert_eq!(run.tag.as_deref(), Some("5__a_b"));
    assert_eq!(command(&run), "sim --years 5 --who 'a b'  --out '/tmp/out put' --mode 2");
    overrides.repetitions = Some(9);
    overrides.machine = Some("laptop".to_owned());
    overrides.timeout = Some(Duration::from_mins(1));
    let run = make(&config(), &overrides, &facts("local")).expect("a plan").runs.remove(0);
    assert_eq!((run.job.repetitions, run.job.machine.as_deref()), (9, Some("laptop")));
    assert_eq!(run.job.timeout, Some(Duration::from_mins(1)));
    assert_eq!(command(&run), "sim --years 20 --who 'a b' --fast --out '/tmp/out put' --mode 1");
    let years = &run.params["years"];
    assert_eq!((&years.value, years.default.as_ref()), (&json!(20), Some(&json!(5))));
    assert!(years.identity && !run.params["fast"].identity);
}

#[test]
fn lists_are_filled_without_a_shell() {
    let overrides = Overrides { job: Some("SCOUT".to_owned()), ..Overrides::default() };
    let run = make(&config(), &overrides, &facts("local")).expect("a plan").runs.remove(0);
    let steps = run.steps(&around()).expect("steps");
    assert_eq!(
        steps[0].run,
        Command::Argv(["python", "prep.py", "schedule-7"].map(Into::into).into())
    );
    let steps = Overrides { steps: vec!["run".to_owned()], ..Overrides::default() };
    let plan = make(&config(), &steps, &facts("schedule")).expect("a plan");
    assert_eq!(plan.runs.len(), 1);
    assert_eq!(plan.runs[0].job.steps.len(), 1);
}

#[test]
fn what_cannot_be_planned_says_what_is_known() {
    let job = |name: &str| Overrides { job: Some(name.to_owned()), ..Overrides::default() };
    let profiler = Overrides {
        profiler: Some(Profiler::PySpy),
        command: Some(BareCommand::Shell("(python sim.py)".to_owned())),
        ..Overrides::default()
    };
    let step = Overrides { steps: vec!["rum".to_owned()], ..job("scout") };
    let bare = Overrides {
        command: Some(BareCommand::Argv(vec!["true".to_owned()])),
        ..asking(&[("years", "1")])
    };
    let none = Overrides { repetitions: Some(0), ..job("scout") };
    insta::assert_snapshot!(
        [
            refused(&job("scal_run")),
            refused(&job("../../x")),
            refused(&asking(&[("yeers", "1")])),
            refused(&asking(&[("years", "five")])),
            refused(&asking(&[("mode", "3")])),
            refused(&profiler),
            refused(&step),
            refused(&bare),
            refused(&none),
            make(&Config::default(), &Overrides::default(), &facts("local"))
                .expect_err("an error")
                .to_string(),
        ]
        .join("\n"),
        @r"
        there is no job `scal_run`: did you mean `scale_run`?
        there is no job `../../x`: known are `scale_run`, `scout`
        there is no param `yeers`: did you mean `years`?
        job `scale_run`: param `years` is `five`, expected a whole number
        job `scale_run`: param `mode` is `3`, expected one of `1`, `2`
        job `_python`, step `_python` cannot run under py-spy: the command has loops, subshells or substitutions: give the program as a step of its own, or as a list of strings
        there is no step `rum`: did you mean `run`?
        a command after `--` has no param `years`: put the value into the command, or note it with --additional-stats
        0 repetitions measure nothing: ask for at least 1
        there is nothing to run: the configuration has no [[job]], and no command stands after `--`
        "
    );
}

#[test]
fn a_bare_command_stays_as_it_was_typed() {
    let argv = ["awk", "{{print}} {output} {commit}"].map(str::to_owned).to_vec();
    let mut overrides =
        Overrides { command: Some(BareCommand::Argv(argv.clone())), ..Overrides::default() };
    let run = make(&Config::default(), &overrides, &facts("local")).expect("a plan").runs.remove(0);
    assert_eq!(
        (run.job.name.as_str(), run.job.judged.as_slice()),
        ("awk", &["cpu_time".to_owned()][..])
    );
    assert_eq!(run.steps(&around()).expect("steps")[0].run, Command::Argv(argv));
    overrides.job = Some("sim".to_owned());
    overrides.command = Some(BareCommand::Shell("x=1 python a.py {run} > {output}/o".to_owned()));
    let run = make(&Config::default(), &overrides, &facts("local")).expect("a plan").runs.remove(0);
    assert_eq!(run.job.name, "sim");
    assert_eq!(command(&run), "x=1 python a.py schedule-9-1-sim > '/tmp/out put'/o");
}

#[test]
fn a_plan_comes_back_from_its_file() {
    let plan = make(&config(), &Overrides::default(), &facts("schedule")).expect("a plan");
    let text = plan.to_json().expect("JSON");
    assert_eq!(Plan::from_json(&text).expect("a plan"), plan);
    let newer = text.replacen("\"version\": 1", "\"version\": 2", 1);
    assert!(matches!(Plan::from_json(&newer), Err(ReadError::Newer { found: 2 })));
    assert!(matches!(Plan::from_json("{}"), Err(ReadError::Json(_))));
}

#[test]
fn tags_are_fit_for_folders() {
    let of = |value: serde_json::Value| {
        let param = Param { value, default: None, identity: true };
        render::tag("{x}__{y}", &BTreeMap::from([("x".to_owned(), param)]))
    };
    assert_eq!(of(json!(5)), "5___y_");
    assert_eq!(of(json!("../../x")), "_.._.._x___y_");
    assert_eq!(of(json!("é".repeat(1000))), "_".repeat(80));
}

fn with_text(template: &str, value: &str) -> Result<String, RenderError> {
    let text = format!("[[job]]\nname = 'a'\nrun = {}\n[job.params]\nx = ''\n", json!(template));
    let config = parse("f.toml", &text).unwrap_or_else(|problems| panic!("{problems}"));
    let overrides =
        Overrides { params: vec![("x".to_owned(), value.to_owned())], ..Overrides::default() };
    let run = make(&config, &overrides, &facts("local")).expect("a plan").runs.remove(0);
    Ok(run.steps(&around())?[0].run.text())
}

#[test]
fn quotes_around_a_placeholder_are_closed_and_opened_again() {
    let value = r#"a'b"c$(id)"#;
    for (template, command) in [
        ("p {x}", r#"p 'a'\''b"c$(id)'"#),
        ("p '<{x}>'", r#"p '<''a'\''b"c$(id)''>'"#),
        (r#"p "<{x}>""#, r#"p "<"'a'\''b"c$(id)'">""#),
    ] {
        assert_eq!(with_text(template, value).as_deref(), Ok(command));
    }
}

proptest! {
    /// A value that looks like a placeholder is not filled again.
    #[test]
    fn values_are_filled_once(value in r"[{}a-z_]{0,20}") {
        let command = with_text("p {x}", &value);
        prop_assert_eq!(command, Ok(format!("p {}", crate::config::quote::quote(&value))));
    }
}

fn pull_request() -> PullRequest {
    PullRequest {
        number: 7,
        head: CommitSha::parse(&"ab".repeat(20)).expect("a commit"),
        head_branch: "faster/\u{e9}".to_owned(),
        head_repository: Some("eve/model".to_owned()),
        is_fork: true,
        base: CommitSha::parse(&"0".repeat(40)).expect("a commit"),
        base_branch: "main".to_owned(),
        comment: Some(Asking { id: 1, author: "ada".to_owned() }),
        against: None,
    }
}

#[test]
fn a_plan_knows_its_pull_request_and_older_plans_have_none() {
    let mut facts = facts("issue_comment");
    let plain = make(&config(), &Overrides::default(), &facts).expect("a plan");
    let text = plain.to_json().expect("JSON");
    assert!(!text.contains("pull_request") && !text.contains("accept"), "{text}");
    facts.pull_request = Some(pull_request());
    let plan = make(&config(), &Overrides::default(), &facts).expect("a plan");
    assert_eq!(Plan::from_json(&plan.to_json().expect("JSON")).expect("a plan"), plan);
    assert_eq!(pull_request().reference(), "refs/pull/7/head");
    let branch = PullRequest { is_fork: false, ..pull_request() };
    assert_eq!(branch.reference(), "refs/heads/faster/\u{e9}");
}

#[test]
fn a_pull_request_that_no_server_has_is_refused() {
    let refused = |change: &dyn Fn(&mut Plan)| {
        let facts = Facts { pull_request: Some(pull_request()), ..facts("issue_comment") };
        let mut plan = make(&config(), &Overrides::default(), &facts).expect("a plan");
        change(&mut plan);
        let read = Plan::from_json(&plan.to_json().expect("JSON"));
        read.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let pull = |change: fn(&mut PullRequest)| {
        refused(&|plan| plan.facts.pull_request.iter_mut().for_each(change))
    };
    let accepting = |because: &str, empty: bool| {
        refused(&|plan| {
            let (metric, author) = ("cpu_time".to_owned(), "ada".to_owned());
            plan.accept = Some(Acceptance { metric, because: because.to_owned(), author });
            if empty {
                plan.runs.clear();
            }
        })
    };
    assert_eq!(accepting("it does more", true), "");
    insta::assert_snapshot!(
        [
            pull(|pull| pull.number = 0),
            pull(|pull| pull.head = pull.base.clone()),
            pull(|pull| pull.head_branch = "a b".to_owned()),
            pull(|pull| pull.base_branch = "--upload-pack=x".to_owned()),
            pull(|pull| pull.head_repository = Some("../..".to_owned())),
            pull(|pull| pull.comment = Some(Asking { id: 1, author: "a\u{1b}[31m".to_owned() })),
            accepting("it does more", false),
            accepting(" ", true),
        ]
        .join("\n"),
        @r"
        `facts.pull_request.number` is `0`, expected 1 or more
        `facts.pull_request.head` is `0000000000000000000000000000000000000000`, expected the commit of `facts.commit`
        `facts.pull_request.head_branch` is `a b`, expected the name of a branch
        `facts.pull_request.base_branch` is `--upload-pack=x`, expected the name of a branch
        `facts.pull_request.head_repository` is `../..`, expected `owner/name`
        `facts.pull_request.comment.author` is `a\u{1b}[31m`, expected a login
        `accept` is `cpu_time`, expected a plan of a pull request without runs
        `accept.because` is ` `, expected 1 to 1000 characters
        "
    );
}
