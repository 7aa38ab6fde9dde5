//! The top of the call tree as a drawing that needs no script.

use serde::Serialize;

use crate::model::call::Origin;
use crate::profile::model::{FrameKind, NONE, Profile, Tree};
use crate::profile::view::prune::{Room, prune};
use crate::profile::view::time::left_heavy;
use crate::report::plain;
use crate::report::view::amount;

const WIDTH: f64 = 960.0;
const ROW: f64 = 21.0;
/// Deepest row.
const ROWS_MAX: usize = 14;
/// Narrower boxes are not drawn.
const BOX_MIN: f64 = 3.0;
/// Most boxes: the file stays below 30 kB.
const BOXES_MAX: usize = 130;
/// How wide a letter is.
const LETTER: f64 = 6.4;

/// The drawing as a template wants it.
#[derive(Debug, Serialize)]
pub(super) struct Still {
    /// Whether it is a file of its own, which needs its colours with it.
    pub(super) alone: bool,
    width: u32,
    height: u32,
    title: String,
    description: String,
    heading: String,
    boxes: Vec<Box>,
}

#[derive(Debug, Serialize)]
struct Box {
    x: String,
    y: String,
    width: String,
    class: &'static str,
    label: String,
    text_x: String,
    text_y: String,
    title: String,
}

/// The first profile that has a tree.
pub(super) fn of(profiles: &[Profile]) -> Option<Still> {
    let profile = profiles.iter().find(|profile| profile.tree().is_some())?;
    let weight = profile.weights.first()?;
    let small = prune(profile, 0, Room { nodes: BOXES_MAX, share: BOX_MIN / WIDTH });
    let (tree, _) = left_heavy(small.tree()?, 0);
    let sum = profile.sum(0);
    if sum <= 0.0 {
        return None;
    }
    let boxes = boxes(&small, &tree, sum, &weight.unit);
    let rows = boxes.iter().map(|(_, row)| row + 1).max().unwrap_or(1);
    let height = 30.0 + rows as f64 * ROW + 6.0;
    let total = amount(sum, &weight.unit);
    let name = plain::line(&weight.name, 60);
    let heaviest: Vec<String> = boxes
        .iter()
        .filter(|(one, row)| *row < 3 && !one.label.is_empty())
        .take(4)
        .map(|(one, _)| one.title.clone())
        .collect();
    Some(Still {
        alone: false,
        width: whole(WIDTH),
        height: whole(height),
        title: "Call tree".to_owned(),
        description: format!("The top of the call tree. Heaviest: {}.", heaviest.join("; ")),
        heading: format!(
            "{name}, {}: {total} in all. Width is the share, callers above.",
            weight.measured.as_str()
        ),
        boxes: boxes.into_iter().map(|(one, _)| one).collect(),
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes of a drawing")]
fn whole(size: f64) -> u32 {
    size.ceil().clamp(0.0, 10_000.0) as u32
}

/// A box for each node that is wide enough, with its row.
fn boxes(
    profile: &Profile,
    tree: &Tree,
    sum: f64,
    unit: &crate::model::metric::Unit,
) -> Vec<(Box, usize)> {
    let totals = tree.totals(0);
    let mut place: Vec<(f64, usize)> = Vec::with_capacity(tree.len());
    let mut next: Vec<f64> = vec![0.0; tree.len()];
    let mut at_root = 0.0;
    let mut boxes = Vec::new();
    for node in 0..tree.len() {
        let parent = tree.parent[node];
        let width = totals[node] / sum * WIDTH;
        let (cursor, row) = if parent == NONE {
            (&mut at_root, 0)
        } else {
            (&mut next[parent as usize], place[parent as usize].1 + 1)
        };
        let x = *cursor;
        *cursor += width;
        next[node] = x;
        place.push((x, row));
        if width < BOX_MIN || row >= ROWS_MAX || boxes.len() >= BOXES_MAX {
            continue;
        }
        let frame = &profile.frames[tree.frame[node] as usize];
        let name = plain::line(&frame.function, 120);
        let share = totals[node] / sum * 100.0;
        let y = 30.0 + row as f64 * ROW;
        boxes.push((
            Box {
                x: number(x),
                y: number(y),
                width: number((width - 1.0).max(1.0)),
                class: class(frame.kind, frame.origin),
                label: fitting(&name, width - 8.0),
                text_x: number(x + 4.0),
                text_y: number(y + 14.0),
                title: format!("{name}, {} ({share:.1} %)", amount(totals[node], unit)),
            },
            row,
        ));
    }
    boxes
}

fn class(kind: FrameKind, origin: Origin) -> &'static str {
    match (kind, origin) {
        (FrameKind::Function, Origin::Own) => "own",
        (FrameKind::Function, _) => "library",
        _ => "other",
    }
}

fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// As much of the name as there is room for; nothing when that says nothing.
fn fitting(name: &str, room: f64) -> String {
    let letters = whole(room / LETTER - 0.5) as usize;
    let count = name.chars().count();
    if count <= letters {
        return name.to_owned();
    }
    if letters < 4 {
        return String::new();
    }
    let start: String = name.chars().take(letters - 1).collect();
    format!("{start}…")
}
