//! Numbers that equal code gives equally, such as counts of instructions: every change is real.

use std::collections::BTreeMap;

use super::boundary::Evidence;
use super::levels::Boundary;
use super::series::Judged;

/// So many pairs of points of one commit must agree before numbers are taken as exact.
const PAIRS: usize = 2;

/// Whether the numbers of `judged` are exact. What was `declared` holds unless points of one
/// commit contradict it.
pub(super) fn is_exact(judged: &Judged, declared: Option<bool>) -> bool {
    let (mut alike, mut unlike) = (0, 0);
    for i in 1..judged.y.len() {
        if !judged.may_begin[i] {
            if judged.values[i].to_bits() == judged.values[i - 1].to_bits() {
                alike += 1;
            } else {
                unlike += 1;
            }
        }
    }
    match declared {
        _ if unlike > 0 => false,
        Some(declared) => declared,
        None => alike >= PAIRS && repeats(judged),
    }
}

/// Whether some commits share a number: numbers that are never the same twice are no counts.
fn repeats(judged: &Judged) -> bool {
    let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
    for (value, begins) in judged.values.iter().zip(&judged.may_begin) {
        *seen.entry(value.to_bits()).or_default() += usize::from(*begins);
    }
    seen.values().any(|count| *count > 1)
}

/// A boundary wherever the number changes.
pub(super) fn changes(judged: &Judged) -> Vec<Boundary> {
    let changes = (1..judged.y.len())
        .filter(|i| judged.may_begin[*i])
        .filter(|i| judged.values[*i].to_bits() != judged.values[i - 1].to_bits());
    let boundary = |at: usize| {
        let shift = judged.y[at] - judged.y[at - 1];
        let evidence = Evidence { shift, error: 0.0, freedom: f64::INFINITY, p: 0.0 };
        Boundary { at, evidence, confirmed: true }
    };
    changes.map(boundary).collect()
}
