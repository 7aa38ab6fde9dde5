//! Levels that the evidence supports: candidates are cut, and the weakest is given up again and
//! again until all that are left hold.

use super::boundary::{Evidence, Side, evidence};
use super::noise::{LEAST, noise};
use super::segment::{cut, stretches};

/// From this probability on a change is suspected.
pub(super) const SUSPECTED: f64 = 0.01;
/// From this one on it is confirmed.
pub(super) const CONFIRMED: f64 = 0.001;

/// Where a level begins, and what speaks for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Boundary {
    pub(super) at: usize,
    pub(super) evidence: Evidence,
    /// Whether it holds at the stricter probability as well.
    pub(super) confirmed: bool,
}

/// The boundaries in `y`, in order, and the noise.
pub(super) fn boundaries(y: &[f64], may_begin: &[bool]) -> (Vec<Boundary>, f64) {
    let noise = noise(y);
    let mut found = Weighing::new(y, noise, cut(y, noise, may_begin));
    found.give_up(SUSPECTED);
    let held: Vec<(usize, Evidence)> =
        found.cuts.iter().copied().zip(found.weights.iter().copied()).collect();
    found.give_up(CONFIRMED);
    let boundary = |(at, evidence)| {
        let confirmed = found.cuts.contains(&at);
        Boundary { at, evidence, confirmed }
    };
    (held.into_iter().map(boundary).collect(), noise)
}

/// From where to where each level goes.
pub(super) fn spans(boundaries: &[Boundary], n: usize) -> Vec<(usize, usize)> {
    let cuts: Vec<usize> = boundaries.iter().map(|boundary| boundary.at).collect();
    stretches(&cuts, n).collect()
}

/// How much neighbours resemble each other around the levels that begin at `cuts`: their
/// correlation, less what chance may give; 0 to 0.8.
pub(super) fn resemblance(y: &[f64], cuts: &[usize]) -> f64 {
    let (mut products, mut squares) = (0.0, 0.0);
    for (from, to) in stretches(cuts, y.len()) {
        let side = Side::of(&y[from..to]);
        products += side.products();
        squares += side.squares();
    }
    if squares <= 0.0 {
        return 0.0;
    }
    (products / squares - 1.0 / (y.len() as f64).sqrt()).clamp(0.0, 0.8)
}

/// The variance of `y` around the levels that begin at `cuts`, odd numbers drawn in.
pub(super) fn variance(y: &[f64], cuts: &[usize]) -> f64 {
    let squares: f64 =
        stretches(cuts, y.len()).map(|(from, to)| Side::of(&y[from..to]).squares()).sum();
    let freedom = y.len().saturating_sub(cuts.len() + 1).max(1);
    (squares / freedom as f64).max(LEAST * LEAST)
}

/// Candidates and their weights, while the weakest are given up.
struct Weighing<'a> {
    y: &'a [f64],
    noise: f64,
    /// How much neighbours resemble each other around these levels.
    kept: f64,
    cuts: Vec<usize>,
    weights: Vec<Evidence>,
}

impl<'a> Weighing<'a> {
    fn new(y: &'a [f64], noise: f64, cuts: Vec<usize>) -> Self {
        let kept = resemblance(y, &cuts);
        let mut weighing = Self { y, noise, kept, cuts, weights: Vec::new() };
        weighing.weigh_all();
        weighing
    }

    fn weigh_all(&mut self) {
        self.weights = (0..self.cuts.len()).map(|i| self.weigh(i)).collect();
    }

    fn weigh(&self, i: usize) -> Evidence {
        let from = i.checked_sub(1).map_or(0, |before| self.cuts[before]);
        let to = self.cuts.get(i + 1).copied().unwrap_or(self.y.len());
        let at = self.cuts[i];
        evidence(&self.y[from..at], &self.y[at..to], self.noise, self.kept)
    }

    fn give_up(&mut self, alpha: f64) {
        loop {
            let Some(weakest) = self.weakest(alpha) else {
                if self.look_again() {
                    continue;
                }
                return;
            };
            self.cuts.remove(weakest);
            self.weights.remove(weakest);
            let near = [weakest.checked_sub(1), Some(weakest)].into_iter().flatten();
            for i in near.filter(|i| *i < self.cuts.len()).collect::<Vec<_>>() {
                self.weights[i] = self.weigh(i);
            }
        }
    }

    /// The candidate with the weakest evidence, of equal ones that with the smallest shift.
    fn weakest(&self, alpha: f64) -> Option<usize> {
        let weight = |i: &usize| (self.weights[*i].p, -self.weights[*i].shift.abs());
        (0..self.cuts.len()).filter(|i| self.weights[*i].p > alpha).max_by(|i, j| {
            let (a, b) = (weight(i), weight(j));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        })
    }

    /// Fewer levels leave more resemblance: whether the evidence has become weaker by it.
    fn look_again(&mut self) -> bool {
        let kept = resemblance(self.y, &self.cuts);
        let more = kept > self.kept + 1e-6;
        if more {
            self.kept = kept;
            self.weigh_all();
        }
        more
    }
}
