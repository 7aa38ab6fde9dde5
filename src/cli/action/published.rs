//! Publishes bundles, and gathers what there is to say about each run.

use std::path::{Path, PathBuf};

use super::super::destination::Destination;
use super::super::failure::{ExitCode, Failure};
use super::super::publish;
use super::conversation::{self, Beside, Telling};
use super::{Step, told};
use crate::analysis::verdict::{Judging, Severity};
use crate::app::publish::{Options, Published, PublishedRun};
use crate::app::runs::{self, FoundRun};
use crate::app::watch::Watch;
use crate::model::status::Status;
use crate::record::index::{Line, key_of};
use crate::results::{Results, Target};

/// Runs of a history that a summary draws.
const HISTORY_MAX: usize = 40;

/// What came of a step.
pub(super) struct Outcome {
    /// What was measured.
    pub(super) runs: Vec<Run>,
    /// Where each published run can be seen, by its path in the results repository.
    pub(super) links: Vec<(String, String)>,
    /// What publishing said; `None` where nothing was to be published.
    pub(super) published: Option<Published>,
    /// Why a run is not in the results repository.
    pub(super) why_not: &'static str,
}

/// One run.
pub(super) struct Run {
    /// Its bundle.
    pub(super) bundle: PathBuf,
    /// All of it, from the results repository where it is there, else from the bundle.
    pub(super) found: FoundRun,
    /// Its history, itself included, oldest first.
    pub(super) history: Vec<Line>,
    /// The run beside another one.
    pub(super) beside: Beside,
    /// Its path in the results repository.
    pub(super) path: Option<String>,
    /// No bundle came: the record says no more than that.
    pub(super) is_lost: bool,
}

impl Run {
    pub(super) fn status(&self) -> Status {
        self.found.record.record.run.status
    }

    pub(super) fn is_success(&self) -> bool {
        self.status() == Status::Succeeded
    }
}

impl Outcome {
    /// Whether a judged metric of a published run is worse than a limit that fails.
    pub(super) fn has_regressed(&self) -> bool {
        let published = self.runs.iter().filter(|run| run.path.is_some());
        let mut verdicts = published.filter_map(|run| run.found.verdict.as_ref().ok());
        verdicts.any(|verdict| verdict.severity == Severity::Fails)
    }

    /// The code of publishing alone.
    pub(super) fn published_code(&self) -> u8 {
        let whole = self.published.as_ref().is_none_or(Published::is_whole);
        if whole { ExitCode::Done as u8 } else { ExitCode::NotPublished as u8 }
    }
}

/// Publishes these bundles. When that fails what was measured is told all the same.
pub(super) fn publish(
    step: &Step,
    bundles: &[PathBuf],
    to: &mut Destination,
    options: Options,
    telling: &Telling<'_>,
) -> Result<Outcome, Failure> {
    let judging = options.judging.clone();
    let published = match publish::put(&step.publisher, bundles, to, options, &step.screen) {
        Ok(published) => published,
        Err(failure) => {
            let (runs, links, published) = (read(bundles, None, &judging), Vec::new(), None);
            let outcome = Outcome { runs, links, published, why_not: "publishing failed" };
            told::annotations(&outcome, step.fail_on);
            told::summary(step, &outcome);
            conversation::finish(step, &outcome, telling, Some(&failure.message));
            step.files.outputs(&told::outputs(&outcome)).map_err(|error| super::broken(&error))?;
            return Err(failure);
        }
    };
    let results = match Results::open(&to.to, &to.branch) {
        Ok(results) => Some(results),
        Err(error) => {
            step.screen.detail(&format!("the results cannot be read again: {error}"));
            None
        }
    };
    let mut runs = read(bundles, results.as_ref(), &judging);
    for run in &mut runs {
        let one = published.runs.iter().find(|one| one.bundle == run.bundle);
        run.path = one.map(|one| one.path.clone());
        let in_results =
            run.path.as_deref().and_then(|path| runs::find(path, results.as_ref(), &judging).ok());
        if let Some(found) = in_results {
            run.found = found;
        }
    }
    let lost = published.runs.iter().filter(|run| run.lost.is_some());
    runs.extend(lost.filter_map(|run| lost_run(run, results.as_ref(), &judging)));
    for run in &mut runs {
        if let Some(path) = &run.path {
            run.beside = telling.beside(&run.found, path, results.as_ref(), &step.screen);
        }
    }
    let links = links(&runs, to);
    let outcome = Outcome { runs, links, published: Some(published), why_not: "refused" };
    conversation::finish(step, &outcome, telling, None);
    Ok(outcome)
}

/// What the bundles hold. One that cannot be read is left out: publishing told why.
pub(super) fn read(bundles: &[PathBuf], results: Option<&Results>, judging: &Judging) -> Vec<Run> {
    let run = |bundle: &Path| {
        let found = runs::find(&bundle.to_string_lossy(), results, judging).ok()?;
        let key = key_of(&found.record.record);
        let history = results.and_then(|results| runs::history(results, &key, HISTORY_MAX).ok());
        let history = history.unwrap_or_default();
        Some(Run {
            bundle: bundle.to_owned(),
            found,
            history,
            path: None,
            is_lost: false,
            beside: Beside::default(),
        })
    };
    bundles.iter().filter_map(|bundle| run(bundle)).collect()
}

/// A run of the plan of which no bundle came, as it stands in the results repository.
fn lost_run(run: &PublishedRun, results: Option<&Results>, judging: &Judging) -> Option<Run> {
    let found = runs::find(&run.path, results, judging).ok()?;
    let path = Some(run.path.clone());
    // One that came before, by another publisher, is no loss.
    let is_lost = found.record.record.run.status == Status::Lost;
    is_lost.then(|| Run {
        bundle: run.bundle.clone(),
        found,
        history: Vec::new(),
        path,
        is_lost,
        beside: Beside::default(),
    })
}

/// Pages of the run folders, where the results lie on a server that has such pages.
fn links(runs: &[Run], to: &Destination) -> Vec<(String, String)> {
    let Target::Remote(connection) = &to.to else { return Vec::new() };
    let url = connection.url.trim_end_matches('/').trim_end_matches(".git");
    if !url.starts_with("https://") && !url.starts_with("http://") {
        return Vec::new();
    }
    let page = |path: &String| (path.clone(), format!("{url}/tree/{}/{path}", to.branch));
    runs.iter().filter_map(|run| run.path.as_ref()).map(page).collect()
}
