//! speedscope's own file: a table of frames, and profiles that refer to it.
//!
//! A profile is `sampled` (stacks from the root, one weight each) or `evented` (calls that open
//! and close). Its keys, and the table, may stand in any order: nodes are built with bare
//! numbers, which get their meaning at the end.

use std::collections::HashMap;

use super::super::build::{Builder, Nodes, Stretches, small, weight};
use super::super::error::{Fault, Reason};
use super::super::json::Json;
use super::super::model::{Frame, FrameKind, Measured, NONE, Weight};
use super::super::names;
use super::super::reading::Reading;
use super::super::sniff::Kind;
use super::Context;
use super::assemble::Parts;
use crate::model::metric::Unit;
use crate::model::units::from_declared;

/// Most samples of one profile: each needs a few bytes until its weight is known.
const SAMPLES_MAX: usize = 50_000_000;
/// Most profiles (threads) of a file.
const PROFILES_MAX: usize = 10_000;

/// A frame as it stands in the file.
struct RawFrame {
    name: String,
    file: String,
    line: u32,
}

/// A profile whose nodes have numbers of frames as keys.
struct RawProfile {
    name: String,
    unit: String,
    is_evented: bool,
    nodes: Nodes,
    order: Stretches,
    samples: u64,
}

pub(super) fn read(
    context: &Context<'_>,
    json: &mut Json<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let mut exporter = String::new();
    let mut frames: Option<Vec<RawFrame>> = None;
    let mut profiles: Option<Vec<RawProfile>> = None;
    json.object(&mut |json, key| match key {
        "exporter" => {
            exporter = json.text_or_none()?.map(names::clean).unwrap_or_default();
            Ok(())
        }
        "shared" if frames.is_some() => Err(json.wrong(Reason::Twice { what: "`shared`" })),
        "shared" => {
            frames = Some(table(context, json)?);
            Ok(())
        }
        "profiles" if profiles.is_some() => Err(json.wrong(Reason::Twice { what: "`profiles`" })),
        "profiles" => {
            let mut list = Vec::new();
            json.array(&mut |json| {
                if list.len() >= PROFILES_MAX {
                    let limit = PROFILES_MAX as u64;
                    return Err(
                        json.wrong(Reason::TooLarge { what: "the number of profiles", limit })
                    );
                }
                list.push(profile(context, json)?);
                Ok(())
            })?;
            profiles = Some(list);
            Ok(())
        }
        _ => json.skip(),
    })?;
    let missing = |what| json.wrong(Reason::Missing { what });
    let frames = frames.ok_or_else(|| missing("`shared.frames`"))?;
    let profiles = profiles.ok_or_else(|| missing("`profiles`"))?;
    for group in groups(profiles) {
        let found = join(context, &frames, group, &exporter, reading);
        found.map_err(|frame| {
            json.wrong(Reason::NoSuch { what: "frame", index: u64::from(frame) })
        })?;
    }
    Ok(())
}

fn table(context: &Context<'_>, json: &mut Json<'_, '_>) -> Result<Vec<RawFrame>, Fault> {
    let mut frames = Vec::new();
    let mut bytes = 0;
    json.object(&mut |json, key| {
        if key != "frames" {
            return json.skip();
        }
        json.array(&mut |json| {
            let mut frame = RawFrame { name: String::new(), file: String::new(), line: 0 };
            json.object(&mut |json, key| {
                match key {
                    "name" => {
                        frame.name = json.text_or_none()?.map(names::clean).unwrap_or_default();
                    }
                    "file" => json.text_or_none()?.unwrap_or_default().clone_into(&mut frame.file),
                    "line" => frame.line = small(json.number_or_nan()?),
                    _ => json.skip()?,
                }
                Ok(())
            })?;
            bytes += frame.name.len() + frame.file.len() + 64;
            if bytes as u64 > context.limits.whole {
                let limit = context.limits.whole;
                return Err(json.wrong(Reason::TooLarge { what: "the table of frames", limit }));
            }
            frames.push(frame);
            Ok(())
        })
    })?;
    Ok(frames)
}

fn profile(context: &Context<'_>, json: &mut Json<'_, '_>) -> Result<RawProfile, Fault> {
    let mut raw = RawProfile {
        name: String::new(),
        unit: String::new(),
        is_evented: false,
        nodes: Nodes::new(1, context.limits.nodes),
        order: Stretches::default(),
        samples: 0,
    };
    let mut leaves: Option<Vec<u32>> = None;
    let mut weights: Option<Vec<f64>> = None;
    json.object(&mut |json, key| {
        match key {
            "name" => raw.name = json.text_or_none()?.map(names::clean).unwrap_or_default(),
            "unit" => raw.unit = json.text_or_none()?.map(names::clean).unwrap_or_default(),
            "samples" if leaves.is_some() => {
                return Err(json.wrong(Reason::Twice { what: "`samples`" }));
            }
            "samples" => leaves = Some(stacks(json, &mut raw.nodes)?),
            "weights" if weights.is_some() => {
                return Err(json.wrong(Reason::Twice { what: "`weights`" }));
            }
            "weights" => weights = Some(values(json)?),
            "events" if raw.is_evented => {
                return Err(json.wrong(Reason::Twice { what: "`events`" }));
            }
            "events" => events(json, &mut raw)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    if let Some(leaves) = leaves {
        let weights = weights.unwrap_or_else(|| vec![1.0; leaves.len()]);
        if weights.len() != leaves.len() {
            return Err(json.wrong(Reason::Missing { what: "a weight for every sample" }));
        }
        for (&leaf, &value) in leaves.iter().zip(&weights) {
            raw.nodes.add(leaf, 0, value);
            raw.order.push(leaf, value);
        }
        raw.samples = leaves.len() as u64;
    }
    Ok(raw)
}

/// Longer stacks are not remembered, as they stand in the file.
const KNOWN_MAX: usize = 4 << 10;
/// Bytes of stacks that are remembered.
const KNOWN_BYTES_MAX: usize = 16 << 20;

/// Stacks as they stand in the file: most samples have one that was there before.
#[derive(Default)]
struct KnownStacks {
    leaves: HashMap<Box<[u8]>, u32>,
    bytes: usize,
    asked: u64,
    found: u64,
}

impl KnownStacks {
    /// The leaf of a stack that was there before. Where next to none is, it is not worth asking.
    fn leaf(&mut self, text: &[u8]) -> Option<u32> {
        if self.asked > 10_000 && self.found * 10 < self.asked {
            return None;
        }
        self.asked += 1;
        let leaf = self.leaves.get(text).copied();
        self.found += u64::from(leaf.is_some());
        leaf
    }

    fn remember(&mut self, text: Option<Box<[u8]>>, leaf: u32) {
        if let Some(text) = text
            && self.bytes < KNOWN_BYTES_MAX
        {
            self.bytes += text.len() + 64;
            self.leaves.insert(text, leaf);
        }
    }
}

/// Reads stacks; gives the leaf of each.
fn stacks(json: &mut Json<'_, '_>, nodes: &mut Nodes) -> Result<Vec<u32>, Fault> {
    let mut leaves = Vec::new();
    let mut path: Vec<(u32, u32)> = Vec::new();
    let mut known = KnownStacks::default();
    json.array(&mut |json| {
        if leaves.len() >= SAMPLES_MAX {
            let limit = SAMPLES_MAX as u64;
            return Err(json.wrong(Reason::TooLarge { what: "the number of samples", limit }));
        }
        let mut text = None;
        if let Some(flat) = json.flat_array(KNOWN_MAX)? {
            if let Some(leaf) = known.leaf(flat) {
                let length = flat.len();
                json.pass(length);
                leaves.push(leaf);
                return Ok(());
            }
            text = Some(Box::from(flat));
        }
        let leaf = stack(json, nodes, &mut path)?;
        known.remember(text, leaf);
        leaves.push(leaf);
        Ok(())
    })?;
    Ok(leaves)
}

/// Reads a stack; most of it is the same as that of the last one.
fn stack(
    json: &mut Json<'_, '_>,
    nodes: &mut Nodes,
    path: &mut Vec<(u32, u32)>,
) -> Result<u32, Fault> {
    let mut depth = 0;
    json.indices(|index| {
        let key = index.filter(|index| *index < BAD_FRAME).unwrap_or(BAD_FRAME);
        if path.get(depth).is_none_or(|(known, _)| *known != key) {
            path.truncate(depth);
            let parent = path.last().map_or(NONE, |(_, node)| *node);
            path.push((key, nodes.child(parent, key)));
        }
        depth += 1;
    })?;
    Ok(match depth.checked_sub(1).and_then(|at| path.get(at)) {
        Some((_, node)) => *node,
        None => nodes.child(NONE, NO_STACK),
    })
}

/// The key of a sample without a stack.
const NO_STACK: u32 = NONE - 2;
/// The key of a number that is no frame: it is refused when keys get their meaning.
const BAD_FRAME: u32 = NONE - 3;

fn frame_id(value: f64) -> u32 {
    let is_frame = value.fract() == 0.0 && (0.0..f64::from(BAD_FRAME)).contains(&value);
    if is_frame { small(value) } else { BAD_FRAME }
}

fn values(json: &mut Json<'_, '_>) -> Result<Vec<f64>, Fault> {
    let mut list = Vec::new();
    let mut is_bad = false;
    json.numbers(|value| {
        is_bad |= weight(value).is_none();
        list.push(value);
        Ok(())
    })?;
    if is_bad {
        return Err(json.wrong(Reason::BadNumber { what: "a weight" }));
    }
    Ok(list)
}

/// Reads calls that open and close. Between two events the innermost open call spends.
fn events(json: &mut Json<'_, '_>, raw: &mut RawProfile) -> Result<(), Fault> {
    raw.is_evented = true;
    let mut open: Vec<(u32, u32)> = Vec::new();
    let mut last = f64::NAN;
    json.array(&mut |json| {
        let (mut opens, mut frame, mut at) = (None, BAD_FRAME, f64::NAN);
        json.object(&mut |json, key| {
            match key {
                "type" => opens = json.text_or_none()?.map(|text| text == "O"),
                "frame" => frame = frame_id(json.number_or_nan()?),
                "at" => at = json.number_or_nan()?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        let passed = if last.is_nan() { 0.0 } else { at - last };
        let Some(passed) = weight(passed) else {
            return Err(json.wrong(Reason::BadNumber { what: "the time since the last event" }));
        };
        last = at;
        if let Some((_, node)) = open.last() {
            raw.nodes.add(*node, 0, passed);
            raw.order.push(*node, passed);
        }
        raw.samples += 1;
        match (opens, open.last()) {
            (Some(true), parent) => {
                let parent = parent.map_or(NONE, |(_, node)| *node);
                open.push((frame, raw.nodes.child(parent, frame)));
            }
            (Some(false), Some((innermost, _))) if *innermost == frame => {
                open.pop();
            }
            (Some(false), _) => {
                return Err(json.wrong(Reason::NoSuch {
                    what: "an open call of frame",
                    index: u64::from(frame),
                }));
            }
            (None, _) => return Err(json.wrong(Reason::Missing { what: "the type of an event" })),
        }
        Ok(())
    })
}

/// Profiles of one unit that are threads of one program belong together; others stand alone.
fn groups(profiles: Vec<RawProfile>) -> Vec<Vec<RawProfile>> {
    let mut groups: Vec<Vec<RawProfile>> = Vec::new();
    for profile in profiles {
        let known = groups.iter_mut().find(|group| {
            group.first().is_some_and(|first| {
                first.unit == profile.unit && first.is_evented == profile.is_evented
            })
        });
        match known {
            Some(group) => group.push(profile),
            None => groups.push(vec![profile]),
        }
    }
    groups
}

/// Makes one profile of a group and adds it; the number of a frame that does not exist if there
/// is one.
fn join(
    context: &Context<'_>,
    frames: &[RawFrame],
    group: Vec<RawProfile>,
    exporter: &str,
    reading: &mut Reading,
) -> Result<(), u32> {
    let mut builder = Builder::new(1, context.limits);
    let executing = lines_are_executing(frames);
    let (weight, factor) = weight_of(&group[0], exporter);
    let is_alone = group.len() == 1;
    let (name, samples) = (group[0].name.clone(), group.iter().map(|raw| raw.samples).sum());
    let is_sampled = !group[0].is_evented;
    let mut order = Vec::new();
    let mut sites: HashMap<u32, u32> = HashMap::new();
    for (nth, raw) in group.into_iter().enumerate() {
        let thread = if is_alone {
            NONE
        } else {
            let site = builder.site(names::thread(&raw.name, nth + 1), 0);
            builder.child(NONE, site)
        };
        let nodes = raw.nodes.into_builder(&mut builder, thread, |builder, key| {
            if let Some(&known) = sites.get(&key) {
                return Some(known);
            }
            let site = site_of(context, builder, frames, key, executing)?;
            sites.insert(key, site);
            Some(site)
        })?;
        let mut stretches = Stretches::default();
        for (node, length) in raw.order.list() {
            stretches.push(nodes.get(*node as usize).copied().unwrap_or(NONE), length * factor);
        }
        order.push((thread, stretches));
    }
    builder.scale(factor);
    let parts = Parts { builder, weights: vec![weight], order };
    let mut profile = parts.profile(Kind::Speedscope, reading);
    profile.samples = is_sampled.then_some(samples);
    profile.tool = Some(exporter.replace('@', " ")).filter(|tool| !tool.is_empty());
    // Names of single profiles hold dates and commands, but for those of memory.
    profile.name =
        if matches!(name.as_str(), "Memory" | "Allocations") { name } else { String::new() };
    reading.profiles.push(profile);
    Ok(())
}

fn site_of(
    context: &Context<'_>,
    builder: &mut Builder,
    frames: &[RawFrame],
    key: u32,
    executing: bool,
) -> Option<u32> {
    if key == NO_STACK {
        return Some(builder.site(Frame::special(FrameKind::Marker, "(no stack)"), 0));
    }
    let raw = frames.get(key as usize)?;
    let place = context.paths.place(&raw.file);
    let is_marker = raw.file.is_empty() && raw.name.starts_with('[') && raw.name.ends_with(']');
    let is_process = raw.file.is_empty()
        && raw.name.strip_prefix("process ").is_some_and(|rest| rest.contains(":\""));
    let frame = if is_process {
        names::process(&raw.name, 1)
    } else if is_marker {
        Frame::special(FrameKind::Marker, &raw.name)
    } else {
        let function = names::function(&raw.name);
        let (module, origin) = if raw.file.is_empty() {
            super::collapsed::module_of(&function)
        } else {
            (place.module, place.origin)
        };
        let line = if executing { 0 } else { raw.line };
        Frame { function, file: place.file, line, module, origin, kind: FrameKind::Function }
    };
    Some(builder.site(frame, if executing { raw.line } else { 0 }))
}

/// Whether lines are those being executed: then one function stands in the table several times.
fn lines_are_executing(frames: &[RawFrame]) -> bool {
    let mut lines: HashMap<(&str, &str), u32> = HashMap::new();
    frames.iter().any(|frame| {
        let known = *lines.entry((&frame.name, &frame.file)).or_insert(frame.line);
        known != frame.line && frame.line > 0 && known > 0
    })
}

/// The weight, and what one of the file's numbers is in its unit.
fn weight_of(raw: &RawProfile, exporter: &str) -> (Weight, f64) {
    let is_memray = exporter.starts_with("memray");
    let knows_samples = ["pyinstrument", "py-spy"].iter().any(|tool| exporter.starts_with(tool));
    let measured = match (is_memray, raw.is_evented && !knows_samples) {
        (true, _) => Measured::Exact,
        (false, true) => Measured::Traced,
        (false, false) => Measured::Sampled,
    };
    let (unit, factor) = from_declared(&raw.unit);
    let name = match unit {
        Unit::Seconds => "time",
        Unit::Bytes => "memory",
        _ if is_memray => "allocations",
        _ if raw.is_evented => "weight",
        _ => "samples",
    };
    let is_time_or_size = matches!(unit, Unit::Seconds | Unit::Bytes);
    let unit = if is_time_or_size { unit } else { Unit::Count };
    (Weight::new(name, unit, measured), if is_time_or_size { factor } else { 1.0 })
}
