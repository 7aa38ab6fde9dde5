//! A tree upside down: the functions that spent at the root, below each who called it.

use std::collections::BinaryHeap;
use std::collections::HashMap;

use super::super::build::id;
use super::super::model::{Body, FrameKind, NONE, Profile, Tree};

/// Most steps upwards: a deep tree has many more paths than nodes.
const STEPS_MAX: usize = 20_000_000;

/// A node to be opened: the stacks that go through it, each with where it is and its weight.
struct Open {
    weight: f64,
    node: u32,
    stacks: Vec<(u32, f64)>,
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Open {}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.weight.total_cmp(&other.weight).then(other.node.cmp(&self.node))
    }
}

/// The profile upside down, of one weight, with at most about `nodes` nodes: the heaviest are
/// opened first, and a node that is not opened keeps all its weight. Roots are the functions that
/// spent, a child is a caller. `None` for a table, and for a weight that does not exist.
pub fn invert(profile: &Profile, weight: usize, nodes: usize) -> Option<Profile> {
    let Body::Tree(tree) = &profile.body else { return None };
    let own = tree.own.get(weight)?;
    let (function, first) = profile.functions();
    let key = |node: u32| first[function[tree.frame[node as usize] as usize] as usize];
    let is_code = |node: u32| {
        !matches!(
            profile.frames[tree.frame[node as usize] as usize].kind,
            FrameKind::Thread | FrameKind::Process
        )
    };
    let mut inverted = Tree { own: vec![Vec::new()], ..Tree::default() };
    let spent = (0_u32..).zip(own).filter(|(_, own)| **own > 0.0).map(|(node, own)| (node, *own));
    let mut heap = BinaryHeap::new();
    open(&mut inverted, &mut heap, NONE, spent.map(|(node, own)| (key(node), node, own)));
    let mut steps = 0;
    while let Some(Open { node, stacks, .. }) = heap.pop() {
        if inverted.len() >= nodes || steps >= STEPS_MAX {
            break;
        }
        steps += stacks.len();
        inverted.own[0][node as usize] = 0.0;
        let mut callers = Vec::with_capacity(stacks.len());
        for (at, own) in stacks {
            let mut parent = tree.parent[at as usize];
            while parent != NONE && !is_code(parent) {
                parent = tree.parent[parent as usize];
            }
            if parent == NONE {
                inverted.own[0][node as usize] += own;
            } else {
                callers.push((key(parent), parent, own));
            }
        }
        open(&mut inverted, &mut heap, node, callers.into_iter());
    }
    Some(Profile {
        weights: vec![profile.weights.get(weight)?.clone()],
        body: Body::Tree(inverted),
        order: Vec::new(),
        lines: super::super::model::Lines::default(),
        ..profile.clone()
    })
}

/// Adds a child for every function among the stacks, with all its weight until it is opened.
fn open(
    tree: &mut Tree,
    heap: &mut BinaryHeap<Open>,
    parent: u32,
    stacks: impl Iterator<Item = (u32, u32, f64)>,
) {
    let mut places: HashMap<u32, usize> = HashMap::new();
    let mut groups: Vec<Open> = Vec::new();
    for (frame, at, own) in stacks {
        let place = *places.entry(frame).or_insert_with(|| {
            tree.parent.push(parent);
            tree.frame.push(frame);
            tree.own[0].push(0.0);
            groups.push(Open { weight: 0.0, node: id(tree.parent.len() - 1), stacks: Vec::new() });
            groups.len() - 1
        });
        let group = &mut groups[place];
        group.weight += own;
        group.stacks.push((at, own));
        tree.own[0][group.node as usize] += own;
    }
    heap.extend(groups);
}
