//! What the viewer draws, as lists of numbers side by side.

use std::collections::HashMap;

use serde::Serialize;

use crate::model::call::Origin;
use crate::profile::model::{Body, FrameKind, NONE, Order, Profile};
use crate::profile::view::functions::functions;
use crate::profile::view::prune::{Room, prune};
use crate::profile::view::time::left_heavy;
use crate::report::plain;

/// Longest text of the viewer, in characters.
const TEXT_MAX: usize = 200;
/// Nodes below this share of everything are not drawn apart.
const SHARE_MIN: f64 = 0.0002;
/// Functions with exact numbers, the heaviest.
const FUNCTIONS_MAX: usize = 300;
/// Stretches of the order of time, and threads that have them.
const STRETCHES_MAX: usize = 1500;
const THREADS_MAX: usize = 8;
/// Source lines, the heaviest.
const LINES_MAX: usize = 250;

/// One profile.
#[derive(Debug, Serialize)]
pub(super) struct Data {
    /// What tells it from the others.
    label: String,
    tool: String,
    weights: Vec<WeightData>,
    /// Functions: name, and by place in `texts` file and module.
    name: Vec<String>,
    file: Vec<u32>,
    module: Vec<u32>,
    line: Vec<u32>,
    /// 0 own, 1 library, 2 runtime, 3 system, 4 nobody's.
    origin: Vec<u8>,
    /// 0 function, 1 process, 2 thread, 3 marker, 4 several put together.
    kind: Vec<u8>,
    texts: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<TreeData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<TableData>,
    /// For each weight, the heaviest functions with their numbers from the whole profile.
    functions: Vec<FunctionsData>,
    lines: LinesData,
    order: Vec<OrderData>,
    /// How many nodes the whole tree has, and how many are drawn.
    nodes: [usize; 2],
    samples: f64,
}

#[derive(Debug, Serialize)]
struct WeightData {
    name: String,
    unit: String,
    measured: &'static str,
    sum: f64,
}

#[derive(Debug, Serialize)]
struct TreeData {
    /// The parent of each node, -1 for a root; depth first, the heaviest child first.
    parent: Vec<i64>,
    function: Vec<u32>,
    own: Vec<Vec<f64>>,
}

#[derive(Debug, Serialize)]
struct TableData {
    function: Vec<u32>,
    own: Vec<Vec<f64>>,
    total: Vec<Vec<f64>>,
    caller: Vec<u32>,
    callee: Vec<u32>,
    /// What the callee spent in all when called so, of the first weight.
    between: Vec<f64>,
}

#[derive(Debug, Default, Serialize)]
struct FunctionsData {
    function: Vec<u32>,
    own: Vec<f64>,
    /// -1 where it is not known.
    total: Vec<f64>,
    /// -1 where they are not counted.
    calls: Vec<f64>,
    /// How many functions there are in all.
    all: usize,
}

#[derive(Debug, Default, Serialize)]
struct LinesData {
    function: Vec<u32>,
    line: Vec<u32>,
    own: Vec<f64>,
    text: Vec<String>,
}

#[derive(Debug, Serialize)]
struct OrderData {
    thread: i64,
    node: Vec<i64>,
    length: Vec<f64>,
}

/// A profile with a tree of at most about `nodes` nodes.
pub(super) fn of(profile: &Profile, nodes: usize) -> Data {
    let whole = profile.tree().map_or(0, crate::profile::model::Tree::len);
    let small = prune(profile, 0, Room { nodes, share: SHARE_MIN });
    let (function_of, first) = small.functions();
    let mut names = Names::default();
    let functions = (0..profile.weights.len())
        .map(|weight| function_data(profile, weight, &function_of, nodes))
        .collect();
    let weights = profile.weights.iter().enumerate().map(|(at, weight)| WeightData {
        name: plain::line(&weight.name, 60),
        unit: plain::line(weight.unit.as_str(), 40),
        measured: weight.measured.as_str(),
        sum: profile.sum(at),
    });
    let (tree, order, drawn) = tree_and_order(&small, &function_of, nodes);
    let mut data = Data {
        label: label(profile),
        tool: plain::line(profile.tool.as_deref().unwrap_or(&profile.format.to_string()), 60),
        weights: weights.collect(),
        name: Vec::new(),
        file: Vec::new(),
        module: Vec::new(),
        line: Vec::new(),
        origin: Vec::new(),
        kind: Vec::new(),
        texts: Vec::new(),
        tree,
        table: table(&small, &function_of, nodes),
        functions,
        lines: lines(&small, &function_of, nodes),
        order,
        nodes: [whole, drawn],
        samples: profile.samples.map_or(-1.0, |samples| samples as f64),
    };
    used(&mut data, &small, &first, &mut names);
    data.texts = names.list;
    data
}

fn label(profile: &Profile) -> String {
    let parts = [profile.step.as_deref().unwrap_or(""), &profile.name];
    let parts: Vec<String> =
        parts.iter().filter(|part| !part.is_empty()).map(|part| plain::line(part, 60)).collect();
    if parts.is_empty() { "whole job".to_owned() } else { parts.join(", ") }
}

/// Texts, each once.
#[derive(Default)]
struct Names {
    list: Vec<String>,
    known: HashMap<String, u32>,
}

impl Names {
    fn id(&mut self, text: &str) -> u32 {
        let text = plain::line(text, TEXT_MAX);
        *self.known.entry(text.clone()).or_insert_with(|| {
            self.list.push(text);
            u32::try_from(self.list.len() - 1).unwrap_or(0)
        })
    }
}

/// Numbers functions anew, those that anything refers to, and tells what they are.
fn used(data: &mut Data, small: &Profile, first: &[u32], names: &mut Names) {
    let mut new_of = vec![NONE; first.len()];
    let mut order = Vec::new();
    let mut renumber = |list: &mut Vec<u32>| {
        for at in list {
            let new = &mut new_of[*at as usize];
            if *new == NONE {
                *new = u32::try_from(order.len()).unwrap_or(NONE);
                order.push(*at);
            }
            *at = *new;
        }
    };
    if let Some(tree) = &mut data.tree {
        renumber(&mut tree.function);
    }
    if let Some(table) = &mut data.table {
        renumber(&mut table.function);
    }
    data.functions.iter_mut().for_each(|list| renumber(&mut list.function));
    renumber(&mut data.lines.function);
    for function in order {
        let frame = &small.frames[first[function as usize] as usize];
        data.name.push(plain::line(&frame.function, TEXT_MAX));
        data.file.push(names.id(&frame.file));
        data.module.push(names.id(&frame.module));
        data.line.push(frame.line);
        data.origin.push(match frame.origin {
            Origin::Own => 0,
            Origin::Library => 1,
            Origin::Runtime => 2,
            Origin::System => 3,
            Origin::None => 4,
        });
        data.kind.push(match frame.kind {
            FrameKind::Function => 0,
            FrameKind::Process => 1,
            FrameKind::Thread => 2,
            FrameKind::Marker => 3,
            FrameKind::Other => 4,
        });
    }
}

fn function_data(
    profile: &Profile,
    weight: usize,
    function_of: &[u32],
    nodes: usize,
) -> FunctionsData {
    let costs = functions(profile, weight);
    let most = FUNCTIONS_MAX.min(nodes);
    let mut data = FunctionsData { all: costs.len(), ..FunctionsData::default() };
    let mut by_total: Vec<usize> = (0..costs.len()).collect();
    by_total.sort_by(|one, other| {
        let total = |at: &usize| costs[*at].total.unwrap_or(0.0);
        total(other).total_cmp(&total(one)).then(one.cmp(other))
    });
    let mut chosen = vec![false; costs.len()];
    chosen.iter_mut().take(most / 2).for_each(|chosen| *chosen = true);
    for at in by_total.into_iter().take(most / 2) {
        chosen[at] = true;
    }
    for (cost, _) in costs.iter().zip(chosen).filter(|(_, chosen)| *chosen) {
        data.function.push(function_of[cost.frame as usize]);
        data.own.push(short(cost.own));
        data.total.push(cost.total.map_or(-1.0, short));
        data.calls.push(cost.calls.map_or(-1.0, |calls| calls as f64));
    }
    data
}

fn tree_and_order(
    small: &Profile,
    function_of: &[u32],
    nodes: usize,
) -> (Option<TreeData>, Vec<OrderData>, usize) {
    let Body::Tree(tree) = &small.body else { return (None, Vec::new(), 0) };
    let (sorted, new_of) = left_heavy(tree, 0);
    let data = TreeData {
        parent: sorted.parent.iter().map(|at| signed(*at)).collect(),
        function: sorted.frame.iter().map(|frame| function_of[*frame as usize]).collect(),
        own: sorted.own.iter().map(|own| own.iter().copied().map(short).collect()).collect(),
    };
    let get = |node: u32| new_of.get(node as usize).copied().unwrap_or(NONE);
    let most = STRETCHES_MAX.min(nodes) / small.order.len().clamp(1, THREADS_MAX);
    let order = small.order.iter().take(THREADS_MAX).map(|order| {
        let (node, length) = coarse(order, most);
        OrderData {
            thread: signed(get(order.thread)),
            node: node.into_iter().map(|node| signed(get(node))).collect(),
            length: length.into_iter().map(short).collect(),
        }
    });
    (Some(data), order.collect(), sorted.len())
}

/// At most about `most` stretches: within each slice of the time the leaf that has most of it.
fn coarse(order: &Order, most: usize) -> (Vec<u32>, Vec<f64>) {
    if order.node.len() <= most {
        return (order.node.clone(), order.length.clone());
    }
    let slice = order.length.iter().sum::<f64>() / most.max(1) as f64;
    let (mut nodes, mut lengths): (Vec<u32>, Vec<f64>) = (Vec::new(), Vec::new());
    let (mut filled, mut weights): (f64, HashMap<u32, f64>) = (0.0, HashMap::new());
    let mut flush = |filled: &mut f64, weights: &mut HashMap<u32, f64>| {
        let heaviest =
            weights.iter().max_by(|one, other| one.1.total_cmp(other.1).then(other.0.cmp(one.0)));
        if let Some((&node, _)) = heaviest {
            if nodes.last() == Some(&node)
                && let Some(last) = lengths.last_mut()
            {
                *last += *filled;
            } else {
                nodes.push(node);
                lengths.push(*filled);
            }
        }
        *filled = 0.0;
        weights.clear();
    };
    for (&node, &length) in order.node.iter().zip(&order.length) {
        *weights.entry(node).or_default() += length;
        filled += length;
        if filled >= slice {
            flush(&mut filled, &mut weights);
        }
    }
    flush(&mut filled, &mut weights);
    (nodes, lengths)
}

fn table(small: &Profile, function_of: &[u32], rows: usize) -> Option<TableData> {
    let Body::Table(table) = &small.body else { return None };
    let weight_of =
        |row: usize| table.total.first().or(table.own.first()).map_or(0.0, |column| column[row]);
    let mut order: Vec<usize> = (0..table.frame.len()).collect();
    order.sort_by(|one, other| weight_of(*other).total_cmp(&weight_of(*one)).then(one.cmp(other)));
    order.truncate(rows.min(600));
    let mut new_of = vec![NONE; table.frame.len()];
    for (new, old) in (0_u32..).zip(&order) {
        new_of[*old] = new;
    }
    let columns = |columns: &Vec<Vec<f64>>| -> Vec<Vec<f64>> {
        columns.iter().map(|column| order.iter().map(|row| short(column[*row])).collect()).collect()
    };
    let is_shown = |row: u32| new_of[row as usize] != NONE;
    let mut edges: Vec<_> =
        table.edges.iter().filter(|edge| is_shown(edge.caller) && is_shown(edge.callee)).collect();
    let between = |edge: &&crate::profile::model::Edge| {
        edge.total.first().or(edge.own.first()).copied().unwrap_or(0.0)
    };
    edges.sort_by(|one, other| between(other).total_cmp(&between(one)));
    edges.truncate(rows);
    Some(TableData {
        function: order.iter().map(|row| function_of[table.frame[*row] as usize]).collect(),
        own: columns(&table.own),
        total: columns(&table.total),
        caller: edges.iter().map(|edge| new_of[edge.caller as usize]).collect(),
        callee: edges.iter().map(|edge| new_of[edge.callee as usize]).collect(),
        between: edges.iter().map(|edge| short(between(edge))).collect(),
    })
}

fn lines(small: &Profile, function_of: &[u32], nodes: usize) -> LinesData {
    let lines = &small.lines;
    let Some(own) = lines.own.first() else { return LinesData::default() };
    let mut order: Vec<usize> = (0..own.len()).filter(|at| own[*at] > 0.0).collect();
    order.sort_by(|one, other| own[*other].total_cmp(&own[*one]).then(one.cmp(other)));
    order.truncate(LINES_MAX.min(nodes));
    LinesData {
        function: order.iter().map(|at| function_of[lines.frame[*at] as usize]).collect(),
        line: order.iter().map(|at| lines.line[*at]).collect(),
        own: order.iter().map(|at| short(own[*at])).collect(),
        text: order
            .iter()
            .filter_map(|at| lines.text.get(*at))
            .map(|text| plain::line(text, 120))
            .collect(),
    }
}

fn signed(at: u32) -> i64 {
    if at == NONE { -1 } else { i64::from(at) }
}

/// Six significant digits: no drawing and no table shows more.
fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}
