//! One sentence that explains: `duration +12 %: +9 % in update_population, reads 3.0 ×, CPU flat`.

use super::{Moved, Pairing, plain};
use crate::model::metric::Unit;
use crate::profile::model::Weight;
use crate::profile::view::difference::Change;

/// Less is flat.
const FLAT: f64 = 0.02;
/// From this ratio on a count is told as so many times.
const TIMES: f64 = 1.5;
/// A function that moved by less of all is not in the sentence.
const SHARE_MIN: f64 = 0.01;
/// Most functions in the sentence.
const FUNCTIONS: usize = 3;
/// Metrics that explain, with the words for them.
const CAUSES: &[(&str, &str)] = &[
    ("io_reads", "reads"),
    ("io_read_bytes", "bytes read"),
    ("io_write_bytes", "bytes written"),
    ("memory_peak", "memory"),
    ("processes_max", "processes"),
];

pub(super) fn explain(metrics: &[Moved], profiles: &[Pairing]) -> String {
    let find = |name: &str| metrics.iter().find(|metric| metric.name == name);
    let mut causes: Vec<String> = functions(profiles);
    for (name, words) in CAUSES {
        let Some(metric) = find(name) else { continue };
        // A handful more is nothing.
        let counts = metric.before >= 10.0 || metric.after >= 100.0;
        let ratio = metric.after / metric.before;
        if counts && ratio.is_finite() && !(1.0 / TIMES..TIMES).contains(&ratio) {
            causes.push(format!("{words} {}", times(ratio)));
        }
    }
    if let Some(cpu) = find("cpu_time").and_then(Moved::relative) {
        causes.push(format!("CPU {}", moved(cpu)));
    }
    let start = match find("duration").and_then(Moved::relative) {
        Some(change) => format!("duration {}", moved(change)),
        None => "no duration in common".to_owned(),
    };
    if causes.is_empty() { format!("{start}.") } else { format!("{start}: {}.", causes.join(", ")) }
}

/// The functions that moved most, as shares of all that was spent before: the project's own with
/// what they call outside of it, or else whichever by what they spent themselves.
fn functions(profiles: &[Pairing]) -> Vec<String> {
    let of = |pairing: &Pairing| -> Vec<(f64, String)> {
        let Some(told) = &pairing.difference else { return Vec::new() };
        let (weight, sum) = (&told.weight, told.sum.before);
        if !matches!(weight.unit, Unit::Seconds | Unit::Bytes | Unit::Count) || sum <= 0.0 {
            return Vec::new();
        }
        let own = told.charged.iter().map(|one| (one.spent.change() / sum, &one.function));
        let any = told
            .functions
            .iter()
            .map(|noted| (noted.change.own.change() / sum, &noted.change.function));
        let named = |(share, name): (f64, &String)| (share, plain::line(name, 80));
        let counts = |(share, _): &(f64, &String)| share.abs() >= SHARE_MIN;
        let own: Vec<_> = own.filter(counts).map(named).collect();
        if own.is_empty() { any.filter(counts).map(named).collect() } else { own }
    };
    let mut all: Vec<(f64, String)> = profiles.first().map(of).unwrap_or_default();
    all.truncate(FUNCTIONS);
    all.into_iter().map(|(share, name)| format!("{} in `{name}`", percent(share))).collect()
}

/// `` `f` (a.py) +0.50 s (+12 %) ``.
pub(super) fn moved_by(change: &Change, weight: &Weight) -> String {
    let place = if change.file.is_empty() { &change.module } else { &change.file };
    let by = change.own.change();
    let sign = if by < 0.0 { '\u{2212}' } else { '+' };
    let amount = crate::report::view::amount(by.abs(), &weight.unit);
    let share = change.own.relative().map_or_else(|| "new".to_owned(), percent);
    let place =
        if place.is_empty() { String::new() } else { format!(" ({})", plain::line(place, 60)) };
    format!("`{}`{place} {sign}{amount} ({share})", plain::line(&change.function, 80))
}

fn moved(change: f64) -> String {
    if change.abs() < FLAT { "flat".to_owned() } else { percent(change) }
}

fn percent(change: f64) -> String {
    let sign = if change < 0.0 { '\u{2212}' } else { '+' };
    let size = change.abs() * 100.0;
    if size < 10.0 { format!("{sign}{size:.1} %") } else { format!("{sign}{size:.0} %") }
}

fn times(ratio: f64) -> String {
    if ratio >= 10.0 { format!("{ratio:.0} ×") } else { format!("{ratio:.1} ×") }
}
