//! pyperf's JSON. The runs that only calibrate have no values. What all benchmarks have in common
//! stands at the top. The unit is seconds unless it says bytes or a whole number.

use serde_json::Value;

use super::{Bench, Context, Taken, list, numbers, text};
use crate::model::metric::Unit;
use crate::profile::reading::Reading;

pub(super) fn take(context: &Context<'_>, file: &Value, reading: &mut Reading) -> Taken {
    let Some(benchmarks) = file.get("benchmarks").and_then(Value::as_array) else {
        return Err("`benchmarks`");
    };
    let common = file.get("metadata");
    for one in benchmarks {
        let metadata = one.get("metadata");
        let either = |key: &str| {
            [metadata, common].into_iter().flatten().find_map(|metadata| text(metadata, key))
        };
        let unit = match either("unit") {
            Some("byte") => Unit::Bytes,
            Some("integer") => Unit::None,
            _ => Unit::Seconds,
        };
        let values = list(one, "runs").iter().flat_map(|run| numbers(run, "values", 1.0));
        let label = either("name").unwrap_or("benchmark");
        Bench::new(label, unit, values.collect()).tell(context, reading);
    }
    Ok(())
}
