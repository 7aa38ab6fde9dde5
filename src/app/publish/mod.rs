//! Publishes bundles: puts runs into a results repository, one commit for all of them.
//!
//! Publishing is a function of the tip. For the tip that is there, [`compose`] says which files
//! to add and which to rewrite; when another publisher was faster, it is asked again with the new
//! tip. Nothing is read from a bundle without being checked, and no bundle is ever changed.

pub(super) mod compose;
mod epochs;
mod hostile;
pub(super) mod landing;
mod lost;
mod message;
pub(super) mod pages;
mod place;
mod readme;
pub(super) mod remake;
pub mod retry;
mod selection;

use std::path::{Path, PathBuf};

use jiff::Timestamp;

pub use hostile::Suspicion;
pub use lost::{Awaited, AwaitedError};
pub use pages::{Made, Pages};
pub use place::Conflict;
pub use selection::LeftOut;

use crate::analysis::verdict::{Judging, RunVerdict};
use crate::app::ancestry::Ancestry;
use crate::bundle::read::{self, Bundle, ReadError};
use crate::config;
use crate::config::quote::quote;
use crate::model::status::Identity;
use crate::record::Repository;
use crate::results::path::PathError;
use crate::results::{Patience, Results, ResultsError, Target};
use compose::{Candidate, Composer};

/// Said where a workflow measured nothing on purpose.
pub const SKIPPED: &str = "the workflow that was to measure succeeded and left no bundle: it was skipped, nothing is published";

/// How bundles are published.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to.
    pub to: Target,
    /// The branch that holds the runs.
    pub branch: String,
    /// What of a bundle may be published, and its place.
    pub rules: config::Results,
    /// Whether the job's author is trusted not to harm those who open its pages. Only then are
    /// files published that a browser runs, and only those that `keep` names.
    pub trusted: bool,
    /// How the runs' identity is known to whoever publishes: `Claimed`, unless the plan or the
    /// event is at hand.
    pub identity: Identity,
    /// The plan whose runs are published: those of which no bundle came are recorded as lost.
    pub awaited: Option<Awaited>,
    /// The time of the commit.
    pub now: Timestamp,
    /// Makes the pages.
    pub pages: Pages,
    /// How runs are judged.
    pub judging: Judging,
    /// Tells how measured commits lie to each other.
    pub ancestry: Ancestry,
}

/// What came of publishing.
#[derive(Debug, Default)]
pub struct Published {
    /// The new commit; `None` where the repository held everything already.
    pub commit: Option<String>,
    /// The runs that the repository now holds, in the order of the bundles.
    pub runs: Vec<PublishedRun>,
    /// Bundles that were not published, each with its reason.
    pub refused: Vec<RefusedBundle>,
    /// What people should know, one sentence each.
    pub notices: Vec<String>,
    /// How many months of the index had to be read.
    pub months_read: usize,
}

/// A run that the repository now holds.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedRun {
    /// The bundle's folder; for a lost run, the plan's file.
    pub bundle: PathBuf,
    /// The job of a run that was planned and of which no bundle came; `None` for one that came.
    pub lost: Option<String>,
    /// The run's folder in the repository.
    pub path: String,
    /// Whether it was there before.
    pub outcome: Outcome,
    /// What of the bundle was not published.
    pub left_out: Vec<LeftOut>,
    /// What can be said of its numbers, or why nothing can; `None` where it was there before.
    pub verdict: Option<Result<RunVerdict, String>>,
}

/// What was done with a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The run is new.
    Added,
    /// It took the place of a record that said less of the same plan.
    Replaced,
    /// It was there already: nothing was done.
    Unchanged,
}

/// A bundle that was not published.
#[derive(Debug)]
pub struct RefusedBundle {
    /// The bundle's folder.
    pub bundle: PathBuf,
    /// Why.
    pub why: WhyRefused,
}

/// Why a bundle was not published.
#[derive(Debug, thiserror::Error)]
pub enum WhyRefused {
    /// It is no bundle that can be used.
    #[error(transparent)]
    Bundle(#[from] ReadError),
    /// It is not what is known of its run, or holds what no run leaves.
    #[error(transparent)]
    Suspicion(#[from] Suspicion),
    /// Another run stands in its place.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// The layout makes a path that cannot be used.
    #[error("the run's folder {path:?} cannot be made: {source}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        source: PathError,
    },
}

/// Why nothing was published. The bundles are as they were.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// There is nothing to publish.
    #[error(transparent)]
    NoBundle(ReadError),
    /// The target is the measured project's own repository, which perftrail never writes to.
    #[error("{place} is the repository of the measured project, and runs are kept in another one")]
    Source {
        /// The target.
        place: String,
    },
    /// The results repository cannot be used.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

impl Published {
    /// Whether every bundle is in the repository now.
    pub fn is_whole(&self) -> bool {
        self.refused.is_empty()
    }
}

/// Puts the bundles at `paths` into the results repository, which is made where it is missing.
/// A path is a bundle, or a folder of bundles. With a plan at hand nothing need be there: runs of
/// which no bundle came are recorded as lost.
///
/// Bundles that cannot be published are told in [`Published::refused`] and do not keep the others
/// from being published.
///
/// # Errors
/// When there is no bundle at a path, or nothing can be written into the repository.
pub fn publish(
    paths: &[PathBuf],
    options: &Options,
    patience: &mut Patience<'_>,
) -> Result<Published, PublishError> {
    let awaited = options.awaited.as_ref();
    let options = &Options {
        trusted: options.trusted && awaited.is_none_or(Awaited::is_trusted),
        ..options.clone()
    };
    let mut found = read_all(paths, awaited.is_some())?;
    if let Some(expected) = awaited.and_then(Awaited::expected) {
        found.suspect(expected, options.now);
    }
    let Found { bundles, refused, mut notices } = found;
    // Of what was refused nobody knows which run it would have been.
    let missing = awaited.filter(|_| refused.is_empty());
    let missing = missing.map_or_else(Vec::new, |awaited| awaited.missing(&bundles));
    if awaited.is_some_and(|awaited| awaited.was_skipped(bundles.len() + refused.len())) {
        notices.push(SKIPPED.to_owned());
    }
    if bundles.is_empty() && missing.is_empty() {
        return Ok(Published { refused, notices, ..Published::default() });
    }
    check_not_source(options, bundles.iter().chain(&missing))?;
    let results = Results::open_or_create(&options.to, &options.branch)?;
    check_holds_none(&results, bundles.iter().chain(&missing))?;
    let came = bundles.iter().map(|bundle| {
        let is_planned = awaited.is_some_and(|awaited| awaited.holds(&bundle.record.record));
        let identity = if is_planned { Identity::Planned } else { options.identity };
        Candidate::came(bundle, identity)
    });
    let bundles = came.chain(missing.iter().map(Candidate::awaited)).collect();
    let composer = Composer { bundles, options };
    let mut published = Published::default();
    published.commit = results.commit(options.now, patience, |tip| {
        let (proposal, outcome) = composer.compose(tip)?;
        published = outcome;
        Ok(proposal)
    })?;
    published.refused.splice(0..0, refused);
    notices.extend(results.notices());
    notices.extend(options.ancestry.trouble());
    published.notices.splice(0..0, notices);
    Ok(published)
}

/// What was found at the paths that were named.
#[derive(Default)]
struct Found {
    bundles: Vec<Bundle>,
    refused: Vec<RefusedBundle>,
    notices: Vec<String>,
}

impl Found {
    /// Refuses every bundle that is not what is known of its run.
    fn suspect(&mut self, expected: &[lost::Expected], now: Timestamp) {
        let mut seen = std::collections::BTreeMap::new();
        let checked: Vec<_> = std::mem::take(&mut self.bundles)
            .into_iter()
            .map(|bundle| {
                let place = hostile::check(&bundle, expected, now);
                if let Ok(place) = &place {
                    *seen.entry(*place).or_insert(0) += 1;
                }
                (bundle, place)
            })
            .collect();
        for (bundle, place) in checked {
            let place = place.and_then(|place| match seen.get(&place) {
                Some(1) => Ok(()),
                _ => Err(Suspicion::Twice),
            });
            match place {
                Ok(()) => self.bundles.push(bundle),
                Err(why) => {
                    self.refused.push(RefusedBundle { bundle: bundle.folder, why: why.into() });
                }
            }
        }
    }
}

/// Reads every bundle; a folder named twice is read once. A path without any is an error, unless
/// bundles `may_lack`.
fn read_all(paths: &[PathBuf], may_lack: bool) -> Result<Found, PublishError> {
    let mut all = Found::default();
    let mut folders: Vec<PathBuf> = Vec::new();
    for path in paths {
        match read::find(path) {
            Ok(found) => {
                for folder in found {
                    if !folders.contains(&folder) {
                        folders.push(folder);
                    }
                }
            }
            Err(error) if may_lack => all.notices.push(error.to_string()),
            Err(error) => return Err(PublishError::NoBundle(error)),
        }
    }
    for folder in folders {
        match read::read(&folder) {
            Ok(bundle) => all.bundles.push(bundle),
            Err(why) => all.refused.push(RefusedBundle { bundle: folder, why: why.into() }),
        }
    }
    Ok(all)
}

fn check_not_source<'b>(
    options: &Options,
    bundles: impl Iterator<Item = &'b Bundle>,
) -> Result<(), PublishError> {
    let place = match &options.to {
        Target::Local(path) => path.display().to_string(),
        Target::Remote(connection) => connection.url.clone(),
    };
    let mut repositories = bundles.map(|bundle| &bundle.record.record.repository);
    if repositories.any(|repository| is_address_of(&place, repository)) {
        return Err(PublishError::Source { place });
    }
    Ok(())
}

/// Only the measured project's own repository holds the measured commits.
fn check_holds_none<'b>(
    results: &Results,
    bundles: impl Iterator<Item = &'b Bundle>,
) -> Result<(), PublishError> {
    let mut commits = bundles.filter_map(|bundle| bundle.record.record.commit.sha.as_ref());
    if commits.any(|sha| results.holds_commit(sha)) {
        return Err(PublishError::Source { place: results.place() });
    }
    Ok(())
}

/// Whether `place` is the address of `repository`, with or without `.git`, by any protocol.
fn is_address_of(place: &str, repository: &Repository) -> bool {
    let (Some(host), Some(owner), Some(name)) =
        (&repository.host, &repository.owner, &repository.name)
    else {
        return false;
    };
    let place = place.trim_end_matches('/').trim_end_matches(".git").to_lowercase();
    ['/', ':'].iter().any(|separator| {
        let end = format!("{host}{separator}{owner}/{name}").to_lowercase();
        place
            .strip_suffix(&end)
            .is_some_and(|start| start.is_empty() || start.ends_with(['/', '@']))
    })
}

/// The command that publishes the bundles again, to be pasted.
pub fn command_again(bundles: &[PathBuf], options: &Options) -> String {
    let word = |path: &Path| quote(&path.to_string_lossy());
    let mut words = vec!["perftrail publish".to_owned()];
    words.extend(bundles.iter().map(|bundle| word(bundle)));
    if let Some(awaited) = &options.awaited {
        words.extend(["--plan".to_owned(), word(awaited.file())]);
    }
    let to = match &options.to {
        Target::Local(path) => word(path),
        Target::Remote(connection) => quote(&connection.url),
    };
    words.extend(["--to".to_owned(), to]);
    if options.branch != crate::results::BRANCH {
        words.extend(["--branch".to_owned(), quote(&options.branch)]);
    }
    words.join(" ")
}
