//! Where a run stands in a results repository, or would stand.

use super::lost::is_of;
use crate::app::index::Index;
use crate::model::status::Status;
use crate::record::Record;
use crate::record::index::Line;
use crate::record::layout::{RECORD_FILE, start_of};
use crate::record::read::{self, ReadRecord};
use crate::results::ResultsError;
use crate::results::path::RepoPath;
use crate::results::tip::Tip;

/// Where a run stands.
#[derive(Debug)]
pub(super) enum Place {
    /// Nothing of it is there yet.
    New(RepoPath),
    /// It is there already, whole and equal.
    Same(RepoPath),
    /// A record that says less of the same plan is there; `month` holds its line. It stands in the
    /// folder `old`, which is another one where it was made before the run had its name.
    Replaces { path: RepoPath, old: RepoPath, month: String },
    /// It says that a run was lost, and there is one of the same plan.
    Outdone(RepoPath),
    /// Something else stands there.
    Taken(Conflict),
}

/// Two runs that want one folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{path} in the results repository holds another record: digest {there}, this one has {here}"
)]
pub struct Conflict {
    /// The run's folder.
    pub path: String,
    /// The digest of the record that stands there, or what stands there instead of one.
    pub there: String,
    /// The digest of the bundle's record.
    pub here: String,
}

/// Finds the place of `record`, whose computed folder is `path`. `awaited` says that it stands for
/// a run of which no bundle came.
///
/// A run that the index knows by its name and plan keeps the folder it has: a record of a lost
/// run was filed by the time of its plan, and a layout may have been changed since.
pub(super) fn find(
    tip: &Tip<'_>,
    index: &mut Index<'_, '_>,
    record: &ReadRecord,
    path: RepoPath,
    awaited: bool,
) -> Result<Place, ResultsError> {
    let known = known(tip, index, &record.record)?;
    let is_named =
        |path: &RepoPath| path.as_str().split('/').any(|part| part == record.record.run.id);
    let named = known.iter().find(|one| is_named(&one.path)).map(|one| one.path.clone());
    let place = look(tip, record, named.unwrap_or(path))?;
    match place {
        Place::New(path) => {
            let other = of_plan(tip, known, &record.record, awaited)?;
            Ok(match other {
                None => Place::New(path),
                Some(other) if awaited => Place::Outdone(other.path),
                Some(Known { path: old, line }) => {
                    Place::Replaces { path, old, month: line.month() }
                }
            })
        }
        Place::Taken(conflict) if awaited => {
            let other = of_plan(tip, known, &record.record, awaited)?;
            Ok(other.map_or(Place::Taken(conflict), |other| Place::Outdone(other.path)))
        }
        place => Ok(place),
    }
}

/// What stands in the folder `path`.
fn look(tip: &Tip<'_>, record: &ReadRecord, path: RepoPath) -> Result<Place, ResultsError> {
    let here = record.content_digest();
    let taken = |there: String| {
        Place::Taken(Conflict { path: path.to_string(), there, here: here.clone() })
    };
    let Some(bytes) = tip.read(&format!("{path}/{RECORD_FILE}"))? else {
        if tip.list(path.as_str())?.is_empty() {
            return Ok(Place::New(path));
        }
        return Ok(taken(format!("none, for the folder has no {RECORD_FILE}")));
    };
    let there = match read::read(&bytes) {
        Ok(there) => there,
        Err(error) => return Ok(taken(format!("none that can be read ({error})"))),
    };
    if there.content_digest() == here {
        return Ok(Place::Same(path));
    }
    if is_fuller(record, &there) {
        let month = Line::of(&there.record, path.as_str()).month();
        return Ok(Place::Replaces { old: path.clone(), path, month });
    }
    Ok(taken(there.content_digest()))
}

/// A run of the tip, as the index knows it.
struct Known {
    path: RepoPath,
    line: Line,
}

/// Another record of the same plan. One that was made before its run began bears a name that the
/// run itself may not bear: a bundle takes the place of that one only, and a record that says
/// `lost` gives way to every other.
fn of_plan(
    tip: &Tip<'_>,
    known: Vec<Known>,
    here: &Record,
    awaited: bool,
) -> Result<Option<Known>, ResultsError> {
    for one in known {
        let is_early = matches!(one.line.status, Status::Lost | Status::Running);
        if one.line.job != here.run.job || !(awaited || is_early) {
            continue;
        }
        let bytes = tip.read(&format!("{}/{RECORD_FILE}", one.path))?.unwrap_or_default();
        let Ok(there) = read::read(&bytes) else { continue };
        let there = &there.record;
        let is_it = if awaited {
            is_of(there, here)
        } else {
            is_of(here, there) && fullness(here.run.status) > fullness(there.run.status)
        };
        if is_it {
            return Ok(Some(one));
        }
    }
    Ok(None)
}

/// The runs of the same plan and commit, filed by the start or by the plan. A line that names no
/// run folder, or one that is not there, says nothing.
fn known(
    tip: &Tip<'_>,
    index: &mut Index<'_, '_>,
    record: &Record,
) -> Result<Vec<Known>, ResultsError> {
    let month = |time: jiff::Timestamp| time.strftime("%Y-%m").to_string();
    let mut months = vec![month(start_of(record)), month(record.run.planned)];
    months.dedup();
    let mut known = Vec::new();
    for month in months {
        for line in index.shard(&month)?.lines() {
            if line.planned != record.run.planned || line.commit != record.commit.sha {
                continue;
            }
            let Some(path) = run_folder(line) else { continue };
            if !tip.list(path.as_str())?.is_empty() {
                known.push(Known { path, line: line.clone() });
            }
        }
    }
    Ok(known)
}

fn run_folder(line: &Line) -> Option<RepoPath> {
    let path = RepoPath::ours(&line.path).ok()?;
    path.as_str().starts_with("runs/").then_some(path)
}

/// Whether `here` says more than `there` of the same plan.
fn is_fuller(here: &ReadRecord, there: &ReadRecord) -> bool {
    let (here, there) = (&here.record, &there.record);
    there.run.status.is_replaceable()
        && fullness(here.run.status) > fullness(there.run.status)
        && is_of(here, there)
}

const fn fullness(status: Status) -> u8 {
    match status {
        Status::Lost => 0,
        Status::Running => 1,
        Status::Interrupted => 2,
        _ => 3,
    }
}
