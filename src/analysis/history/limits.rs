//! Where a next run is expected, and whether the newest ones lie there.

use super::boundary::quantile;
use super::noise::LEAST;
use crate::model::robust::median;

/// A level needs so many points before a single run can be judged by it.
const ENOUGH: usize = 9;
/// The share of unchanged runs that lie outside the limits.
const ALPHA: f64 = 0.01;
/// At most so many of the newest points are looked at: three are a level of their own.
const NEWEST: usize = 2;

/// The range in which a next number is expected, on the scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) points: usize,
    pub(super) centre: f64,
    pub(super) reach: f64,
    /// The standard error of a next number.
    pub(super) error: f64,
}

impl Range {
    /// The range that `level` gives; `None` for fewer than two points.
    ///
    /// With the plain deviation: on a mix of two machines that nobody told apart, a robust one
    /// would call every fourth run unusual.
    pub(super) fn of(level: &[f64]) -> Option<Self> {
        if level.len() < 2 {
            return None;
        }
        let n = level.len() as f64;
        let centre = level.iter().sum::<f64>() / n;
        let squares: f64 = level.iter().map(|y| (y - centre).powi(2)).sum();
        let deviation = (squares / (n - 1.0)).sqrt().max(LEAST);
        let error = deviation * (1.0 + 1.0 / n).sqrt();
        let reach = quantile(ALPHA, n - 1.0) * error;
        Some(Self { points: level.len(), centre, reach, error })
    }

    pub(super) const fn is_enough(self) -> bool {
        self.points >= ENOUGH
    }

    fn side_of(self, y: f64) -> Option<bool> {
        ((y - self.centre).abs() > self.reach).then_some(y > self.centre)
    }
}

/// The newest points of a level, where they lie outside what the others let expect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unusual {
    pub(super) at: usize,
    pub(super) level: f64,
    pub(super) there: f64,
    pub(super) range: Range,
}

/// The unusual end of the level that begins at `from`, if it has one.
pub(super) fn unusual(y: &[f64], from: usize) -> Option<Unusual> {
    (1..=NEWEST).rev().find_map(|count| {
        let at = y.len().checked_sub(count).filter(|at| *at > from)?;
        let range = Range::of(&y[from..at]).filter(|range| range.is_enough())?;
        let side = range.side_of(y[at])?;
        let all = y[at..].iter().all(|y| range.side_of(*y) == Some(side));
        let level = median(&y[from..at]).filter(|_| all)?;
        Some(Unusual { at, level, there: median(&y[at..])?, range })
    })
}
