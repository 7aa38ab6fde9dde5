//! A tree small enough to be looked at, whose numbers are those of the whole one.

use std::collections::BinaryHeap;

use super::super::build::id;
use super::super::model::{Body, Frame, FrameKind, Lines, NONE, Order, Profile, Tree};

/// What a view has room for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// Most nodes, those that stand for what was left out apart.
    pub nodes: usize,
    /// Nodes with a smaller share of everything are left out, from 0 to 1.
    pub share: f64,
}

/// A node with its weight; the heaviest comes first, of equals the first in the tree.
#[derive(PartialEq)]
struct Heavy {
    weight: f64,
    node: u32,
}

impl Eq for Heavy {}

impl PartialOrd for Heavy {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Heavy {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.weight.total_cmp(&other.weight).then(other.node.cmp(&self.node))
    }
}

/// The profile with the heaviest part of its tree. What is left out below a node is put together
/// in one child, `(n smaller)`, so that every node has the total it had. Lines and the order of
/// time go along: stretches in what was left out belong to the child that stands for it. A table
/// stays as it is.
pub fn prune(profile: &Profile, weight: usize, room: Room) -> Profile {
    let Body::Tree(tree) = &profile.body else {
        return profile.clone();
    };
    let totals: Vec<Vec<f64>> = (0..tree.own.len()).map(|weight| tree.totals(weight)).collect();
    let Some(main) = totals.get(weight) else {
        return profile.clone();
    };
    let children = tree.children();
    let least =
        room.share * children.get(NONE).iter().map(|node| main[*node as usize]).sum::<f64>();
    let mut heap: BinaryHeap<Heavy> = BinaryHeap::new();
    let offer = |heap: &mut BinaryHeap<Heavy>, parent: u32| {
        for &node in children.get(parent) {
            let weight = main[node as usize];
            if weight >= least && weight > 0.0 {
                heap.push(Heavy { weight, node });
            }
        }
    };
    offer(&mut heap, NONE);
    let mut kept = vec![false; tree.len()];
    let mut count = 0;
    while count < room.nodes
        && let Some(Heavy { node, .. }) = heap.pop()
    {
        kept[node as usize] = true;
        count += 1;
        offer(&mut heap, node);
    }
    smaller(profile, tree, &totals, &kept)
}

/// The profile with the nodes that are kept, and one for what was left out below each.
fn smaller(profile: &Profile, tree: &Tree, totals: &[Vec<f64>], kept: &[bool]) -> Profile {
    let mut small = Tree { own: vec![Vec::new(); tree.own.len()], ..Tree::default() };
    let mut frames = profile.frames.clone();
    let mut others: std::collections::HashMap<u32, (u32, u64)> = std::collections::HashMap::new();
    let mut to: Vec<u32> = Vec::with_capacity(tree.len());
    for node in 0..tree.len() {
        let parent = tree.parent[node];
        let above = if parent == NONE { NONE } else { to[parent as usize] };
        if kept[node] {
            let own: Vec<f64> = tree.own.iter().map(|own| own[node]).collect();
            to.push(push(&mut small, above, tree.frame[node], &own));
            continue;
        }
        let is_top = parent == NONE || kept[parent as usize];
        if !is_top {
            to.push(above);
            continue;
        }
        let total: Vec<f64> = totals.iter().map(|totals| totals[node]).collect();
        let (at, several) = others
            .entry(above)
            .or_insert_with(|| (push(&mut small, above, NONE, &vec![0.0; total.len()]), 0));
        *several += 1;
        for (own, total) in small.own.iter_mut().zip(total) {
            own[*at as usize] += total;
        }
        to.push(*at);
    }
    let mut counts: std::collections::BTreeMap<u64, u32> = std::collections::BTreeMap::new();
    for (node, several) in others.values() {
        let frame = *counts.entry(*several).or_insert_with(|| {
            frames.push(Frame::special(FrameKind::Other, &format!("({several} smaller)")));
            id(frames.len() - 1)
        });
        small.frame[*node as usize] = frame;
    }
    Profile {
        frames,
        body: Body::Tree(small),
        order: moved(&profile.order, &to),
        ..profile.clone()
    }
}

fn push(tree: &mut Tree, parent: u32, frame: u32, own: &[f64]) -> u32 {
    tree.parent.push(parent);
    tree.frame.push(frame);
    tree.own.iter_mut().zip(own).for_each(|(column, value)| column.push(*value));
    id(tree.parent.len() - 1)
}

/// The order of time in terms of other nodes.
fn moved(orders: &[Order], to: &[u32]) -> Vec<Order> {
    let get = |node: u32| to.get(node as usize).copied().unwrap_or(NONE);
    let moved = orders.iter().map(|order| {
        let mut new = Order { thread: get(order.thread), coarse: order.coarse, ..Order::default() };
        for (&node, &length) in order.node.iter().zip(&order.length) {
            let node = get(node);
            if new.node.last() == Some(&node)
                && let Some(last) = new.length.last_mut()
            {
                *last += length;
            } else {
                new.node.push(node);
                new.length.push(length);
            }
        }
        new
    });
    moved.collect()
}

/// The profile with frames, lines and texts that nothing refers to taken out, and at most so many
/// lines, the heaviest: what a page needs.
pub fn compact(profile: &Profile, lines: usize) -> Profile {
    let mut used = vec![false; profile.frames.len()];
    let frames_of_body = match &profile.body {
        Body::Tree(tree) => &tree.frame,
        Body::Table(table) => &table.frame,
    };
    for frame in frames_of_body {
        used[*frame as usize] = true;
    }
    let kept = heaviest_lines(&profile.lines, lines, &used);
    let mut new_of = vec![NONE; used.len()];
    let mut frames = Vec::new();
    for (at, frame) in profile.frames.iter().enumerate().filter(|(at, _)| used[*at]) {
        new_of[at] = id(frames.len());
        frames.push(frame.clone());
    }
    let mut small = Profile { frames, lines: pick(&profile.lines, &kept), ..profile.clone() };
    let renumber = |list: &mut Vec<u32>| list.iter_mut().for_each(|at| *at = new_of[*at as usize]);
    renumber(&mut small.lines.frame);
    match &mut small.body {
        Body::Tree(tree) => renumber(&mut tree.frame),
        Body::Table(table) => renumber(&mut table.frame),
    }
    small
}

/// The places of the heaviest lines of frames in use, in the order they had.
fn heaviest_lines(lines: &Lines, max: usize, used: &[bool]) -> Vec<usize> {
    let weight = |at: usize| lines.own.first().map_or(0.0, |own| own[at]);
    let mut order: Vec<usize> =
        (0..lines.line.len()).filter(|at| used[lines.frame[*at] as usize]).collect();
    order.sort_by(|one, other| weight(*other).total_cmp(&weight(*one)).then(one.cmp(other)));
    order.truncate(max);
    order.sort_unstable();
    order
}

fn pick(lines: &Lines, places: &[usize]) -> Lines {
    let columns = |columns: &Vec<Vec<f64>>| {
        columns.iter().map(|column| places.iter().map(|at| column[*at]).collect()).collect()
    };
    Lines {
        frame: places.iter().map(|at| lines.frame[*at]).collect(),
        line: places.iter().map(|at| lines.line[*at]).collect(),
        own: columns(&lines.own),
        total: columns(&lines.total),
        text: places.iter().filter_map(|at| lines.text.get(*at).cloned()).collect(),
    }
}
