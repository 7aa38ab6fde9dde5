//! Allocations by stack as tools write them in JSON and CSV: gprof2dot's JSON (memray and others),
//! memray's CSV, valgrind's DHAT. Stacks go from the leaf to the root.

use serde_json::Value;

use super::super::build::{Builder, small, weight};
use super::super::error::{Fault, Reason};
use super::super::input::Input;
use super::super::json::{Dom, Json};
use super::super::model::{Frame, FrameKind, Measured, NONE, Weight};
use super::super::names;
use super::super::reading::Reading;
use super::super::sniff::Kind;
use super::Context;
use super::assemble::Parts;
use crate::model::metric::Unit;
use crate::model::units::from_declared;

/// Most kinds of costs of a file.
const COSTS_MAX: usize = 8;
/// Deeper frames of a stack are left out.
const DEPTH_MAX: usize = 100_000;

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn frame(context: &Context<'_>, function: &str, file: &str) -> Frame {
    let place = context.paths.place(file);
    let function = names::function(if function.is_empty() { "[unknown]" } else { function });
    let (module, origin) = if file.is_empty() {
        super::collapsed::module_of(&function)
    } else {
        (place.module, place.origin)
    };
    Frame { function, file: place.file, line: 0, module, origin, kind: FrameKind::Function }
}

/// The node of a stack of sites; one without any has a place of its own.
fn node_of(builder: &mut Builder, sites: impl Iterator<Item = u32>) -> u32 {
    let node = sites.fold(NONE, |node, site| builder.child(node, site));
    if node != NONE {
        return node;
    }
    let site = builder.site(Frame::special(FrameKind::Marker, "(no stack)"), 0);
    builder.child(NONE, site)
}

/// `{costs: [{description, unit}], functions: [{name, module}], events: [{callchain, cost}]}`.
pub(super) fn read_gprof2dot(
    context: &Context<'_>,
    json: &mut Json<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let file = Dom::default().value(json)?;
    let costs = list(&file, "costs");
    if costs.is_empty() || costs.len() > COSTS_MAX {
        return Err(json.wrong(Reason::Missing { what: "a kind of cost (at most 8)" }));
    }
    let found: Vec<(Weight, f64)> = costs.iter().map(weight_of).collect();
    let functions = list(&file, "functions");
    let mut builder = Builder::new(costs.len(), context.limits);
    let mut sites: Vec<Option<u32>> = vec![None; functions.len()];
    for event in list(&file, "events") {
        let mut stack = Vec::new();
        for at in list(event, "callchain").iter().take(DEPTH_MAX) {
            let at = at.as_f64().map_or(u32::MAX, small);
            let (Some(known), Some(function)) =
                (sites.get_mut(at as usize), functions.get(at as usize))
            else {
                return Err(json.wrong(Reason::NoSuch { what: "function", index: u64::from(at) }));
            };
            let text = |key: &str| function.get(key).and_then(Value::as_str).unwrap_or_default();
            let site = *known.get_or_insert_with(|| {
                builder.site(frame(context, text("name"), text("module")), 0)
            });
            stack.push(site);
        }
        let node = node_of(&mut builder, stack.into_iter().rev());
        for (at, cost) in list(event, "cost").iter().take(costs.len()).enumerate() {
            let Some(cost) = cost.as_f64().and_then(weight) else {
                return Err(json.wrong(Reason::BadNumber { what: "a cost" }));
            };
            builder.add(node, at, cost * found[at].1);
        }
    }
    let weights = found.into_iter().map(|(weight, _)| weight).collect();
    let profile = Parts { builder, weights, order: Vec::new() }.profile(Kind::Gprof2dot, reading);
    reading.profiles.push(profile);
    Ok(())
}

/// Costs of memory and calls are counted; who took samples does not say so here.
fn weight_of(cost: &Value) -> (Weight, f64) {
    let text = |key: &str| cost.get(key).and_then(Value::as_str).unwrap_or_default();
    let name = names::clean(text("description")).to_lowercase();
    let (unit, factor) = from_declared(text("unit"));
    let known = matches!(unit, Unit::Seconds | Unit::Bytes);
    let is_exact = unit == Unit::Bytes || name.contains("alloc");
    let measured = if is_exact { Measured::Exact } else { Measured::Sampled };
    let name = if name.is_empty() { "cost" } else { &name };
    (
        Weight::new(name, if known { unit } else { Unit::Count }, measured),
        if known { factor } else { 1.0 },
    )
}

/// `allocator,num_allocations,size,tid,thread_name,stack_trace`; a stack is
/// `function;file;line|…`, what is alive at the highest point of memory.
pub(super) fn read_memray_csv(
    context: &Context<'_>,
    input: &mut Input<'_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let bytes = input.whole(context.limits.whole)?;
    let mut table = csv::ReaderBuilder::new().flexible(true).from_reader(&bytes[..]);
    let broken = |line: u64| Fault::at_line(line, Reason::Missing { what: "a row of the table" });
    let head = table.byte_headers().map_err(|_| broken(1))?.clone();
    let column = |name: &str| head.iter().position(|cell| cell == name.as_bytes());
    let (Some(size), Some(stack)) = (column("size"), column("stack_trace")) else {
        return Err(Fault::at_line(
            1,
            Reason::Missing { what: "the columns `size` and `stack_trace`" },
        ));
    };
    let count = column("num_allocations").or_else(|| column("n_allocations"));
    let mut builder = Builder::new(2, context.limits);
    let mut row = csv::ByteRecord::new();
    let mut rows = 0_u64;
    while table.read_byte_record(&mut row).map_err(|_| broken(rows + 2))? {
        rows += 1;
        let number = |at: usize| {
            let text = std::str::from_utf8(row.get(at)?).ok()?;
            weight(text.trim().parse().ok()?)
        };
        let Some(bytes) = number(size) else {
            return Err(Fault::at_line(rows + 1, Reason::BadNumber { what: "a size" }));
        };
        let text = String::from_utf8_lossy(row.get(stack).unwrap_or_default());
        let frames: Vec<&str> = text.split('|').filter(|frame| !frame.is_empty()).collect();
        let sites: Vec<u32> = frames
            .iter()
            .rev()
            .take(DEPTH_MAX)
            .map(|text| {
                builder.spelled(text.as_bytes(), |builder| {
                    let (frame, line) = csv_frame(context, text);
                    builder.site(frame, line)
                })
            })
            .collect();
        let node = node_of(&mut builder, sites.into_iter());
        builder.add(node, 0, bytes);
        builder.add(node, 1, count.and_then(number).unwrap_or(1.0));
    }
    if rows == 0 {
        return Err(broken(2));
    }
    let weights = vec![
        Weight::new("memory", Unit::Bytes, Measured::Exact),
        Weight::new("allocations", Unit::Count, Measured::Exact),
    ];
    let mut profile =
        Parts { builder, weights, order: Vec::new() }.profile(Kind::MemrayCsv, reading);
    profile.tool = Some("memray".to_owned());
    reading.profiles.push(profile);
    Ok(())
}

fn csv_frame(context: &Context<'_>, text: &str) -> (Frame, u32) {
    let (rest, line) = text.rsplit_once(';').unwrap_or((text, ""));
    let (function, file) = rest.split_once(';').unwrap_or((rest, ""));
    (frame(context, function, file), line.trim().parse().unwrap_or(0))
}

/// DHAT: what was allocated at each place over the whole run, in bytes and blocks.
pub(super) fn read_dhat(
    context: &Context<'_>,
    json: &mut Json<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let file = Dom::default().value(json)?;
    let table = list(&file, "ftbl");
    let mut builder = Builder::new(2, context.limits);
    let mut sites: Vec<Option<u32>> = vec![None; table.len()];
    let points = file.get("pps").and_then(Value::as_array);
    let Some(points) = points else {
        return Err(json.wrong(Reason::Missing { what: "`pps`" }));
    };
    for point in points {
        let mut stack = Vec::new();
        for at in list(point, "fs").iter().take(DEPTH_MAX) {
            let at = at.as_f64().map_or(u32::MAX, small);
            let (Some(known), Some(text)) = (sites.get_mut(at as usize), table.get(at as usize))
            else {
                return Err(json.wrong(Reason::NoSuch { what: "frame", index: u64::from(at) }));
            };
            let text = text.as_str().unwrap_or_default();
            stack.push(*known.get_or_insert_with(|| {
                let (frame, line) = dhat_frame(context, text);
                builder.site(frame, line)
            }));
        }
        let node = node_of(&mut builder, stack.into_iter().rev());
        for (at, key) in ["tb", "tbk"].into_iter().enumerate() {
            let value = point.get(key).and_then(Value::as_f64).and_then(weight).unwrap_or(0.0);
            builder.add(node, at, value);
        }
    }
    let weights = vec![
        Weight::new("allocated", Unit::Bytes, Measured::Exact),
        Weight::new("allocations", Unit::Count, Measured::Exact),
    ];
    let mut profile = Parts { builder, weights, order: Vec::new() }.profile(Kind::Dhat, reading);
    profile.tool = Some("DHAT".to_owned());
    reading.exact("dhat.allocated", profile.sum(0), Unit::Bytes);
    reading.exact("dhat.allocations", profile.sum(1), Unit::Count);
    reading.profiles.push(profile);
    Ok(())
}

/// `0x48F11FA: __fopen_internal (iofopen.c:65)` or `(in /usr/lib/libc.so.6)`.
fn dhat_frame(context: &Context<'_>, text: &str) -> (Frame, u32) {
    let text = match text.split_once(": ") {
        Some((address, rest)) if address.starts_with("0x") => rest,
        _ => text,
    };
    let (name, place) = match text.rsplit_once(" (") {
        Some((name, place)) => (name, place.trim_end_matches(')')),
        None => (text, ""),
    };
    if let Some(object) = place.strip_prefix("in ") {
        return (frame(context, name, object), 0);
    }
    let (file, line) = place.rsplit_once(':').unwrap_or((place, ""));
    (frame(context, name, file), line.parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::super::super::{Options, Reading, read_bytes};
    use super::*;

    fn reading(text: &str) -> Reading {
        let options = Options { workspaces: &["/w"], ..Options::default() };
        read_bytes(text.as_bytes(), &options).unwrap()
    }

    fn names(reading: &Reading) -> Vec<&str> {
        let profile = &reading.profiles[0];
        let tree = profile.tree().unwrap();
        tree.frame.iter().map(|at| profile.frames[*at as usize].function.as_str()).collect()
    }

    #[test]
    fn chains_go_from_the_leaf_to_the_root() {
        let reading = reading(
            r#"{"version": 0, "costs": [{"description": "Memory", "unit": "bytes"}], "events": [{"callchain": [1, 0], "cost": [10]}, {"callchain": [], "cost": [5]}],
            "functions": [{"name": "main", "module": "/w/a.py"}, {"name": "f", "module": "/w/a.py"}]}"#,
        );
        assert_eq!(names(&reading), ["main", "f", "(no stack)"]);
        assert!((reading.profiles[0].sum(0) - 15.0).abs() < 1e-9);
        assert_eq!(reading.profiles[0].weights[0].measured, Measured::Exact);
        let bad = r#"{"costs": [{"unit": "bytes"}], "events": [{"callchain": [4], "cost": [10]}], "functions": []}"#;
        assert!(read_bytes(bad.as_bytes(), &Options::default()).is_err());
    }

    #[test]
    fn memrays_table_has_lines() {
        let reading = reading(
            "allocator,num_allocations,size,tid,thread_name,stack_trace\nmalloc,3,1024,1,main,f;/w/a.py;7|main;/w/a.py;20\nmmap,1,6,1,main,\n",
        );
        assert_eq!(names(&reading), ["main", "f", "(no stack)"]);
        let profile = &reading.profiles[0];
        assert_eq!((profile.sum(0), profile.sum(1)), (1030.0, 4.0));
        assert_eq!(profile.lines.line, [20, 7]);
        let bad = "allocator,size,stack_trace\nmalloc,many,f;a.py;1\n";
        assert!(read_bytes(bad.as_bytes(), &Options::default()).is_err());
    }

    #[test]
    fn dhat_names_objects_and_lines() {
        let reading = reading(
            r#"{"dhatFileVersion": 2, "pps": [{"tb": 100, "tbk": 2, "fs": [1, 2]}], "ftbl": ["[root]", "0x12: f (a.c:9)", "0x13: main (in /usr/lib/libx.so.1)"]}"#,
        );
        assert_eq!(names(&reading), ["main", "f"]);
        assert!((reading.metrics[0].value - 100.0).abs() < 1e-9);
        assert!(reading.profiles[0].frames.iter().any(|frame| frame.module == "libx.so.1"));
    }
}
