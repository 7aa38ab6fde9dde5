//! A profile: what was spent where, whatever tool saw it.

use std::collections::{BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sniff::Kind;
use crate::model::metric::Unit;

pub use crate::model::call::{Measured, Origin};

/// No node, no frame: the parent of a root.
pub const NONE: u32 = u32::MAX;

/// One profile: a table of frames, and weights on a tree or on a table of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// What tells it from the other profiles of its file (`Memory`); empty without.
    pub name: String,
    /// The step of the job it belongs to; set by who knows it, `None` for the whole job.
    pub step: Option<String>,
    /// The format it was read from.
    pub format: Kind,
    /// The profiler, where the file names it: `austin 3.7.0`.
    pub tool: Option<String>,
    /// What was weighed; at least one. The first is what views show first.
    pub weights: Vec<Weight>,
    /// Functions and other places; nodes and rows refer to them by index.
    pub frames: Vec<Frame>,
    /// The weights.
    pub body: Body,
    /// Weights by source line, where the profiler has them.
    pub lines: Lines,
    /// The samples in the order of time, one list a thread, where the profiler has it.
    pub order: Vec<Order>,
    /// How many samples were taken; `None` for a profiler that takes none or does not say.
    pub samples: Option<u64>,
    /// Seconds between samples as asked for; `None` where it is not in the file.
    pub interval: Option<f64>,
    /// Seconds of wall clock the profiler was on; `None` where it is not in the file.
    pub duration: Option<f64>,
}

/// One kind of weight: a column of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Weight {
    /// What is weighed, for people: `time`, `samples`, `memory`, `allocations`, `Ir`.
    pub name: String,
    /// Its unit. A share stays [`Unit::Ratio`] and a number of samples [`Unit::Count`]: neither is
    /// ever made into seconds.
    pub unit: Unit,
    /// How it was come by.
    pub measured: Measured,
}

impl Weight {
    /// A weight.
    pub fn new(name: &str, unit: Unit, measured: Measured) -> Self {
        Self { name: name.to_owned(), unit, measured }
    }
}

/// A function, or another thing that has weight.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// The function's name, with its class where that is known.
    pub function: String,
    /// Where it is written, such that two runs say the same; empty where it is not known.
    pub file: String,
    /// The line it is defined on; 0 where it is not known.
    pub line: u32,
    /// What it belongs to: a package, a crate, a shared object; of own code the file's folder or name.
    pub module: String,
    /// Whose code it is.
    pub origin: Origin,
    /// What it is.
    pub kind: FrameKind,
}

impl Frame {
    /// A frame that is no function.
    pub fn special(kind: FrameKind, name: &str) -> Self {
        Self { function: name.to_owned(), kind, origin: Origin::None, ..Self::default() }
    }

    /// What makes two frames the same function where no other bears its name: all but the line,
    /// which moves with every edit. [`Profile::keys`] tells those of one name apart.
    pub fn key(&self) -> FunctionKey<'_> {
        FunctionKey {
            kind: self.kind,
            file: &self.file,
            module: &self.module,
            function: &self.function,
            nth: 0,
        }
    }
}

/// What makes two frames the same function, within one profile and between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionKey<'a> {
    /// What it is.
    pub kind: FrameKind,
    /// Its file.
    pub file: &'a str,
    /// Its module.
    pub module: &'a str,
    /// Its name.
    pub function: &'a str,
    /// Which of the functions of that name there, in the order of their lines: methods of several
    /// classes, `<lambda>`. 0 for the first, and where lines are not known.
    pub nth: u32,
}

/// What a frame is.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FrameKind {
    /// A function.
    #[default]
    Function,
    /// A process: only as a root.
    Process,
    /// A thread: only as a root or below a process.
    Thread,
    /// No code: idle time, the garbage collector, what a profiler could not see.
    Marker,
    /// Several things put together, for a view or because there were too many.
    Other,
}

/// The weights of a profile.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Who called whom is known for every bit of weight.
    Tree(Tree),
    /// Weights by function, with or without who calls whom.
    Table(Table),
}

/// A call tree. Every parent stands before its children.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    /// The caller of each node; [`NONE`] for a root.
    pub parent: Vec<u32>,
    /// The frame of each node.
    pub frame: Vec<u32>,
    /// For each weight, what each node spent itself: finite, from 0 up.
    pub own: Vec<Vec<f64>>,
    /// How often each node was called; empty where the profiler does not count calls.
    pub calls: Vec<u64>,
}

/// Weights by function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The frame of each row.
    pub frame: Vec<u32>,
    /// For each weight, what each row spent itself.
    pub own: Vec<Vec<f64>>,
    /// For each weight, what each row spent with all it called, recursion counted once; empty
    /// where the profiler does not say.
    pub total: Vec<Vec<f64>>,
    /// How often each row was called; empty where the profiler does not count calls.
    pub calls: Vec<u64>,
    /// How often each row was called not by itself; empty where the profiler does not say.
    pub primitive_calls: Vec<u64>,
    /// Who calls whom.
    pub edges: Vec<Edge>,
}

/// One function calling another.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The calling row.
    pub caller: u32,
    /// The called row.
    pub callee: u32,
    /// How often; `None` where it is not counted.
    pub calls: Option<u64>,
    /// For each weight, what the callee spent itself when called so; empty where it is not known.
    pub own: Vec<f64>,
    /// For each weight, what the callee and all below spent when called so; empty where it is
    /// not known.
    pub total: Vec<f64>,
}

/// Weights by source line. All lists have one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    /// The frame the line is in.
    pub frame: Vec<u32>,
    /// The line, from 1.
    pub line: Vec<u32>,
    /// For each weight, what was spent on the line itself.
    pub own: Vec<Vec<f64>>,
    /// For each weight, what was spent on the line and in what it called, recursion counted once;
    /// empty where it is not known.
    pub total: Vec<Vec<f64>>,
    /// The source of the line; empty where the profiler does not have it.
    pub text: Vec<String>,
}

/// Samples of one thread in the order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Order {
    /// The node of the thread; [`NONE`] where there is only one.
    pub thread: u32,
    /// The leaf of each stretch.
    pub node: Vec<u32>,
    /// How much of the first weight each stretch has.
    pub length: Vec<f64>,
    /// Whether short stretches were put together, each such standing for its heaviest leaf.
    pub coarse: bool,
}

impl Tree {
    /// How many nodes it has.
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.parent.is_empty()
    }

    /// What each node spent with all below it.
    pub fn totals(&self, weight: usize) -> Vec<f64> {
        let mut totals = self.own.get(weight).cloned().unwrap_or_default();
        for node in (0..totals.len()).rev() {
            let parent = self.parent[node];
            if parent != NONE {
                totals[parent as usize] += totals[node];
            }
        }
        totals
    }

    /// The children of every node, and the roots.
    pub fn children(&self) -> Children {
        Children::of(&self.parent)
    }
}

/// The children of every node of a tree, in the tree's order.
#[derive(Clone, Debug)]
pub struct Children {
    first: Vec<u32>,
    child: Vec<u32>,
}

impl Children {
    /// From the parents of all nodes.
    pub fn of(parent: &[u32]) -> Self {
        // The last place holds the roots.
        let places = parent.len() + 1;
        let place = |parent: u32| if parent == NONE { places - 1 } else { parent as usize };
        let mut first = vec![0_u32; places + 1];
        for &parent in parent {
            first[place(parent) + 1] += 1;
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let mut next = first.clone();
        let mut child = vec![0; parent.len()];
        for (node, &parent) in (0_u32..).zip(parent) {
            let at = &mut next[place(parent)];
            child[*at as usize] = node;
            *at += 1;
        }
        Self { first, child }
    }

    /// The children of a node; of [`NONE`] the roots.
    pub fn get(&self, node: u32) -> &[u32] {
        let place = if node == NONE { self.first.len() - 2 } else { node as usize };
        &self.child[self.first[place] as usize..self.first[place + 1] as usize]
    }

    /// Walks the tree depth first: `enter` before a node's children, `leave` after them.
    pub fn walk(&self, mut enter: impl FnMut(u32), mut leave: impl FnMut(u32)) {
        let mut stack: Vec<(u32, usize)> = vec![(NONE, 0)];
        while let Some((node, next)) = stack.last_mut() {
            if let Some(&child) = self.get(*node).get(*next) {
                *next += 1;
                enter(child);
                stack.push((child, 0));
            } else {
                if *node != NONE {
                    leave(*node);
                }
                stack.pop();
            }
        }
    }
}

impl Profile {
    /// A profile of which nothing else is known.
    pub fn new(format: Kind, weights: Vec<Weight>, frames: Vec<Frame>, body: Body) -> Self {
        Self {
            name: String::new(),
            step: None,
            format,
            tool: None,
            weights,
            frames,
            body,
            lines: Lines::default(),
            order: Vec::new(),
            samples: None,
            interval: None,
            duration: None,
        }
    }

    /// The sum of what everything spent itself.
    pub fn sum(&self, weight: usize) -> f64 {
        let own = match &self.body {
            Body::Tree(tree) => &tree.own,
            Body::Table(table) => &table.own,
        };
        own.get(weight).map_or(0.0, |own| own.iter().sum())
    }

    /// The tree, where there is one.
    pub fn tree(&self) -> Option<&Tree> {
        match &self.body {
            Body::Tree(tree) => Some(tree),
            Body::Table(_) => None,
        }
    }

    /// For each frame what makes it the same function as another. Those of one name in one file
    /// are told apart by the order of the lines on which they are defined.
    pub fn keys(&self) -> Vec<FunctionKey<'_>> {
        let mut lines: HashMap<FunctionKey<'_>, BTreeSet<u32>> = HashMap::new();
        for frame in self.frames.iter().filter(|frame| frame.line > 0) {
            lines.entry(frame.key()).or_default().insert(frame.line);
        }
        let mut keys: Vec<FunctionKey<'_>> = self.frames.iter().map(Frame::key).collect();
        for (key, frame) in keys.iter_mut().zip(&self.frames) {
            if let Some(lines) = lines.get(key) {
                key.nth = super::build::id(lines.range(..frame.line).count());
            }
        }
        keys
    }

    /// For each frame the number of its function. Also gives, for each function, its first frame.
    pub fn functions(&self) -> (Vec<u32>, Vec<u32>) {
        grouped(&self.keys())
    }
}

/// For each key the number of its group, and for each group its first place.
pub fn grouped(keys: &[FunctionKey<'_>]) -> (Vec<u32>, Vec<u32>) {
    let mut known = HashMap::new();
    let mut first = Vec::new();
    let group = (0_u32..)
        .zip(keys)
        .map(|(at, key)| {
            *known.entry(key).or_insert_with(|| {
                first.push(at);
                super::build::id(first.len() - 1)
            })
        })
        .collect();
    (group, first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_and_children() {
        let tree = Tree {
            parent: vec![NONE, 0, 0, 1, NONE],
            frame: vec![0; 5],
            own: vec![vec![1.0, 2.0, 3.0, 4.0, 5.0]],
            calls: Vec::new(),
        };
        assert_eq!(tree.totals(0), [10.0, 6.0, 3.0, 4.0, 5.0]);
        let children = tree.children();
        assert_eq!(children.get(NONE), [0, 4]);
        assert_eq!(children.get(0), [1, 2]);
        assert!(children.get(3).is_empty());
        let order = std::cell::RefCell::new(Vec::new());
        children.walk(
            |node| order.borrow_mut().push(format!("+{node}")),
            |node| order.borrow_mut().push(format!("-{node}")),
        );
        assert_eq!(order.into_inner().concat(), "+0+1+3-3-1+2-2-0+4-4");
    }

    #[test]
    fn nothing_is_no_trouble() {
        assert!(Tree::default().totals(0).is_empty());
        assert!(Tree::default().children().get(NONE).is_empty());
    }
}
