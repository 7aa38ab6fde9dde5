//! What is judged: numbers in the order of their commits, and what is known about each.

use std::collections::BTreeMap;

use crate::model::robust::median;

/// One run of a history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// The number; `None` where the run has none, and for a run that failed.
    pub value: Option<f64>,
    /// The commit. Points of one commit stand together: no level begins between them.
    pub commit: Option<String>,
    /// The machine, as far as it may matter. Points without one share a machine.
    pub machine: Option<String>,
    /// Why the number is kept and shown, but not judged.
    pub aside: Option<Aside>,
    /// People accepted a change here: a level begins, and what was before says nothing about it.
    pub accepted: bool,
}

/// Why a number is not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aside {
    /// Something else took the machine's time.
    Disturbed,
    /// Its machine has too few points, and another has more.
    Calibrating,
}

/// A series, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The points, in order.
    pub points: Vec<Point>,
    /// Whether equal code gives equal numbers, such as a count of instructions; `None` when the
    /// numbers themselves are to say so.
    pub exact: Option<bool>,
}

impl Series {
    /// A series of bare numbers.
    pub fn of(values: &[Option<f64>]) -> Self {
        let point = |value: &Option<f64>| Point { value: *value, ..Point::default() };
        Self { points: values.iter().map(point).collect(), exact: None }
    }
}

/// How numbers of a series are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// All are above zero: by how many times they differ.
    Ratio,
    /// Some are not: by how much they differ.
    Difference,
}

/// The numbers that are judged, on the scale where equal changes are equally far apart.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub(super) scale: Scale,
    /// What one step of the scale is, in the metric's unit; 1 on the scale of ratios.
    pub(super) unit: f64,
    /// Logarithms, or numbers in `unit`.
    pub(super) y: Vec<f64>,
    /// The numbers as they were given.
    pub(super) values: Vec<f64>,
    /// Where each number stands in the series.
    pub(super) index: Vec<usize>,
    /// Whether a level may begin here: not between points of one commit.
    pub(super) may_begin: Vec<bool>,
    /// A number for each machine, in order of appearance.
    pub(super) machine: Vec<usize>,
    /// How many accepted changes lie at or before each number.
    pub(super) part: Vec<usize>,
}

impl Judged {
    /// The points of `series` that have a finite number and are not set aside, commit by commit.
    pub(super) fn of(series: &Series) -> Self {
        let finite = |at: usize| series.points[at].value.filter(|value| value.is_finite());
        let mut places: Vec<(usize, usize)> = Vec::new();
        let mut first_of = BTreeMap::new();
        let mut accepted = Vec::new();
        for (at, point) in series.points.iter().enumerate() {
            let first = match point.commit.as_deref() {
                Some(commit) => *first_of.entry(commit).or_insert(at),
                None => at,
            };
            if finite(at).is_some() && point.aside.is_none() {
                places.push((first, at));
            }
            if point.accepted {
                accepted.push(first);
            }
        }
        places.sort_unstable();
        let values: Vec<f64> = places.iter().filter_map(|(_, at)| finite(*at)).collect();
        let (scale, unit, y) = scaled(&values);
        let mut numbers: BTreeMap<Option<&str>, usize> = BTreeMap::new();
        let machine = places.iter().map(|(_, at)| {
            let next = numbers.len();
            *numbers.entry(series.points[*at].machine.as_deref()).or_insert(next)
        });
        let machine = machine.collect();
        let may_begin = (0..places.len()).map(|i| i > 0 && places[i - 1].0 != places[i].0);
        let may_begin = may_begin.collect();
        let part = places.iter().map(|(first, _)| accepted.iter().filter(|a| *a <= first).count());
        let part = part.collect();
        let index = places.into_iter().map(|(_, at)| at).collect();
        Self { scale, unit, y, values, index, may_begin, machine, part }
    }

    /// The same without the points that `keep` does not name.
    pub(super) fn only(&self, keep: &[bool]) -> Self {
        fn kept<T: Copy>(all: &[T], keep: &[bool]) -> Vec<T> {
            all.iter().zip(keep).filter(|(_, keep)| **keep).map(|(item, _)| *item).collect()
        }
        let mut may_begin = Vec::new();
        let mut begins = false;
        for (may, keep) in self.may_begin.iter().zip(keep) {
            begins |= may;
            if *keep {
                may_begin.push(begins && !may_begin.is_empty());
                begins = false;
            }
        }
        Self {
            scale: self.scale,
            unit: self.unit,
            y: kept(&self.y, keep),
            values: kept(&self.values, keep),
            index: kept(&self.index, keep),
            may_begin,
            machine: kept(&self.machine, keep),
            part: kept(&self.part, keep),
        }
    }

    /// The numbers between two accepted changes, one part after the other.
    pub(super) fn parts(&self) -> Vec<Self> {
        let mut names = self.part.clone();
        names.dedup();
        let part = |name: usize| {
            let keep: Vec<bool> = self.part.iter().map(|part| *part == name).collect();
            self.only(&keep)
        };
        names.into_iter().map(part).collect()
    }

    /// A place on the scale, in the metric's unit. The last digits, which are those of the
    /// arithmetic, are rounded away.
    pub(super) fn value(&self, y: f64) -> f64 {
        let value = match self.scale {
            Scale::Ratio => y.exp(),
            Scale::Difference => y * self.unit,
        };
        format!("{value:.11e}").parse().unwrap_or(value)
    }
}

fn scaled(values: &[f64]) -> (Scale, f64, Vec<f64>) {
    if values.iter().all(|value| *value > 0.0) {
        return (Scale::Ratio, 1.0, values.iter().map(|value| value.ln()).collect());
    }
    let sizes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    let middle = median(&sizes).unwrap_or(0.0);
    let greatest = sizes.iter().copied().fold(0.0, f64::max);
    // Squares of numbers so far apart would not be finite.
    let fits = |unit: &f64| *unit > 0.0 && greatest / unit < 1e100;
    let unit = [middle, greatest].into_iter().find(fits).unwrap_or(1.0);
    (Scale::Difference, unit, values.iter().map(|value| value / unit).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(value: f64, commit: &str, machine: &str) -> Point {
        Point {
            value: Some(value),
            commit: Some(commit.to_owned()),
            machine: Some(machine.to_owned()),
            ..Point::default()
        }
    }

    #[test]
    fn points_of_one_commit_stand_together_where_it_came_first() {
        let points = vec![
            point(1.0, "a", "m"),
            point(2.0, "b", "n"),
            point(3.0, "a", "m"),
            Point::default(),
        ];
        let judged = Judged::of(&Series { points, exact: None });
        assert_eq!(judged.values, [1.0, 3.0, 2.0]);
        assert_eq!(judged.index, [0, 2, 1]);
        assert_eq!(judged.may_begin, [false, false, true]);
        assert_eq!(judged.machine, [0, 0, 1]);
        let without_first = judged.only(&[false, true, true]);
        assert_eq!(without_first.may_begin, [false, true]);
    }

    #[test]
    fn numbers_not_above_zero_are_told_as_differences() {
        let judged = Judged::of(&Series::of(&[Some(0.0), Some(0.0), Some(8.0), None]));
        assert_eq!((judged.scale, judged.unit), (Scale::Difference, 8.0));
        assert_eq!(judged.y, [0.0, 0.0, 1.0]);
        let judged = Judged::of(&Series::of(&[Some(f64::NAN), Some(2.0)]));
        assert_eq!((judged.scale, judged.values.clone()), (Scale::Ratio, vec![2.0]));
        assert!((judged.value(judged.y[0]) - 2.0).abs() < 1e-300);
    }

    #[test]
    fn accepted_changes_part_the_numbers() {
        let mut series = Series::of(&[Some(1.0), Some(1.0), None, Some(2.0)]);
        series.points[2].accepted = true;
        let parts = Judged::of(&series).parts();
        let indices: Vec<_> = parts.iter().map(|part| part.index.clone()).collect();
        assert_eq!(indices, [vec![0, 1], vec![3]]);
    }
}
