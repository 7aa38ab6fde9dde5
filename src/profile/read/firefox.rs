//! The Firefox profiler's formats: the processed one (samply, Firefox, Python 3.15) and Gecko's
//! raw one.
//!
//! Each thread has tables of columns that refer to each other: samples to stacks, stacks to
//! frames, frames to functions, functions to texts. Newer versions have the tables once, under
//! `shared`; the raw format has rows with a schema. A sample is one look: its time is in the file
//! only as the interval that was asked for, so samples stay counts. Without symbols the names are
//! addresses, which say nothing.

mod columns;

use std::collections::HashMap;

use serde_json::Value;

use super::super::build::{Builder, Stretches, small, weight};
use super::super::error::{Fault, Reason};
use super::super::json::{Dom, Json};
use super::super::model::{Frame, FrameKind, Measured, NONE, Weight};
use super::super::names;
use super::super::reading::Reading;
use super::super::sniff::Kind;
use super::Context;
use super::assemble::Parts;
use crate::model::metric::Unit;
use columns::{Columns, Texts};

/// Most threads and processes of a file.
const THREADS_MAX: usize = 10_000;
/// Processes within processes beyond this are left out.
const DEPTH_MAX: usize = 8;
/// Deeper stacks are left out.
const STACK_MAX: usize = 100_000;

/// What samples of a thread weigh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weighed {
    Samples,
    Bytes,
    Time,
}

pub(super) fn read(
    context: &Context<'_>,
    json: &mut Json<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let file = Dom::default().value(json)?;
    let mut threads = Vec::new();
    collect(&file, file.get("shared"), 0, &mut threads);
    if threads.is_empty() {
        return Err(json.wrong(Reason::Missing { what: "`threads`" }));
    }
    let meta = file.get("meta").unwrap_or(&Value::Null);
    let weighed = threads.iter().find_map(Thread::weighed);
    let weighed = weighed.unwrap_or(Weighed::Samples);
    let mut state = State {
        context,
        builder: Builder::new(2, context.limits),
        order: Vec::new(),
        samples: 0,
        weighed,
        cpu_factor: cpu_factor(meta),
        has_cpu: false,
        unlike: 0,
    };
    for (nth, thread) in threads.iter().enumerate() {
        state
            .thread(thread, file.get("libs"), nth + 1)
            .map_err(|what| json.wrong(Reason::Missing { what }))?;
    }
    if state.samples == 0 {
        return Err(json.wrong(Reason::Missing { what: "a sample" }));
    }
    state.finish(meta, reading);
    Ok(())
}

/// A thread and the tables it refers to.
struct Thread<'v> {
    value: &'v Value,
    /// `shared` of the file, where that has the tables.
    shared: Option<&'v Value>,
}

/// The threads of a process and of those within it.
fn collect<'v>(
    process: &'v Value,
    shared: Option<&'v Value>,
    depth: usize,
    into: &mut Vec<Thread<'v>>,
) {
    let list = |key: &str| {
        process.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    };
    for value in list("threads") {
        if into.len() < THREADS_MAX {
            into.push(Thread { value, shared });
        }
    }
    for inner in list("processes").iter().filter(|_| depth < DEPTH_MAX) {
        collect(inner, inner.get("shared").or(shared), depth + 1, into);
    }
}

impl<'v> Thread<'v> {
    fn table(&self, name: &str) -> Columns<'v> {
        let table = self.value.get(name).or_else(|| self.shared?.get(name));
        Columns::of(table.unwrap_or(&Value::Null))
    }

    fn texts(&self) -> Texts<'v> {
        let places = [Some(self.value), self.shared];
        let list = places.into_iter().flatten().find_map(|place| {
            ["stringArray", "stringTable"].iter().find_map(|key| place.get(*key)?.as_array())
        });
        Texts(list.map(Vec::as_slice).unwrap_or_default())
    }

    /// What the samples weigh; `None` for a thread without samples.
    fn weighed(&self) -> Option<Weighed> {
        let samples = self.value.get("samples")?;
        if self.table("samples").length() == 0 {
            return None;
        }
        Some(match samples.get("weightType").and_then(Value::as_str) {
            Some("bytes") => Weighed::Bytes,
            Some("tracing-ms") => Weighed::Time,
            _ => Weighed::Samples,
        })
    }
}

/// What one of the CPU deltas is in seconds; `None` where it is no time.
fn cpu_factor(meta: &Value) -> Option<f64> {
    let unit = meta.get("sampleUnits")?.get("threadCPUDelta")?.as_str()?;
    match unit {
        "ns" => Some(1e-9),
        "µs" | "μs" | "us" => Some(1e-6),
        "ms" => Some(1e-3),
        _ => None,
    }
}

struct State<'c> {
    context: &'c Context<'c>,
    builder: Builder,
    order: Vec<(u32, Stretches)>,
    samples: u64,
    weighed: Weighed,
    cpu_factor: Option<f64>,
    has_cpu: bool,
    unlike: u64,
}

impl State<'_> {
    fn thread(
        &mut self,
        thread: &Thread<'_>,
        libs: Option<&Value>,
        nth: usize,
    ) -> Result<(), &'static str> {
        let Some(weighed) = thread.weighed() else { return Ok(()) };
        if weighed != self.weighed {
            self.unlike += 1;
            return Ok(());
        }
        let samples = thread.table("samples");
        let name = thread.value.get("name").and_then(Value::as_str).unwrap_or_default();
        let site = self.builder.site(names::thread(name, nth), 0);
        let root = self.builder.child(NONE, site);
        let mut stacks = Stacks::new(self.context, thread, libs, root);
        let mut stretches = Stretches::default();
        for row in 0..samples.length() {
            let node = if let Some(stack) = samples.index("stack", row) {
                stacks.node(&mut self.builder, stack)?
            } else {
                let marker = Frame::special(FrameKind::Marker, "(no stack)");
                let site = self.builder.site(marker, 0);
                self.builder.child(root, site)
            };
            let value = samples.number("weight", row).unwrap_or(1.0);
            let factor = if self.weighed == Weighed::Time { 1e-3 } else { 1.0 };
            let Some(value) = weight(value * factor) else { continue };
            self.builder.add(node, 0, value);
            stretches.push(node, value);
            self.samples += 1;
            if let Some(factor) = self.cpu_factor
                && let Some(cpu) = samples.number("threadCPUDelta", row)
                && let Some(cpu) = weight(cpu * factor)
            {
                self.builder.add(node, 1, cpu);
                self.has_cpu |= cpu > 0.0;
            }
        }
        self.order.push((root, stretches));
        Ok(())
    }

    fn finish(self, meta: &Value, reading: &mut Reading) {
        let Self { mut builder, order, samples, weighed, has_cpu, unlike, .. } = self;
        let first = match weighed {
            Weighed::Samples => Weight::new("samples", Unit::Count, Measured::Sampled),
            Weighed::Bytes => Weight::new("memory", Unit::Bytes, Measured::Sampled),
            Weighed::Time => Weight::new("time", Unit::Seconds, Measured::Traced),
        };
        let mut weights = vec![first];
        if has_cpu {
            weights.push(Weight::new("CPU time", Unit::Seconds, Measured::Sampled));
        } else {
            builder.nodes.own.truncate(1);
        }
        let mut profile = Parts { builder, weights, order }.profile(Kind::Firefox, reading);
        let text = |key: &str| meta.get(key).and_then(Value::as_str).map(names::clean);
        // `product` names the program, command and all.
        profile.tool = text("importedFrom").filter(|tool| !tool.is_empty());
        profile.samples = Some(samples);
        let interval = meta.get("interval").and_then(Value::as_f64).map(|ms| ms / 1e3);
        profile.interval = interval.and_then(weight).filter(|interval| *interval > 0.0);
        if meta.get("symbolicated").and_then(Value::as_bool) == Some(false) {
            reading.note(
                "the profile has no symbols, its names are addresses: symbolicate it first, or keep what `perf script` prints",
            );
        }
        if unlike > 0 {
            reading.note(format!("{unlike} threads weigh something else and are left out"));
        }
        reading.profiles.push(profile);
    }
}

/// The stacks of one thread: each becomes a node once.
struct Stacks<'c, 'v> {
    context: &'c Context<'c>,
    table: Columns<'v>,
    frames: Columns<'v>,
    functions: Columns<'v>,
    resources: Columns<'v>,
    texts: Texts<'v>,
    libs: &'v [Value],
    root: u32,
    nodes: HashMap<u32, u32>,
    sites: HashMap<u32, u32>,
}

impl<'c, 'v> Stacks<'c, 'v> {
    fn new(
        context: &'c Context<'c>,
        thread: &Thread<'v>,
        libs: Option<&'v Value>,
        root: u32,
    ) -> Self {
        Self {
            context,
            table: thread.table("stackTable"),
            frames: thread.table("frameTable"),
            functions: thread.table("funcTable"),
            resources: thread.table("resourceTable"),
            texts: thread.texts(),
            libs: libs.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default(),
            root,
            nodes: HashMap::new(),
            sites: HashMap::new(),
        }
    }

    /// The node of a stack. Prefixes may stand anywhere, in circles too.
    fn node(&mut self, builder: &mut Builder, stack: u32) -> Result<u32, &'static str> {
        let mut path = Vec::new();
        let mut at = Some(stack);
        let mut node = self.root;
        while let Some(stack) = at {
            if let Some(known) = self.nodes.get(&stack) {
                node = *known;
                break;
            }
            if stack as usize >= self.table.length() || path.len() > STACK_MAX {
                return Err("a stack that a sample refers to");
            }
            path.push(stack);
            at = self.table.index("prefix", stack as usize);
        }
        for stack in path.into_iter().rev() {
            let Some(frame) = self.table.index("frame", stack as usize) else {
                return Err("the frame of a stack");
            };
            let site = self.site(builder, frame)?;
            node = builder.child(node, site);
            self.nodes.insert(stack, node);
        }
        Ok(node)
    }

    fn site(&mut self, builder: &mut Builder, frame: u32) -> Result<u32, &'static str> {
        if let Some(known) = self.sites.get(&frame) {
            return Ok(*known);
        }
        let row = frame as usize;
        if row >= self.frames.length() {
            return Err("a frame that a stack refers to");
        }
        let line = self.frames.number("line", row).map_or(0, small);
        let made = match (self.frames.index("func", row), self.frames.index("location", row)) {
            (Some(function), _) => self.function(function as usize),
            // The raw format has one text for all: `name (file:line)`.
            (None, Some(location)) => self.location(self.texts.get(location)),
            (None, None) => Frame::special(FrameKind::Marker, "[unknown]"),
        };
        let site = builder.site(made, line);
        self.sites.insert(frame, site);
        Ok(site)
    }

    fn function(&self, row: usize) -> Frame {
        let text =
            |column: &str| self.functions.index(column, row).map_or("", |at| self.texts.get(at));
        let function = names::function(text("name"));
        let place = self.context.paths.place(text("fileName"));
        let library = self.library(row).map(|path| self.context.paths.place(path));
        let (module, origin) = match library {
            _ if !place.file.is_empty() => (place.module, place.origin),
            Some(object) if !object.module.is_empty() => (object.module, object.origin),
            _ => super::collapsed::module_of(&function),
        };
        let line = self.functions.number("lineNumber", row).map_or(0, small);
        Frame { function, file: place.file, line, module, origin, kind: FrameKind::Function }
    }

    fn library(&self, function: usize) -> Option<&'v str> {
        let resource = self.functions.index("resource", function)?;
        let lib = self.resources.index("lib", resource as usize)?;
        self.libs.get(lib as usize)?.get("path")?.as_str()
    }

    fn location(&self, text: &str) -> Frame {
        let inner = text.strip_suffix(')').and_then(|inner| inner.rsplit_once(" ("));
        let (name, file) = inner.unwrap_or((text, ""));
        let file = file.rsplit_once(':').map_or(file, |(file, _)| file);
        let file =
            file.rsplit_once(':').filter(|(_, line)| line.bytes().all(|b| b.is_ascii_digit()));
        let file = file.map_or_else(|| inner.map_or("", |(_, file)| file), |(file, _)| file);
        let function = names::function(name);
        let place = self.context.paths.place(file);
        let (module, origin) = if file.is_empty() {
            super::collapsed::module_of(&function)
        } else {
            (place.module, place.origin)
        };
        Frame { function, file: place.file, line: 0, module, origin, kind: FrameKind::Function }
    }
}

#[cfg(test)]
mod tests;
