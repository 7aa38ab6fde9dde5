//! Names and kinds of what stands in the repository. What is the owner's is left alone, unless it
//! stands where something of ours belongs.

use std::collections::HashMap;

use super::finding::told;
use super::{Checked, Fault};
use crate::analysis::judging::JUDGING_FILE;
use crate::record::layout::RUNS_DIR;
use crate::record::shard::{INDEX_DIR, month_of};
use crate::report::landing::{TRENDS_DIR, is_trend};
use crate::results::format::FORMAT_FILE;
use crate::results::path::{PathError, RepoPath};
use crate::results::walk::{Entry, EntryKind, Walk};

pub(super) fn check(walk: &Walk, checked: &mut Checked) {
    let mut siblings = Siblings::default();
    for entry in &walk.entries {
        let clash = siblings.clash(&entry.path);
        if !is_ours(&entry.path, clash.as_deref()) {
            continue;
        }
        if let Some(fault) = kind_fault(entry) {
            checked.add(&entry.path, fault);
        }
        if let Some(other) = clash {
            checked.add(&entry.path, Fault::Name(PathError::CaseClash(other)));
        } else if let Some(error) = name_fault(entry) {
            checked.add(&entry.path, Fault::Name(error));
        }
    }
    if walk.is_cut {
        checked.add("/", Fault::TooMany);
    }
}

/// Runs are ours, whatever lies in their folders; elsewhere only what bears a name that we give.
fn is_ours(path: &str, clash: Option<&str>) -> bool {
    let is_named = |path: &str| match path.split_once('/') {
        None => [RUNS_DIR, INDEX_DIR, TRENDS_DIR, FORMAT_FILE, JUDGING_FILE].contains(&path),
        Some((RUNS_DIR, _)) => true,
        Some((INDEX_DIR, name)) => month_of(name).is_some(),
        Some((TRENDS_DIR, name)) => is_trend(name),
        Some(_) => false,
    };
    is_named(path) || clash.is_some_and(is_named)
}

fn kind_fault(entry: &Entry) -> Option<Fault> {
    let path = entry.path.as_str();
    let is_folder_of_ours = [RUNS_DIR, INDEX_DIR, TRENDS_DIR].contains(&path);
    match &entry.kind {
        EntryKind::File(_) if is_folder_of_ours => {
            Some(Fault::Kind("a file, where a folder of perftrail's has to be"))
        }
        EntryKind::Folder if !is_folder_of_ours && !is_in(path, RUNS_DIR) => {
            Some(Fault::Kind("a folder, where a file of perftrail's has to be"))
        }
        EntryKind::Folder | EntryKind::File(_) => None,
        EntryKind::DeepFolder => Some(Fault::Name(PathError::TooLong)),
        EntryKind::LostFolder(why) => Some(Fault::Lost(told(why))),
        EntryKind::Link => Some(Fault::Kind("a link, which could lead anywhere")),
        EntryKind::Other => Some(Fault::Kind("another repository, of which only the name is here")),
    }
}

fn name_fault(entry: &Entry) -> Option<PathError> {
    if !entry.is_text {
        return Some(PathError::Encoding);
    }
    // What lies below a bad name is not told again.
    let (above, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
    match RepoPath::hostile(name) {
        Err(error) => Some(error),
        Ok(_) => match RepoPath::hostile(&entry.path) {
            Err(PathError::TooLong) if RepoPath::hostile(above).is_ok() => Some(PathError::TooLong),
            _ => None,
        },
    }
}

/// The names of each folder on the way to the entry that is looked at.
#[derive(Default)]
struct Siblings<'w> {
    open: Vec<(&'w str, HashMap<String, &'w str>)>,
}

impl<'w> Siblings<'w> {
    /// The path before it, in the same folder, from which `path` differs only in case.
    fn clash(&mut self, path: &'w str) -> Option<String> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        while self.open.last().is_some_and(|(open, _)| !is_in(folder, open)) {
            self.open.pop();
        }
        if self.open.last().is_none_or(|(open, _)| *open != folder) {
            self.open.push((folder, HashMap::new()));
        }
        let (_, names) = self.open.last_mut()?;
        let other = names.insert(path.to_lowercase(), path)?;
        Some(other.to_owned())
    }
}

/// Whether `path` is the folder `folder` or lies in it.
pub(super) fn is_in(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
