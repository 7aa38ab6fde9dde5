//! What every profile keeps to, whoever made it.

use super::model::{Body, NONE, Profile, Table, Tree};

impl Profile {
    /// Whether the parts fit each other: every index exists, parents stand before their children,
    /// lists have one length, numbers are finite and from 0 up.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self) -> Result<(), &'static str> {
        let weights = self.weights.len();
        if weights == 0 {
            return Err("nothing is weighed");
        }
        let nodes = match &self.body {
            Body::Tree(tree) => self.check_tree(tree)?,
            Body::Table(table) => self.check_table(table)?,
        };
        let lines = &self.lines;
        let count = lines.line.len();
        columns(&lines.own, weights, count, count == 0)?;
        columns(&lines.total, weights, count, true)?;
        if lines.frame.len() != count || !(lines.text.is_empty() || lines.text.len() == count) {
            return Err("the columns of the lines differ in length");
        }
        below(&lines.frame, self.frames.len(), "the frame of a line does not exist")?;
        for order in &self.order {
            if order.node.len() != order.length.len()
                || order.length.iter().any(|at| !(0.0..=1e28).contains(at))
            {
                return Err("the order of time has bad lengths");
            }
            let exists = |at: &u32| *at == NONE || (*at as usize) < nodes;
            if !exists(&order.thread) || !order.node.iter().all(exists) {
                return Err("a node of the order of time does not exist");
            }
        }
        Ok(())
    }

    fn check_tree(&self, tree: &Tree) -> Result<usize, &'static str> {
        let count = tree.parent.len();
        if tree.frame.len() != count || !(tree.calls.is_empty() || tree.calls.len() == count) {
            return Err("the columns of the tree differ in length");
        }
        columns(&tree.own, self.weights.len(), count, false)?;
        below(&tree.frame, self.frames.len(), "the frame of a node does not exist")?;
        let stands_before =
            |(node, parent): (usize, &u32)| *parent == NONE || (*parent as usize) < node;
        if !tree.parent.iter().enumerate().all(stands_before) {
            return Err("a node stands before its parent");
        }
        Ok(count)
    }

    fn check_table(&self, table: &Table) -> Result<usize, &'static str> {
        let (weights, count) = (self.weights.len(), table.frame.len());
        let fits = |length: usize| length == 0 || length == count;
        if !fits(table.calls.len()) || !fits(table.primitive_calls.len()) {
            return Err("the columns of the table differ in length");
        }
        columns(&table.own, weights, count, false)?;
        columns(&table.total, weights, count, true)?;
        below(&table.frame, self.frames.len(), "the frame of a row does not exist")?;
        for edge in &table.edges {
            below(&[edge.caller, edge.callee], count, "a row of a pair does not exist")?;
            for side in [&edge.own, &edge.total] {
                if !(side.is_empty() || side.len() == weights)
                    || side.iter().any(|at| !(0.0..=1e28).contains(at))
                {
                    return Err("a pair has bad weights");
                }
            }
        }
        Ok(count)
    }
}

fn below(list: &[u32], count: usize, what: &'static str) -> Result<(), &'static str> {
    if list.iter().all(|at| (*at as usize) < count) { Ok(()) } else { Err(what) }
}

/// A column for every weight, as long as it has to be; none at all where `may_miss`.
fn columns(
    columns: &[Vec<f64>],
    weights: usize,
    count: usize,
    may_miss: bool,
) -> Result<(), &'static str> {
    if columns.is_empty() && may_miss {
        return Ok(());
    }
    if columns.len() != weights || columns.iter().any(|column| column.len() != count) {
        return Err("there is not one column of numbers for every weight");
    }
    // Sums of billions of weights stay below this.
    if columns.iter().flatten().any(|value| !(0.0..=1e28).contains(value)) {
        return Err("a number is not finite or below 0");
    }
    Ok(())
}
