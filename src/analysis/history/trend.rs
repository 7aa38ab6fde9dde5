//! A level that moves slowly is told from levels that jump.

use super::boundary::{quantile, two_sided};
use super::levels::{Boundary, boundaries, resemblance, variance};
use super::segment::{cost, price, stretches};
use crate::model::robust::median;

/// A trend needs so many points: in fewer, steps explain as much.
const FEWEST: usize = 20;
/// So often are slope and levels fitted to each other.
const ROUNDS: usize = 2;
/// A slope must be surer than this.
const ALPHA: f64 = 0.001;
/// A median of slopes is so much less sure than the best straight line.
const LESS_SURE: f64 = 1.2;

/// Levels that all move by the same slope, or do not move.
#[derive(Clone, Debug)]
pub(super) struct Moving {
    /// The numbers as they would be at the last point.
    pub(super) y: Vec<f64>,
    pub(super) boundaries: Vec<Boundary>,
    pub(super) noise: f64,
    pub(super) slope: Option<Slope>,
}

/// By how much levels move from one point to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slope {
    pub(super) step: f64,
    /// Half the width of the 95 % interval of `step`.
    pub(super) half: f64,
}

impl Moving {
    /// By how much the levels move from the point `at` to the last of `n`.
    pub(super) fn moved(&self, at: usize, n: usize) -> f64 {
        self.slope.map_or(0.0, |slope| slope.step * (n - 1 - at) as f64)
    }
}

/// The levels of `y`, which do not move.
pub(super) fn still(y: &[f64], may_begin: &[bool]) -> Moving {
    let (boundaries, noise) = boundaries(y, may_begin);
    Moving { y: y.to_vec(), boundaries, noise, slope: None }
}

/// The levels of `y`, with a slope where that explains the numbers better.
pub(super) fn moving(y: &[f64], may_begin: &[bool]) -> Moving {
    let mut best = still(y, may_begin);
    let (cuts, noise) = (cuts(&best.boundaries), best.noise);
    if y.len() < FEWEST {
        return best;
    }
    let mut least = weight(&best, noise);
    let mut starts = vec![Vec::new()];
    starts.extend(Some(cuts).filter(|cuts| !cuts.is_empty()));
    for start in starts {
        let Some(candidate) = sloping(y, may_begin, start) else { continue };
        let weight = weight(&candidate, noise) + price(y.len());
        if weight < least {
            (least, best) = (weight, candidate);
        }
    }
    best
}

fn cuts(boundaries: &[Boundary]) -> Vec<usize> {
    boundaries.iter().map(|boundary| boundary.at).collect()
}

/// What the explanation costs: distances in units of the noise, and the price of each level.
fn weight(moving: &Moving, noise: f64) -> f64 {
    let cuts = cuts(&moving.boundaries);
    cost(&moving.y, &cuts) / noise + price(moving.y.len()) * cuts.len() as f64
}

fn sloping(y: &[f64], may_begin: &[bool], mut cuts_now: Vec<usize>) -> Option<Moving> {
    let mut found = None;
    for _ in 0..ROUNDS {
        let slope = slope(y, &cuts_now)?;
        let last = y.len() as f64 - 1.0;
        let level: Vec<f64> =
            y.iter().enumerate().map(|(i, y)| y + slope.step * (last - i as f64)).collect();
        let (boundaries, noise) = boundaries(&level, may_begin);
        cuts_now = cuts(&boundaries);
        found = Some(Moving { y: level, boundaries, noise, slope: Some(slope) });
    }
    found
}

/// The median of the slopes between points half a level apart (an incomplete Theil-Sen slope),
/// where it is surely not zero.
fn slope(y: &[f64], cuts: &[usize]) -> Option<Slope> {
    let (mut slopes, mut spread) = (Vec::new(), 0.0);
    for (from, to) in stretches(cuts, y.len()) {
        let half = (to - from) / 2;
        if half >= 3 {
            slopes.extend((from..to - half).map(|i| (y[i + half] - y[i]) / half as f64));
        }
        let count = (to - from) as f64;
        spread += count * (count * count - 1.0) / 12.0;
    }
    let step = median(&slopes)?;
    let flat: Vec<f64> = y.iter().enumerate().map(|(i, y)| y - step * i as f64).collect();
    let kept = resemblance(&flat, cuts);
    let inflation = (1.0 + kept) / (1.0 - kept);
    let freedom = (y.len() as f64 - cuts.len() as f64 - 2.0).max(1.0);
    let freedom = (freedom / inflation).max(1.0);
    let error = (variance(&flat, cuts) * inflation / spread).sqrt() * LESS_SURE;
    let sure = two_sided(step / error, freedom) <= ALPHA;
    sure.then(|| Slope { step, half: quantile(0.05, freedom) * error })
}
