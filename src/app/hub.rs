//! What GitHub knows of a results repository, asked before a push, and what it is told after one.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::github::{Client, Error, Visibility, expiry_warning};

/// From this size on a repository gets slow to work with, as GitHub's own limits say.
const LARGE_BYTES: u64 = 1_000_000_000;

/// A repository on GitHub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slug {
    /// The account or organisation.
    pub owner: String,
    /// The repository's name.
    pub name: String,
}

impl Slug {
    /// The repository at `url`, by https or SSH, where it lies on `server`; `None` elsewhere.
    pub fn of(url: &str, server: &str) -> Option<Self> {
        let server = server.trim_end_matches('/');
        let host = server.split_once("://").map_or(server, |(_, host)| host);
        let by_ssh = || {
            let rest = url.strip_prefix("ssh://").unwrap_or(url);
            let rest = rest.split_once('@').map_or(rest, |(_, rest)| rest).strip_prefix(host)?;
            // A port, or the colon of `git@host:owner/name`.
            let port = rest.strip_prefix(':').and_then(|rest| rest.split_once('/'));
            match port {
                Some((port, path)) if port.bytes().all(|c| c.is_ascii_digit()) => Some(path),
                _ => rest.strip_prefix([':', '/']),
            }
        };
        let path = match url.strip_prefix(server) {
            Some(path) => path.strip_prefix('/')?,
            None if url.starts_with("http") => return None,
            None => by_ssh()?,
        };
        let (owner, name) = path.trim_end_matches('/').split_once('/')?;
        let name = name.trim_end_matches(".git");
        let fits = |text: &str| !text.is_empty() && !text.contains('/');
        (fits(owner) && fits(name)).then(|| Self { owner: owner.to_owned(), name: name.to_owned() })
    }
}

/// What is known of the measured project's repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceVisibility {
    /// The event says whether it is private.
    Known {
        /// Whether it is.
        private: bool,
    },
    /// GitHub can be asked about it.
    Ask(Slug),
    /// Nobody can tell.
    Unknown,
}

/// A reason not to publish.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAllowed {
    /// The numbers of a private project would be public.
    #[error(
        "the measured project is private, but the results repository {owner}/{name} is public; set \
         `allow_public = true` in [results] if everybody may read the results, or name a private repository"
    )]
    PrivateToPublic {
        /// The account of the results repository.
        owner: String,
        /// Its name.
        name: String,
    },
}

/// Asks about the results repository before anything is pushed. What GitHub does not answer is a
/// warning: the push itself will show whether it works. A token that is `fresh` was made for this
/// push, and nobody need hear when it ends.
///
/// # Errors
/// When what GitHub says forbids the push.
pub fn before(
    client: &Client,
    results: &Slug,
    source: &SourceVisibility,
    allow_public: bool,
    fresh: bool,
    now: Timestamp,
) -> Result<Vec<String>, NotAllowed> {
    let mut warnings = Vec::new();
    match client.repository(&results.owner, &results.name) {
        Ok(repository) => {
            if repository.visibility == Visibility::Public && !allow_public {
                match is_private(client, source) {
                    Ok(Some(true)) => {
                        let Slug { owner, name } = results.clone();
                        return Err(NotAllowed::PrivateToPublic { owner, name });
                    }
                    Ok(_) => {}
                    Err(error) => warnings.push(format!(
                        "whether the measured project is private is not known: {error}; the results are public"
                    )),
                }
            }
            if let Some(size) = repository.size.filter(|size| *size > LARGE_BYTES) {
                warnings.push(format!(
                    "the results repository has {:.1} GB, more than the 1 GB that GitHub recommends: \
                     lower `max_file` and `max_run`, or begin a new repository",
                    size as f64 / 1e9
                ));
            }
        }
        // Without a token only what is public can be seen, and this is not.
        Err(Error::NotFound { .. }) if !client.has_token() => {}
        Err(error) => warnings.push(format!(
            "the results repository could not be looked up: {error}; publishing goes on"
        )),
    }
    if client.has_token()
        && !fresh
        && let Ok(Some(expires)) = client.token_expiry()
        && let Some(warning) = expiry_warning(expires, now)
    {
        warnings.push(warning.to_string());
    }
    Ok(warnings)
}

fn is_private(client: &Client, source: &SourceVisibility) -> Result<Option<bool>, Error> {
    match source {
        SourceVisibility::Known { private } => Ok(Some(*private)),
        SourceVisibility::Ask(slug) => {
            let repository = client.repository(&slug.owner, &slug.name)?;
            Ok(Some(repository.visibility != Visibility::Public))
        }
        SourceVisibility::Unknown => Ok(None),
    }
}

/// Sends the `repository_dispatch` that `[results] dispatch` names, after a push. A refusal is a
/// warning: the results are there.
pub fn after(
    client: &Client,
    results: &Slug,
    event: &str,
    commit: &str,
    runs: &[String],
) -> Option<String> {
    let mut payload = Map::new();
    payload.insert("commit".to_owned(), Value::from(commit));
    payload
        .insert("runs".to_owned(), Value::from(runs.iter().take(100).cloned().collect::<Vec<_>>()));
    client.dispatch(&results.owner, &results.name, event, &payload).err().map(|error| {
        format!("the event `{event}` was not sent: {error}; the results are published")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_on_the_server_is_looked_up() {
        let slug =
            |owner: &str, name: &str| Some(Slug { owner: owner.to_owned(), name: name.to_owned() });
        for (url, expected) in [
            ("https://github.com/o/n", slug("o", "n")),
            ("https://github.com/o/n.git/", slug("o", "n")),
            ("https://github.com.evil.org/o/n", None),
            ("https://github.com/o", None),
            ("https://github.com/o/n/x", None),
            ("git@github.com:o/n", slug("o", "n")),
            ("git@github.com:o/n.git", slug("o", "n")),
            ("ssh://git@github.com/o/n", slug("o", "n")),
            ("ssh://git@github.com:22/o/n.git", slug("o", "n")),
            ("git@github.com.evil.org:o/n", None),
            ("git@evil.org:github.com/o/n", None),
            ("file:///github.com/o/n", None),
        ] {
            assert_eq!(Slug::of(url, "https://github.com"), expected, "{url}");
        }
    }
}
