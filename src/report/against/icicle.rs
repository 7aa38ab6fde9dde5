//! Two call trees as one drawing: a box's width is what the function and all below spent, its
//! colour and sign how that changed.
//!
//! It is drawn three times, with the widths of the second run, of the first, and of whichever has
//! more, so that what is new and what is gone can both be seen. It needs no script.

use serde::Serialize;

use super::{Pairing, Side, label, partner};
use crate::profile::model::{FrameKind, NONE, Tree};
use crate::profile::view::difference::Pair;
use crate::profile::view::difference_tree::{DifferenceTree, difference_tree};
use crate::report::plain;
use crate::report::view::amount;

const WIDTH: f64 = 960.0;
const ROW: f64 = 21.0;
/// Deepest row.
const ROWS_MAX: usize = 24;
/// Narrower boxes are not drawn.
const BOX_MIN: f64 = 2.0;
/// Most boxes of a drawing.
const BOXES_MAX: usize = 400;
/// How wide a letter is.
const LETTER: f64 = 6.4;
/// Most profiles that are drawn.
const DRAWN_MAX: usize = 6;
/// From these shares of everything on a change has a stronger colour.
const STRONG: f64 = 0.05;
const CLEAR: f64 = 0.01;

/// The drawings of one profile.
#[derive(Debug, Serialize)]
pub(super) struct Icicle {
    /// Its place, for names on the page.
    place: usize,
    label: String,
    drawings: Vec<Drawing>,
}

/// One drawing.
#[derive(Debug, Serialize)]
struct Drawing {
    /// Which widths: `after`, `before`, `union`.
    id: &'static str,
    /// The same in words.
    words: &'static str,
    width: u32,
    height: u32,
    title: String,
    boxes: Vec<Box>,
    left_out: usize,
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

/// Which run's numbers are the widths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Widths {
    After,
    Before,
    Union,
}

/// The drawings of all profiles that have trees on both sides.
pub(super) fn all(before: Side<'_>, after: Side<'_>, pairings: &[Pairing]) -> Vec<Icicle> {
    let told = pairings.iter().filter(|pairing| pairing.difference.is_some());
    let is_told = |name: &str| told.clone().any(|pairing| pairing.label == name);
    let drawn = after.profiles.iter().filter(|profile| is_told(&label(profile)));
    let trees = drawn.filter_map(|profile| {
        let partner = partner(before.profiles, profile)?;
        let both = difference_tree(partner, profile).ok()??;
        Some((label(profile), both))
    });
    let drawings = trees.take(DRAWN_MAX).enumerate().map(|(place, (label, both))| Icicle {
        place,
        label,
        drawings: [Widths::After, Widths::Before, Widths::Union]
            .into_iter()
            .filter_map(|widths| drawing(&both, widths))
            .collect(),
    });
    drawings.filter(|icicle| !icicle.drawings.is_empty()).collect()
}

/// What each node and all below it have on both sides, and its width.
struct Sizes {
    before: Vec<f64>,
    after: Vec<f64>,
    width: Vec<f64>,
}

fn sizes(tree: &Tree, widths: Widths) -> Sizes {
    let (before, after) = (tree.totals(0), tree.totals(1));
    let width = match widths {
        Widths::After => after.clone(),
        Widths::Before => before.clone(),
        // Of the greater of both at every place: parents are as wide as their children together.
        Widths::Union => {
            let own = tree.own[0].iter().zip(&tree.own[1]).map(|(one, other)| one.max(*other));
            let both = Tree {
                parent: tree.parent.clone(),
                frame: tree.frame.clone(),
                own: vec![own.collect()],
                calls: Vec::new(),
            };
            both.totals(0)
        }
    };
    Sizes { before, after, width }
}

fn drawing(both: &DifferenceTree, widths: Widths) -> Option<Drawing> {
    let tree = &both.tree;
    let sizes = sizes(tree, widths);
    let roots = (0..tree.len()).filter(|node| tree.parent[*node] == NONE);
    let sum: f64 = roots.map(|node| sizes.width[node]).sum();
    // A tree that spent nothing has no shape.
    if sum.is_nan() || sum <= 0.0 {
        return None;
    }
    let (boxes, left_out) = boxes(both, &sizes, sum);
    let rows = boxes.iter().map(|(_, row)| row + 1).max().unwrap_or(1);
    let (id, words) = match widths {
        Widths::After => ("after", "the second run"),
        Widths::Before => ("before", "the first run"),
        Widths::Union => ("union", "whichever has more"),
    };
    let name = plain::line(&both.weight.name, 60);
    Some(Drawing {
        id,
        words,
        width: whole(WIDTH),
        height: whole(rows as f64 * ROW + 4.0),
        title: format!(
            "{name}, {}: {} in all. Callers above, width of {words}.",
            both.weight.measured.as_str(),
            amount(sum, &both.weight.unit)
        ),
        boxes: boxes.into_iter().map(|(one, _)| one).collect(),
        left_out,
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes of a drawing")]
fn whole(size: f64) -> u32 {
    size.ceil().clamp(0.0, 10_000.0) as u32
}

/// The boxes with their rows, and how many there would be more. The widest children come first.
fn boxes(both: &DifferenceTree, sizes: &Sizes, sum: f64) -> (Vec<(Box, usize)>, usize) {
    let children = both.tree.children();
    let (mut boxes, mut left_out) = (Vec::new(), 0);
    let mut open: Vec<(u32, f64, usize)> = Vec::new();
    let mut push = |open: &mut Vec<(u32, f64, usize)>, parent: u32, x: f64, row: usize| {
        let mut below = children.get(parent).to_vec();
        below.sort_by(|one, other| {
            sizes.width[*other as usize].total_cmp(&sizes.width[*one as usize])
        });
        let mut x = x;
        let mut placed = Vec::new();
        for node in below {
            let width = sizes.width[node as usize] / sum * WIDTH;
            if width < BOX_MIN || row >= ROWS_MAX {
                left_out += 1;
                continue;
            }
            placed.push((node, x, row));
            x += width;
        }
        open.extend(placed.into_iter().rev());
    };
    push(&mut open, NONE, 0.0, 0);
    let mut beyond = 0;
    while let Some((node, x, row)) = open.pop() {
        if boxes.len() >= BOXES_MAX {
            beyond += 1;
            continue;
        }
        boxes.push((one(both, sizes, node as usize, x, row, sum), row));
        push(&mut open, node, x, row + 1);
    }
    (boxes, left_out + beyond)
}

fn one(both: &DifferenceTree, sizes: &Sizes, node: usize, x: f64, row: usize, sum: f64) -> Box {
    let frame = &both.frames[both.tree.frame[node] as usize];
    let name = plain::line(&frame.function, 120);
    let pair = Pair { before: sizes.before[node], after: sizes.after[node] };
    let unit = &both.weight.unit;
    let sign = if pair.change() < 0.0 { '\u{2212}' } else { '+' };
    let by = format!("{sign}{}", amount(pair.change().abs(), unit));
    let is_loud = both.is_beyond_noise(pair);
    let whole_sum = both.tree.own.iter().map(|own| own.iter().sum::<f64>()).fold(sum, f64::max);
    let share = pair.change() / whole_sum;
    let class = match frame.kind {
        _ if !is_loud => "same",
        FrameKind::Other => "same",
        _ => class(share),
    };
    let width = sizes.width[node] / sum * WIDTH;
    let shown = if is_loud && class != "same" { format!("{by} {name}") } else { name.clone() };
    let relative = pair.relative().map_or_else(
        || if pair.after > 0.0 { "new".to_owned() } else { "nothing".to_owned() },
        |share| format!("{:+.1} %", share * 100.0).replace('-', "\u{2212}"),
    );
    let noise = if is_loud { "" } else { ", within noise" };
    let y = row as f64 * ROW + 2.0;
    Box {
        x: number(x),
        y: number(y),
        width: number((width - 1.0).max(1.0)),
        class,
        label: fitting(&shown, width - 8.0),
        text_x: number(x + 4.0),
        text_y: number(y + 14.0),
        title: format!(
            "{name}: {} before, {} after, {by} ({relative}{noise})",
            amount(pair.before, unit),
            amount(pair.after, unit)
        ),
    }
}

/// Orange is more, blue is less: colours that people who see red and green alike tell apart.
fn class(share: f64) -> &'static str {
    match share {
        share if share >= STRONG => "more3",
        share if share >= CLEAR => "more2",
        share if share > 0.0 => "more1",
        share if share <= -STRONG => "less3",
        share if share <= -CLEAR => "less2",
        share if share < 0.0 => "less1",
        _ => "same",
    }
}

fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// As much of the text as there is room for; nothing when that says nothing.
fn fitting(text: &str, room: f64) -> String {
    let letters = whole(room / LETTER - 0.5) as usize;
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    if letters < 4 {
        return String::new();
    }
    let start: String = text.chars().take(letters - 1).collect();
    format!("{start}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Options, read_bytes};

    fn both(before: &str, after: &str) -> DifferenceTree {
        let read = |text: &str| {
            read_bytes(text.as_bytes(), &Options::default()).unwrap().profiles.remove(0)
        };
        difference_tree(&read(before), &read(after)).unwrap().unwrap()
    }

    fn shown(drawing: &Drawing) -> Vec<(&str, &str, &str)> {
        drawing
            .boxes
            .iter()
            .map(|one| (one.class, one.width.as_str(), one.label.as_str()))
            .collect()
    }

    #[test]
    fn widths_are_of_either_run_and_changes_have_colour_and_sign() {
        let both = both("main;a 6000\nmain;gone 4000\n", "main;a 9000\nmain;new 1000\n");
        let after = drawing(&both, Widths::After).unwrap();
        assert_eq!(
            shown(&after),
            [("same", "959", "main"), ("more3", "863", "+3,000 a"), ("more3", "95", "+1,000 new")]
        );
        let before = drawing(&both, Widths::Before).unwrap();
        assert_eq!(shown(&before)[2], ("less3", "383", "\u{2212}4,000 gone"));
        let union = drawing(&both, Widths::Union).unwrap();
        assert_eq!(union.boxes.len(), 4, "what is new and what is gone");
        assert!(
            union.boxes[1].title.contains("6,000 before, 9,000 after"),
            "{}",
            union.boxes[1].title
        );
    }

    #[test]
    fn noise_is_grey_and_says_so() {
        let both = both("main;a 100\nmain;b 100\n", "main;a 110\nmain;b 90\n");
        let after = drawing(&both, Widths::After).unwrap();
        assert!(after.boxes.iter().all(|one| one.class == "same"), "{:?}", after.boxes);
        assert!(after.boxes[1].title.ends_with("within noise)"), "{}", after.boxes[1].title);
    }

    #[test]
    fn nothing_has_no_drawing_and_much_is_counted() {
        assert!(drawing(&both("main;a 5\n", "main;b 5\n"), Widths::After).is_some());
        let many: Vec<String> = (0..3000).map(|i| format!("main;f{i} 1")).collect();
        let many = many.join("\n");
        let both = both(&many, &many);
        let after = drawing(&both, Widths::After).unwrap();
        assert_eq!((after.boxes.len(), after.left_out), (1, 3000));
    }
}
