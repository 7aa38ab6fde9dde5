//! `perftrail action` as a runner starts it: inputs, event, the runner's files, and what comes of
//! them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::fake_github::{FakeGitHub, FakeRepository, FakeToken};
use crate::git_server::{READ_TOKEN, Server, WRITE_TOKEN};
use crate::support::{Answer, Project, read_json};

pub(crate) const RESULTS: &str = "lab/results";
const FILES: [&str; 5] =
    ["GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"];

/// A checked-out project on a runner, and a results repository on a server.
pub(crate) struct Runner {
    pub(crate) project: Project,
    pub(crate) server: Server,
    pub(crate) github: FakeGitHub,
    pub(crate) sha: String,
}

impl Runner {
    /// A project with that configuration.
    pub(crate) fn new(config: &str) -> Self {
        let github = FakeGitHub::start();
        github
            .repository(RESULTS, FakeRepository::of("private"))
            .token(WRITE_TOKEN, FakeToken::writes(RESULTS))
            .token(READ_TOKEN, FakeToken::reads(RESULTS));
        let project = Project::new();
        let sha = project.file("perftrail.toml", config).commit("Configure");
        fs::create_dir_all(project.path("../runner")).expect("a folder");
        let runner = Self { project, server: Server::start(), github, sha };
        runner.fresh_files();
        runner
    }

    pub(crate) fn runner_path(&self, name: &str) -> PathBuf {
        self.project.path("../runner").join(name)
    }

    /// A step begins with empty files.
    pub(crate) fn fresh_files(&self) {
        for name in FILES {
            fs::write(self.runner_path(name), "").expect("a file");
        }
    }

    pub(crate) fn step(&self, event: &str, payload: &Value, inputs: &[(&str, &str)]) -> Command {
        fs::write(self.runner_path("event.json"), payload.to_string()).expect("an event");
        let url = self.server.url();
        let server = url.strip_suffix("/lab/results").expect("the server's address");
        let mut command = self.project.command(&["action"]);
        command
            .env("GITHUB_ACTIONS", "true")
            .env("CI", "true")
            .env("GITHUB_EVENT_NAME", event)
            .env("GITHUB_EVENT_PATH", self.runner_path("event.json"))
            .env("GITHUB_WORKSPACE", self.project.root())
            .env("GITHUB_SHA", &self.sha)
            .env("GITHUB_RUN_ID", "42")
            .env("GITHUB_RUN_ATTEMPT", "1")
            .env("GITHUB_REPOSITORY", "lab/model")
            .env("GITHUB_API_URL", &self.github.variables()["GITHUB_API_URL"])
            .env("GITHUB_SERVER_URL", server)
            .env("ACTIONS_RUNTIME_TOKEN", "runtime-secret")
            .env("INPUT_TO", RESULTS)
            .env("INPUT_RESULTS-TOKEN", WRITE_TOKEN)
            .env("INPUT_GITHUB-TOKEN", "ghs_of_the_job");
        for name in FILES {
            command.env(name, self.runner_path(name));
        }
        for (name, value) in inputs {
            command.env(format!("INPUT_{}", name.to_uppercase()), value);
        }
        command
    }

    #[track_caller]
    pub(crate) fn runs(
        &self,
        event: &str,
        payload: &Value,
        inputs: &[(&str, &str)],
        code: i32,
    ) -> Answer {
        self.fresh_files();
        let answer = Answer::of(&mut self.step(event, payload, inputs)).exits(code);
        for text in [&answer.stdout, &answer.stderr] {
            for secret in [WRITE_TOKEN, "ghs_of_the_job", "runtime-secret"] {
                assert!(!text.contains(secret), "{secret} is shown:\n{text}");
            }
        }
        answer
    }

    /// The end of the job, with the state that the step left.
    fn post(&self, change: impl FnOnce(&mut BTreeMap<String, String>)) -> Answer {
        let mut state = self.values("GITHUB_STATE");
        change(&mut state);
        self.fresh_files();
        let mut command = self.step("workflow_dispatch", &json!({}), &[]);
        command.arg("post");
        for (name, value) in state {
            command.env(format!("STATE_{name}"), value);
        }
        Answer::of(&mut command)
    }

    pub(crate) fn text(&self, file: &str) -> String {
        fs::read_to_string(self.runner_path(file)).expect("a file of the runner")
    }

    /// Names and values as the runner reads them.
    pub(crate) fn values(&self, file: &str) -> BTreeMap<String, String> {
        let text = self.text(file);
        let mut lines = text.lines();
        let mut values = BTreeMap::new();
        while let Some(line) = lines.next() {
            let (name, word) = line.split_once("<<").expect("a name and a word");
            let value: Vec<&str> = lines.by_ref().take_while(|line| *line != word).collect();
            values.insert(name.to_owned(), value.join("\n"));
        }
        values
    }

    pub(crate) fn output(&self, name: &str) -> String {
        self.values("GITHUB_OUTPUT").remove(name).unwrap_or_default()
    }

    pub(crate) fn published(&self) -> Vec<String> {
        let branches = self.server.git(&["branch", "--list", "results"]);
        if branches.is_empty() {
            return Vec::new();
        }
        let tree = self.server.git(&["ls-tree", "-r", "--name-only", "results"]);
        tree.lines().filter(|path| path.ends_with("/stats.json")).map(str::to_owned).collect()
    }

    pub(crate) fn record(&self, path: &str) -> Value {
        serde_json::from_str(&self.server.git(&["show", &format!("results:{path}")])).expect("JSON")
    }
}

pub(crate) const TWO_JOBS: &str = r#"
[[job]]
name = "sim"
run = "echo years {years}"
on = ["workflow_dispatch", "push", "repository_dispatch"]
[job.params]
years = 5

[[job]]
name = "night"
run = "true"
on = ["schedule"]
"#;

#[test]
fn a_dispatch_measures_publishes_and_tells_in_one_step() {
    let runner = Runner::new(TWO_JOBS);
    let payload = json!({"inputs": {"job": "sim", "params": "years=2", "ref": ""}, "repository": {"private": true}});
    let answer = runner.runs("workflow_dispatch", &payload, &[], 0);
    assert!(answer.stdout.contains("years 2"), "{}", answer.stdout);
    let published = runner.published();
    assert_eq!(published.len(), 1, "{published:?}");
    let record = runner.record(&published[0]);
    assert_eq!(record["commit"]["sha"], runner.sha);
    assert_eq!(record["params"]["years"]["value"], 2);
    assert_eq!(record["run"]["identity"], "event");
    assert!(record["environment"]["held_back"].to_string().contains("ACTIONS_RUNTIME_TOKEN"));
    let folder = published[0].trim_end_matches("/stats.json");
    for (name, value) in [
        ("action", "run"),
        ("run", "true"),
        ("reason", ""),
        ("commit", &runner.sha),
        ("status", "succeeded"),
        ("job-exit-code", "0"),
        ("bundle", "perftrail-out"),
        ("run-path", folder),
        ("run-url", &format!("{}/tree/results/{folder}", runner.server.url())),
    ] {
        assert_eq!(runner.output(name), value, "{name}");
    }
    assert!(runner.project.path(&runner.output("record")).is_file());
    let plan: Value = serde_json::from_str(&runner.output("plan")).expect("a plan");
    assert_eq!(plan["runs"][0]["job"]["name"], "sim");
    assert_eq!(runner.output("key").len(), 12);
    let summary = runner.text("GITHUB_STEP_SUMMARY");
    assert!(summary.contains("## sim: succeeded") && summary.contains("CPU time"), "{summary}");
    assert!(summary.contains("/lab/model/actions/runs/42)"), "{summary}");
    assert_eq!(runner.values("GITHUB_STATE")["perftrail"], "", "nothing is left for the end");
}

#[test]
fn the_next_run_stands_beside_the_one_before() {
    let runner = Runner::new(TWO_JOBS);
    let payload = json!({"ref": "refs/heads/main", "before": "0".repeat(40)});
    runner.runs("push", &payload, &[], 0);
    let mut second = runner.step("push", &payload, &[]);
    runner.fresh_files();
    Answer::of(second.env("GITHUB_RUN_ID", "43")).exits(0);
    let summary = runner.text("GITHUB_STEP_SUMMARY");
    for part in ["| Earlier | Change |", "oldest run first", "2 runs"] {
        assert!(summary.contains(part), "{part}:\n{summary}");
    }
    assert_eq!(runner.published().len(), 2);
}

#[test]
fn every_other_event_is_refused_with_words_that_help() {
    let runner = Runner::new(TWO_JOBS);
    for event in ["pull_request", "pull_request_target", "issue_comment", "workflow_run"] {
        let answer = runner.runs(event, &json!({}), &[], 5);
        assert!(answer.stderr.contains("separate jobs"), "{}", answer.stderr);
        assert!(answer.stdout.contains("::error title=perftrail::"), "{}", answer.stdout);
    }
    assert!(runner.published().is_empty() && runner.project.bundles().is_empty());
}

#[test]
fn another_commit_than_the_planned_one_is_not_measured() {
    let mut runner = Runner::new(TWO_JOBS);
    let first = runner.sha.clone();
    runner.project.git(&["tag", "v1"]);
    runner.sha = runner.project.commit("Go on");
    for wanted in ["v1", &first, "no-such-branch", "--help"] {
        let answer = runner.runs("workflow_dispatch", &json!({"inputs": {"ref": wanted}}), &[], 5);
        assert!(answer.stderr.contains("actions/checkout"), "{}", answer.stderr);
    }
    assert!(runner.project.bundles().is_empty());
    runner.project.git(&["checkout", "-q", "v1"]);
    runner.runs("workflow_dispatch", &json!({}), &[("ref", "v1")], 0);
    assert_eq!(runner.output("commit"), first);
}

#[test]
fn pushes_that_need_no_run_start_none() {
    let config =
        format!("[triggers]\nbranches = [\"main\"]\nskip_when_only = [\"docs/**\"]\n{TWO_JOBS}");
    let mut runner = Runner::new(&config);
    let before = runner.sha.clone();
    runner.sha = runner.project.file("docs/a.md", "Words.\n").commit("Write");
    for payload in [
        json!({"ref": "refs/heads/main", "before": before}),
        json!({"ref": "refs/heads/other", "before": "0".repeat(40)}),
        json!({"ref": "refs/heads/main", "deleted": true}),
    ] {
        runner.runs("push", &payload, &[], 0);
        assert_eq!(
            (runner.output("run"), runner.output("action")),
            ("false".into(), "none".into())
        );
        assert_ne!(runner.output("reason"), "", "{payload}");
    }
    assert!(runner.project.bundles().is_empty());
    runner.sha = runner.project.file("src/a.py", "pass\n").commit("Code");
    runner.runs("push", &json!({"ref": "refs/heads/main", "before": before}), &[], 0);
    assert_eq!(runner.output("status"), "succeeded");
}

#[test]
fn a_schedule_can_pass_over_a_commit_that_it_has_measured() {
    let config = format!("[triggers]\nskip_unchanged = true\n{TWO_JOBS}");
    let mut runner = Runner::new(&config);
    runner.runs("schedule", &json!({}), &[], 0);
    assert_eq!(runner.output("status"), "succeeded");
    fs::remove_dir_all(runner.project.path("perftrail-out")).expect("the bundles");
    runner.runs("schedule", &json!({}), &[], 0);
    assert_eq!(runner.output("run"), "false");
    runner.sha = runner.project.commit("Go on");
    runner.runs("schedule", &json!({}), &[], 0);
    assert_eq!(runner.output("run"), "true");
    assert_eq!(runner.published().len(), 2);
}

#[test]
fn a_job_that_fails_is_published_and_fails_the_step() {
    let runner = Runner::new("");
    let answer = runner.runs("workflow_dispatch", &json!({}), &[("run", "echo no >&2; exit 7")], 3);
    assert_eq!(runner.output("status"), "failed");
    assert_eq!(runner.output("job-exit-code"), "7");
    let command = answer.stdout.lines().find(|line| line.starts_with("::error"));
    assert!(command.is_some_and(|line| line.contains("exit code 7")), "{}", answer.stdout);
    assert_eq!(runner.published().len(), 1);
}

#[test]
fn the_job_knows_no_secret_and_leaves_nothing_in_the_files_of_the_runner() {
    let runner = Runner::new("");
    // Words of its own: other tests run beside it.
    let hunt = "{ env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; } | grep -a hunted_here && echo FOUND; \
         echo LD_PRELOAD=evil >> RUNNER/GITHUB_ENV; echo status=forged >> RUNNER/GITHUB_OUTPUT; \
         echo > RUNNER/GITHUB_STATE; true";
    let folder = runner.runner_path("");
    let hunt = hunt.replace("RUNNER", &folder.to_string_lossy());
    let mut step = runner.step("workflow_dispatch", &json!({}), &[("run", &hunt)]);
    step.env("INPUT_GITHUB-TOKEN", "hunted_here_1").env("ACTIONS_RUNTIME_TOKEN", "hunted_here_2");
    let answer = Answer::of(step.env("DATA_PASSWORD", "hunted_here_3")).exits(0);
    assert!(!answer.stdout.lines().any(|line| line == "FOUND"), "{}", answer.stdout);
    assert!(answer.stderr.contains("GITHUB_ENV, GITHUB_OUTPUT, GITHUB_STATE"), "{}", answer.stderr);
    assert_eq!(runner.text("GITHUB_ENV"), "");
    assert_eq!(runner.output("status"), "succeeded");
    assert_eq!(runner.values("GITHUB_STATE")["perftrail"], "");
}

#[test]
fn output_of_the_job_is_no_command_to_the_runner() {
    let runner = Runner::new("");
    let say = "printf '::error::x\\n  ::add-mask::y\\nsee ##[group]z\\n10 %%\\r::warning::w\\n\\033[31mred\\033[0m\\n'";
    let answer = runner.runs("workflow_dispatch", &json!({}), &[("run", say)], 0);
    let between: Vec<&str> = answer
        .stdout
        .lines()
        .skip_while(|line| !line.starts_with("::stop-commands::"))
        .skip(1)
        .take_while(|line| !line.starts_with("::perftrail_"))
        .collect();
    assert!(
        between.contains(&"red") && between.iter().any(|line| line.contains('z')),
        "{between:?}"
    );
    for line in between {
        let bad = line.trim().starts_with("::") || line.contains("##[") || line.contains('\u{1b}');
        assert!(!bad, "{line:?}");
    }
    // The same without a container.
    let mut run =
        runner.project.command(&["run", "--", "printf", "::error::x\r::warning::y ##[a]\n"]);
    run.env("GITHUB_ACTIONS", "true");
    let answer = Answer::of(&mut run).exits(0);
    assert!(!answer.stdout.lines().any(|line| line.trim().starts_with("::")), "{}", answer.stdout);
    assert!(!answer.stdout.contains("##["), "{}", answer.stdout);
}

#[test]
fn a_push_that_fails_is_made_up_for_at_the_end_of_the_job() {
    let runner = Runner::new("[results]\nlayout = \"{commit:2}/{commit}/{date}/{run}\"\n");
    runner.fresh_files();
    let mut step = runner.step("workflow_dispatch", &json!({}), &[("run", "true")]);
    let answer = Answer::of(step.env("INPUT_RESULTS-TOKEN", READ_TOKEN)).exits(6);
    assert!(answer.stderr.contains("perftrail publish"), "{}", answer.stderr);
    assert_eq!(runner.output("status"), "succeeded");
    assert!(runner.text("GITHUB_STEP_SUMMARY").contains("publishing failed"));
    // The promise was signed with other secrets: as if the job had written it.
    let refused = runner.post(|_| ()).exits(6);
    assert!(refused.stderr.contains("changed by somebody else"), "{}", refused.stderr);
    assert!(runner.published().is_empty());
}

#[test]
fn what_a_killed_step_left_is_published_at_the_end_of_the_job() {
    let runner = Runner::new("");
    let mut step = start(&runner, "echo begun; sleep 600");
    wait_for(&mut step, "begun");
    let measuring = child_of(&step);
    let end = rustix::process::pidfd_open(measuring, rustix::process::PidfdFlags::empty());
    step.kill().expect("killed");
    step.wait().expect("its end");
    let _ = rustix::process::kill_process(measuring, rustix::process::Signal::KILL);
    if let Ok(end) = end {
        let mut fds = [rustix::event::PollFd::new(&end, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut fds, None).expect("its end");
    }
    let state = runner.values("GITHUB_STATE");
    // The configuration that counts is the one from before the job.
    runner.project.file("perftrail.toml", "[results]\nrepository = \"http://127.0.0.1:9/evil\"\n");
    runner.post(|_| ()).exits(0);
    let published = runner.published();
    assert_eq!(published.len(), 1);
    // It may have heard of the end of its parent before its own came.
    let record = runner.record(&published[0]);
    let status = record["run"]["status"].as_str().expect("a status");
    assert!(["interrupted", "cancelled"].contains(&status), "{status}");
    assert!(runner.text("GITHUB_STEP_SUMMARY").contains(status));
    // A second time, and after a step that left nothing, there is nothing to do.
    runner.post(|known| known.extend(state.clone())).exits(0);
    runner.post(BTreeMap::clear).exits(0);
    assert_eq!(runner.published().len(), 1);
    let forged = runner.post(|known| {
        let text = state["perftrail"].replace("workflow_dispatch", "schedule");
        known.insert("perftrail".to_owned(), text);
    });
    forged.exits(6);
}

#[test]
fn a_cancelled_step_ends_in_time_and_is_published_at_the_end_of_the_job() {
    let runner = Runner::new("");
    let mut step = start(&runner, "trap '' INT TERM; echo begun; sleep 600 & wait; sleep 600");
    wait_for(&mut step, "begun");
    let pid = rustix::process::Pid::from_child(&step);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let status = step.wait().expect("its end");
    assert_eq!(status.code(), Some(3));
    assert_eq!(runner.output("status"), "cancelled");
    assert!(runner.published().is_empty(), "there was no time for it");
    runner.post(|_| ()).exits(0);
    let published = runner.published();
    assert_eq!(runner.record(&published[0])["run"]["status"], "cancelled");
}

/// The process that measures.
fn child_of(step: &Child) -> rustix::process::Pid {
    let path = format!("/proc/{0}/task/{0}/children", step.id());
    let text = fs::read_to_string(path).expect("its children");
    let pid = text.split_whitespace().next().and_then(|word| word.parse().ok());
    pid.and_then(rustix::process::Pid::from_raw).expect("one child")
}

fn start(runner: &Runner, run: &str) -> Child {
    runner.fresh_files();
    let mut step = runner.step("workflow_dispatch", &json!({}), &[("run", run)]);
    step.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts")
}

fn wait_for(step: &mut Child, word: &str) {
    let mut out = step.stdout.take().expect("its output");
    let mut seen = String::new();
    let mut chunk = [0; 4096];
    while !seen.contains(word) {
        let got = out.read(&mut chunk).expect("output");
        assert!(got > 0, "it ended without saying {word}: {seen}");
        seen.push_str(&String::from_utf8_lossy(&chunk[..got]));
    }
    step.stdout = Some(out);
}

#[test]
fn measuring_and_publishing_can_be_two_steps() {
    let runner = Runner::new(TWO_JOBS);
    runner.runs("workflow_dispatch", &json!({"inputs": {"job": "sim"}}), &[("command", "gate")], 0);
    let plan = runner.output("plan");
    assert!(runner.project.bundles().is_empty());
    // A plan says what is to be done, whatever the event.
    let run = [("command", "run"), ("plan", plan.as_str())];
    runner.runs("pull_request", &json!({}), &run, 0);
    assert_eq!(
        (runner.output("status"), runner.output("run-path")),
        ("succeeded".into(), String::new())
    );
    assert!(runner.published().is_empty());
    assert!(runner.text("GITHUB_STEP_SUMMARY").contains("only measures"));
    runner.runs("pull_request", &json!({}), &[("command", "publish")], 0);
    assert_eq!(runner.output("run-path"), runner.published()[0].trim_end_matches("/stats.json"));
    runner.runs("push", &json!({}), &[("command", "publish"), ("bundle", "nowhere")], 2);
    runner.runs("push", &json!({}), &[("command", "dance")], 2);
}

#[test]
fn without_a_place_nothing_is_published_and_that_is_said() {
    let runner = Runner::new("");
    for (to, words) in [("", "no results repository is named"), ("none", "is `none`")] {
        let answer =
            runner.runs("workflow_dispatch", &json!({}), &[("run", "true"), ("to", to)], 0);
        assert!(answer.stderr.contains(words), "{}", answer.stderr);
        fs::remove_dir_all(runner.project.path("perftrail-out")).expect("the bundles");
    }
    assert_eq!(runner.output("status"), "succeeded");
}

/// Only root can become somebody else; anybody else is the owner already.
#[test]
fn the_job_runs_as_the_owner_of_the_workspace() {
    let runner = Runner::new("");
    let is_root = rustix::process::geteuid().is_root();
    let uid = if is_root { 1001 } else { rustix::process::geteuid().as_raw() };
    let top = runner.project.path("..");
    let program = top.join("perftrail");
    fs::copy(env!("CARGO_BIN_EXE_perftrail"), &program).expect("a copy");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
    if is_root {
        let folders = Command::new("chown").arg("-R").arg("1001:1001").arg(&top).status();
        assert!(folders.expect("chown").success());
        chown(&program, Some(0), Some(0)).expect("root's");
    }
    runner.fresh_files();
    let run = "id -u; id -G; cd ~ && echo x > in-home && test -O in-home && echo HOME-OK; \
         python3 -c 'import getpass; print(getpass.getuser())' | grep -q . && echo USER-OK";
    let own = runner.step("workflow_dispatch", &json!({}), &[("run", run)]);
    let mut step = Command::new(&program);
    step.arg("action").current_dir(runner.project.root()).env_clear();
    step.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let answer = Answer::of(&mut step).exits(0);
    let lines: Vec<&str> = answer.stdout.lines().collect();
    assert!(lines.contains(&uid.to_string().as_str()), "{}", answer.stdout);
    assert!(lines.contains(&"HOME-OK"), "{}{}", answer.stdout, answer.stderr);
    if is_root {
        assert!(lines.iter().filter(|line| **line == "1001").count() == 2, "{}", answer.stdout);
    }
    for bundle in runner.project.bundles() {
        for entry in [bundle.clone(), bundle.join("stats.json"), bundle.join("report.html")] {
            assert_eq!(fs::metadata(&entry).expect("a file").uid(), uid, "{}", entry.display());
        }
        assert_eq!(read_json(&bundle.join("stats.json"))["run"]["status"], "succeeded");
    }
    assert_eq!(runner.published().len(), 1);
}
