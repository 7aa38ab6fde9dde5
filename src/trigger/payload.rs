//! The payload of an event that a gate decides on. Only what is needed is read: other servers leave
//! out fields that GitHub has, and newer ones add some.

use jiff::Timestamp;
use serde::Deserialize;

use super::event::{self, Trigger, TriggerError};
use crate::model::names::CommitSha;
use crate::model::text::shown;

/// The events that a gate decides on.
pub const EVENTS: [&str; 7] = [
    "issue_comment",
    "pull_request",
    "workflow_run",
    "workflow_dispatch",
    "schedule",
    "push",
    "repository_dispatch",
];

/// An event, as far as a gate needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Somebody wrote a comment under an issue or a pull request.
    Comment(Comment),
    /// Something happened to a pull request.
    PullRequest(PullRequestEvent),
    /// Another workflow ended.
    WorkflowRun(WorkflowRun),
    /// Something that only people with write access cause.
    Trusted(Trigger),
}

/// A comment under an issue or a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// `created`, `edited` or `deleted`.
    pub action: String,
    /// The number of the issue or pull request.
    pub number: u64,
    /// Whether it stands under a pull request.
    pub is_pull_request: bool,
    /// Its id.
    pub id: u64,
    /// Its Markdown.
    pub body: String,
    /// Who wrote it; `None` when the account is gone.
    pub author: Option<String>,
    /// Whether that is a human, as far as the server knows.
    pub is_human: bool,
    /// When it was written, by the server's clock.
    pub written: Timestamp,
}

/// Something that happened to a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequestEvent {
    /// `opened`, `synchronize`, `labeled`, …
    pub action: String,
    /// Its number.
    pub number: u64,
    /// Its newest commit when it happened.
    pub head: CommitSha,
    /// The label that was added or taken away.
    pub label: Option<String>,
}

/// A workflow that ended, and what it had been started for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowRun {
    /// `completed`, `requested` or `in_progress`.
    pub action: String,
    /// The id of the run.
    pub run_id: u64,
    /// Which try of it.
    pub attempt: u32,
    /// Its running number.
    pub run_number: u64,
    /// The event that had started it.
    pub event: String,
    /// The commit that it was for: of a pull request the head, not the merge.
    pub head: CommitSha,
    /// The branch of that commit.
    pub head_branch: String,
    /// The repository of that branch, `owner/name`; `None` when it is deleted.
    pub head_repository: Option<String>,
    /// Who had started it.
    pub actor: Option<String>,
    /// When this try began, by the server's clock.
    pub began: Timestamp,
    /// Whether every job of it that was not skipped succeeded.
    pub succeeded: bool,
}

/// Reads the payload of the event `name`.
///
/// # Errors
/// [`TriggerError::Unknown`] on an event that no gate decides on, and when the payload is not of
/// the event's shape.
pub fn read(name: &str, payload: &[u8]) -> Result<Event, TriggerError> {
    let failed = |source| TriggerError::Payload { event: shown(name), source };
    match name {
        "issue_comment" => {
            let wire: CommentWire = serde_json::from_slice(payload).map_err(failed)?;
            Ok(Event::Comment(wire.into()))
        }
        "pull_request" => {
            let wire: PullRequestWire = serde_json::from_slice(payload).map_err(failed)?;
            Ok(Event::PullRequest(wire.into()))
        }
        "workflow_run" => {
            let wire: WorkflowRunWire = serde_json::from_slice(payload).map_err(failed)?;
            Ok(Event::WorkflowRun(wire.into()))
        }
        other => event::read(other, payload).map(Event::Trusted).map_err(|error| match error {
            TriggerError::SeparateJobs { event } => TriggerError::Unknown { event },
            payload @ (TriggerError::Payload { .. } | TriggerError::Unknown { .. }) => payload,
        }),
    }
}

#[derive(Deserialize)]
struct CommentWire {
    action: String,
    issue: IssueWire,
    comment: CommentPartWire,
}

#[derive(Deserialize)]
struct IssueWire {
    number: u64,
    #[serde(default)]
    pull_request: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct CommentPartWire {
    id: u64,
    #[serde(default)]
    body: Option<String>,
    user: Option<UserWire>,
    created_at: Timestamp,
}

#[derive(Deserialize)]
struct UserWire {
    login: String,
    /// Servers without programs of their own do not say.
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct PullRequestWire {
    action: String,
    number: u64,
    pull_request: PullRequestPartWire,
    #[serde(default)]
    label: Option<LabelWire>,
}

#[derive(Deserialize)]
struct PullRequestPartWire {
    head: HeadWire,
}

#[derive(Deserialize)]
struct HeadWire {
    sha: CommitSha,
}

#[derive(Deserialize)]
struct LabelWire {
    name: String,
}

#[derive(Deserialize)]
struct WorkflowRunWire {
    action: String,
    workflow_run: WorkflowRunPartWire,
}

#[derive(Deserialize)]
struct WorkflowRunPartWire {
    id: u64,
    #[serde(default = "first")]
    run_attempt: u32,
    run_number: u64,
    event: String,
    head_sha: CommitSha,
    #[serde(default)]
    head_branch: Option<String>,
    head_repository: Option<RepositoryWire>,
    actor: Option<UserWire>,
    created_at: Timestamp,
    #[serde(default)]
    run_started_at: Option<Timestamp>,
    #[serde(default)]
    conclusion: Option<String>,
}

#[derive(Deserialize)]
struct RepositoryWire {
    full_name: String,
}

fn first() -> u32 {
    1
}

impl From<CommentWire> for Comment {
    fn from(wire: CommentWire) -> Self {
        let is_human = wire
            .comment
            .user
            .as_ref()
            .is_some_and(|user| user.kind.as_deref().is_none_or(|kind| kind == "User"));
        Self {
            action: wire.action,
            number: wire.issue.number,
            is_pull_request: wire.issue.pull_request.is_some(),
            id: wire.comment.id,
            body: wire.comment.body.unwrap_or_default(),
            author: wire.comment.user.map(|user| user.login),
            is_human,
            written: wire.comment.created_at,
        }
    }
}

impl From<PullRequestWire> for PullRequestEvent {
    fn from(wire: PullRequestWire) -> Self {
        Self {
            action: wire.action,
            number: wire.number,
            head: wire.pull_request.head.sha,
            label: wire.label.map(|label| label.name),
        }
    }
}

impl From<WorkflowRunWire> for WorkflowRun {
    fn from(wire: WorkflowRunWire) -> Self {
        let run = wire.workflow_run;
        Self {
            action: wire.action,
            run_id: run.id,
            attempt: run.run_attempt,
            run_number: run.run_number,
            event: run.event,
            head: run.head_sha,
            head_branch: run.head_branch.unwrap_or_default(),
            head_repository: run.head_repository.map(|repository| repository.full_name),
            actor: run.actor.map(|user| user.login),
            began: run.run_started_at.unwrap_or(run.created_at),
            succeeded: matches!(run.conclusion.as_deref(), Some("success" | "skipped")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const SHA: &str = "abababababababababababababababababababab";

    fn read_json(name: &str, payload: &Value) -> Result<Event, TriggerError> {
        read(name, payload.to_string().as_bytes())
    }

    fn comment(user: &Value) -> Comment {
        let payload = json!({
            "action": "created",
            "issue": {"number": 7, "pull_request": {"url": "x"}, "state": "open"},
            "comment": {"id": 3, "body": "/profile", "user": user, "created_at": "2026-12-14T12:00:00Z"},
        });
        match read_json("issue_comment", &payload).unwrap() {
            Event::Comment(comment) => comment,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn humans_and_programs_are_told_apart() {
        for (user, author, is_human) in [
            (json!({"login": "ada", "type": "User"}), Some("ada"), true),
            (json!({"login": "ada"}), Some("ada"), true),
            (json!({"login": "x[bot]", "type": "Bot"}), Some("x[bot]"), false),
            (json!({"login": "lab", "type": "Organization"}), Some("lab"), false),
            (Value::Null, None, false),
        ] {
            let comment = comment(&user);
            assert_eq!((comment.author.as_deref(), comment.is_human), (author, is_human), "{user}");
            assert!(comment.is_pull_request);
        }
    }

    #[test]
    fn an_issue_is_no_pull_request() {
        for issue in [json!({"number": 7}), json!({"number": 7, "pull_request": null})] {
            let payload = json!({
                "action": "created", "issue": issue,
                "comment": {"id": 3, "user": null, "created_at": "2026-12-14T12:00:00Z"},
            });
            let event = read_json("issue_comment", &payload).unwrap();
            assert!(matches!(event, Event::Comment(comment) if !comment.is_pull_request));
        }
    }

    #[test]
    fn a_pull_request_and_a_workflow_name_their_head() {
        let pull = json!({
            "action": "labeled", "number": 7, "label": {"name": "run-profiler"},
            "pull_request": {"head": {"sha": SHA, "repo": null}},
        });
        let Event::PullRequest(pull) = read_json("pull_request", &pull).unwrap() else {
            panic!("another event");
        };
        assert_eq!((pull.head.as_str(), pull.label.as_deref()), (SHA, Some("run-profiler")));
        let run = json!({"action": "completed", "workflow_run": {
            "id": 42, "run_number": 9, "event": "pull_request", "head_sha": SHA,
            "head_branch": "faster", "head_repository": {"full_name": "eve/model"},
            "actor": {"login": "eve"}, "created_at": "2026-12-14T12:00:00Z", "pull_requests": [],
        }});
        let Event::WorkflowRun(run) = read_json("workflow_run", &run).unwrap() else {
            panic!("another event");
        };
        assert_eq!((run.run_id, run.attempt, run.head.as_str()), (42, 1, SHA));
        assert_eq!(run.head_repository.as_deref(), Some("eve/model"));
    }

    #[test]
    fn what_no_gate_decides_on_is_named() {
        for event in ["pull_request_target", "release", "merge_group", "\u{1b}[31m", ""] {
            let error = read(event, b"{}").unwrap_err();
            assert!(matches!(error, TriggerError::Unknown { .. }), "{event}: {error}");
            assert!(!error.to_string().contains('\u{1b}'));
        }
        for (event, payload) in [
            ("issue_comment", "{}"),
            (
                "pull_request",
                r#"{"action":"opened","number":1,"pull_request":{"head":{"sha":"x"}}}"#,
            ),
            ("workflow_run", "7"),
            ("push", "7"),
        ] {
            let error = read(event, payload.as_bytes()).unwrap_err();
            assert!(matches!(error, TriggerError::Payload { .. }), "{event}: {error}");
        }
        assert!(matches!(read("schedule", b""), Ok(Event::Trusted(Trigger::Schedule))));
        let unknown = read("release", b"{}").unwrap_err().to_string();
        for event in EVENTS {
            assert!(unknown.contains(event), "{event}: {unknown}");
            assert!(!matches!(read(event, b"{}"), Err(TriggerError::Unknown { .. })), "{event}");
        }
    }
}
