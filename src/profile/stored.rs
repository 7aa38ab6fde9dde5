//! `profile.json.gz`: the normalised profiles of a run.
//!
//! Lists of numbers side by side, texts once, so that a page can use it as it is. The same
//! profiles give the same bytes. Format history: 1.0 is the first.

use std::collections::HashMap;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use super::model::{
    Body, Edge, Frame, FrameKind, Lines, NONE, Order, Origin, Profile, Table, Tree, Weight,
};
use super::sniff::Kind;

pub use crate::record::profiles::PROFILE_FILE;

/// Most bytes, inflated, that are read back.
const BYTES_MAX: u64 = 512 << 20;

const FORMAT: &str = "perftrail-profile";
const MAJOR: u32 = 1;

/// Why stored profiles could not be read.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// The gzip layer is broken or larger than is read.
    #[error("not readable as gzip of at most {BYTES_MAX} bytes: {0}")]
    Gzip(std::io::Error),
    /// It is no JSON of this shape.
    #[error("not readable as stored profiles: {0}")]
    Json(#[from] serde_json::Error),
    /// Another format, or a later version of this one.
    #[error("format `{format}` {major} is not one this version reads; it reads `{FORMAT}` {MAJOR}")]
    Version {
        /// The format it says it has.
        format: String,
        /// Its major version.
        major: u32,
    },
    /// Parts that do not fit each other.
    #[error("profile {profile}: {what}")]
    Broken {
        /// Which profile, from 0.
        profile: usize,
        /// What does not fit.
        what: &'static str,
    },
}

#[derive(Serialize, Deserialize)]
struct File {
    format: String,
    major: u32,
    minor: u32,
    profiles: Vec<Stored>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    name: String,
    step: Option<String>,
    source: Kind,
    tool: Option<String>,
    weights: Vec<Weight>,
    samples: Option<u64>,
    interval: Option<f64>,
    duration: Option<f64>,
    strings: Vec<String>,
    frames: StoredFrames,
    tree: Option<StoredTree>,
    table: Option<StoredTable>,
    lines: StoredLines,
    order: Vec<StoredOrder>,
}

#[derive(Default, Serialize, Deserialize)]
struct StoredFrames {
    function: Vec<u32>,
    file: Vec<u32>,
    module: Vec<u32>,
    line: Vec<u32>,
    origin: Vec<Origin>,
    kind: Vec<FrameKind>,
}

#[derive(Serialize, Deserialize)]
struct StoredTree {
    /// -1 for a root.
    parent: Vec<i64>,
    frame: Vec<u32>,
    own: Vec<Vec<Number>>,
    calls: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
struct StoredTable {
    frame: Vec<u32>,
    own: Vec<Vec<Number>>,
    total: Vec<Vec<Number>>,
    calls: Vec<u64>,
    primitive_calls: Vec<u64>,
    edges: StoredEdges,
}

#[derive(Default, Serialize, Deserialize)]
struct StoredEdges {
    caller: Vec<u32>,
    callee: Vec<u32>,
    calls: Vec<Option<u64>>,
    own: Vec<Vec<Number>>,
    total: Vec<Vec<Number>>,
}

#[derive(Serialize, Deserialize)]
struct StoredLines {
    frame: Vec<u32>,
    line: Vec<u32>,
    own: Vec<Vec<Number>>,
    total: Vec<Vec<Number>>,
    text: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredOrder {
    thread: i64,
    node: Vec<i64>,
    length: Vec<Number>,
    coarse: bool,
}

/// A number that is written without a fraction when it has none.
#[derive(Clone, Copy, Deserialize)]
#[serde(transparent)]
struct Number(f64);

impl Serialize for Number {
    #[expect(clippy::cast_possible_truncation, reason = "whole numbers in the range of i64 only")]
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0.abs() < 9e15 {
            return serializer.serialize_i64(self.0 as i64);
        }
        serializer.serialize_f64(self.0)
    }
}

/// The profiles as JSON, for a page.
///
/// # Errors
/// Never for profiles of this program; the serialiser's own otherwise.
pub fn json(profiles: &[Profile]) -> Result<String, StoredError> {
    json_of(&profiles.iter().collect::<Vec<_>>())
}

/// As [`json`], of profiles that lie apart.
///
/// # Errors
/// As [`json`].
pub fn json_of(profiles: &[&Profile]) -> Result<String, StoredError> {
    let profiles = profiles.iter().map(|profile| stored(profile)).collect();
    Ok(serde_json::to_string(&File {
        format: FORMAT.to_owned(),
        major: MAJOR,
        minor: 0,
        profiles,
    })?)
}

/// The profiles as the file's bytes.
///
/// # Errors
/// As [`json`].
pub fn encode(profiles: &[Profile]) -> Result<Vec<u8>, StoredError> {
    let text = json(profiles)?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).map_err(StoredError::Gzip)?;
    encoder.finish().map_err(StoredError::Gzip)
}

/// The profiles that a file's bytes hold.
///
/// # Errors
/// When they are not what [`encode`] writes; every index and number is checked.
pub fn decode(bytes: &[u8]) -> Result<Vec<Profile>, StoredError> {
    let mut text = Vec::new();
    let mut decoder = GzDecoder::new(bytes).take(BYTES_MAX + 1);
    decoder.read_to_end(&mut text).map_err(StoredError::Gzip)?;
    if text.len() as u64 > BYTES_MAX {
        return Err(StoredError::Gzip(std::io::ErrorKind::FileTooLarge.into()));
    }
    let file: File = serde_json::from_slice(&text)?;
    if file.format != FORMAT || file.major != MAJOR {
        return Err(StoredError::Version {
            format: super::names::clean(&file.format),
            major: file.major,
        });
    }
    let profiles = file.profiles.into_iter().enumerate();
    profiles
        .map(|(at, stored)| {
            restored(stored).map_err(|what| StoredError::Broken { profile: at, what })
        })
        .collect()
}

fn numbers(columns: &[Vec<f64>]) -> Vec<Vec<Number>> {
    columns.iter().map(|column| column.iter().map(|value| Number(*value)).collect()).collect()
}

fn values(columns: Vec<Vec<Number>>) -> Vec<Vec<f64>> {
    columns.into_iter().map(|column| column.into_iter().map(|number| number.0).collect()).collect()
}

fn signed(list: &[u32]) -> Vec<i64> {
    list.iter().map(|&at| if at == NONE { -1 } else { i64::from(at) }).collect()
}

fn unsigned(at: i64) -> u32 {
    u32::try_from(at).unwrap_or(NONE)
}

/// Texts, each once.
#[derive(Default)]
struct Strings<'p> {
    list: Vec<String>,
    known: HashMap<&'p str, u32>,
}

impl<'p> Strings<'p> {
    fn id(&mut self, text: &'p str) -> u32 {
        *self.known.entry(text).or_insert_with(|| {
            self.list.push(text.to_owned());
            super::build::id(self.list.len() - 1)
        })
    }
}

fn stored(profile: &Profile) -> Stored {
    let mut strings = Strings::default();
    let mut frames = StoredFrames::default();
    for frame in &profile.frames {
        frames.function.push(strings.id(&frame.function));
        frames.file.push(strings.id(&frame.file));
        frames.module.push(strings.id(&frame.module));
        frames.line.push(frame.line);
        frames.origin.push(frame.origin);
        frames.kind.push(frame.kind);
    }
    let (tree, table) = match &profile.body {
        Body::Tree(tree) => (Some(stored_tree(tree)), None),
        Body::Table(table) => (None, Some(stored_table(table))),
    };
    let lines = &profile.lines;
    Stored {
        name: profile.name.clone(),
        step: profile.step.clone(),
        source: profile.format,
        tool: profile.tool.clone(),
        weights: profile.weights.clone(),
        samples: profile.samples,
        interval: profile.interval,
        duration: profile.duration,
        strings: strings.list,
        frames,
        tree,
        table,
        lines: StoredLines {
            frame: lines.frame.clone(),
            line: lines.line.clone(),
            own: numbers(&lines.own),
            total: numbers(&lines.total),
            text: lines.text.clone(),
        },
        order: profile.order.iter().map(stored_order).collect(),
    }
}

fn stored_tree(tree: &Tree) -> StoredTree {
    StoredTree {
        parent: signed(&tree.parent),
        frame: tree.frame.clone(),
        own: numbers(&tree.own),
        calls: tree.calls.clone(),
    }
}

fn stored_table(table: &Table) -> StoredTable {
    let mut edges = StoredEdges::default();
    for edge in &table.edges {
        edges.caller.push(edge.caller);
        edges.callee.push(edge.callee);
        edges.calls.push(edge.calls);
        edges.own.push(edge.own.iter().map(|value| Number(*value)).collect());
        edges.total.push(edge.total.iter().map(|value| Number(*value)).collect());
    }
    StoredTable {
        frame: table.frame.clone(),
        own: numbers(&table.own),
        total: numbers(&table.total),
        calls: table.calls.clone(),
        primitive_calls: table.primitive_calls.clone(),
        edges,
    }
}

fn stored_order(order: &Order) -> StoredOrder {
    StoredOrder {
        thread: if order.thread == NONE { -1 } else { i64::from(order.thread) },
        node: signed(&order.node),
        length: order.length.iter().map(|value| Number(*value)).collect(),
        coarse: order.coarse,
    }
}

fn restored(stored: Stored) -> Result<Profile, &'static str> {
    let text = |id: &u32| stored.strings.get(*id as usize).cloned().ok_or("a text does not exist");
    let list = &stored.frames;
    let count = list.function.len();
    let lengths =
        [list.file.len(), list.module.len(), list.line.len(), list.origin.len(), list.kind.len()];
    if lengths.iter().any(|length| *length != count) {
        return Err("the columns of the frames differ in length");
    }
    let frames = (0..count).map(|at| {
        Ok(Frame {
            function: text(&list.function[at])?,
            file: text(&list.file[at])?,
            line: list.line[at],
            module: text(&list.module[at])?,
            origin: list.origin[at],
            kind: list.kind[at],
        })
    });
    let frames: Vec<Frame> = frames.collect::<Result<_, &'static str>>()?;
    let body = match (stored.tree, stored.table) {
        (Some(tree), None) => Body::Tree(restored_tree(tree)),
        (None, Some(table)) => Body::Table(restored_table(table)?),
        _ => return Err("there is not one tree or one table"),
    };
    let lines = stored.lines;
    let profile = Profile {
        name: stored.name,
        step: stored.step,
        format: stored.source,
        tool: stored.tool,
        weights: stored.weights,
        frames,
        body,
        lines: Lines {
            frame: lines.frame,
            line: lines.line,
            own: values(lines.own),
            total: values(lines.total),
            text: lines.text,
        },
        order: stored.order.into_iter().map(restored_order).collect(),
        samples: stored.samples,
        interval: stored.interval,
        duration: stored.duration,
    };
    profile.check().map(|()| profile)
}

fn restored_tree(tree: StoredTree) -> Tree {
    let parent = tree.parent.into_iter().map(unsigned).collect();
    Tree { parent, frame: tree.frame, own: values(tree.own), calls: tree.calls }
}

fn restored_table(table: StoredTable) -> Result<Table, &'static str> {
    let edges = table.edges;
    let count = edges.caller.len();
    let lengths = [edges.callee.len(), edges.calls.len(), edges.own.len(), edges.total.len()];
    if lengths.iter().any(|length| *length != count) {
        return Err("the columns of the pairs differ in length");
    }
    let list = edges.caller.into_iter().zip(edges.callee).zip(edges.calls);
    let weights = values(edges.own).into_iter().zip(values(edges.total));
    let edges = list.zip(weights).map(|(((caller, callee), calls), (own, total))| Edge {
        caller,
        callee,
        calls,
        own,
        total,
    });
    Ok(Table {
        frame: table.frame,
        own: values(table.own),
        total: values(table.total),
        calls: table.calls,
        primitive_calls: table.primitive_calls,
        edges: edges.collect(),
    })
}

fn restored_order(order: StoredOrder) -> Order {
    Order {
        thread: unsigned(order.thread),
        node: order.node.into_iter().map(unsigned).collect(),
        length: order.length.into_iter().map(|number| number.0).collect(),
        coarse: order.coarse,
    }
}
