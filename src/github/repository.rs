//! What GitHub knows of a repository, and how two of its commits lie to each other.

use serde::Deserialize;

use super::Client;
use super::call::Call;
use super::error::Error;

/// Who can see a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Everybody.
    Public,
    /// The members of the enterprise.
    Internal,
    /// Those who were given access.
    Private,
}

/// A repository, as far as perftrail needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// `owner/name` as GitHub writes it: another than was asked for, when it was renamed.
    pub full_name: String,
    /// Who can see it.
    pub visibility: Visibility,
    /// The default branch; GitHub names one even for an empty repository.
    pub default_branch: String,
    /// How much it takes on GitHub's disk, in bytes, to 1 KiB and some hours old; `None` where the
    /// server does not say.
    pub size: Option<u64>,
    /// Whether it is archived: nobody can push.
    pub archived: bool,
    /// Whether the token may push; `None` where the server does not say, as without a token.
    pub may_push: Option<bool>,
}

/// How two commits lie to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Commits of the head that the base has not.
    pub ahead: u64,
    /// Commits of the base that the head has not.
    pub behind: u64,
    /// The sha of their newest common ancestor.
    pub merge_base: String,
    /// Paths that differ between that ancestor and the head, a renamed file by both its names;
    /// GitHub lists 300 files at most, other servers perhaps none.
    pub paths: Vec<String>,
}

impl Client {
    /// Reads a repository.
    ///
    /// # Errors
    /// [`Error::Name`] before anything is sent; [`Error::NotFound`] also for what the token may
    /// not see.
    pub fn repository(&self, owner: &str, name: &str) -> Result<Repository, Error> {
        check_repository(owner, name)?;
        let doing = format!("read the repository {owner}/{name}");
        let call = Call::get(&["repos", owner, name], &[], doing);
        let wire: RepositoryWire = self.wire.ask_for(&call)?;
        Ok(Repository {
            visibility: wire.visibility(),
            full_name: wire.full_name,
            default_branch: wire.default_branch,
            size: wire.size.map(|kib| kib.saturating_mul(1024)),
            archived: wire.archived,
            may_push: wire.permissions.map(|permissions| permissions.push),
        })
    }

    /// Compares two commits, branches or tags.
    ///
    /// # Errors
    /// [`Error::Name`] before anything is sent; [`Error::NotFound`] when GitHub does not know one
    /// of them, or they have no common ancestor.
    pub fn compare(
        &self,
        owner: &str,
        name: &str,
        base: &str,
        head: &str,
    ) -> Result<Comparison, Error> {
        check_repository(owner, name)?;
        for text in [base, head] {
            if text.is_empty() || text.contains("..") || text.contains(char::is_control) {
                return Err(Error::Name { what: "ref", text: text.to_owned() });
            }
        }
        let range = format!("{base}...{head}");
        let doing = format!("compare {range} in {owner}/{name}");
        // One commit is enough: the counts are of all of them.
        let call =
            Call::get(&["repos", owner, name, "compare", &range], &[("per_page", "1")], doing);
        let wire: ComparisonWire = self.wire.ask_for(&call)?;
        Ok(Comparison {
            ahead: wire.ahead_by,
            behind: wire.behind_by,
            merge_base: wire.merge_base_commit.sha,
            paths: wire
                .files
                .into_iter()
                .flat_map(|file| [Some(file.filename), file.previous_filename])
                .flatten()
                .collect(),
        })
    }
}

/// Keeps names out of the path that would change it.
pub(super) fn check_repository(owner: &str, name: &str) -> Result<(), Error> {
    for (what, text) in [("owner", owner), ("repository name", name)] {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let dots = text.bytes().all(|byte| byte == b'.');
        if dots || text.len() > 100 || !text.bytes().all(known) {
            return Err(Error::Name { what, text: text.chars().take(100).collect() });
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct RepositoryWire {
    full_name: String,
    private: bool,
    visibility: Option<Visibility>,
    default_branch: String,
    size: Option<u64>,
    #[serde(default)]
    archived: bool,
    permissions: Option<PermissionsWire>,
}

impl RepositoryWire {
    /// Older servers say no more than `private`.
    fn visibility(&self) -> Visibility {
        match self.visibility {
            Some(visibility) => visibility,
            None if self.private => Visibility::Private,
            None => Visibility::Public,
        }
    }
}

#[derive(Deserialize)]
struct PermissionsWire {
    #[serde(default)]
    push: bool,
}

#[derive(Deserialize)]
struct ComparisonWire {
    ahead_by: u64,
    behind_by: u64,
    merge_base_commit: CommitWire,
    #[serde(default)]
    files: Vec<FileWire>,
}

#[derive(Deserialize)]
struct FileWire {
    filename: String,
    previous_filename: Option<String>,
}

#[derive(Deserialize)]
struct CommitWire {
    sha: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_change_the_path_are_refused() {
        for (owner, name) in
            [("", "n"), ("o", ""), ("..", "n"), ("o", "."), ("o/p", "n"), ("o", "n?x"), ("o", "ñ")]
        {
            assert!(check_repository(owner, name).is_err(), "{owner} {name}");
        }
        assert!(check_repository("UCL", "TLOmodel-profiling").is_ok());
        assert!(check_repository("o_p", ".github").is_ok());
    }

    #[test]
    fn visibility_is_read_on_old_servers_too() {
        let read = |text: &str| {
            let text = format!(r#"{{"full_name":"o/n","default_branch":"main",{text}}}"#);
            serde_json::from_str::<RepositoryWire>(&text).map(|wire| wire.visibility()).ok()
        };
        assert_eq!(read(r#""private":true"#), Some(Visibility::Private));
        assert_eq!(read(r#""private":false"#), Some(Visibility::Public));
        assert_eq!(read(r#""private":true,"visibility":"internal""#), Some(Visibility::Internal));
        assert_eq!(read(r#""visibility":"public""#), None);
    }
}
