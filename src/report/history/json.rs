//! A history as JSON.

use serde_json::{Value, json as object};

use super::HistoryInput;
use super::words::{direction, sentences};
use crate::analysis::history::judgement::{ChangePoint, Estimate};
use crate::analysis::history::series::{Aside, Scale};

/// The history as JSON. Points are named by their place, from 0; `null` is a number that there
/// is not.
pub fn json(input: &HistoryInput) -> Value {
    let found = &input.judgement;
    let count = |aside| input.points.iter().filter(|point| point.aside == Some(aside)).count();
    let failed = input.points.iter().filter(|point| point.failed).count();
    let missing = input.points.iter().filter(|point| point.value.is_none() && !point.failed);
    object!({
        "metric": input.metric,
        "job": input.job,
        "about": input.about,
        "unit": input.unit.as_str(),
        "better": input.better,
        "scale": match found.scale { Scale::Ratio => "ratio", Scale::Difference => "difference" },
        "exact": found.exact,
        "noise": number(found.noise),
        "points": input.points.len(),
        "runs": runs(input),
        "beside": input.beside.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "judged": found.judged,
        "failed": failed,
        "missing": missing.count(),
        "disturbed": count(Aside::Disturbed),
        "calibrating": found.calibrating,
        "machines": found.machines.iter().map(|machine| object!({
            "point": machine.point,
            "points": machine.points,
            "offset": number(machine.offset),
        })).collect::<Vec<_>>(),
        "levels": found.levels.iter().map(|level| object!({
            "from": level.from,
            "to": level.to,
            "points": level.points,
            "value": number(level.value),
        })).collect::<Vec<_>>(),
        "change_points":
            found.change_points.iter().map(|change| change_point(input, change)).collect::<Vec<_>>(),
        "transients": found.transients.iter().map(|transient| object!({
            "from": transient.from,
            "to": transient.to,
            "points": transient.points,
            "level": number(transient.level),
            "value": number(transient.value),
        })).collect::<Vec<_>>(),
        "trend": found.trend.map(|trend| object!({
            "from": trend.from,
            "to": trend.to,
            "change": estimate(&trend.change),
        })),
        "limits": found.limits.map(|limits| object!({
            "points": limits.points,
            "level": number(limits.level),
            "low": number(limits.low),
            "high": number(limits.high),
            "enough": limits.enough,
        })),
        "words": sentences(input),
    })
}

/// The points of a repository's history; a bare series is known to who brought it.
fn runs(input: &HistoryInput) -> Vec<Value> {
    let from_repository = input.points.iter().filter(|point| point.path.is_some());
    from_repository
        .map(|point| {
            object!({
                "path": point.path,
                "commit": point.commit,
                "planned": point.time,
                "value": point.value.and_then(number),
                "failed": point.failed,
                "disturbed": point.aside == Some(Aside::Disturbed),
                "pull_request": point.pull_request,
            })
        })
        .collect()
}

fn change_point(input: &HistoryInput, change: &ChangePoint) -> Value {
    let commit = |at: usize| input.points.get(at).and_then(|point| point.commit.as_deref());
    object!({
        "index": change.index,
        "after": change.after,
        "range": [change.range.0, change.range.1],
        "state": change.state.word(),
        "ratio": change.ratio.and_then(|ratio| number(ratio.value)),
        "ratio_low": change.ratio.and_then(|ratio| number(ratio.low)),
        "ratio_high": change.ratio.and_then(|ratio| number(ratio.high)),
        "difference": estimate(&change.difference),
        "from": number(change.from),
        "to": number(change.to),
        "p": change.p.and_then(number),
        "points": change.points,
        "gap": change.gap,
        "machine_changed": change.machine_changed,
        "direction": direction(input.better, change),
        "commit": commit(change.index),
        "commit_before": change.after.and_then(commit),
        "commits": change.after.and_then(|after| input.commits_between(after, change.index)),
        "pull_request": input.points.get(change.index).and_then(|point| point.pull_request),
    })
}

fn estimate(estimate: &Estimate) -> Value {
    object!({
        "value": number(estimate.value),
        "low": number(estimate.low),
        "high": number(estimate.high),
    })
}

/// JSON has no infinity.
fn number(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
