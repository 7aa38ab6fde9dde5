//! What tools that measure a process from outside wrote: numbers, and numbers over time.

mod gnu_time;
mod massif;
mod mprof;
mod numbers;
mod perf_stat;
mod psrecord;

use super::super::error::{Fault, Reason};
use super::super::input::Input;
use super::super::lines::Lines;
use super::super::reading::Reading;
use super::super::sniff::Kind;
use super::Context;

const MIB: f64 = 1_048_576.0;

/// Reads what a meter wrote.
pub(super) fn read(
    kind: Kind,
    context: &Context<'_>,
    input: &mut Input<'_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    if kind == Kind::Numbers {
        return super::json(input, |json| numbers::read(context, json, reading));
    }
    let lines = &mut Lines::new(input);
    match kind {
        Kind::Psrecord => psrecord::read(context, lines, reading),
        Kind::Mprof => mprof::read(context, lines, reading),
        Kind::Massif => massif::read(context, lines, reading),
        Kind::GnuTime => gnu_time::read(lines, reading),
        Kind::PerfStat => perf_stat::read(lines, reading),
        _ => Err(lines.wrong(Reason::Missing { what: "a reader of this format" })),
    }
}

/// Times and values that belong together.
#[derive(Debug, Default)]
struct Points {
    t: Vec<f64>,
    value: Vec<f64>,
    left_out: u64,
}

impl Points {
    /// Adds a point if both are finite and from 0 up and there is room.
    fn push(&mut self, t: f64, value: f64, max: usize) {
        use super::super::build::weight;
        let fits = weight(t).is_some() && weight(value).is_some();
        // A clock that goes back makes no curve.
        let goes_on = self.t.last().is_none_or(|last| *last <= t);
        if fits && goes_on && self.t.len() < max {
            self.t.push(t);
            self.value.push(value);
        } else {
            self.left_out += 1;
        }
    }

    fn peak(&self) -> Option<f64> {
        self.value.iter().copied().reduce(f64::max)
    }

    fn tell_left_out(&self, reading: &mut Reading) {
        if self.left_out > 0 {
            reading.note(format!(
                "{} points are left out: beyond what is kept, or no finite numbers from 0 up in the order of time",
                self.left_out
            ));
        }
    }
}

#[cfg(test)]
mod tests;
