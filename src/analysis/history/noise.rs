//! How much numbers differ from one run to the next, whatever the levels do.

use crate::model::robust::median;

/// What is taken for noise at least: a hundredth of a percent.
pub(super) const LEAST: f64 = 1e-4;

/// The standard deviation of the numbers around their levels, taken from the differences of
/// neighbours, so that levels do not count. Numbers that mostly repeat a few values have a median
/// difference of zero; then half of what the mean difference says holds.
pub(super) fn noise(y: &[f64]) -> f64 {
    let steps: Vec<f64> = y.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let Some(centre) = median(&steps) else {
        return LEAST;
    };
    let off: Vec<f64> = steps.iter().map(|step| (step - centre).abs()).collect();
    let mean = steps.iter().map(|step| step.abs()).sum::<f64>() / steps.len() as f64;
    let by_median = 1.4826 * median(&off).unwrap_or(0.0) / std::f64::consts::SQRT_2;
    let by_mean = 0.5 * mean / (std::f64::consts::SQRT_2 * 0.798);
    by_median.max(by_mean).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_do_not_count() {
        let wave = |i: usize| if i.is_multiple_of(2) { 0.01 } else { -0.01 };
        let flat: Vec<f64> = (0..40).map(wave).collect();
        let stepped: Vec<f64> = (0..40).map(|i| wave(i) + if i < 20 { 0.0 } else { 5.0 }).collect();
        let (a, b) = (noise(&flat), noise(&stepped));
        assert!(b < 10.0 * a, "{a} {b}");
        assert!(noise(&[1.0; 9]) <= LEAST && noise(&[3.0]) <= LEAST && noise(&[]) <= LEAST);
    }

    #[test]
    fn numbers_that_mostly_repeat_have_noise() {
        let mut few = vec![25_f64.ln(); 30];
        few[7] = 26_f64.ln();
        few[19] = 26_f64.ln();
        assert!(noise(&few) > 10.0 * LEAST);
    }
}
