//! `perftrail gate`: what people write under a pull request, what happens to one, and what is
//! decided. No project is checked out in any of these tests.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::fake_github::{BOT, Failure, FakeGitHub, FakePull, FakeRepository, FakeToken};
use crate::support::{Answer, Project};

const TOKEN: &str = "ghs_of_the_gate";
pub(crate) const BASE: &str = "0000000000000000000000000000000000000000";
pub(crate) const HEAD: &str = "1111111111111111111111111111111111111111";
pub(crate) const NEXT: &str = "2222222222222222222222222222222222222222";
const WRITTEN: &str = "2026-12-14T12:00:00Z";

const CONFIG: &str = r#"
[triggers]
skip_when_only = ["docs/**"]
bases = ["main"]

[[job]]
name = "sim"
run = "sim {years}"
[job.params]
years = { default = 5, choices = [1, 5] }

[[job]]
name = "scout"
on = ["comment", "pull_request"]
run = "scout"

[[job]]
name = "night"
on = ["schedule"]
run = "night"
"#;

/// The conversation under pull request 7 of `lab/model`, whose configuration lies at its base.
pub(crate) struct Chat {
    project: Project,
    pub(crate) github: FakeGitHub,
}

/// What the gate made of one event.
pub(crate) struct Heard {
    answer: Answer,
    /// The decision as JSON; null when there is none.
    said: Value,
    outputs: BTreeMap<String, String>,
    summary: String,
    /// What GitHub was asked.
    requests: Vec<String>,
    /// What was written under the pull request, marker and all.
    replies: Vec<String>,
    /// The signs under the comment that asked.
    signs: Vec<String>,
}

impl Chat {
    /// From a branch of the same repository.
    fn of_branch() -> Self {
        Self::of("lab/model")
    }

    /// From a fork of eve's, of whose pushes nothing is known but the time of the newest.
    fn of_fork() -> Self {
        Self::of("eve/model")
    }

    pub(crate) fn of(head: &'static str) -> Self {
        let github = FakeGitHub::start();
        let mut repository = FakeRepository::of("public");
        repository.people = [("ada", "admin"), ("wim", "write"), ("rita", "read")].into();
        repository.files.insert((BASE.to_owned(), "perftrail.toml".to_owned()), CONFIG.to_owned());
        let pushed = Some("2026-12-14T11:00:00Z");
        let pull = FakePull { head_pushed: pushed, ..FakePull::from(head, HEAD) };
        repository.pulls.insert(7, pull);
        github.repository("lab/model", repository).token(TOKEN, FakeToken::tells("lab/model"));
        Self { project: Project::bare_folder(), github }
    }

    pub(crate) fn change(self, change: impl FnOnce(&mut FakeRepository)) -> Self {
        self.with_repository(change);
        self
    }

    pub(crate) fn with_repository<T>(&self, with: impl FnOnce(&mut FakeRepository) -> T) -> T {
        with(self.github.model().repositories.get_mut("lab/model").expect("the repository"))
    }

    pub(crate) fn with_pull(&self, with: impl FnOnce(&mut FakePull)) {
        self.with_repository(|repository| with(repository.pulls.get_mut(&7).expect("the pull")));
    }

    /// Somebody writes a comment, and the gate hears of it.
    #[track_caller]
    fn says(&self, who: &str, text: &str) -> Heard {
        let id = self.writes(who, text);
        self.hears(&comment(id, who, text))
    }

    /// The comment alone; gives its id.
    pub(crate) fn writes(&self, who: &str, text: &str) -> u64 {
        self.with_repository(|repository| {
            let pull = repository.pulls.get_mut(&7).expect("the pull");
            *pull = pull.clone().said(who, text);
            pull.comments.last().expect("a comment").id
        })
    }

    #[track_caller]
    fn hears(&self, payload: &Value) -> Heard {
        self.event("issue_comment", payload).exits(0)
    }

    fn command(&self, event: &str, payload: &Value) -> Command {
        let folder = self.project.path("..");
        fs::write(folder.join("event.json"), payload.to_string()).expect("an event");
        for name in ["output", "summary"] {
            fs::write(folder.join(name), "").expect("a file of the runner");
        }
        let mut command = self.project.command(&["gate", "--format", "json"]);
        command
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_EVENT_NAME", event)
            .env("GITHUB_EVENT_PATH", folder.join("event.json"))
            .env("GITHUB_OUTPUT", folder.join("output"))
            .env("GITHUB_STEP_SUMMARY", folder.join("summary"))
            .env("GITHUB_REPOSITORY", "lab/model")
            .env("GITHUB_RUN_ID", "42")
            .env("GITHUB_RUN_NUMBER", "9")
            .env("GITHUB_RUN_ATTEMPT", "1")
            .env("GITHUB_SHA", BASE)
            .env("GITHUB_TOKEN", TOKEN)
            .envs(self.github.variables());
        command
    }

    pub(crate) fn event(&self, event: &str, payload: &Value) -> Heard {
        let before = self.github.requests().len();
        let replies = self.replies().len();
        let answer = Answer::of(&mut self.command(event, payload));
        let folder = self.project.path("..");
        let read = |name: &str| fs::read_to_string(folder.join(name)).expect("a file");
        let id = payload.pointer("/comment/id").and_then(Value::as_u64);
        Heard {
            said: serde_json::from_str(&answer.stdout).unwrap_or_default(),
            outputs: outputs(&read("output")),
            summary: read("summary"),
            requests: self.github.requests().split_off(before),
            replies: self.replies().split_off(replies),
            signs: self.signs(id),
            answer,
        }
    }

    /// What the bot wrote so far.
    fn replies(&self) -> Vec<String> {
        self.with_repository(|repository| {
            let comments = repository.pulls[&7].comments.iter();
            comments.filter(|one| one.author == BOT).map(|one| one.body.clone()).collect()
        })
    }

    fn signs(&self, id: Option<u64>) -> Vec<String> {
        self.with_repository(|repository| {
            let comments = repository.pulls[&7].comments.iter().filter(|one| Some(one.id) == id);
            comments.flat_map(|one| one.reactions.iter().map(|one| one.1.clone())).collect()
        })
    }
}

impl Heard {
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        let Self { answer, said, outputs, summary, requests, replies, signs } = self;
        Self { answer: answer.exits(code), said, outputs, summary, requests, replies, signs }
    }

    /// `run`, `accept` or `none`.
    pub(crate) fn action(&self) -> &str {
        self.said["action"].as_str().unwrap_or("?")
    }

    pub(crate) fn reason(&self) -> &str {
        self.said["reason"].as_str().unwrap_or_default()
    }

    pub(crate) fn commit(&self) -> &str {
        self.said["commit"].as_str().unwrap_or_default()
    }

    fn jobs(&self) -> Vec<&str> {
        let runs = self.said["plan"]["runs"].as_array().expect("runs").iter();
        runs.map(|run| run["job"]["name"].as_str().expect("a name")).collect()
    }

    /// Jobs, commit and params of what is measured.
    #[track_caller]
    fn measures(&self, jobs: &[&str], commit: &str) -> &Self {
        assert_eq!(self.action(), "run", "{}{}", self.answer.stdout, self.answer.stderr);
        assert_eq!(self.jobs(), jobs);
        assert_eq!(self.said["commit"], commit);
        assert_eq!(self.said["plan"]["facts"]["commit"], commit);
        assert_eq!(self.outputs["run"], "true");
        assert_eq!(self.outputs["commit"], commit);
        let plan: Value = serde_json::from_str(&self.outputs["plan"]).expect("a plan");
        assert_eq!(plan, self.said["plan"]);
        self
    }

    /// Nothing is measured, and nobody is told.
    #[track_caller]
    fn passes_over(&self, why: &str) -> &Self {
        assert_eq!((self.action(), self.outputs["run"].as_str()), ("none", "false"));
        assert!(self.reason().contains(why), "{}", self.reason());
        assert!(self.replies.is_empty() && self.signs.is_empty(), "{:?}", self.replies);
        self
    }

    /// Nothing is measured, and the writer is told why, once.
    #[track_caller]
    fn replies(&self, why: &str) -> &Self {
        assert_eq!((self.action(), self.outputs["run"].as_str()), ("none", "false"));
        assert!(self.reason().contains(why), "{}", self.reason());
        assert_eq!(self.signs, ["confused"]);
        assert_eq!(self.replies.len(), 1, "{:?}", self.replies);
        self
    }
}

fn outputs(text: &str) -> BTreeMap<String, String> {
    let mut lines = text.lines();
    let mut values = BTreeMap::new();
    while let Some(line) = lines.next() {
        let (name, word) = line.split_once("<<").expect("a name and a word");
        let value: Vec<&str> = lines.by_ref().take_while(|line| *line != word).collect();
        values.insert(name.to_owned(), value.join("\n"));
    }
    values
}

pub(crate) fn comment(id: u64, who: &str, text: &str) -> Value {
    let kind = if who.ends_with("[bot]") { "Bot" } else { "User" };
    json!({
        "action": "created",
        "issue": {"number": 7, "state": "open", "pull_request": {"url": "x"}},
        "comment": {
            "id": id, "body": text, "created_at": WRITTEN,
            "user": {"login": who, "type": kind}, "author_association": "OWNER",
        },
        "repository": {"full_name": "lab/model", "private": false},
        "sender": {"login": who, "type": kind},
    })
}

pub(crate) fn pull_request(action: &str) -> Value {
    json!({
        "action": action, "number": 7,
        "pull_request": {"number": 7, "head": {"sha": HEAD}, "base": {"sha": BASE}},
        "repository": {"full_name": "lab/model", "private": false},
    })
}

#[test]
fn a_reviewer_asks_and_the_head_is_measured() {
    for chat in [Chat::of_branch(), Chat::of_fork()] {
        let heard = chat.says("wim", "Nice!\n\n/profile\n\nthanks");
        heard.measures(&["sim", "scout"], HEAD);
        let pull = &heard.said["plan"]["facts"]["pull_request"];
        assert_eq!((&pull["number"], &pull["base"]), (&json!(7), &json!(BASE)));
        assert_eq!(pull["comment"]["author"], "wim");
        let [running, other] = &heard.replies[..] else { panic!("{:?}", heard.replies) };
        assert!(running.contains("sim: running") && running.contains("as wim asked"), "{running}");
        assert!(other.contains("scout: running"), "{other}");
        assert_eq!(heard.signs, ["eyes"]);
        assert_eq!(heard.outputs["key"].len(), 12);
        assert_eq!(heard.summary, "sim, scout of 111111111111 is measured\n\n");
    }
}

#[test]
fn a_comment_chooses_among_what_is_configured() {
    let chat =
        Chat::of_branch().change(|it| drop(it.references.insert("release/1", NEXT.to_owned())));
    let heard = chat.says("ada", "/profile sim years=1 repetitions=3 against release/1");
    heard.measures(&["sim"], HEAD);
    let run = &heard.said["plan"]["runs"][0];
    assert_eq!(
        (&run["params"]["years"]["value"], &run["job"]["repetitions"]),
        (&json!(1), &json!(3))
    );
    let against = &heard.said["plan"]["facts"]["pull_request"]["against"];
    assert_eq!(*against, json!({"reference": "release/1", "commit": NEXT}));
    let other = chat.says("ada", "/profile scout sim");
    other.measures(&["scout", "sim"], HEAD);
    assert_ne!(other.outputs["key"], heard.outputs["key"]);
}

#[test]
fn what_is_not_known_is_answered_with_what_is() {
    let chat = Chat::of_branch();
    for (text, why) in [
        ("/profile simm", "there is no job `simm` for comments: did you mean `sim`?"),
        ("/profile night", "there is no job `night` for comments"),
        ("/profile sim yaers=1", "there is no param `yaers`: did you mean `years`?"),
        ("/profile sim years=9", "expected one of `1`, `5`"),
        ("/profile sim; rm -rf /", "`sim;` is neither a job nor KEY=VALUE"),
        ("/profile against nowhere", "there is no branch, tag or commit `nowhere`"),
        ("/profile accept cpu_tme because more", "did you mean `cpu_time`?"),
        ("/profile accept", "which metric, and why"),
    ] {
        let heard = chat.says("wim", text);
        heard.replies(why);
        assert!(heard.replies[0].contains("[JOB…] [KEY=VALUE…]"), "{}", heard.replies[0]);
    }
    let help = chat.says("wim", "/profile help");
    assert_eq!((help.action(), help.signs.as_slice()), ("none", &["rocket".to_owned()][..]));
    assert!(help.replies[0].contains("| sim | years = 1 or 5 |"), "{}", help.replies[0]);
}

#[test]
fn who_may_not_push_is_told_so_once() {
    let chat = Chat::of_branch();
    for who in ["rita", "stranger"] {
        let heard = chat.says(who, "/profile");
        heard.replies("only people who can push to this repository");
        assert!(!heard.replies[0].contains("scout"), "{}", heard.replies[0]);
        // Again, and by a second run of the same workflow: a sign, no more words.
        for heard in [chat.says(who, "/profile sim"), chat.says(who, "/profile help")] {
            assert!(heard.replies.is_empty() && heard.action() == "none");
        }
    }
    assert_eq!(chat.replies().len(), 2);
}

#[test]
fn a_refusal_is_not_repeated_when_the_workflow_runs_again() {
    let chat = Chat::of_branch();
    let id = chat.writes("wim", "/profile nonsense");
    for replies in [1, 0, 0] {
        let heard = chat.hears(&comment(id, "wim", "/profile nonsense"));
        assert_eq!((heard.replies.len(), heard.signs.len()), (replies, 1));
    }
    // The same words in another comment are another question.
    chat.says("wim", "/profile nonsense").replies("no job `nonsense`");
}

#[test]
fn whatever_keeps_github_from_saying_yes_is_a_no() {
    for failure in [Failure::refusal(403, "Forbidden"), Failure::refusal(404, "Not Found")] {
        let chat = Chat::of_branch();
        let id = chat.writes("wim", "/profile");
        chat.github.fail([failure]);
        chat.hears(&comment(id, "wim", "/profile")).replies("GitHub did not say");
    }
    let chat = Chat::of_branch().change(|it| it.people.extend([("odd", "maintain")]));
    chat.says("odd", "/profile").replies("GitHub did not say");
}

#[test]
fn a_push_after_the_comment_is_not_measured() {
    // From a branch: the server's list of pushes tells.
    let chat = Chat::of_branch();
    let id = chat.writes("wim", "/profile");
    chat.with_repository(|it| {
        it.pushes.insert("faster", (NEXT.to_owned(), "2026-12-14T12:00:01Z"));
        it.pulls.get_mut(&7).expect("the pull").head = NEXT.to_owned();
    });
    let heard = chat.hears(&comment(id, "wim", "/profile"));
    heard.replies("commits were pushed after your comment: look at 222222222222");
    // From a fork: its own list, else the time of its newest push.
    for list in [true, false] {
        let chat = Chat::of_fork();
        chat.with_pull(|pull| pull.head_pushed = Some("2026-12-14T12:00:00Z"));
        if list {
            let mut fork = FakeRepository::of("public");
            fork.pushes.insert("faster", (HEAD.to_owned(), "2026-12-14T12:30:00Z"));
            chat.github.repository("eve/model", fork);
        }
        chat.says("wim", "/profile").replies("commits were pushed after your comment");
        chat.says("wim", "/profile sha=111111111111").measures(&["sim", "scout"], HEAD);
        let other = chat.says("wim", "/profile sha=222222222222");
        other.replies("the newest commit is 111111111111, not 222222222222");
    }
}

#[test]
fn a_forged_date_of_a_commit_does_not_help() {
    // The commit says that it is years old; nobody asks it.
    let chat = Chat::of_fork();
    chat.with_pull(|pull| pull.head_pushed = Some("2026-12-14T12:00:05Z"));
    let heard = chat.says("ada", "/profile");
    heard.replies("pushed after your comment");
    assert!(heard.requests.iter().all(|one| !one.contains("/commits/")), "{:?}", heard.requests);
}

#[test]
fn a_second_attempt_checks_everything_again() {
    let chat = Chat::of_branch();
    let id = chat.writes("wim", "/profile");
    let payload = comment(id, "wim", "/profile");
    chat.hears(&payload).measures(&["sim", "scout"], HEAD);
    let again = |chat: &Chat| {
        let mut command = chat.command("issue_comment", &payload);
        let answer = Answer::of(command.env("GITHUB_RUN_ATTEMPT", "2")).exits(0);
        serde_json::from_str::<Value>(&answer.stdout).expect("JSON")
    };
    assert_eq!(again(&chat)["action"], "run");
    chat.with_repository(|it| it.people.extend([("wim", "read")]));
    assert_eq!(again(&chat)["action"], "none");
    chat.with_repository(|it| {
        it.people.insert("wim", "write");
        it.pushes.insert("faster", (HEAD.to_owned(), "2026-12-14T12:00:01Z"));
    });
    assert!(again(&chat)["reason"].as_str().expect("words").contains("pushed after"));
}

#[test]
fn what_is_not_for_us_costs_no_request_and_no_time() {
    let chat = Chat::of_branch();
    let mut edited = comment(1, "ada", "/profile");
    edited["action"] = json!("edited");
    let mut issue = comment(1, "ada", "/profile");
    issue["issue"].as_object_mut().expect("an issue").remove("pull_request");
    for (event, payload, why) in [
        ("issue_comment", comment(1, "ada", "Looks good, /profile it"), "holds no /profile"),
        ("issue_comment", comment(1, "ada", "> /profile"), "holds no /profile"),
        ("issue_comment", comment(1, "ada", &"long ".repeat(13_000)), "holds no /profile"),
        ("issue_comment", comment(1, "perftrail[bot]", "/profile"), "a program's"),
        ("issue_comment", edited, "only a new comment"),
        ("issue_comment", issue, "an issue, not a pull request"),
        ("pull_request", pull_request("closed"), "was closed"),
        ("pull_request", pull_request("edited"), "was edited"),
        ("push", json!({"ref": "refs/heads/x", "deleted": true}), "deleted its branch"),
    ] {
        let heard = chat.event(event, &payload).exits(0);
        heard.passes_over(why);
        assert_eq!(heard.requests, Vec::<String>::new(), "{why}");
        assert_eq!(heard.summary.lines().count(), 2, "{}", heard.summary);
        // Whoever shares the core makes it slower, never faster: the best of some counts.
        // A program that is not optimised takes several times as long.
        let most = if cfg!(debug_assertions) { 0.5 } else { 0.1 };
        let mut tries = (0..20).map(|_| cpu_seconds(&chat.command(event, &payload)));
        let is_enough = tries.any(|seconds| seconds < most);
        assert!(is_enough, "{why}: never less than {most} s of CPU time");
    }
}

/// The CPU time of a command, whatever else runs.
fn cpu_seconds(command: &Command) -> f64 {
    // What python3 itself started before it was Python counts as its children too.
    let code = "import resource, subprocess, sys\n\
        used = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])\n\
        before = used()\n\
        subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n\
        print(used() - before)";
    let mut timed = Command::new("python3");
    timed.args(["-c", code]).arg(command.get_program()).args(command.get_args()).env_clear();
    timed.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let told = Answer::of(timed.current_dir(command.get_current_dir().expect("a folder"))).exits(0);
    told.stdout.trim().parse().expect("a number")
}

#[test]
fn another_word_can_begin_a_command() {
    let chat = Chat::of_branch();
    let id = chat.writes("wim", "!bench sim");
    let heard = |text: &str| {
        let mut command = chat.command("issue_comment", &comment(id, "wim", text));
        let answer = Answer::of(command.args(["--comment-command", "!bench"])).exits(0);
        serde_json::from_str::<Value>(&answer.stdout).expect("JSON")["action"].clone()
    };
    assert_eq!((heard("!bench sim"), heard("/profile")), (json!("run"), json!("none")));
}

#[test]
fn accepting_is_a_plan_without_runs() {
    let chat = Chat::of_fork().change(|it| it.pulls.get_mut(&7).expect("the pull").open = false);
    let heard = chat.says("ada", "/profile accept cpu_time because the new solver is exact");
    assert_eq!((heard.action(), heard.outputs["run"].as_str()), ("accept", "false"));
    assert_eq!((heard.signs.as_slice(), heard.replies.len()), (["eyes".to_owned()].as_slice(), 0));
    let plan = &heard.said["plan"];
    let accept =
        json!({"metric": "cpu_time", "because": "the new solver is exact", "author": "ada"});
    assert_eq!((&plan["accept"], &plan["runs"]), (&accept, &json!([])));
    assert_eq!(plan["facts"]["pull_request"]["number"], 7);
    chat.says("rita", "/profile accept cpu_time because I say so").replies("only people");
}

#[test]
fn an_answer_that_github_does_not_take_is_a_warning() {
    let chat = Chat::of_branch();
    chat.github.token(TOKEN, FakeToken::reads("lab/model"));
    let heard = chat.says("rita", "/profile");
    assert_eq!((heard.action(), heard.replies.len()), ("none", 0));
    assert!(heard.answer.stderr.contains("GitHub does not allow it"), "{}", heard.answer.stderr);
}

#[test]
fn without_an_answer_that_is_needed_the_gate_fails() {
    let chat = Chat::of_branch();
    let id = chat.writes("wim", "/profile");
    chat.with_repository(|it| drop(it.pulls.remove(&8)));
    let mut payload = comment(id, "wim", "/profile");
    payload["issue"]["number"] = json!(8);
    let heard = chat.event("issue_comment", &payload).exits(7);
    assert!(heard.answer.stderr.contains("read pull request 8"), "{}", heard.answer.stderr);
    let heard = chat.event("pull_request_target", &json!({})).exits(5);
    assert!(heard.answer.stderr.contains("known are issue_comment"), "{}", heard.answer.stderr);
    chat.event("issue_comment", &json!({"action": "created"})).exits(2);
}

#[test]
fn a_pull_request_is_held_against_the_triggers() {
    let chat = Chat::of_fork();
    let heard =
        |chat: &Chat, action: &str| chat.event("pull_request", &pull_request(action)).exits(0);
    for action in ["opened", "synchronize", "reopened", "ready_for_review"] {
        heard(&chat, action).measures(&["sim", "scout"], HEAD);
    }
    heard(&chat, "labeled").passes_over("is not in [triggers] labels");
    chat.with_pull(|pull| pull.files = vec![("docs/a.md".to_owned(), None)]);
    heard(&chat, "opened").passes_over("only files of [triggers] skip_when_only");
    // Both names of a renamed file count, and a list that is cut is no list.
    let renamed = Some("src/a.py".to_owned());
    chat.with_pull(|pull| pull.files = vec![("docs/a.md".to_owned(), renamed)]);
    heard(&chat, "opened").measures(&["sim", "scout"], HEAD);
    chat.with_pull(|pull| pull.files = (0..3000).map(|n| (format!("docs/{n}.md"), None)).collect());
    heard(&chat, "opened").measures(&["sim", "scout"], HEAD);
    chat.with_pull(|pull| pull.files.clear());
    chat.with_pull(|pull| pull.draft = true);
    heard(&chat, "opened").passes_over("drafts are not measured");
    chat.with_pull(|pull| (pull.draft, pull.head) = (false, NEXT.to_owned()));
    heard(&chat, "synchronize").passes_over("222222222222 was pushed since");
    chat.with_pull(|pull| (pull.open, pull.head) = (false, HEAD.to_owned()));
    heard(&chat, "synchronize").passes_over("not open any more");
    let config = CONFIG.replace("\"main\"", "\"release/*\"");
    let chat = Chat::of_branch().change(|it| {
        it.files.insert((BASE.to_owned(), "perftrail.toml".to_owned()), config);
    });
    heard(&chat, "opened").passes_over("pull requests into main are not in [triggers] bases");
}

pub(crate) fn workflow_run(change: impl FnOnce(&mut Value)) -> Value {
    let mut payload = json!({"action": "completed", "workflow_run": {
        "id": 99, "run_attempt": 2, "run_number": 5, "event": "pull_request", "head_sha": HEAD,
        "head_branch": "faster", "head_repository": {"full_name": "eve/model"},
        "actor": {"login": "eve", "type": "User"}, "pull_requests": [],
        "created_at": "2026-12-14T10:00:00Z", "run_started_at": "2026-12-14T11:00:00Z",
        "conclusion": "failure",
    }});
    change(&mut payload["workflow_run"]);
    payload
}

#[test]
fn what_a_pull_request_s_workflow_left_is_known_by_its_event() {
    let chat = Chat::of_fork();
    let heard = chat.event("workflow_run", &workflow_run(|_| {})).exits(0);
    heard.measures(&["sim", "scout"], HEAD);
    assert_eq!(heard.replies, [""; 0], "what has ended is not being measured");
    let facts = &heard.said["plan"]["facts"];
    assert_eq!((&facts["event"], &facts["run_number"]), (&json!("pull_request"), &json!(5)));
    assert_eq!(facts["measured_by"]["run_id"], 99);
    assert_eq!(facts["measured_by"]["succeeded"], false);
    let skipped = workflow_run(|run| run["conclusion"] = json!("success"));
    let heard = chat.event("workflow_run", &skipped).exits(0);
    assert_eq!(heard.said["plan"]["facts"]["measured_by"]["succeeded"], true);
    assert_eq!(facts["pull_request"]["number"], 7);
    for (change, why) in [
        (("event", json!("push")), "did not end a run for a pull request"),
        (("head_sha", json!(NEXT)), "no pull request stands at 222222222222"),
        (("head_branch", json!("other")), "no pull request stands at 111111111111"),
        (("head_repository", json!({"full_name": "eve/other"})), "no pull request"),
        (("head_repository", Value::Null), "is gone"),
    ] {
        let payload = workflow_run(|run| run[change.0] = change.1);
        chat.event("workflow_run", &payload).exits(0).passes_over(why);
    }
    // What would not have been measured is not missed.
    chat.with_pull(|pull| pull.draft = true);
    chat.event("workflow_run", &workflow_run(|_| {})).exits(0).passes_over("drafts");
}

#[test]
fn what_was_measured_while_a_pull_request_was_merged_is_published() {
    let chat = Chat::of_fork();
    chat.with_pull(|pull| pull.open = false);
    chat.event("workflow_run", &workflow_run(|_| {})).exits(0).measures(&["sim", "scout"], HEAD);
    // Another one of the same branch, at the same commit, that is open goes first.
    chat.with_repository(|repository| {
        let open = FakePull { open: true, ..repository.pulls[&7].clone() };
        repository.pulls.insert(6, open);
    });
    let heard = chat.event("workflow_run", &workflow_run(|_| {})).exits(0);
    assert_eq!(heard.said["plan"]["facts"]["pull_request"]["number"], 6);
}

#[test]
fn what_was_said_of_a_workflow_is_taken_back_when_nothing_of_it_is_published() {
    let chat = Chat::of_branch();
    let begun = chat.event("pull_request", &pull_request("opened")).exits(0);
    assert_eq!(begun.replies.len(), 2);
    let statuses = || {
        let all = chat.with_repository(|repository| repository.statuses.clone());
        let told = |(commit, body): &(String, Value)| {
            assert_eq!(commit, HEAD);
            format!("{} {}", body["context"], body["state"])
        };
        all.iter().map(told).collect::<Vec<_>>()
    };
    let pending = [r#""perftrail/sim" "pending""#, r#""perftrail/scout" "pending""#];
    assert_eq!(statuses(), pending);
    let ended = |id: u64, head: &str| {
        let payload = workflow_run(|run| {
            run["id"] = json!(id);
            run["head_sha"] = json!(head);
            run["head_repository"] = json!({"full_name": "lab/model"});
        });
        chat.event("workflow_run", &payload).exits(0)
    };
    chat.with_pull(|pull| pull.draft = true);
    // Of other workflows.
    ended(43, HEAD).passes_over("drafts");
    ended(4, NEXT).passes_over("no pull request stands at");
    assert!(chat.replies()[1..].iter().all(|text| text.contains(": running")));
    assert_eq!(statuses(), pending);

    // Said once, however often it is heard.
    for _ in 0..2 {
        ended(42, HEAD).passes_over("drafts");
        let [sim, scout] = &chat.replies()[..] else { panic!("{:?}", chat.replies()) };
        assert!(sim.contains("sim: not published") && sim.contains("drafts"), "{sim}");
        assert!(scout.contains("scout: not published"), "{scout}");
        let errors = [r#""perftrail/sim" "error""#, r#""perftrail/scout" "error""#];
        let all: Vec<_> = pending.iter().copied().chain(errors).collect();
        let mut told = statuses();
        told[2..].sort_by_key(|text| !text.contains("sim"));
        assert_eq!(told, all);
    }
}

#[test]
fn trusted_events_need_no_checkout() {
    let chat = Chat::of_branch().change(|it| {
        let at = |commit: &str| (commit.to_owned(), "perftrail.toml".to_owned());
        it.files.insert(at(NEXT), CONFIG.to_owned());
        it.references.insert("v1", NEXT.to_owned());
        it.commits.insert(HEAD.to_owned(), Vec::new());
        it.commits.insert(NEXT.to_owned(), vec![HEAD.to_owned()]);
    });
    let heard = |event: &str, payload: &Value| chat.event(event, payload).exits(0);
    heard("schedule", &json!({})).measures(&["sim", "night"], BASE);
    let dispatch = json!({"inputs": {"job": "sim", "params": "years=1", "ref": "v1"}});
    heard("workflow_dispatch", &dispatch).measures(&["sim"], NEXT);
    let other = json!({"client_payload": {"job": "night"}});
    heard("repository_dispatch", &other).measures(&["night"], BASE);
    let nowhere = json!({"inputs": {"ref": "nowhere"}});
    chat.event("workflow_dispatch", &nowhere).exits(5);
    let push = |sha: &str| {
        let payload = json!({"ref": "refs/heads/main", "before": HEAD});
        let mut command = chat.command("push", &payload);
        let answer = Answer::of(command.env("GITHUB_SHA", sha)).exits(0);
        serde_json::from_str::<Value>(&answer.stdout).expect("JSON")
    };
    assert_eq!(push(NEXT)["action"], "run");
    chat.with_repository(|it| it.compared = vec!["docs/a.md"]);
    assert!(push(NEXT)["reason"].as_str().expect("words").contains("skip_when_only"));
    chat.with_repository(|it| it.compared = vec!["docs/a.md"; 300]);
    assert_eq!(push(NEXT)["action"], "run", "GitHub lists no more than 300");
}
