//! Ends a run: numbers to disk first, then files, log and series, then the pages.

use std::path::Path;

use super::execute::{Execution, Finished};
use super::guard::guarded;
use super::ledger::Ledger;
use super::outputs::{self, Budget};
use super::prepare::Prepared;
use super::profiles::{self, Around, Profiled};
use super::{FinishedRun, RunError};
use crate::app::watch::Watch;
use crate::bundle::write::BundleWriter;
use crate::config::{KeepRule, Profiler};
use crate::measure::Window;
use crate::model::status::Status;
use crate::plan::files::Selector;
use crate::record::layout::{LOG_FILE, RECORD_FILE};
use crate::record::reading::ReadRule;
use crate::record::series::{SERIES_FILE, Series, SeriesFile, summaries};
use crate::record::{File, FileRole, Level, Notice, Record, canonical};
use crate::report::{self, EarlierRun, LogTail, PagePlace, RunPageInput, Said};
use crate::source::files::{Found, FoundFile};

/// Completes the bundle, whatever came of the job; `Some` is why the run was not carried out as
/// planned.
///
/// # Errors
/// When the bundle cannot be written anywhere.
pub(super) fn finish(
    mut execution: Execution<'_>,
    outcome: Result<Finished, RunError>,
    window: Window,
    prepared: &Prepared,
) -> Result<(FinishedRun, Option<RunError>), RunError> {
    let (finished, error) = match outcome {
        Ok(finished) => (finished, None),
        Err(error) => (execution.break_down(&error), Some(error)),
    };
    let Execution { shop, planned, bundle, mut record, ledger, .. } = execution;
    let disturbances = window.close(&ledger.share());
    bundle.release_reserve();
    ledger.fill(&mut record, None);
    record.disturbances = disturbances.seen;
    record.unavailable.extend(disturbances.unavailable);
    record.run.status = finished.status;
    record.run.exit_code = finished.exit_code;
    // Numbers, log and series first: what profilers wrote may take minutes to read. A disk that
    // refuses is told of below.
    let _ = write_measured(bundle, record.clone(), &ledger);
    let workspace = shop.root.canonicalize().unwrap_or_else(|_| shop.root.to_owned());
    let workspaces = [shop.root.to_string_lossy(), workspace.to_string_lossy()];
    let workspaces: Vec<&str> = workspaces.iter().map(AsRef::as_ref).collect();
    let expected = planned.job.profiler != Profiler::None && finished.status == Status::Succeeded;
    let rules = by_rule(&planned.job.read);
    let redactor = bundle.redactor();
    let asked = shop.stop.requests();
    let gives_up = || shop.stop.requests() > asked;
    let by_rule = rules.as_ref();
    let around =
        Around { workspaces: &workspaces, redactor, expected, by_rule, gives_up: &gives_up };
    let mut profiled = profiles::read(&finished.traces, around);
    if planned.job.profiler == Profiler::SelfMade && !profiled.profiles.is_empty() {
        profiled.notices.push(Notice {
            level: Level::Info,
            code: "profiled".to_owned(),
            message: "the job profiles itself: the numbers include what its profiler costs"
                .to_owned(),
        });
    }
    let kept =
        KeptFiles { found: &finished.outputs, rules: &planned.job.keep, root: shop.root, profiled };
    let run = complete(bundle, record, &ledger, &kept, prepared, shop.watch)?;
    Ok((run, error))
}

/// The files that rules read.
pub(super) fn by_rule(rules: &[ReadRule]) -> Option<Selector> {
    let paths: Vec<&str> = rules.iter().map(|rule| rule.path.as_str()).collect();
    Selector::new(&paths).ok().filter(|_| !paths.is_empty())
}

/// Files that a run leaves.
pub(super) struct KeptFiles<'a> {
    /// Its outputs.
    pub(super) found: &'a Found,
    /// Those to keep verbatim.
    pub(super) rules: &'a [KeepRule],
    /// The folder that these rules are relative to.
    pub(super) root: &'a Path,
    /// What profilers wrote.
    pub(super) profiled: Profiled,
}

impl KeptFiles<'_> {
    /// The outputs that are no profiler's.
    fn outputs(&self) -> Found {
        let mut found = self.found.clone();
        let is_raw =
            |file: &FoundFile| self.profiled.raw.iter().any(|raw| raw.absolute == file.absolute);
        found.files.retain(|file| !is_raw(file));
        found
    }
}

/// Numbers first, then files, log and series, then the record for good, then the pages. Where the
/// folder takes no more, all of it is written to another one.
///
/// # Errors
/// When the bundle cannot be written anywhere.
pub(super) fn complete(
    bundle: &BundleWriter,
    mut record: Record,
    ledger: &Ledger,
    kept: &KeptFiles<'_>,
    prepared: &Prepared,
    watch: &dyn Watch,
) -> Result<FinishedRun, RunError> {
    let error = match write(bundle, record.clone(), ledger, kept, prepared, watch) {
        Ok(run) => return Ok(run),
        Err(error) => error,
    };
    let Ok(other) = bundle.elsewhere(prepared.temp.as_deref()) else { return Err(error) };
    let message = format!(
        "the bundle is in {}, because its first folder took no more: {error}",
        other.folder().display()
    );
    watch.warn(&message);
    let (level, code) = (Level::Warning, "bundle_moved".to_owned());
    record.notices.push(Notice { level, code, message });
    // The first error tells what to mend.
    write(&other, record, ledger, kept, prepared, watch).map_err(|_| error)
}

/// What the measurement itself told, without what profilers wrote: the numbers, then what may not
/// fit.
fn write_measured(bundle: &BundleWriter, record: Record, ledger: &Ledger) -> Result<(), RunError> {
    let mut record = bundle.seal(record)?;
    write_log_and_series(bundle, &mut record, ledger, &[])?;
    bundle.seal(record)?;
    Ok(())
}

/// What was written: the log, and the series with `more` of them.
fn write_log_and_series(
    bundle: &BundleWriter,
    record: &mut Record,
    ledger: &Ledger,
    more: &[Series],
) -> Result<(Vec<u8>, SeriesFile), RunError> {
    let log = bundle.clean_log(&ledger.log().to_bytes());
    let mut series = ledger.series();
    record.series.extend(summaries(more));
    series.series.extend(more.iter().cloned());
    let series = bundle.clean_series(series);
    add_files(bundle, record, &log, &series)?;
    Ok((log, series))
}

fn write(
    bundle: &BundleWriter,
    record: Record,
    ledger: &Ledger,
    kept: &KeptFiles<'_>,
    prepared: &Prepared,
    watch: &dyn Watch,
) -> Result<FinishedRun, RunError> {
    let mut record = bundle.seal(record)?;
    let more: Vec<_> = kept.profiled.series.iter().map(|sourced| sourced.series.clone()).collect();
    let (log, series) = write_log_and_series(bundle, &mut record, ledger, &more)?;
    let results = &prepared.config.results;
    let budget = Budget { max_file: results.max_file, max_run: results.max_run };
    let keep = || outputs::keep(bundle, &kept.outputs(), kept.rules, budget, kept.root);
    match guarded("keeping what the job left", keep) {
        Ok((mut files, notices)) => {
            files.append(&mut record.files);
            record.files = files;
            record.notices.extend(notices);
        }
        Err(error) => record.notices.push(Notice {
            level: Level::Error,
            code: "outputs_not_kept".to_owned(),
            message: error.to_string(),
        }),
    }
    let rules = profiles::Kept { raw: results.raw, max_file: results.max_file };
    let profiles = profiles::keep(bundle, &mut record, &kept.profiled, rules);
    let record = bundle.seal(record)?;
    let log = String::from_utf8_lossy(&log).into_owned();
    let finished =
        FinishedRun { bundle: bundle.folder().to_owned(), record, series, log, profiles };
    if let Err(error) = guarded("making the pages", || write_pages(bundle, &finished, watch)) {
        watch.warn(&format!("no page: {error}; the numbers are in {RECORD_FILE}"));
    }
    Ok(finished)
}

fn add_files(
    bundle: &BundleWriter,
    record: &mut Record,
    log: &[u8],
    series: &SeriesFile,
) -> Result<(), RunError> {
    bundle.write_gz(LOG_FILE, log)?;
    let mut list = vec![(LOG_FILE, log.to_vec())];
    if !series.series.is_empty() {
        let mut bytes = serde_json::to_vec(series)?;
        bytes.push(b'\n');
        bundle.write(SERIES_FILE, &bytes)?;
        list.push((SERIES_FILE, bytes));
    }
    for (path, bytes) in list {
        record.files.push(File {
            path: path.to_owned(),
            bytes: bytes.len() as u64,
            sha256: Some(canonical::sha256_hex(&bytes)),
            role: FileRole::Bundle,
            left_out: None,
        });
    }
    Ok(())
}

/// A page that cannot be made costs the page, not the run.
fn write_pages(bundle: &BundleWriter, run: &FinishedRun, watch: &dyn Watch) {
    let input = RunPageInput {
        record: &run.record,
        series: &run.series,
        log_tail: LogTail::Text(&run.log),
        profiles: &run.profiles,
        verdict: Said::Nothing("a run is judged when it is published, and its page there says so"),
        earlier: EarlierRun::Absent(
            "a bundle stands for itself; publish it to set it beside others",
        ),
        place: PagePlace::Bundle,
    };
    match report::run_pages(&input) {
        Ok(pages) => {
            for (name, bytes) in pages {
                if let Err(error) = bundle.write(&name, &bytes) {
                    watch.warn(&format!("failed to {error}; the numbers are in {RECORD_FILE}"));
                }
            }
        }
        Err(error) => watch.warn(&format!("no page: {error}; the numbers are in {RECORD_FILE}")),
    }
}
