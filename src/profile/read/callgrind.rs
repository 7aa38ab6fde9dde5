//! valgrind's callgrind and cachegrind: exact counts of events by function.
//!
//! Names are told once, `fn=(7) main`, and then by their number, one numbering each for files,
//! functions and objects. A line of costs belongs to the function before it; the line after
//! `calls=` is what the call cost with all below, and counts for the pair alone. Positions may
//! be relative (`+3`, `-1`, `*`), costs that are 0 may miss at the end. Functions may call each
//! other in circles, so this is a table, no tree.

use std::collections::HashMap;

use super::super::build::weight;
use super::super::error::{Fault, Reason};
use super::super::lines::Lines as TextLines;
use super::super::model::{Body, Edge, Frame, FrameKind, Measured, Origin, Profile, Weight};
use super::super::names;
use super::super::reading::Reading;
use super::super::sniff::Kind;
use super::Context;
use super::table::TableBuilder;
use crate::model::metric::Unit;

/// Most events of a file.
const EVENTS_MAX: usize = 32;
/// Most pairs of functions.
const EDGES_MAX: usize = 2_000_000;
/// Most columns before the costs.
const POSITIONS_MAX: usize = 4;

/// One numbering of names.
#[derive(Default)]
struct Names(HashMap<String, String>);

impl Names {
    /// `(7) main`, `(7)` or `main`.
    fn of(&mut self, text: &str) -> String {
        let text = text.trim();
        let Some((number, name)) = text.strip_prefix('(').and_then(|rest| rest.split_once(')'))
        else {
            return text.to_owned();
        };
        // `(below main)` is a name.
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.to_owned();
        }
        let name = name.trim();
        if name.is_empty() {
            return self.0.get(number).cloned().unwrap_or_default();
        }
        self.0.insert(number.to_owned(), name.to_owned());
        name.to_owned()
    }
}

/// Where the costs that follow belong.
#[derive(Clone, Default)]
struct Place {
    object: String,
    file: String,
    function: String,
}

struct State<'c> {
    context: &'c Context<'c>,
    table: TableBuilder,
    events: Vec<String>,
    positions: usize,
    objects: Names,
    files: Names,
    functions: Names,
    here: Place,
    row: Option<u32>,
    called: Place,
    /// A call whose cost stands on the next line: how often.
    call: Option<u64>,
    /// Of each row the cost of calls, but of those to itself.
    below: HashMap<u32, Vec<f64>>,
    edges: usize,
    summary: Option<Vec<f64>>,
    odd: u64,
    first_odd: u64,
    tool: Option<String>,
}

pub(super) fn read(
    context: &Context<'_>,
    lines: &mut TextLines<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let mut state: Option<State<'_>> = None;
    let mut tool = None;
    let (mut positions, mut summary) = (1, None);
    while let Some(line) = lines.next()? {
        let text = String::from_utf8_lossy(line).into_owned();
        let text = text.trim();
        if let Some(creator) = text.strip_prefix("creator: ") {
            tool = Some(names::clean(&creator.replacen("callgrind-", "callgrind ", 1)));
        } else if text.starts_with("desc: I1 cache: ") && tool.is_none() {
            tool = Some("cachegrind".to_owned());
        } else if let Some(list) = text.strip_prefix("positions: ") {
            positions = list.split_whitespace().count().clamp(1, POSITIONS_MAX);
        } else if let Some(list) = text.strip_prefix("events: ") {
            let events: Vec<String> = list.split_whitespace().map(names::clean).collect();
            match &state {
                None if events.is_empty() || events.len() > EVENTS_MAX => {
                    return Err(lines.wrong(Reason::Missing { what: "an event (at most 32)" }));
                }
                None => state = Some(State::new(context, events, positions)),
                Some(known) if known.events == events => {}
                Some(_) => return Err(lines.wrong(Reason::Twice { what: "`events`" })),
            }
        } else if let Some(sums) =
            text.strip_prefix("summary: ").or_else(|| text.strip_prefix("totals: "))
        {
            summary = Some(sums.split_whitespace().map_while(|sum| sum.parse().ok()).collect());
        } else if let Some(state) = &mut state {
            let number = lines.number();
            state.line(text, number);
        }
    }
    let Some(mut state) = state else {
        return Err(lines.wrong(Reason::Missing { what: "`events`" }));
    };
    state.summary = summary;
    state.tool = tool;
    state.finish(reading);
    Ok(())
}

impl<'c> State<'c> {
    fn new(context: &'c Context<'c>, events: Vec<String>, positions: usize) -> Self {
        Self {
            context,
            table: TableBuilder::new(events.len(), context.limits),
            events,
            positions,
            objects: Names::default(),
            files: Names::default(),
            functions: Names::default(),
            here: Place::default(),
            row: None,
            called: Place::default(),
            call: None,
            below: HashMap::new(),
            edges: 0,
            summary: None,
            odd: 0,
            first_odd: 0,
            tool: None,
        }
    }

    fn line(&mut self, text: &str, number: u64) {
        if text.is_empty() || text.starts_with('#') {
            return;
        }
        let first = text.as_bytes()[0];
        if first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'*') {
            if !self.costs(text) {
                self.odd += 1;
                self.first_odd = if self.odd == 1 { number } else { self.first_odd };
            }
            return;
        }
        let Some((key, value)) = text.split_once('=') else { return };
        match key {
            "ob" => self.here.object = self.objects.of(value),
            // `fi` and `fe` change the file within a function: the function stays where it is.
            "fl" => self.here.file = self.files.of(value),
            "fi" | "fe" => {
                self.files.of(value);
            }
            "fn" => {
                self.here.function = self.functions.of(value);
                self.row = None;
                self.called = Place::default();
            }
            "cob" => self.called.object = self.objects.of(value),
            "cfi" | "cfl" => self.called.file = self.files.of(value),
            "cfn" => self.called.function = self.functions.of(value),
            "calls" => {
                let count = value.split_whitespace().next().unwrap_or_default();
                self.call = Some(count.parse().unwrap_or(1));
            }
            // Jumps have no cost of their own.
            _ => {}
        }
    }

    /// A line of positions and costs.
    fn costs(&mut self, text: &str) -> bool {
        let values: Option<Vec<f64>> = text
            .split_whitespace()
            .skip(self.positions)
            .take(self.events.len())
            .map(|value| value.parse().ok().and_then(weight))
            .collect();
        let Some(mut values) = values else { return false };
        values.resize(self.events.len(), 0.0);
        let row = self.row();
        let Some(calls) = self.call.take() else {
            for (at, value) in values.into_iter().enumerate() {
                self.table.add(row, at, value, value);
            }
            return true;
        };
        let mut called = std::mem::take(&mut self.called);
        for (into, from) in
            [(&mut called.object, &self.here.object), (&mut called.file, &self.here.file)]
        {
            if into.is_empty() {
                into.clone_from(from);
            }
        }
        let callee = self.table.row(frame(self.context, &called));
        self.table.count(callee, calls, 0);
        if callee != row {
            let below = self.below.entry(row).or_insert_with(|| vec![0.0; self.events.len()]);
            below.iter_mut().zip(&values).for_each(|(sum, value)| *sum += value);
        }
        self.edges += 1;
        if self.edges <= EDGES_MAX {
            let (own, calls) = (Vec::new(), Some(calls));
            self.table.edge(Edge { caller: row, callee, calls, own, total: values });
        }
        true
    }

    fn row(&mut self) -> u32 {
        if let Some(row) = self.row {
            return row;
        }
        let row = self.table.row(frame(self.context, &self.here));
        self.row = Some(row);
        row
    }

    fn finish(mut self, reading: &mut Reading) {
        let has_calls = self.edges > 0;
        let sums = self.table.sums_of_all();
        for (row, below) in std::mem::take(&mut self.below) {
            for (at, value) in below.into_iter().enumerate() {
                self.table.add(row, at, 0.0, value);
            }
        }
        // In a circle of calls each counts what the others cost too: never more than all there is.
        let capped = self.table.cap_totals(&sums);
        if capped > 0 {
            reading.note(format!(
                "{capped} functions call each other in circles: their totals are upper bounds"
            ));
        }
        if self.edges > EDGES_MAX {
            reading.note("there are more pairs of callers than are kept");
        }
        if self.odd > 0 {
            reading.note(format!(
                "{} lines of costs are no numbers from 0 up and are left out, the first is line {}",
                self.odd, self.first_odd
            ));
        }
        for (at, event) in self.events.iter().enumerate() {
            let told = self.summary.as_ref().and_then(|summary| summary.get(at)).copied();
            if let Some(metric) = reading.exact(event, told.unwrap_or(sums[at]), Unit::Count) {
                "valgrind".clone_into(&mut metric.method);
            }
            if let Some(told) = told.filter(|told| (told - sums[at]).abs() > 0.5) {
                reading.note(format!(
                    "the functions have {} of the {told} {event} that the file's own sum says",
                    sums[at]
                ));
            }
        }
        let weights =
            self.events.iter().map(|event| Weight::new(event, Unit::Count, Measured::Exact));
        let weights = weights.collect();
        let (frames, mut body) = self.table.finish(has_calls, has_calls);
        body.primitive_calls.clear();
        reading.profiles.push(Profile {
            tool: self.tool,
            ..Profile::new(Kind::Callgrind, weights, frames, Body::Table(body))
        });
    }
}

fn frame(context: &Context<'_>, place: &Place) -> Frame {
    let function = names::function(&place.function);
    let file = if place.file == "???" { "" } else { place.file.as_str() };
    let source = context.paths.place(file);
    let object = context.paths.place(&place.object);
    let is_address = place.function.starts_with("0x");
    let (module, origin) = if !file.is_empty() {
        (source.module, source.origin)
    } else if !object.module.is_empty() {
        (object.module, object.origin)
    } else {
        super::collapsed::module_of(&function)
    };
    let origin = if is_address && file.is_empty() && origin == Origin::Own {
        Origin::System
    } else {
        origin
    };
    Frame { function, file: source.file, line: 0, module, origin, kind: FrameKind::Function }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Options, read_bytes};
    use super::*;

    fn reading(text: &str) -> Reading {
        let options = Options { workspaces: &["/w"], ..Options::default() };
        read_bytes(text.as_bytes(), &options).unwrap()
    }

    const HEAD: &str = "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npositions: line\nevents: Ir Dr\n";

    #[test]
    fn names_by_number_relative_places_and_costs_that_miss() {
        let reading = reading(&format!(
            "{HEAD}summary: 37 4\n\nfl=(1) /w/a.c\nfn=(1) main\n10 5 1\n+2 7\ncfn=(2) f\ncalls=3 20\n* 20 3\nfi=(2) /w/b.h\n-1 2\n\nfn=(2)\n20 15 3\njump=3 22\ncfn=(2)\ncalls=1 20\n+0 8\ncob=(1) libc.so.6\ncfi=(9) ???\ncfn=(3) 0x0000000000003410\ncalls=1 0\n21 5\n\nob=(1)\nfl=(9)\nfn=(3)\n0 8\n"
        ));
        let profile = &reading.profiles[0];
        let Body::Table(table) = &profile.body else { panic!("a tree") };
        let row = |name: &str| {
            table.frame.iter().position(|at| profile.frames[*at as usize].function == name).unwrap()
        };
        let (main, f) = (row("main"), row("f"));
        assert_eq!((table.own[0][main], table.total[0][main]), (14.0, 34.0));
        assert_eq!((table.own[0][f], table.total[0][f]), (15.0, 20.0), "its own calls count once");
        assert_eq!((table.calls[f], table.own[1][main]), (4, 1.0));
        assert_eq!((profile.sum(0), profile.sum(1)), (37.0, 4.0));
        assert_eq!(profile.tool.as_deref(), Some("callgrind 3.19.0"));
        assert!(reading.notices.is_empty(), "{:?}", reading.notices);
        assert_eq!((reading.metrics[0].name.as_str(), reading.metrics[0].value), ("Ir", 37.0));
        assert_eq!(profile.frames[main].file, "a.c");
    }

    #[test]
    fn circles_are_bounded_and_sums_that_differ_are_told() {
        let reading = reading(&format!(
            "{HEAD}summary: 100 0\nfn=a\n1 10\ncfn=b\ncalls=1 1\n1 900\nfn=b\n1 10\ncfn=a\ncalls=1 1\n1 900\nfn=(below main)\n1 nonsense\n"
        ));
        let Body::Table(table) = &reading.profiles[0].body else { panic!("a tree") };
        assert_eq!(table.total[0][..2], [20.0, 20.0]);
        assert!(reading.notices[0].contains("circles"), "{:?}", reading.notices);
        assert!(
            reading.notices.iter().any(|notice| notice.contains("line 18")),
            "{:?}",
            reading.notices
        );
        assert!(reading.notices.iter().any(|notice| notice.contains("of the 100 Ir")));
    }
}
