//! What a results repository holds, and how people name one of its runs.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::index::{Index, MONTHS_BACK};
use super::{log, verdict};
use crate::analysis::verdict::{Judging, RunVerdict};
use crate::bundle::read::{self as bundle, Bundle, ReadError};
use crate::model::status::Status;
use crate::plan::Against;
use crate::profile::model::Profile;
use crate::profile::stored::{self, PROFILE_FILE};
use crate::record::Record;
use crate::record::index::Line;
use crate::record::layout::{LOG_FILE, RECORD_FILE};
use crate::record::read::{self, ReadRecord, RecordError};
use crate::record::series::{SERIES_FILE, SeriesFile};
use crate::results::tip::Tip;
use crate::results::{Results, ResultsError};

/// Shortest start of a commit that names one.
const SHA_MIN: usize = 4;
/// Most choices that an error names.
const TOLD_MAX: usize = 8;

/// Which runs are wanted; an empty query wants all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Of this job.
    pub job: Option<String>,
    /// That ended so.
    pub status: Option<Status>,
    /// That began at this time or later.
    pub since: Option<Timestamp>,
}

/// The runs that were found.
#[derive(Debug, Default)]
pub struct Listing {
    /// Newest first.
    pub lines: Vec<Line>,
    /// Index lines that could not be read, one sentence each.
    pub corrupt: Vec<String>,
}

/// Lists runs, newest first, from the index alone.
///
/// # Errors
/// When the repository cannot be read.
pub fn runs(results: &Results, query: &Query) -> Result<Listing, ResultsError> {
    let tip = results.tip()?;
    tip.standing()?;
    let mut index = Index::new(&tip)?;
    let first = query.since.map(|time| time.strftime("%Y-%m").to_string());
    let mut lines = Vec::new();
    for month in index.months().to_vec() {
        if first.as_ref().is_some_and(|first| month < *first) {
            break;
        }
        lines.extend(index.shard(&month)?.lines().rev().filter(|line| query.wants(line)).cloned());
    }
    Ok(Listing { lines, corrupt: index.corrupt().collect() })
}

/// The newest runs of one history, oldest first, at most `max` of them.
///
/// # Errors
/// When the repository cannot be read.
pub fn history(results: &Results, key: &str, max: usize) -> Result<Vec<Line>, ResultsError> {
    let tip = results.tip()?;
    let mut index = Index::new(&tip)?;
    let mut lines: Vec<Line> = Vec::new();
    for month in index.months().iter().take(MONTHS_BACK).cloned().collect::<Vec<_>>() {
        if lines.len() >= max {
            break;
        }
        lines.extend(index.shard(&month)?.lines().rev().filter(|line| line.key == key).cloned());
    }
    lines.truncate(max);
    lines.reverse();
    Ok(lines)
}

/// The newest run of one history that stands for what somebody wants to compare with: of that
/// commit, else of the branch or tag of that name. `None` when nothing of it is stored.
///
/// # Errors
/// When the repository cannot be read.
pub fn newest_of(
    results: &Results,
    key: &str,
    against: &Against,
) -> Result<Option<Line>, ResultsError> {
    let tip = results.tip()?;
    let mut index = Index::new(&tip)?;
    let name = against.reference.trim_start_matches("refs/heads/");
    let names = [format!("refs/heads/{name}"), format!("refs/tags/{name}")];
    let is_named = |line: &Line| {
        line.pull_request.is_none()
            && line.reference.as_ref().is_some_and(|reference| names.contains(reference))
    };
    let mut of_name = None;
    for month in index.months().iter().take(MONTHS_BACK).cloned().collect::<Vec<_>>() {
        let of_key = |line: &&Line| line.key == key && line.has_values();
        for line in index.shard(&month)?.lines().rev().filter(of_key) {
            if line.commit.as_ref() == Some(&against.commit) {
                return Ok(Some(line.clone()));
            }
            if of_name.is_none() && is_named(line) {
                of_name = Some(line.clone());
            }
        }
    }
    Ok(of_name)
}

impl Query {
    fn wants(&self, line: &Line) -> bool {
        self.job.as_ref().is_none_or(|job| *job == line.job)
            && self.status.is_none_or(|status| status == line.status)
            && self.since.is_none_or(|since| line.start >= since)
    }
}

/// A run with all that its pages are made from.
#[derive(Debug)]
pub struct FoundRun {
    /// Where it was found.
    pub place: Place,
    /// The record.
    pub record: ReadRecord,
    /// Its numbers over time; empty where there are none.
    pub series: SeriesFile,
    /// The end of its output, or why there is none.
    pub log_tail: Result<String, String>,
    /// Its profiles; none where there are none, or they cannot be read.
    pub profiles: Vec<Profile>,
    /// The newest earlier run that may be compared, or why there is none.
    pub earlier: Result<Line, String>,
    /// What can be said of its numbers, or why nothing can.
    pub verdict: Result<RunVerdict, String>,
    /// Lines of the index that cannot be read, and were passed over.
    pub corrupt: Vec<String>,
}

/// Where a run was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In this bundle.
    Bundle(PathBuf),
    /// In this folder of the results repository.
    Results(String),
}

/// Why a run was not found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// It is neither a folder nor anything the repository knows.
    #[error("no run {name:?}: {why}")]
    NoRun {
        /// What was asked for.
        name: String,
        /// What was looked for, and where.
        why: String,
    },
    /// Several runs bear the name.
    #[error("{name:?} is the name of several runs; name one of {}", choices.join(", "))]
    Several {
        /// What was asked for.
        name: String,
        /// Names of one run each, the first few.
        choices: Vec<String>,
    },
    /// The bundle cannot be read.
    #[error(transparent)]
    Bundle(#[from] ReadError),
    /// The stored record cannot be read.
    #[error("{path} in the results repository: {source}")]
    Record {
        /// The run's folder.
        path: String,
        /// What is wrong with it.
        source: RecordError,
    },
    /// The results repository cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

/// Finds the run `name`: a bundle's folder or a folder that holds one bundle, a path in the
/// results repository, `<sha prefix>[/<job>]`, or `latest[~N][/<job>]`. `results` is `None` where there is
/// no results repository, which leaves bundles. `judging` tells how its numbers are judged.
///
/// # Errors
/// When there is no such run, several, or it cannot be read.
pub fn find(
    name: &str,
    results: Option<&Results>,
    judging: &Judging,
) -> Result<FoundRun, FindError> {
    if steps_back(name).is_none() && Path::new(name).is_dir() {
        return from_bundle(name, results, judging);
    }
    let Some(results) = results else {
        let why = "there is no such folder, and no results repository".to_owned();
        return Err(FindError::NoRun { name: name.to_owned(), why });
    };
    let tip = results.tip()?;
    // What a newer perftrail wrote may mean something else.
    tip.standing()?;
    let mut index = Index::new(&tip)?;
    let path = locate(name, &tip, &mut index)?;
    from_tip(&tip, &mut index, &path, judging)
}

/// The folder of the run `name` in the results repository.
pub(super) fn locate(
    name: &str,
    tip: &Tip<'_>,
    index: &mut Index<'_, '_>,
) -> Result<String, FindError> {
    let no_run = |why: &str| FindError::NoRun { name: name.to_owned(), why: why.to_owned() };
    if let Some((steps, job)) = steps_back(name) {
        let line = nth(index, steps, job)?;
        let line =
            line.ok_or_else(|| no_run("the results repository has not so many such runs"))?;
        return Ok(line.path);
    }
    let path = name.trim_end_matches('/');
    if path.starts_with("runs/") && tip.read(&format!("{path}/{RECORD_FILE}"))?.is_some() {
        return Ok(path.to_owned());
    }
    match by_commit(index, name)? {
        Some(line) => Ok(line.path),
        None => Err(no_run(
            "it is neither a folder, nor a run's path, nor the start of a measured commit, nor latest",
        )),
    }
}

/// `latest` is 0, `latest~N` is N; a job behind `/` counts its runs alone.
fn steps_back(name: &str) -> Option<(usize, Option<&str>)> {
    let (name, job) = match name.split_once('/') {
        Some((name, job)) => (name, Some(job)),
        None => (name, None),
    };
    match name.strip_prefix("latest")? {
        "" => Some((0, job)),
        rest => Some((rest.strip_prefix('~')?.parse().ok()?, job)),
    }
}

/// The run `steps` before the newest, of a job or of all.
fn nth(
    index: &mut Index<'_, '_>,
    mut steps: usize,
    job: Option<&str>,
) -> Result<Option<Line>, ResultsError> {
    for month in index.months().to_vec() {
        let is_meant = |line: &&Line| job.is_none_or(|job| line.job == job);
        let shard = index.shard(&month)?;
        let count = shard.lines().filter(is_meant).count();
        if steps < count {
            return Ok(shard.lines().rev().filter(is_meant).nth(steps).cloned());
        }
        steps -= count;
    }
    Ok(None)
}

/// The newest run of the commit that begins with the name, and of the job behind its `/`.
fn by_commit(index: &mut Index<'_, '_>, name: &str) -> Result<Option<Line>, FindError> {
    let (prefix, job) = match name.split_once('/') {
        Some((prefix, job)) => (prefix.to_ascii_lowercase(), Some(job)),
        None => (name.to_ascii_lowercase(), None),
    };
    if prefix.len() < SHA_MIN || !prefix.bytes().all(|c| c.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let mut found: Vec<Line> = Vec::new();
    for month in index.months().to_vec() {
        let lines = index.shard(&month)?.lines().rev().filter(|line| {
            // A commit that a run said it measured still leads to it.
            let before = line.amended.as_ref().and_then(|amended| amended.from.as_ref());
            let mut names = line.commit.iter().chain(before);
            names.any(|sha| sha.as_str().starts_with(&prefix))
                && job.is_none_or(|job| line.job == job)
        });
        found.extend(lines.cloned());
    }
    let name_of = |line: &Line| {
        let sha = line.commit.as_ref().map_or("", |sha| sha.short());
        format!("{sha}/{}", line.job)
    };
    let mut choices: Vec<String> = found.iter().map(name_of).collect();
    choices.sort();
    choices.dedup();
    if choices.len() > 1 {
        choices.truncate(TOLD_MAX);
        return Err(FindError::Several { name: name.to_owned(), choices });
    }
    Ok(found.into_iter().next())
}

fn from_bundle(
    name: &str,
    results: Option<&Results>,
    judging: &Judging,
) -> Result<FoundRun, FindError> {
    let folders = bundle::find(Path::new(name))?;
    let [folder] = folders.as_slice() else {
        let choices = folders.iter().take(TOLD_MAX).map(|path| path.display().to_string());
        return Err(FindError::Several { name: name.to_owned(), choices: choices.collect() });
    };
    let bundle = bundle::read(folder)?;
    let line = Line::of(&bundle.record.record, "");
    let Beside { earlier, verdict, corrupt } = match results {
        None => {
            let none = || "there is no results repository".to_owned();
            Beside { earlier: Err(none()), verdict: Err(none()), corrupt: Vec::new() }
        }
        Some(results) => beside(results, &bundle.record.record, &line, judging),
    };
    Ok(FoundRun {
        place: Place::Bundle(folder.clone()),
        series: series(file(&bundle, SERIES_FILE).ok().as_deref()),
        log_tail: file(&bundle, LOG_FILE).and_then(|packed| log_tail(&packed)),
        profiles: profiles(file(&bundle, PROFILE_FILE).ok().as_deref()),
        record: bundle.record,
        earlier,
        verdict,
        corrupt,
    })
}

/// What a repository holds beside a bundle.
struct Beside {
    earlier: Result<Line, String>,
    verdict: Result<RunVerdict, String>,
    corrupt: Vec<String>,
}

fn beside(results: &Results, record: &Record, line: &Line, judging: &Judging) -> Beside {
    let neither = |error, why: &str| Beside {
        earlier: told_earlier(Err(error)),
        verdict: Err(why.to_owned()),
        corrupt: Vec::new(),
    };
    let tip = match results.tip() {
        Ok(tip) => tip,
        Err(error) => return neither(error, "it cannot be read"),
    };
    match Index::new(&tip) {
        Ok(mut index) => Beside {
            earlier: told_earlier(index.earlier(line)),
            verdict: verdict::judge(&tip, &mut index, record, line, judging, None),
            corrupt: index.corrupt().collect(),
        },
        Err(error) => neither(error, "its index cannot be read"),
    }
}

fn told_earlier(found: Result<Option<Line>, ResultsError>) -> Result<Line, String> {
    match found {
        Ok(Some(line)) => Ok(line),
        Ok(None) => Err("this is the first run of its history".to_owned()),
        Err(error) => Err(format!("the index of earlier runs cannot be read: {error}")),
    }
}

fn file(bundle: &Bundle, name: &str) -> Result<Vec<u8>, String> {
    let file = bundle.files.iter().find(|file| file.path == name);
    let file = file.ok_or_else(|| format!("the bundle holds no {name}"))?;
    file.read().map_err(|error| format!("{name} cannot be read: {error}"))
}

fn from_tip(
    tip: &Tip<'_>,
    index: &mut Index<'_, '_>,
    path: &str,
    judging: &Judging,
) -> Result<FoundRun, FindError> {
    let Some(bytes) = tip.read(&format!("{path}/{RECORD_FILE}"))? else {
        let why = "the index names it, and its record is not there".to_owned();
        return Err(FindError::NoRun { name: path.to_owned(), why });
    };
    let record =
        read::read(&bytes).map_err(|source| FindError::Record { path: path.to_owned(), source })?;
    let line = Line::of(&record.record, path);
    let log_tail = match tip.read(&format!("{path}/{LOG_FILE}"))? {
        Some(packed) => log_tail(&packed),
        None => Err("the log is not published".to_owned()),
    };
    Ok(FoundRun {
        place: Place::Results(path.to_owned()),
        series: series(tip.read(&format!("{path}/{SERIES_FILE}"))?.as_deref()),
        profiles: profiles(tip.read(&format!("{path}/{PROFILE_FILE}"))?.as_deref()),
        log_tail,
        earlier: told_earlier(index.earlier(&line)),
        verdict: verdict::judge(tip, index, &record.record, &line, judging, None),
        corrupt: index.corrupt().collect(),
        record,
    })
}

/// Profiles that are not understood are as good as none: the record tells of them.
pub(in crate::app) fn profiles(bytes: Option<&[u8]>) -> Vec<Profile> {
    bytes.and_then(|bytes| stored::decode(bytes).ok()).unwrap_or_default()
}

fn series(bytes: Option<&[u8]>) -> SeriesFile {
    bytes.and_then(SeriesFile::read).unwrap_or_default()
}

fn log_tail(packed: &[u8]) -> Result<String, String> {
    match log::tail(packed) {
        Ok(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
        Err(error) => Err(format!("the log cannot be read: {error}")),
    }
}
