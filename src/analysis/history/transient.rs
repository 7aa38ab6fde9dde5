//! A few points off their level are no new level when the level comes back.

use super::boundary::evidence;
use super::levels::{Boundary, SUSPECTED};
use crate::model::robust::median;

/// More points off the level are a level.
const LONGEST: usize = 4;

/// A stretch off the level, and the level's other points around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Excursion {
    pub(super) from: usize,
    pub(super) to: usize,
}

/// Takes excursions out of `boundaries`: both ends of each go.
pub(super) fn excursions(
    y: &[f64],
    noise: f64,
    boundaries: &mut Vec<Boundary>,
    tells: impl Fn(f64, f64) -> bool,
) -> Vec<Excursion> {
    let mut found = Vec::new();
    let mut i = 0;
    while i + 1 < boundaries.len() {
        let (from, to) = (boundaries[i].at, boundaries[i + 1].at);
        let before = i.checked_sub(1).map_or(0, |before| boundaries[before].at);
        let after = boundaries.get(i + 2).map_or(y.len(), |after| after.at);
        let (left, right) = (&y[before..from], &y[to..after]);
        let levels = (median(left).unwrap_or(0.0), median(right).unwrap_or(0.0));
        let comes_back =
            !tells(levels.0, levels.1) || evidence(left, right, noise, 0.0).p > SUSPECTED;
        if to - from <= LONGEST && comes_back {
            found.push(Excursion { from, to });
            boundaries.drain(i..=i + 1);
        } else {
            i += 1;
        }
    }
    found
}
