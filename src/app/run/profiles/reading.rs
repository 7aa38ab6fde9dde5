//! Reads what profilers wrote.

use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::benches::{self, CriterionFiles};
use super::{Profiled, Role, SourcedNumber, SourcedProfile, SourcedSeries, Trace, choose};
use crate::plan::files::Selector;
use crate::profile::error::Reason;
use crate::profile::model::{Body, NONE, Profile};
use crate::profile::read::Options;
use crate::profile::sniff::Kind;
use crate::profile::{self, ReadError, Reading};
use crate::record::redact::Redactor;
use crate::record::series::Series;
use crate::record::{Level, Notice};
use crate::source::files;

/// So many files are looked at.
const FILES_MAX: usize = 1000;
/// So many unread files are told one by one.
const TOLD_MAX: usize = 20;
/// In names of profiles, for packed files that are damaged from the start.
const NAMED: [&str; 6] = ["prof", ".pb.", "speedscope", "collapsed", "flame", "trace"];
/// A series of the record has at most so many points.
const POINTS_MAX: usize = 2000;

/// What is known around the files.
#[derive(Clone, Copy)]
pub(in super::super) struct Around<'a> {
    /// Absolute paths of the project, as the job saw them.
    pub workspaces: &'a [&'a str],
    /// Takes secrets out.
    pub redactor: &'a Redactor,
    /// Whether the job is known to profile: that nothing is found is told then.
    pub expected: bool,
    /// Files that `read` rules name: their numbers are taken as the rules say.
    pub by_rule: Option<&'a Selector>,
    /// Whether somebody wants perftrail to end: what was not read by then stays unread.
    pub gives_up: &'a dyn Fn() -> bool,
}

/// A file that takes minutes to read ends with an error as soon as somebody wants perftrail to end.
struct Interruptible<'a, R> {
    source: R,
    gives_up: &'a dyn Fn() -> bool,
}

impl<R: Read> Read for Interruptible<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.gives_up)() {
            return Err(io::Error::other("perftrail was asked to end while it read the file"));
        }
        self.source.read(buffer)
    }
}

/// Reads all of the files that are a profiler's.
pub(in super::super) fn read(traces: &[Trace], around: Around<'_>) -> Profiled {
    let mut profiled = Profiled::default();
    let mut unread = Vec::new();
    let mut criterion = CriterionFiles::default();
    for (index, trace) in traces.iter().take(FILES_MAX).enumerate() {
        if (around.gives_up)() {
            let left = traces.len() - index;
            unread.push(format!("perftrail was asked to end: {left} files were not looked at"));
            break;
        }
        if trace.role == Role::RawOnly {
            profiled.raw.push(trace.file.clone());
            continue;
        }
        match of_file(trace, around) {
            Outcome::NoProfile => {}
            Outcome::Unread(why) => {
                profiled.raw.push(trace.file.clone());
                unread.push(why);
            }
            Outcome::Read(reading) => {
                // An object of numbers is the job's own output.
                if reading.kind != Kind::Numbers {
                    profiled.raw.push(trace.file.clone());
                }
                if let Some(reading) = criterion.take(&trace.file.path, *reading) {
                    take(reading, trace, &mut profiled);
                }
            }
        }
    }
    profiled.metrics.extend(criterion.finish());
    benches::tell_apart(&mut profiled);
    choose::one_of_each(&mut profiled);
    for sourced in &mut profiled.profiles {
        without_secrets(&mut sourced.profile, around.redactor);
    }
    tell(&unread, traces.len(), around.expected, &mut profiled);
    profiled
}

enum Outcome {
    /// It is something else.
    NoProfile,
    /// It is a profiler's and could not be read: one line.
    Unread(String),
    Read(Box<Reading>),
}

fn of_file(trace: &Trace, around: Around<'_>) -> Outcome {
    let path = trace.file.path.as_str();
    let file = match files::open_regular(&trace.file.absolute) {
        Ok(file) => file,
        Err(error) if (trace.role == Role::Ordered) => {
            return Outcome::Unread(format!("failed to {error}"));
        }
        Err(_) => return Outcome::NoProfile,
    };
    let is_by_rule = around.by_rule.is_some_and(|rules| rules.matches(path));
    let options = Options { file: path, workspaces: around.workspaces, ..Options::default() };
    let mut source = Interruptible { source: file, gives_up: around.gives_up };
    let read = catch_unwind(AssertUnwindSafe(|| profile::read(&mut source, &options)));
    match read {
        Err(_) => {
            Outcome::Unread(format!("{path}: its reader failed, which is a defect of perftrail"))
        }
        Ok(Err(error)) if (trace.role == Role::Ordered) || is_of_profiler(&error, path) => {
            Outcome::Unread(error.to_string())
        }
        Ok(Ok(reading)) if (trace.role == Role::Ordered) || is_profile(&reading) => {
            Outcome::Read(Box::new(reading))
        }
        Ok(Ok(reading)) if !is_by_rule && is_measurement(&reading) => {
            Outcome::Read(Box::new(reading))
        }
        Ok(_) => Outcome::NoProfile,
    }
}

/// Whether the file was meant to be a profile: the job's own pages and archives are not.
fn is_of_profiler(error: &ReadError, path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let is_page = [".html", ".htm", ".xhtml"].iter().any(|ending| lower.ends_with(ending));
    match &error.reason {
        Reason::Private { of_profiler, .. } => *of_profiler,
        Reason::Html { .. } => !is_page,
        // Its content tells nothing.
        Reason::Gzip { .. } | Reason::Cut { .. } if error.format.is_none() => {
            lower.contains(".gz") && NAMED.iter().any(|word| lower.contains(word))
        }
        _ => {
            error.format.is_some_and(|kind| kind.is_profile() && kind != Kind::Collapsed)
                || (error.format == Some(Kind::Collapsed) && lower.contains("collapsed"))
        }
    }
}

/// Lines of a word and a number look like stacks of one frame: a list of counts is no profile.
fn is_profile(reading: &Reading) -> bool {
    let has_callers = |profile: &Profile| match &profile.body {
        Body::Tree(tree) => tree.parent.iter().any(|parent| *parent != NONE),
        Body::Table(_) => true,
    };
    reading.kind.is_profile()
        && (reading.kind != Kind::Collapsed || reading.profiles.iter().any(has_callers))
}

/// Whether a tool has measured something: results of benchmarks, logs of meters, or a few named
/// numbers.
fn is_measurement(reading: &Reading) -> bool {
    reading.kind.is_measurement() || reading.kind == Kind::Numbers
}

fn take(reading: Reading, trace: &Trace, profiled: &mut Profiled) {
    let source = &trace.file.path;
    for mut profile in reading.profiles {
        profile.step.clone_from(&trace.step);
        profiled.profiles.push(SourcedProfile { profile, source: source.clone(), whole: None });
    }
    let kind = reading.kind;
    let numbers = reading.metrics.into_iter();
    profiled.metrics.extend(numbers.map(|number| SourcedNumber {
        number,
        source: source.clone(),
        kind,
    }));
    let series = reading.series.into_iter().map(thinned);
    profiled.series.extend(series.map(|series| SourcedSeries { series, source: source.clone() }));
    profiled.notices.extend(reading.notices.into_iter().map(|notice| Notice {
        level: Level::Info,
        code: "profile_note".to_owned(),
        message: format!("{source}: {notice}"),
    }));
}

fn tell(unread: &[String], looked_at: usize, expected: bool, profiled: &mut Profiled) {
    let mut warn = |code: &str, message: String| {
        profiled.notices.push(Notice { level: Level::Warning, code: code.to_owned(), message });
    };
    for why in unread.iter().take(TOLD_MAX) {
        warn("profile_unread", why.clone());
    }
    if let Some(more) = unread.len().checked_sub(TOLD_MAX).filter(|more| *more > 0) {
        warn("profile_unread", format!("{more} more files of profilers could not be read"));
    }
    if looked_at > FILES_MAX {
        warn(
            "profile_unread",
            format!(
                "the job left {looked_at} files, and the first {FILES_MAX} were looked at for profiles"
            ),
        );
    }
    let has_any = !profiled.profiles.is_empty() || !profiled.metrics.is_empty();
    if expected && !has_any && unread.is_empty() {
        warn(
            "profile_none",
            "no file that the job wrote is a profile or a tool's result; perftrail looks into the output folder and at \
             what `collect` and `keep` name"
                .to_owned(),
        );
    }
}

/// A name or a source line may hold what no file may.
fn without_secrets(profile: &mut Profile, redactor: &Redactor) {
    let clean = |text: &mut String| {
        let cleaned = redactor.text(text);
        if cleaned != *text {
            *text = cleaned;
        }
    };
    for frame in &mut profile.frames {
        clean(&mut frame.function);
        clean(&mut frame.file);
        clean(&mut frame.module);
    }
    profile.lines.text.iter_mut().for_each(clean);
}

/// At most [`POINTS_MAX`] points: neighbours are merged, extremes stay.
fn thinned(series: Series) -> Series {
    let count = series.value.len();
    if count <= POINTS_MAX {
        return series;
    }
    let size = count.div_ceil(POINTS_MAX);
    let fold = |values: &[f64], join: fn(f64, f64) -> f64| -> Vec<f64> {
        values.chunks(size).filter_map(|chunk| chunk.iter().copied().reduce(join)).collect()
    };
    let first =
        |values: &[f64]| values.chunks(size).filter_map(|chunk| chunk.first().copied()).collect();
    let mean = |values: &[f64]| {
        values.chunks(size).map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64).collect()
    };
    Series {
        min: fold(if series.min.is_empty() { &series.value } else { &series.min }, f64::min),
        max: fold(if series.max.is_empty() { &series.value } else { &series.max }, f64::max),
        value: mean(&series.value),
        t: first(&series.t),
        x: series.x.chunks(size).filter_map(|chunk| chunk.first().cloned()).collect(),
        ..series
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::metric::Unit;
    use crate::record::series::SeriesSource;

    #[test]
    fn a_long_series_keeps_its_extremes() {
        let value: Vec<f64> = (0..10_001).map(f64::from).collect();
        let series = Series {
            name: "memory".to_owned(),
            unit: Unit::Bytes,
            source: SeriesSource::Reported,
            x_name: None,
            t: value.clone(),
            x: Vec::new(),
            value,
            min: Vec::new(),
            max: Vec::new(),
        };
        let thin = thinned(series);
        assert_eq!(thin.value.len(), 10_001_usize.div_ceil(6));
        assert_eq!((thin.t.len(), thin.min.len()), (thin.value.len(), thin.value.len()));
        assert_eq!((thin.min[0], thin.value[0], thin.max[0]), (0.0, 2.5, 5.0));
        assert_eq!(thin.max.last(), Some(&10_000.0));
    }
}
