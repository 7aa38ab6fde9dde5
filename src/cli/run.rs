//! `perftrail run`.

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde_json::json;

use super::args::{Format, Meter, RunArgs};
use super::destination::{self, Destination, Found};
use super::failure::{ExitCode, Failure};
use super::report::{self, Shown};
use super::screen::{JobOutput, Screen, Volume};
use super::{Edge, print_json, publish};
use crate::app::publish::Published;
use crate::app::run::{self as app, FinishedRun, Prepared, Request};
use crate::app::watch::Watch;
use crate::config::overrides::{BareCommand, Overrides, PairError, additional_stat, param_pair};
use crate::config::{Profiler, scalar};
use crate::measure::{MeterKind, Stop};
use crate::model::names::METRIC_NAME_MAX;
use crate::model::status::Status;

/// Measures, publishes when asked to, and shows what was found.
pub(super) fn run(edge: &Edge, args: &RunArgs) -> Result<u8, Failure> {
    let screen = edge.screen(job_output(edge.volume, args.format));
    let request = request(edge, args)?;
    let mut prepared = app::prepare(request)?;
    prepared.plan.facts.confirm = args.confirm.or(prepared.plan.facts.confirm);
    prepared.remarks.iter().for_each(|remark| screen.detail(remark));
    if args.dry_run {
        let plan =
            prepared.plan.to_json().map_err(|error| Failure::new(ExitCode::Internal, &error))?;
        if prepared.redactor().finds(plan.as_bytes()) {
            screen.warn(
                "the plan holds a secret in clear: a plan is carried out as it stands, so nothing is \
                 taken out of it; keep it where only you can read it, and give secrets to the job by \
                 `env_pass`",
            );
        }
        return print_json(format!("{plan}\n").as_bytes());
    }
    if prepared.plan.runs.is_empty() {
        return Err(nothing_to_run(&prepared));
    }
    let mut to = if args.publish { find(edge, args, &prepared, &screen)? } else { None };
    let stop = Stop::new();
    listen(edge, &stop)?;
    let done = app::carry_out(&prepared, &screen, &stop);
    screen.clear();
    let finished = done.finished;
    let published = conclude(edge, &screen, &prepared, &finished, to.as_mut(), args.format);
    // Told last, where people look; what was measured is safe by now.
    let failures: Vec<Failure> = done.errors.into_iter().map(Failure::from).collect();
    let redactor = app::redactor(&edge.variables);
    for failure in &failures {
        failure.print(&redactor, edge.is_in_actions());
    }
    let published = published?;
    let regressed = match &published {
        Some(Ok(published)) => publish::regressed(args.fail_on, published),
        _ => ExitCode::Done,
    };
    let code = exit_code(&finished, published, args.propagate_exit)?;
    match failures.first() {
        Some(failure) if code != ExitCode::NotPublished as u8 => Ok(failure.code as u8),
        _ if code == 0 => Ok(regressed as u8),
        _ => Ok(code),
    }
}

fn find(
    edge: &Edge,
    args: &RunArgs,
    prepared: &Prepared,
    screen: &Screen,
) -> Result<Option<Destination>, Failure> {
    let found = destination::find_for_later(edge, &args.target, &prepared.config, screen)?;
    if matches!(found, Found::NotNamed) {
        screen.warn(
            "nothing is published: no results repository is named; give --to REPO, or --to none to say so",
        );
    }
    Ok(found.place())
}

/// Publishes where that is wanted, and shows what was found, published or not.
pub(super) fn conclude(
    edge: &Edge,
    screen: &Screen,
    prepared: &Prepared,
    finished: &[FinishedRun],
    mut to: Option<&mut Destination>,
    format: Format,
) -> Result<Option<Result<Published, Failure>>, Failure> {
    let published = to.as_deref_mut().map(|to| publish_all(finished, to, edge, prepared, screen));
    let done = published.as_ref().and_then(|outcome| outcome.as_ref().ok());
    show(finished, done, to.as_deref(), format)?;
    Ok(published)
}

fn job_output(volume: Volume, format: Format) -> JobOutput {
    match (volume, format) {
        (Volume::Quiet, _) => JobOutput::Kept,
        (_, Format::Text) => JobOutput::Same,
        // Standard output is for the report alone.
        _ => JobOutput::Stderr,
    }
}

/// From now on signals end the job, not this process.
pub(super) fn listen(edge: &Edge, stop: &Stop) -> Result<(), Failure> {
    let failed = |error| Failure::new(ExitCode::Internal, &error);
    stop.listen_to_signals().map_err(failed)?;
    // In CI the shell that runs a step does not forward signals: its end is the only sign.
    let in_ci = edge.variables.iter().any(|(name, value)| name == "CI" && !value.is_empty());
    if in_ci {
        stop.follow_parent(edge.started_by).map_err(failed)?;
    }
    Ok(())
}

fn nothing_to_run(prepared: &Prepared) -> Failure {
    let event = &prepared.plan.facts.event;
    if prepared.config.jobs.is_empty() {
        Failure::usage("there is nothing to run: no command was given and no job is configured")
            .with_help(
                "give a command after `--`, as in `perftrail run -- python3 simulation.py`, or write \
                 a [[job]] into perftrail.toml",
            )
    } else {
        Failure::usage(format!("no job of perftrail.toml is for the event `{event}`")).with_help(
            format!("name a job to run it all the same, or add \"{event}\" to a job's `on`"),
        )
    }
}

fn request(edge: &Edge, args: &RunArgs) -> Result<Request, Failure> {
    Ok(Request {
        folder: edge.folder.clone(),
        config: args.config.clone(),
        plan: args.plan.clone(),
        overrides: overrides(args)?,
        output: args.output.clone(),
        variant: variant(args.variant.as_ref())?,
        variables: edge.variables.clone(),
        meter: match args.meter {
            Meter::Best => MeterKind::best(),
            Meter::Portable => MeterKind::Portable,
        },
        clock: edge.clock,
        import: None,
    })
}

/// A variant that a record can hold.
pub(super) fn variant(text: Option<&String>) -> Result<Option<String>, Failure> {
    match text {
        Some(text) if text.is_empty() || text.len() > METRIC_NAME_MAX => {
            Err(Failure::usage(format!("a variant has 1 to {METRIC_NAME_MAX} characters")))
        }
        other => Ok(other.cloned()),
    }
}

fn overrides(args: &RunArgs) -> Result<Overrides, Failure> {
    Ok(Overrides {
        job: args.job.clone().or_else(|| args.job_name.clone()),
        command: command(&args.command)?,
        params: params(&args.param)?,
        steps: filled(&args.step),
        setup: None,
        repetitions: args.repetitions,
        warmups: args.warmups,
        timeout: timeout(args.timeout.as_deref())?,
        profiler: profiler(args.profiler.as_deref())?,
        profiler_args: Some(filled(&args.profiler_args)).filter(|args| !args.is_empty()),
        machine: args.machine.clone(),
        additional: additional(&args.additional_stats)?,
    })
}

/// Strings for the record, each `KEY=VALUE`.
pub(super) fn additional(texts: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    pairs(texts, additional_stat).map(BTreeMap::from_iter)
}

/// Params, each `K=V`.
pub(super) fn params(texts: &[String]) -> Result<Vec<(String, String)>, Failure> {
    pairs(texts, param_pair)
}

/// Lists in the environment hold one item a line; an empty line is none.
fn filled(texts: &[String]) -> Vec<String> {
    texts.iter().filter(|text| !text.trim().is_empty()).cloned().collect()
}

fn pairs(
    texts: &[String],
    split: impl Fn(&str) -> Result<(String, String), PairError>,
) -> Result<Vec<(String, String)>, Failure> {
    filled(texts)
        .iter()
        .map(|text| split(text).map_err(|error| Failure::new(ExitCode::Usage, &error)))
        .collect()
}

fn command(words: &[OsString]) -> Result<Option<BareCommand>, Failure> {
    if words.is_empty() {
        return Ok(None);
    }
    let argv = words
        .iter()
        .map(|word| {
            word.to_str().map(str::to_owned).ok_or_else(|| {
                Failure::usage(format!("the argument {} is not UTF-8", word.display())).with_help(
                    "a record keeps the command as text: put it into a script and run that",
                )
            })
        })
        .collect::<Result<_, _>>()?;
    Ok(Some(BareCommand::Argv(argv)))
}

/// A time limit.
pub(super) fn timeout(text: Option<&str>) -> Result<Option<std::time::Duration>, Failure> {
    text.map(|text| {
        scalar::duration(text).ok_or_else(|| {
            Failure::usage(format!("`{text}` is no time limit"))
                .with_help("write a number with its unit, such as 90s, 30m, 10h or 2d")
        })
    })
    .transpose()
}

/// A profiler by its name.
pub(super) fn profiler(word: Option<&str>) -> Result<Option<Profiler>, Failure> {
    word.map(|word| {
        Profiler::from_word(word).ok_or_else(|| {
            let known: Vec<&str> = Profiler::ALL.iter().map(|one| one.as_str()).collect();
            Failure::usage(format!("`{word}` is no profiler"))
                .with_help(format!("known are {}", known.join(", ")))
        })
    })
    .transpose()
}

/// Publishing that fails leaves the bundles, and the report is shown all the same.
fn publish_all(
    finished: &[FinishedRun],
    to: &mut Destination,
    edge: &Edge,
    prepared: &Prepared,
    screen: &Screen,
) -> Result<Published, Failure> {
    let bundles: Vec<_> = finished.iter().map(|run| run.bundle.clone()).collect();
    let options = to.options(prepared.identity, edge);
    publish::put(edge, &bundles, to, options, screen)
}

fn show(
    finished: &[FinishedRun],
    published: Option<&Published>,
    to: Option<&Destination>,
    format: Format,
) -> Result<(), Failure> {
    if format == Format::Json {
        let runs: Vec<_> = finished
            .iter()
            .map(|run| {
                let at =
                    published.and_then(|all| all.runs.iter().find(|one| one.bundle == run.bundle));
                json!({
                    "bundle": run.bundle,
                    "published": at.map(|one| &one.path),
                    "record": run.record,
                })
            })
            .collect();
        let bytes = crate::record::canonical::pretty(&json!({ "runs": runs }))
            .map_err(|error| Failure::new(ExitCode::Internal, &error))?;
        return print_json(&bytes).map(|_| ());
    }
    for run in finished {
        let found = report::find_published(run, published, to);
        report::show(&Shown::of_finished(run, found.as_ref()), format)?;
    }
    Ok(())
}

/// Several failures at once: that nothing was published counts more than that the job failed.
pub(super) fn exit_code(
    finished: &[FinishedRun],
    published: Option<Result<Published, Failure>>,
    propagate: bool,
) -> Result<u8, Failure> {
    let published = published.transpose()?;
    if published.is_some_and(|published| !published.is_whole()) {
        return Ok(ExitCode::NotPublished as u8);
    }
    let failed = finished.iter().find(|run| run.record.run.status != Status::Succeeded);
    Ok(match failed {
        None => ExitCode::Done as u8,
        Some(run) if propagate => run
            .record
            .run
            .exit_code
            .filter(|code| *code != 0)
            .and_then(|code| u8::try_from(code).ok())
            .unwrap_or(ExitCode::JobFailed as u8),
        Some(_) => ExitCode::JobFailed as u8,
    })
}
