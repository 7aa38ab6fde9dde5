//! Two orders for a tree: the heaviest child first, or as it happened.

use super::super::build::id;
use super::super::model::{Body, NONE, Profile, Tree};

/// The tree with its nodes depth first and the heaviest child first; of equal ones the first in
/// the tree. Also gives for each old node the new one.
pub fn left_heavy(tree: &Tree, weight: usize) -> (Tree, Vec<u32>) {
    let totals = tree.totals(weight);
    let heaviness = |node: u32| totals.get(node as usize).copied().unwrap_or(0.0);
    let children = tree.children();
    let mut sorted = Tree { own: vec![Vec::new(); tree.own.len()], ..Tree::default() };
    let mut new_of = vec![NONE; tree.len()];
    let mut open: Vec<u32> = Vec::new();
    let put = |open: &mut Vec<u32>, parent: u32| {
        let from = open.len();
        open.extend(children.get(parent));
        // The heaviest is taken from the end first.
        open[from..].sort_by(|one, other| {
            heaviness(*one).total_cmp(&heaviness(*other)).then(other.cmp(one))
        });
    };
    put(&mut open, NONE);
    while let Some(node) = open.pop() {
        let parent = tree.parent[node as usize];
        new_of[node as usize] = id(sorted.len());
        sorted.parent.push(if parent == NONE { NONE } else { new_of[parent as usize] });
        sorted.frame.push(tree.frame[node as usize]);
        for (column, own) in sorted.own.iter_mut().zip(&tree.own) {
            column.push(own[node as usize]);
        }
        sorted.calls.extend(tree.calls.get(node as usize));
        put(&mut open, node);
    }
    (sorted, new_of)
}

/// A call as it happened, or several of one function in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The node of the tree.
    pub node: u32,
    /// How many callers it has.
    pub depth: u32,
    /// Where it begins, in the first weight, from the first sample.
    pub start: f64,
    /// How long it is.
    pub length: f64,
}

/// The calls of one thread in the order of time, those of `order[thread]`. Calls deeper than
/// `depth` are left out; `None` when there would be more than `spans` of them, or no such order.
pub fn spans(profile: &Profile, thread: usize, depth: usize, spans: usize) -> Option<Vec<Span>> {
    let Body::Tree(tree) = &profile.body else { return None };
    let order = profile.order.get(thread)?;
    let mut depths: Vec<usize> = Vec::with_capacity(tree.len());
    for &parent in &tree.parent {
        depths.push(if parent == NONE { 0 } else { depths[parent as usize] + 1 });
    }
    let mut list: Vec<Span> = Vec::new();
    // The open call of every depth: its node and its place in the list.
    let mut open: Vec<(u32, usize)> = Vec::new();
    let mut now = 0.0;
    for (&leaf, &length) in order.node.iter().zip(&order.length) {
        let mut path = Vec::new();
        let mut node = leaf;
        while node != NONE {
            if depths[node as usize] < depth {
                path.push(node);
            }
            node = tree.parent[node as usize];
        }
        path.reverse();
        let same = open.iter().zip(&path).take_while(|((known, _), node)| known == *node).count();
        open.truncate(same);
        for (_, at) in &open {
            list[*at].length += length;
        }
        for (at, &node) in path.iter().enumerate().skip(same) {
            if list.len() >= spans {
                return None;
            }
            open.push((node, list.len()));
            list.push(Span { node, depth: id(at), start: now, length });
        }
        now += length;
    }
    Some(list)
}
