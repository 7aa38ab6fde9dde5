//! Weights by function.

use super::super::build::{id, once_totals};
use super::super::model::{Body, FrameKind, FunctionKey, Profile, grouped};
use crate::record::profiles::TopFunction;

/// What one function has, of one weight.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCost {
    /// Its first frame in the profile's table.
    pub frame: u32,
    /// What it spent itself.
    pub own: f64,
    /// What it spent with all it called, recursion counted once; `None` where it is not known.
    pub total: Option<f64>,
    /// How often it was called; `None` where calls are not counted.
    pub calls: Option<u64>,
}

/// All functions of a profile, those that spent most themselves first. Threads and processes are
/// no functions. A weight that does not exist gives none.
pub fn functions(profile: &Profile, weight: usize) -> Vec<FunctionCost> {
    functions_by(profile, weight, &profile.keys())
}

/// As [`functions`]; `keys` tell for each frame which function it is.
pub(super) fn functions_by(
    profile: &Profile,
    weight: usize,
    keys: &[FunctionKey<'_>],
) -> Vec<FunctionCost> {
    let (function, first) = grouped(keys);
    let mut costs: Vec<FunctionCost> = first
        .iter()
        .map(|&frame| FunctionCost { frame, own: 0.0, total: None, calls: None })
        .collect();
    match &profile.body {
        Body::Tree(tree) => {
            let Some(own) = tree.own.get(weight) else { return Vec::new() };
            let group: Vec<u32> =
                tree.frame.iter().map(|frame| function[*frame as usize]).collect();
            let totals = once_totals(tree, weight, &group, costs.len());
            for (node, at) in group.iter().enumerate() {
                let cost = &mut costs[*at as usize];
                cost.own += own[node];
                if let Some(calls) = tree.calls.get(node) {
                    cost.calls = Some(cost.calls.unwrap_or(0).saturating_add(*calls));
                }
            }
            costs.iter_mut().zip(totals).for_each(|(cost, total)| cost.total = Some(total));
        }
        Body::Table(table) => {
            let Some(own) = table.own.get(weight) else { return Vec::new() };
            for (row, frame) in table.frame.iter().enumerate() {
                let cost = &mut costs[function[*frame as usize] as usize];
                cost.own += own[row];
                if let Some(total) = table.total.get(weight) {
                    cost.total = Some(cost.total.unwrap_or(0.0) + total[row]);
                }
                if let Some(calls) = table.calls.get(row) {
                    cost.calls = Some(cost.calls.unwrap_or(0).saturating_add(*calls));
                }
            }
        }
    }
    costs.retain(|cost| {
        let kind = profile.frames[cost.frame as usize].kind;
        !matches!(kind, FrameKind::Thread | FrameKind::Process)
            && (cost.own > 0.0
                || cost.total.is_some_and(|total| total > 0.0)
                || cost.calls.is_some())
    });
    costs.sort_by(|one, other| {
        let key = |cost: &FunctionCost| keys[cost.frame as usize];
        other.own.total_cmp(&one.own).then_with(|| key(one).cmp(&key(other)))
    });
    costs
}

/// The functions that matter most, over the profiles of a run: of each profile's first weight,
/// those that spent most themselves and those that spent most in total, at most `max` a profile.
/// In the order of what they spent themselves.
pub fn top<'p>(profiles: impl IntoIterator<Item = &'p Profile>, max: usize) -> Vec<TopFunction> {
    profiles
        .into_iter()
        .enumerate()
        .flat_map(|(at, profile)| top_of(id(at), profile, max))
        .collect()
}

fn top_of(place: u32, profile: &Profile, max: usize) -> Vec<TopFunction> {
    let costs = functions(profile, 0);
    let (Some(weight), sum) = (profile.weights.first(), profile.sum(0)) else {
        return Vec::new();
    };
    let mut chosen = vec![false; costs.len()];
    let by_own = max.div_ceil(2);
    chosen.iter_mut().take(by_own).for_each(|chosen| *chosen = true);
    let mut by_total: Vec<usize> = (0..costs.len()).collect();
    by_total.sort_by(|one, other| {
        let total = |at: usize| costs[at].total.unwrap_or(0.0);
        total(*other).total_cmp(&total(*one)).then(one.cmp(other))
    });
    let mut left = max.saturating_sub(by_own);
    for at in by_total {
        if left > 0 && !chosen[at] {
            chosen[at] = true;
            left -= 1;
        }
    }
    let chosen = costs.into_iter().zip(chosen).filter(|(_, chosen)| *chosen);
    chosen
        .map(|(cost, _)| {
            let frame = &profile.frames[cost.frame as usize];
            TopFunction {
                profile: place,
                step: profile.step.clone(),
                function: frame.function.clone(),
                file: frame.file.clone(),
                module: frame.module.clone(),
                origin: frame.origin,
                line: frame.line,
                weight: weight.name.clone(),
                unit: weight.unit.clone(),
                measured: weight.measured,
                own: cost.own,
                total: cost.total,
                share: if sum > 0.0 { cost.own / sum } else { 0.0 },
                calls: cost.calls,
            }
        })
        .collect()
}
