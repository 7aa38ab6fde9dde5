//! Begins the levels that people accepted under pull requests: at the first run of the default
//! branch whose commit holds the pull request.
//!
//! An epoch of a pull request names no commit while none is known. Whoever publishes a run asks
//! whether its commit holds it, and writes the first run that does into `epochs.toml`, in the same
//! commit: from then on the file alone tells it.

use std::collections::BTreeMap;

use super::Options;
use crate::analysis::epochs::{Begun, EPOCHS_FILE, Epochs, begun};
use crate::analysis::histories::{Epoch, Standing, order};
use crate::app::ancestry::Merged;
use crate::app::index::Index;
use crate::app::verdict::judging_of;
use crate::model::names::CommitSha;
use crate::record::Record;
use crate::record::index::Line;
use crate::results::ResultsError;
use crate::results::tip::Tip;

/// So many runs are looked at for one that was the first, where runs were not published in the
/// order of their planning.
const LOOKED_AT_MAX: usize = 4;

/// Of so many pull requests it is asked whether they are merged, the last that were accepted: many
/// never are, and each costs a question at every publish.
const PENDING_MAX: usize = 20;

/// The levels that begin.
pub(super) struct Levels {
    /// The new `epochs.toml`.
    pub(super) text: String,
    /// What it holds.
    pub(super) epochs: Vec<Epoch>,
    /// What people should know, one sentence each.
    pub(super) notices: Vec<String>,
}

/// The levels that begin with `runs`, which are not in the tip, or with one that is; `None` where
/// none does. A file that cannot be read is told where runs are judged.
pub(super) fn begin(
    tip: &Tip<'_>,
    index: &mut Index<'_, '_>,
    runs: &[(&Record, &Line)],
    options: &Options,
) -> Result<Option<Levels>, ResultsError> {
    let bytes = tip.read(EPOCHS_FILE)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let Ok(known) = Epochs::parse(&text) else { return Ok(None) };
    let (mut places, mut notices) = (BTreeMap::new(), Vec::new());
    let known = known.list();
    let pending = known.iter().enumerate().filter_map(|(at, epoch)| {
        let number = epoch.pull_request.filter(|_| epoch.commit.is_none())?;
        Some((at, epoch, number))
    });
    for (at, epoch, number) in pending.rev().take(PENDING_MAX) {
        let Some(first) = first_run(tip, index, runs, options, epoch, number)? else { continue };
        let short = CommitSha::short(&first.commit);
        let metric = &epoch.metric;
        notices.push(format!(
            "the level of {metric} that pull request {number} brings begins at {short}"
        ));
        places.insert(at, first);
    }
    if places.is_empty() {
        return Ok(None);
    }
    // It was read just now.
    let Ok(text) = begun(&text, &places) else { return Ok(None) };
    let epochs = Epochs::parse(&text).map(|epochs| epochs.list()).unwrap_or_default();
    Ok(Some(Levels { text, epochs, notices }))
}

/// The first run that holds pull request `number`; `None` while no run of `runs` is known to.
fn first_run(
    tip: &Tip<'_>,
    index: &mut Index<'_, '_>,
    runs: &[(&Record, &Line)],
    options: &Options,
    epoch: &Epoch,
    number: u64,
) -> Result<Option<Begun>, ResultsError> {
    for (record, line) in runs {
        let events = judging_of(tip, line, &options.judging)?.rules.events;
        let is_inside = |line: &Line| Standing::of(line, &events).is_inside();
        let Some(head) = line.commit.as_ref().filter(|_| is_inside(line) && epoch.is_about(line))
        else {
            continue;
        };
        let ancestry = &options.ancestry;
        let Some(merged) = ancestry.merged(record, head, number) else { continue };
        let holds =
            |commit: &CommitSha| ancestry.descends(record, &merged.commit, commit) == Some(true);
        if !holds(head) {
            continue;
        }
        let window = index.window()?;
        let mut before: Vec<&Line> = window
            .iter()
            .filter(|other| {
                other.repository == line.repository
                    && epoch.is_about(other)
                    && is_inside(other)
                    && may_hold(other, &merged)
                    && order(other) < order(line)
            })
            .collect();
        before.sort_by(|a, b| order(b).cmp(&order(a)));
        let held = before.into_iter().take(LOOKED_AT_MAX);
        let first = held.take_while(|other| other.commit.as_ref().is_some_and(&holds)).last();
        return Ok(first
            .or(Some(line))
            .and_then(|line| Some(Begun { commit: line.commit.clone()?, planned: line.planned })));
    }
    Ok(None)
}

/// What was planned before the merge cannot hold it, by whatever clock.
fn may_hold(line: &Line, merged: &Merged) -> bool {
    merged.at.is_none_or(|at| at <= line.planned)
}
