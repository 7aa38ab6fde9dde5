//! Publishing to a repository on GitHub by the program: what is asked before a push, what is told
//! after one, and that the token shows nowhere.

use std::process::Command;

use crate::fake_github::{Failure, FakeGitHub, FakeRepository, FakeToken};
use crate::git_server::{READ_TOKEN, Server, WRITE_TOKEN};
use crate::support::{Answer, Project};

const RESULTS: &str = "lab/results";
const SOURCE: &str = "lab/model";

/// A project in a step of a workflow, a git server and the API beside it.
struct Lab {
    project: Project,
    server: Server,
    github: FakeGitHub,
}

impl Lab {
    fn new(results: FakeRepository, token: FakeToken) -> Self {
        let github = FakeGitHub::start();
        github.repository(RESULTS, results).token(WRITE_TOKEN, token);
        let lab = Self { project: Project::new(), server: Server::start(), github };
        lab.project.perftrail(&["run", "--job", "sim", "--", "true"]).exits(0);
        lab
    }

    fn private_event(&self, private: bool) -> &Self {
        self.project.file("event.json", &format!(r#"{{"repository":{{"private":{private}}}}}"#));
        self
    }

    fn step(&self, args: &[&str]) -> Command {
        let url = self.server.url();
        let server = url.strip_suffix("/lab/results").expect("the server's address");
        let mut command = self.project.command(args);
        command
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_EVENT_NAME", "schedule")
            .env("GITHUB_RUN_ID", "7")
            .env("GITHUB_REPOSITORY", SOURCE)
            .env("GITHUB_EVENT_PATH", self.project.path("event.json"))
            .env("GITHUB_API_URL", &self.github.variables()["GITHUB_API_URL"])
            .env("GITHUB_SERVER_URL", server)
            .env("PERFTRAIL_RESULTS_TOKEN", WRITE_TOKEN);
        command
    }

    fn publish(&self) -> Answer {
        let answer = Answer::of(&mut self.step(&["publish", "perftrail-out", "--to", RESULTS]));
        for text in [&answer.stdout, &answer.stderr] {
            assert!(!text.contains(WRITE_TOKEN), "the token is shown:\n{text}");
        }
        answer
    }

    fn runs(&self) -> usize {
        let tree = self.server.git(&["ls-tree", "-r", "--name-only", "results"]);
        tree.lines().filter(|path| path.ends_with("/stats.json")).count()
    }
}

#[test]
fn owner_and_name_are_found_at_the_server_of_the_workflow() {
    let lab = Lab::new(FakeRepository::of("private"), FakeToken::writes(RESULTS));
    let answer = lab.private_event(true).publish().exits(0);
    assert!(answer.stderr.contains("published as runs/"), "{}", answer.stderr);
    assert_eq!(lab.runs(), 1);
    lab.publish().exits(0);
    assert_eq!(lab.runs(), 1, "a second time nothing is doubled");
}

#[test]
fn results_of_a_private_project_are_not_made_public_unless_allowed() {
    let lab = Lab::new(FakeRepository::of("public"), FakeToken::writes(RESULTS));
    let answer = lab.private_event(true).publish().exits(6);
    assert!(answer.stderr.contains("allow_public = true"), "{}", answer.stderr);
    assert!(answer.stderr.contains("perftrail publish"), "how to try again: {}", answer.stderr);
    lab.project.file("perftrail.toml", "[results]\nallow_public = true\n");
    lab.publish().exits(0);
    assert_eq!(lab.runs(), 1);
}

#[test]
fn a_deploy_key_does_not_make_results_of_a_private_project_public_either() {
    let lab = Lab::new(FakeRepository::of("public"), FakeToken::writes(RESULTS));
    lab.private_event(true);
    let publish = |to: &str| {
        let mut step = lab.step(&["publish", "perftrail-out", "--to", to]);
        step.env_remove("PERFTRAIL_RESULTS_TOKEN").env("PERFTRAIL_RESULTS_SSH_KEY", "no key");
        Answer::of(step.env("PERFTRAIL_PUBLISH_TIMEOUT", "2s")).exits(6)
    };
    let url = lab.server.url();
    let host = url.trim_start_matches("http://").split('/').next().expect("a host");
    let by_ssh = format!("ssh://git@{host}/{RESULTS}");
    for to in [RESULTS, &by_ssh] {
        let answer = publish(to);
        assert!(answer.stderr.contains("allow_public = true"), "{to}: {}", answer.stderr);
    }
    // One that nobody sees without a token is not public.
    lab.github.repository(RESULTS, FakeRepository::of("private"));
    let answer = publish(RESULTS);
    assert!(!answer.stderr.contains("looked up"), "{}", answer.stderr);
    // A key opens no https address: git itself says so.
    assert!(answer.stderr.contains("could not read Username"), "{}", answer.stderr);
}

#[test]
fn a_public_project_may_publish_in_public() {
    let lab = Lab::new(FakeRepository::of("public"), FakeToken::writes(RESULTS));
    lab.private_event(false).publish().exits(0);
    assert_eq!(lab.runs(), 1);
}

#[test]
fn a_token_near_its_end_and_a_large_repository_are_told() {
    let mut large = FakeRepository::of("private");
    large.size_kib = 2_000_000;
    let token =
        FakeToken { expires: Some("2026-01-02 10:00:00 UTC"), ..FakeToken::writes(RESULTS) };
    let lab = Lab::new(large, token);
    let answer = lab.private_event(true).publish().exits(0);
    assert!(answer.stderr.contains("2026-01-02"), "{}", answer.stderr);
    assert!(answer.stderr.contains("1 GB"), "{}", answer.stderr);
}

#[test]
fn the_dispatch_is_sent_once_after_the_push_and_its_refusal_changes_nothing() {
    let lab = Lab::new(FakeRepository::of("private"), FakeToken::writes(RESULTS));
    lab.private_event(true);
    lab.project.file("perftrail.toml", "[results]\ndispatch = \"new-results\"\n");
    lab.publish().exits(0);
    lab.publish().exits(0);
    let sent = lab.github.model().repositories[RESULTS].dispatches.clone();
    assert_eq!(sent.len(), 1, "nothing new was pushed the second time: {sent:?}");
    assert_eq!(sent[0]["event_type"], "new-results");
    assert!(sent[0]["client_payload"]["runs"][0].as_str().is_some_and(|p| p.starts_with("runs/")));
}

#[test]
fn an_api_that_does_not_answer_does_not_keep_a_run_from_being_published() {
    let lab = Lab::new(FakeRepository::of("private"), FakeToken::writes(RESULTS));
    lab.github.fail([Failure::refusal(403, "no")]);
    let answer = lab.private_event(true).publish().exits(0);
    assert!(answer.stderr.contains("could not be looked up"), "{}", answer.stderr);
    assert_eq!(lab.runs(), 1);
}

#[test]
fn a_token_that_may_only_read_is_refused_in_plain_words() {
    let lab = Lab::new(FakeRepository::of("private"), FakeToken::reads(RESULTS));
    lab.github.token(READ_TOKEN, FakeToken::reads(RESULTS));
    lab.private_event(true);
    let mut step =
        lab.step(&["publish", "perftrail-out", "--to", RESULTS, "--publish-timeout", "5s"]);
    let answer = Answer::of(step.env("PERFTRAIL_RESULTS_TOKEN", READ_TOKEN)).exits(6);
    assert!(answer.stderr.contains("perftrail publish"), "{}", answer.stderr);
    assert!(!answer.stderr.contains(READ_TOKEN), "{}", answer.stderr);
    assert_eq!(lab.project.bundles().len(), 1, "the bundle is whole");
}

#[test]
fn in_a_workflow_nothing_is_published_unless_a_place_is_named() {
    let lab = Lab::new(FakeRepository::of("private"), FakeToken::writes(RESULTS));
    let mut run = lab.step(&["run", "--publish", "--job", "other", "--", "true"]);
    let answer = Answer::of(&mut run).exits(0);
    assert!(answer.stderr.contains("no results repository is named"), "{}", answer.stderr);
    assert!(!lab.project.path("perftrail-results").exists());
}
