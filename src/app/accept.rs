//! Accepts a change: people say that a level is meant.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::index::Index;
use super::publish::compose::{ours, put_landing};
use super::publish::{Pages, landing};
use crate::analysis::epochs::{Accepted, EPOCHS_FILE, Epochs, EpochsError, with};
use crate::model::names::CommitSha;
use crate::record::index::Line;
use crate::results::change::Change;
use crate::results::format::Standing;
use crate::results::tip::Tip;
use crate::results::{Patience, Proposal, Results, ResultsError};

/// Shortest start of a commit that names one.
const SHA_MIN: usize = 4;

/// What is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The metric.
    pub metric: String,
    /// Only this job's; `None` for every job.
    pub job: Option<String>,
    /// The start of the measured commit whose runs begin the level.
    pub since: String,
    /// Why.
    pub because: String,
    /// Who says so.
    pub author: String,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The new commit; `None` where it was accepted before.
    pub commit: Option<String>,
    /// The measured commit.
    pub since: CommitSha,
}

/// Why nothing is accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// No run of such a commit has the metric.
    #[error(
        "no measured commit begins with {since:?} and has {metric}; `perftrail history --metric {metric}` names them"
    )]
    NoCommit {
        /// What was asked for.
        since: String,
        /// The metric.
        metric: String,
    },
    /// Several commits do.
    #[error("{since:?} is the start of several measured commits: give more digits")]
    Several {
        /// What was asked for.
        since: String,
    },
    /// A newer perftrail looks after the repository.
    #[error("the results repository has a newer format: use a newer perftrail")]
    NewerFormat,
    /// The file cannot be added to.
    #[error(transparent)]
    Epochs(#[from] EpochsError),
    /// The results repository cannot be used.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

/// Writes the accepted change into `epochs.toml` and makes the landing page anew, as one commit.
///
/// # Errors
/// When the commit is not known, or nothing can be written.
pub fn accept(
    results: &Results,
    wish: &Wish,
    pages: &Pages,
    now: Timestamp,
    patience: &mut Patience<'_>,
) -> Result<Done, AcceptError> {
    if results.tip()?.standing()? != Standing::Whole {
        return Err(AcceptError::NewerFormat);
    }
    let since = commit_of(&results.tip()?, wish)?;
    let accepted = Accepted {
        metric: wish.metric.clone(),
        job: wish.job.clone(),
        commit: since.to_string(),
        because: wish.because.clone(),
        author: wish.author.clone(),
        date: TimeZone::UTC.to_datetime(now).date(),
    };
    let mut damaged = None;
    let commit = results.commit(now, patience, |tip| match compose(tip, &accepted, pages) {
        Ok(proposal) => Ok(proposal),
        Err(AcceptError::Results(error)) => Err(error),
        Err(other) => {
            damaged = Some(other);
            Ok(None)
        }
    })?;
    damaged.map_or(Ok(Done { commit, since }), Err)
}

fn compose(
    tip: &Tip<'_>,
    accepted: &Accepted,
    pages: &Pages,
) -> Result<Option<Proposal>, AcceptError> {
    let bytes = tip.read(EPOCHS_FILE)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let same = |other: &Accepted| {
        (&other.metric, &other.job, &other.commit)
            == (&accepted.metric, &accepted.job, &accepted.commit)
    };
    if Epochs::parse(&text)?.accepted.iter().any(same) {
        return Ok(None);
    }
    let text = with(&text, accepted);
    let epochs = Epochs::parse(&text)?.list();
    let mut change = Change::default();
    change.put(tip, ours(EPOCHS_FILE)?, text.as_bytes())?;
    let mut index = Index::new(tip)?;
    // A page that cannot be made keeps nothing from being accepted: the next publish makes it.
    if let Ok(landing) = landing::files(tip, &mut index, pages, Some(epochs)) {
        put_landing(tip, landing, &mut change)?;
    }
    let short = accepted.commit.get(..12).unwrap_or(&accepted.commit);
    let message = format!("Accept {} since {short}\n", accepted.metric);
    Ok(Some(Proposal { change, message }))
}

/// The one measured commit that is meant.
fn commit_of(tip: &Tip<'_>, wish: &Wish) -> Result<CommitSha, AcceptError> {
    let since = wish.since.to_ascii_lowercase();
    let is_meant = |line: &&Line| {
        line.metrics.contains_key(&wish.metric)
            && wish.job.as_ref().is_none_or(|job| *job == line.job)
            && line.commit.as_ref().is_some_and(|sha| sha.as_str().starts_with(&since))
    };
    let mut found: Vec<CommitSha> = Vec::new();
    let mut index = Index::new(tip)?;
    if since.len() >= SHA_MIN {
        for month in index.months().to_vec() {
            let lines = index.shard(&month)?.lines().filter(is_meant);
            found.extend(lines.filter_map(|line| line.commit.clone()));
        }
    }
    found.sort();
    found.dedup();
    match found.len() {
        0 => Err(AcceptError::NoCommit { since: wish.since.clone(), metric: wish.metric.clone() }),
        1 => Ok(found.remove(0)),
        _ => Err(AcceptError::Several { since: wish.since.clone() }),
    }
}
