//! V8's profiles: `.cpuprofile` (samples with the time between them) and `.heapprofile` (bytes
//! that are alive, by stack).
//!
//! Lines of calls are counted from 0. An empty name is an anonymous function; names in brackets
//! without a file are V8's own marks.

pub(super) mod cpu;
pub(super) mod heap;
mod ticks;

use super::super::build::{Builder, small};
use super::super::error::Fault;
use super::super::json::Json;
use super::super::model::{Frame, FrameKind, Origin};
use super::super::names;
use super::Context;

/// What a node of the file says.
#[derive(Clone, Debug, Default)]
struct Call {
    function: String,
    url: String,
    line: f64,
    /// Whether V8 itself is the script.
    is_built_in: bool,
}

fn call_frame(json: &mut Json<'_, '_>) -> Result<Call, Fault> {
    let mut call = Call { line: f64::NAN, ..Call::default() };
    json.object(&mut |json, key| {
        match key {
            "functionName" => {
                call.function = json.text_or_none()?.map(names::clean).unwrap_or_default();
            }
            "url" => json.text_or_none()?.unwrap_or_default().clone_into(&mut call.url),
            "lineNumber" => call.line = json.number_or_nan()?,
            "scriptId" => call.is_built_in = matches!(json.text_or_none()?, Some("0" | "")),
            _ => json.skip()?,
        }
        Ok(())
    })?;
    Ok(call)
}

fn frame(context: &Context<'_>, call: &Call) -> Frame {
    let name = call.function.as_str();
    if call.url.is_empty() && name.starts_with('(') && name.ends_with(')') {
        return Frame::special(FrameKind::Marker, name);
    }
    let place = context.paths.place(&call.url);
    let function = names::function(if name.is_empty() { "(anonymous)" } else { name });
    // A script without an address may be anybody's.
    let (module, origin) = if call.url.is_empty() && !call.is_built_in {
        (String::new(), Origin::Own)
    } else if call.url.is_empty() {
        ("built-in".to_owned(), Origin::Runtime)
    } else {
        (place.module, place.origin)
    };
    let line = if call.line >= 0.0 { small(call.line + 1.0) } else { 0 };
    Frame { function, file: place.file, line, module, origin, kind: FrameKind::Function }
}

/// Whether a node is V8's root, which says nothing.
fn is_root(frames: &Builder, site: u32) -> bool {
    frames
        .frame_at(site)
        .is_some_and(|frame| frame.kind == FrameKind::Marker && frame.function == "(root)")
}
