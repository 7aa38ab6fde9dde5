//! pyinstrument's trees: its JSON, and what its HTML page holds, from 3.x to 5.x.
//!
//! `time` is what a frame and all below spent, to the microsecond; what it spent itself is what
//! its children leave. Frames named `[self]` are such rests and go into their parent. The JSON is
//! pruned by pyinstrument: what took less than 1 % is missing and counts at the parent. Trees
//! nest as deep as the program did: nothing here recurses.

use std::collections::HashMap;

use super::super::build::{Builder, id, small, weight};
use super::super::error::{Fault, Reason};
use super::super::json::{Json, Next};
use super::super::model::{Measured, NONE, Weight};
use super::super::reading::Reading;
use super::super::sniff::Kind;
use super::Context;
use super::assemble::Parts;
use super::pyinstrument::{Facts, frame, frame_of};
use crate::model::metric::Unit;

/// Texts that stand often, each kept once.
#[derive(Default)]
struct Texts {
    list: Vec<String>,
    ids: HashMap<String, u32>,
    bytes: usize,
}

impl Texts {
    fn id(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.ids.get(text) {
            return known;
        }
        // As everywhere: what is beyond all measure is put together.
        if self.bytes > 64 << 20 && !self.list.is_empty() {
            return 0;
        }
        self.bytes += text.len() * 2 + 64;
        self.list.push(text.to_owned());
        self.ids.insert(text.to_owned(), id(self.list.len() - 1));
        id(self.list.len() - 1)
    }
}

/// A frame as it stands in the file.
#[derive(Clone, Copy)]
struct Raw {
    parent: u32,
    function: u32,
    class: u32,
    file: u32,
    line: u32,
    time: f64,
    /// From 5.0 on pages hold the same text as sessions instead of parts.
    identifier: u32,
}

pub(super) fn read(
    context: &Context<'_>,
    json: &mut Json<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let mut facts = Facts::default();
    let mut tree: Option<Vec<Raw>> = None;
    let mut texts = Texts::default();
    let mut cut = 0;
    json.object(&mut |json, key| match key {
        "session" => json.object(&mut |json, key| facts.take(json, key)),
        "root_frame" | "frame_tree" if tree.is_some() => {
            Err(json.wrong(Reason::Twice { what: "the tree" }))
        }
        "root_frame" | "frame_tree" => {
            reading.kind =
                if key == "frame_tree" { Kind::PyinstrumentTree } else { Kind::PyinstrumentJson };
            tree = Some(frames(context, json, &mut texts, &mut cut)?);
            Ok(())
        }
        _ => facts.take(json, key),
    })?;
    let Some(raw) = tree else {
        return Err(json.wrong(Reason::Missing { what: "`root_frame` or `frame_tree`" }));
    };
    let mut parts = built(context, &raw, &texts);
    parts.builder.nodes.cut += cut;
    let mut profile = parts.profile(reading.kind, reading);
    profile.tool = Some("pyinstrument".to_owned());
    facts.tell(&mut profile, reading);
    reading.profiles.push(profile);
    if reading.kind == Kind::PyinstrumentJson {
        reading.note(
            "pyinstrument prunes its JSON: frames under 1 % are missing and count at their callers",
        );
    }
    Ok(())
}

/// Reads the nested frames into a list, parents first.
fn frames(
    context: &Context<'_>,
    json: &mut Json<'_, '_>,
    texts: &mut Texts,
    cut: &mut u64,
) -> Result<Vec<Raw>, Fault> {
    let mut raw: Vec<Raw> = Vec::new();
    let empty = texts.id("");
    if json.peek()? != Next::Object {
        json.skip()?;
        return Ok(raw);
    }
    let fresh = |parent| Raw {
        parent,
        function: empty,
        class: empty,
        file: empty,
        line: 0,
        time: f64::NAN,
        identifier: empty,
    };
    json.begin_object()?;
    raw.push(fresh(NONE));
    // Each frame being read, whether its object is before its first key, and whether the array
    // of its children is open and before its first item.
    let mut open: Vec<(u32, bool, Option<bool>)> = vec![(0, true, None)];
    while let Some((node, first_key, children)) = open.last_mut() {
        let node = *node;
        if let Some(first_item) = children {
            if !json.next_item(first_item)? {
                *children = None;
            } else if json.peek()? != Next::Object || raw.len() >= context.limits.nodes {
                *cut += 1;
                json.skip()?;
            } else {
                json.begin_object()?;
                raw.push(fresh(node));
                open.push((id(raw.len() - 1), true, None));
            }
            continue;
        }
        if !json.next_key(first_key)? {
            let time = raw[node as usize].time;
            if weight(time).is_none() {
                return Err(json.wrong(Reason::BadNumber { what: "the time of a frame" }));
            }
            open.pop();
            continue;
        }
        if json.key() == "children" && json.peek()? == Next::Array {
            json.begin_array()?;
            *children = Some(true);
        } else {
            field(json, &mut raw[node as usize], texts)?;
        }
    }
    Ok(raw)
}

/// Reads what stands at the last key.
fn field(json: &mut Json<'_, '_>, at: &mut Raw, texts: &mut Texts) -> Result<(), Fault> {
    match json.key() {
        "function" => at.function = text(json, texts)?,
        "class_name" => at.class = text(json, texts)?,
        "file_path" => at.file = text(json, texts)?,
        "identifier" => at.identifier = text(json, texts)?,
        "line_no" => at.line = small(json.number_or_nan()?),
        "time" => at.time = json.number_or_nan()?,
        _ => json.skip()?,
    }
    Ok(())
}

fn text(json: &mut Json<'_, '_>, texts: &mut Texts) -> Result<u32, Fault> {
    Ok(json.text_or_none()?.map_or(0, |text| texts.id(text)))
}

/// What each frame spent itself, to the microsecond the file has. Rounding makes children seem
/// to have a little more than their parent; then they have all of it, and the rest is taken from
/// the greatest of them, so that sums are what the file says.
fn own_times(raw: &[Raw]) -> Vec<f64> {
    let mut left: Vec<f64> = raw.iter().map(|at| (at.time * 1e6).round()).collect();
    let micros = left.clone();
    let mut greatest: Vec<u32> = vec![NONE; raw.len()];
    for (node, at) in raw.iter().enumerate().filter(|(_, at)| at.parent != NONE) {
        let parent = at.parent as usize;
        left[parent] -= micros[node];
        let best = greatest[parent];
        if best == NONE || micros[node] > micros[best as usize] {
            greatest[parent] = id(node);
        }
    }
    for node in 0..raw.len() {
        if left[node] < 0.0 {
            let over = -std::mem::take(&mut left[node]);
            if greatest[node] != NONE {
                left[greatest[node] as usize] -= over;
            }
        }
    }
    left.iter().map(|micros| micros.max(0.0) / 1e6).collect()
}

fn built(context: &Context<'_>, raw: &[Raw], texts: &Texts) -> Parts {
    let mut builder = Builder::new(1, context.limits);
    let mut nodes: Vec<u32> = Vec::with_capacity(raw.len());
    let mut threads = 0;
    for (at, own) in raw.iter().zip(own_times(raw)) {
        let parent = if at.parent == NONE { NONE } else { nodes[at.parent as usize] };
        let part = |id: u32| texts.list.get(id as usize).map_or("", String::as_str);
        let is_rest = [at.function, at.identifier].iter().any(|id| part(*id) == "[self]");
        let node = if is_rest && parent != NONE {
            parent
        } else {
            let frame = if part(at.identifier).is_empty() {
                frame(
                    part(at.function),
                    part(at.class),
                    part(at.file),
                    at.line,
                    &context.paths,
                    &mut threads,
                )
            } else {
                frame_of(part(at.identifier).as_bytes(), false, &context.paths, &mut threads).0
            };
            let site = builder.site(frame, 0);
            builder.child(parent, site)
        };
        builder.add(node, 0, own);
        nodes.push(node);
    }
    let weights = vec![Weight::new("time", Unit::Seconds, Measured::Sampled)];
    Parts { builder, weights, order: Vec::new() }
}
