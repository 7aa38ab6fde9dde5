//! Where a run stands in a results repository, or would stand.

use crate::app::index::Index;
use crate::model::status::Status;
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
    /// A record that says less of the same plan is there; `month` holds its line.
    Replaces { path: RepoPath, month: String },
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

/// Finds the place of `record`, whose computed folder is `path`.
///
/// A run that the index knows by its name and plan keeps the folder it has: a record of a lost
/// run was filed by the time of its plan, and a layout may have been changed since.
pub(super) fn find(
    tip: &Tip<'_>,
    index: &mut Index<'_, '_>,
    record: &ReadRecord,
    path: RepoPath,
) -> Result<Place, ResultsError> {
    let known = known_line(index, record)?;
    let path = match &known {
        Some(line) => RepoPath::ours(&line.path)
            .map_err(|source| ResultsError::Path { path: line.path.clone(), source })?,
        None => path,
    };
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
        return Ok(Place::Replaces { path, month });
    }
    Ok(taken(there.content_digest()))
}

/// The index line of the same run, filed by its start or by its plan.
fn known_line(
    index: &mut Index<'_, '_>,
    record: &ReadRecord,
) -> Result<Option<Line>, ResultsError> {
    let record = &record.record;
    let month = |time: jiff::Timestamp| time.strftime("%Y-%m").to_string();
    let (started, planned) = (month(start_of(record)), month(record.run.planned));
    for month in if started == planned { vec![started] } else { vec![started, planned] } {
        let is_same = |line: &&Line| {
            line.planned == record.run.planned
                && line.commit == record.commit.sha
                && line.path.split('/').any(|part| part == record.run.id)
        };
        if let Some(line) = index.shard(&month)?.lines().find(is_same) {
            return Ok(Some(line.clone()));
        }
    }
    Ok(None)
}

/// Whether `here` says more than `there` of the same plan.
fn is_fuller(here: &ReadRecord, there: &ReadRecord) -> bool {
    let (here, there) = (&here.record, &there.record);
    there.run.status.is_replaceable()
        && fullness(here.run.status) > fullness(there.run.status)
        && here.run.planned == there.run.planned
        && here.run.job == there.run.job
        && here.params == there.params
}

const fn fullness(status: Status) -> u8 {
    match status {
        Status::Lost => 0,
        Status::Running => 1,
        Status::Interrupted => 2,
        _ => 3,
    }
}
