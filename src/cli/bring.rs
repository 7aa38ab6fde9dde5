//! `perftrail import tlomodel | github-action-benchmark | asv | pytest-benchmark`.

use super::args::ForeignArgs;
use super::destination::{self, Found};
use super::failure::{ExitCode, Failure};
use super::screen::JobOutput;
use super::{Edge, publish};
use crate::app::bring::{self as app, Kind, Wish};
use crate::app::watch::Watch;
use crate::model::status::Identity;
use crate::results::{Results, ResultsError};

/// Files that are passed over and named one by one.
const TOLD_MAX: usize = 20;

/// Brings in what another tool keeps, as one commit.
pub(super) fn bring(edge: &Edge, kind: Kind, args: &ForeignArgs) -> Result<u8, Failure> {
    let screen = edge.screen(JobOutput::Kept);
    let config = publish::load(edge, args.config.as_deref())?;
    let mut to = match destination::find(edge, &args.target, &config)? {
        Found::There(to) => to,
        Found::Nowhere | Found::NotNamed => return Err(publish::not_named()),
    };
    let wish = wish(edge, kind, args)?;
    let usage = |error: &dyn std::error::Error| Failure::new(ExitCode::Usage, error);
    let gathered = app::gather(&wish).map_err(|error| usage(&error))?;
    for why in gathered.passed_over.iter().take(TOLD_MAX) {
        screen.warn(&format!("passed over: {why}"));
    }
    if let Some(more) = gathered.passed_over.len().checked_sub(TOLD_MAX + 1) {
        screen.warn(&format!("passed over: {} more files", more + 1));
    }
    to.renew(edge).map_err(|error| destination::no_token(&error))?;
    let results = match Results::open(&to.to, &to.branch) {
        Ok(results) => Some(results),
        // It is made by the first run that is published.
        Err(ResultsError::Missing { .. }) => None,
        Err(error) => return Err(Failure::new(ExitCode::NotPublished, &error)),
    };
    let found = gathered.runs.len();
    let bundles = app::bundles(gathered, &wish, results.as_ref()).map_err(|error| usage(&error))?;
    drop(results);
    if bundles.known > 0 {
        screen.say(&format!("{} of {found} runs are there already", bundles.known));
    }
    if bundles.folders.is_empty() {
        return Ok(ExitCode::Done as u8);
    }
    let options = to.options(Identity::Claimed, edge);
    // The bundles are gone by then.
    let again = "nothing is lost: what was to be brought in is as it was; once that is mended, import it again";
    let published = publish::put(edge, &bundles.folders, &mut to, options, &screen)
        .map_err(|failure| failure.with_help(again))?;
    if published.is_whole() { Ok(ExitCode::Done as u8) } else { Ok(ExitCode::NotPublished as u8) }
}

fn wish(edge: &Edge, kind: Kind, args: &ForeignArgs) -> Result<Wish, Failure> {
    let path = edge.folder.join(&args.path);
    let path = path.canonicalize().map_err(|_| {
        Failure::usage(format!("{} is neither a folder nor a file", args.path.display()))
    })?;
    let project = args.project.as_deref().map(|text| {
        app::project(text).ok_or_else(|| {
            Failure::usage(format!("`{}` is no project", crate::model::text::shown(text)))
                .with_help("write owner/name, host/owner/name or the address of its page")
        })
    });
    Ok(Wish {
        kind,
        path,
        project: project.transpose()?,
        default_branch: args.default_branch.clone(),
        machine: args.machine.clone(),
        folder: edge.folder.clone(),
    })
}
