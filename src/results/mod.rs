//! The results repository: a git repository into which runs are published.
//!
//! libgit2 reads the tip of the branch and writes blobs, trees and commits; nothing is ever
//! checked out. A repository on this machine is opened where it lies, its branch moved by
//! compare-and-swap; one on a server is reached by the git program ([`remote`]). Publishing is a
//! function of the tip ([`Results::commit`]), so a lost race is no more than the same function
//! called again.

pub mod address;
pub mod change;
pub mod error;
pub mod format;
mod local;
pub mod path;
pub mod remote;
pub mod tip;
pub mod walk;

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Oid, Repository, Signature, Time};
use jiff::Timestamp;

use crate::model::names::CommitSha;
use change::Change;
pub use error::{RemoteError, ResultsError};
use remote::{Connection, Push, Remote};
use tip::Tip;

/// The branch of a results repository, unless another is asked for.
pub const BRANCH: &str = "results";

/// Where runs are published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A repository on this machine.
    Local(PathBuf),
    /// A repository on a server.
    Remote(Connection),
}

/// An opened results repository.
pub struct Results {
    repository: Repository,
    door: Door,
    branch: String,
    notices: RefCell<Vec<String>>,
}

/// How the branch is read and moved.
enum Door {
    /// Where it lies, at this path.
    Local(PathBuf),
    /// Through the git program.
    Remote(Box<Remote>),
}

/// Waits before try number `n` (the second is 2); `false` says that enough was tried.
pub type Patience<'a> = dyn FnMut(u32) -> bool + 'a;

impl Results {
    /// Opens the repository to read it; it must be there. A server is asked for the tip.
    ///
    /// # Errors
    /// When there is none, or it cannot be used: see [`ResultsError`].
    pub fn open(target: &Target, branch: &str) -> Result<Self, ResultsError> {
        let missing = |place: &Path| Err(ResultsError::Missing { path: place.to_owned() });
        let results = Self::with(target, branch, missing)?;
        results.refresh()?;
        Ok(results)
    }

    /// Opens the repository to commit to it, and makes one on this machine where there is none:
    /// bare, its HEAD at `branch`. Nothing is asked of a server before [`Self::commit`].
    ///
    /// # Errors
    /// As [`Self::open`], and when it cannot be made.
    pub fn open_or_create(target: &Target, branch: &str) -> Result<Self, ResultsError> {
        let unmade = match target {
            Target::Local(place) => local::remove_unmade(place),
            Target::Remote(_) => 0,
        };
        let results = Self::with(target, branch, |place| local::create(place, branch))?;
        if unmade > 0 {
            let notice = format!("removed {unmade} half repository of a publish that was killed");
            results.notices.borrow_mut().push(notice);
        }
        Ok(results)
    }

    fn with(
        target: &Target,
        branch: &str,
        missing: impl FnOnce(&Path) -> Result<PathBuf, ResultsError>,
    ) -> Result<Self, ResultsError> {
        check_branch(branch)?;
        let mut notices = Vec::new();
        let (repository, door) = match target {
            Target::Local(place) => {
                let git_dir = local::find(place)?.map_or_else(|| missing(place), Ok)?;
                (local::open(place, &git_dir)?, Door::Local(place.clone()))
            }
            Target::Remote(connection) => {
                let remote = Remote::prepare(connection, branch, &mut notices)?;
                (remote.repository()?, Door::Remote(Box::new(remote)))
            }
        };
        let notices = RefCell::new(notices);
        Ok(Self { repository, door, branch: branch.to_owned(), notices })
    }

    /// The path or address by which people know it.
    pub fn place(&self) -> String {
        match &self.door {
            Door::Local(place) => place.display().to_string(),
            Door::Remote(remote) => remote.url().to_owned(),
        }
    }

    /// What others left behind and was mended, one sentence each.
    pub fn notices(&self) -> Vec<String> {
        self.notices.borrow().clone()
    }

    /// The branch that holds the runs.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// The reference that is the tip in the opened repository.
    fn reference(&self) -> String {
        match self.door {
            Door::Local(_) => format!("refs/heads/{}", self.branch),
            Door::Remote(_) => remote::TIP.to_owned(),
        }
    }

    fn remote(&self) -> Option<&Remote> {
        match &self.door {
            Door::Local(_) => None,
            Door::Remote(remote) => Some(remote),
        }
    }

    /// Asks a server for the tip.
    fn refresh(&self) -> Result<(), ResultsError> {
        match &self.door {
            Door::Local(_) => Ok(()),
            Door::Remote(remote) => remote.refresh(&self.repository),
        }
    }

    /// Whether the repository holds that commit, as only the measured project's own would.
    pub fn holds_commit(&self, sha: &CommitSha) -> bool {
        Oid::from_str(sha.as_str()).is_ok_and(|id| self.repository.find_commit(id).is_ok())
    }

    /// The newest commit of the branch: as it is now, or as it was when a server was last asked.
    /// A missing branch is an empty tip.
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
                Tip::new(&self.repository, self.remote(), Some(commit))
            }
            Err(error) if error.code() == ErrorCode::NotFound => {
                Tip::new(&self.repository, self.remote(), None)
            }
            Err(source) => Err(ResultsError::git("read the branch", source)),
        }
    }

    /// Whether a commit could be added now; nothing is changed. What only the change itself would
    /// show (a rule for the branch, a full disk) stays unknown.
    ///
    /// # Errors
    /// Why it could not.
    pub fn check_writable(&self) -> Result<(), ResultsError> {
        match &self.door {
            Door::Local(place) => {
                local::check_not_checked_out(&self.repository, place, &self.branch)?;
                local::check_writable(&self.repository, place)
            }
            Door::Remote(remote) => {
                let commit = match self.tip()?.commit() {
                    Some(commit) => commit.id(),
                    None => self.empty_commit()?,
                };
                remote.try_push(commit).map(|_| ())
            }
        }
    }

    /// A commit in the workspace that no branch holds.
    fn empty_commit(&self) -> Result<Oid, ResultsError> {
        let failed = |source| ResultsError::git("write a commit", source);
        let tree =
            self.repository.treebuilder(None).and_then(|tree| tree.write()).map_err(failed)?;
        let tree = self.repository.find_tree(tree).map_err(failed)?;
        let who = self.signature(Timestamp::UNIX_EPOCH).map_err(failed)?;
        self.repository.commit(None, &who, &who, "Try", &tree, &[]).map_err(failed)
    }

    /// Adds one commit: `build` makes the change that a tip needs, and is asked again with the
    /// new tip whenever another publisher was faster, or a server had trouble. `None` says that
    /// the tip needs nothing. Gives the new commit's id, or `None` where nothing had to be added.
    ///
    /// # Errors
    /// What `build` says; a repository that cannot be written; a race lost, or trouble, for longer
    /// than `patience` has.
    pub fn commit(
        &self,
        now: Timestamp,
        patience: &mut Patience<'_>,
        mut build: impl FnMut(&Tip<'_>) -> Result<Option<Proposal>, ResultsError>,
    ) -> Result<Option<String>, ResultsError> {
        if let Door::Local(place) = &self.door {
            local::check_not_checked_out(&self.repository, place, &self.branch)?;
            local::check_writable(&self.repository, place)?;
        }
        let mut tries = 1;
        let mut pushed = None;
        loop {
            let why = match self.attempt(now, &mut pushed, &mut build) {
                Ok(Attempt::Done(commit)) => return Ok(commit.map(|id| id.to_string())),
                Ok(Attempt::Lost) => ResultsError::LostRaces { tries },
                Err(error) if error.is_transient() => error,
                Err(error) => return Err(error),
            };
            tries += 1;
            if !patience(tries) {
                return Err(why);
            }
        }
    }

    /// One try. `pushed` is the commit of an earlier try whose push may have arrived although no
    /// answer came.
    fn attempt(
        &self,
        now: Timestamp,
        pushed: &mut Option<Oid>,
        build: &mut impl FnMut(&Tip<'_>) -> Result<Option<Proposal>, ResultsError>,
    ) -> Result<Attempt, ResultsError> {
        self.refresh()?;
        let tip = self.tip()?;
        if pushed.is_some() && tip.commit().map(git2::Commit::id) == *pushed {
            return Ok(Attempt::Done(*pushed));
        }
        let Some(proposal) = build(&tip)? else {
            return Ok(Attempt::Done(*pushed));
        };
        let Some(commit) = self.write(&tip, &proposal, now)? else {
            return Ok(Attempt::Done(*pushed));
        };
        let is_moved = match &self.door {
            Door::Local(_) => self.advance(&tip, commit)?,
            Door::Remote(remote) => {
                *pushed = Some(commit);
                remote.push(commit)? == Push::Done
            }
        };
        if is_moved {
            return Ok(Attempt::Done(Some(commit)));
        }
        *pushed = None;
        Ok(Attempt::Lost)
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
            Ok(_) => {
                local::give_back(&self.repository);
                Ok(true)
            }
            Err(error) => match error.code() {
                ErrorCode::Modified | ErrorCode::Exists => Ok(false),
                ErrorCode::Locked => {
                    self.notices
                        .borrow_mut()
                        .extend(local::remove_old_lock(&self.repository, &name));
                    Ok(false)
                }
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

/// How one try ended.
enum Attempt {
    /// The branch holds it all; the commit is `None` where nothing had to be added.
    Done(Option<Oid>),
    /// Another publisher was faster.
    Lost,
}

/// What a tip needs: files, and the message of the commit that brings them.
#[derive(Debug)]
pub struct Proposal {
    /// The files.
    pub change: Change,
    /// The commit's message.
    pub message: String,
}

/// Whether the name can be a branch's.
///
/// # Errors
/// When it cannot.
pub fn check_branch(branch: &str) -> Result<(), ResultsError> {
    match git2::Branch::name_is_valid(branch) {
        Ok(true) => Ok(()),
        _ => Err(ResultsError::BadBranch { branch: branch.to_owned() }),
    }
}
