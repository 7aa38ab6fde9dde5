//! criterion's files of one benchmark, in nanoseconds: the estimates, the samples, and the name,
//! each in a file of its own in one folder.
//!
//! What criterion shows first is the slope; where the sampling is flat there is none, and it is
//! the mean.

use serde_json::Value;

use super::{Bench, Context, Taken, numbers, scaled, text};
use crate::model::metric::{Exactness, Unit};
use crate::profile::reading::Reading;

const NANO: f64 = 1e-9;

pub(super) fn estimates(file: &Value, reading: &mut Reading) -> Taken {
    let estimate = |name: &str| file.get(name)?.get("point_estimate")?.as_f64();
    let told = ["slope", "mean"].iter().find_map(|name| Some((estimate(name)?, *name)));
    let Some((value, method)) = told else { return Err("`slope` or `mean`") };
    if let Some(metric) = reading.metric("time", scaled(value, NANO), Unit::Seconds) {
        method.clone_into(&mut metric.method);
        metric.deviation = estimate("std_dev").map(|deviation| scaled(deviation, NANO));
        metric.exactness = Exactness::Sampled;
    }
    Ok(())
}

pub(super) fn name(file: &Value, reading: &mut Reading) -> Taken {
    let Some(name) = text(file, "full_id") else { return Err("`full_id`") };
    reading.title = crate::profile::names::clean(name);
    Ok(())
}

/// Each sample is a number of iterations and the time of all of them.
pub(super) fn sample(context: &Context<'_>, file: &Value, reading: &mut Reading) -> Taken {
    let (iterations, times) = (numbers(file, "iters", 1.0), numbers(file, "times", NANO));
    if iterations.len() != times.len() {
        return Err("a time for every number of iterations");
    }
    let each = times.iter().zip(&iterations).filter(|(_, count)| **count > 0.0);
    let each = each.map(|(time, count)| time / count).collect();
    Bench::new("time", Unit::Seconds, each).tell(context, reading);
    Ok(())
}
