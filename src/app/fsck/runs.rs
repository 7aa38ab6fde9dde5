//! The run folders: which there are, and whether each is what its record says.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use jiff::Timestamp;

use super::files::check_files;
use super::finding::{told, visible};
use super::names::is_in;
use super::{Checked, Fault, Shards};
use crate::model::names::CommitSha;
use crate::model::text::shown;
use crate::record::Record;
use crate::record::index::Line;
use crate::record::layout::{FILES_DIR, PAGE_FILE, RAW_DIR, README_FILE, RECORD_FILE, RUNS_DIR};
use crate::record::read::{self, ReadRecord};
use crate::results::tip::Tip;
use crate::results::walk::{ContentId, EntryKind, Walk};

/// How closely run folders are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// Records, files and pages.
    Everything,
    /// Only what makes index lines.
    Records,
}

/// A folder with a record, and the files that belong to it.
#[derive(Debug)]
pub(super) struct RunFolder<'w> {
    pub(super) path: &'w str,
    /// By their path in the folder.
    pub(super) files: BTreeMap<&'w str, ContentId>,
}

/// What all runs together are.
#[derive(Debug, Default)]
pub(super) struct Survey<'w> {
    /// The index lines as they should be, by month, start and path.
    pub(super) months: BTreeMap<String, BTreeMap<(Timestamp, String), String>>,
    /// The month of each run, by its folder.
    pub(super) month_of: HashMap<&'w str, String>,
    /// Folders whose record cannot be used.
    pub(super) unusable: BTreeSet<&'w str>,
    /// Runs that lack a page.
    pub(super) without_page: Vec<RunFolder<'w>>,
}

/// Records that were read before, so that a lost race does not cost reading all of them again.
#[derive(Debug, Default)]
pub(super) struct Memory {
    seen: HashMap<String, (ContentId, Option<Known>)>,
}

/// What makes it this run and no other: its name, its plan's time and its commit.
type RunIdentity = (String, Timestamp, Option<String>);

/// What is kept of a record.
#[derive(Clone, Debug)]
struct Known {
    month: String,
    start: Timestamp,
    line: String,
    identity: RunIdentity,
}

impl Survey<'_> {
    /// How many runs there are, those without a usable record too.
    pub(super) fn count(&self) -> usize {
        self.month_of.len() + self.unusable.len()
    }

    /// The index as it should be.
    pub(super) fn shards(&self) -> Shards {
        let bytes = |lines: &BTreeMap<_, String>| {
            lines.values().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
        };
        self.months.iter().map(|(month, lines)| (month.clone(), bytes(lines))).collect()
    }
}

/// Looks at every run folder.
pub(super) fn survey<'w>(
    tip: &Tip<'_>,
    walk: &'w Walk,
    care: Care,
    memory: &mut Memory,
    checked: &mut Checked,
) -> Survey<'w> {
    let mut survey = Survey::default();
    let mut folders_of: HashMap<RunIdentity, &str> = HashMap::new();
    let folders = folders(walk, checked);
    tip.bring(folders.values().flat_map(|folder| wanted(folder, care, memory)));
    for folder in folders.into_values() {
        let Some(known) = look(tip, &folder, care, memory, checked) else {
            survey.unusable.insert(folder.path);
            continue;
        };
        if let Some(other) = folders_of.insert(known.identity, folder.path) {
            checked.add(folder.path, Fault::Twice(visible(other)));
        }
        let lines = survey.months.entry(known.month.clone()).or_default();
        lines.insert((known.start, folder.path.to_owned()), known.line);
        survey.month_of.insert(folder.path, known.month);
        let pages = [README_FILE, PAGE_FILE].map(|page| (page, folder.files.contains_key(page)));
        for (page, _) in pages.iter().filter(|(_, is_there)| !is_there) {
            checked.add(&format!("{}/{page}", folder.path), Fault::PageMissing);
        }
        if pages.iter().any(|(_, is_there)| !is_there) {
            survey.without_page.push(folder);
        }
    }
    survey
}

/// The run folders, each with its own files. Files that belong to none are told.
fn folders<'w>(walk: &'w Walk, checked: &mut Checked) -> BTreeMap<&'w str, RunFolder<'w>> {
    let files = || {
        walk.entries.iter().filter_map(|entry| match entry.kind {
            EntryKind::File(id) if entry.is_text && is_in(&entry.path, RUNS_DIR) => {
                Some((entry.path.as_str(), entry.path.rsplit_once('/')?, id))
            }
            _ => None,
        })
    };
    let with_record: HashSet<&str> = files()
        .filter(|(_, (_, name), _)| *name == RECORD_FILE)
        .map(|(_, (above, _), _)| above)
        .collect();
    let mut folders: BTreeMap<&str, RunFolder<'w>> = BTreeMap::new();
    let mut told: Option<&str> = None;
    for (path, (above, _), id) in files() {
        if let Some(owner) = owner(above, &with_record) {
            let folder = folders
                .entry(owner)
                .or_insert_with(|| RunFolder { path: owner, files: BTreeMap::new() });
            folder.files.insert(&path[owner.len() + 1..], id);
        } else if told.is_none_or(|told| !is_in(above, told)) {
            checked.add(above, Fault::NoRecord);
            told = Some(above);
        }
    }
    folders
}

/// The run whose files lie in the folder `above`: the outermost, for a job may leave a record of
/// its own among its files. A record that lies too high does not claim the runs below it.
fn owner<'w>(above: &'w str, with_record: &HashSet<&str>) -> Option<&'w str> {
    let ends = above.match_indices('/').map(|(end, _)| end).chain([above.len()]);
    ends.map(|end| &above[..end]).find(|folder| {
        let rest = above[folder.len()..].trim_start_matches('/');
        let first = rest.split('/').next().unwrap_or_default();
        with_record.contains(folder) && ["", FILES_DIR, RAW_DIR].contains(&first)
    })
}

/// The contents that will be read.
fn wanted<'f>(
    folder: &'f RunFolder<'_>,
    care: Care,
    memory: &'f Memory,
) -> impl Iterator<Item = ContentId> + 'f {
    // Pages are only asked after.
    let is_read = move |name: &str| match care {
        Care::Everything => name != README_FILE && name != PAGE_FILE,
        Care::Records => name == RECORD_FILE && !memory.seen.contains_key(folder.path),
    };
    folder.files.iter().filter(move |(name, _)| is_read(name)).map(|(_, id)| *id)
}

/// Reads the record of a run, and with every care its files; `None` for a record that is none.
fn look(
    tip: &Tip<'_>,
    folder: &RunFolder<'_>,
    care: Care,
    memory: &mut Memory,
    checked: &mut Checked,
) -> Option<Known> {
    let id = *folder.files.get(RECORD_FILE)?;
    if let Some((seen, known)) = memory.seen.get(folder.path)
        && *seen == id
    {
        return known.clone();
    }
    let record = read_record(tip, folder, id, checked);
    if let Some(record) = &record {
        check_identity(folder.path, record, checked);
        if care == Care::Everything {
            check_files(tip, folder, &record.record, checked);
        }
    }
    let known = record.map(|record| Known::of(&record.record, folder.path));
    if care == Care::Records {
        memory.seen.insert(folder.path.to_owned(), (id, known.clone()));
    }
    known
}

impl Known {
    fn of(record: &Record, path: &str) -> Self {
        let line = Line::of(record, path);
        let commit = record.commit.sha.as_ref().map(ToString::to_string);
        Self {
            month: line.month(),
            start: line.start,
            identity: (record.run.id.clone(), record.run.planned, commit),
            line: line.to_json(),
        }
    }
}

fn read_record(
    tip: &Tip<'_>,
    folder: &RunFolder<'_>,
    id: ContentId,
    checked: &mut Checked,
) -> Option<ReadRecord> {
    let path = format!("{}/{RECORD_FILE}", folder.path);
    let bytes = match tip.content(id, &path) {
        Ok(bytes) => bytes,
        Err(error) => {
            checked.add(&path, Fault::Lost(told(&error)));
            return None;
        }
    };
    match read::read(&bytes) {
        Ok(record) => Some(record),
        Err(error) => {
            checked.add(&path, Fault::Record(told(&error)));
            None
        }
    }
}

/// The record is whole, and lies where it belongs.
fn check_identity(path: &str, record: &ReadRecord, checked: &mut Checked) {
    let file = format!("{path}/{RECORD_FILE}");
    let found = record.content_digest();
    let run = &record.record.run;
    match &run.digest {
        Some(said) if *said == found => {}
        Some(said) => checked.add(&file, Fault::Digest { said: shown(said), found }),
        None if run.status.is_replaceable() => {}
        None => checked.add(&file, Fault::NoDigest),
    }
    let sha = record.record.commit.sha.as_ref();
    // Every layout holds the run's name; where it holds a commit, that is the run's.
    // A run that was amended stays where it was.
    let before = record.record.amended.iter().filter_map(|amendment| amendment.commit.sha.as_ref());
    let known: Vec<&CommitSha> = sha.into_iter().chain(before).collect();
    let is_other =
        |part: &str| CommitSha::parse(part).is_some_and(|commit| !known.contains(&&commit));
    if !path.contains(run.id.as_str()) || path.split('/').any(is_other) {
        let commit = sha.map_or("no commit", |sha| sha.as_str());
        checked.add(&file, Fault::Elsewhere(format!("{} of {commit}", run.id)));
    }
}
