//! pprof: Go's protobuf, plain or in gzip.
//!
//! Tables of strings, functions and locations, then samples: places from the leaf to the root and
//! a value for each of several kinds. A place holds several functions where calls were inlined,
//! the innermost first. Fields may stand in any order, so the tables are read before the samples.

mod wire;

use std::collections::HashMap;

use super::super::build::{Builder, count, weight};
use super::super::error::{Fault, Reason};
use super::super::input::Input;
use super::super::model::{Frame, FrameKind, Measured, NONE, Weight};
use super::super::names;
use super::super::reading::Reading;
use super::super::sniff::Kind;
use super::Context;
use super::assemble::Parts;
use crate::model::metric::Unit;
use crate::model::units::from_declared;
use wire::{Cut, Fields, Value, packed};

/// Most kinds of values of one file.
const KINDS_MAX: usize = 16;
/// Deeper places of a sample are left out.
const DEPTH_MAX: usize = 100_000;

/// A kind of value: its name and unit in the table of strings.
#[derive(Clone, Copy, Default)]
struct ValueType {
    name: u64,
    unit: u64,
}

#[derive(Default)]
struct Function {
    name: u64,
    file: u64,
    line: u64,
}

#[derive(Default)]
struct Location {
    mapping: u64,
    address: u64,
    /// Function and executing line, the innermost first.
    lines: Vec<(u64, u64)>,
}

/// All but the samples.
#[derive(Default)]
struct Tables<'b> {
    strings: Vec<&'b [u8]>,
    kinds: Vec<ValueType>,
    functions: HashMap<u64, Function>,
    locations: HashMap<u64, Location>,
    mappings: HashMap<u64, u64>,
    period: f64,
    period_type: ValueType,
    default_kind: u64,
    duration: f64,
}

pub(super) fn read(
    context: &Context<'_>,
    input: &mut Input<'_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let bytes = input.whole(context.limits.whole)?;
    let cut = |cut: Cut| Fault::at_byte(cut.at as u64, Reason::Cut { inside: "a protobuf field" });
    let tables = tables(&bytes, context.limits.frames).map_err(cut)?;
    if tables.kinds.is_empty() || tables.kinds.len() > KINDS_MAX {
        return Err(Fault::at_byte(0, Reason::Missing { what: "a kind of value (at most 16)" }));
    }
    let mut samples = Samples {
        tables: &tables,
        builder: Builder::new(tables.kinds.len(), context.limits),
        sites: HashMap::new(),
        count: 0,
        odd: 0,
    };
    for field in Fields::new(&bytes, 0) {
        let field = field.map_err(cut)?;
        if let (2, Value::Bytes(sample)) = (field.number, field.value) {
            samples.add(sample, context).map_err(cut)?;
        }
    }
    finish(samples, reading);
    Ok(())
}

fn tables(bytes: &[u8], max: usize) -> Result<Tables<'_>, Cut> {
    let mut tables = Tables::default();
    for field in Fields::new(bytes, 0) {
        let field = field?;
        match (field.number, field.value) {
            (1, Value::Bytes(body)) => tables.kinds.push(value_type(body)?),
            (3, Value::Bytes(body)) => {
                let (mut key, mut file) = (0, 0);
                each(body, |number, value| match number {
                    1 => key = value,
                    5 => file = value,
                    _ => {}
                })?;
                tables.mappings.insert(key, file);
            }
            // A hostile file has as many as it likes; those that are not kept have no name.
            (4, Value::Bytes(body)) if tables.locations.len() < max * 8 => {
                let (key, location) = location(body)?;
                tables.locations.insert(key, location);
            }
            (5, Value::Bytes(body)) if tables.functions.len() < max * 4 => {
                let mut function = Function::default();
                let mut key = 0;
                each(body, |number, value| match number {
                    1 => key = value,
                    2 => function.name = value,
                    4 => function.file = value,
                    5 => function.line = value,
                    _ => {}
                })?;
                tables.functions.insert(key, function);
            }
            (6, Value::Bytes(text)) => tables.strings.push(text),
            (10, Value::Number(value)) => tables.duration = value as f64 / 1e9,
            (11, Value::Bytes(body)) => tables.period_type = value_type(body)?,
            (12, Value::Number(value)) => tables.period = value as f64,
            (14, Value::Number(value)) => tables.default_kind = value,
            _ => {}
        }
    }
    Ok(tables)
}

/// The numbers of a message.
fn each(body: &[u8], mut take: impl FnMut(u64, u64)) -> Result<(), Cut> {
    for field in Fields::new(body, 0) {
        let field = field?;
        if let Value::Number(value) = field.value {
            take(field.number, value);
        }
    }
    Ok(())
}

fn value_type(body: &[u8]) -> Result<ValueType, Cut> {
    let mut found = ValueType::default();
    each(body, |number, value| match number {
        1 => found.name = value,
        2 => found.unit = value,
        _ => {}
    })?;
    Ok(found)
}

fn location(body: &[u8]) -> Result<(u64, Location), Cut> {
    let (mut key, mut location) = (0, Location::default());
    for field in Fields::new(body, 0) {
        let field = field?;
        match (field.number, field.value) {
            (1, Value::Number(value)) => key = value,
            (2, Value::Number(value)) => location.mapping = value,
            (3, Value::Number(value)) => location.address = value,
            (4, Value::Bytes(line)) if location.lines.len() < 1000 => {
                let (mut function, mut at) = (0, 0);
                each(line, |number, value| match number {
                    1 => function = value,
                    2 => at = value,
                    _ => {}
                })?;
                location.lines.push((function, at));
            }
            _ => {}
        }
    }
    Ok((key, location))
}

impl Tables<'_> {
    fn text(&self, at: u64) -> String {
        let bytes = usize::try_from(at).ok().and_then(|at| self.strings.get(at));
        bytes.map_or_else(String::new, |bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// The kinds, the one to show first at the front: the file's own choice, else the last.
    fn order(&self) -> Vec<usize> {
        let last = self.kinds.len().saturating_sub(1);
        let chosen = (self.default_kind != 0)
            .then(|| self.kinds.iter().position(|kind| kind.name == self.default_kind))
            .flatten();
        let first = chosen.unwrap_or(last);
        std::iter::once(first).chain((0..self.kinds.len()).filter(|at| *at != first)).collect()
    }

    fn weight(&self, kind: ValueType) -> (Weight, f64) {
        let (name, unit) = (names::clean(&self.text(kind.name)), self.text(kind.unit));
        let (unit, factor) = from_declared(&unit);
        let known = matches!(unit, Unit::Seconds | Unit::Bytes);
        let name = match (name.as_str(), &unit) {
            ("cpu", Unit::Seconds) => "CPU time",
            ("", _) => "weight",
            (other, _) => other,
        };
        let unit = if known { unit } else { Unit::Count };
        (Weight::new(name, unit, Measured::Sampled), if known { factor } else { 1.0 })
    }
}

/// Puts samples into a tree.
struct Samples<'t, 'b> {
    tables: &'t Tables<'b>,
    builder: Builder,
    /// The sites of each place, the outermost function first.
    sites: HashMap<u64, Vec<u32>>,
    count: u64,
    odd: u64,
}

impl Samples<'_, '_> {
    fn add(&mut self, sample: &[u8], context: &Context<'_>) -> Result<(), Cut> {
        let (mut places, mut values) = (Vec::new(), Vec::new());
        for field in Fields::new(sample, 0) {
            let field = field?;
            let into = match field.number {
                1 => &mut places,
                2 => &mut values,
                _ => continue,
            };
            match field.value {
                Value::Number(value) => into.push(value),
                Value::Bytes(bytes) => packed(bytes, into)?,
                Value::Other => {}
            }
        }
        places.truncate(DEPTH_MAX);
        let mut node = NONE;
        for place in places.iter().rev() {
            if !self.sites.contains_key(place) {
                let sites = sites_of(&mut self.builder, self.tables, *place, context);
                self.sites.insert(*place, sites);
            }
            for site in self.sites.get(place).into_iter().flatten() {
                node = self.builder.child(node, *site);
            }
        }
        if node == NONE {
            let site = self.builder.site(Frame::special(FrameKind::Marker, "(no stack)"), 0);
            node = self.builder.child(NONE, site);
        }
        self.count += 1;
        for (at, value) in values.iter().take(self.tables.kinds.len()).enumerate() {
            match weight(value.cast_signed() as f64) {
                Some(value) => self.builder.add(node, at, value),
                None => self.odd += 1,
            }
        }
        Ok(())
    }
}

fn sites_of(
    builder: &mut Builder,
    tables: &Tables<'_>,
    place: u64,
    context: &Context<'_>,
) -> Vec<u32> {
    let Some(location) = tables.locations.get(&place) else {
        return vec![builder.site(Frame::special(FrameKind::Marker, "(unknown place)"), 0)];
    };
    let mapping = tables.mappings.get(&location.mapping).map(|file| tables.text(*file));
    let object = context.paths.place(mapping.as_deref().unwrap_or_default());
    if location.lines.is_empty() {
        let function = names::function(&format!("{:#x}", location.address));
        let (module, origin) = (object.module, object.origin);
        let frame = Frame { function, module, origin, ..Frame::default() };
        return vec![builder.site(frame, 0)];
    }
    let lines = location.lines.iter().rev();
    lines
        .map(|(function, line)| {
            let known = tables.functions.get(function);
            let raw = known.map(|known| tables.text(known.name)).unwrap_or_default();
            let function = names::function(if raw.is_empty() { "[unknown]" } else { &raw });
            let file = known.map(|known| tables.text(known.file)).unwrap_or_default();
            let place = context.paths.place(&file);
            let (module, origin) = if file.is_empty() {
                super::collapsed::module_of(&function)
            } else {
                (place.module, place.origin)
            };
            let defined = known.map_or(0, |known| u32::try_from(known.line).unwrap_or(0));
            let frame = Frame {
                function,
                file: place.file,
                line: defined,
                module,
                origin,
                kind: FrameKind::Function,
            };
            builder.site(frame, u32::try_from(*line).unwrap_or(0))
        })
        .collect()
}

fn finish(samples: Samples<'_, '_>, reading: &mut Reading) {
    let Samples { tables, mut builder, count: entries, odd, .. } = samples;
    let order = tables.order();
    let found: Vec<(Weight, f64)> =
        order.iter().map(|at| tables.weight(tables.kinds[*at])).collect();
    let mut own = std::mem::take(&mut builder.nodes.own);
    builder.nodes.own = order
        .iter()
        .zip(&found)
        .map(|(at, (_, factor))| {
            let mut column = std::mem::take(&mut own[*at]);
            for value in &mut column {
                *value *= factor;
            }
            column
        })
        .collect();
    if odd > 0 {
        reading.note(format!(
            "{odd} values below 0 are taken as 0: is this a difference of two profiles?"
        ));
    }
    let is_samples = found.iter().position(|(weight, _)| weight.name == "samples");
    let weights = found.into_iter().map(|(weight, _)| weight).collect();
    let mut profile = Parts { builder, weights, order: Vec::new() }.profile(Kind::Pprof, reading);
    profile.samples = match is_samples {
        Some(at) => count(profile.sum(at)),
        None => Some(entries),
    };
    let (unit, factor) = from_declared(&tables.text(tables.period_type.unit));
    if unit == Unit::Seconds {
        profile.interval = weight(tables.period * factor).filter(|interval| *interval > 0.0);
    }
    profile.duration = weight(tables.duration).filter(|duration| *duration > 0.0);
    reading.profiles.push(profile);
}

#[cfg(test)]
mod tests;
