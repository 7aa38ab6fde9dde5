//! valgrind's massif: snapshots of the heap, and at its peak who had allocated it.
//!
//! The time of a snapshot counts instructions unless massif was asked for `ms`; only then it is a
//! time. A tree begins with the allocating function and goes up to its callers: here it stands
//! the usual way round.

use super::super::super::build::{Builder, weight};
use super::super::super::error::{Fault, Reason};
use super::super::super::lines::Lines;
use super::super::super::model::{Frame, FrameKind, Measured, NONE, Weight};
use super::super::super::names;
use super::super::super::paths::Paths;
use super::super::super::reading::{Reading, series};
use super::super::super::sniff::Kind;
use super::super::assemble::Parts;
use super::{Context, Points};
use crate::model::metric::Unit;

/// Deeper nodes of a tree are left out.
const DEPTH_MAX: usize = 256;

/// A snapshot being read.
#[derive(Default)]
struct Snapshot {
    time: f64,
    heap: f64,
    extra: f64,
    stacks: f64,
}

/// A heap tree being read.
struct Heap {
    builder: Builder,
    /// The open nodes: frame, and bytes that no child has.
    open: Vec<(Frame, f64)>,
}

#[derive(Default)]
struct State {
    unit: String,
    snapshot: Snapshot,
    points: Vec<(f64, f64, f64)>,
    heap: Option<Heap>,
    /// The last tree that was a peak's, else the last detailed one.
    tree: Option<(bool, Builder)>,
    is_peak: bool,
    left_out: u64,
}

pub(super) fn read(
    context: &Context<'_>,
    lines: &mut Lines<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let mut state = State::default();
    while let Some(line) = lines.next()? {
        let text = String::from_utf8_lossy(line);
        if let Some(unit) = text.strip_prefix("time_unit: ") {
            unit.trim().clone_into(&mut state.unit);
        } else if let Some((key, value)) = text.split_once('=').filter(|(key, _)| is_key(key)) {
            state.take(key, value, context);
        } else if text.trim_start().starts_with('n') {
            state.node(&text, &context.paths);
        } else if text.starts_with('#') {
            state.close_tree();
        }
    }
    state.close_tree();
    if state.points.is_empty() {
        return Err(lines.wrong(Reason::Missing { what: "a snapshot" }));
    }
    tell(state, context, reading);
    Ok(())
}

fn is_key(key: &str) -> bool {
    key.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
}

impl State {
    fn take(&mut self, key: &str, value: &str, context: &Context<'_>) {
        let number = value.trim().parse::<f64>().ok().and_then(weight).unwrap_or(0.0);
        match key {
            "snapshot" => self.snapshot = Snapshot::default(),
            "time" => self.snapshot.time = number,
            "mem_heap_B" => self.snapshot.heap = number,
            "mem_heap_extra_B" => self.snapshot.extra = number,
            "mem_stacks_B" => self.snapshot.stacks = number,
            "heap_tree" => {
                let all = self.snapshot.heap + self.snapshot.extra + self.snapshot.stacks;
                if self.points.len() < context.limits.values {
                    self.points.push((self.snapshot.time, self.snapshot.heap, all));
                } else {
                    self.left_out += 1;
                }
                self.is_peak = value.trim() == "peak";
                let wants = matches!(value.trim(), "peak" | "detailed");
                let builder = || Builder::new(1, context.limits);
                self.heap = wants.then(|| Heap { builder: builder(), open: Vec::new() });
            }
            _ => {}
        }
    }

    /// ` n1: 240000 0x11DE44: alloc (alloc.rs:95)`: the depth is the number of spaces.
    fn node(&mut self, text: &str, paths: &Paths) {
        let Some(heap) = &mut self.heap else { return };
        let depth = text.len() - text.trim_start().len();
        let Some((_, rest)) = text.trim_start().split_once(": ") else { return };
        let (bytes, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let Some(bytes) = bytes.parse::<f64>().ok().and_then(weight) else { return };
        if depth > heap.open.len() || depth > DEPTH_MAX {
            return;
        }
        heap.close(depth);
        if let Some((_, left)) = heap.open.last_mut() {
            *left -= bytes;
        }
        heap.open.push((frame(rest, depth, paths), bytes));
    }

    fn close_tree(&mut self) {
        let Some(mut heap) = self.heap.take() else { return };
        heap.close(0);
        let known_peak = self.tree.as_ref().is_some_and(|(is_peak, _)| *is_peak);
        if !heap.builder.nodes.parent.is_empty() && (self.is_peak || !known_peak) {
            self.tree = Some((self.is_peak, heap.builder));
        }
    }
}

impl Heap {
    /// Closes all nodes from that depth on. What no child has was allocated on exactly that stack.
    fn close(&mut self, depth: usize) {
        while self.open.len() > depth {
            let own = self.open.last().map_or(0.0, |(_, left)| *left);
            if own > 0.0 {
                let mut node = NONE;
                // The root says only that something allocated.
                let from = usize::from(self.open.len() > 1);
                for (frame, _) in self.open[from..].iter().rev() {
                    let site = self.builder.site(frame.clone(), 0);
                    node = self.builder.child(node, site);
                }
                self.builder.add(node, 0, own);
            }
            self.open.pop();
        }
    }
}

fn frame(text: &str, depth: usize, paths: &Paths) -> Frame {
    if depth == 0 {
        return Frame::special(FrameKind::Marker, "(allocated)");
    }
    if text.starts_with("in ") && text.contains("below massif's threshold") {
        return Frame::special(FrameKind::Other, "(places below massif's threshold)");
    }
    let text = match text.split_once(": ") {
        Some((address, rest)) if address.starts_with("0x") => rest,
        _ => text,
    };
    let (name, place) = match text.rsplit_once(" (") {
        Some((name, place)) => (name, place.trim_end_matches(')')),
        None => (text, ""),
    };
    let file = match place.strip_prefix("in ") {
        Some(object) => object,
        None => place.rsplit_once(':').map_or(place, |(file, _)| file),
    };
    let place = paths.place(file);
    let function = names::function(name);
    Frame {
        function,
        file: place.file,
        line: 0,
        module: place.module,
        origin: place.origin,
        kind: FrameKind::Function,
    }
}

fn tell(state: State, context: &Context<'_>, reading: &mut Reading) {
    // massif sees every allocation, but it tells the peak only to 1 %.
    let highest = |best: Option<(f64, f64)>, at: &(f64, f64, f64)| match best {
        Some(best) if best.0 >= at.2 => Some(best),
        _ => Some((at.2, at.1)),
    };
    if let Some((all, heap)) = state.points.iter().fold(None, highest) {
        reading.metric("massif.peak", all, Unit::Bytes);
        reading.metric("massif.heap_at_peak", heap, Unit::Bytes);
    }
    let mut points = Points { left_out: state.left_out, ..Points::default() };
    for (time, _, all) in &state.points {
        points.push(
            if state.unit == "ms" { time / 1e3 } else { *time },
            *all,
            context.limits.values,
        );
    }
    points.tell_left_out(reading);
    let Points { t, value, .. } = points;
    let mut curve = series("massif.heap", Unit::Bytes, Vec::new(), value);
    if state.unit == "ms" {
        curve.t = t;
    } else {
        let unit = if state.unit == "B" { "bytes allocated" } else { "instructions" };
        curve.x_name = Some(unit.to_owned());
        curve.x = t.iter().map(f64::to_string).collect();
    }
    reading.series.push(curve);
    let Some((is_peak, builder)) = state.tree else { return };
    if !is_peak {
        reading.note(
            "massif tells no tree of the peak: the tree is that of the last detailed snapshot",
        );
    }
    let weights = vec![Weight::new("memory", Unit::Bytes, Measured::Exact)];
    let parts = Parts { builder, weights, order: Vec::new() };
    let mut profile = parts.profile(Kind::Massif, reading);
    profile.tool = Some("massif".to_owned());
    reading.profiles.push(profile);
}
