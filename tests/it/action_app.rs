//! The Action with a GitHub App that opens the results repository.

use std::process::Command;

use serde_json::json;

use crate::action::{RESULTS, Runner};
use crate::fake_github::{Failure, FakeApp, FakeInstallation, NOW, private_key};
use crate::git_server::WRITE_TOKEN;
use crate::support::Answer;

/// A token that the git server does not take.
const EARLIER: &str = "ghs_made_before_the_run";

/// A runner whose results an App may write; its tokens come one after the other.
fn runner(tokens: &[&'static str]) -> Runner {
    let runner = Runner::new("");
    runner.github.model().app = Some(FakeApp::writes("1234", RESULTS, tokens));
    runner
}

/// A step with the App instead of a token.
fn step(runner: &Runner, key: &str, inputs: &[(&str, &str)]) -> Command {
    runner.fresh_files();
    let app = [("results-token", ""), ("app-id", "1234"), ("app-private-key", key)];
    runner.step("workflow_dispatch", &json!({}), &[&app[..], inputs].concat())
}

/// No line but those that mask shows a token, and none the key.
#[track_caller]
fn shows_no_secret(answer: &Answer, tokens: &[&str]) {
    let key = private_key();
    let key: Vec<&str> = key.lines().filter(|line| !line.starts_with('-')).collect();
    for line in answer.stdout.lines().chain(answer.stderr.lines()) {
        assert!(!key.iter().any(|part| line.contains(part)), "{line}");
        let hidden =
            line.starts_with("::add-mask::") || !tokens.iter().any(|one| line.contains(one));
        assert!(hidden, "{line}");
    }
}

#[test]
fn an_app_s_token_is_made_for_one_repository_when_it_is_needed() {
    let runner = runner(&[EARLIER, WRITE_TOKEN]);
    // As after a run of hours.
    runner.github.model().app_expires = Some("2020-01-01T00:00:00Z".parse().expect("a time"));
    let hunt = "p=$PPID; while [ \"$p\" -gt 1 ]; do \
        if tr '\\0' '\\n' </proc/$p/environ 2>/dev/null | grep -aqe 'BEGIN RSA' -e 'ghs_'; then echo FOUND; fi; \
        p=$(cut -d' ' -f4 /proc/$p/stat); done; if env | grep -q PRIVATE; then echo FOUND; fi";
    let answer = Answer::of(&mut step(&runner, &private_key(), &[("run", hunt)])).exits(0);
    shows_no_secret(&answer, &[EARLIER, WRITE_TOKEN]);
    let lines: Vec<&str> = answer.stdout.lines().collect();
    assert!(!lines.contains(&"FOUND"), "{}", answer.stdout);
    // Each is masked before it is used, and while the runner listens.
    let at = |text: &str| lines.iter().position(|line| line.starts_with(text)).expect(text);
    assert!(at(&format!("::add-mask::{EARLIER}")) < at("::stop-commands::"), "{lines:?}");
    assert!(at("::perftrail_") < at(&format!("::add-mask::{WRITE_TOKEN}")), "{lines:?}");
    assert_eq!(runner.published().len(), 1);
    let text = runner.text("GITHUB_STEP_SUMMARY")
        + &runner.text("GITHUB_OUTPUT")
        + &runner.text("GITHUB_STATE");
    assert!(!text.contains(EARLIER) && !text.contains(WRITE_TOKEN), "{text}");
    // What came of it was asked of GitHub by the token that can ask.
    let asked = runner.github.requests();
    let tokens = asked.iter().filter(|line| line.ends_with("/access_tokens")).count();
    assert_eq!(
        (tokens, asked[0].as_str()),
        (2, "GET /repos/lab/results/installation"),
        "{asked:?}"
    );
    assert!(asked.contains(&"GET /repos/lab/results".to_owned()), "{asked:?}");
}

#[test]
fn a_token_that_lives_long_enough_is_used_again() {
    let runner = runner(&[WRITE_TOKEN]);
    runner.github.model().app_expires = Some("2999-01-01T00:00:00Z".parse().expect("a time"));
    let key = private_key().replace('\n', "\\n");
    Answer::of(&mut step(&runner, &key, &[("run", "true")])).exits(0);
    let asked = runner.github.requests();
    assert_eq!(
        asked.iter().filter(|line| line.ends_with("/access_tokens")).count(),
        1,
        "{asked:?}"
    );
    assert_eq!(runner.published().len(), 1);
    assert!(NOW < "2999");
    // A token counts before an App.
    runner.github.model().app = None;
    let mut second = step(&runner, &key, &[("run", "true")]);
    Answer::of(second.env("INPUT_RESULTS-TOKEN", WRITE_TOKEN).env("GITHUB_RUN_ID", "43")).exits(0);
    assert_eq!(runner.published().len(), 2);
}

#[test]
fn what_keeps_an_app_from_a_token_is_said_before_the_run() {
    let key = private_key();
    let given = |account: &'static str, repository: &'static str, may_write: bool| FakeApp {
        id: "1234",
        installations: vec![FakeInstallation {
            account,
            repositories: vec![repository],
            may_write,
            tokens: vec![WRITE_TOKEN],
        }],
    };
    let right = given("lab", RESULTS, true);
    let other = FakeApp { id: "77", ..right.clone() };
    for (app, key, inputs, code, words) in [
        (&right, "", [("to", RESULTS)], 2, "without its private key"),
        (&right, "PRIVATE-thing", [("to", RESULTS)], 2, "the private key of the App is none"),
        (&right, &key, [("app-id", "")], 2, "without its id"),
        (&right, &key, [("app-id", "a b")], 2, "the id of the App is none"),
        (&right, &key, [("to", "https://elsewhere.example.org/a/b")], 2, "by https alone"),
        (&other, &key, [("to", RESULTS)], 6, "GitHub does not accept the App 1234"),
        (&given("else", "else/x", true), &key, [("to", RESULTS)], 6, "is not installed for lab"),
        (&given("Lab", "lab/x", true), &key, [("to", RESULTS)], 6, "but was not given lab/results"),
        (&given("lab", RESULTS, false), &key, [("to", RESULTS)], 6, "may not write to lab/results"),
    ] {
        let runner = Runner::new("");
        runner.github.model().app = Some(app.clone());
        let inputs = [&[("run", "true")], &inputs[..]].concat();
        let answer = Answer::of(&mut step(&runner, key, &inputs)).exits(code);
        assert!(answer.stderr.contains(words), "{words}: {}", answer.stderr);
        assert!(!answer.stderr.contains("PRIVATE-thing"), "{}", answer.stderr);
        assert!(runner.project.bundles().is_empty(), "{words}");
    }
}

#[test]
fn trouble_that_passes_keeps_no_job_from_running() {
    let runner = runner(&[WRITE_TOKEN]);
    runner.github.fail([Failure::used_up(3600)]);
    let answer = Answer::of(&mut step(&runner, &private_key(), &[("run", "true")])).exits(0);
    assert!(
        answer.stderr.contains("it is tried again when there is something to publish"),
        "{}",
        answer.stderr
    );
    assert_eq!(runner.published().len(), 1);
    // And when it does not pass, the bundle stays and how to publish it is said.
    runner.github.fail([Failure::used_up(3600), Failure::used_up(3600)]);
    let mut again = step(&runner, &private_key(), &[("run", "true")]);
    let answer = Answer::of(again.env("GITHUB_RUN_ID", "43")).exits(6);
    assert!(answer.stderr.contains("perftrail publish"), "{}", answer.stderr);
    assert_eq!(runner.output("status"), "succeeded");
}

#[test]
fn the_command_line_takes_an_app_too_and_doctor_tries_it() {
    let runner = runner(&[WRITE_TOKEN]);
    let variables = runner.github.variables();
    let url = runner.server.url();
    let command = |args: &[&str]| {
        let mut command = runner.project.command(args);
        command
            .env("GITHUB_API_URL", &variables["GITHUB_API_URL"])
            .env("GITHUB_SERVER_URL", url.trim_end_matches("/lab/results"))
            .env("PERFTRAIL_APP_ID", "1234")
            .env("PERFTRAIL_APP_PRIVATE_KEY", private_key());
        Answer::of(&mut command)
    };
    let answer = command(&["doctor", "--publish", "--to", RESULTS]).exits(0);
    assert!(
        answer.stdout.contains("can be written") && answer.stdout.contains("GitHub App"),
        "{}",
        answer.stdout
    );
    shows_no_secret(&answer, &[WRITE_TOKEN]);
    let answer = command(&["run", "--publish", "--to", RESULTS, "--", "env"]).exits(0);
    shows_no_secret(&answer, &[WRITE_TOKEN]);
    assert!(!answer.stdout.contains("::add-mask::") && !answer.stderr.contains("::add-mask::"));
    assert_eq!(runner.published().len(), 1);
    runner.github.model().app = Some(FakeApp::writes("77", RESULTS, &[WRITE_TOKEN]));
    let answer = command(&["doctor", "--publish", "--to", RESULTS]).exits(3);
    assert!(answer.stdout.contains("does not accept the App 1234"), "{}", answer.stdout);
}
