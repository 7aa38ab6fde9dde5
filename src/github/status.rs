//! The status of a commit.

use serde::Deserialize;
use serde_json::json;

use super::call::Call;
use super::error::Error;
use super::in_repository::{InRepository, Seen};
use crate::model::names::CommitSha;
use crate::model::text::shown_up_to;

/// The longest description that GitHub takes, in characters.
const DESCRIPTION_MAX: usize = 140;
/// GitHub takes so many of each name for a commit; older ones say nothing.
const STATUSES_MAX: usize = 1000;

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusState {
    /// Under way.
    Pending,
    /// Good.
    Success,
    /// Slower, or the job failed.
    Failure,
    /// It could not be found out.
    Error,
}

impl StatusState {
    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Error => "error",
        }
    }
}

/// What is said of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status<'a> {
    /// How far it is.
    pub state: StatusState,
    /// Which status: a newer one of the same name replaces an older one.
    pub context: &'a str,
    /// What happened; cut at 140 characters, without control characters.
    pub description: &'a str,
    /// Where to read more.
    pub url: Option<&'a str>,
}

/// A status that stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Which status.
    pub context: String,
    /// Its state, in the API's word.
    pub state: String,
    /// The page that it links to.
    pub url: Option<String>,
}

#[derive(Deserialize)]
struct StatusWire {
    context: String,
    state: String,
    #[serde(default)]
    target_url: Option<String>,
}

impl InRepository<'_> {
    /// The statuses of a commit, of each name the newest.
    ///
    /// # Errors
    /// Whatever keeps GitHub from answering.
    pub fn statuses(&self, commit: &CommitSha) -> Result<Vec<Standing>, Error> {
        let mut found: Vec<Standing> = Vec::new();
        let path = ["commits", commit.as_str(), "statuses"];
        let doing = format!("list the statuses of {}", commit.short());
        // The newest come first.
        self.pages(&path, &doing, STATUSES_MAX, |wire: StatusWire| {
            if found.iter().all(|one| one.context != wire.context) {
                let StatusWire { context, state, target_url: url } = wire;
                found.push(Standing { context, state, url });
            }
            Seen::More
        })?;
        Ok(found)
    }

    /// Sets a status of a commit.
    ///
    /// # Errors
    /// [`Error::Forbidden`] when the token may not set statuses, [`Error::Refused`] when the
    /// commit has had 1,000 of them.
    pub fn set_status(&self, commit: &CommitSha, status: &Status<'_>) -> Result<(), Error> {
        let mut body = json!({
            "state": status.state.word(),
            "context": status.context,
            "description": description(status.description),
        });
        if let Some(url) = status.url {
            body["target_url"] = url.into();
        }
        let path = self.path(&["statuses", commit.as_str()]);
        let doing = self.doing(&format!("set the status of {}", commit.short()));
        // The newest one counts, so it may be sent again.
        self.wire().ask(&Call::post_again(&path, body, doing)).map(drop)
    }
}

/// Cut so that GitHub takes it, hidden characters made visible.
fn description(text: &str) -> String {
    let shown = shown_up_to(text, DESCRIPTION_MAX);
    if shown.chars().count() <= DESCRIPTION_MAX {
        return shown;
    }
    shown.chars().take(DESCRIPTION_MAX - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_fits() {
        for (text, length) in [("fine", 4), (&"é".repeat(140), 140), (&"é".repeat(141), 140)] {
            assert_eq!(description(text).chars().count(), length);
        }
        assert_eq!(description(&"\u{202e}".repeat(140)).chars().count(), 140);
    }
}
