//! A series in constant memory: when it is full, neighbours are merged.

use crate::model::metric::Unit;
use crate::record::series::{Series, SeriesSource};

/// The most points that a series keeps.
pub const POINTS_MAX: usize = 2000;

/// Points over time. Each is the mean of a bucket with its least and greatest value, so that
/// however long a job runs its peaks are never lost.
#[derive(Clone, Debug)]
pub struct Points {
    buckets: Vec<Bucket>,
    /// How many values a bucket takes before the next one begins.
    stride: u64,
}

#[derive(Clone, Debug)]
struct Bucket {
    t: f64,
    mean: f64,
    min: f64,
    max: f64,
    n: u64,
    x: Option<String>,
}

impl Bucket {
    fn merge(&mut self, later: &Self) {
        let (n, m) = (self.n as f64, later.n as f64);
        self.t = (self.t * n + later.t * m) / (n + m);
        self.mean = (self.mean * n + later.mean * m) / (n + m);
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
        self.n += later.n;
    }
}

impl Default for Points {
    fn default() -> Self {
        Self { buckets: Vec::new(), stride: 1 }
    }
}

impl Points {
    /// Adds a value at `t` seconds.
    pub fn push(&mut self, t: f64, value: f64) {
        self.push_bucket(Bucket { t, mean: value, min: value, max: value, n: 1, x: None });
    }

    /// Adds a value that is known to have been as great as `max` shortly before.
    pub fn push_with_max(&mut self, t: f64, value: f64, max: f64) {
        let max = max.max(value);
        self.push_bucket(Bucket { t, mean: value, min: value, max, n: 1, x: None });
    }

    /// Adds a value with the job's own x; of a bucket, the first x stays.
    pub fn push_with_x(&mut self, t: f64, value: f64, x: Option<String>) {
        self.push_bucket(Bucket { t, mean: value, min: value, max: value, n: 1, x });
    }

    fn push_bucket(&mut self, bucket: Bucket) {
        if !(bucket.t.is_finite() && bucket.mean.is_finite() && bucket.max.is_finite()) {
            return;
        }
        match self.buckets.last_mut() {
            Some(last) if last.n < self.stride => last.merge(&bucket),
            _ => {
                if self.buckets.len() >= POINTS_MAX {
                    self.halve();
                }
                self.buckets.push(bucket);
            }
        }
    }

    fn halve(&mut self) {
        let mut merged = Vec::with_capacity(POINTS_MAX);
        for pair in self.buckets.chunks(2) {
            if let [first, rest @ ..] = pair {
                let mut bucket = first.clone();
                for later in rest {
                    bucket.merge(later);
                }
                merged.push(bucket);
            }
        }
        self.buckets = merged;
        self.stride = self.stride.saturating_mul(2);
    }

    /// Whether no value came.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// The greatest value that came.
    pub fn max(&self) -> Option<f64> {
        self.buckets.iter().map(|bucket| bucket.max).reduce(f64::max)
    }

    /// The series as the record keeps it.
    pub fn to_series(&self, name: &str, unit: Unit, source: SeriesSource) -> Series {
        let ranges = self.buckets.iter().any(|b| b.n > 1 || b.min < b.mean || b.max > b.mean);
        let has_x = self.buckets.iter().any(|bucket| bucket.x.is_some());
        let each = |pick: fn(&Bucket) -> f64| self.buckets.iter().map(pick).collect::<Vec<_>>();
        Series {
            name: name.to_owned(),
            unit,
            source,
            x_name: None,
            t: each(|bucket| bucket.t),
            x: if has_x {
                self.buckets.iter().map(|b| b.x.clone().unwrap_or_default()).collect()
            } else {
                Vec::new()
            },
            value: each(|bucket| bucket.mean),
            min: if ranges { each(|bucket| bucket.min) } else { Vec::new() },
            max: if ranges { each(|bucket| bucket.max) } else { Vec::new() },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn series(points: &Points) -> Series {
        points.to_series("memory", Unit::Bytes, SeriesSource::Sampled)
    }

    #[test]
    fn few_points_stay_as_they_are() {
        let mut points = Points::default();
        points.push(0.0, 1.0);
        points.push(0.5, 2.0);
        let series = series(&points);
        assert_eq!((series.t, series.value), (vec![0.0, 0.5], vec![1.0, 2.0]));
        assert!(series.min.is_empty() && series.max.is_empty() && series.x.is_empty());
    }

    #[test]
    fn a_peak_between_two_ticks_is_kept() {
        let mut points = Points::default();
        points.push_with_max(0.0, 1.0, 9.0);
        points.push_with_x(1.0, 1.0, Some("2010".into()));
        let series = series(&points);
        assert_eq!(series.max, [9.0, 1.0]);
        assert_eq!(series.x, ["", "2010"]);
        assert_eq!(points.max(), Some(9.0));
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        let mut points = Points::default();
        points.push(f64::NAN, 1.0);
        points.push(1.0, f64::INFINITY);
        assert!(points.is_empty());
    }

    proptest! {
        #[test]
        fn memory_is_constant_and_nothing_is_lost(count in 1_usize..20_000, peak in 0_usize..20_000) {
            let mut points = Points::default();
            let peak = peak % count;
            for i in 0..count {
                points.push(i as f64, if i == peak { 1e9 } else { 1.0 });
            }
            let series = series(&points);
            prop_assert!(series.value.len() <= POINTS_MAX);
            prop_assert!(series.t.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert_eq!(points.max(), Some(1e9));
            let n: u64 = points.buckets.iter().map(|bucket| bucket.n).sum();
            prop_assert_eq!(n, count as u64);
            let sum: f64 = points.buckets.iter().map(|b| b.mean * b.n as f64).sum();
            let expected = 1e9 + (count - 1) as f64;
            prop_assert!((sum - expected).abs() < 1e-3 * expected);
        }
    }
}
