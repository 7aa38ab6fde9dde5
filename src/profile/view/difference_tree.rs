//! Two call trees as one: each node with what it has on both sides.

use std::collections::HashMap;

use super::super::Limits;
use super::super::build::{Nodes, REST, id};
use super::super::model::{Body, Frame, FrameKind, FunctionKey, NONE, Profile, Tree, Weight};
use super::difference::{Incomparable, Pair, common_weight, noise, paired_keys, per_sample};

/// Two trees laid on each other. Every parent stands before its children.
#[derive(Clone, Debug, PartialEq)]
pub struct DifferenceTree {
    /// What is weighed.
    pub weight: Weight,
    /// The frames of both.
    pub frames: Vec<Frame>,
    /// The nodes; weight 0 is before, weight 1 is after.
    pub tree: Tree,
    /// What one sample weighs on each side; 0 for exact numbers, `None` where it is not known.
    per_sample: [Option<f64>; 2],
}

impl DifferenceTree {
    /// Whether a change is beyond the noise of the samples behind it; where that is not known any
    /// change is.
    pub fn is_beyond_noise(&self, pair: Pair) -> bool {
        pair.change().abs() > noise(pair, self.per_sample).unwrap_or(0.0)
    }
}

/// Lays the trees of two profiles on each other: nodes are the same when all functions on the
/// way to them are. `None` when one has no tree. Threads count only when both sides tell them.
///
/// # Errors
/// As [`super::difference::difference`].
pub fn difference_tree(
    before: &Profile,
    after: &Profile,
) -> Result<Option<DifferenceTree>, Incomparable> {
    let (at_before, at_after) = common_weight(before, after)?;
    let (Body::Tree(one), Body::Tree(other)) = (&before.body, &after.body) else {
        return Ok(None);
    };
    let has_threads = |profile: &Profile| profile.frames.iter().any(is_place);
    let with_threads = has_threads(before) && has_threads(after);
    let mut union = Union {
        known: HashMap::new(),
        frames: Vec::new(),
        nodes: Nodes::new(2, Limits::default().nodes * 2),
    };
    let keys = paired_keys(before, after);
    union.add((before, &keys[0]), one, 0, at_before, with_threads);
    union.add((after, &keys[1]), other, 1, at_after, with_threads);
    let mut frames = union.frames;
    let mut tree = Tree {
        parent: union.nodes.parent,
        frame: union.nodes.key,
        own: union.nodes.own,
        calls: Vec::new(),
    };
    if tree.frame.contains(&REST) {
        frames.push(Frame::special(FrameKind::Other, "(further stacks)"));
        let rest = id(frames.len() - 1);
        tree.frame.iter_mut().filter(|frame| **frame == REST).for_each(|frame| *frame = rest);
    }
    let per_sample = [per_sample(before, at_before), per_sample(after, at_after)];
    Ok(Some(DifferenceTree { weight: after.weights[at_after].clone(), frames, tree, per_sample }))
}

fn is_place(frame: &Frame) -> bool {
    matches!(frame.kind, FrameKind::Thread | FrameKind::Process)
}

struct Union<'p> {
    known: HashMap<FunctionKey<'p>, u32>,
    frames: Vec<Frame>,
    nodes: Nodes,
}

impl<'p> Union<'p> {
    fn add(
        &mut self,
        (profile, keys): (&Profile, &[FunctionKey<'p>]),
        tree: &Tree,
        side: usize,
        weight: usize,
        with_threads: bool,
    ) {
        let mut to: Vec<u32> = Vec::with_capacity(tree.len());
        let mut loose = Vec::new();
        for node in 0..tree.len() {
            let frame = &profile.frames[tree.frame[node] as usize];
            let parent = tree.parent[node];
            let above = if parent == NONE { NONE } else { to[parent as usize] };
            let own = tree.own[weight][node];
            if is_place(frame) && !with_threads {
                to.push(above);
                if above == NONE && own > 0.0 {
                    loose.push(own);
                } else if above != NONE {
                    self.nodes.add(above, side, own);
                }
                continue;
            }
            let key = self.frame(frame, keys[tree.frame[node] as usize]);
            let at = self.nodes.child(above, key);
            self.nodes.add(at, side, own);
            to.push(at);
        }
        // What a thread spent outside of any function.
        for own in loose {
            let at = self.nodes.child(NONE, REST);
            self.nodes.add(at, side, own);
        }
    }

    fn frame(&mut self, frame: &Frame, key: FunctionKey<'p>) -> u32 {
        *self.known.entry(key).or_insert_with(|| {
            self.frames.push(frame.clone());
            id(self.frames.len() - 1)
        })
    }
}
