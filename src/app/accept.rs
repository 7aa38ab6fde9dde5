//! Accepts a change: people say that a level is meant.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::index::Index;
use super::publish::compose::{ours, put_landing};
use super::publish::landing::Anew;
use super::publish::{Pages, landing};
use crate::analysis::epochs::{Accepted, EPOCHS_FILE, Epochs, EpochsError, with};
use crate::model::names::CommitSha;
use crate::model::text::nearest;
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
    /// Only this project's, `host/owner/name`; `None` for every project.
    pub repository: Option<String>,
    /// What begins the level.
    pub since: From,
    /// Why.
    pub because: String,
    /// Who says so.
    pub author: String,
}

/// What begins a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum From {
    /// The runs of a measured commit: its first digits.
    Commit(String),
    /// A pull request, when it is merged.
    PullRequest(u64),
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The new commit; `None` where it was accepted before.
    pub commit: Option<String>,
    /// The reason that stands, of who gave it first.
    pub because: String,
    /// What begins the level, for people.
    pub since: String,
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
    /// No run has such a metric.
    #[error("no stored run has the metric {metric:?}{}", or_nearest(.nearest.as_deref()))]
    NoMetric {
        /// What was asked for.
        metric: String,
        /// The metric whose name looks most like it.
        nearest: Option<String>,
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
    let (commit, pull_request, since) = match &wish.since {
        From::Commit(digits) => {
            let sha = commit_of(&results.tip()?, wish, digits)?;
            (Some(sha.to_string()), None, sha.short().to_owned())
        }
        From::PullRequest(number) => {
            check_metric(&results.tip()?, wish)?;
            (None, Some(*number), format!("pull request {number}"))
        }
    };
    let accepted = Accepted {
        metric: wish.metric.clone(),
        job: wish.job.clone(),
        repository: wish.repository.clone(),
        commit,
        planned: None,
        pull_request,
        because: wish.because.clone(),
        author: wish.author.clone(),
        date: TimeZone::UTC.to_datetime(now).date(),
    };
    let (mut damaged, mut because) = (None, accepted.because.clone());
    let commit =
        results.commit(now, patience, |tip| match compose(tip, &accepted, &since, pages) {
            Ok(Composed::New(proposal)) => Ok(Some(proposal)),
            Ok(Composed::Stands(reason)) => {
                because = reason;
                Ok(None)
            }
            Err(AcceptError::Results(error)) => Err(error),
            Err(other) => {
                damaged = Some(other);
                Ok(None)
            }
        })?;
    damaged.map_or(Ok(Done { commit, because, since }), Err)
}

/// What becomes of a wish at one tip.
enum Composed {
    /// It is written down.
    New(Proposal),
    /// It was accepted before, for this reason.
    Stands(String),
}

fn compose(
    tip: &Tip<'_>,
    accepted: &Accepted,
    since: &str,
    pages: &Pages,
) -> Result<Composed, AcceptError> {
    let bytes = tip.read(EPOCHS_FILE)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let same = |other: &Accepted| {
        let is_of_same = (&other.metric, &other.job, &other.repository)
            == (&accepted.metric, &accepted.job, &accepted.repository);
        is_of_same
            && other.pull_request == accepted.pull_request
            && (other.commit == accepted.commit || accepted.pull_request.is_some())
    };
    if let Some(before) = Epochs::parse(&text)?.accepted.into_iter().find(same) {
        return Ok(Composed::Stands(before.because));
    }
    let text = with(&text, accepted);
    let epochs = Epochs::parse(&text)?.list();
    let mut change = Change::default();
    change.put(tip, ours(EPOCHS_FILE)?, text.as_bytes())?;
    let mut index = Index::new(tip)?;
    let anew = Anew { epochs: Some(epochs), ..Anew::default() };
    // A page that cannot be made keeps nothing from being accepted: the next publish makes it.
    if let Ok(landing) = landing::files(tip, &mut index, pages, anew) {
        put_landing(tip, landing, &mut change)?;
    }
    let message = format!("Accept {} since {since}\n", accepted.metric);
    Ok(Composed::New(Proposal { change, message }))
}

fn or_nearest(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!("; did you mean {name:?}?"))
}

/// A name that no run knows is a slip: it would silence nothing, and nobody would see why.
fn check_metric(tip: &Tip<'_>, wish: &Wish) -> Result<(), AcceptError> {
    let mut index = Index::new(tip)?;
    let mut known = BTreeSet::new();
    for month in index.months().to_vec() {
        let lines = index.shard(&month)?.lines();
        let mut is_whole = true;
        for line in lines {
            is_whole &= line.more == 0;
            known.extend(line.metrics.keys().cloned());
        }
        // What does not fit into a line is in the record alone, and cannot be ruled out here.
        if known.contains(&wish.metric) || !is_whole {
            return Ok(());
        }
    }
    let meant = nearest(&wish.metric, known.iter().map(String::as_str)).map(str::to_owned);
    Err(AcceptError::NoMetric { metric: wish.metric.clone(), nearest: meant })
}

/// The one measured commit that is meant.
fn commit_of(tip: &Tip<'_>, wish: &Wish, digits: &str) -> Result<CommitSha, AcceptError> {
    let since = digits.to_ascii_lowercase();
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
        0 => Err(AcceptError::NoCommit { since: digits.to_owned(), metric: wish.metric.clone() }),
        1 => Ok(found.remove(0)),
        _ => Err(AcceptError::Several { since: digits.to_owned() }),
    }
}
