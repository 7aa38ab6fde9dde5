//! What the project's own functions cost with all that they call outside of it.
//!
//! A slower line often spends its time in a library: by what each function spent itself, only the
//! library's moved. Here what others spent is charged to the own function that waited for it.

use super::super::model::{Body, Edge, Frame, FrameKind, NONE, Profile, Table, Tree};
use crate::model::call::Origin;

/// How often what lies behind several libraries is passed on to their callers. What is left then
/// turns in circles, and is charged to nobody.
const PASSES: usize = 32;

/// For each function of the project its first frame, and what it is charged with: what it spent
/// itself and what the code of others spent on its behalf, other own functions apart.
///
/// Exact for call trees. Of tables that say who called whom, what one library spent for another is
/// shared among its callers by how long each waited. `None` for tables that do not say.
pub fn charged(profile: &Profile, weight: usize) -> Option<Vec<(u32, f64)>> {
    let (function, first) = profile.functions();
    let is_own = |frame: u32| {
        let frame = &profile.frames[frame as usize];
        frame.origin == Origin::Own && is_function(frame)
    };
    let mut sums = vec![0.0; first.len()];
    let mut charge = |frame: u32, amount: f64| sums[function[frame as usize] as usize] += amount;
    match &profile.body {
        Body::Tree(tree) => of_tree(tree, weight, &is_own, &mut charge)?,
        Body::Table(table) => of_table(table, weight, &is_own, &mut charge)?,
    }
    let own = first.into_iter().zip(sums).filter(|(frame, _)| is_own(*frame));
    Some(own.collect())
}

fn is_function(frame: &Frame) -> bool {
    frame.kind == FrameKind::Function
}

fn of_tree(
    tree: &Tree,
    weight: usize,
    is_own: &impl Fn(u32) -> bool,
    charge: &mut impl FnMut(u32, f64),
) -> Option<()> {
    let own = tree.own.get(weight)?;
    // The nearest own function on the way to the root. Every parent stands before its children.
    let mut bearer: Vec<Option<u32>> = Vec::with_capacity(tree.frame.len());
    for (node, frame) in tree.frame.iter().enumerate() {
        let parent = tree.parent[node];
        let above = if parent == NONE { None } else { bearer[parent as usize] };
        let bears = if is_own(*frame) { Some(*frame) } else { above };
        if let Some(frame) = bears {
            charge(frame, own[node]);
        }
        bearer.push(bears);
    }
    Some(())
}

fn of_table(
    table: &Table,
    weight: usize,
    is_own: &impl Fn(u32) -> bool,
    charge: &mut impl FnMut(u32, f64),
) -> Option<()> {
    let own = table.own.get(weight)?;
    let known = |edge: &&Edge| edge.own.len() > weight;
    if !table.edges.iter().any(|edge| known(&edge)) {
        return None;
    }
    let row_is_own: Vec<bool> = table.frame.iter().map(|frame| is_own(*frame)).collect();
    for (row, frame) in table.frame.iter().enumerate().filter(|(row, _)| row_is_own[*row]) {
        charge(*frame, own[row]);
    }
    let mut waits = vec![0.0; table.frame.len()];
    for edge in table.edges.iter().filter(known).filter(|edge| !row_is_own[edge.callee as usize]) {
        waits[edge.caller as usize] += edge.own[weight];
    }
    let waited = |edge: &Edge| {
        edge.total.get(weight).or_else(|| edge.own.get(weight)).copied().unwrap_or(0.0)
    };
    let outward = |edge: &&Edge| edge.caller != edge.callee && !row_is_own[edge.callee as usize];
    let mut all = vec![0.0; table.frame.len()];
    for edge in table.edges.iter().filter(outward) {
        all[edge.callee as usize] += waited(edge);
    }
    for _ in 0..PASSES {
        for (row, frame) in table.frame.iter().enumerate().filter(|(row, _)| row_is_own[*row]) {
            charge(*frame, std::mem::take(&mut waits[row]));
        }
        let mut next = vec![0.0; waits.len()];
        for edge in table.edges.iter().filter(outward) {
            let callee = edge.callee as usize;
            if waits[callee] > 0.0 && all[callee] > 0.0 {
                next[edge.caller as usize] += waits[callee] * waited(edge) / all[callee];
            }
        }
        waits = next;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::metric::Unit;
    use crate::profile::model::{Measured, Weight};
    use crate::profile::sniff::Kind;

    const NAMES: [&str; 5] = ["main", "update", "sort", "compare", "report"];

    /// `main` calls `update` and `report`, both call the library's `sort`, and that calls the
    /// runtime's `compare`.
    fn profile(body: Body) -> Profile {
        let origin = |at: usize| match at {
            2 => Origin::Library,
            3 => Origin::Runtime,
            _ => Origin::Own,
        };
        let frame = |(at, name): (usize, &&str)| Frame {
            function: (*name).to_owned(),
            origin: origin(at),
            ..Frame::default()
        };
        Profile {
            name: String::new(),
            step: None,
            format: Kind::Pstats,
            tool: None,
            weights: vec![Weight::new("time", Unit::Seconds, Measured::Traced)],
            frames: NAMES.iter().enumerate().map(frame).collect(),
            body,
            lines: crate::profile::model::Lines::default(),
            order: Vec::new(),
            samples: None,
            interval: None,
            duration: None,
        }
    }

    fn named(profile: &Profile) -> Vec<(&str, f64)> {
        let charged = charged(profile, 0).unwrap();
        let name = |frame: u32| profile.frames[frame as usize].function.as_str();
        charged.into_iter().map(|(frame, cost)| (name(frame), (cost * 1e9).round() / 1e9)).collect()
    }

    const EXPECTED: [(&str, f64); 3] = [("main", 1.0), ("update", 11.0), ("report", 4.0)];

    #[test]
    fn a_tree_charges_whoever_waited() {
        let tree = Tree {
            parent: vec![NONE, 0, 1, 2, 0, 4, 5],
            frame: vec![0, 1, 2, 3, 4, 2, 3],
            own: vec![vec![1.0, 2.0, 3.0, 6.0, 1.0, 1.0, 2.0]],
            calls: Vec::new(),
        };
        assert_eq!(named(&profile(Body::Tree(tree))), EXPECTED);
    }

    #[test]
    fn a_table_charges_by_how_long_each_caller_waited() {
        let edge = |caller, callee, own, total| Edge {
            caller,
            callee,
            calls: None,
            own: vec![own],
            total: vec![total],
        };
        let table = Table {
            frame: vec![0, 1, 2, 3, 4],
            own: vec![vec![1.0, 2.0, 4.0, 8.0, 1.0]],
            edges: vec![
                edge(0, 1, 2.0, 11.0),
                edge(0, 4, 1.0, 4.0),
                edge(1, 2, 3.0, 9.0),
                edge(4, 2, 1.0, 3.0),
                edge(2, 3, 8.0, 8.0),
            ],
            ..Table::default()
        };
        assert_eq!(named(&profile(Body::Table(table.clone()))), EXPECTED);
        let silent = Table { edges: Vec::new(), ..table };
        assert!(charged(&profile(Body::Table(silent)), 0).is_none());
    }

    #[test]
    fn libraries_that_call_each_other_end() {
        let edge =
            |caller, callee| Edge { caller, callee, calls: None, own: vec![1.0], total: vec![4.0] };
        let table = Table {
            frame: vec![0, 1, 2, 3, 4],
            own: vec![vec![1.0, 0.0, 2.0, 1.0, 0.0]],
            edges: vec![edge(0, 2), edge(2, 3), edge(3, 2)],
            ..Table::default()
        };
        let profile = profile(Body::Table(table));
        let charged = named(&profile);
        assert_eq!(charged[0].0, "main");
        assert!((3.9..=4.0).contains(&charged[0].1), "{charged:?}");
    }
}
