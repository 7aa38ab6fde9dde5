//! Bundles that another job left, of which nothing is trusted: that job ran somebody's code, which
//! could write whatever it wanted. What a run is (job, params, commit, event, pull request, name) is
//! known from the plan, the event and the service before its bundle is looked at; a bundle that says
//! otherwise, or holds what no run leaves, is refused whole.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::lost::{Expected, is_of_job};
use crate::app::log;
use crate::bundle::read::Bundle;
use crate::model::metric::Unit;
use crate::model::status::Status;
use crate::model::text::shown;
use crate::profile::stored;
use crate::record::layout::{CALL_TREE_FILE, FILES_DIR, LOG_FILE, PAGE_FILE, RAW_DIR, README_FILE};
use crate::record::profiles::PROFILE_FILE;
use crate::record::series::{SERIES_FILE, SeriesFile};
use crate::record::{FileRole, Metric, Record, canonical};
use crate::results::path::{PathError, RepoPath, Siblings};

/// Most files of such a bundle.
const FILES_MAX: usize = 5_000;
/// Most bytes of all its files together.
const BYTES_MAX: u64 = 2 << 30;
/// Most folders in each other.
const PARTS_MAX: usize = 16;
/// Longest text in its record, in bytes.
const TEXT_MAX: usize = 64 << 10;
/// Longest key in its record, in bytes.
const KEY_MAX: usize = 256;
/// Deepest nesting in its record.
const DEPTH_MAX: usize = 12;
/// Most values in its record.
const VALUES_MAX: usize = 400_000;
/// Farthest number from zero in its record.
const NUMBER_MAX: f64 = 1e18;
/// Longest time in seconds: thirty years of CPU time.
const SECONDS_MAX: f64 = 1e9;
/// Clocks of two machines may differ by this.
const SKEW: SignedDuration = SignedDuration::from_mins(10);
/// No run takes longer.
const LONGEST: SignedDuration = SignedDuration::from_hours(35 * 24);

/// Why nothing of a bundle is published.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Suspicion {
    /// It is of no run of the plan.
    #[error("it is of no run of the plan: it says that it is of job `{job}` at {commit}")]
    NotPlanned {
        /// The job that it names, cut.
        job: String,
        /// The commit that it names.
        commit: String,
    },
    /// Another bundle is of the same run.
    #[error("another bundle is of the same run, and only one of them can be")]
    Twice,
    /// It says something else than the plan, the event or the service.
    #[error("its {what} is `{said}`, but it is known to be `{known}`")]
    Differs {
        /// What.
        what: &'static str,
        /// What it says, cut.
        said: String,
        /// What is known.
        known: String,
    },
    /// What no run leaves.
    #[error("{place} {what}")]
    Unfit {
        /// The file, or the way into the record, cut.
        place: String,
        /// What is wrong with it.
        what: String,
    },
}

fn unfit(place: &str, what: impl Into<String>) -> Suspicion {
    Suspicion::Unfit { place: shown(place), what: what.into() }
}

fn misnamed(path: &str, error: &PathError) -> Suspicion {
    unfit(path, format!("is no fit name: {error}"))
}

/// Checks a bundle against what is known of the runs of its plan.
///
/// # Errors
/// The first thing that is wrong.
pub(super) fn check(
    bundle: &Bundle,
    expected: &[Expected],
    now: Timestamp,
) -> Result<usize, Suspicion> {
    let record = &bundle.record.record;
    let place = expected.iter().position(|one| is_of_job(record, &one.lost.record));
    let Some(place) = place else {
        let commit = record.commit.sha.as_ref().map_or("no commit", |sha| sha.short());
        return Err(Suspicion::NotPlanned {
            job: shown(&record.run.job),
            commit: commit.to_owned(),
        });
    };
    let known = &expected[place];
    identity(record, known)?;
    times(record, known, now)?;
    walk(&bundle.record.plain, "", 0, &mut 0)?;
    numbers(record)?;
    files(bundle)?;
    Ok(place)
}

fn same<T: PartialEq + std::fmt::Debug>(
    what: &'static str,
    said: &T,
    known: &T,
) -> Result<(), Suspicion> {
    if said == known {
        return Ok(());
    }
    let text = |value: &T| shown(&format!("{value:?}"));
    Err(Suspicion::Differs { what, said: text(said), known: text(known) })
}

fn identity(said: &Record, expected: &Expected) -> Result<(), Suspicion> {
    let known = &expected.lost.record;
    if !expected.names.is_empty() && !expected.names.contains(&said.run.id) {
        let known = expected.names.first().cloned().unwrap_or_default();
        return Err(Suspicion::Differs { what: "name", said: shown(&said.run.id), known });
    }
    if !expected.is_elsewhere {
        same("time of planning", &said.run.planned, &known.run.planned)?;
    }
    same("label", &said.run.tag, &known.run.tag)?;
    same("workload", &said.run.workload, &known.run.workload)?;
    same("judged metrics", &said.run.judged, &known.run.judged)?;
    same("repetitions", &said.run.repetitions.planned, &known.run.repetitions.planned)?;
    same("repository", &said.repository.host, &known.repository.host)?;
    same("repository", &said.repository.owner, &known.repository.owner)?;
    same("repository", &said.repository.name, &known.repository.name)?;
    same("pull request", &said.trigger.pull_request, &known.trigger.pull_request)?;
    if known.trigger.pull_request.is_some() {
        same("branch", &said.commit.reference, &known.commit.reference)?;
    }
    same("event", &said.trigger.event, &known.trigger.event)?;
    if known.trigger.run_id.is_some() {
        same("workflow run", &said.trigger.run_id, &known.trigger.run_id)?;
        same("workflow run", &said.trigger.run_number, &known.trigger.run_number)?;
        same("workflow run", &said.trigger.run_url, &known.trigger.run_url)?;
        same("actor", &said.trigger.actor, &known.trigger.actor)?;
    }
    if expected.names_machine {
        same("machine group", &said.machine.group, &known.machine.group)?;
    }
    same("profiler", &said.tool.profiler.name, &known.tool.profiler.name)?;
    if said.comparison.is_some() || !said.commit.against.is_empty() {
        return Err(unfit("the record", "holds what only publishing adds"));
    }
    match said.run.status {
        Status::Lost | Status::Skipped | Status::Running => {
            let status = said.run.status;
            Err(unfit(
                "run.status",
                format!("is `{status}`, and no run leaves a bundle that says so"),
            ))
        }
        _ => Ok(()),
    }
}

fn times(said: &Record, expected: &Expected, now: Timestamp) -> Result<(), Suspicion> {
    let planned = expected.lost.record.run.planned;
    let begin = planned.checked_sub(SKEW).unwrap_or(Timestamp::MIN);
    let end = now.checked_add(SKEW).unwrap_or(Timestamp::MAX);
    let mut before = begin;
    for (place, time) in [
        ("run.planned", Some(said.run.planned)),
        ("run.started", said.run.started),
        ("run.ended", said.run.ended),
    ] {
        let Some(time) = time else { continue };
        if time < before || time > end {
            let what =
                format!("is {time}, and the run was planned at {planned} and it is {now} now");
            return Err(unfit(place, what));
        }
        before = time;
    }
    match (said.run.started, said.run.ended) {
        (Some(started), Some(ended)) if ended.duration_since(started) > LONGEST => {
            Err(unfit("run.ended", "is later than any run ends"))
        }
        (None, Some(_)) => Err(unfit("run.ended", "is there, and the run never started")),
        _ => Ok(()),
    }
}

/// Every text, key and number, known or not.
fn walk(value: &Value, place: &str, depth: usize, seen: &mut usize) -> Result<(), Suspicion> {
    *seen += 1;
    if depth > DEPTH_MAX {
        return Err(unfit(place, format!("nests deeper than {DEPTH_MAX} levels")));
    }
    if *seen > VALUES_MAX {
        return Err(unfit("the record", format!("holds more than {VALUES_MAX} values")));
    }
    match value {
        Value::String(text) if text.len() > TEXT_MAX => {
            Err(unfit(place, format!("has {} bytes of text, more than {TEXT_MAX}", text.len())))
        }
        Value::Number(number) if number.as_f64().is_none_or(|number| number.abs() > NUMBER_MAX) => {
            Err(unfit(place, format!("is {number}, beyond what is measured")))
        }
        Value::Array(items) => {
            items.iter().try_for_each(|item| walk(item, &format!("{place}[]"), depth + 1, seen))
        }
        Value::Object(entries) => entries.iter().try_for_each(|(key, value)| {
            if key.len() > KEY_MAX {
                return Err(unfit(place, format!("has a key of {} bytes", key.len())));
            }
            let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
            walk(value, &place, depth + 1, seen)
        }),
        _ => Ok(()),
    }
}

fn numbers(record: &Record) -> Result<(), Suspicion> {
    let done = record.run.repetitions;
    if done.completed > done.planned {
        return Err(unfit("run.repetitions", "says that more were completed than planned"));
    }
    let of_job = [("metrics", &record.metrics)].into_iter();
    let of_steps = record.steps.iter().map(|step| ("steps.metrics", &step.metrics));
    let of_phases = record.phases.iter().map(|phase| ("phases.metrics", &phase.metrics));
    for (place, metrics) in of_job.chain(of_steps).chain(of_phases) {
        for (name, one) in metrics {
            metric(one, done.planned).map_err(|what| unfit(&format!("{place}.{name}"), what))?;
        }
    }
    Ok(())
}

fn metric(metric: &Metric, planned: u32) -> Result<(), String> {
    let all = [Some(metric.value), metric.lower, metric.upper];
    let all = all.into_iter().flatten().chain(metric.repetitions.iter().copied());
    for value in all {
        let is_amount = matches!(metric.unit, Unit::Seconds | Unit::Bytes | Unit::Count);
        if is_amount && value < 0.0 {
            return Err(format!("is {value}, and nothing of its unit is negative"));
        }
        if metric.unit == Unit::Seconds && value > SECONDS_MAX {
            return Err(format!("is {value} s, longer than any run"));
        }
    }
    if metric.n > planned || metric.repetitions.len() > planned as usize {
        return Err(format!("has more values than the {planned} repetitions"));
    }
    let below = metric.lower.is_some_and(|lower| lower > metric.value);
    let above = metric.upper.is_some_and(|upper| upper < metric.value);
    if below || above { Err("lies outside its own bounds".to_owned()) } else { Ok(()) }
}

fn files(bundle: &Bundle) -> Result<(), Suspicion> {
    if let Some(refused) = bundle.refused.first() {
        return Err(unfit(&refused.path, format!("cannot be published: {}", refused.why)));
    }
    if bundle.files.len() > FILES_MAX {
        let what = format!("holds {} files, more than {FILES_MAX}", bundle.files.len());
        return Err(unfit("the bundle", what));
    }
    let total: u64 = bundle.files.iter().map(|file| file.bytes).sum();
    if total > BYTES_MAX {
        return Err(unfit("the bundle", format!("holds {total} bytes, more than {BYTES_MAX}")));
    }
    let mut siblings = Siblings::default();
    for file in &bundle.files {
        let path = RepoPath::hostile(&file.path).and_then(|path| {
            siblings.add(&path)?;
            Ok(path)
        });
        let path = path.map_err(|error| misnamed(&file.path, &error))?;
        if path.as_str().split('/').count() > PARTS_MAX {
            return Err(unfit(&file.path, "lies too deep"));
        }
    }
    listed(bundle)?;
    content(bundle)
}

/// Only files that perftrail writes, and those that the record lists as what they are.
fn listed(bundle: &Bundle) -> Result<(), Suspicion> {
    let record = &bundle.record.record;
    // Who reads the record may follow its names, whether or not there is a file.
    for file in &record.files {
        RepoPath::ours(&file.path).map_err(|error| misnamed(&file.path, &error))?;
    }
    let mut names = BTreeSet::new();
    for file in record.files.iter().filter(|file| file.left_out.is_none()) {
        if !names.insert(file.path.as_str()) {
            return Err(unfit(&file.path, "is listed twice"));
        }
    }
    for file in &bundle.files {
        let folder = file.path.split_once('/').map(|(folder, _)| folder);
        let role = match folder {
            None => {
                let ours =
                    [README_FILE, PAGE_FILE, CALL_TREE_FILE, LOG_FILE, SERIES_FILE, PROFILE_FILE];
                if ours.contains(&file.path.as_str()) {
                    continue;
                }
                return Err(unfit(&file.path, "is no file of a bundle"));
            }
            Some(folder) if folder == FILES_DIR => [FileRole::Collected, FileRole::Kept].as_slice(),
            Some(folder) if folder == RAW_DIR => [FileRole::Raw].as_slice(),
            Some(_) => return Err(unfit(&file.path, "is in no folder of a bundle")),
        };
        let entry = record.files.iter().find(|one| one.path == file.path && one.left_out.is_none());
        let Some(entry) = entry.filter(|entry| role.contains(&entry.role)) else {
            return Err(unfit(&file.path, "is not listed in the record as what it is"));
        };
        if entry.bytes != file.bytes {
            let (said, found) = (entry.bytes, file.bytes);
            return Err(unfit(
                &file.path,
                format!("has {found} bytes, and the record says {said}"),
            ));
        }
    }
    Ok(())
}

/// What is read to be shown must be what it says, and must not unpack to more than is read.
fn content(bundle: &Bundle) -> Result<(), Suspicion> {
    for file in &bundle.files {
        let read =
            || file.read().map_err(|error| unfit(&file.path, format!("cannot be read: {error}")));
        match file.path.as_str() {
            SERIES_FILE if SeriesFile::read(&read()?).is_none() => {
                return Err(unfit(&file.path, "holds no series"));
            }
            PROFILE_FILE => {
                stored::decode(&read()?)
                    .map_err(|error| unfit(&file.path, format!("holds no profile: {error}")))?;
            }
            LOG_FILE => {
                log::tail(&read()?)
                    .map_err(|error| unfit(&file.path, format!("cannot be unpacked: {error}")))?;
            }
            path if path.starts_with(FILES_DIR) => {
                let found = canonical::sha256_hex(&read()?);
                let files = &bundle.record.record.files;
                let said =
                    files.iter().find(|one| one.path == path).and_then(|one| one.sha256.clone());
                if said.as_deref() != Some(&found) {
                    return Err(unfit(path, "is not the file that the record lists"));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
