//! Collapsed stacks: frames from the root to the leaf with `;` between, a space, a number.
//!
//! Many tools write it, each with frames and numbers of its own: py-spy (`f (a.py:3)`, samples),
//! Python 3.15 (`a.py:f:3`, samples), austin (the same, microseconds or bytes, with a header that
//! says so), perf through stackcollapse or inferno (`f`, periods of the event), async-profiler
//! (`f_[j]`), heaptrack (`f (a.cpp)`, allocations). What the numbers count is not in the file,
//! but for austin: a count stays a count unless the caller knows.

mod frame;

use super::super::build::{Builder, Path, weight};
use super::super::error::{Fault, Reason};
use super::super::lines::Lines;
use super::super::model::{Frame, FrameKind, Measured, NONE, Weight};
use super::super::reading::Reading;
use super::super::sniff::Kind;
use super::Context;
use super::assemble::Parts;
use crate::model::metric::Unit;
use frame::Frames;

pub(super) use frame::module_of;

/// What the numbers of collapsed stacks count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StackUnit {
    /// Samples, taken at no known rate.
    Samples,
    /// Samples, so many a second: their time can be told.
    SamplesPerSecond(f64),
    /// Time; how many seconds one is.
    Seconds(f64),
    /// Bytes.
    Bytes,
    /// Allocations.
    Allocations,
}

impl StackUnit {
    /// The weight, and what one of the numbers is in its unit.
    fn weight(self) -> (Weight, f64) {
        let sampled = |name, unit| Weight::new(name, unit, Measured::Sampled);
        match self {
            Self::SamplesPerSecond(rate) if rate.is_finite() && rate > 0.0 => {
                (sampled("time", Unit::Seconds), 1.0 / rate)
            }
            Self::Samples | Self::SamplesPerSecond(_) => (sampled("samples", Unit::Count), 1.0),
            Self::Seconds(factor) => (sampled("time", Unit::Seconds), factor),
            Self::Bytes => (Weight::new("memory", Unit::Bytes, Measured::Exact), 1.0),
            Self::Allocations => (Weight::new("allocations", Unit::Count, Measured::Exact), 1.0),
        }
    }
}

/// A line's stack and the number behind its last space; `None` when there is no number.
pub(in super::super) fn split_count(line: &[u8]) -> Option<(&[u8], f64)> {
    let line = line.trim_ascii_end();
    let at = memchr::memrchr(b' ', line).map_or(0, |at| at + 1);
    let (stack, number) = line.split_at(at);
    let digits = number.len() <= 17 && number.iter().all(u8::is_ascii_digit) && !number.is_empty();
    let value = if digits {
        number.iter().fold(0_u64, |sum, digit| sum * 10 + u64::from(digit - b'0')) as f64
    } else {
        let is_number =
            |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E');
        if !number.iter().all(is_number) {
            return None;
        }
        std::str::from_utf8(number).ok()?.parse().ok()?
    };
    Some((stack.trim_ascii_end(), value))
}

/// The head of an austin file.
#[derive(Default)]
struct Austin {
    version: String,
    mode: String,
    interval: Option<f64>,
    duration: Option<f64>,
}

/// Reads lines into a tree.
struct Stacks<'c> {
    builder: Builder,
    frames: Frames<'c>,
    path: Path,
    /// The last stack, and where each of its frames ends.
    last: Vec<u8>,
    ends: Vec<usize>,
    values: Vec<f64>,
    numbers: Numbers,
}

/// Numbers that are all multiples of this or more are no counts of samples.
const PERIOD_MIN: f64 = 1000.0;

/// What the numbers have in common.
#[derive(Default)]
struct Numbers {
    divisor: f64,
    count: u64,
}

impl Numbers {
    /// A period that all numbers are multiples of tells that they are no counts of samples.
    fn add(&mut self, value: f64) {
        self.count += 1;
        if self.divisor > 0.0 && self.divisor < PERIOD_MIN || value.fract() != 0.0 {
            self.divisor = self.divisor.min(1.0);
            return;
        }
        let (mut one, mut other) = (self.divisor, value);
        while other > 0.0 {
            (one, other) = (other, one % other);
        }
        self.divisor = one.max(other);
    }
}

pub(super) fn read(
    context: &Context<'_>,
    lines: &mut Lines<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let is_diff = reading.kind == Kind::CollapsedDiff;
    let mut austin: Option<Austin> = None;
    let mut stacks: Option<Stacks<'_>> = None;
    let (mut bad, mut first_bad) = (0_u64, 0);
    while let Some(line) = lines.next()? {
        if line.starts_with(b"# ") {
            header(line, &mut austin, stacks.is_some());
            continue;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let is_full = austin.as_ref().is_some_and(|austin| austin.mode == "full");
        let columns = if is_full { 3 } else { 1 + usize::from(is_diff) };
        let stacks = stacks.get_or_insert_with(|| Stacks::new(context, columns));
        if !stacks.line(line, is_full) {
            bad += 1;
            first_bad = if bad == 1 { lines.number() } else { first_bad };
        }
    }
    let Some(stacks) = stacks.filter(|stacks| stacks.numbers.count > 0) else {
        return Err(lines.wrong(Reason::Missing { what: "a stack with a number" }));
    };
    if bad > 0 {
        reading.note(format!("{bad} lines have no number from 0 up behind the stack and are left out, the first is line {first_bad}"));
    }
    finish(context, stacks, austin, is_diff, reading);
    Ok(())
}

/// Takes `# key: value` of austin. Behind the first stack only the duration stands: what the
/// numbers mean does not change within a file.
fn header(line: &[u8], austin: &mut Option<Austin>, begun: bool) {
    let text = String::from_utf8_lossy(&line[2..]);
    let Some((key, value)) = text.split_once(':') else { return };
    if begun && key != "duration" {
        return;
    }
    let value = value.trim();
    if key == "austin" {
        austin.get_or_insert_default().version = super::super::names::clean(value);
    }
    let Some(austin) = austin else { return };
    let micros = value.parse::<f64>().ok().and_then(weight).map(|micros| micros / 1e6);
    match key {
        "mode" => value.clone_into(&mut austin.mode),
        "interval" => austin.interval = micros,
        "duration" => austin.duration = micros,
        _ => {}
    }
}

impl<'c> Stacks<'c> {
    fn new(context: &'c Context<'_>, columns: usize) -> Self {
        Self {
            builder: Builder::new(columns, context.limits),
            frames: Frames::new(&context.paths),
            path: Path::default(),
            last: Vec::new(),
            ends: Vec::new(),
            values: vec![0.0; columns],
            numbers: Numbers::default(),
        }
    }

    /// Adds a line; `false` when it is none.
    fn line(&mut self, line: &[u8], is_full: bool) -> bool {
        let Some(stack) = self.take_values(line, is_full) else {
            return false;
        };
        let leaf = self.leaf(stack);
        for (column, value) in self.values.iter().enumerate() {
            self.builder.add(leaf, column, *value);
        }
        true
    }

    /// Fills `values` from the end of the line; gives the stack.
    fn take_values<'l>(&mut self, line: &'l [u8], is_full: bool) -> Option<&'l [u8]> {
        if is_full {
            return self.take_full(line);
        }
        let (mut stack, last) = split_count(line)?;
        let columns = self.values.len();
        self.values[columns - 1] = weight(last)?;
        if columns == 2 {
            let first;
            (stack, first) = split_count(stack)?;
            self.values[0] = weight(first)?;
        }
        self.numbers.add(last);
        Some(stack)
    }

    /// austin's `time,idle,bytes`: time, time that was not idle, memory that was added.
    fn take_full<'l>(&mut self, line: &'l [u8]) -> Option<&'l [u8]> {
        let line = line.trim_ascii_end();
        let at = memchr::memrchr(b' ', line)?;
        let mut parts = std::str::from_utf8(&line[at + 1..]).ok()?.split(',');
        let time = weight(parts.next()?.parse().ok()?)?;
        let idle: u8 = parts.next()?.parse().ok()?;
        let bytes: f64 = parts.next()?.parse().ok()?;
        let grown = if bytes.is_finite() { weight(bytes.max(0.0))? } else { return None };
        self.values.copy_from_slice(&[time, if idle == 0 { time } else { 0.0 }, grown]);
        self.numbers.count += 1;
        Some(&line[..at])
    }

    /// The node of a stack's last frame.
    fn leaf(&mut self, stack: &[u8]) -> u32 {
        let stack = stack.strip_suffix(b";").unwrap_or(stack);
        if stack.is_empty() {
            let site = self.builder.site(Frame::special(FrameKind::Marker, "(no stack)"), 0);
            return self.builder.child(NONE, site);
        }
        // Lines are mostly sorted: what begins like the last one needs no second look.
        let common = self.last.iter().zip(stack).take_while(|(one, other)| one == other).count();
        let ends_here = stack.get(common).is_none_or(|byte| *byte == b';');
        let is_same = |end: &&usize| **end < common || (**end == common && ends_here);
        let same = self.ends.iter().take_while(is_same).count();
        self.ends.truncate(same);
        let mut at = self.ends.last().map_or(0, |end| end + 1);
        let mut leaf = self.path.node(same);
        while at <= stack.len() {
            let end = memchr::memchr(b';', &stack[at..]).map_or(stack.len(), |found| at + found);
            let depth = self.ends.len();
            let site = self.frames.site(&mut self.builder, &stack[at..end], depth);
            leaf = self.path.step(&mut self.builder, depth, site);
            self.ends.push(end);
            at = end + 1;
        }
        self.last.clear();
        self.last.extend_from_slice(stack);
        leaf
    }
}

fn finish(
    context: &Context<'_>,
    stacks: Stacks<'_>,
    austin: Option<Austin>,
    is_diff: bool,
    reading: &mut Reading,
) {
    let numbers = stacks.numbers;
    let (mut weights, factors) = weights(context, austin.as_ref(), &numbers, reading);
    if is_diff {
        let one = weights.remove(0);
        weights = ["before", "after"]
            .iter()
            .map(|name| Weight { name: (*name).to_owned(), ..one.clone() })
            .collect();
        reading.note("the file holds two profiles as differential stacks: `before` and `after`");
    }
    let parts = Parts { builder: stacks.builder, weights, order: Vec::new() };
    let mut profile = parts.profile(reading.kind, reading);
    if let super::super::model::Body::Tree(tree) = &mut profile.body {
        let columns =
            tree.own.iter_mut().chain(&mut profile.lines.own).chain(&mut profile.lines.total);
        for (column, values) in columns.enumerate() {
            let factor = factors[column % factors.len()];
            for value in values {
                *value *= factor;
            }
        }
    }
    if profile.weights[0].name == "samples" {
        profile.samples = super::super::build::count(profile.sum(0));
    }
    if let Some(austin) = austin {
        profile.tool = Some(format!("austin {}", austin.version).trim().to_owned());
        profile.interval = austin.interval;
        profile.duration = austin.duration;
    } else if let Some(StackUnit::SamplesPerSecond(rate)) = context.options.stack_unit {
        profile.interval = weight(1.0 / rate).filter(|interval| *interval > 0.0);
        profile.samples = numbers_of(profile.sum(0) * rate);
    }
    reading.profiles.push(profile);
}

fn numbers_of(samples: f64) -> Option<u64> {
    super::super::build::count(samples.round())
}

/// The weights, and for each what one of the file's numbers is.
fn weights(
    context: &Context<'_>,
    austin: Option<&Austin>,
    numbers: &Numbers,
    reading: &mut Reading,
) -> (Vec<Weight>, Vec<f64>) {
    if let Some(unit) = context.options.stack_unit {
        let (weight, factor) = unit.weight();
        return (vec![weight], vec![factor]);
    }
    let sampled = |name, unit| Weight::new(name, unit, Measured::Sampled);
    match austin.map(|austin| austin.mode.as_str()) {
        Some("full") => (
            vec![
                sampled("time", Unit::Seconds),
                sampled("CPU time", Unit::Seconds),
                sampled("memory growth", Unit::Bytes),
            ],
            vec![1e-6, 1e-6, 1.0],
        ),
        Some("memory") => (vec![sampled("memory growth", Unit::Bytes)], vec![1.0]),
        Some(mode) => {
            let name = if mode == "cpu" { "CPU time" } else { "time" };
            (vec![sampled(name, Unit::Seconds)], vec![1e-6])
        }
        None if numbers.count > 1 && numbers.divisor >= PERIOD_MIN => {
            reading.note(format!(
                "the numbers are multiples of {}: periods of an event perhaps, no samples; what they count is not in the file",
                numbers.divisor
            ));
            (vec![sampled("weight", Unit::Count)], vec![1.0])
        }
        None => (vec![sampled("samples", Unit::Count)], vec![1.0]),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Options, read_bytes};

    #[test]
    fn what_the_numbers_mean_is_decided_by_the_first_stack() {
        let read = |text: &str| read_bytes(text.as_bytes(), &Options::default());
        let late = read(
            "# austin: 3.7.0\n# mode: wall\na;b 5\n# mode: full\na;c 5,0,7\na;d 6\n# duration: 9000000\n",
        );
        let late = late.unwrap().profiles.remove(0);
        assert_eq!((late.weights.len(), late.duration), (1, Some(9.0)));
        assert!((late.sum(0) - 11e-6).abs() < 1e-12, "the line of three numbers is none");
        let bare = read("a;b 5\n# austin: 3.7.0\n# mode: full\na;c 5,0,7\n").unwrap();
        assert_eq!(bare.profiles[0].weights[0].name, "samples");
        bare.profiles[0].check().unwrap();
    }
}
