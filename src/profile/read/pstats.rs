//! pstats: what Python's own profilers write, and others in their way.
//!
//! A dict from `(file, line, function)` to `(primitive calls, calls, own time, total time, callers)`.
//! In `callers` the first two stand the other way round. It is a graph: which caller's caller a
//! time belongs to is not in it, so there is no tree. The total time of a function counts
//! recursion once. pyinstrument writes -1 for calls; the sampler of Python 3.15 has a mark of its
//! own, one entry a line, and plain counts of samples as callers.

use super::super::build::weight;
use super::super::error::{Fault, Reason};
use super::super::input::Input;
use super::super::model::{Body, Edge, Frame, FrameKind, Measured, Origin, Profile, Weight};
use super::super::names;
use super::super::reading::Reading;
use super::super::sniff::Kind;
use super::Context;
use super::marshal::{Reader, Value, Wrong};
use super::table::TableBuilder;
use crate::model::metric::{Better, Unit};

/// Most callers over all functions: entries of a file may refer to one dict, again and again.
const EDGES_MAX: usize = 2_000_000;

/// One entry of the dict.
struct Entry<'v> {
    key: &'v [Value],
    calls: i64,
    primitive: i64,
    own: f64,
    total: f64,
    callers: &'v [(Value, Value)],
}

/// Which program wrote it, as far as its oddities tell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    Traced,
    Pyinstrument,
    Sampler,
}

pub(super) fn read(
    context: &Context<'_>,
    input: &mut Input<'_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let bytes = input.whole(context.limits.whole)?;
    let mut reader = Reader::new(&bytes);
    let value = reader.value();
    let at = reader.position() as u64;
    let dict = match value {
        Ok(Some(Value::Dict(dict))) => dict,
        Err(Wrong::Cut) => return Err(Fault::at_byte(at, Reason::Cut { inside: "marshal data" })),
        Ok(_) => return Err(unexpected(at, "a dict of functions", "another value".to_owned())),
        Err(Wrong::Deep) => {
            return Err(unexpected(at, "a dict of functions", "deeper data".to_owned()));
        }
        Err(Wrong::Unknown(tag)) => {
            return Err(unexpected(at, "a marshal type", format!("type 0x{tag:02x}")));
        }
    };
    let is_sampled = dict.iter().any(|(key, _)| is_sampled_mark(key));
    let mut entries = Vec::new();
    for (key, value) in dict.iter().filter(|(key, _)| !is_sampled_mark(key)) {
        entries.push(entry(key, value).ok_or_else(|| {
            unexpected(at, "(file, line, function) and five values", "another entry".to_owned())
        })?);
    }
    let no_calls = !entries.is_empty() && entries.iter().all(|entry| entry.calls == -1);
    let writer = match (is_sampled, no_calls) {
        (true, _) => Writer::Sampler,
        (false, true) => Writer::Pyinstrument,
        (false, false) => Writer::Traced,
    };
    add(context, &entries, writer, reading);
    Ok(())
}

fn unexpected(at: u64, wanted: &'static str, found: String) -> Fault {
    Fault::at_byte(at, Reason::Unexpected { wanted, found })
}

fn is_sampled_mark(key: &Value) -> bool {
    matches!(key, Value::Tuple(parts) if parts.len() == 1)
}

fn entry<'v>(key: &'v Value, value: &'v Value) -> Option<Entry<'v>> {
    let (Value::Tuple(key), Value::Tuple(value)) = (key, value) else { return None };
    let [primitive, calls, own, total, callers] = &value[..] else { return None };
    let Value::Dict(callers) = callers else { return None };
    (key.len() == 3).then_some(())?;
    Some(Entry {
        key,
        calls: whole(calls)?,
        primitive: whole(primitive)?,
        own: number(own)?,
        total: number(total)?,
        callers,
    })
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Int(value) => Some(*value),
        _ => None,
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(value) => Some(*value),
        Value::Int(value) => Some(*value as f64),
        _ => None,
    }
}

/// A time; cProfile's own corrections sometimes make one a little negative.
fn time(value: f64, reading: &mut Reading) -> f64 {
    weight(value).unwrap_or_else(|| {
        reading.note("times below 0 or not finite are taken as 0");
        0.0
    })
}

fn frame_of(context: &Context<'_>, key: &[Value], with_line: bool) -> Frame {
    let text = |at: usize| match key.get(at) {
        Some(Value::Text(text)) => &**text,
        _ => "",
    };
    let line = key.get(1).and_then(whole).and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
    let place = context.paths.place(text(0));
    Frame {
        function: names::function(text(2)),
        file: place.file,
        line: if with_line { line } else { 0 },
        module: place.module,
        origin: if text(0) == "~" { Origin::Runtime } else { place.origin },
        kind: FrameKind::Function,
    }
}

fn add(context: &Context<'_>, entries: &[Entry<'_>], writer: Writer, reading: &mut Reading) {
    let with_line = writer != Writer::Sampler;
    let mut table = TableBuilder::new(1, context.limits);
    let count = |value: i64| u64::try_from(value).unwrap_or(0);
    for entry in entries {
        let row = table.row(frame_of(context, entry.key, with_line));
        let (own, total) = (time(entry.own, reading), time(entry.total, reading));
        table.add(row, 0, own, total);
        table.count(row, count(entry.calls), count(entry.primitive));
    }
    let mut edges = 0;
    for entry in entries {
        let callee = table.row(frame_of(context, entry.key, with_line));
        for (key, value) in entry.callers {
            let Value::Tuple(key) = key else { continue };
            edges += 1;
            if edges > EDGES_MAX {
                reading.note("there are more pairs of callers than are kept");
                break;
            }
            let caller = table.row(frame_of(context, key, with_line));
            table.edge(edge(caller, callee, value, writer));
        }
    }
    tell(&table, writer, reading);
    let has_calls = writer == Writer::Traced;
    let measured = if has_calls { Measured::Traced } else { Measured::Sampled };
    let (frames, body) = table.finish(has_calls, true);
    let weights = vec![Weight::new("time", Unit::Seconds, measured)];
    reading.profiles.push(Profile {
        tool: match writer {
            Writer::Traced => None,
            Writer::Pyinstrument => Some("pyinstrument".to_owned()),
            Writer::Sampler => Some("profiling.sampling".to_owned()),
        },
        ..Profile::new(Kind::Pstats, weights, frames, Body::Table(body))
    });
}

fn edge(caller: u32, callee: u32, value: &Value, writer: Writer) -> Edge {
    let mut edge = Edge { caller, callee, calls: None, own: Vec::new(), total: Vec::new() };
    let count = |value: &Value| whole(value).and_then(|value| u64::try_from(value).ok());
    match value {
        // Calls first, here.
        Value::Tuple(parts) if parts.len() == 4 => {
            if writer == Writer::Traced {
                edge.calls = count(&parts[0]);
            }
            if let (Some(own), Some(total)) = (number(&parts[2]), number(&parts[3])) {
                edge.own = vec![weight(own).unwrap_or(0.0)];
                edge.total = vec![weight(total).unwrap_or(0.0)];
            }
        }
        other => edge.calls = count(other),
    }
    edge
}

/// What `pstats` prints above its table, as metrics.
fn tell(table: &TableBuilder, writer: Writer, reading: &mut Reading) {
    let (own, calls, primitive) = table.sums();
    let label = if writer == Writer::Traced { "traced_time" } else { "sampled_time" };
    if writer == Writer::Traced {
        reading.exact(label, own, Unit::Seconds);
        for (label, value) in [("function_calls", calls), ("primitive_calls", primitive)] {
            if let Some(metric) = reading.exact(label, value as f64, Unit::Count) {
                metric.better = Better::Neither;
            }
        }
    } else {
        reading.metric(label, own, Unit::Seconds);
        reading.note("the times are sampled: calls were not counted");
    }
}
