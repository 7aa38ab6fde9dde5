//! Scalene's JSON, 1.5 and 2.x.
//!
//! Its percentages are shares of the samples that fell into the files it reports, not of CPU time
//! nor of elapsed time: they stay shares. `sys` is all that was not CPU time in user mode, waiting
//! too. A function's row is the sum of its own lines, not of what it calls. Its MB are MiB.

use std::collections::HashMap;

use serde_json::Value;

use super::super::build::{Builder, count, small, weight};
use super::super::error::{Fault, Reason};
use super::super::json::{Dom, Json};
use super::super::model::{Body, Frame, FrameKind, Lines, Measured, NONE, Origin, Profile, Weight};
use super::super::names;
use super::super::paths::Paths;
use super::super::reading::{Reading, series};
use super::super::sniff::Kind;
use super::Context;
use super::assemble::Parts;
use super::table::TableBuilder;
use crate::model::metric::Unit;

const MIB: f64 = 1_048_576.0;
/// Longest source line that is kept, in characters.
const SOURCE_MAX: usize = 160;

/// The columns of a row: the keys that are summed, and what one of their numbers is.
const COLUMNS: &[(&str, Unit, &[&str], f64)] = &[
    (
        "share of samples",
        Unit::Ratio,
        &["n_cpu_percent_python", "n_cpu_percent_c", "n_sys_percent"],
        0.01,
    ),
    ("share, Python", Unit::Ratio, &["n_cpu_percent_python"], 0.01),
    ("share, native", Unit::Ratio, &["n_cpu_percent_c"], 0.01),
    ("share, system and waiting", Unit::Ratio, &["n_sys_percent"], 0.01),
    ("memory allocated", Unit::Bytes, &["n_malloc_mb"], MIB),
];

pub(super) fn read(
    context: &Context<'_>,
    json: &mut Json<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let file = Dom::default().value(json)?;
    let Some(files) = file.get("files").and_then(Value::as_object) else {
        return Err(json.wrong(Reason::Missing { what: "`files`" }));
    };
    // Relative paths are what two runs have in common.
    let entry = file.get("entrypoint_dir").and_then(Value::as_str).unwrap_or_default();
    let known = context.options.workspaces.iter().copied();
    let paths = Paths::new(known.chain([entry]));
    let mut table = TableBuilder::new(COLUMNS.len(), context.limits);
    let mut lines = Lines { own: vec![Vec::new(); COLUMNS.len()], ..Lines::default() };
    for (path, content) in files {
        rows(path, content, &paths, &mut table, &mut lines);
    }
    let elapsed = file.get("elapsed_time_sec").and_then(Value::as_f64).and_then(weight);
    let (frames, body) = table.finish(false, false);
    let weights =
        COLUMNS.iter().map(|(name, unit, ..)| Weight::new(name, unit.clone(), Measured::Sampled));
    reading.profiles.push(Profile {
        tool: Some("Scalene".to_owned()),
        lines,
        duration: elapsed,
        ..Profile::new(Kind::Scalene, weights.collect(), frames, Body::Table(body))
    });
    stacks(context, &paths, &file, elapsed, reading);
    numbers(&file, elapsed, reading);
    if files.is_empty() {
        reading.note("Scalene reports no file: the program ran too short for it");
    }
    Ok(())
}

fn columns(row: &Value) -> Vec<f64> {
    let value = |key: &&str| row.get(*key).and_then(Value::as_f64).and_then(weight).unwrap_or(0.0);
    COLUMNS
        .iter()
        .map(|(_, _, keys, factor)| keys.iter().map(value).sum::<f64>() * factor)
        .collect()
}

fn number(row: &Value, key: &str) -> u32 {
    row.get(key).and_then(Value::as_f64).map_or(0, small)
}

/// Adds the functions and lines of a file.
fn rows(path: &str, content: &Value, paths: &Paths, table: &mut TableBuilder, lines: &mut Lines) {
    let place = paths.place(path);
    let list = |key: &str| {
        content.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    };
    let frame = |function: &str, line| Frame {
        function: names::function(function),
        file: place.file.clone(),
        line,
        module: place.module.clone(),
        origin: place.origin,
        kind: FrameKind::Function,
    };
    let mut left = vec![0.0; COLUMNS.len()];
    let mut functions: HashMap<u32, u32> = HashMap::new();
    for row in list("functions") {
        let line = number(row, "lineno");
        let name = row.get("line").and_then(Value::as_str).unwrap_or_default();
        let at = table.row(frame(name, line));
        functions.insert(line, at);
        for (column, value) in columns(row).into_iter().enumerate() {
            table.add(at, column, value, 0.0);
            left[column] -= value;
        }
    }
    // What lies in no function that is reported.
    let rest = table.row(frame("<module>", 0));
    for row in list("lines") {
        let values = columns(row);
        left.iter_mut().zip(&values).for_each(|(left, value)| *left += value);
        if values.iter().all(|value| *value == 0.0) {
            continue;
        }
        let start = number(row, "start_function_line").max(number(row, "start_region_line"));
        lines.frame.push(functions.get(&start).copied().unwrap_or(rest));
        lines.line.push(number(row, "lineno"));
        let text = row.get("line").and_then(Value::as_str).unwrap_or_default();
        lines.text.push(source(text));
        lines.own.iter_mut().zip(values).for_each(|(own, value)| own.push(value));
    }
    for (column, value) in left.into_iter().enumerate() {
        // Differences below this are rounding of sums in another order.
        table.add(rest, column, if value > 1e-9 { value } else { 0.0 }, 0.0);
    }
}

fn source(text: &str) -> String {
    let line: String = text.trim_end().chars().take(SOURCE_MAX).collect();
    line.chars().map(|c| if names::is_hostile(c) && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// Adds the stacks as a tree: counts of samples.
fn stacks(
    context: &Context<'_>,
    paths: &Paths,
    file: &Value,
    elapsed: Option<f64>,
    reading: &mut Reading,
) {
    let Some(stacks) = file.get("stacks").and_then(Value::as_array).filter(|list| !list.is_empty())
    else {
        return;
    };
    let mut builder = Builder::new(1, context.limits);
    for stack in stacks {
        let (Some(frames), Some(hits)) = (stack.get(0).and_then(Value::as_array), stack.get(1))
        else {
            continue;
        };
        let hits = hits.get("count").and_then(Value::as_f64).and_then(weight).unwrap_or(0.0);
        let mut node = NONE;
        for text in frames.iter().filter_map(Value::as_str) {
            let (frame, line) = frame_of(text, paths);
            let site = builder.site(frame, line);
            node = builder.child(node, site);
        }
        if node != NONE {
            builder.add(node, 0, hits);
        }
    }
    let weights = vec![Weight::new("samples", Unit::Count, Measured::Sampled)];
    let mut profile = Parts { builder, weights, order: Vec::new() }.profile(Kind::Scalene, reading);
    "stacks".clone_into(&mut profile.name);
    profile.tool = Some("Scalene".to_owned());
    profile.samples = count(profile.sum(0));
    profile.duration = elapsed;
    reading.profiles.push(profile);
}

/// `/path/sim.py function:12;`
fn frame_of(text: &str, paths: &Paths) -> (Frame, u32) {
    let text = text.trim_end_matches(';');
    let (rest, line) = text.rsplit_once(':').unwrap_or((text, ""));
    let (path, function) = rest.rsplit_once(' ').unwrap_or(("", rest));
    let place = paths.place(path);
    let frame = Frame {
        function: names::function(function),
        file: place.file,
        line: 0,
        module: place.module,
        origin: if path.is_empty() { Origin::None } else { place.origin },
        kind: FrameKind::Function,
    };
    (frame, line.parse().unwrap_or(0))
}

/// The numbers of the whole run, and the memory over time.
fn numbers(file: &Value, elapsed: Option<f64>, reading: &mut Reading) {
    let get = |key: &str| file.get(key).and_then(Value::as_f64).and_then(weight);
    if let Some(elapsed) = elapsed {
        reading.metric("elapsed_time", elapsed, Unit::Seconds);
    }
    if let Some(footprint) = get("max_footprint_mb") {
        reading.metric("max_footprint", footprint * MIB, Unit::Bytes);
    }
    let samples =
        file.get("samples").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let at =
        |sample: &Value, place: usize| sample.get(place).and_then(Value::as_f64).and_then(weight);
    let points =
        samples.iter().filter_map(|sample| Some((at(sample, 0)? / 1e9, at(sample, 1)? * MIB)));
    let (t, value): (Vec<_>, Vec<_>) = points.unzip();
    if !t.is_empty() {
        reading.series.push(series("footprint", Unit::Bytes, t, value));
    }
}
