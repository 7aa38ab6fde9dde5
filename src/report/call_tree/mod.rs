//! Call trees on the page: the data that the viewer draws, and a still drawing for places without
//! scripts.
//!
//! Trees are made small for the view; what is left out below a node is put together there, so
//! every number that is shown is that of the whole profile.

mod data;
mod still;

use serde::Serialize;

use super::ReportError;
use super::engine::{Engine, Language};
use super::escape;
use crate::profile::model::Profile;

/// What call trees may take on the page, in bytes, whatever else is on it.
const BYTES_MIN: usize = 18_000;
/// What they take at most.
const BYTES_MAX: usize = 120_000;
/// Nodes of each profile, the first number with which the data fits.
const ROOMS: [usize; 7] = [4000, 2500, 1500, 800, 400, 150, 50];
/// Most profiles of a page: the heaviest threads and steps come first in a file.
const PROFILES_MAX: usize = 12;

/// The part of the page that shows call trees.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum CallTrees {
    /// There are some.
    Drawn {
        /// The viewer's data.
        json: String,
        /// The still drawing.
        drawing: String,
    },
    /// There are none.
    Nothing,
}

/// The call trees of a run for its page, which has so many bytes left.
pub(super) fn of_page(profiles: &[Profile], room: usize) -> Result<CallTrees, ReportError> {
    if profiles.is_empty() {
        return Ok(CallTrees::Nothing);
    }
    let drawing = match still::of(profiles) {
        Some(view) => Engine::new(Language::Svg)?.render("call-tree.svg", &view)?,
        None => String::new(),
    };
    let room = room.clamp(BYTES_MIN, BYTES_MAX).saturating_sub(drawing.len());
    Ok(CallTrees::Drawn { json: json(profiles, room)?, drawing })
}

/// The still drawing as a file of its own; `None` where nothing can be drawn.
pub(super) fn file(profiles: &[Profile]) -> Result<Option<String>, ReportError> {
    let Some(mut view) = still::of(profiles) else { return Ok(None) };
    view.alone = true;
    Ok(Some(Engine::new(Language::Svg)?.render("call-tree.svg", &view)?))
}

fn json(profiles: &[Profile], room: usize) -> Result<String, ReportError> {
    let shown = &profiles[..profiles.len().min(PROFILES_MAX)];
    let mut text = String::new();
    for nodes in ROOMS {
        let nodes = (nodes / shown.len()).max(20);
        let list: Vec<data::Data> = shown.iter().map(|profile| data::of(profile, nodes)).collect();
        text = serde_json::to_string(&list)
            .map_err(|source| ReportError::View { template: "report.html", source })?;
        if text.len() <= room {
            break;
        }
    }
    Ok(escape::json_in_html(&text))
}

#[cfg(test)]
mod tests;
