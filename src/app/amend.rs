//! Corrects the commit of a run that says it measured another one.
//!
//! The run stays where it is: links to its folder are out in the world. Its record keeps what it
//! said before, and its digest is over that.

use jiff::Timestamp;

use super::ancestry::Ancestry;
use super::index::Index;
use super::publish::compose::{ours, put_landing, put_shard};
use super::publish::landing::Anew;
use super::publish::remake::remade;
use super::publish::{Pages, landing};
use super::runs::{FindError, locate};
use super::verdict::measured;
use crate::analysis::verdict::Judging;
use crate::model::names::CommitSha;
use crate::model::status::Identity;
use crate::record::index::Line;
use crate::record::layout::RECORD_FILE;
use crate::record::read::{self, ReadRecord, RecordError};
use crate::record::{Amendment, Commit};
use crate::results::change::Change;
use crate::results::format::Standing;
use crate::results::tip::Tip;
use crate::results::{Patience, Proposal, Results, ResultsError};

/// Why parts of a corrected commit are not known.
const UNKNOWN: &str = "amended: only the id is known";

/// What is corrected.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The run, as people name one.
    pub run: String,
    /// The commit that it measured.
    pub commit: CommitSha,
    /// What a clone of the project knows of that commit.
    pub known: Option<Commit>,
    /// Why it is corrected.
    pub because: String,
    /// Who says so.
    pub author: String,
    /// When.
    pub date: Timestamp,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The new commit of the results repository; `None` where the run says that already.
    pub commit: Option<String>,
    /// The run's folder.
    pub path: String,
}

/// Why nothing is corrected.
#[derive(Debug, thiserror::Error)]
pub enum AmendError {
    /// There is no such run.
    #[error(transparent)]
    Find(#[from] FindError),
    /// The record cannot be read.
    #[error("{path} in the results repository: {source}")]
    Record {
        /// The run's folder.
        path: String,
        /// What is wrong with it.
        source: RecordError,
    },
    /// The index names a run whose record is not there.
    #[error("{path} in the results repository holds no {RECORD_FILE}")]
    NoRecord {
        /// The run's folder.
        path: String,
    },
    /// A newer perftrail looks after the repository.
    #[error("the results repository has a newer format: use a newer perftrail")]
    NewerFormat,
    /// The results repository cannot be used.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

/// How things are made anew.
#[derive(Clone, Copy, Debug)]
pub struct Making<'a> {
    /// Makes pages.
    pub pages: &'a Pages,
    /// How runs are judged.
    pub judging: &'a Judging,
    /// Tells how commits lie to each other.
    pub ancestry: &'a Ancestry,
}

/// Corrects the run: record, pages, index line and landing page, as one commit.
///
/// # Errors
/// When there is no such run, or nothing can be written.
pub fn amend(
    results: &Results,
    wish: &Wish,
    making: Making<'_>,
    patience: &mut Patience<'_>,
) -> Result<Done, AmendError> {
    let tip = results.tip()?;
    if tip.standing()? != Standing::Whole {
        return Err(AmendError::NewerFormat);
    }
    let path = locate(&wish.run, &tip, &mut Index::new(&tip)?)?;
    drop(tip);
    let mut failed = None;
    let commit =
        results.commit(wish.date, patience, |tip| match compose(tip, &path, wish, making) {
            Ok(proposal) => Ok(proposal),
            Err(AmendError::Results(error)) => Err(error),
            Err(other) => {
                failed = Some(other);
                Ok(None)
            }
        })?;
    failed.map_or(Ok(Done { commit, path }), Err)
}

fn compose(
    tip: &Tip<'_>,
    path: &str,
    wish: &Wish,
    making: Making<'_>,
) -> Result<Option<Proposal>, AmendError> {
    let mut record = stored(tip, path)?;
    if record.record.commit.sha.as_ref() == Some(&wish.commit) {
        return Ok(None);
    }
    let before = record.record.commit.sha.as_ref().map_or("no commit", CommitSha::short).to_owned();
    let job = record.record.run.job.clone();
    let mut index = Index::new(tip)?;
    correct(&mut record, wish, making, path, &mut index)?;
    let line = Line::of(&record.record, path);
    index.insert(line.clone())?;
    let mut change = Change::default();
    let at = |name: &str| ours(&format!("{path}/{name}"));
    change.put(tip, at(RECORD_FILE)?, &record.bytes().unwrap_or_default())?;
    // A page that cannot be made stays as it was.
    let pages = remade(tip, &record.record, &line, &mut index, making.pages, making.judging);
    for (name, bytes) in pages.unwrap_or_default() {
        change.put(tip, at(&name)?, &bytes)?;
    }
    for (shard, bytes) in index.touched() {
        put_shard(tip, &shard, &bytes, &mut change)?;
    }
    if let Ok(landing) = landing::files(tip, &mut index, making.pages, Anew::default()) {
        put_landing(tip, landing, &mut change)?;
    }
    let after = wish.commit.short();
    let message = format!("Amend {job} run of {before}: it measured {after}\n\n{path}\n");
    Ok(Some(Proposal { change, message }))
}

fn stored(tip: &Tip<'_>, path: &str) -> Result<ReadRecord, AmendError> {
    let bytes = tip.read(&format!("{path}/{RECORD_FILE}"))?;
    let bytes = bytes.ok_or_else(|| AmendError::NoRecord { path: path.to_owned() })?;
    read::read(&bytes).map_err(|source| AmendError::Record { path: path.to_owned(), source })
}

/// Puts the right commit into the record, and what is known of it.
fn correct(
    record: &mut ReadRecord,
    wish: &Wish,
    making: Making<'_>,
    path: &str,
    index: &mut Index<'_, '_>,
) -> Result<(), ResultsError> {
    let old = record.record.commit.clone();
    let known = wish.known.clone();
    let mut commit =
        known.unwrap_or_else(|| Commit::known_by_id(Some(wish.commit.clone()), UNKNOWN));
    // What was checked out is what it was, whatever its name.
    commit.default_branch.clone_from(&old.default_branch);
    (commit.dirty, commit.untracked_files) = (old.dirty, old.untracked_files);
    if commit.dirty.is_some() {
        commit.unknown.remove("dirty");
    }
    if commit.merge_base.is_none()
        && let Some(branch) = &old.default_branch
    {
        commit.merge_base = making.ancestry.merge_base(&record.record, branch, &wish.commit);
    }
    if commit.merge_base.is_some() {
        commit.unknown.remove("merge_base");
    }
    let amendment = Amendment {
        date: wish.date,
        author: wish.author.clone(),
        because: wish.because.clone(),
        commit: old,
    };
    record.amend(commit, amendment);
    record.set_identity(Identity::Claimed);
    let line = Line::of(&record.record, path);
    let measured = measured(&index.of_key(&line)?, &line, making.judging);
    let against = making.ancestry.against(&record.record, &measured);
    record.set_against(against);
    Ok(())
}
