//! `perftrail publish`, and where results go.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::{ListFormat, PublishArgs, Target as TargetArgs};
use super::failure::{ExitCode, Failure};
use super::screen::{JobOutput, Screen};
use super::{Edge, print};
use crate::app::publish::{self as app, Options, Outcome, Pages, Published};
use crate::app::watch::Watch;
use crate::clock::Clock;
use crate::config::{Config, Target as Configured};
use crate::model::status::Identity;
use crate::record::canonical;
use crate::results::Target;
use crate::source::{configuration, git};

/// Where results go on a laptop when nobody says otherwise.
const LOCAL: &str = "perftrail-results";
/// How often a lost race is tried again on this machine, where each try is quick.
const TRIES: u32 = 1000;

/// A results repository and its branch.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    /// Where it is.
    pub to: Target,
    /// The branch that holds the runs.
    pub branch: String,
}

impl Destination {
    /// How to publish there.
    pub(super) fn options(&self, config: &Config, identity: Identity, clock: Clock) -> Options {
        Options {
            to: self.to.clone(),
            branch: self.branch.clone(),
            rules: config.results.clone(),
            trusted: true,
            identity,
            now: clock.now(),
            pages: Pages::default(),
        }
    }
}

/// Where results go: the flag, else the configuration, else `./perftrail-results`; in CI there is
/// no such default. `None` when they are to stay where they are.
pub(super) fn destination(
    edge: &Edge,
    args: &TargetArgs,
    config: &Config,
) -> Result<Option<Destination>, Failure> {
    let in_actions =
        edge.variables.iter().any(|(name, value)| name == "GITHUB_ACTIONS" && value == "true");
    let named = args.to.clone().or_else(|| match &config.results.repository {
        Some(Configured::At(place)) => Some(place.clone()),
        Some(Configured::Nowhere) => Some("none".to_owned()),
        None => None,
    });
    let place = match named.as_deref() {
        Some("none") => return Ok(None),
        Some(place) => place.to_owned(),
        None if in_actions => {
            let screen = Screen::new(edge.volume, JobOutput::Kept);
            screen.warn("nothing is published: no results repository is named; give --to REPO, or --to none to say so");
            return Ok(None);
        }
        None => LOCAL.to_owned(),
    };
    let branch = args.branch.clone().unwrap_or_else(|| config.results.branch.clone());
    Ok(Some(Destination { to: target(&edge.folder, &place)?, branch }))
}

fn target(folder: &Path, place: &str) -> Result<Target, Failure> {
    if place.contains("://") && !place.starts_with("file://") || place.starts_with("git@") {
        return Err(Failure::usage(format!("`{place}` is on another machine")).with_help(
            "this version publishes to a path: clone the results repository, publish there, push",
        ));
    }
    let path = place.strip_prefix("file://").unwrap_or(place);
    Ok(Target::Local(folder.join(path)))
}

/// Publishes bundles that are there already.
pub(super) fn publish(edge: &Edge, args: &PublishArgs) -> Result<u8, Failure> {
    let screen = Screen::new(edge.volume, JobOutput::Kept);
    let config = load(edge, args.config.as_deref())?;
    let Some(to) = destination(edge, &args.target, &config)? else {
        screen.say("nothing is published: the results repository is `none`");
        return Ok(ExitCode::Done as u8);
    };
    let options = to.options(&config, Identity::Claimed, edge.clock);
    let bundles: Vec<PathBuf> =
        args.bundles.iter().map(|bundle| edge.folder.join(bundle)).collect();
    let published = put(&bundles, &options, &screen)?;
    if args.format == ListFormat::Json {
        print(&as_json(&published)?)?;
    }
    Ok(if published.is_whole() { ExitCode::Done as u8 } else { ExitCode::NotPublished as u8 })
}

/// The configuration of the project we are in.
pub(super) fn load(edge: &Edge, named: Option<&Path>) -> Result<Config, Failure> {
    let top = git::describe(&edge.folder).top;
    configuration::load(named, &edge.folder, top.as_deref())
        .map(|found| found.config)
        .map_err(|error| Failure::new(ExitCode::Usage, &error))
}

/// Publishes, and says what came of each bundle.
pub(super) fn put(
    bundles: &[PathBuf],
    options: &Options,
    screen: &Screen,
) -> Result<Published, Failure> {
    let published =
        app::publish(bundles, options, &mut |tries| tries < TRIES).map_err(|error| {
            let again: Vec<String> =
                bundles.iter().map(|bundle| app::command_again(bundle, options)).collect();
            Failure::from(error).with_help(format!(
                "nothing is lost; once that is mended, publish again with\n      {}",
                again.join("\n      ")
            ))
        })?;
    for notice in &published.notices {
        screen.warn(notice);
    }
    for run in &published.runs {
        let what = match run.outcome {
            Outcome::Added => "published as",
            Outcome::Replaced => "published in place of a record that said less:",
            Outcome::Unchanged => "is published already:",
        };
        screen.say(&format!("{} {what} {}", run.bundle.display(), run.path));
        for left_out in &run.left_out {
            screen.warn(&format!("not published: {}: {}", left_out.path, left_out.reason));
        }
    }
    for refused in &published.refused {
        screen.warn(&format!("{} is not published: {}", refused.bundle.display(), refused.why));
    }
    Ok(published)
}

fn as_json(published: &Published) -> Result<Vec<u8>, Failure> {
    let runs: Vec<_> = published
        .runs
        .iter()
        .map(|run| {
            let outcome = match run.outcome {
                Outcome::Added => "added",
                Outcome::Replaced => "replaced",
                Outcome::Unchanged => "unchanged",
            };
            json!({ "bundle": run.bundle, "path": run.path, "outcome": outcome })
        })
        .collect();
    let refused: Vec<_> = published
        .refused
        .iter()
        .map(|one| json!({ "bundle": one.bundle, "reason": one.why.to_string() }))
        .collect();
    let value = json!({ "commit": published.commit, "runs": runs, "refused": refused });
    canonical::pretty(&value).map_err(|error| Failure::new(ExitCode::Internal, &error))
}
