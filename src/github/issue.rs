//! Issues that perftrail itself opens.

use serde::Deserialize;
use serde_json::json;

use super::call::Call;
use super::error::Error;
use super::in_repository::{InRepository, Seen};

/// More issues of one writer are not searched.
const ISSUES_MAX: usize = 1_000;

/// An issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Its number.
    pub number: u64,
    /// Whether it is open.
    pub open: bool,
    /// Its title.
    pub title: String,
    /// Its Markdown.
    pub body: String,
}

/// What an issue is changed to; what is `None` stays.
#[derive(Clone, Copy, Debug, Default)]
pub struct IssueChange<'a> {
    /// The title.
    pub title: Option<&'a str>,
    /// The Markdown.
    pub body: Option<&'a str>,
    /// Open or closed.
    pub open: Option<bool>,
}

impl InRepository<'_> {
    /// The newest open issue that `author` wrote and `wanted` takes.
    ///
    /// # Errors
    /// Whatever keeps GitHub from answering.
    pub fn find_issue(
        &self,
        author: &str,
        wanted: impl Fn(&Issue) -> bool,
    ) -> Result<Option<Issue>, Error> {
        let mut found = None;
        let query = [("state", "open"), ("creator", author)];
        self.pages_of(&["issues"], &query, "list issues", ISSUES_MAX, |wire: IssueWire| {
            let by = wire.user.as_ref().map(|user| user.login.clone());
            let is_pull_request = wire.pull_request.is_some();
            let issue = Issue::from(wire);
            if !is_pull_request && by.as_deref() == Some(author) && wanted(&issue) {
                found = Some(issue);
                return Seen::Enough;
            }
            Seen::More
        })?;
        Ok(found)
    }

    /// Opens an issue. It is sent once: when it is not known whether GitHub took it,
    /// [`Error::unsure`] is true, and [`InRepository::find_issue`] tells.
    ///
    /// # Errors
    /// [`Error::Forbidden`] when the token may not.
    pub fn open_issue(&self, title: &str, body: &str) -> Result<Issue, Error> {
        let body = json!({ "title": title, "body": body });
        let call = Call::post(&self.path(&["issues"]), body, self.doing("open an issue"));
        self.wire().ask_for::<IssueWire>(&call).map(Issue::from)
    }

    /// Changes an issue.
    ///
    /// # Errors
    /// [`Error::NotFound`] when it is gone.
    pub fn change_issue(&self, number: u64, change: IssueChange<'_>) -> Result<(), Error> {
        let mut body = json!({});
        if let Some(title) = change.title {
            body["title"] = title.into();
        }
        if let Some(text) = change.body {
            body["body"] = text.into();
        }
        match change.open {
            Some(true) => body["state"] = "open".into(),
            Some(false) => {
                body["state"] = "closed".into();
                body["state_reason"] = "completed".into();
            }
            None => {}
        }
        let text = number.to_string();
        let doing = self.doing(&format!("change issue {number}"));
        self.wire().ask(&Call::patch(&self.path(&["issues", &text]), body, doing)).map(drop)
    }
}

#[derive(Deserialize)]
struct IssueWire {
    number: u64,
    state: String,
    #[serde(default)]
    title: String,
    body: Option<String>,
    user: Option<UserWire>,
    pull_request: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct UserWire {
    login: String,
}

impl From<IssueWire> for Issue {
    fn from(wire: IssueWire) -> Self {
        Self {
            number: wire.number,
            open: wire.state == "open",
            title: wire.title,
            body: wire.body.unwrap_or_default(),
        }
    }
}
