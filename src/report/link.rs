//! Addresses that are safe to stand in a link: made of checked or encoded characters only.

use std::fmt::Write as _;

use serde::Serialize;

use crate::model::names::CommitSha;

/// An address whose every character is inert in an HTML attribute and in a Markdown link.
/// Only this module makes one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Url(String);

impl Url {
    /// The address, as it may stand in a link.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// A web address that somebody gave; `None` unless it is plain http(s) without odd characters.
    pub(crate) fn web(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
        let fits = !rest.is_empty() && text.len() <= 500 && rest.bytes().all(is_plain);
        fits.then(|| Self(text.to_owned()))
    }

    /// A file beside the page; `None` for a path that leaves the folder.
    pub(crate) fn beside(path: &str) -> Option<Self> {
        let inside = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
        (inside && path.len() <= 1000).then(|| Self(encoded(path)))
    }

    /// A folder or file of the results repository, seen from the folder `from`; `None` as above.
    pub(crate) fn within(from: &str, path: &str) -> Option<Self> {
        let Self(target) = Self::beside(path)?;
        let up = "../".repeat(from.split('/').filter(|part| !part.is_empty()).count());
        Some(Self(format!("{up}{target}")))
    }

    /// A commit's page on its host; `None` where the parts are no names of a host, an owner and a
    /// repository.
    pub(crate) fn commit(host: &str, owner: &str, name: &str, sha: &CommitSha) -> Option<Self> {
        let repository = repository(host, owner, name)?;
        Some(Self(format!("{repository}/commit/{sha}")))
    }

    /// The page of what lies between two commits; `None` as above.
    pub(crate) fn compare(
        host: &str,
        owner: &str,
        name: &str,
        from: &CommitSha,
        to: &CommitSha,
    ) -> Option<Self> {
        let repository = repository(host, owner, name)?;
        Some(Self(format!("{repository}/compare/{from}...{to}")))
    }
}

/// The address of a repository of names that need no encoding.
fn repository(host: &str, owner: &str, name: &str) -> Option<String> {
    let is_part = |text: &str| {
        !text.is_empty()
            && !text.starts_with('.')
            && text.len() <= 100
            && text.bytes().all(|c| c.is_ascii_alphanumeric() || b"-._".contains(&c))
    };
    let fits =
        host.contains('.') && is_part(host) && is_part(name) && owner.split('/').all(is_part);
    fits.then(|| format!("https://{host}/{owner}/{name}"))
}

const fn is_plain(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'/' | b'.' | b'-' | b'_' | b'~' | b':' | b'%')
}

fn encoded(path: &str) -> String {
    path.bytes().fold(String::with_capacity(path.len()), |mut text, c| {
        if is_plain(c) && !matches!(c, b':' | b'%') {
            text.push(char::from(c));
        } else {
            let _ = write!(text, "%{c:02X}");
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn web_addresses_are_plain() {
        assert!(Url::web("https://github.com/a/b/actions/runs/12").is_some());
        for text in [
            "javascript:alert(1)",
            "https://e/\"onclick=x",
            "https://e/a)b",
            "https://e/<b>",
            "https://",
            "//e",
            "https://e/\u{202e}",
        ] {
            assert_eq!(Url::web(text), None, "{text}");
        }
    }

    #[test]
    fn files_stay_in_their_folder() {
        let beside = |path| Url::beside(path).map(|url| url.0);
        assert_eq!(beside("files/a b.csv").as_deref(), Some("files/a%20b.csv"));
        assert_eq!(beside("javascript:x").as_deref(), Some("javascript%3Ax"));
        assert_eq!(beside("files/\"><b").as_deref(), Some("files/%22%3E%3Cb"));
        for path in ["../x", "/etc/passwd", "files//x", "files/../../x", ""] {
            assert_eq!(beside(path), None, "{path}");
        }
        let up = Url::within("runs/ab/c/2026-11-30/r", "runs/x/y");
        assert_eq!(up.map(|url| url.0).as_deref(), Some("../../../../../runs/x/y"));
    }

    #[test]
    fn commits_have_a_page_on_a_known_host() {
        let sha = CommitSha::parse(&"a".repeat(40)).expect("a commit");
        let url = |host, owner, name| Url::commit(host, owner, name, &sha).map(|url| url.0);
        assert_eq!(
            url("github.com", "UCL", "TLOmodel"),
            Some(format!("https://github.com/UCL/TLOmodel/commit/{sha}"))
        );
        assert_eq!(url("localhost", "a", "b"), None);
        assert_eq!(url("github.com", "a/..", "b"), None);
        assert_eq!(url("github.com", "a", "b\"c"), None);
        assert_eq!(url("github.com", "", "b"), None);
    }
}
