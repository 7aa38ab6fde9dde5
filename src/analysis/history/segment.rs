//! Cuts a series into levels: the cut that costs least, found exactly.
//!
//! The cost of a level is the sum of distances from its median, so single odd numbers weigh no
//! more than their distance; each further level costs a fixed price. This is the L1 Potts problem.
//! The best level is always one of the numbers, so the cheapest cut is found by keeping, for every
//! number as the current level, the cost of the best cut that ends on it: one pass, with as many
//! steps a point as there are different numbers.

use crate::model::robust::median;

/// Fewest points of a level.
pub(super) const SHORTEST: usize = 3;
/// Fewest points of a series in which a change can be found.
pub(super) const FEWEST: usize = 6;
/// At most so many different levels are tried; of more numbers, evenly spaced ranks stand in.
const LEVELS_MAX: usize = 256;

/// The price of one more level, in units of the noise.
pub(super) fn price(n: usize) -> f64 {
    2.5 * (n as f64).ln() / 2.0 * 1.2533
}

/// Where new levels begin, in order. `may_begin` tells where one may.
pub(super) fn cut(y: &[f64], noise: f64, may_begin: &[bool]) -> Vec<usize> {
    let n = y.len();
    if n < FEWEST {
        return Vec::new();
    }
    let price = price(n) * noise;
    let mut best = Best::new(&levels(y));
    // For each number of points: the least cost, and where its last level began.
    let mut least = vec![(f64::INFINITY, 0); n + 1];
    least[0] = (0.0, 0);
    for end in SHORTEST..=n {
        let first = end - SHORTEST;
        let entry = match first {
            0 => 0.0,
            _ if may_begin[first] => least[first].0 + price,
            _ => f64::INFINITY,
        };
        best.step(&y[first..end], entry, first);
        least[end] = best.least();
    }
    let mut cuts = Vec::new();
    let mut end = least[n].1;
    while end > 0 {
        cuts.push(end);
        end = least[end].1;
    }
    cuts.reverse();
    cuts
}

/// For each level, the best cut so far that ends on it. Blocks of equal numbers keep the inner
/// loop free of branches, which makes it several times faster.
struct Best {
    levels: Vec<[f64; LANES]>,
    /// What it costs.
    cost: Vec<[f64; LANES]>,
    /// Where its last level began: whole numbers, as wide as the costs.
    begin: Vec<[f64; LANES]>,
}

/// Numbers in a block.
const LANES: usize = 4;

impl Best {
    fn new(levels: &[f64]) -> Self {
        // A block that is not full repeats the last level, which changes nothing.
        let last = levels.last().copied().unwrap_or(0.0);
        let block = |block: &[f64]| std::array::from_fn(|i| block.get(i).copied().unwrap_or(last));
        let levels: Vec<[f64; LANES]> = levels.chunks(LANES).map(block).collect();
        let (cost, begin) =
            (vec![[f64::INFINITY; LANES]; levels.len()], vec![[0.0; LANES]; levels.len()]);
        Self { levels, cost, begin }
    }

    /// Takes one more point, the last of `newest`: each level goes on, or begins with `newest`.
    fn step(&mut self, newest: &[f64], entry: f64, first: usize) {
        let &[a, b, c] = newest else { return };
        let first = first as f64;
        for ((level, cost), begin) in self.levels.iter().zip(&mut self.cost).zip(&mut self.begin) {
            for i in 0..LANES {
                let here = (c - level[i]).abs();
                let goes_on = cost[i] + here;
                let begins = entry + (a - level[i]).abs() + (b - level[i]).abs() + here;
                let new = begins < goes_on;
                cost[i] = if new { begins } else { goes_on };
                begin[i] = if new { first } else { begin[i] };
            }
        }
    }

    /// The least cost, and where the last level of that cut began.
    fn least(&self) -> (f64, usize) {
        let mut least = [f64::INFINITY; LANES];
        for cost in &self.cost {
            for i in 0..LANES {
                least[i] = if cost[i] < least[i] { cost[i] } else { least[i] };
            }
        }
        let least = least.into_iter().fold(f64::INFINITY, f64::min);
        let at = self.cost.iter().flatten().position(|cost| cost.to_bits() == least.to_bits());
        let begin = at.and_then(|at| self.begin.get(at / LANES)?.get(at % LANES)).copied();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a place in the series"
        )]
        let begin = begin.unwrap_or(0.0) as usize;
        (least, begin)
    }
}

fn levels(y: &[f64]) -> Vec<f64> {
    let mut sorted = y.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    let count = sorted.len();
    if count <= LEVELS_MAX {
        return sorted;
    }
    (0..LEVELS_MAX).map(|rank| sorted[rank * (count - 1) / (LEVELS_MAX - 1)]).collect()
}

/// The sum of distances from the medians of the levels that begin at `cuts`.
pub(super) fn cost(y: &[f64], cuts: &[usize]) -> f64 {
    let of = |(from, to): (usize, usize)| {
        let level = median(&y[from..to]).unwrap_or(0.0);
        y[from..to].iter().map(|y| (y - level).abs()).sum::<f64>()
    };
    stretches(cuts, y.len()).map(of).sum()
}

/// From where to where each level goes, of those that begin at 0 and at `cuts`.
pub(super) fn stretches(cuts: &[usize], n: usize) -> impl Iterator<Item = (usize, usize)> {
    let begins = std::iter::once(0).chain(cuts.iter().copied());
    begins.zip(cuts.iter().copied().chain([n]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn weight(y: &[f64], noise: f64, cuts: &[usize]) -> f64 {
        cost(y, cuts) + price(y.len()) * noise * cuts.len() as f64
    }

    /// The least weight of all cuts of `y[..end]`, by trying every last level.
    fn least_by_trial(y: &[f64], noise: f64, may_begin: &[bool]) -> f64 {
        let n = y.len();
        let mut least = vec![f64::INFINITY; n + 1];
        least[0] = 0.0;
        for end in SHORTEST..=n {
            for begin in 0..=end - SHORTEST {
                let price = if begin == 0 { 0.0 } else { price(n) * noise };
                if begin == 0 || may_begin[begin] {
                    let here = least[begin] + price + cost(&y[begin..end], &[]);
                    least[end] = least[end].min(here);
                }
            }
        }
        least[n]
    }

    proptest! {
        #[test]
        fn no_cut_costs_less(
            y in prop::collection::vec((-40..40_i32).prop_map(|v| f64::from(v) / 8.0), 6..40),
            tied in prop::collection::vec(any::<bool>(), 40),
        ) {
            let may_begin: Vec<bool> = tied[..y.len()].iter().map(|tied| !tied).collect();
            let cuts = cut(&y, 0.1, &may_begin);
            prop_assert!(cuts.iter().all(|at| may_begin[*at]));
            prop_assert!(stretches(&cuts, y.len()).all(|(from, to)| to - from >= SHORTEST));
            let least = least_by_trial(&y, 0.1, &may_begin);
            prop_assert!((weight(&y, 0.1, &cuts) - least).abs() < 1e-9);
        }
    }

    #[test]
    fn few_points_are_not_cut() {
        assert_eq!(cut(&[1.0, 1.0, 1.0, 9.0, 9.0], 0.1, &[true; 5]), Vec::<usize>::new());
        assert_eq!(cut(&[1.0, 1.0, 1.0, 9.0, 9.0, 9.0], 0.1, &[true; 6]), [3]);
    }

    #[test]
    fn many_different_numbers_are_cut_as_well() {
        let y: Vec<f64> = (0..3000_u32)
            .map(|i| f64::from(i * 7919 % 1000) / 1000.0 + if i < 1700 { 0.0 } else { 4.0 })
            .collect();
        assert_eq!(cut(&y, 0.3, &vec![true; y.len()]), [1700]);
    }
}
