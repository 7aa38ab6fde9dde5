//! `perftrail publish`.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::{FailOn, ListFormat, PublishArgs};
use super::destination::{self, Destination, Found, Hub};
use super::failure::{ExitCode, Failure};
use super::screen::{JobOutput, Screen};
use super::{Edge, accept, compare, gate, print_json};
use crate::analysis::verdict::{Severity, Word};
use crate::app::hub;
use crate::app::publish::retry::Retry;
use crate::app::publish::{self as app, Awaited, Options, Outcome, Published};
use crate::app::runs;
use crate::app::watch::Watch;
use crate::config::Config;
use crate::github::RealPause;
use crate::model::status::Identity;
use crate::model::text::shown;
use crate::plan::{Against, Plan};
use crate::record::canonical;
use crate::report::against::Findings;
use crate::report::verdict as words;
use crate::results::Results;
use crate::source::{configuration, git};

/// Publishes bundles that are there already.
pub(super) fn publish(edge: &Edge, args: &PublishArgs) -> Result<u8, Failure> {
    let screen = edge.screen(JobOutput::Kept);
    let plan = args.plan.as_deref().map(|plan| planned(edge, plan)).transpose()?;
    let config = match &plan {
        Some(plan) => gate::configuration_of(edge, plan, args.config.as_deref(), None)?,
        None => load(edge, args.config.as_deref())?,
    };
    let mut to = match destination::find(edge, &args.target, &config)? {
        Found::There(to) => to,
        Found::Nowhere => {
            screen.say("nothing is published: the results repository is `none`");
            return Ok(ExitCode::Done as u8);
        }
        Found::NotNamed => return Err(not_named()),
    };
    if let Some(plan) = plan.as_ref().filter(|plan| plan.accept.is_some()) {
        screen.say(&accept::planned(edge, plan, &mut to)?);
        return Ok(ExitCode::Done as u8);
    }
    let mut options = to.options(Identity::Claimed, edge);
    options.awaited =
        args.plan.as_deref().map(|plan| awaited(edge, plan, args.confirm)).transpose()?;
    let bundles: Vec<PathBuf> =
        args.bundles.iter().map(|bundle| edge.folder.join(bundle)).collect();
    let published = put(edge, &bundles, &mut to, options, &screen)?;
    if let Some(against) =
        plan.as_ref().and_then(|plan| plan.facts.pull_request.as_ref()?.against.as_ref())
    {
        tell_against(against, &published, &to, &config, &screen);
    }
    if args.format == ListFormat::Json {
        print_json(&as_json(&published)?)?;
    }
    if !published.is_whole() {
        return Ok(ExitCode::NotPublished as u8);
    }
    Ok(regressed(args.fail_on, &published) as u8)
}

/// What the verdicts of published runs do to the exit code.
pub(super) fn regressed(fail_on: FailOn, published: &Published) -> ExitCode {
    let verdicts = published.runs.iter().filter_map(|run| run.verdict.as_ref()?.as_ref().ok());
    let fails = verdicts.into_iter().any(|verdict| verdict.severity == Severity::Fails);
    if fail_on == FailOn::Regressed && fails { ExitCode::Regressed } else { ExitCode::Done }
}

fn planned(edge: &Edge, plan: &Path) -> Result<Plan, Failure> {
    configuration::load_plan(&edge.folder.join(plan))
        .map_err(|error| Failure::new(ExitCode::Usage, &error))
}

fn awaited(edge: &Edge, plan: &Path, confirm: Option<u32>) -> Result<Awaited, Failure> {
    Awaited::load(&edge.folder.join(plan), &edge.folder, &edge.variables, confirm)
        .map_err(|error| Failure::new(ExitCode::Usage, &error))
}

/// Said where a repository is needed and nobody named one.
pub(super) fn not_named() -> Failure {
    Failure::usage("no results repository is named")
        .with_help("give --to REPO, or set [results] repository")
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
    edge: &Edge,
    bundles: &[PathBuf],
    to: &mut Destination,
    mut options: Options,
    screen: &Screen,
) -> Result<Published, Failure> {
    let again = app::command_again(bundles, &options);
    let with_advice = |failure: Failure| {
        failure.with_help(format!(
            "nothing is lost; once that is mended, publish again with\n      {again}"
        ))
    };
    to.renew(edge).map_err(|error| with_advice(destination::no_token(&error)))?;
    options.to = to.to.clone();
    let client = to.hub.as_ref().map(Hub::client).transpose()?;
    if let (Some(hub), Some(client)) = (&to.hub, &client) {
        let allow_public = to.rules().allow_public;
        hub::before(client, &hub.results, &hub.source, allow_public, hub.is_fresh, options.now)
            .map_err(|error| with_advice(Failure::new(ExitCode::NotPublished, &error)))?
            .iter()
            .for_each(|warning| screen.warn(warning));
    }
    let pause = RealPause::new();
    let mut retry = Retry::new(&pause, to.timeout, &options.to);
    let published = app::publish(bundles, &options, &mut |next| {
        screen.detail("another publisher was faster, or the server did not answer: trying again");
        retry.wait(next)
    })
    .map_err(|error| with_advice(Failure::from(error)))?;
    tell(&published, screen);
    if let (Some(hub), Some(client), Some(event), Some(commit)) =
        (&to.hub, &client, &to.rules().dispatch, &published.commit)
    {
        let runs: Vec<String> = published.runs.iter().map(|run| run.path.clone()).collect();
        if let Some(warning) = hub::after(client, &hub.results, event, commit, &runs) {
            screen.warn(&warning);
        }
    }
    Ok(published)
}

/// Lays each run on the stored one that its comment names.
fn tell_against(
    against: &Against,
    published: &Published,
    to: &Destination,
    config: &Config,
    screen: &Screen,
) {
    let results = Results::open(&to.to, &to.branch).map_err(|error| error.to_string());
    for run in &published.runs {
        let laid = results.as_ref().map_err(Clone::clone).and_then(|results| {
            let after = runs::find(&run.path, Some(results), &to.judging());
            let after = after.map_err(|error| error.to_string())?;
            compare::with_stored(against, &after, results, config)
        });
        say_against(against, &run.path, &laid, screen);
    }
}

/// Says how a run lies to the stored one that its comment names.
pub(super) fn say_against(
    against: &Against,
    path: &str,
    laid: &Result<Option<Findings>, String>,
    screen: &Screen,
) {
    let said = match laid {
        Ok(Some(findings)) => findings.sentence.clone(),
        Ok(None) => "nothing stored".to_owned(),
        Err(why) => format!("cannot be compared: {why}"),
    };
    let (name, commit) = (shown(&against.reference), against.commit.short());
    screen.say(&format!("{path} against {name} ({commit}): {said}"));
}

fn tell(published: &Published, screen: &Screen) {
    for notice in &published.notices {
        screen.warn(notice);
    }
    for run in &published.runs {
        let what = match (run.outcome, &run.lost) {
            (Outcome::Unchanged, Some(_)) => "a run of its plan is there:",
            (_, Some(_)) => "no bundle came: recorded as lost in",
            (Outcome::Added, None) => "published as",
            (Outcome::Replaced, None) => "published in place of a record that said less:",
            (Outcome::Unchanged, None) => "is published already:",
        };
        let who = run.lost.clone().unwrap_or_else(|| run.bundle.display().to_string());
        screen.say(&format!("{who} {what} {}", run.path));
        if let Some(Ok(verdict)) = &run.verdict
            && verdict.word != Word::NothingMeasured
        {
            screen.say(&words::line(verdict));
        }
        for left_out in &run.left_out {
            let told = format!("not published: {}: {}", left_out.path, left_out.reason);
            // As the configuration wants it, or its default: nothing to worry about.
            if left_out.path.starts_with("raw/") {
                screen.say(&told);
            } else {
                screen.warn(&told);
            }
        }
    }
    for refused in &published.refused {
        screen.warn(&format!("{} is not published: {}", refused.bundle.display(), refused.why));
    }
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
            let bundle = run.lost.is_none().then_some(&run.bundle);
            let verdict = run.verdict.as_ref().map(|judged| match judged {
                Ok(verdict) => words::json(verdict),
                Err(why) => json!({ "not_judged": why }),
            });
            json!({
                "bundle": bundle,
                "path": run.path,
                "outcome": outcome,
                "lost": run.lost.is_some(),
                "verdict": verdict,
            })
        })
        .collect();
    let refused: Vec<_> = published
        .refused
        .iter()
        .map(|one| json!({ "bundle": one.bundle, "reason": one.why.to_string() }))
        .collect();
    let verdicts = published.runs.iter().filter_map(|run| run.verdict.as_ref()?.as_ref().ok());
    let confirm = verdicts.into_iter().any(|verdict| verdict.confirm);
    let value = json!({
        "commit": published.commit,
        "runs": runs,
        "refused": refused,
        "confirm": confirm,
    });
    canonical::pretty(&value).map_err(|error| Failure::new(ExitCode::Internal, &error))
}
