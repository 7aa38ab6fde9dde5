//! `perftrail report`, and how a run is shown.

use std::io::{self, IsTerminal};

use serde_json::{Value, json};

use super::args::{FailOn, Format, ReportArgs, Target};
use super::destination::{self, Destination};
use super::failure::{ExitCode, Failure};
use super::screen::JobOutput;
use super::{Edge, compare, print, print_json, publish};
use crate::analysis::verdict::{RunVerdict, Severity};
use crate::app::publish::Published;
use crate::app::run::FinishedRun;
use crate::app::runs::{self, FindError, FoundRun, Place};
use crate::app::verdict;
use crate::app::watch::Watch;
use crate::config::Config;
use crate::profile::model::Profile;
use crate::record::index::Line;
use crate::record::layout::PAGE_FILE;
use crate::record::series::SeriesFile;
use crate::record::{Record, canonical};
use crate::report::terminal::{self, TerminalOptions, Written};
use crate::report::verdict as words;
use crate::report::{self, EarlierRun, LogTail, PagePlace, ReportError, RunPageInput, Said};
use crate::results::Results;

/// Lines are no wider than this, however wide the terminal.
const WIDTH_MAX: u16 = 120;

/// A run and what is said of it.
#[derive(Debug)]
pub(super) struct Shown<'a> {
    record: &'a Record,
    series: &'a SeriesFile,
    log: LogTail<'a>,
    profiles: &'a [Profile],
    earlier: EarlierRun<'a>,
    verdict: Said<'a>,
    place: PagePlace<'a>,
    written: Vec<(&'static str, String)>,
}

impl<'a> Shown<'a> {
    /// A run that has just ended. `found` is the same run as the results repository holds it.
    pub(super) fn of_finished(run: &'a FinishedRun, found: Option<&'a FoundRun>) -> Self {
        let earlier = found.map_or(
            EarlierRun::Absent(
                "the run is not published; with --publish it is set beside earlier ones",
            ),
            earlier,
        );
        let page = run.bundle.join(PAGE_FILE);
        let mut written = vec![
            ("bundle", run.bundle.display().to_string()),
            ("page", page.display().to_string()),
        ];
        if let Some(Place::Results(path)) = found.map(|found| &found.place) {
            written.push(("published", path.clone()));
        }
        Self {
            record: &run.record,
            series: &run.series,
            log: LogTail::Text(&run.log),
            profiles: &run.profiles,
            earlier,
            verdict: found.map_or(Said::Nothing("the run is not published"), said),
            place: PagePlace::Bundle,
            written,
        }
    }

    fn of_found(found: &'a FoundRun) -> Self {
        let (place, label, path) = match &found.place {
            Place::Bundle(folder) => (PagePlace::Bundle, "bundle", folder.display().to_string()),
            Place::Results(path) => (PagePlace::Results(path), "run", path.clone()),
        };
        Self {
            record: &found.record.record,
            series: &found.series,
            log: match &found.log_tail {
                Ok(text) => LogTail::Text(text),
                Err(why) => LogTail::Absent(why),
            },
            profiles: &found.profiles,
            earlier: earlier(found),
            verdict: said(found),
            place,
            written: vec![(label, path)],
        }
    }

    fn input(&self) -> RunPageInput<'_> {
        RunPageInput {
            record: self.record,
            series: self.series,
            log_tail: self.log,
            earlier: self.earlier,
            verdict: self.verdict,
            place: self.place,
            profiles: self.profiles,
        }
    }
}

fn earlier(found: &FoundRun) -> EarlierRun<'_> {
    match &found.earlier {
        Ok(line) => EarlierRun::Found(line as &Line),
        Err(why) => EarlierRun::Absent(why),
    }
}

fn said(found: &FoundRun) -> Said<'_> {
    match &found.verdict {
        Ok(verdict) => Said::Verdict(verdict),
        Err(why) => Said::Nothing(why),
    }
}

/// Shows the run that was named.
pub(super) fn report(edge: &Edge, args: &ReportArgs) -> Result<u8, Failure> {
    let config = publish::load(edge, args.config.as_deref())?;
    let results = open(edge, &args.target, &config, &args.run)?;
    let judging = verdict::judging(&config);
    let find =
        |name| runs::find(name, results.as_ref(), &judging).map_err(|error| not_found(&error));
    let found = find(&args.run)?;
    tell_corrupt(edge, &found);
    if let Some(name) = &args.against {
        return compare::lay(&find(name)?, &found, &config, args.format);
    }
    let code = exit_code(args.fail_on, found.verdict.as_ref().ok());
    if args.format == Format::Json {
        let bytes = found.record.bytes().map_err(|error| internal(&error))?;
        let mut value: Value = serde_json::from_slice(&bytes).map_err(|error| internal(&error))?;
        let said = match &found.verdict {
            Ok(verdict) => words::json(verdict),
            Err(why) => json!({ "not_judged": why }),
        };
        if let Some(record) = value.as_object_mut() {
            record.insert("verdict".to_owned(), said);
        }
        print_json(&canonical::pretty(&value).map_err(|error| internal(&error))?)?;
        return Ok(code as u8);
    }
    show(&Shown::of_found(&found), args.format)?;
    Ok(code as u8)
}

/// Says which lines of the index were passed over on the way to a run.
pub(super) fn tell_corrupt(edge: &Edge, found: &FoundRun) {
    let screen = edge.screen(JobOutput::Kept);
    found.corrupt.iter().for_each(|line| screen.warn(line));
}

pub(super) fn internal(error: &dyn std::error::Error) -> Failure {
    Failure::new(ExitCode::Internal, error)
}

/// What a verdict does to the exit code.
fn exit_code(fail_on: FailOn, verdict: Option<&RunVerdict>) -> ExitCode {
    let fails = verdict.is_some_and(|verdict| verdict.severity == Severity::Fails);
    if fail_on == FailOn::Regressed && fails { ExitCode::Regressed } else { ExitCode::Done }
}

/// The results repository; `None` when there is none, which a bundle's report does not need.
pub(super) fn open(
    edge: &Edge,
    target: &Target,
    config: &Config,
    run: &str,
) -> Result<Option<Results>, Failure> {
    let Some(to) = destination::find(edge, target, config)?.place() else {
        return Ok(None);
    };
    match Results::open(&to.to, &to.branch) {
        Ok(results) => Ok(Some(results)),
        // A bundle is shown without a repository; anything else says that it is missing.
        Err(_) if edge.folder.join(run).is_dir() => Ok(None),
        Err(error) => Err(Failure::new(ExitCode::Usage, &error)),
    }
}

pub(super) fn not_found(error: &FindError) -> Failure {
    Failure::new(ExitCode::Usage, error)
}

/// The run as the repository holds it, for the earlier run beside it.
pub(super) fn find_published(
    run: &FinishedRun,
    published: Option<&Published>,
    to: Option<&Destination>,
) -> Option<FoundRun> {
    let path = &published?.runs.iter().find(|one| one.bundle == run.bundle)?.path;
    let results = Results::open(&to?.to, &to?.branch).ok()?;
    runs::find(path, Some(&results), &to?.judging()).ok()
}

/// Prints the run in that form.
pub(super) fn show(shown: &Shown<'_>, format: Format) -> Result<u8, Failure> {
    let input = shown.input();
    let failed = |error: ReportError| Failure::new(ExitCode::Internal, &error);
    match format {
        Format::Text => {
            let written: Vec<Written<'_>> =
                shown.written.iter().map(|(label, place)| Written { label, place }).collect();
            print(terminal::render(&input, &written, terminal_options()).as_bytes())
        }
        Format::Md => print(&report::markdown_page(&input).map_err(failed)?),
        Format::Html => print(&report::html_page(&input).map_err(failed)?),
        Format::Json => {
            let bytes = canonical::pretty(shown.record)
                .map_err(|error| Failure::new(ExitCode::Internal, &error))?;
            print_json(&bytes)
        }
    }
}

/// Colours on a terminal that wants them; a width that people can read.
pub(super) fn terminal_options() -> TerminalOptions {
    let terminal = io::stdout().is_terminal();
    let colours = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let width = terminal_size::terminal_size().map_or(100, |(width, _)| width.0);
    TerminalOptions { width: width.clamp(40, WIDTH_MAX), colours }
}
