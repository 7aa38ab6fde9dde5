//! Every event by who caused it, where the pull request comes from, how it stands, and what was
//! asked for: each cell with its decision, through the built program.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use perftrail::trigger::payload::EVENTS;
use serde_json::{Value, json};

use crate::fake_github::Failure;
use crate::gate::{BASE, Chat, HEAD, NEXT, comment, pull_request, workflow_run};

const FROM: [(&str, Option<&str>); 3] =
    [("branch", Some("lab/model")), ("fork", Some("eve/model")), ("gone", None)];
const STATES: [&str; 3] = ["open", "draft", "closed"];
/// Who, as GitHub's API knows them.
const PEOPLE: [(&str, &str); 6] = [
    ("ada", "admin"),
    ("wim", "write"),
    ("rita", "read"),
    ("stranger", "nothing of their own"),
    ("perftrail[bot]", "a program"),
    ("wim", "GitHub does not say"),
];
const COMMANDS: [&str; 7] = [
    "Nice work",
    "/profile",
    "/profile sha=111111111111",
    "/profile sha=222222222222",
    "/profile nonsense",
    "/profile help",
    "/profile accept cpu_time because it does more",
];

/// A pull request that comes from there and stands so.
fn chat(from: Option<&'static str>, state: &str) -> Chat {
    let chat = Chat::of("eve/model");
    chat.with_pull(|pull| {
        pull.head_repository = from;
        pull.draft = state == "draft";
        pull.open = state != "closed";
    });
    chat
}

fn said(heard: &crate::gate::Heard) -> String {
    match heard.action() {
        "none" => format!("nothing: {}", heard.reason()),
        other => other.to_owned(),
    }
}

/// The rows of the table of events in the page.
fn rows() -> BTreeSet<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/triggers.md");
    let page = fs::read_to_string(page).expect("the page");
    let (_, rest) = page.split_once("\n## Events\n").expect("the heading");
    let table = rest.split("\n## ").next().unwrap_or_default();
    let cells = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    cells.map(str::to_owned).collect()
}

#[test]
fn every_cell_has_its_decision() {
    let mut cells = String::new();
    let mut seen = BTreeSet::new();
    let mut cell = |event: &str, words: &[&str], decision: &str| {
        seen.insert(event.to_owned());
        writeln!(cells, "{event} | {} | {decision}", words.join(" | ")).expect("a line");
    };
    for (from, repository) in FROM {
        for state in STATES {
            let chat = chat(repository, state);
            for (who, may) in PEOPLE {
                for command in COMMANDS {
                    let is_permitted = matches!(may, "admin" | "write");
                    if !is_permitted && !matches!(command, "/profile" | "Nice work") {
                        continue;
                    }
                    let id = chat.writes(who, command);
                    if may == "GitHub does not say" && command == "/profile" {
                        chat.github.fail([Failure::refusal(403, "Forbidden")]);
                    }
                    let heard = chat.event("issue_comment", &comment(id, who, command)).exits(0);
                    assert!(is_permitted || heard.action() == "none", "{who} {may} {command}");
                    cell("issue_comment", &[may, from, state, command], &said(&heard));
                }
            }
            for action in ["opened", "synchronize", "labeled", "closed"] {
                let heard = chat.event("pull_request", &pull_request(action)).exits(0);
                cell("pull_request", &[from, state, action], &said(&heard));
            }
            let payload = workflow_run(|run| {
                run["head_repository"] =
                    repository.map_or(Value::Null, |name| json!({"full_name": name}));
            });
            let heard = chat.event("workflow_run", &payload).exits(0);
            cell("workflow_run", &[from, state], &said(&heard));
        }
    }
    let chat = Chat::of("lab/model");
    for (event, payload, words) in [
        ("workflow_dispatch", json!({"inputs": {"job": "sim"}}), "a job of its own"),
        ("schedule", json!({"schedule": "17 3 * * *"}), "at an hour"),
        ("push", json!({"ref": "refs/heads/main", "before": NEXT}), "commits"),
        ("push", json!({"ref": "refs/heads/main", "deleted": true}), "a branch is gone"),
        ("repository_dispatch", json!({"client_payload": {}}), "another program"),
    ] {
        let heard = chat.event(event, &payload).exits(0);
        assert!(heard.action() == "none" || heard.commit() == BASE, "{event}");
        cell(event, &[words], &said(&heard));
    }
    // Page, program and this table know the same events.
    let known: BTreeSet<String> = EVENTS.map(str::to_owned).into();
    assert_eq!(rows(), known, "docs/triggers.md");
    assert_eq!(seen, known, "the cells");
    insta::assert_snapshot!("cells", cells);
}

/// From where, and how long before or after the comment, the head was pushed.
#[test]
fn nothing_that_was_pushed_after_the_comment_is_measured() {
    for (from, repository) in &FROM[..2] {
        for (pushed, command, runs) in [
            ("2026-12-14T11:59:59Z", "/profile", true),
            ("2026-12-14T12:00:00Z", "/profile", false),
            ("2026-12-14T12:00:01Z", "/profile", false),
            ("2026-12-14T12:00:01Z", "/profile sha=111111111111", true),
        ] {
            let chat = chat(*repository, "open");
            chat.with_pull(|pull| pull.head_pushed = Some(pushed));
            chat.with_repository(|here| {
                here.pushes.insert("faster", (HEAD.to_owned(), pushed));
            });
            let id = chat.writes("ada", command);
            let heard = chat.event("issue_comment", &comment(id, "ada", command)).exits(0);
            assert_eq!(heard.action() == "run", runs, "{from} {pushed} {command}");
        }
    }
}
