//! Ends a run: numbers to disk first, then files, log and series, then the pages.

use std::path::Path;

use super::execute::{Execution, Finished};
use super::ledger::Ledger;
use super::outputs::{self, Budget};
use super::prepare::Prepared;
use super::profiles::{self, Around, Profiled};
use super::{FinishedRun, RunError};
use crate::app::watch::Watch;
use crate::bundle::write::{BundleWriter, WriteError};
use crate::config::{KeepRule, Profiler};
use crate::measure::Window;
use crate::model::status::Status;
use crate::record::layout::{LOG_FILE, RECORD_FILE};
use crate::record::redact::Redactor;
use crate::record::series::{SERIES_FILE, SeriesFile};
use crate::record::{File, FileRole, Level, Notice, Record, canonical};
use crate::report::{self, EarlierRun, LogTail, PagePlace, RunPageInput};
use crate::source::files::{Found, FoundFile};

/// Completes the bundle, whatever came of the job.
///
/// # Errors
/// When the bundle cannot be written, or the job could not be started at all; even then the record
/// on disk says so.
pub(super) fn finish(
    execution: Execution<'_>,
    outcome: Result<Finished, RunError>,
    window: Window,
    prepared: &Prepared,
    redactor: &Redactor,
) -> Result<FinishedRun, RunError> {
    let Execution { shop, planned, bundle, mut record, ledger, .. } = execution;
    let disturbances = window.close(&ledger.share());
    bundle.release_reserve();
    ledger.fill(&mut record, None);
    record.disturbances = disturbances.seen;
    record.unavailable.extend(disturbances.unavailable);
    let finished = match outcome {
        Ok(finished) => finished,
        Err(error) => {
            record.run.status = Status::Failed;
            record.notices.push(Notice {
                level: Level::Error,
                code: "not_run".to_owned(),
                message: error.to_string(),
            });
            seal(bundle, &mut record, redactor)?;
            return Err(error);
        }
    };
    record.run.status = finished.status;
    record.run.exit_code = finished.exit_code;
    bundle.write_record(&record)?;
    let workspace = shop.root.canonicalize().unwrap_or_else(|_| shop.root.to_owned());
    let workspaces = [shop.root.to_string_lossy(), workspace.to_string_lossy()];
    let workspaces: Vec<&str> = workspaces.iter().map(AsRef::as_ref).collect();
    let expected = planned.job.profiler != Profiler::None && finished.status == Status::Succeeded;
    let around = Around { workspaces: &workspaces, redactor, expected };
    let profiled = profiles::read(&finished.traces, around);
    let kept =
        KeptFiles { found: &finished.outputs, rules: &planned.job.keep, root: shop.root, profiled };
    complete(bundle, record, &ledger, kept, prepared, redactor, shop.watch)
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

/// Files, log and series, then the record for good, then the pages.
///
/// # Errors
/// When the bundle cannot be written.
pub(super) fn complete(
    bundle: &BundleWriter,
    mut record: Record,
    ledger: &Ledger,
    kept: KeptFiles<'_>,
    prepared: &Prepared,
    redactor: &Redactor,
    watch: &dyn Watch,
) -> Result<FinishedRun, RunError> {
    let results = &prepared.config.results;
    let budget = Budget { max_file: results.max_file, max_run: results.max_run };
    let mut found = kept.found.clone();
    let is_raw =
        |file: &FoundFile| kept.profiled.raw.iter().any(|raw| raw.absolute == file.absolute);
    found.files.retain(|file| !is_raw(file));
    let (files, notices) = outputs::keep(bundle, &found, kept.rules, budget, kept.root);
    record.files.extend(files);
    record.notices.extend(notices);
    let more_series = kept.profiled.series.clone();
    let rules = profiles::Kept { raw: results.raw, max_file: results.max_file };
    profiles::keep(bundle, &mut record, kept.profiled, rules);
    let log = redactor.bytes(&ledger.log().to_bytes());
    let mut series = ledger.series();
    record.series.extend(super::ledger::summaries(&more_series));
    series.series.extend(more_series);
    add_files(bundle, &mut record, &log, &series)?;
    seal(bundle, &mut record, redactor)?;
    let log = String::from_utf8_lossy(&log).into_owned();
    write_pages(bundle, &record, &series, &log, watch);
    Ok(FinishedRun { bundle: bundle.folder().to_owned(), record, series, log })
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

/// Takes secrets out of the record, signs it with its digest and writes it for good.
fn seal(bundle: &BundleWriter, record: &mut Record, redactor: &Redactor) -> Result<(), WriteError> {
    *record = without_secrets(record, redactor)?;
    record.run.digest = Some(canonical::record_digest(record)?);
    bundle.write_record(record)
}

/// Everything that a job or a command line may have put a secret into goes through the redactor.
pub(in crate::app) fn without_secrets(
    record: &Record,
    redactor: &Redactor,
) -> Result<Record, serde_json::Error> {
    fn clean(value: &mut serde_json::Value, redactor: &Redactor) {
        match value {
            serde_json::Value::String(text) => *text = redactor.text(text),
            serde_json::Value::Array(items) => {
                for item in items {
                    clean(item, redactor);
                }
            }
            serde_json::Value::Object(map) => {
                for item in map.values_mut() {
                    clean(item, redactor);
                }
            }
            _ => {}
        }
    }
    let mut value = serde_json::to_value(record)?;
    for part in ["params", "steps", "extra", "notices", "environment", "tool"] {
        if let Some(part) = value.get_mut(part) {
            clean(part, redactor);
        }
    }
    serde_json::from_value(value)
}

/// A page that cannot be made costs the page, not the run.
fn write_pages(
    bundle: &BundleWriter,
    record: &Record,
    series: &SeriesFile,
    log: &str,
    watch: &dyn Watch,
) {
    let input = RunPageInput {
        record,
        series,
        log_tail: LogTail::Text(log),
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
