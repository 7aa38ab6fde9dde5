//! Builds a call tree from stacks, sample by sample, within bounds.
//!
//! Nodes are first told apart by function and executing line (a *site*), because that is what
//! samples hold and it is looked up once. At the end, sites of one function become one node, and
//! what they knew about lines goes into a table.

use std::collections::HashMap;

use super::Limits;
use super::model::{Frame, FrameKind, Lines, NONE, Order, Tree};
use super::pairs::Pairs;

/// Greatest single weight that is believed; sums of billions of them stay finite.
pub(super) const WEIGHT_MAX: f64 = 1e18;
/// Bytes of names that are kept, over all frames of a profile.
const NAME_BYTES_MAX: usize = 64 << 20;
/// Bytes of spellings that are remembered, to save decoding them again.
const SPELLING_BYTES_MAX: usize = 64 << 20;
/// A longer spelling is decoded each time.
const SPELLING_MAX: usize = 4 << 10;
/// Stretches of the order of time that are kept for a thread.
const STRETCHES_MAX: usize = 8 << 10;

/// `value` if it can be a weight: finite and from 0 up.
pub(super) fn weight(value: f64) -> Option<f64> {
    (0.0..=WEIGHT_MAX).contains(&value).then_some(value)
}

/// A count that came as a number; `None` when it is none.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
pub(super) fn count(value: f64) -> Option<u64> {
    (0.0..=9e15).contains(&value).then_some(value as u64)
}

/// A line number or an index that came as a number; 0 when it is none.
pub(super) fn small(value: f64) -> u32 {
    count(value).and_then(|value| u32::try_from(value).ok()).unwrap_or(0)
}

/// An index into a list that has fewer than 2^32 entries, which every list here has.
pub(super) fn id(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(NONE)
}

/// Nodes of a tree whose keys mean nothing yet.
pub(super) struct Nodes {
    limit: usize,
    pub(super) parent: Vec<u32>,
    pub(super) key: Vec<u32>,
    pub(super) own: Vec<Vec<f64>>,
    child: Pairs<u32>,
    /// The child of each node that was looked up last.
    last_child: Vec<u32>,
    last_root: u32,
    /// How many stacks were cut because the tree was full.
    pub(super) cut: u64,
}

/// The key of the root that takes what has no place any more.
pub(super) const REST: u32 = NONE - 1;

impl Nodes {
    /// No nodes, of so many weights.
    pub(super) fn new(weights: usize, limit: usize) -> Self {
        Self {
            limit,
            parent: Vec::new(),
            key: Vec::new(),
            own: vec![Vec::new(); weights],
            child: Pairs::default(),
            last_child: Vec::new(),
            last_root: NONE,
            cut: 0,
        }
    }

    /// The child of `parent` ([`NONE`]: a root) with that key. When the tree is full the parent
    /// itself: what lies below counts there.
    pub(super) fn child(&mut self, parent: u32, key: u32) -> u32 {
        let last = if parent == NONE { self.last_root } else { self.last_child[parent as usize] };
        if last != NONE && self.key[last as usize] == key {
            return last;
        }
        let node = if let Some(&known) = self.child.get(&(parent, key)) {
            known
        } else if self.parent.len() < self.limit {
            self.push(parent, key)
        } else {
            self.cut += 1;
            if parent != NONE {
                return parent;
            }
            match self.child.get(&(NONE, REST)) {
                Some(&known) => known,
                None => self.push(NONE, REST),
            }
        };
        if parent == NONE {
            self.last_root = node;
        } else {
            self.last_child[parent as usize] = node;
        }
        node
    }

    fn push(&mut self, parent: u32, key: u32) -> u32 {
        let node = id(self.parent.len());
        self.parent.push(parent);
        self.key.push(key);
        self.last_child.push(NONE);
        for own in &mut self.own {
            own.push(0.0);
        }
        self.child.insert((parent, key), node);
        node
    }

    /// Adds weight to a node. The value has passed [`weight`].
    pub(super) fn add(&mut self, node: u32, weight: usize, value: f64) {
        self.own[weight][node as usize] += value;
    }

    /// Puts the nodes into a builder below `parent`, now that the keys mean something. Gives for
    /// each node the builder's, or the first key that `site_of` does not know.
    pub(super) fn into_builder(
        self,
        builder: &mut Builder,
        parent: u32,
        mut site_of: impl FnMut(&mut Builder, u32) -> Option<u32>,
    ) -> Result<Vec<u32>, u32> {
        builder.nodes.cut += self.cut;
        let mut nodes: Vec<u32> = Vec::with_capacity(self.parent.len());
        for (node, (&above, &key)) in self.parent.iter().zip(&self.key).enumerate() {
            let above = if above == NONE { parent } else { nodes[above as usize] };
            let site = if key == REST { REST } else { site_of(builder, key).ok_or(key)? };
            let to = builder.child(above, site);
            for (weight, own) in self.own.iter().enumerate() {
                builder.add(to, weight, own[node]);
            }
            nodes.push(to);
        }
        Ok(nodes)
    }
}

/// Builds a tree.
pub(super) struct Builder {
    limits: Limits,
    frames: Vec<Frame>,
    frame_ids: HashMap<Frame, u32>,
    name_bytes: usize,
    /// Frame and line of each site.
    sites: Vec<(u32, u32)>,
    site_ids: Pairs<u32>,
    pub(super) nodes: Nodes,
    spellings: HashMap<Box<[u8]>, u32>,
    spelling_bytes: usize,
    /// Whether names were put together because there were too many.
    pub(super) names_full: bool,
}

/// What was built.
pub(super) struct Built {
    pub(super) frames: Vec<Frame>,
    pub(super) tree: Tree,
    pub(super) lines: Lines,
    /// For each node the builder gave out, the node of the tree.
    node_of: Vec<u32>,
}

impl Builder {
    /// A builder of trees with so many weights.
    pub(super) fn new(weights: usize, limits: Limits) -> Self {
        Self {
            limits,
            frames: Vec::new(),
            frame_ids: HashMap::new(),
            name_bytes: 0,
            sites: Vec::new(),
            site_ids: Pairs::default(),
            nodes: Nodes::new(weights, limits.nodes),
            spellings: HashMap::new(),
            spelling_bytes: 0,
            names_full: false,
        }
    }

    /// The frame's place in the table.
    pub(super) fn frame(&mut self, frame: Frame) -> u32 {
        if let Some(&known) = self.frame_ids.get(&frame) {
            return known;
        }
        let bytes = frame.function.len() + frame.file.len() + frame.module.len();
        let is_full =
            self.frames.len() >= self.limits.frames || self.name_bytes + bytes > NAME_BYTES_MAX;
        if is_full && frame.kind != FrameKind::Other {
            self.names_full = true;
            return self.frame(Frame::special(FrameKind::Other, "(further functions)"));
        }
        self.name_bytes += bytes;
        let at = id(self.frames.len());
        self.frames.push(frame.clone());
        self.frame_ids.insert(frame, at);
        at
    }

    /// The frame of a site.
    pub(super) fn frame_at(&self, site: u32) -> Option<&Frame> {
        let (frame, _) = self.sites.get(site as usize)?;
        self.frames.get(*frame as usize)
    }

    /// The site of a line in a frame; line 0 where it is not known.
    pub(super) fn site(&mut self, frame: Frame, line: u32) -> u32 {
        let frame = self.frame(frame);
        self.site_of(frame, line)
    }

    /// The site of a line in a frame of the table.
    pub(super) fn site_of(&mut self, frame: u32, line: u32) -> u32 {
        // A hostile file has as many lines as it likes; beyond this they say nothing.
        let line = if self.sites.len() < self.limits.frames * 4 { line } else { 0 };
        let next = id(self.sites.len());
        let site = *self.site_ids.entry((frame, line)).or_insert(next);
        if site == next {
            self.sites.push((frame, line));
        }
        site
    }

    /// The site a spelling stands for; `make` is asked when it is new.
    pub(super) fn spelled(&mut self, spelling: &[u8], make: impl FnOnce(&mut Self) -> u32) -> u32 {
        if let Some(&site) = self.spellings.get(spelling) {
            return site;
        }
        let site = make(self);
        if spelling.len() <= SPELLING_MAX && self.spelling_bytes < SPELLING_BYTES_MAX {
            self.spelling_bytes += spelling.len() + 64;
            self.spellings.insert(spelling.into(), site);
        }
        site
    }

    /// The child of `parent` ([`NONE`]: a root) at `site`, as [`Nodes::child`].
    pub(super) fn child(&mut self, parent: u32, site: u32) -> u32 {
        self.nodes.child(parent, site)
    }

    /// Adds weight to a node. The value has passed [`weight`].
    pub(super) fn add(&mut self, node: u32, weight: usize, value: f64) {
        self.nodes.add(node, weight, value);
    }

    /// A node beside `node` for a line of the same function: the two become one when the tree is
    /// finished, and the line's part is kept. `node` itself where there is no room for more.
    pub(super) fn at_line(&mut self, node: u32, line: u32) -> u32 {
        let (parent, key) = (self.nodes.parent[node as usize], self.nodes.key[node as usize]);
        let Some(&(frame, _)) = self.sites.get(key as usize) else { return node };
        if self.nodes.parent.len() >= self.limits.nodes {
            return node;
        }
        let site = self.site_of(frame, line);
        self.nodes.child(parent, site)
    }

    /// Multiplies all weights: brings them to their unit.
    pub(super) fn scale(&mut self, factor: f64) {
        self.nodes.own.iter_mut().flatten().for_each(|value| *value *= factor);
    }

    /// The tree.
    pub(super) fn finish(mut self) -> Built {
        if self.nodes.key.contains(&REST) {
            let rest = self.site(Frame::special(FrameKind::Other, "(further stacks)"), 0);
            self.nodes.key.iter_mut().filter(|key| **key == REST).for_each(|key| *key = rest);
        }
        let has_lines = self.sites.iter().any(|(_, line)| *line > 0);
        let lines = if has_lines { self.lines() } else { Lines::default() };
        let mut tree = Tree { own: vec![Vec::new(); self.nodes.own.len()], ..Tree::default() };
        let mut merged: Pairs<u32> = Pairs::default();
        let mut node_of = Vec::with_capacity(self.nodes.parent.len());
        for (node, &parent) in self.nodes.parent.iter().enumerate() {
            let parent = if parent == NONE { NONE } else { node_of[parent as usize] };
            let frame = self.sites[self.nodes.key[node] as usize].0;
            let at = *merged.entry((parent, frame)).or_insert_with(|| {
                tree.parent.push(parent);
                tree.frame.push(frame);
                for own in &mut tree.own {
                    own.push(0.0);
                }
                id(tree.parent.len() - 1)
            });
            for (sum, own) in tree.own.iter_mut().zip(&self.nodes.own) {
                sum[at as usize] += own[node];
            }
            node_of.push(at);
        }
        Built { frames: self.frames, tree, lines, node_of }
    }

    /// What every site has itself and with all below it, counted once where it is its own caller.
    fn lines(&self) -> Lines {
        let nodes = &self.nodes;
        let weights = nodes.own.len();
        let fine = Tree {
            parent: nodes.parent.clone(),
            frame: nodes.key.clone(),
            own: nodes.own.clone(),
            calls: Vec::new(),
        };
        let mut own = vec![vec![0.0; self.sites.len()]; weights];
        for (sums, values) in own.iter_mut().zip(&nodes.own) {
            for (site, value) in nodes.key.iter().zip(values) {
                sums[*site as usize] += value;
            }
        }
        let total: Vec<_> = (0..weights)
            .map(|weight| once_totals(&fine, weight, &nodes.key, self.sites.len()))
            .collect();
        let mut lines = Lines {
            own: vec![Vec::new(); weights],
            total: vec![Vec::new(); weights],
            ..Lines::default()
        };
        for (site, &(frame, line)) in
            self.sites.iter().enumerate().filter(|(_, (_, line))| *line > 0)
        {
            lines.frame.push(frame);
            lines.line.push(line);
            for weight in 0..weights {
                lines.own[weight].push(own[weight][site]);
                lines.total[weight].push(total[weight][site]);
            }
        }
        lines
    }
}

/// For each group of nodes, the weight of all stacks it is on, each counted once. `group` gives
/// each node's group, of which there are `groups`.
pub(super) fn once_totals(tree: &Tree, weight: usize, group: &[u32], groups: usize) -> Vec<f64> {
    let totals = tree.totals(weight);
    let mut sums = vec![0.0; groups];
    let depth = std::cell::RefCell::new(vec![0_u32; groups]);
    tree.children().walk(
        |node| {
            let at = group[node as usize] as usize;
            let mut depth = depth.borrow_mut();
            if depth[at] == 0 {
                sums[at] += totals[node as usize];
            }
            depth[at] += 1;
        },
        |node| depth.borrow_mut()[group[node as usize] as usize] -= 1,
    );
    sums
}

impl Built {
    /// The tree's node for one that the builder gave out.
    pub(super) fn node(&self, built: u32) -> u32 {
        self.node_of.get(built as usize).copied().unwrap_or(NONE)
    }

    /// The order of time in terms of the tree's nodes.
    pub(super) fn order(&self, thread: u32, stretches: Stretches) -> Order {
        let mut order = Order { thread, coarse: stretches.coarse, ..Order::default() };
        for (node, length) in stretches.list {
            let node = self.node(node);
            if order.node.last() == Some(&node)
                && let Some(last) = order.length.last_mut()
            {
                *last += length;
            } else {
                order.node.push(node);
                order.length.push(length);
            }
        }
        order
    }
}

/// The path from a root to the last sample's leaf: most of the next sample's path is the same.
#[derive(Debug, Default)]
pub(super) struct Path {
    site: Vec<u32>,
    node: Vec<u32>,
}

impl Path {
    /// The node above `depth`; [`NONE`] at the root.
    pub(super) fn node(&self, depth: usize) -> u32 {
        depth.checked_sub(1).and_then(|at| self.node.get(at)).copied().unwrap_or(NONE)
    }

    /// Goes from the node at `depth - 1` to its child at `site`, which then stands at `depth`.
    pub(super) fn step(&mut self, builder: &mut Builder, depth: usize, site: u32) -> u32 {
        if self.site.get(depth) == Some(&site) {
            return self.node[depth];
        }
        self.site.truncate(depth);
        self.node.truncate(depth);
        let parent = self.node.last().copied().unwrap_or(NONE);
        let node = builder.child(parent, site);
        self.site.push(site);
        self.node.push(node);
        node
    }
}

/// Samples in the order of time, in bounded memory.
#[derive(Debug, Default)]
pub(super) struct Stretches {
    list: Vec<(u32, f64)>,
    coarse: bool,
}

impl Stretches {
    /// The stretches: node and length.
    pub(super) fn list(&self) -> &[(u32, f64)] {
        &self.list
    }

    /// Adds a sample.
    pub(super) fn push(&mut self, node: u32, length: f64) {
        match self.list.last_mut() {
            Some((last, sum)) if *last == node => *sum += length,
            _ => self.list.push((node, length)),
        }
        if self.list.len() > 2 * STRETCHES_MAX {
            self.halve();
        }
    }

    /// Puts neighbours together; the heavier gives its node.
    fn halve(&mut self) {
        self.coarse = true;
        let list = std::mem::take(&mut self.list);
        for pair in list.chunks(2) {
            let length = pair.iter().map(|(_, length)| length).sum();
            let heaviest =
                pair.iter().fold((NONE, -1.0), |best, at| if at.1 > best.1 { *at } else { best });
            match self.list.last_mut() {
                Some((last, sum)) if *last == heaviest.0 => *sum += length,
                _ => self.list.push((heaviest.0, length)),
            }
        }
    }
}

/// Takes the frames that started the program out of the top of a tree: the profiler's own and
/// the interpreter's. Only nodes below nothing but such frames go; their children come up. What
/// they spent themselves stays, in one node of its own, so that the sum is the same.
pub(super) fn lift(built: &mut Built, is_stem: impl Fn(&Frame) -> bool) {
    let stem: Vec<bool> = built.frames.iter().map(is_stem).collect();
    let old = std::mem::take(&mut built.tree);
    let mut tree = Tree { own: vec![Vec::new(); old.own.len()], ..Tree::default() };
    let mut new_of: Vec<Option<u32>> = Vec::with_capacity(old.len());
    let mut merged: Pairs<u32> = Pairs::default();
    let start = id(built.frames.len());
    let mut push = |tree: &mut Tree, parent: u32, frame: u32| {
        *merged.entry((parent, frame)).or_insert_with(|| {
            tree.parent.push(parent);
            tree.frame.push(frame);
            tree.own.iter_mut().for_each(|own| own.push(0.0));
            id(tree.parent.len() - 1)
        })
    };
    for node in 0..old.len() {
        let (parent, frame) = (old.parent[node], old.frame[node]);
        let above = if parent == NONE { None } else { new_of[parent as usize] };
        let is_lifted = above.is_none() && stem[frame as usize];
        let has_own = old.own.iter().any(|own| own[node] > 0.0);
        let to = match (is_lifted, has_own) {
            (false, _) => Some(push(&mut tree, above.unwrap_or(NONE), frame)),
            (true, true) => Some(push(&mut tree, NONE, start)),
            (true, false) => None,
        };
        if let Some(to) = to {
            for (sum, own) in tree.own.iter_mut().zip(&old.own) {
                sum[to as usize] += own[node];
            }
        }
        new_of.push(if is_lifted { None } else { to });
    }
    if tree.frame.contains(&start) {
        built.frames.push(Frame::special(FrameKind::Marker, "(start of the program)"));
    }
    built.tree = tree;
    for node in &mut built.node_of {
        *node = new_of.get(*node as usize).copied().flatten().unwrap_or(NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Frame {
        Frame { function: name.to_owned(), ..Frame::default() }
    }

    #[test]
    fn lines_of_a_function_become_one_node() {
        let mut builder = Builder::new(1, Limits::default());
        let (main, hot, cold) = (
            builder.site(named("main"), 1),
            builder.site(named("f"), 10),
            builder.site(named("f"), 11),
        );
        let root = builder.child(NONE, main);
        let (a, b) = (builder.child(root, hot), builder.child(root, cold));
        builder.add(a, 0, 2.0);
        builder.add(b, 0, 3.0);
        let again = builder.child(a, hot);
        builder.add(again, 0, 4.0);
        let built = builder.finish();
        assert_eq!(built.tree.parent, [NONE, 0, 1]);
        assert_eq!(built.tree.own, [[0.0, 5.0, 4.0]]);
        assert_eq!(built.node(b), built.node(a));
        assert_eq!(
            (&built.lines.line, &built.lines.own[0]),
            (&vec![1, 10, 11], &vec![0.0, 6.0, 3.0])
        );
        assert_eq!(built.lines.total, [[9.0, 6.0, 3.0]], "recursion counts once");
    }

    #[test]
    fn a_full_tree_keeps_the_sum() {
        let limits = Limits { nodes: 10, frames: 50, ..Limits::default() };
        let mut builder = Builder::new(1, limits);
        for i in 0..100 {
            let mut node = NONE;
            for depth in 0..5 {
                let site = builder.site(named(&format!("f{i}.{depth}")), 0);
                node = builder.child(node, site);
            }
            builder.add(node, 0, 1.0);
        }
        assert!(builder.nodes.cut > 0 && builder.names_full);
        let built = builder.finish();
        assert!(built.tree.len() <= 11 && built.frames.len() <= 52);
        assert!((built.tree.own[0].iter().sum::<f64>() - 100.0).abs() < 1e-9);
    }

    #[test]
    fn the_start_of_a_program_is_lifted_off() {
        let mut builder = Builder::new(1, Limits::default());
        let sites: Vec<_> =
            ["boot", "boot2", "main", "boot"].map(|name| builder.site(named(name), 0)).into();
        let mut path = Path::default();
        let nodes: Vec<_> =
            (0..4).map(|depth| path.step(&mut builder, depth, sites[depth])).collect();
        for (node, value) in nodes.iter().zip([0.5, 0.0, 2.0, 3.0]) {
            builder.add(*node, 0, value);
        }
        let mut built = builder.finish();
        lift(&mut built, |frame| frame.function.starts_with("boot"));
        let names: Vec<_> = built
            .tree
            .frame
            .iter()
            .map(|at| built.frames[*at as usize].function.as_str())
            .collect();
        assert_eq!(names, ["(start of the program)", "main", "boot"]);
        assert_eq!(built.tree.parent, [NONE, NONE, 1]);
        assert_eq!(built.tree.own, [[0.5, 2.0, 3.0]]);
        assert_eq!((built.node(nodes[3]), built.node(nodes[0])), (2, NONE));
    }

    #[test]
    fn the_order_stays_small_and_whole() {
        let mut stretches = Stretches::default();
        for i in 0..100_000 {
            stretches.push(i % 7, 1.0);
        }
        assert!(stretches.coarse && stretches.list.len() <= 2 * STRETCHES_MAX);
        let sum: f64 = stretches.list.iter().map(|(_, length)| length).sum();
        assert!((sum - 100_000.0).abs() < 1e-6);
    }
}
