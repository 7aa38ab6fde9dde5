//! Quartiles of a few numbers.

/// The middle half of some numbers, in their own unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quartiles {
    /// A quarter of the numbers lies below.
    pub lower: f64,
    /// Half of them lies below.
    pub median: f64,
    /// Three quarters lie below.
    pub upper: f64,
}

/// The quartiles of `values`; `None` for no numbers.
///
/// Between two numbers the place is found by a straight line: type 7 of Hyndman and Fan, "Sample
/// quantiles in statistical packages", The American Statistician 50 (1996), which is also what
/// R and `NumPy` give unasked.
pub fn quartiles(values: &[f64]) -> Option<Quartiles> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |quarters| quantile(&sorted, quarters);
    Some(Quartiles { lower: at(1)?, median: at(2)?, upper: at(3)? })
}

/// The value below which `quarters` of four parts lie.
fn quantile(sorted: &[f64], quarters: usize) -> Option<f64> {
    let steps = sorted.len().checked_sub(1)? * quarters;
    let (index, rest) = (steps / 4, steps % 4);
    let low = *sorted.get(index)?;
    // The last number has none above it, and then nothing is left to go.
    let high = *sorted.get(index + 1).unwrap_or(&low);
    let share = rest as f64 / 4.0;
    // Weighted apart: the difference of two great numbers would not be finite.
    Some(low * (1.0 - share) + high * share)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn as_r_gives_them() {
        for (values, lower, median, upper) in [
            (vec![3.0], 3.0, 3.0, 3.0),
            (vec![2.0, 1.0], 1.25, 1.5, 1.75),
            (vec![1.0, 2.0, 3.0, 4.0], 1.75, 2.5, 3.25),
            (vec![5.0, 1.0, 4.0, 2.0, 3.0], 2.0, 3.0, 4.0),
        ] {
            let expected = Quartiles { lower, median, upper };
            assert_eq!(quartiles(&values), Some(expected), "{values:?}");
        }
        assert_eq!(quartiles(&[]), None);
        assert!(quartiles(&[f64::MIN, f64::MAX]).is_some_and(|found| found.lower.is_finite()));
    }

    proptest! {
        #[test]
        fn they_are_in_order_and_within_the_numbers(
            values in prop::collection::vec(-1e300..1e300_f64, 1..50),
        ) {
            let found = quartiles(&values).unwrap();
            let min = values.iter().copied().fold(f64::INFINITY, f64::min);
            let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let slack = 1e-9 * min.abs().max(max.abs());
            prop_assert!(min - slack <= found.lower && found.lower <= found.median + slack);
            prop_assert!(found.median <= found.upper + slack && found.upper <= max + slack);
        }
    }
}
