//! Where results are told beside comments: check runs and issues.

use axum::http::Method;
use serde_json::{Value, json};

use super::pulls::{BOT, page};
use super::{FakeRepository, FakeToken, Reply, Seen};

/// A check run.
#[derive(Clone, Debug)]
pub(crate) struct FakeCheck {
    pub(crate) id: u64,
    pub(crate) sha: String,
    pub(crate) body: Value,
}

/// An issue that is no pull request.
#[derive(Clone, Debug)]
pub(crate) struct FakeIssue {
    pub(crate) number: u64,
    pub(crate) author: String,
    pub(crate) open: bool,
    pub(crate) title: String,
    pub(crate) body: String,
}

impl FakeIssue {
    fn described(&self) -> Value {
        json!({
            "number": self.number,
            "state": if self.open { "open" } else { "closed" },
            "title": self.title,
            "body": self.body,
            "user": {"login": self.author, "type": "Bot"},
        })
    }
}

/// Answers what is about check runs and issues; `None` when it is about neither.
pub(super) fn reply(
    name: &str,
    repository: &mut FakeRepository,
    rest: &[&str],
    method: &Method,
    seen: &Seen,
    token: &FakeToken,
) -> Option<Reply> {
    let body = seen.body.clone().unwrap_or_default();
    let is_theirs = matches!(
        (method.as_str(), rest),
        (_, ["commits", _, "check-runs"] | ["check-runs", ..])
            | ("GET" | "POST", ["issues"])
            | ("PATCH", ["issues", _])
    );
    if !is_theirs {
        return None;
    }
    if method != Method::GET && !token.may_tell.contains(name) {
        return Some(Reply::refusal(403, "Resource not accessible by integration"));
    }
    match (method.as_str(), rest) {
        ("GET", ["commits", sha, "check-runs"]) => {
            let wanted = query(seen, "check_name").unwrap_or_default();
            let found = repository
                .checks
                .iter()
                .filter(|check| check.sha == **sha && check.body["name"] == *wanted)
                .map(|check| json!({"id": check.id, "name": wanted}));
            let found: Vec<Value> = found.collect();
            Some(Reply::json(200, &json!({"total_count": found.len(), "check_runs": found})))
        }
        ("POST", ["check-runs"]) => {
            let id = 1 + repository.checks.len() as u64;
            let sha = body["head_sha"].as_str()?.to_owned();
            repository.checks.push(FakeCheck { id, sha, body });
            Some(Reply::json(201, &json!({"id": id})))
        }
        ("PATCH", ["check-runs", id]) => {
            let id: u64 = id.parse().ok()?;
            let check = repository.checks.iter_mut().find(|check| check.id == id)?;
            check.body = body;
            Some(Reply::json(200, &json!({"id": id})))
        }
        ("GET", ["issues"]) => {
            let creator = query(seen, "creator");
            let open = query(seen, "state").as_deref() == Some("open");
            let found = repository.issues.iter().rev().filter(|issue| {
                (!open || issue.open) && creator.as_ref().is_none_or(|who| *who == issue.author)
            });
            Some(page(found.map(FakeIssue::described).collect(), &seen.target))
        }
        ("POST", ["issues"]) => {
            let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
            let issue = FakeIssue {
                number: 100 + repository.issues.len() as u64,
                author: BOT.to_owned(),
                open: true,
                title: text("title"),
                body: text("body"),
            };
            let reply = Reply::json(201, &issue.described());
            repository.issues.push(issue);
            Some(reply)
        }
        ("PATCH", ["issues", number]) => {
            let number: u64 = number.parse().ok()?;
            let issue = repository.issues.iter_mut().find(|issue| issue.number == number)?;
            if let Some(text) = body["body"].as_str() {
                text.clone_into(&mut issue.body);
            }
            if let Some(state) = body["state"].as_str() {
                issue.open = state == "open";
            }
            Some(Reply::json(200, &issue.described()))
        }
        _ => None,
    }
}

/// A value of the query, decoded as far as names here need it.
fn query(seen: &Seen, key: &str) -> Option<String> {
    let (_, query) = seen.target.split_once('?')?;
    let pair = query.split('&').find_map(|pair| pair.strip_prefix(&format!("{key}=")))?;
    let mut text = pair.replace('+', " ");
    for (code, sign) in [("%2F", "/"), ("%5B", "["), ("%5D", "]"), ("%28", "("), ("%29", ")")] {
        text = text.replace(code, sign);
    }
    Some(text)
}
