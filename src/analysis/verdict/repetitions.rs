//! Two runs with many repetitions each.

use crate::analysis::history::chance_of;
use crate::record::index::Entry;

/// Fewer repetitions tell too little.
const FEWEST: u32 = 5;
/// Rarer differences are told.
const ALPHA: f64 = 0.01;

/// Whether the repetitions of two runs differ by more than chance. `None` where they are too few
/// or do not tell how they spread.
///
/// They say nothing of how two runs of unchanged code differ, so this may warn and never fail.
pub(super) fn differ(then: &Entry, now: &Entry) -> Option<bool> {
    let share = |entry: &Entry| {
        let spread = entry.spread().filter(|_| entry.n() >= FEWEST && entry.value() > 0.0)?;
        Some((spread / entry.value()).powi(2) / f64::from(entry.n()))
    };
    // A median is less sure than a mean, by this much.
    let variance = (share(then)? + share(now)?) * std::f64::consts::FRAC_PI_2;
    let freedom = f64::from(then.n() + now.n()) - 2.0;
    let t = (now.value() / then.value()).ln() / variance.sqrt().max(1e-6);
    Some(chance_of(t, freedom) <= ALPHA)
}
