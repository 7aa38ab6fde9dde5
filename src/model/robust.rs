//! Centre and spread of a few numbers, such that one odd number does not move them.

/// What makes a median absolute deviation of normal numbers their standard deviation.
const NORMAL: f64 = 1.4826;

/// The median; of an even count the mean of the middle two. `None` for no numbers.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    // Halved first: the sum of two great numbers would not be finite.
    sorted.get(middle.checked_sub(1)?).map(|lower| lower / 2.0 + upper / 2.0)
}

/// The median absolute deviation from the median times 1.4826, in the values' own unit.
/// `None` for fewer than two numbers, which have no spread.
pub fn spread(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let centre = median(values)?;
    let deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    median(&deviations).map(|deviation| deviation * NORMAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centre_of_a_few() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0]), Some(5.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[f64::MAX, f64::MAX]), Some(f64::MAX));
    }

    #[test]
    fn one_odd_number_does_not_widen_the_spread() {
        assert_eq!(spread(&[3.0]), None);
        assert_eq!(spread(&[3.0, 3.0]), Some(0.0));
        let spread_of = spread(&[10.0, 11.0, 12.0, 13.0, 1000.0]).expect("a spread");
        assert!((spread_of - 1.4826).abs() < 1e-9, "{spread_of}");
    }
}
