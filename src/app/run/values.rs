//! From the numbers of steps to those of a repetition, and from repetitions to the record's metrics.

use std::collections::{BTreeMap, BTreeSet};

use crate::measure::{Measurement, Reading};
use crate::model::metric::{BUILT_IN, Better, BuiltIn, Exactness, OverSteps, Unit};
use crate::model::robust;
use crate::record::Metric;

/// One number of one repetition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    /// The number, finite.
    pub number: f64,
    /// Its unit.
    pub unit: Unit,
    /// Which way it gets better.
    pub better: Better,
    /// Where it was read.
    pub source: String,
    /// How it was made.
    pub method: String,
    /// How far it can be trusted.
    pub exactness: Exactness,
    /// The truth is not below this.
    pub lower: Option<f64>,
    /// The truth is not above this.
    pub upper: Option<f64>,
}

impl Value {
    /// A number that the job told or that was counted as it stands.
    pub(super) fn counted(
        number: f64,
        unit: Unit,
        better: Better,
        source: &str,
        method: &str,
    ) -> Self {
        Self {
            number,
            unit,
            better,
            source: source.to_owned(),
            method: method.to_owned(),
            exactness: Exactness::Exact,
            lower: None,
            upper: None,
        }
    }

    fn read(metric: &BuiltIn, reading: &Reading) -> Self {
        Self {
            number: reading.value,
            unit: metric.unit.clone(),
            better: metric.better,
            source: reading.source.to_owned(),
            method: reading.method.to_owned(),
            exactness: reading.exactness,
            lower: reading.lower,
            upper: reading.upper,
        }
    }

    /// Both together: the sum, or the greater; as exact as the less exact of them.
    fn join(&mut self, other: &Self, over: OverSteps) {
        let bounds = |value: f64, bound: Option<f64>| bound.unwrap_or(value);
        let has_lower = self.lower.or(other.lower).is_some();
        let has_upper = self.upper.or(other.upper).is_some();
        let lower = join(over, bounds(self.number, self.lower), bounds(other.number, other.lower));
        let upper = join(over, bounds(self.number, self.upper), bounds(other.number, other.upper));
        if other.exactness != Exactness::Exact && self.exactness == Exactness::Exact
            || over == OverSteps::Max && other.number > self.number
        {
            self.method.clone_from(&other.method);
            self.source.clone_from(&other.source);
            self.exactness = other.exactness;
        }
        self.number = join(over, self.number, other.number);
        self.lower = has_lower.then_some(lower);
        self.upper = has_upper.then_some(upper);
    }
}

fn join(over: OverSteps, a: f64, b: f64) -> f64 {
    match over {
        OverSteps::Sum => a + b,
        OverSteps::Max => a.max(b),
    }
}

/// The numbers of one repetition, by name.
pub(super) type Values = BTreeMap<String, Value>;

/// The built-in metrics of one step.
pub(super) fn of_step(measurement: &Measurement) -> Values {
    BUILT_IN
        .iter()
        .filter_map(|metric| {
            let reading = measurement.readings.get(metric.name)?;
            Some((metric.name.to_owned(), Value::read(metric, reading)))
        })
        .collect()
}

/// What the job itself reported in one step.
pub(super) fn reported(measurement: &Measurement) -> Values {
    measurement
        .reported
        .metrics
        .iter()
        .map(|metric| {
            let better = metric.better.unwrap_or(Better::Neither);
            let value =
                Value::counted(metric.value, metric.unit.clone(), better, "job", "reported");
            (metric.name.clone(), value)
        })
        .collect()
}

/// The built-in metrics of a repetition from those of its steps, and why some could not be had: a
/// metric that one step lacks is not that of the job.
pub(super) fn of_steps<'a>(
    steps: impl IntoIterator<Item = &'a Measurement>,
) -> (Values, BTreeMap<String, String>) {
    let mut values = Values::new();
    let mut unavailable = BTreeMap::new();
    for (i, step) in steps.into_iter().enumerate() {
        for (name, reason) in &step.unavailable {
            unavailable.entry((*name).to_owned()).or_insert_with(|| reason.clone());
        }
        for (name, value) in of_step(step) {
            match values.get_mut(&name) {
                Some(sum) => sum.join(&value, over_steps(&name)),
                None if i == 0 => {
                    values.insert(name, value);
                }
                None => {}
            }
        }
    }
    values.retain(|name, _| !unavailable.contains_key(name));
    (values, unavailable)
}

fn over_steps(name: &str) -> OverSteps {
    crate::model::metric::built_in(name).map_or(OverSteps::Max, |metric| metric.over_steps)
}

/// The metrics of a record: the median over the completed repetitions. Where none was completed
/// they are those of the last one, with `n` 0: shown, and never compared.
pub(super) fn metrics(
    completed: &[Values],
    incomplete: Option<&Values>,
) -> BTreeMap<String, Metric> {
    let names: BTreeSet<&String> = completed.iter().flat_map(BTreeMap::keys).collect();
    let mut metrics: BTreeMap<String, Metric> = names
        .into_iter()
        .filter_map(|name| {
            let values: Vec<&Value> =
                completed.iter().filter_map(|repetition| repetition.get(name)).collect();
            Some((name.clone(), metric(&values)?))
        })
        .collect();
    if completed.is_empty() {
        for (name, value) in incomplete.into_iter().flatten() {
            if let Some(mut one) = metric(&[value]) {
                one.n = 0;
                one.repetitions.clear();
                metrics.insert(name.clone(), one);
            }
        }
    }
    metrics
}

fn metric(values: &[&Value]) -> Option<Metric> {
    let last = values.last()?;
    let median_of = |pick: fn(&Value) -> Option<f64>| {
        let picked: Vec<f64> = values.iter().filter_map(|value| pick(value)).collect();
        (picked.len() == values.len()).then(|| robust::median(&picked)).flatten()
    };
    let exactness = values
        .iter()
        .map(|value| value.exactness)
        .find(|exactness| *exactness != Exactness::Exact)
        .unwrap_or(Exactness::Exact);
    let repetitions: Vec<f64> = values.iter().map(|value| value.number).collect();
    Some(Metric {
        value: robust::median(&repetitions)?,
        unit: last.unit.clone(),
        better: last.better,
        source: last.source.clone(),
        method: last.method.clone(),
        exactness,
        lower: median_of(|value| value.lower),
        upper: median_of(|value| value.upper),
        n: u32::try_from(repetitions.len()).unwrap_or(u32::MAX),
        repetitions,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(value: f64) -> Value {
        Value::counted(value, Unit::Seconds, Better::Lower, "wait4", "rusage")
    }

    fn repetition(name: &str, number: f64) -> Values {
        Values::from([(name.to_owned(), value(number))])
    }

    #[test]
    fn the_median_counts_and_every_repetition_is_kept() {
        let completed = [3.0, 1.0, 2.0].map(|number| repetition("cpu_time", number));
        let metric = &metrics(&completed, None)["cpu_time"];
        assert_eq!((metric.value, metric.n), (2.0, 3));
        assert_eq!(metric.repetitions, [3.0, 1.0, 2.0]);
    }

    #[test]
    fn what_was_measured_of_a_failed_run_is_kept_apart() {
        let metric = &metrics(&[], Some(&repetition("cpu_time", 5.0)))["cpu_time"];
        assert_eq!((metric.value, metric.n), (5.0, 0));
        assert!(metric.repetitions.is_empty());
        let done = [repetition("cpu_time", 1.0)];
        let metric = &metrics(&done, Some(&repetition("cpu_time", 5.0)))["cpu_time"];
        assert_eq!((metric.value, metric.n), (1.0, 1));
    }

    #[test]
    fn steps_add_up_with_their_bounds() {
        let mut sum = value(1.0);
        let mut other = value(2.0);
        other.exactness = Exactness::Bounded;
        other.upper = Some(2.5);
        sum.join(&other, OverSteps::Sum);
        assert_eq!((sum.number, sum.lower, sum.upper), (3.0, None, Some(3.5)));
        assert_eq!(sum.exactness, Exactness::Bounded);
        let mut greatest = value(4.0);
        greatest.join(&other, OverSteps::Max);
        assert_eq!((greatest.number, greatest.upper), (4.0, Some(4.0)));
    }
}
