//! `memray stats --json`: sums over the whole run, and the places that allocated most. The file
//! names the command, which is not taken. `total_allocations` in its metadata counts what was
//! freed too; `total_num_allocations` is what memray prints.

use serde_json::Value;

use super::super::build::weight;
use super::super::error::{Fault, Reason};
use super::super::json::{Dom, Json};
use super::super::model::{Body, Frame, FrameKind, Measured, Profile, Weight};
use super::super::names;
use super::super::reading::Reading;
use super::super::sniff::Kind;
use super::Context;
use super::table::TableBuilder;
use crate::model::metric::Unit;

pub(super) fn read(
    context: &Context<'_>,
    json: &mut Json<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let file = Dom::default().value(json)?;
    let number = |value: &Value, key: &str| value.get(key).and_then(Value::as_f64).and_then(weight);
    let Some(all) = number(&file, "total_bytes_allocated") else {
        return Err(json.wrong(Reason::Missing { what: "`total_bytes_allocated`" }));
    };
    reading.exact("memray.allocated", all, Unit::Bytes);
    if let Some(count) = number(&file, "total_num_allocations") {
        reading.exact("memray.allocations", count, Unit::Count);
    }
    if let Some(peak) = file.get("metadata").and_then(|metadata| number(metadata, "peak_memory")) {
        reading.exact("memray.memory_peak", peak, Unit::Bytes);
    }
    let mut table = TableBuilder::new(1, context.limits);
    let mut told = 0.0;
    let places = file.get("top_allocations_by_size").and_then(Value::as_array);
    for place in places.into_iter().flatten() {
        let location = place.get("location").and_then(Value::as_str).unwrap_or_default();
        let size = number(place, "size").unwrap_or(0.0);
        let row = table.row(frame(context, location));
        table.add(row, 0, size, 0.0);
        told += size;
    }
    let rest = Frame::special(FrameKind::Other, "(places that memray does not list)");
    let rest = table.row(rest);
    table.add(rest, 0, (all - told).max(0.0), 0.0);
    if all > 0.0 && told / all < 0.999 {
        reading.note(format!(
            "memray lists the places of {:.1} % of what was allocated; `memray transform speedscope` has all of the memory's highest point",
            told / all * 100.0
        ));
    }
    let (frames, body) = table.finish(false, false);
    let weights = vec![Weight::new("allocated", Unit::Bytes, Measured::Exact)];
    reading.profiles.push(Profile {
        name: "allocated".to_owned(),
        tool: Some("memray".to_owned()),
        ..Profile::new(Kind::MemrayStats, weights, frames, Body::Table(body))
    });
    Ok(())
}

/// `function:file:line`; the line is the executing one and moves.
fn frame(context: &Context<'_>, location: &str) -> Frame {
    let is_line = |line: &str| !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    let rest = match location.rsplit_once(':') {
        Some((rest, line)) if is_line(line) => rest,
        _ => location,
    };
    let (function, file) = rest.split_once(':').unwrap_or((rest, ""));
    let place = context.paths.place(file);
    Frame {
        function: names::function(function),
        file: place.file,
        line: 0,
        module: place.module,
        origin: place.origin,
        kind: FrameKind::Function,
    }
}
