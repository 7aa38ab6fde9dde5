//! The payload of an event, as far as we need it.

use serde::Deserialize;
use serde_json::Value;

use crate::model::names::CommitSha;
use crate::model::text::shown;

/// An event on which one step may do everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Somebody pressed "Run workflow", or called the API.
    Dispatch(Asked),
    /// The clock.
    Schedule,
    /// Commits were pushed.
    Push(Push),
    /// Another program asked, by `repository_dispatch`.
    Repository(Asked),
}

/// What a dispatch asks for; an input that is missing or empty asks for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The job.
    pub job: Option<String>,
    /// Params, `NAME=VALUE`, one a line.
    pub params: Vec<String>,
    /// The branch, tag or commit.
    pub reference: Option<String>,
}

/// What was pushed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Push {
    /// The branch; `None` for a tag.
    pub branch: Option<String>,
    /// Where the branch stood before; `None` when it is new, or the payload does not say.
    pub before: Option<CommitSha>,
    /// Whether the branch or tag is gone.
    pub deleted: bool,
}

/// Why an event starts nothing here.
#[derive(Debug, thiserror::Error)]
pub enum TriggerError {
    /// Somebody else's code would run beside the secrets of this step.
    #[error(
        "the event `{event}` may run code of people without write access, and this one step holds the token that publishes; only workflow_dispatch, schedule, push and repository_dispatch may do all in one step"
    )]
    SeparateJobs {
        /// The event.
        event: String,
    },
    /// Nothing is known of such an event.
    #[error(
        "nothing is decided for the event `{event}`; known are issue_comment, pull_request, workflow_run, workflow_dispatch, schedule, push and repository_dispatch"
    )]
    Unknown {
        /// The event.
        event: String,
    },
    /// The payload is no JSON of the event's shape.
    #[error("the payload of the event `{event}` cannot be read: {source}")]
    Payload {
        /// The event.
        event: String,
        /// What is wrong.
        source: serde_json::Error,
    },
}

/// Reads the payload of the event `name`. An empty one says nothing.
///
/// # Errors
/// On an event that needs separate jobs, and when the payload is not of the event's shape.
pub fn read(name: &str, payload: &[u8]) -> Result<Trigger, TriggerError> {
    let payload = if payload.trim_ascii().is_empty() { b"{}" } else { payload };
    let failed = |source| TriggerError::Payload { event: shown(name), source };
    match name {
        "workflow_dispatch" => {
            let wire: DispatchWire = serde_json::from_slice(payload).map_err(failed)?;
            Ok(Trigger::Dispatch(Asked::of(&wire.inputs)))
        }
        "repository_dispatch" => {
            let wire: RepositoryWire = serde_json::from_slice(payload).map_err(failed)?;
            Ok(Trigger::Repository(Asked::of(&wire.client_payload)))
        }
        "schedule" => Ok(Trigger::Schedule),
        "push" => {
            let wire: PushWire = serde_json::from_slice(payload).map_err(failed)?;
            Ok(Trigger::Push(wire.into()))
        }
        other => Err(TriggerError::SeparateJobs { event: shown(other) }),
    }
}

#[derive(Deserialize)]
struct DispatchWire {
    #[serde(default)]
    inputs: Value,
}

#[derive(Deserialize)]
struct RepositoryWire {
    #[serde(default)]
    client_payload: Value,
}

#[derive(Deserialize)]
struct PushWire {
    #[serde(rename = "ref", default)]
    reference: Option<String>,
    #[serde(default)]
    before: Option<String>,
    #[serde(default)]
    deleted: bool,
}

impl From<PushWire> for Push {
    fn from(wire: PushWire) -> Self {
        let branch = wire.reference.as_deref().and_then(|name| name.strip_prefix("refs/heads/"));
        // A new branch comes from a commit of zeros.
        let before = wire.before.filter(|sha| sha.bytes().any(|digit| digit != b'0'));
        Self {
            branch: branch.map(str::to_owned),
            before: before.as_deref().and_then(CommitSha::parse),
            deleted: wire.deleted,
        }
    }
}

impl Asked {
    fn of(inputs: &Value) -> Self {
        let text = |name: &str| inputs.get(name).and_then(plain).filter(|text| !text.is_empty());
        let params: Vec<String> = match inputs.get("params") {
            Some(Value::Object(map)) => map
                .iter()
                .filter_map(|(name, value)| Some(format!("{name}={}", plain(value)?)))
                .collect(),
            _ => text("params")
                .map(|text| text.lines().map(|line| line.trim().to_owned()).collect())
                .unwrap_or_default(),
        };
        Self {
            job: text("job"),
            params: params.into_iter().filter(|line| !line.is_empty()).collect(),
            reference: text("ref"),
        }
    }
}

/// A value that people typed, as they typed it.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dispatch(payload: &str) -> Asked {
        match read("workflow_dispatch", payload.as_bytes()).unwrap() {
            Trigger::Dispatch(asked) => asked,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_dispatch_chooses_job_params_and_ref() {
        let asked = dispatch(
            r#"{"inputs":{"job":" scale_run ","params":"years=1\n\n population=2000 ","ref":"v1"}}"#,
        );
        assert_eq!(asked.job.as_deref(), Some("scale_run"));
        assert_eq!(asked.params, ["years=1", "population=2000"]);
        assert_eq!(asked.reference.as_deref(), Some("v1"));
        for nothing in ["", "{}", r#"{"inputs":null}"#, r#"{"inputs":{"job":"","params":""}}"#] {
            assert_eq!(dispatch(nothing), Asked::default(), "{nothing}");
        }
    }

    #[test]
    fn another_program_may_send_params_as_an_object() {
        let payload = br#"{"action":"profile","client_payload":{"params":{"years":1,"fast":true,"deep":{"x":1}}}}"#;
        let Trigger::Repository(asked) = read("repository_dispatch", payload).unwrap() else {
            panic!("another trigger");
        };
        assert_eq!(asked.params, ["years=1", "fast=true"]);
    }

    #[test]
    fn a_push_tells_branch_and_what_was_before() {
        let push = |payload: &str| match read("push", payload.as_bytes()).unwrap() {
            Trigger::Push(push) => push,
            other => panic!("{other:?}"),
        };
        let sha = "1".repeat(40);
        let found = push(&format!(r#"{{"ref":"refs/heads/a/b","before":"{sha}"}}"#));
        assert_eq!((found.branch.as_deref(), found.deleted), (Some("a/b"), false));
        assert_eq!(found.before.unwrap().as_str(), sha);
        let new = push(&format!(r#"{{"ref":"refs/tags/v1","before":"{}"}}"#, "0".repeat(40)));
        assert_eq!(new, Push::default());
        assert!(push(r#"{"deleted":true}"#).deleted);
    }

    #[test]
    fn every_other_event_needs_separate_jobs() {
        for event in [
            "pull_request",
            "pull_request_target",
            "issue_comment",
            "workflow_run",
            "pull_request_review_comment",
            "release",
            "\u{1b}[31m",
            "",
        ] {
            let error = read(event, b"{}").unwrap_err();
            assert!(matches!(error, TriggerError::SeparateJobs { .. }), "{event}: {error}");
            assert!(!error.to_string().contains('\u{1b}'));
        }
        for payload in [&b"7"[..], b"{", b"{\"deleted\":1}"] {
            assert!(matches!(read("push", payload), Err(TriggerError::Payload { .. })));
        }
    }
}
