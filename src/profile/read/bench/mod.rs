//! Results of benchmark tools: named numbers, with the samples behind them.
//!
//! The number is the median of the samples where the file has them, else what the tool shows
//! first; its method says which. Names lose paths, so that two runs say the same.

mod asv;
mod criterion;
mod go;
mod google;
mod hyperfine;
mod libtest;
mod pyperf;
mod pytest;

use serde_json::Value;

use super::super::error::{Fault, Reason};
use super::super::input::Input;
use super::super::json::Dom;
use super::super::lines::Lines;
use super::super::reading::Reading;
use super::super::sniff::Kind;
use super::Context;
use crate::model::metric::{Better, Unit};
use crate::model::robust;

/// Reads the results of a benchmark tool.
pub(super) fn read(
    kind: Kind,
    context: &Context<'_>,
    input: &mut Input<'_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    match kind {
        Kind::Libtest => return libtest::read(&mut Lines::new(input), reading),
        Kind::Go => return go::read(context, &mut Lines::new(input), reading),
        _ => {}
    }
    super::json(input, |json| {
        let file = Dom::default().value(json)?;
        let found = match kind {
            Kind::Hyperfine => hyperfine::take(context, &file, reading),
            Kind::PytestBenchmark => pytest::take(context, &file, reading),
            Kind::Criterion => criterion::estimates(&file, reading),
            Kind::CriterionName => criterion::name(&file, reading),
            Kind::CriterionSample => criterion::sample(context, &file, reading),
            Kind::GoogleBenchmark => google::take(context, &file, reading),
            Kind::Pyperf => pyperf::take(context, &file, reading),
            Kind::Asv => asv::take(context, &file, reading),
            // The list of benchmarks has no numbers of a run.
            _ => Ok(()),
        };
        found.map_err(|what| json.wrong(Reason::Missing { what }))
    })
}

/// What is missing that a file cannot be without.
type Taken = Result<(), &'static str>;

/// One benchmark, in base units.
struct Bench<'l> {
    label: &'l str,
    unit: Unit,
    better: Better,
    samples: Vec<f64>,
    /// What the tool makes of the samples, for files that have none: the number and its method.
    told: Option<(f64, &'static str)>,
    /// How many samples there were, as the tool counts.
    n: Option<u64>,
    deviation: Option<f64>,
}

impl<'l> Bench<'l> {
    fn new(label: &'l str, unit: Unit, samples: Vec<f64>) -> Self {
        let better = Better::Lower;
        Self { label, unit, better, samples, told: None, n: None, deviation: None }
    }

    /// Adds it as a metric. Samples that are not finite or below 0 are left out, those beyond
    /// the limit counted.
    fn tell(mut self, context: &Context<'_>, reading: &mut Reading) {
        let all = self.samples.len();
        self.samples.retain(|sample| super::super::build::weight(*sample).is_some());
        if self.samples.len() < all {
            reading.note("samples below 0 or not finite are left out");
        }
        let counted = (!self.samples.is_empty()).then_some(self.samples.len() as u64);
        let median = robust::median(&self.samples).map(|median| (median, "median"));
        let Some((value, method)) = median.or(self.told) else {
            reading.note(format!(
                "`{}` has no result and is left out",
                super::super::names::clean(self.label)
            ));
            return;
        };
        self.samples.truncate(context.limits.values);
        let Self { label, unit, better, samples, n, deviation, .. } = self;
        let Some(metric) = reading.exact(label, value, unit) else { return };
        metric.better = better;
        method.clone_into(&mut metric.method);
        metric.n = n.or(counted);
        metric.samples = samples;
        metric.deviation = deviation.filter(|deviation| deviation.is_finite());
    }
}

fn number(value: &Value, key: &str) -> Option<f64> {
    value.get(key).and_then(Value::as_f64)
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The numbers of a list in base units; what is none is left out.
fn numbers(value: &Value, key: &str, factor: f64) -> Vec<f64> {
    let numbers = list(value, key).iter().filter_map(Value::as_f64);
    numbers.map(|number| scaled(number, factor)).collect()
}

/// A number times the factor of its unit. Parts are divided: 3 ns are 3e-9 s to the last digit.
fn scaled(number: f64, factor: f64) -> f64 {
    if factor < 1.0 { number / (1.0 / factor).round() } else { number * factor }
}

#[cfg(test)]
mod tests;
