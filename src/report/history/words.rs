//! What was found in a history, in sentences.

use std::fmt::Write as _;

use super::HistoryInput;
use crate::analysis::history::judgement::{ChangePoint, Estimate, State, Transient};
use crate::analysis::history::series::Scale;
use crate::model::metric::{Better, Unit};
use crate::model::quantity::human;
use crate::report::view::plural;

/// A new level is confirmed or withdrawn when it has so many points.
const TO_CONFIRM: usize = 6;
/// What an unusual run means.
const UNUSUAL: &str = "It may be chance: further runs decide.";
/// Beyond so many times, a share is told as a factor.
const FACTOR: f64 = 11.0;

/// Everything that was found, a sentence or two each, in the order of the points.
pub(in crate::report) fn sentences(input: &HistoryInput) -> Vec<String> {
    let found = &input.judgement;
    let mut told: Vec<(usize, String)> = Vec::new();
    for change in &found.change_points {
        told.push((change.index, change_sentence(input, change)));
    }
    for transient in &found.transients {
        told.push((transient.from, transient_sentence(input, transient)));
    }
    told.sort_by_key(|(at, _)| *at);
    let mut told: Vec<String> = told.into_iter().map(|(_, sentence)| sentence).collect();
    if let Some(trend) = &found.trend {
        told.push(format!(
            "The level moves slowly: {} from {} to {}. No single commit did it.",
            interval_words(found.scale, &trend.change, &input.unit),
            input.name_of(trend.from),
            input.name_of(trend.to),
        ));
    }
    if told.is_empty() && found.judged > 0 {
        told.push(format!("No change of the level in {}.", plural(found.judged, "run")));
    }
    told.push(visible(input));
    told.extend(kept_out(input));
    if !input.beside.is_empty() {
        let beside: Vec<String> =
            input.beside.iter().map(|(what, count)| format!("{count} {what}")).collect();
        told.push(format!("Beside the history: {}.", beside.join(", ")));
    }
    told
}

/// `rose 8.0 % (95 % CI +5.1 % to +11 %)`.
pub(in crate::report) fn change_words(change: &ChangePoint, unit: &Unit) -> String {
    let verb = if change.to > change.from { "rose" } else { "fell" };
    let (from, to) = (human(change.from, unit), human(change.to, unit));
    match change.ratio {
        Some(ratio) if ratio.value.is_finite() => {
            // The reach of an unusual run is no interval of its size.
            let sure =
                ratio.low.to_bits() == ratio.high.to_bits() || change.state == State::Unusual;
            let interval = if sure {
                String::new()
            } else {
                format!(", 95 % CI {} to {}", signed(ratio.low), signed(ratio.high))
            };
            format!("{verb} {} ({from} to {to}{interval})", unsigned(ratio.value))
        }
        _ if change.from == 0.0 => format!("appeared: it was 0 and is {to}"),
        _ => {
            let by = human(change.difference.value.abs(), unit);
            format!("{verb} by {by} ({from} to {to})")
        }
    }
}

fn change_sentence(input: &HistoryInput, change: &ChangePoint) -> String {
    let words = change_words(change, &input.unit);
    let place = place(input, change);
    let points = plural(change.points, "run");
    if change.state == State::Unusual {
        let newest = match change.points {
            1 => "the newest run".to_owned(),
            points => format!("the newest {points} runs"),
        };
        return format!("Unusual: {newest} {words}, at {place}. {UNUSUAL}");
    }
    let mut sentence = format!("Level {words} {place}, {}", change.state.word());
    let chance = change.p.map(|p| format!("p = {p:.0e} after correction, "));
    let _ = match change.state {
        State::Suspected if change.points < TO_CONFIRM => {
            write!(sentence, ": {points}; will confirm or withdraw at {TO_CONFIRM}.")
        }
        _ => write!(sentence, " ({}{points} since).", chance.unwrap_or_default()),
    };
    if change.gap > 0 {
        let _ = write!(sentence, " {} in between gave no number.", plural(change.gap, "run"));
    }
    if change.machine_changed {
        sentence.push_str(
            " It coincides with another machine: not attributed to the code. Measure both commits on one machine to decide.",
        );
    } else if let Some(words) = direction(input.better, change) {
        let _ = write!(sentence, " This is {words}.");
    }
    sentence
}

/// `between a and b`, or wider where the beginning is not sure.
fn place(input: &HistoryInput, change: &ChangePoint) -> String {
    let (first, last) = change.range;
    if change.state == State::Unusual {
        return input.name_of(change.index);
    }
    let before = match change.after {
        Some(after) if first == change.index => Some(after),
        _ => first.checked_sub(1),
    };
    let mut place = match before {
        Some(before) => {
            let commits = input.commits_between(before, last).filter(|count| *count > 0);
            let commits = commits.map(|count| {
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                format!(" ({})", plural(count, "commit"))
            });
            let (from, to) = (input.name_of(before), input.name_of(last));
            format!("between {from} and {to}{}", commits.unwrap_or_default())
        }
        None => format!("at {}", input.name_of(last)),
    };
    if first != last {
        let _ = write!(place, ", most likely at {}", input.name_of(change.index));
    }
    if let Some(number) = input.points.get(change.index).and_then(|point| point.pull_request) {
        let _ = write!(place, " (pull request {number})");
    }
    place
}

fn transient_sentence(input: &HistoryInput, transient: &Transient) -> String {
    let (level, value) = (human(transient.level, &input.unit), human(transient.value, &input.unit));
    let runs = plural(transient.points, "run");
    format!(
        "Transient: {runs} from {} to {} at {value} instead of {level}, then back. No alert.",
        input.name_of(transient.from),
        input.name_of(transient.to)
    )
}

/// `worse` or `better`; `None` where neither is.
pub(super) fn direction(better: Better, change: &ChangePoint) -> Option<&'static str> {
    let rose = change.to > change.from;
    match better {
        Better::Lower => Some(if rose { "worse" } else { "better" }),
        Better::Higher => Some(if rose { "better" } else { "worse" }),
        Better::Neither => None,
    }
}

/// A change of more than this share is no help to know of.
const REACH_MAX: f64 = 10.0;

/// What would have been seen.
fn visible(input: &HistoryInput) -> String {
    let found = &input.judgement;
    let Some(limits) = found.limits else {
        let runs = plural(found.judged, "run");
        return format!("Too few runs to tell anything: {runs}, and it takes 6.");
    };
    if found.exact {
        return "Equal commits give equal numbers here: every change is real.".to_owned();
    }
    let reach = (limits.high - limits.level) / limits.level.abs();
    let amount = match found.scale {
        Scale::Ratio if reach.is_finite() => format!("of {}", percent(reach)),
        _ => format!("of {}", human(limits.high - limits.level, &input.unit)),
    };
    let points = plural(limits.points, "run");
    // So few runs that chance alone could explain anything.
    if found.scale == Scale::Ratio && reach > REACH_MAX {
        return format!("Too few runs ({points} on this level) to tell anything.");
    }
    if limits.enough {
        format!("In a single run, a change {amount} or more would show ({points} on this level).")
    } else {
        format!("Too few runs ({points} on this level): I would have seen a change {amount}.")
    }
}

/// What was not judged.
fn kept_out(input: &HistoryInput) -> Option<String> {
    use crate::analysis::history::series::Aside;
    let count = |test: &dyn Fn(&super::Shown) -> bool| {
        input.points.iter().filter(|point| test(point)).count()
    };
    let failed = count(&|point| point.failed);
    let disturbed = count(&|point| point.aside == Some(Aside::Disturbed));
    let missing = count(&|point| point.value.is_none() && !point.failed);
    let calibrating = input.judgement.calibrating.len();
    let parts = [
        (failed, "without success"),
        (missing, "without a number"),
        (disturbed, "disturbed"),
        (calibrating, "on machines with too few runs"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (!parts.is_empty()).then(|| format!("Not judged: {}.", parts.join(", ")))
}

fn interval_words(scale: Scale, change: &Estimate, unit: &Unit) -> String {
    match scale {
        Scale::Ratio => format!(
            "{} (95 % CI {} to {})",
            signed(change.value),
            signed(change.low),
            signed(change.high)
        ),
        Scale::Difference => human(change.value, unit),
    }
}

/// The size of a change: `+8.0 %`, `×12`, or an amount.
pub(in crate::report) fn size(change: &ChangePoint, unit: &Unit) -> String {
    match change.ratio {
        Some(ratio) if ratio.value.is_finite() => signed(ratio.value),
        _ if change.difference.value > 0.0 => format!("+{}", human(change.difference.value, unit)),
        _ => human(change.difference.value, unit),
    }
}

/// A ratio as `+8.0 %`, `−15 %`, `×12`.
fn signed(ratio: f64) -> String {
    if ratio > FACTOR {
        return format!("×{ratio:.3e}").replace(".000e", "e");
    }
    let sign = if ratio < 1.0 { "\u{2212}" } else { "+" };
    format!("{sign}{}", percent((ratio - 1.0).abs()))
}

fn unsigned(ratio: f64) -> String {
    if ratio > FACTOR {
        return format!("to {ratio:.0} times");
    }
    percent((ratio - 1.0).abs())
}

/// A share with about two digits that matter.
pub(in crate::report) fn percent(share: f64) -> String {
    let percent = share.abs() * 100.0;
    match percent {
        9.95.. => format!("{percent:.0} %"),
        0.0995.. => format!("{percent:.1} %"),
        _ => format!("{percent:.3} %"),
    }
}
