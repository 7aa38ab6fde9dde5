//! What the machine adds: a machine is a factor, not noise.
//!
//! Only machines that took turns can be told apart from a change of the code. One that replaced
//! another for good leaves its numbers as they are, and the change is marked.

use std::collections::{BTreeMap, BTreeSet};

use super::levels::spans;
use super::series::Judged;
use super::trend::{Moving, moving, still};
use crate::model::robust::median;

/// A machine with fewer points is not judged beside others.
pub(super) const CALIBRATED: usize = 5;
/// So often are levels and machines fitted to each other.
const ROUNDS: usize = 3;
/// Where more of the points than this share would be left out, machines are not told apart.
const LEFT_OUT_MAX: f64 = 1.0 / 3.0;

/// Levels, found beside what the machines add.
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    /// The points that are judged.
    pub(super) judged: Judged,
    /// Their numbers as the machine with most points would have given them at the last point.
    pub(super) levels: Moving,
    /// What each machine adds to the one with most points; empty where they are not told apart.
    pub(super) offsets: BTreeMap<usize, f64>,
    /// Points of the series whose machine has too few.
    pub(super) calibrating: Vec<usize>,
}

/// The levels of `judged`.
pub(super) fn fit(judged: Judged) -> Fitted {
    let turns = taking_turns(&judged.machine);
    let counts = counts(&judged.machine);
    let keep: Vec<bool> = judged
        .machine
        .iter()
        .map(|name| !turns.contains(name) || counts[name] >= CALIBRATED)
        .collect();
    let left_out = keep.iter().filter(|keep| !**keep).count();
    let told_apart = !turns.is_empty()
        && turns.iter().any(|name| counts[name] >= CALIBRATED)
        && left_out as f64 <= LEFT_OUT_MAX * keep.len() as f64;
    if !told_apart {
        let levels = moving(&judged.y, &judged.may_begin);
        return Fitted { judged, levels, offsets: BTreeMap::new(), calibrating: Vec::new() };
    }
    let calibrating = judged.index.iter().zip(&keep).filter(|(_, keep)| !**keep);
    let calibrating = calibrating.map(|(index, _)| *index).collect();
    let judged = judged.only(&keep);
    let (levels, offsets) = in_turn(&judged, &turns);
    Fitted { judged, levels, offsets, calibrating }
}

/// Fits levels and the offsets of machines that took turns to each other.
fn in_turn(judged: &Judged, turns: &BTreeSet<usize>) -> (Moving, BTreeMap<usize, f64>) {
    let mut levels = still(&judged.y, &judged.may_begin);
    let mut offsets = BTreeMap::new();
    let counts = counts(&judged.machine);
    let main = turns.iter().max_by_key(|name| (counts.get(name), std::cmp::Reverse(**name)));
    let Some(main) = main else { return (levels, offsets) };
    for round in 1..=ROUNDS {
        offsets = offsets_of(judged, turns, *main, &levels);
        let offset = |name: &usize| offsets.get(name).copied().unwrap_or(0.0);
        let moved: Vec<f64> =
            judged.y.iter().zip(&judged.machine).map(|(y, name)| y - offset(name)).collect();
        levels = if round < ROUNDS {
            still(&moved, &judged.may_begin)
        } else {
            moving(&moved, &judged.may_begin)
        };
    }
    (levels, offsets)
}

/// The median distance of each machine's numbers from the levels, less that of `main`.
fn offsets_of(
    judged: &Judged,
    turns: &BTreeSet<usize>,
    main: usize,
    levels: &Moving,
) -> BTreeMap<usize, f64> {
    let mut rest: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    let n = judged.y.len();
    for (from, to) in spans(&levels.boundaries, n) {
        let level = median(&levels.y[from..to]).unwrap_or(0.0);
        for at in (from..to).filter(|at| turns.contains(&judged.machine[*at])) {
            let there = judged.y[at] + levels.moved(at, n);
            rest.entry(judged.machine[at]).or_default().push(there - level);
        }
    }
    let middle = |rest: &Vec<f64>| median(rest).unwrap_or(0.0);
    let base = rest.get(&main).map_or(0.0, middle);
    rest.iter().map(|(name, rest)| (*name, middle(rest) - base)).collect()
}

fn counts(machine: &[usize]) -> BTreeMap<usize, usize> {
    let mut counts = BTreeMap::new();
    for name in machine {
        *counts.entry(*name).or_default() += 1;
    }
    counts
}

/// Machines that measured before and after another one did.
fn taking_turns(machine: &[usize]) -> BTreeSet<usize> {
    let mut stretch: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for (at, name) in machine.iter().enumerate() {
        stretch.entry(*name).or_insert((at, at)).1 = at;
    }
    // By their first points: each stretch overlaps one before it, or none of those before.
    let mut order: Vec<(usize, usize, usize)> =
        stretch.iter().map(|(name, (first, last))| (*first, *last, *name)).collect();
    order.sort_unstable();
    let mut turns = BTreeSet::new();
    let mut reach: Option<(usize, usize)> = None;
    for (first, last, name) in order {
        match reach {
            Some((end, other)) if first < end => {
                turns.extend([other, name]);
                reach = Some(if last > end { (last, name) } else { (end, other) });
            }
            _ => reach = Some((last, name)),
        }
    }
    turns
}
