//! What `perf script` prints: for each sample a head, then its frames, the leaf first.
//!
//! ```text
//! python 32243  2609.446942:   10101010 cpu-clock:
//!             195474 dictresize+0x254 (/usr/lib/libpython3.11.so.1.0)
//! ```
//!
//! The number before the event is its period: nanoseconds for the clocks, else events. CPython
//! with `-X perf` names its functions `py::name:file`.

use std::collections::HashMap;

use super::super::build::{Builder, Stretches, weight};
use super::super::error::{Fault, Reason};
use super::super::lines::Lines;
use super::super::model::{Frame, FrameKind, Measured, NONE, Weight};
use super::super::names;
use super::super::reading::Reading;
use super::super::sniff::Kind;
use super::Context;
use super::assemble::Parts;
use crate::model::metric::Unit;

/// Deeper frames of a sample are left out.
const DEPTH_MAX: usize = 100_000;
/// Most different events of a file.
const EVENTS_MAX: usize = 16;

/// The samples of one event.
struct Event {
    name: String,
    builder: Builder,
    threads: HashMap<(String, u64), u32>,
    /// The order of time of each thread, in the order they were seen.
    order: Vec<(u32, Stretches)>,
    samples: u64,
    has_period: bool,
}

/// The head of a sample.
#[derive(Debug, PartialEq)]
struct Head<'l> {
    command: &'l str,
    thread: u64,
    period: Option<f64>,
    event: &'l str,
}

pub(super) fn read(
    context: &Context<'_>,
    lines: &mut Lines<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let mut events: Vec<Event> = Vec::new();
    // The sample that is being read: its event and its thread, then its frames.
    let mut open: Option<(usize, (String, u64), f64)> = None;
    let mut stack: Vec<String> = Vec::new();
    let (mut odd, mut first_odd) = (0_u64, 0);
    while let Some(line) = lines.next()? {
        let text = String::from_utf8_lossy(line);
        let trimmed = text.trim_end();
        if trimmed.is_empty() {
            close(context, &mut events, open.take(), &mut stack);
        } else if trimmed.starts_with(['\t', ' ']) && open.is_some() {
            if stack.len() < DEPTH_MAX {
                stack.push(trimmed.trim_start().to_owned());
            }
        } else if let Some(head) = head(trimmed) {
            close(context, &mut events, open.take(), &mut stack);
            if let Some(at) = event(context, &mut events, &head) {
                let thread = (names::clean(head.command), head.thread);
                open = Some((at, thread, head.period.unwrap_or(1.0)));
            }
        } else if !trimmed.starts_with('#') {
            odd += 1;
            first_odd = if odd == 1 { lines.number() } else { first_odd };
        }
    }
    close(context, &mut events, open.take(), &mut stack);
    if events.is_empty() {
        return Err(lines.wrong(Reason::Missing { what: "a sample" }));
    }
    if odd > 0 {
        reading.note(format!(
            "{odd} lines are neither samples nor frames and are left out, the first is line {first_odd}"
        ));
    }
    for event in events {
        finish(event, reading);
    }
    Ok(())
}

/// `comm pid[/tid] [cpu] time: [period] event:`; the command may hold spaces.
fn head(line: &str) -> Option<Head<'_>> {
    let mut from = 0;
    let (before, behind) = loop {
        let at = from + line.get(from..)?.find(": ")?;
        let word = line[..at].rsplit(char::is_whitespace).next()?;
        if word.contains('.') && word.parse::<f64>().is_ok() {
            break (line[..at - word.len()].trim_end(), line[at + 2..].trim());
        }
        from = at + 1;
    };
    let before = before
        .rsplit_once(" [")
        .filter(|(_, cpu)| cpu.ends_with(']'))
        .map_or(before, |(rest, _)| rest);
    let (command, id) = before.trim_end().rsplit_once(char::is_whitespace)?;
    let thread = id.rsplit('/').next()?.parse().ok()?;
    let (first, rest) = behind.split_once(char::is_whitespace).unwrap_or((behind, ""));
    let period = first.parse::<f64>().ok().and_then(weight);
    let event = if period.is_some() { rest } else { behind };
    let event = event.split_whitespace().next()?.trim_end_matches(':');
    (!event.is_empty()).then_some(Head { command: command.trim(), thread, period, event })
}

fn event(context: &Context<'_>, events: &mut Vec<Event>, head: &Head<'_>) -> Option<usize> {
    if let Some(at) = events.iter().position(|event| event.name == head.event) {
        return Some(at);
    }
    if events.len() >= EVENTS_MAX {
        return None;
    }
    events.push(Event {
        name: names::clean(head.event),
        builder: Builder::new(1, context.limits),
        threads: HashMap::new(),
        order: Vec::new(),
        samples: 0,
        has_period: head.period.is_some(),
    });
    Some(events.len() - 1)
}

fn close(
    context: &Context<'_>,
    events: &mut [Event],
    open: Option<(usize, (String, u64), f64)>,
    stack: &mut Vec<String>,
) {
    let Some((at, thread, period)) = open else {
        stack.clear();
        return;
    };
    let event = &mut events[at];
    let builder = &mut event.builder;
    let count = event.threads.len();
    let place = *event.threads.entry(thread.clone()).or_insert_with(|| {
        let site = builder.site(names::thread(&thread.0, count + 1), 0);
        let node = builder.child(NONE, site);
        event.order.push((node, Stretches::default()));
        super::super::build::id(event.order.len() - 1)
    }) as usize;
    let mut node = event.order[place].0;
    for text in stack.drain(..).rev() {
        let site =
            builder.spelled(text.as_bytes(), |builder| builder.site(frame(context, &text), 0));
        node = builder.child(node, site);
    }
    builder.add(node, 0, period);
    event.order[place].1.push(node, period);
    event.samples += 1;
}

/// `address symbol+offset (object)`, or `symbol (inlined)`.
fn frame(context: &Context<'_>, text: &str) -> Frame {
    let (symbol, object) = match text.rsplit_once(" (") {
        Some((symbol, object)) => (symbol, object.trim_end_matches(')')),
        None => (text, ""),
    };
    let is_address =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let symbol = match symbol.split_once(' ') {
        Some((address, rest)) if is_address(address) => rest,
        _ => symbol,
    };
    let symbol = symbol.rsplit_once("+0x").map_or(symbol, |(name, _)| name).trim();
    if let Some((function, file)) =
        symbol.strip_prefix("py::").and_then(|rest| rest.split_once(':'))
    {
        let place = context.paths.place(file);
        return Frame {
            function: names::function(function),
            file: place.file,
            line: 0,
            module: place.module,
            origin: place.origin,
            kind: FrameKind::Function,
        };
    }
    let function = names::function(if symbol.is_empty() { "[unknown]" } else { symbol });
    let place = context.paths.place(if object == "inlined" { "" } else { object });
    let (module, origin) = if place.module.is_empty() {
        super::collapsed::module_of(&function)
    } else {
        (place.module, place.origin)
    };
    Frame { function, file: String::new(), line: 0, module, origin, kind: FrameKind::Function }
}

fn finish(mut event: Event, reading: &mut Reading) {
    let is_clock = event.name.contains("-clock") && event.has_period;
    let (name, unit, factor) = match (is_clock, event.has_period) {
        (true, _) => ("CPU time", Unit::Seconds, 1e-9),
        (false, true) => (event.name.as_str(), Unit::Count, 1.0),
        (false, false) => ("samples", Unit::Count, 1.0),
    };
    let weights = vec![Weight::new(name, unit, Measured::Sampled)];
    event.builder.scale(factor);
    let order = event
        .order
        .into_iter()
        .map(|(thread, stretches)| {
            let mut scaled = Stretches::default();
            for (node, length) in stretches.list() {
                scaled.push(*node, length * factor);
            }
            (thread, scaled)
        })
        .collect();
    let parts = Parts { builder: event.builder, weights, order };
    let mut profile = parts.profile(Kind::PerfScript, reading);
    profile.samples = Some(event.samples);
    profile.tool = Some("perf".to_owned());
    profile.name = if is_clock { String::new() } else { event.name };
    reading.profiles.push(profile);
}

#[cfg(test)]
mod tests {
    use super::super::super::{Options, read_bytes};
    use super::*;

    #[test]
    fn heads_of_many_versions() {
        for (line, command, thread, period, event) in [
            (
                "python 32243  2609.446942:   10101010 cpu-clock: ",
                "python",
                32243,
                Some(10_101_010.0),
                "cpu-clock",
            ),
            (
                "my prog 1/22 [003] 5.000001:          1 cycles:u: ",
                "my prog",
                22,
                Some(1.0),
                "cycles:u",
            ),
            ("sim 7 12.5: cpu-clock:", "sim", 7, None, "cpu-clock"),
        ] {
            assert_eq!(
                head(line.trim_end()),
                Some(Head { command, thread, period, event }),
                "{line}"
            );
        }
        for line in ["", "python", "a b: c", "x 1.5: e", "# started on"] {
            assert_eq!(head(line), None, "{line}");
        }
    }

    #[test]
    fn stacks_are_leaf_first_and_clocks_are_time() {
        let text = "sim 7 1.0: 10000000 cpu-clock:\n\t    1f leaf+0x2 (/w/sim)\n\t    2f main+0x1 (/w/sim)\n\n\
                    sim 7 1.1: 30000000 cpu-clock:\n\t    2f main+0x9 (/w/sim)\n\t 3 py::f:/w/a.py+0x1 (/tmp/perf-7.map)\n";
        let reading =
            read_bytes(text.as_bytes(), &Options { workspaces: &["/w"], ..Options::default() })
                .unwrap();
        let profile = &reading.profiles[0];
        assert!((profile.sum(0) - 0.04).abs() < 1e-12);
        let tree = profile.tree().unwrap();
        let name = |node: usize| profile.frames[tree.frame[node] as usize].function.as_str();
        let names: Vec<_> = (0..tree.len()).map(name).collect();
        assert_eq!(names, ["main", "leaf", "f", "main"]);
        assert_eq!(profile.frames[tree.frame[2] as usize].file, "a.py");
        assert_eq!((profile.samples, profile.order.len()), (Some(2), 1));
    }

    #[test]
    fn a_file_without_samples_is_none() {
        let text = "sim 7 1.0:\n\t 1f leaf (x)\n";
        assert!(read_bytes(text.as_bytes(), &Options::default()).is_err());
    }
}
