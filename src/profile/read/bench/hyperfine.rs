//! hyperfine's JSON: for each command its times, in seconds.
//!
//! `stddev` is null for a single run. With `-i` failing commands are measured too. The memory of
//! a command is a mark of the whole hyperfine process that only rises: a small command after a
//! large one shows the large one's, so it is taken only where there is one command.

use serde_json::Value;

use super::{Bench, Context, Taken, list, number, numbers, text};
use crate::model::metric::{Exactness, Unit};
use crate::profile::reading::Reading;

pub(super) fn take(context: &Context<'_>, file: &Value, reading: &mut Reading) -> Taken {
    let Some(results) = file.get("results").and_then(Value::as_array) else {
        return Err("`results`");
    };
    for result in results {
        let label = command(text(result, "command").unwrap_or_default());
        let mut bench = Bench::new(&label, Unit::Seconds, numbers(result, "times", 1.0));
        bench.told = number(result, "median")
            .map(|median| (median, "median"))
            .or_else(|| number(result, "mean").map(|mean| (mean, "mean")));
        bench.deviation = number(result, "stddev");
        bench.tell(context, reading);
        for part in ["user", "system"] {
            if let Some(value) = number(result, part)
                && let Some(metric) =
                    reading.exact(&format!("{label}.{part}"), value, Unit::Seconds)
            {
                "mean".clone_into(&mut metric.method);
            }
        }
        failures(&label, result, reading);
        if results.len() == 1 {
            memory(&label, result, reading);
        }
    }
    if results.len() > 1 && results.iter().any(|one| one.get("memory_usage_byte").is_some()) {
        reading.note(
            "hyperfine's memory of several commands is a mark that only rises over all of them: it is left out",
        );
    }
    Ok(())
}

/// The command without folders: `python /opt/me/sim.py` becomes `python sim.py`.
fn command(text: &str) -> String {
    let word = |word: &str| match word.rsplit_once('/') {
        Some((folder, name)) if folder.starts_with(['/', '.', '~']) || folder.is_empty() => {
            name.to_owned()
        }
        _ => word.to_owned(),
    };
    text.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

fn failures(label: &str, result: &Value, reading: &mut Reading) {
    let codes = list(result, "exit_codes");
    let failed = codes.iter().filter(|code| code.as_f64() != Some(0.0)).count();
    if failed > 0 {
        let label = crate::profile::names::clean(label);
        reading.note(format!("{failed} of {} runs of `{label}` failed", codes.len()));
    }
}

fn memory(label: &str, result: &Value, reading: &mut Reading) {
    let peaks = numbers(result, "memory_usage_byte", 1.0);
    if let Some(peak) = peaks.into_iter().reduce(f64::max)
        && let Some(metric) = reading.metric(&format!("{label}.memory_peak"), peak, Unit::Bytes)
    {
        metric.exactness = Exactness::Exact;
        "max".clone_into(&mut metric.method);
    }
}
