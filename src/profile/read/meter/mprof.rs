//! The log of `memory_profiler`: `MEM mib epoch`, `CHLD number mib epoch` for children told
//! apart, `FUNC name mib epoch mib epoch depth` for decorated functions. `mprof run -o` appends
//! to a file: only what stands behind the last command counts.

use super::super::super::error::{Fault, Reason};
use super::super::super::lines::Lines;
use super::super::super::names;
use super::super::super::reading::{Reading, series};
use super::{Context, MIB, Points};
use crate::model::metric::{Better, Unit};

/// Most calls of decorated functions, and most children.
const CALLS_MAX: usize = 10_000;
const CHILDREN_MAX: usize = 64;

/// One run in the file.
#[derive(Default)]
struct Section {
    memory: Points,
    children: std::collections::BTreeMap<u32, Points>,
    first: Option<f64>,
}

/// A call of a decorated function.
struct Call {
    name: String,
    grown: f64,
    begin: f64,
    end: f64,
}

pub(super) fn read(
    context: &Context<'_>,
    lines: &mut Lines<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let mut section = Section::default();
    let mut calls: Vec<Call> = Vec::new();
    let mut commands = 0;
    let max = context.limits.values;
    while let Some(line) = lines.next()? {
        let text = String::from_utf8_lossy(line);
        let mut words = text.split_whitespace();
        match words.next() {
            Some("CMDLINE") => {
                commands += 1;
                section = Section::default();
            }
            Some("MEM") => section.add(&numbers(words), max),
            Some("CHLD") => section.add_child(&numbers(words), max),
            Some("FUNC") => {
                let name = words.next().map(names::clean).unwrap_or_default();
                if let ([before, begin, after, end, ..], true) =
                    (&numbers(words)[..], calls.len() < CALLS_MAX)
                {
                    let grown = (after - before) * MIB;
                    calls.push(Call { name, grown, begin: *begin, end: *end });
                }
            }
            _ => {}
        }
    }
    let Some(peak) = section.memory.peak() else {
        return Err(lines.wrong(Reason::Missing { what: "a line `MEM`" }));
    };
    if commands > 1 {
        reading
            .note(format!("the file holds {commands} runs after each other: the last one is read"));
    }
    reading.metric("mprof.memory_peak", peak, Unit::Bytes);
    section.memory.tell_left_out(reading);
    let start = section.first.unwrap_or(0.0);
    tell_calls(&calls, start, reading);
    reading.series.push(series(
        "mprof.memory",
        Unit::Bytes,
        section.memory.t,
        section.memory.value,
    ));
    for (number, child) in section.children {
        let name = format!("mprof.memory.child_{number}");
        reading.series.push(series(&name, Unit::Bytes, child.t, child.value));
    }
    Ok(())
}

fn numbers<'w>(words: impl Iterator<Item = &'w str>) -> Vec<f64> {
    words.map_while(|word| word.parse().ok()).collect()
}

impl Section {
    fn add(&mut self, numbers: &[f64], max: usize) {
        if let [mib, epoch] = numbers {
            let start = *self.first.get_or_insert(*epoch);
            self.memory.push(epoch - start, mib * MIB, max);
        }
    }

    fn add_child(&mut self, numbers: &[f64], max: usize) {
        let [number, mib, epoch] = numbers else { return };
        let number = crate::profile::build::small(*number);
        let start = *self.first.get_or_insert(*epoch);
        if self.children.len() < CHILDREN_MAX || self.children.contains_key(&number) {
            self.children.entry(number).or_default().push(epoch - start, mib * MIB, max);
        }
    }
}

/// Time and growth of each decorated function, over all its calls of the last run: earlier runs
/// ended before it began.
fn tell_calls(calls: &[Call], start: f64, reading: &mut Reading) {
    let mut sums: Vec<(&str, f64, f64)> = Vec::new();
    for call in calls.iter().filter(|call| call.end >= start) {
        let place = match sums.iter().position(|sum| sum.0 == call.name) {
            Some(place) => place,
            None if sums.len() < 200 => {
                sums.push((&call.name, 0.0, 0.0));
                sums.len() - 1
            }
            None => continue,
        };
        sums[place].1 += call.end - call.begin;
        sums[place].2 += call.grown;
    }
    for (name, seconds, bytes) in sums {
        reading.exact(&format!("{name}.time"), seconds, Unit::Seconds);
        if let Some(grown) = reading.metric(&format!("{name}.memory_growth"), bytes, Unit::Bytes) {
            grown.better = Better::Lower;
        }
    }
}
