//! Makes index, landing page and drawings anew from the run folders alone, as one commit.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::Checked;
use super::names::is_in;
use super::runs::{self, Care, Memory, RunFolder};
use super::shards;
use crate::app::index::Index;
use crate::app::publish::compose::{add_house, ours, put_landing, put_shard};
use crate::app::publish::landing::Anew;
use crate::app::publish::remake::remade;
use crate::app::publish::{Pages, landing};
use crate::app::verdict;
use crate::record::index::Line;
use crate::record::layout::{RECORD_FILE, RUNS_DIR};
use crate::record::read;
use crate::record::shard::shard_path;
use crate::results::change::Change;
use crate::results::format::Standing;
use crate::results::tip::Tip;
use crate::results::walk::{EntryKind, Walk};
use crate::results::{Patience, Proposal, Results, ResultsError};

/// What came of making everything anew.
#[derive(Debug, Default)]
pub struct Rebuilt {
    /// The new commit; `None` where everything was as it should be.
    pub commit: Option<String>,
    /// What people should know, one sentence each.
    pub notices: Vec<String>,
}

/// Why nothing was made anew.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// A newer perftrail looks after the repository.
    #[error(
        "the results repository has a newer format, whose index this version would make poorer; use a newer perftrail"
    )]
    NewerFormat,
    /// Content is missing, and a damaged repository is not built upon.
    #[error(
        "{path} in the results repository cannot be read: {why}; nothing is made anew from a damaged repository"
    )]
    Damaged {
        /// The path.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// The results repository cannot be used.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

/// Makes index, landing page, drawings and missing pages anew.
///
/// Lines of records that cannot be used stay as they are: they are the last trace of a run.
///
/// # Errors
/// When the repository cannot be read whole or cannot be written.
pub fn rebuild(
    results: &Results,
    pages: &Pages,
    now: Timestamp,
    patience: &mut Patience<'_>,
) -> Result<Rebuilt, RebuildError> {
    if results.tip()?.standing()? != Standing::Whole {
        return Err(RebuildError::NewerFormat);
    }
    let mut memory = Memory::default();
    let mut notices = Vec::new();
    let mut damage = None;
    let commit = results.commit(now, patience, |tip| {
        notices.clear();
        let walk = tip.walk();
        damage = damage_of(&walk);
        if damage.is_some() {
            return Ok(None);
        }
        let change = compose(tip, &walk, pages, &mut memory, &mut notices)?;
        Ok::<_, ResultsError>(change.map(|change| {
            let message = "Make index and landing page anew\n".to_owned();
            Proposal { change, message }
        }))
    })?;
    match damage {
        Some((path, why)) => Err(RebuildError::Damaged { path, why }),
        None => Ok(Rebuilt { commit, notices }),
    }
}

/// Runs below a folder that is not there would lose their lines.
fn damage_of(walk: &Walk) -> Option<(String, String)> {
    if walk.is_cut {
        return Some(("/".to_owned(), "it holds more entries than are looked at".to_owned()));
    }
    walk.entries.iter().find_map(|entry| match &entry.kind {
        EntryKind::LostFolder(why) if is_in(&entry.path, RUNS_DIR) => {
            Some((super::finding::visible(&entry.path), why.clone()))
        }
        _ => None,
    })
}

/// What the tip needs; `None` for a repository without runs.
fn compose(
    tip: &Tip<'_>,
    walk: &Walk,
    pages: &Pages,
    memory: &mut Memory,
    notices: &mut Vec<String>,
) -> Result<Option<Change>, ResultsError> {
    let survey = runs::survey(tip, walk, Care::Records, memory, &mut Checked::default());
    let months = tip.months()?;
    if survey.count() == 0 && months.is_empty() {
        return Ok(None);
    }
    let shards = shards::as_it_should_be(tip, &survey)?;
    let mut change = Change::default();
    let all: BTreeSet<&String> = months.iter().chain(shards.keys()).collect();
    for month in all {
        let bytes = shards.get(month).map_or(&[][..], Vec::as_slice);
        put_shard(tip, &shard_path(month), bytes, &mut change)?;
    }
    add_house(tip, &mut change)?;
    let mut index = Index::anew(tip, shards);
    for folder in &survey.without_page {
        if let Err(why) = add_pages(tip, folder, &mut index, pages, &mut change) {
            notices.push(format!("the pages of {} are not made: {why}", folder.path));
        }
    }
    match landing::files(tip, &mut index, pages, Anew::default()) {
        Ok(landing) => put_landing(tip, landing, &mut change)?,
        Err(why) => notices.push(format!("the landing page stays as it was: {why}")),
    }
    Ok(Some(change))
}

/// Pages that are there stay as they are: they tell how things stood when the run came.
fn add_pages(
    tip: &Tip<'_>,
    folder: &RunFolder<'_>,
    index: &mut Index<'_, '_>,
    pages: &Pages,
    change: &mut Change,
) -> Result<(), String> {
    let file = format!("{}/{RECORD_FILE}", folder.path);
    let bytes = tip.read(&file).map_err(|error| error.to_string())?.unwrap_or_default();
    let record = read::read(&bytes).map_err(|error| error.to_string())?.record;
    let line = Line::of(&record, folder.path);
    let (rules, _) = verdict::judging_file(tip).map_err(|error| error.to_string())?;
    let judging = rules.of(&line.repository);
    let made = remade(tip, &record, &line, index, pages, &judging)?;
    for (name, bytes) in made.iter().filter(|(name, _)| !folder.files.contains_key(name.as_str())) {
        let path = ours(&format!("{}/{name}", folder.path)).map_err(|error| error.to_string())?;
        change.put(tip, path, bytes).map_err(|error| error.to_string())?;
    }
    Ok(())
}
