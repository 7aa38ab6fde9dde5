//! The results repository: a git repository into which runs are published.
//!
//! libgit2 reads the tip of the branch and writes blobs, trees and commits; nothing is ever
//! checked out. A repository on this machine is opened where it lies, its branch moved by
//! compare-and-swap. Publishing is a function of the tip ([`Results::commit`]), so a lost race is
//! no more than the same function called again.

pub mod change;
pub mod error;
pub mod format;
mod local;
pub mod path;
pub mod tip;

use std::path::{Path, PathBuf};

use git2::{ErrorCode, Oid, Repository, Signature, Time};
use jiff::Timestamp;

use crate::model::names::CommitSha;
use change::Change;
pub use error::ResultsError;
use tip::Tip;

/// The branch of a results repository, unless another is asked for.
pub const BRANCH: &str = "results";

/// Where runs are published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A repository on this machine.
    Local(PathBuf),
}

/// An opened results repository.
pub struct Results {
    repository: Repository,
    /// The path by which people know it.
    place: PathBuf,
    branch: String,
}

/// Waits before try number `n` (the second is 2); `false` says that enough was tried.
pub type Patience<'a> = dyn FnMut(u32) -> bool + 'a;

impl Results {
    /// Opens the repository, which must be there.
    ///
    /// # Errors
    /// When there is none, or it cannot be used: see [`ResultsError`].
    pub fn open(target: &Target, branch: &str) -> Result<Self, ResultsError> {
        let Target::Local(place) = target;
        check_branch(branch)?;
        let git_dir =
            local::find(place)?.ok_or_else(|| ResultsError::Missing { path: place.clone() })?;
        Self::at(place, &git_dir, branch)
    }

    /// Opens the repository, and makes it first where there is none: bare, its HEAD at `branch`.
    ///
    /// # Errors
    /// As [`Self::open`], and when it cannot be made.
    pub fn open_or_create(target: &Target, branch: &str) -> Result<Self, ResultsError> {
        let Target::Local(place) = target;
        check_branch(branch)?;
        let git_dir = match local::find(place)? {
            Some(git_dir) => git_dir,
            None => local::create(place, branch)?,
        };
        Self::at(place, &git_dir, branch)
    }

    fn at(place: &Path, git_dir: &Path, branch: &str) -> Result<Self, ResultsError> {
        let repository = local::open(place, git_dir)?;
        Ok(Self { repository, place: place.to_owned(), branch: branch.to_owned() })
    }

    /// The path by which people know it.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// The branch that holds the runs.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// Whether the repository holds that commit, as only the measured project's own would.
    pub fn holds_commit(&self, sha: &CommitSha) -> bool {
        Oid::from_str(sha.as_str()).is_ok_and(|id| self.repository.find_commit(id).is_ok())
    }

    /// The newest commit of the branch, as it is now. A missing branch is an empty tip.
    ///
    /// # Errors
    /// When the repository is damaged.
    pub fn tip(&self) -> Result<Tip<'_>, ResultsError> {
        let name = self.reference();
        match self.repository.find_reference(&name) {
            Ok(reference) => {
                let commit = reference
                    .peel_to_commit()
                    .map_err(|source| ResultsError::git("read the branch", source))?;
                Tip::new(&self.repository, Some(commit))
            }
            Err(error) if error.code() == ErrorCode::NotFound => Tip::new(&self.repository, None),
            Err(source) => Err(ResultsError::git("read the branch", source)),
        }
    }

    /// Adds one commit: `build` makes the change that a tip needs, and is asked again with the
    /// new tip whenever another publisher was faster. `None` says that the tip needs nothing.
    /// Gives the new commit's id, or `None` where nothing had to be added.
    ///
    /// # Errors
    /// What `build` says; a repository that cannot be written; a race lost for longer than
    /// `patience` has.
    pub fn commit<E: From<ResultsError>>(
        &self,
        now: Timestamp,
        patience: &mut Patience<'_>,
        mut build: impl FnMut(&Tip<'_>) -> Result<Option<Proposal>, E>,
    ) -> Result<Option<String>, E> {
        local::check_not_checked_out(&self.repository, &self.place, &self.branch)?;
        local::check_writable(&self.repository, &self.place)?;
        let mut tries = 1;
        loop {
            let tip = self.tip()?;
            let Some(proposal) = build(&tip)? else {
                return Ok(None);
            };
            let Some(commit) = self.write(&tip, &proposal, now)? else {
                return Ok(None);
            };
            if self.advance(&tip, commit)? {
                local::give_back(&self.repository);
                return Ok(Some(commit.to_string()));
            }
            tries += 1;
            if !patience(tries) {
                return Err(ResultsError::LostRaces { tries: tries - 1 }.into());
            }
        }
    }

    /// Writes the commit; `None` where the tip holds all of it already.
    fn write(
        &self,
        tip: &Tip<'_>,
        proposal: &Proposal,
        now: Timestamp,
    ) -> Result<Option<Oid>, ResultsError> {
        let tree = proposal.change.tree(tip)?;
        if tip.tree_id() == Some(tree) {
            return Ok(None);
        }
        let failed = |source| ResultsError::git("write the commit", source);
        let tree = self.repository.find_tree(tree).map_err(failed)?;
        let who = self.signature(now).map_err(failed)?;
        let parents: Vec<_> = tip.commit().into_iter().collect();
        self.repository
            .commit(None, &who, &who, &proposal.message, &tree, &parents)
            .map(Some)
            .map_err(failed)
    }

    /// Moves the branch from `tip` to `commit`; `false` where it is no longer at `tip`.
    fn advance(&self, tip: &Tip<'_>, commit: Oid) -> Result<bool, ResultsError> {
        // No branch is the id zero, and then the branch must still not be there.
        let current = tip.commit().map_or(Oid::ZERO_SHA1, git2::Commit::id);
        let name = self.reference();
        match self.repository.reference_matching(&name, commit, true, current, "perftrail publish")
        {
            Ok(_) => Ok(true),
            Err(error) => match error.code() {
                ErrorCode::Modified | ErrorCode::Exists | ErrorCode::Locked => Ok(false),
                _ => Err(ResultsError::git("move the branch", error)),
            },
        }
    }

    /// Who publishes: git's configured user, else perftrail.
    fn signature(&self, now: Timestamp) -> Result<Signature<'static>, git2::Error> {
        let config = self.repository.config()?;
        let told = |key| config.get_string(key).ok().filter(|text| !text.trim().is_empty());
        let name = told("user.name").unwrap_or_else(|| "perftrail".to_owned());
        let email = told("user.email").unwrap_or_else(|| "perftrail@localhost".to_owned());
        Signature::new(&name, &email, &Time::new(now.as_second(), 0))
    }
}

/// What a tip needs: files, and the message of the commit that brings them.
#[derive(Debug)]
pub struct Proposal {
    /// The files.
    pub change: Change,
    /// The commit's message.
    pub message: String,
}

fn check_branch(branch: &str) -> Result<(), ResultsError> {
    match git2::Branch::name_is_valid(branch) {
        Ok(true) => Ok(()),
        _ => Err(ResultsError::BadBranch { branch: branch.to_owned() }),
    }
}
