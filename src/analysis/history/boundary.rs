//! Whether two neighbouring levels differ by more than their noise explains.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::noise::LEAST;
use crate::model::robust::median;

/// A side with fewer points must lie beyond the other level with every one of them.
const FEW: usize = 5;
/// A side with fewer points has no variance of its own that could be trusted.
const ENOUGH: usize = 8;

/// What speaks for a new level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Evidence {
    /// By how much the level moved, from median to median.
    pub(super) shift: f64,
    /// The standard error of the shift, after correction for autocorrelation.
    pub(super) error: f64,
    /// Degrees of freedom.
    pub(super) freedom: f64,
    /// The probability of such a shift at the best of all places between the neighbours, if
    /// nothing had changed; 1 where the points do not even agree on a direction.
    pub(super) p: f64,
}

/// One side of a boundary, odd numbers drawn in.
pub(super) struct Side {
    count: f64,
    median: f64,
    mean: f64,
    variance: f64,
    /// Distances from the mean, in order.
    rest: Vec<f64>,
}

impl Side {
    pub(super) fn of(y: &[f64]) -> Self {
        let centre = median(y).unwrap_or(0.0);
        let calm = drawn_in(y, centre);
        let count = y.len() as f64;
        let mean = calm.iter().sum::<f64>() / count;
        let rest: Vec<f64> = calm.iter().map(|value| value - mean).collect();
        let squares: f64 = rest.iter().map(|rest| rest * rest).sum();
        let variance = (squares / (count - 1.0).max(1.0)).max(LEAST * LEAST);
        Self { count, median: centre, mean, variance, rest }
    }

    /// The sum of squared distances from the mean.
    pub(super) fn squares(&self) -> f64 {
        self.rest.iter().map(|rest| rest * rest).sum()
    }

    /// The sum of products of neighbours' distances from the mean.
    pub(super) fn products(&self) -> f64 {
        self.rest.windows(2).map(|pair| pair[0] * pair[1]).sum()
    }
}

/// `y` with few odd numbers drawn in to 2.5 deviations. Where many are odd, the numbers have two
/// centres, and their honest variance must stay.
fn drawn_in(y: &[f64], centre: f64) -> Vec<f64> {
    if y.len() < ENOUGH {
        return y.to_vec();
    }
    let off: Vec<f64> = y.iter().map(|value| (value - centre).abs()).collect();
    let reach = 2.5 * 1.4826 * median(&off).unwrap_or(0.0);
    let odd = off.iter().filter(|off| **off > reach).count();
    if odd as f64 >= 0.15 * y.len() as f64 {
        return y.to_vec();
    }
    y.iter().map(|value| value.clamp(centre - reach, centre + reach)).collect()
}

/// The evidence for a level that begins between `left` and `right`. `noise` is that of the series,
/// `kept` how much neighbours resemble each other in it.
pub(super) fn evidence(left: &[f64], right: &[f64], noise: f64, kept: f64) -> Evidence {
    let (a, b) = (Side::of(left), Side::of(right));
    let shift = b.median - a.median;
    let (variance, freedom) = if left.len() >= ENOUGH && right.len() >= ENOUGH {
        welch(&a, &b)
    } else {
        pooled(&a, &b, noise)
    };
    let inflation = inflation(&a, &b, kept);
    let error = (variance * inflation).sqrt();
    let freedom = (freedom / inflation).max(1.0);
    let mut p = 1.0;
    if (b.mean - a.mean) * shift > 0.0
        && lies_beyond(left, &b, -shift, noise)
        && lies_beyond(right, &a, shift, noise)
    {
        let places = (left.len() + right.len() - 1) as f64;
        p = (two_sided((b.mean - a.mean) / error, freedom) * places).min(1.0);
    }
    Evidence { shift, error, freedom, p }
}

fn welch(a: &Side, b: &Side) -> (f64, f64) {
    let (va, vb) = (a.variance / a.count, b.variance / b.count);
    let variance = va + vb;
    let freedom = variance * variance / (va * va / (a.count - 1.0) + vb * vb / (b.count - 1.0));
    (variance, freedom)
}

/// The variance of both sides together, with the noise of the series as two more observations.
fn pooled(a: &Side, b: &Side, noise: f64) -> (f64, f64) {
    let freedom = a.count + b.count;
    let squares = (a.count - 1.0) * a.variance + (b.count - 1.0) * b.variance;
    let variance = (2.0 * noise * noise + squares) / freedom;
    (variance * (1.0 / a.count + 1.0 / b.count), freedom)
}

/// By how much neighbours that resemble each other make the sides poorer than their count.
/// `kept` is how much they do in the whole series.
fn inflation(a: &Side, b: &Side, kept: f64) -> f64 {
    let squares = a.squares() + b.squares();
    let chance = 1.0 / (a.count + b.count).sqrt();
    let here = if squares > 0.0 { (a.products() + b.products()) / squares - chance } else { 0.0 };
    let r = here.max(kept).clamp(0.0, 0.8);
    (1.0 + r) / (1.0 - r)
}

/// Whether each of few points lies beyond the other side's level, in the direction of `shift`.
fn lies_beyond(points: &[f64], other: &Side, shift: f64, noise: f64) -> bool {
    points.len() >= FEW || points.iter().all(|y| (y - other.median) * shift.signum() > 1.5 * noise)
}

/// The probability of a `t` of Student's distribution at least so far from zero; 1 where it is no
/// number.
pub fn two_sided(t: f64, freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(student) if t.is_finite() => 2.0 * student.sf(t.abs()),
        _ => 1.0,
    }
}

/// The `t` beyond which, to either side, a share of `alpha` lies.
pub(super) fn quantile(alpha: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom)
        .map_or(f64::INFINITY, |student| student.inverse_cdf(1.0 - alpha / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_is_students() {
        // Values of scipy.stats.t: sf and ppf.
        for (t, freedom, p) in
            [(2.776_445, 4.0, 0.05), (3.0, 10.0, 0.013_343_655), (8.5, 30.0, 1.744_088e-9)]
        {
            let found = two_sided(t, freedom);
            assert!((found / p - 1.0).abs() < 1e-3, "{t} {freedom}: {found}");
        }
        assert!((quantile(0.01, 9.0) - 3.249_836).abs() < 1e-5);
        assert!((two_sided(f64::NAN, 3.0) - 1.0).abs() < 1e-12);
    }

    fn wave(count: usize, level: f64) -> Vec<f64> {
        (0..count).map(|i| level + [0.01, -0.012, 0.004, -0.002][i % 4]).collect()
    }

    #[test]
    fn a_clear_step_is_sure_and_none_is_not() {
        let step = evidence(&wave(20, 0.0), &wave(20, 0.1), 0.01, 0.0);
        assert!(step.p < 1e-9 && (step.shift - 0.1).abs() < 1e-9, "{step:?}");
        assert!(evidence(&wave(20, 0.0), &wave(20, 0.001), 0.01, 0.0).p > 0.5);
        let alike = evidence(&wave(20, 0.0), &wave(20, 0.1), 0.01, 0.8);
        assert!(alike.p > step.p && alike.freedom < step.freedom);
    }

    #[test]
    fn few_points_must_each_lie_beyond() {
        assert!(evidence(&wave(12, 0.0), &[0.2, 0.21, 0.2], 0.01, 0.0).p < 0.001);
        assert!(evidence(&wave(12, 0.0), &[0.2, 0.21, 0.01], 0.01, 0.0).p >= 1.0);
    }

    #[test]
    fn two_centres_keep_their_variance() {
        let mixed: Vec<f64> = (0..20).map(|i| if i % 3 == 0 { 0.5 } else { 0.0 }).collect();
        assert_eq!(drawn_in(&mixed, 0.0), mixed);
        let mut spiky = wave(20, 0.0);
        spiky[4] = 9.0;
        assert!(drawn_in(&spiky, 0.0)[4] < 0.1);
    }
}
