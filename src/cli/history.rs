//! `perftrail history`.

use std::io::{self, Read as _};
use std::path::Path;

use serde_json::{Value, json};

use super::args::{HistoryArgs, TextFormat};
use super::destination::Found;
use super::failure::{ExitCode, Failure};
use super::screen::{JobOutput, Screen};
use super::{Edge, destination, print, print_json, publish};
use crate::analysis::history::{Effect, file, judge};
use crate::app::history::{self as app, Query};
use crate::app::verdict::judging;
use crate::app::watch::Watch;
use crate::config::scalar;
use crate::model::metric::{Better, Unit};
use crate::record::canonical;
use crate::report::history::{self as report, HistoryInput, Shown};
use crate::results::Results;
use crate::source::files;

/// The longest file that is read.
const FILE_MAX: u64 = 64 << 20;
/// Without a word from the user, smaller changes are not told.
const MIN_EFFECT: f64 = 0.02;

/// Levels and change points.
pub(super) fn history(edge: &Edge, args: &HistoryArgs) -> Result<u8, Failure> {
    if let Some(path) = &args.series {
        let input = of_file(edge, path, args)?;
        if args.format == TextFormat::Json {
            return print_value(&report::json(&input));
        }
        return print_all(&[input], args.format);
    }
    let found = of_repository(edge, args)?;
    if args.format == TextFormat::Json {
        let histories: Vec<_> = found.iter().map(report::json).collect();
        return print_value(&json!({ "histories": histories }));
    }
    print_all(&found, args.format)
}

fn print_value(value: &Value) -> Result<u8, Failure> {
    print_json(&canonical::pretty(value).map_err(|error| Failure::new(ExitCode::Internal, &error))?)
}

fn print_all(inputs: &[HistoryInput], format: TextFormat) -> Result<u8, Failure> {
    if inputs.is_empty() {
        return print(b"no history matches\n");
    }
    let mut parts = Vec::new();
    for input in inputs {
        parts.push(match format {
            TextFormat::Md => {
                report::markdown(input).map_err(|error| Failure::new(ExitCode::Internal, &error))?
            }
            _ => report::text(input, super::report::terminal_options()),
        });
    }
    print(parts.join("\n").as_bytes())
}

/// The histories of the results repository.
fn of_repository(edge: &Edge, args: &HistoryArgs) -> Result<Vec<HistoryInput>, Failure> {
    let screen = Screen::new(edge.volume, JobOutput::Kept);
    let config = publish::load(edge, args.config.as_deref())?;
    let Found::There(to) = destination::find(edge, &args.target, &config)? else {
        return Err(Failure::usage("there is no results repository: name one with --to")
            .with_help("a plain series is judged by --series FILE"));
    };
    let failed = |error: &dyn std::error::Error| Failure::new(ExitCode::Usage, error);
    let results = Results::open(&to.to, &to.branch).map_err(|error| failed(&error))?;
    let query = Query {
        job: args.job.clone(),
        metrics: args.metric.clone(),
        min_effect: args.min_effect.as_deref().and_then(scalar::threshold),
    };
    let found =
        app::histories(&results, &query, &judging(&config)).map_err(|error| failed(&error))?;
    found.notices.iter().for_each(|notice| screen.warn(notice));
    Ok(found.histories)
}

/// The history that a plain file holds.
fn of_file(edge: &Edge, path: &Path, args: &HistoryArgs) -> Result<HistoryInput, Failure> {
    let bytes = read(edge, path)?;
    let file = file::read(&bytes).map_err(|error| {
        let mut failure = Failure::new(ExitCode::Usage, &error);
        failure.message = format!("{} is no series: {}", path.display(), failure.message);
        failure
    })?;
    let given = args.min_effect.as_deref().map(effect).transpose()?;
    let least = given.unwrap_or(Effect::share(MIN_EFFECT));
    let judgement = judge(&file.series, least, given.unwrap_or_default());
    let points = file.series.points.iter().zip(&file.times);
    let points = points.map(|(point, time)| Shown {
        value: point.value,
        commit: point.commit.clone(),
        time: time.clone(),
        ..Shown::default()
    });
    Ok(HistoryInput {
        metric: path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into()),
        job: None,
        about: String::new(),
        beside: Vec::new(),
        unit: args.unit.as_deref().map_or(Unit::None, |unit| Unit::from(unit.to_owned())),
        better: args.better.map_or(Better::Neither, Better::from),
        points: points.collect(),
        judgement,
    })
}

fn read(edge: &Edge, path: &Path) -> Result<Vec<u8>, Failure> {
    let no_file = |why: &dyn std::error::Error| Failure::new(ExitCode::Usage, why);
    let too_long = || Failure::usage(format!("{} is longer than 64 MiB", path.display()));
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        let taken = io::stdin().lock().take(FILE_MAX + 1).read_to_end(&mut bytes);
        let count = taken.map_err(|error| no_file(&error))?;
        return if count as u64 > FILE_MAX { Err(too_long()) } else { Ok(bytes) };
    }
    match files::read_head(&edge.folder.join(path), FILE_MAX) {
        Ok((_, true)) => Err(too_long()),
        Ok((bytes, false)) => Ok(bytes),
        Err(error) => Err(no_file(&error)),
    }
}

/// `2%` or an amount.
fn effect(text: &str) -> Result<Effect, Failure> {
    let threshold = scalar::threshold(text)
        .ok_or_else(|| Failure::usage(format!("`{text}` is no effect")).with_help("write 2%"))?;
    Ok(Effect { relative: threshold.relative, absolute: threshold.absolute })
}
