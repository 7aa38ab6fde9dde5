//! Check runs: what a commit's page shows beside its statuses.

use serde::Deserialize;
use serde_json::json;

use super::call::Call;
use super::error::Error;
use super::in_repository::InRepository;
use crate::model::names::CommitSha;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// Good.
    Success,
    /// Slower, or the job failed.
    Failure,
    /// Slower than a limit that warns, or nothing could be told.
    Neutral,
}

impl Conclusion {
    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Neutral => "neutral",
        }
    }
}

/// A check run. A text beyond 65,535 characters is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check<'a> {
    /// Its name: one of a name for each commit.
    pub name: &'a str,
    /// How it ended; `None` while it runs.
    pub conclusion: Option<Conclusion>,
    /// A line.
    pub title: &'a str,
    /// Markdown.
    pub summary: &'a str,
    /// Where to read more.
    pub url: Option<&'a str>,
}

impl InRepository<'_> {
    /// Sets a check run of a commit: the one of that name where this token's App made it, else a
    /// new one. Only Apps may.
    ///
    /// # Errors
    /// [`Error::Forbidden`] when the token may not, [`Error::NotFound`] on servers without checks.
    pub fn set_check(&self, commit: &CommitSha, check: &Check<'_>) -> Result<(), Error> {
        let mut body = json!({
            "name": check.name,
            "status": if check.conclusion.is_some() { "completed" } else { "in_progress" },
            "output": { "title": check.title, "summary": check.summary },
        });
        if let Some(conclusion) = check.conclusion {
            body["conclusion"] = conclusion.word().into();
        }
        if let Some(url) = check.url {
            body["details_url"] = url.into();
        }
        let doing = self.doing(&format!("set the check of {}", commit.short()));
        if let Some(id) = self.find_check(commit, check.name)? {
            let id = id.to_string();
            let path = self.path(&["check-runs", &id]);
            let call = Call::patch(&path, body.clone(), doing.clone());
            match self.wire().ask(&call) {
                Ok(_) => return Ok(()),
                // Another App's check bears the same name.
                Err(Error::Forbidden { .. } | Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        body["head_sha"] = commit.as_str().into();
        self.wire().ask(&Call::post(&self.path(&["check-runs"]), body, doing)).map(drop)
    }

    fn find_check(&self, commit: &CommitSha, name: &str) -> Result<Option<u64>, Error> {
        let path = self.path(&["commits", commit.as_str(), "check-runs"]);
        let query = [("check_name", name), ("filter", "latest"), ("per_page", "100")];
        let doing = self.doing(&format!("list the checks of {}", commit.short()));
        let found: ListWire = self.wire().ask_for(&Call::get(&path, &query, doing))?;
        Ok(found.check_runs.first().map(|check| check.id))
    }
}

#[derive(Deserialize)]
struct ListWire {
    check_runs: Vec<CheckWire>,
}

#[derive(Deserialize)]
struct CheckWire {
    id: u64,
}
