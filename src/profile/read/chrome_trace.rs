//! Chrome's trace events, as py-spy and others write them: calls that begin (`B`) and end (`E`)
//! or have a duration (`X`), by process and thread, in microseconds.
//!
//! Events of a thread are taken in the order of time. A call that never ends lasts until its
//! thread's last event; an end without a begin is left out.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::build::{Builder, Stretches, weight};
use super::super::error::{Fault, Reason};
use super::super::json::{Dom, Json, Next};
use super::super::model::{Frame, FrameKind, Measured, NONE, Weight};
use super::super::names;
use super::super::reading::Reading;
use super::super::sniff::Kind;
use super::Context;
use super::assemble::Parts;
use crate::model::metric::Unit;

/// Most events of a file.
const EVENTS_MAX: usize = 5_000_000;

/// What happens at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Begin(u32),
    End,
    /// A call with its length.
    Whole(u32, f64),
}

#[derive(Default)]
struct Thread {
    events: Vec<(f64, What)>,
    name: String,
}

pub(super) fn read(
    context: &Context<'_>,
    json: &mut Json<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let mut state = State {
        context,
        builder: Builder::new(1, context.limits),
        threads: BTreeMap::new(),
        events: 0,
        by_pyspy: false,
    };
    if json.peek()? == Next::Array {
        json.array(&mut |json| state.event(json))?;
    } else {
        json.object(&mut |json, key| match key {
            "traceEvents" => json.array(&mut |json| state.event(json)),
            _ => json.skip(),
        })?;
    }
    if state.events == 0 {
        return Err(json.wrong(Reason::Missing { what: "a call" }));
    }
    state.finish(reading);
    Ok(())
}

struct State<'c> {
    context: &'c Context<'c>,
    builder: Builder,
    threads: BTreeMap<(u64, u64), Thread>,
    events: usize,
    by_pyspy: bool,
}

impl State<'_> {
    fn event(&mut self, json: &mut Json<'_, '_>) -> Result<(), Fault> {
        let event = Dom::default().value(json)?;
        let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        let number = |key: &str| event.get(key).and_then(Value::as_f64);
        let key = |key: &str| number(key).unwrap_or(0.0).to_bits();
        let place = (key("pid"), key("tid"));
        if text("ph") == "M" && text("name") == "thread_name" {
            let name = event.get("args").and_then(|args| args.get("name")).and_then(Value::as_str);
            let thread = self.threads.entry(place).or_default();
            thread.name = names::clean(name.unwrap_or_default());
            return Ok(());
        }
        let what = match text("ph") {
            "B" => What::Begin(self.called(&event)),
            "E" => What::End,
            "X" => {
                let Some(length) = number("dur").and_then(weight) else { return Ok(()) };
                What::Whole(self.called(&event), length)
            }
            _ => return Ok(()),
        };
        let Some(at) = number("ts").filter(|at| at.is_finite() && at.abs() < 1e17) else {
            return Err(json.wrong(Reason::BadNumber { what: "the time of an event" }));
        };
        self.events += 1;
        if self.events > EVENTS_MAX {
            let limit = EVENTS_MAX as u64;
            return Err(json.wrong(Reason::TooLarge { what: "the number of events", limit }));
        }
        self.by_pyspy |= text("cat") == "py-spy";
        self.threads.entry(place).or_default().events.push((at, what));
        Ok(())
    }

    /// The site of the function that an event names.
    fn called(&mut self, event: &Value) -> u32 {
        let name = event.get("name").and_then(Value::as_str).unwrap_or_default();
        let args = event.get("args");
        let file = args.and_then(|args| args.get("filename")).and_then(Value::as_str);
        let line = args.and_then(|args| args.get("line")).and_then(Value::as_f64);
        let place = self.context.paths.place(file.unwrap_or_default());
        let function = names::function(if name.is_empty() { "[unknown]" } else { name });
        let (module, origin) = if file.is_none() {
            super::collapsed::module_of(&function)
        } else {
            (place.module, place.origin)
        };
        let frame = Frame {
            function,
            file: place.file,
            line: 0,
            module,
            origin,
            kind: FrameKind::Function,
        };
        let line = line.map_or(0, super::super::build::small);
        self.builder.site(frame, line)
    }

    fn finish(mut self, reading: &mut Reading) {
        let mut order = Vec::new();
        let (mut unended, mut unbegun) = (0_u64, 0_u64);
        let threads = std::mem::take(&mut self.threads);
        let with_calls = threads.into_values().filter(|thread| !thread.events.is_empty());
        for (nth, mut thread) in with_calls.enumerate() {
            let site = self.builder.site(names::thread(&thread.name, nth + 1), 0);
            let root = self.builder.child(NONE, site);
            thread.events.sort_by(in_order);
            let mut walk =
                Walk { root, open: Vec::new(), last: f64::NAN, stretches: Stretches::default() };
            for (at, what) in thread.events {
                walk.event(&mut self.builder, at, what, &mut unbegun);
            }
            unended += walk.close(&mut self.builder);
            order.push((root, walk.stretches));
        }
        for (count, what) in [(unended, "never end"), (unbegun, "end without a begin")] {
            if count > 0 {
                reading.note(format!("{count} calls {what}"));
            }
        }
        let measured = if self.by_pyspy { Measured::Sampled } else { Measured::Traced };
        let weights = vec![Weight::new("time", Unit::Seconds, measured)];
        let mut profile =
            Parts { builder: self.builder, weights, order }.profile(Kind::ChromeTrace, reading);
        profile.tool = self.by_pyspy.then(|| "py-spy".to_owned());
        reading.profiles.push(profile);
    }
}

/// By time; of two calls that begin at once the longer one is the caller.
fn in_order(one: &(f64, What), other: &(f64, What)) -> std::cmp::Ordering {
    one.0.total_cmp(&other.0).then_with(|| match (one.1, other.1) {
        (What::Whole(_, one), What::Whole(_, other)) => other.total_cmp(&one),
        _ => std::cmp::Ordering::Equal,
    })
}

/// The open calls of a thread, each with its end where that is known.
struct Walk {
    root: u32,
    open: Vec<(u32, f64)>,
    last: f64,
    stretches: Stretches,
}

impl Walk {
    /// Time that passed belongs to the innermost open call.
    fn pass(&mut self, builder: &mut Builder, until: f64) {
        while let Some((node, end)) = self.open.last().copied() {
            let stop = end.min(until);
            let passed = weight((stop - self.last) / 1e6).unwrap_or(0.0);
            builder.add(node, 0, passed);
            self.stretches.push(node, passed);
            self.last = self.last.max(stop);
            if end > until {
                break;
            }
            self.open.pop();
        }
        self.last = until;
    }

    fn event(&mut self, builder: &mut Builder, at: f64, what: What, unbegun: &mut u64) {
        if self.last.is_nan() {
            self.last = at;
        }
        self.pass(builder, at);
        let parent = self.open.last().map_or(self.root, |(node, _)| *node);
        match what {
            What::Begin(site) => {
                self.open.push((builder.child(parent, site), f64::INFINITY));
            }
            What::Whole(site, length) => {
                self.open.push((builder.child(parent, site), at + length));
            }
            What::End => {
                if self.open.pop().is_none() {
                    *unbegun += 1;
                }
            }
        }
    }

    /// Lets the calls that have an end reach it; says how many have none.
    fn close(&mut self, builder: &mut Builder) -> u64 {
        let end = self.open.iter().map(|(_, end)| *end).filter(|end| end.is_finite());
        if let Some(end) = end.reduce(f64::max) {
            self.pass(builder, end);
        }
        self.open.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Options, Reading, read_bytes};
    use super::*;

    fn reading(text: &str) -> Reading {
        read_bytes(text.as_bytes(), &Options::default()).unwrap()
    }

    fn own(reading: &Reading) -> Vec<(String, f64)> {
        let profile = &reading.profiles[0];
        let tree = profile.tree().unwrap();
        let name = |node: usize| profile.frames[tree.frame[node] as usize].function.clone();
        (0..tree.len()).map(|node| (name(node), (tree.own[0][node] * 1e6).round())).collect()
    }

    #[test]
    fn calls_that_begin_and_end() {
        let reading = reading(
            r#"[{"ph": "B", "ts": 10, "pid": 1, "tid": 1, "name": "main", "cat": "py-spy", "args": {"filename": "a.py", "line": 3}},
            {"ph": "B", "ts": 20, "pid": 1, "tid": 1, "name": "f"}, {"ph": "E", "ts": 50, "pid": 1, "tid": 1}, {"ph": "E", "ts": 60, "pid": 1, "tid": 1}, {"ph": "E", "ts": 70, "pid": 1, "tid": 1}]"#,
        );
        assert_eq!(own(&reading), [("main".to_owned(), 20.0), ("f".to_owned(), 30.0)]);
        assert_eq!(reading.notices, ["1 calls end without a begin"]);
        assert_eq!(reading.profiles[0].weights[0].measured, Measured::Sampled);
    }

    #[test]
    fn calls_with_a_duration_in_any_order() {
        let reading = reading(
            r#"{"traceEvents": [{"ph": "X", "ts": 20, "dur": 30, "pid": 1, "tid": 1, "name": "f"}, {"ph": "X", "ts": 10, "dur": 100, "pid": 1, "tid": 1, "name": "main"}]}"#,
        );
        assert_eq!(own(&reading), [("main".to_owned(), 70.0), ("f".to_owned(), 30.0)]);
        assert_eq!(reading.profiles[0].weights[0].measured, Measured::Traced);
    }
}
