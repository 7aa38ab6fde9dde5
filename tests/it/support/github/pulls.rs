//! Pull requests, their comments, and who may do what.

use std::collections::BTreeMap;

use axum::http::Method;
use serde_json::{Value, json};

use super::{FakeRepository, FakeToken, NOW, Reply, Seen};

/// The login that comments written by a token bear.
pub(crate) const BOT: &str = "perftrail[bot]";

/// A pull request and what stands under it.
#[derive(Clone, Debug)]
pub(crate) struct FakePull {
    pub(crate) open: bool,
    pub(crate) draft: bool,
    pub(crate) head: String,
    pub(crate) head_ref: &'static str,
    /// `None`: the fork is deleted.
    pub(crate) head_repository: Option<&'static str>,
    pub(crate) head_pushed: Option<&'static str>,
    pub(crate) base: String,
    pub(crate) labels: Vec<&'static str>,
    /// The commit that holds it, and when it was merged.
    pub(crate) merged: Option<(String, &'static str)>,
    /// Paths, with the name before a renaming.
    pub(crate) files: Vec<(String, Option<String>)>,
    pub(crate) comments: Vec<FakeComment>,
}

impl FakePull {
    pub(crate) fn from(repository: &'static str, head: &str) -> Self {
        Self {
            open: true,
            draft: false,
            head: head.to_owned(),
            head_ref: "faster",
            head_repository: Some(repository),
            head_pushed: None,
            base: "0".repeat(40),
            labels: Vec::new(),
            merged: None,
            files: Vec::new(),
            comments: Vec::new(),
        }
    }

    /// Merges it.
    pub(crate) fn merged(self, commit: &str, at: &'static str) -> Self {
        Self { open: false, merged: Some((commit.to_owned(), at)), ..self }
    }

    /// Adds a comment of somebody's.
    pub(crate) fn said(mut self, author: &str, body: &str) -> Self {
        let id = 1000 + self.comments.len() as u64;
        let (author, body) = (author.to_owned(), body.to_owned());
        self.comments.push(FakeComment { id, author, body, reactions: Vec::new() });
        self
    }
}

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FakeComment {
    pub(crate) id: u64,
    pub(crate) author: String,
    pub(crate) body: String,
    /// Who, and which.
    pub(crate) reactions: Vec<(String, String)>,
}

impl FakeComment {
    fn described(&self) -> Value {
        json!({
            "id": self.id,
            "user": {"login": self.author, "type": "User"},
            "body": self.body,
            "html_url": format!("https://github.example/c/{}", self.id),
        })
    }
}

/// Answers what is about pull requests, people and statuses; `None` when it is about none.
pub(super) fn reply(
    name: &str,
    repository: &mut FakeRepository,
    rest: &[&str],
    method: &Method,
    seen: &Seen,
    token: &FakeToken,
) -> Option<Reply> {
    if method == Method::GET
        && let Some(reply) = held(name, repository, rest, &seen.target)
    {
        return Some(reply);
    }
    let body = seen.body.clone().unwrap_or_default();
    let may_tell = token.may_tell.contains(name);
    let refused = || Reply::refusal(403, "Resource not accessible by integration");
    let reply = match (method.as_str(), rest) {
        ("GET", ["collaborators", login, "permission"]) => match repository.people.get(*login) {
            Some(word) => Reply::json(200, &json!({"permission": word, "role_name": word})),
            None if repository.visibility == "public" => {
                Reply::json(200, &json!({"permission": "read", "role_name": "read"}))
            }
            None => Reply::refusal(404, "Not Found"),
        },
        ("GET", ["activity"]) => activity(repository, &seen.target),
        ("GET", ["pulls", number]) => match repository.pulls.get(&number.parse().ok()?) {
            Some(pull) => Reply::json(200, &described(name, number, pull)),
            None => Reply::refusal(404, "Not Found"),
        },
        ("GET", ["pulls", number, "files"]) => {
            let pull = repository.pulls.get(&number.parse().ok()?)?;
            let files = pull.files.iter().take(3000).map(|(name, before)| match before {
                Some(before) => json!({"filename": name, "previous_filename": before}),
                None => json!({"filename": name}),
            });
            page(files.collect(), &seen.target)
        }
        ("GET", ["issues", number, "comments"]) => {
            let pull = repository.pulls.get(&number.parse().ok()?)?;
            page(pull.comments.iter().map(FakeComment::described).collect(), &seen.target)
        }
        ("POST" | "PATCH", ["issues", ..]) | ("POST", ["statuses", _]) if !may_tell => refused(),
        ("POST", ["issues", number, "comments"]) => {
            let pull = repository.pulls.get_mut(&number.parse().ok()?)?;
            *pull = pull.clone().said(BOT, body["body"].as_str().unwrap_or_default());
            Reply::json(201, &pull.comments.last()?.described())
        }
        ("PATCH", ["issues", "comments", id]) => match comment(repository, id) {
            Some(comment) if comment.author == BOT => {
                body["body"].as_str().unwrap_or_default().clone_into(&mut comment.body);
                Reply::json(200, &comment.described())
            }
            Some(_) => refused(),
            None => Reply::refusal(404, "Not Found"),
        },
        ("POST", ["issues", "comments", id, "reactions"]) => match comment(repository, id) {
            Some(comment) => {
                let one = (BOT.to_owned(), body["content"].as_str()?.to_owned());
                let again = comment.reactions.contains(&one);
                if !again {
                    comment.reactions.push(one);
                }
                Reply::json(if again { 200 } else { 201 }, &json!({"id": 1}))
            }
            None => Reply::refusal(404, "Not Found"),
        },
        ("POST", ["statuses", sha]) => {
            if body["description"].as_str().unwrap_or_default().chars().count() > 140 {
                return Some(Reply::refusal(422, "description is too long"));
            }
            repository.statuses.push(((*sha).to_owned(), body));
            Reply::json(201, &json!({"id": repository.statuses.len()}))
        }
        _ => return None,
    };
    Some(reply)
}

fn comment<'a>(repository: &'a mut FakeRepository, id: &str) -> Option<&'a mut FakeComment> {
    let id: u64 = id.parse().ok()?;
    let pulls = repository.pulls.values_mut();
    pulls.flat_map(|pull| pull.comments.iter_mut()).find(|comment| comment.id == id)
}

fn described(name: &str, number: &str, pull: &FakePull) -> Value {
    let head_repository = pull
        .head_repository
        .map(|name| json!({"full_name": name, "pushed_at": pull.head_pushed.unwrap_or(NOW)}));
    json!({
        "number": number.parse::<u64>().unwrap_or_default(),
        "state": if pull.open { "open" } else { "closed" },
        "draft": pull.draft,
        "head": {"sha": pull.head, "ref": pull.head_ref, "repo": head_repository},
        "base": {"sha": pull.base, "ref": "main", "repo": {"full_name": name, "pushed_at": NOW}},
        "labels": pull.labels.iter().map(|name| json!({"name": name})).collect::<Vec<_>>(),
        "merged_at": pull.merged.as_ref().map(|(_, at)| at),
        // Of an open one: a commit that was made to try it.
        "merge_commit_sha": pull.merged.as_ref().map_or("e".repeat(40), |(sha, _)| sha.clone()),
    })
}

/// Answers what is there at a commit, and which pull request a branch has.
fn held(name: &str, repository: &FakeRepository, rest: &[&str], target: &str) -> Option<Reply> {
    let reply = match rest {
        ["pulls"] => {
            let (wanted, all) = (query(target, "head"), query(target, "state") == "all");
            let pulls = repository.pulls.iter().rev().filter(|(_, pull)| {
                let owner = pull.head_repository.unwrap_or_default().split('/').next();
                let from = format!("{}:{}", owner.unwrap_or_default(), pull.head_ref);
                (all || pull.open) && from == wanted
            });
            let pulls = pulls.map(|(number, pull)| described(name, &number.to_string(), pull));
            Reply::json(200, &Value::Array(pulls.collect()))
        }
        ["contents", path @ ..] => {
            match repository.files.get(&(query(target, "ref"), path.join("/"))) {
                Some(text) => Reply { status: 200, headers: Vec::new(), body: text.clone() },
                None => Reply::refusal(404, "Not Found"),
            }
        }
        ["commits", commit, "statuses"] => {
            let newest = repository.statuses.iter().rev().filter(|(sha, _)| sha == commit);
            page(newest.map(|(_, body)| body.clone()).collect(), target)
        }
        ["commits", reference] => {
            match repository.references.get(reference.replace("%2F", "/").as_str()) {
                Some(sha) => Reply::json(200, &json!({"sha": sha, "commit": {}})),
                None => Reply::refusal(422, "No commit found for SHA"),
            }
        }
        _ => return None,
    };
    Some(reply)
}

/// A value of the query, `%2F`, `%3A` and `+` read back; empty when it is not there.
fn query(target: &str, key: &str) -> String {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let value = query.split('&').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
    value.unwrap_or_default().replace("%2F", "/").replace("%3A", ":")
}

fn activity(repository: &FakeRepository, target: &str) -> Reply {
    let branch = query(target, "ref");
    let pushes = repository.pushes.get(branch.trim_start_matches("refs/heads/"));
    let entries = pushes.map(|(sha, at)| json!({"after": sha, "timestamp": at, "ref": branch}));
    Reply::json(200, &Value::Array(entries.into_iter().collect()))
}

/// One page of a list, as the query asks for it: 30 entries where it does not.
pub(super) fn page(entries: Vec<Value>, target: &str) -> Reply {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let pairs: BTreeMap<&str, usize> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .filter_map(|(key, value)| Some((key, value.parse().ok()?)))
        .collect();
    let size = pairs.get("per_page").copied().unwrap_or(30).min(100);
    let skipped = size * (pairs.get("page").copied().unwrap_or(1) - 1);
    Reply::json(200, &Value::Array(entries.into_iter().skip(skipped).take(size).collect()))
}
