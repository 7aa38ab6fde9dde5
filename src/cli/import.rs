//! `perftrail import`.

use std::collections::BTreeMap;

use super::Edge;
use super::args::{ImportFilesArgs, ImportKind};
use super::bring::bring;
use super::destination;
use super::failure::{ExitCode, Failure};
use super::run::{additional, conclude, exit_code, params, variant};
use super::screen::JobOutput;
use crate::app::bring::Kind;
use crate::app::run::{self as app, Import, Request};
use crate::app::watch::Watch;
use crate::config::overrides::Overrides;
use crate::config::{KeepRule, patterns};
use crate::measure::MeterKind;
use crate::model::names::CommitSha;
use crate::model::text::shown;
use crate::record::reading::{ReadAs, ReadRule};

/// Brings in what was measured elsewhere.
pub(super) fn import(edge: &Edge, kind: &ImportKind) -> Result<u8, Failure> {
    match kind {
        ImportKind::Files(args) => files(edge, args),
        ImportKind::Tlomodel(args) => bring(edge, Kind::Tlomodel, args),
        ImportKind::GithubActionBenchmark(args) => bring(edge, Kind::DataJs, args),
        ImportKind::Asv(args) => bring(edge, Kind::Asv, args),
        ImportKind::PytestBenchmark(args) => bring(edge, Kind::Pytest, args),
    }
}

fn files(edge: &Edge, args: &ImportFilesArgs) -> Result<u8, Failure> {
    let screen = edge.screen(JobOutput::Kept);
    let import = Import {
        folder: folder(edge, args)?,
        job: args.job.clone(),
        commit: commit(&args.commit)?,
        here: args.here,
        read: args.read.iter().map(|text| read_rule(text)).collect::<Result<_, _>>()?,
        keep: args.keep.iter().map(|text| keep_rule(text)).collect::<Result<_, _>>()?,
        started: args.started,
        ended: args.ended,
    };
    let request = Request {
        folder: edge.folder.clone(),
        config: args.config.clone(),
        plan: None,
        overrides: Overrides {
            job: Some(args.job.clone()),
            params: params(&args.param)?,
            machine: args.machine.clone(),
            additional: additional(&args.additional_stats)?,
            ..Overrides::default()
        },
        output: args.output.clone(),
        variant: variant(args.variant.as_ref())?,
        variables: edge.variables.clone(),
        meter: MeterKind::best(),
        clock: edge.clock,
        import: Some(import.clone()),
    };
    let prepared = app::prepare(request)?;
    prepared.remarks.iter().for_each(|remark| screen.detail(remark));
    let wanted = args.target.to.is_some() || prepared.config.results.repository.is_some();
    let mut to = if wanted {
        destination::find(edge, &args.target, &prepared.config)?.place()
    } else {
        screen.say("nothing is published: name a results repository with --to to do so");
        None
    };
    let finished = app::import(&prepared, &import, &screen)?;
    let published = conclude(edge, &screen, &prepared, &finished, to.as_mut(), args.format)?;
    exit_code(&finished, published, false)
}

fn folder(edge: &Edge, args: &ImportFilesArgs) -> Result<std::path::PathBuf, Failure> {
    let folder = edge.folder.join(&args.folder);
    folder.canonicalize().ok().filter(|path| path.is_dir()).ok_or_else(|| {
        Failure::usage(format!("{} is no folder", args.folder.display()))
            .with_help("name the folder that the job left its files in")
    })
}

fn commit(text: &str) -> Result<CommitSha, Failure> {
    CommitSha::parse(text).ok_or_else(|| {
        Failure::usage(format!("`{text}` is no full commit id"))
            .with_help("give all 40 digits, as `git rev-parse HEAD` prints them")
    })
}

fn read_rule(text: &str) -> Result<ReadRule, Failure> {
    let (word, pattern) = text.split_once('=').unwrap_or((text, ""));
    let Some(as_what) = ReadAs::from_word(word).filter(|_| !pattern.is_empty()) else {
        return Err(Failure::usage(format!("`{text}` says neither what to read nor where"))
            .with_help("write metrics, params, series, phases or extra, `=` and a pattern: metrics=**/*.stats.json"));
    };
    check(pattern)?;
    Ok(ReadRule {
        path: pattern.to_owned(),
        as_what,
        x: None,
        pick: BTreeMap::new(),
        unit: BTreeMap::new(),
        rename: BTreeMap::new(),
        required: false,
        line: None,
    })
}

fn keep_rule(pattern: &str) -> Result<KeepRule, Failure> {
    check(pattern)?;
    Ok(KeepRule { path: pattern.to_owned(), html: false })
}

fn check(pattern: &str) -> Result<(), Failure> {
    if !patterns::stays_inside(pattern) {
        let shown = shown(pattern);
        return Err(Failure::usage(format!("the pattern `{shown}` leaves the folder"))
            .with_help("patterns are relative to DIR, such as **/*.json"));
    }
    patterns::glob(pattern).map(|_| ()).map_err(|error| Failure::new(ExitCode::Usage, &error))
}
