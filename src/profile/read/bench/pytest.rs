//! pytest-benchmark's JSON. `--benchmark-json` holds every round, `--benchmark-save` only what
//! was made of them. `machine_info` tells the host's name and is not taken.

use serde_json::Value;

use super::{Bench, Context, Taken, number, numbers, text};
use crate::model::metric::Unit;
use crate::profile::build::count;
use crate::profile::reading::Reading;

pub(super) fn take(context: &Context<'_>, file: &Value, reading: &mut Reading) -> Taken {
    let Some(benchmarks) = file.get("benchmarks").and_then(Value::as_array) else {
        return Err("`benchmarks`");
    };
    for one in benchmarks {
        let label = text(one, "fullname").or_else(|| text(one, "name")).unwrap_or_default();
        let Some(stats) = one.get("stats") else {
            reading.note("a benchmark without `stats` is left out");
            continue;
        };
        let mut bench = Bench::new(label, Unit::Seconds, numbers(stats, "data", 1.0));
        bench.told = number(stats, "median")
            .map(|median| (median, "median"))
            .or_else(|| number(stats, "mean").map(|mean| (mean, "mean")));
        bench.n = number(stats, "rounds").and_then(count);
        bench.deviation = number(stats, "stddev");
        bench.tell(context, reading);
    }
    Ok(())
}
