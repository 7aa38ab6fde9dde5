//! `perftrail history`.

use std::io::{self, Read as _};
use std::path::Path;

use super::args::{HistoryArgs, TextFormat};
use super::failure::{ExitCode, Failure};
use super::{Edge, print};
use crate::analysis::history::{Effect, file, judge};
use crate::config::scalar;
use crate::model::metric::{Better, Unit};
use crate::record::canonical;
use crate::report::history::{self as report, HistoryInput, Shown};
use crate::source::files;

/// The longest file that is read.
const FILE_MAX: u64 = 64 << 20;
/// Without a word from the user, smaller changes are not told.
const MIN_EFFECT: f64 = 0.02;

/// Levels and change points.
pub(super) fn history(edge: &Edge, args: &HistoryArgs) -> Result<u8, Failure> {
    let input = of_file(edge, &args.series, args)?;
    show(&input, args.format)
}

fn show(input: &HistoryInput, format: TextFormat) -> Result<u8, Failure> {
    let internal = |error: &dyn std::error::Error| Failure::new(ExitCode::Internal, error);
    match format {
        TextFormat::Text => {
            print(report::text(input, super::report::terminal_options()).as_bytes())
        }
        TextFormat::Md => {
            print(report::markdown(input).map_err(|error| internal(&error))?.as_bytes())
        }
        TextFormat::Json => {
            let value = report::json(input);
            print(&canonical::pretty(&value).map_err(|error| internal(&error))?)
        }
    }
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
        about: String::new(),
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
