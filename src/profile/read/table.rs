//! Builds a table of functions.

use std::collections::HashMap;

use super::super::Limits;
use super::super::build::id;
use super::super::model::{Edge, Frame, FrameKind, Table};

/// Builds a table; rows of one frame become one.
pub(super) struct TableBuilder {
    limits: Limits,
    frames: Vec<Frame>,
    rows: HashMap<Frame, u32>,
    table: Table,
    edges: HashMap<(u32, u32), usize>,
}

impl TableBuilder {
    /// A table with so many weights.
    pub(super) fn new(weights: usize, limits: Limits) -> Self {
        let table = Table {
            own: vec![Vec::new(); weights],
            total: vec![Vec::new(); weights],
            ..Table::default()
        };
        Self { limits, frames: Vec::new(), rows: HashMap::new(), table, edges: HashMap::new() }
    }

    /// The row of a frame.
    pub(super) fn row(&mut self, frame: Frame) -> u32 {
        if let Some(&row) = self.rows.get(&frame) {
            return row;
        }
        if self.frames.len() >= self.limits.frames && frame.kind != FrameKind::Other {
            return self.row(Frame::special(FrameKind::Other, "(further functions)"));
        }
        let row = id(self.frames.len());
        self.frames.push(frame.clone());
        self.rows.insert(frame, row);
        self.table.frame.push(row);
        for column in self.table.own.iter_mut().chain(&mut self.table.total) {
            column.push(0.0);
        }
        self.table.calls.push(0);
        self.table.primitive_calls.push(0);
        row
    }

    /// Adds weight to a row.
    pub(super) fn add(&mut self, row: u32, weight: usize, own: f64, total: f64) {
        self.table.own[weight][row as usize] += own;
        self.table.total[weight][row as usize] += total;
    }

    /// Adds calls to a row.
    pub(super) fn count(&mut self, row: u32, calls: u64, primitive: u64) {
        let row = row as usize;
        self.table.calls[row] = self.table.calls[row].saturating_add(calls);
        self.table.primitive_calls[row] = self.table.primitive_calls[row].saturating_add(primitive);
    }

    /// Adds a pair of caller and callee; one that is there already gets more.
    pub(super) fn edge(&mut self, edge: Edge) {
        let next = self.table.edges.len();
        let at = *self.edges.entry((edge.caller, edge.callee)).or_insert(next);
        let Some(known) = self.table.edges.get_mut(at) else {
            self.table.edges.push(edge);
            return;
        };
        known.calls = match (known.calls, edge.calls) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        for (into, from) in [(&mut known.own, edge.own), (&mut known.total, edge.total)] {
            if into.is_empty() {
                *into = from;
            } else {
                into.iter_mut().zip(from).for_each(|(sum, value)| *sum += value);
            }
        }
    }

    /// The sums of the first weight, of calls and of primitive calls.
    pub(super) fn sums(&self) -> (f64, u64, u64) {
        let sum = |list: &[u64]| list.iter().fold(0_u64, |sum, value| sum.saturating_add(*value));
        let own = self.table.own.first().map_or(0.0, |own| own.iter().sum());
        (own, sum(&self.table.calls), sum(&self.table.primitive_calls))
    }

    /// For each weight, what all rows spent themselves.
    pub(super) fn sums_of_all(&self) -> Vec<f64> {
        self.table.own.iter().map(|own| own.iter().sum()).collect()
    }

    /// Brings totals above these bounds down to them; says how many rows had one.
    pub(super) fn cap_totals(&mut self, bounds: &[f64]) -> u64 {
        let mut capped = vec![false; self.table.frame.len()];
        for (column, bound) in self.table.total.iter_mut().zip(bounds) {
            for (row, total) in column.iter_mut().enumerate().filter(|(_, total)| **total > *bound)
            {
                *total = *bound;
                capped[row] = true;
            }
        }
        capped.into_iter().filter(|capped| *capped).count() as u64
    }

    /// The frames and the table, with calls and totals where the format has them.
    pub(super) fn finish(mut self, has_calls: bool, has_totals: bool) -> (Vec<Frame>, Table) {
        if !has_calls {
            self.table.calls.clear();
            self.table.primitive_calls.clear();
        }
        if !has_totals {
            self.table.total.clear();
        }
        (self.frames, self.table)
    }
}
