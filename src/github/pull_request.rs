//! Pull requests: where they stand, what they change, when they were pushed.

use jiff::Timestamp;
use serde::Deserialize;

use super::call::Call;
use super::error::Error;
use super::in_repository::{InRepository, Seen};
use crate::model::names::CommitSha;

/// The most files of a pull request that GitHub lists.
const FILES_MAX: usize = 3000;

/// A pull request, as far as perftrail needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    /// Its number.
    pub number: u64,
    /// Whether it is neither merged nor closed.
    pub open: bool,
    /// Whether it is a draft; servers without drafts have none.
    pub draft: bool,
    /// Its newest commit.
    pub head: CommitSha,
    /// The branch that it comes from.
    pub head_ref: String,
    /// The repository that it comes from, `owner/name`; `None` when that is deleted.
    pub head_repository: Option<String>,
    /// When that repository was last pushed to, by the server's clock; `None` when not told.
    pub head_pushed: Option<Timestamp>,
    /// The commit that it is to be merged onto.
    pub base: CommitSha,
    /// The branch that it is to be merged into.
    pub base_ref: String,
    /// Its labels.
    pub labels: Vec<String>,
    /// How it was merged; `None` while it is not.
    pub merged: Option<Merged>,
}

/// How a pull request was merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The commit on the branch that holds it.
    pub commit: CommitSha,
    /// When, by the server's clock.
    pub at: Timestamp,
}

/// The paths that a pull request changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFiles {
    /// The paths; a renamed file by both its names.
    pub paths: Vec<String>,
    /// Whether these are all.
    pub complete: bool,
}

impl InRepository<'_> {
    /// Reads a pull request.
    ///
    /// # Errors
    /// [`Error::NotFound`] also for an issue that is no pull request.
    pub fn pull_request(&self, number: u64) -> Result<PullRequest, Error> {
        let text = number.to_string();
        let doing = self.doing(&format!("read pull request {number}"));
        let call = Call::get(&self.path(&["pulls", &text]), &[], doing);
        self.wire().ask_for::<PullRequestWire>(&call).map(PullRequest::from)
    }

    /// The pull requests, open or not, that come from `branch` of `repository`: the newest first.
    ///
    /// # Errors
    /// Whatever keeps GitHub from answering.
    pub fn pull_requests_of(
        &self,
        repository: &str,
        branch: &str,
    ) -> Result<Vec<PullRequest>, Error> {
        let owner = repository.split('/').next().unwrap_or_default();
        let from = format!("{owner}:{branch}");
        let query = [("head", from.as_str()), ("state", "all"), ("per_page", "100")];
        let doing = self.doing("look for the pull request of a branch");
        let call = Call::get(&self.path(&["pulls"]), &query, doing);
        let found: Vec<PullRequestWire> = self.wire().ask_for(&call)?;
        // Servers that do not know the filter list all.
        let is_of = |pull: &PullRequest| {
            pull.head_ref == branch && pull.head_repository.as_deref() == Some(repository)
        };
        Ok(found.into_iter().map(PullRequest::from).filter(is_of).collect())
    }

    /// The paths that a pull request changes, of which GitHub lists 3,000 at most.
    ///
    /// # Errors
    /// Whatever keeps GitHub from answering.
    pub fn changed_files(&self, number: u64) -> Result<ChangedFiles, Error> {
        let mut paths = Vec::new();
        let doing = format!("list the files of pull request {number}");
        let path = ["pulls", &number.to_string(), "files"];
        let mut count = 0;
        let complete = self.pages(&path, &doing, FILES_MAX, |file: FileWire| {
            count += 1;
            paths.push(file.filename);
            paths.extend(file.previous_filename);
            Seen::More
        })?;
        Ok(ChangedFiles { paths, complete: complete && count < FILES_MAX })
    }

    /// When `branch` was last moved to `head` here, by the server's clock; `None` where the
    /// server does not tell, or the newest entry is about another commit.
    ///
    /// # Errors
    /// Whatever keeps GitHub from answering; [`Error::NotFound`] also on servers without this.
    pub fn pushed(&self, branch: &str, head: &CommitSha) -> Result<Option<Timestamp>, Error> {
        let reference = format!("refs/heads/{branch}");
        let query = [("ref", reference.as_str()), ("per_page", "1")];
        let doing = self.doing("ask when the branch was pushed");
        let call = Call::get(&self.path(&["activity"]), &query, doing);
        let newest: Vec<ActivityWire> = self.wire().ask_for(&call)?;
        Ok(newest.into_iter().next().filter(|one| one.after == *head).map(|one| one.timestamp))
    }
}

#[derive(Deserialize)]
struct PullRequestWire {
    number: u64,
    state: String,
    #[serde(default)]
    draft: bool,
    head: EndWire,
    base: EndWire,
    #[serde(default)]
    labels: Vec<LabelWire>,
    merged_at: Option<Timestamp>,
    // Of one that is not merged: a commit that GitHub made to try it.
    merge_commit_sha: Option<CommitSha>,
}

#[derive(Deserialize)]
struct EndWire {
    sha: CommitSha,
    #[serde(rename = "ref")]
    reference: String,
    repo: Option<EndRepositoryWire>,
}

#[derive(Deserialize)]
struct EndRepositoryWire {
    full_name: String,
    pushed_at: Option<Timestamp>,
}

#[derive(Deserialize)]
struct LabelWire {
    name: String,
}

#[derive(Deserialize)]
struct FileWire {
    filename: String,
    previous_filename: Option<String>,
}

#[derive(Deserialize)]
struct ActivityWire {
    after: CommitSha,
    timestamp: Timestamp,
}

impl From<PullRequestWire> for PullRequest {
    fn from(wire: PullRequestWire) -> Self {
        let (head_repository, head_pushed) = match wire.head.repo {
            Some(repository) => (Some(repository.full_name), repository.pushed_at),
            None => (None, None),
        };
        let merged = wire.merged_at.zip(wire.merge_commit_sha);
        Self {
            number: wire.number,
            open: wire.state == "open",
            draft: wire.draft,
            head: wire.head.sha,
            head_ref: wire.head.reference,
            head_repository,
            head_pushed,
            base: wire.base.sha,
            base_ref: wire.base.reference,
            labels: wire.labels.into_iter().map(|label| label.name).collect(),
            merged: merged.map(|(at, commit)| Merged { commit, at }),
        }
    }
}
