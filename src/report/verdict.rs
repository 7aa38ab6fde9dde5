//! A verdict in words and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json as object};

use super::history::percent;
use super::plain;
use super::view::{amount, label_of, plural};
use crate::analysis::history::Effect;
use crate::analysis::history::judgement::State;
use crate::analysis::history::series::Scale;
use crate::analysis::verdict::{Evidence, MetricVerdict, Missing, RunVerdict, Severity, Word};

/// The word, as it begins a line.
pub(crate) const fn title(word: Word) -> &'static str {
    match word {
        Word::NothingMeasured => "Nothing measured",
        Word::Inconclusive => "No verdict yet",
        Word::Unchanged => "Unchanged",
        Word::Changed => "Changed",
        Word::Improved => "Improved",
        Word::Regressed => "Regressed",
        Word::Mixed => "Mixed",
    }
}

/// The verdict in a few words, without a full stop.
pub(crate) fn short(verdict: &RunVerdict) -> String {
    let told = |metric: &&MetricVerdict| metric.word == verdict.word || verdict.word == Word::Mixed;
    let names: Vec<String> = verdict.metrics.iter().filter(told).map(name).collect();
    let names = match names.as_slice() {
        [] => return "no judged metric has a value".to_owned(),
        [one] => one.clone(),
        [first, .., last] if names.len() == 2 => format!("{first} and {last}"),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    };
    let loud = match (verdict.severity, verdict.confirm) {
        (_, true) => ", unusual in a single run: another one decides",
        (Severity::Fails, _) => ", beyond the limit",
        (Severity::Warns, _) => ", a warning",
        (Severity::Quiet, _) => "",
    };
    format!("{names}{loud}")
}

/// The verdict as one line.
pub fn line(verdict: &RunVerdict) -> String {
    format!("{}: {}", title(verdict.word), short(verdict))
}

/// Each judged metric in a sentence or two, with its rule.
pub(crate) fn sentences(verdict: &RunVerdict) -> Vec<String> {
    verdict.metrics.iter().map(sentence).collect()
}

/// Whether anything was told from evidence.
pub(crate) fn is_told(verdict: &RunVerdict) -> bool {
    verdict.metrics.iter().any(|metric| !matches!(metric.evidence, Evidence::Missing(_)))
}

fn name(metric: &MetricVerdict) -> String {
    plain::name(&label_of(&metric.metric))
}

fn sentence(metric: &MetricVerdict) -> String {
    let mut text = match (metric.evidence, metric.word) {
        (Evidence::Missing(missing), _) => missing_words(metric, missing),
        (_, Word::Unchanged) => unchanged(metric),
        _ => moved(metric),
    };
    if let Some(because) = &metric.ignored {
        let _ = write!(text, " Ignored: {}.", plain::line(because, 200));
    }
    if let Some(baseline) = &metric.baseline {
        let commit = match &baseline.commit {
            Some(sha) => sha.short().to_owned(),
            None => "no commit".to_owned(),
        };
        let how =
            if baseline.is_ancestor { "its nearest measured ancestor" } else { "planned before" };
        let _ = write!(
            text,
            " Baseline: {} over {}, up to {commit} ({how}).",
            amount(baseline.level, &metric.unit),
            plural(baseline.runs, "run")
        );
    }
    text
}

fn missing_words(metric: &MetricVerdict, missing: Missing) -> String {
    let name = name(metric);
    match missing {
        Missing::Value => format!("{name}: the run's record has no such number."),
        Missing::Earlier => format!("{name}: the first of its history, nothing to compare with."),
        Missing::Runs(runs) => {
            let runs = plural(runs, "run");
            if is_beyond(metric) {
                let (value, level) = (metric.value.unwrap_or_default(), level(metric));
                let amount = |value| amount(value, &metric.unit);
                let (value, level) = (amount(value), amount(level));
                return format!(
                    "{name}: {value} after {level}; too few runs ({runs}) to tell a change from chance."
                );
            }
            match reach(metric) {
                Some(reach) => format!("{name}: too few runs ({runs}), I would have seen {reach}."),
                None => format!("{name}: too few runs ({runs}) to know how much they differ."),
            }
        }
    }
}

fn unchanged(metric: &MetricVerdict) -> String {
    let name = name(metric);
    match reach(metric) {
        Some(reach) => format!("{name}: no change that would show; {reach} would."),
        None if metric.value != Some(level(metric)) => format!("{name}: no change worth telling."),
        None => format!("{name}: no change."),
    }
}

fn level(metric: &MetricVerdict) -> f64 {
    metric.baseline.as_ref().map_or(0.0, |baseline| baseline.level)
}

/// Whether the value lies beyond what limits of too few runs let expect.
fn is_beyond(metric: &MetricVerdict) -> bool {
    let Some((value, limits)) = metric.value.zip(metric.limits) else { return false };
    !(limits.low..=limits.high).contains(&value)
}

/// The change that would have been told: one beyond the limits that is worth telling, too.
fn reach(metric: &MetricVerdict) -> Option<String> {
    let limits = metric.limits?;
    let reach = (limits.high - limits.level).max(metric.bounds.least.least(limits.level));
    match limits.scale {
        _ if !reach.is_finite() || reach <= 0.0 => None,
        // More than ten times the level is no help to know of.
        Scale::Ratio if reach > 10.0 * limits.level => None,
        Scale::Ratio => Some(percent(reach / limits.level)),
        Scale::Difference => Some(amount(reach, &metric.unit)),
    }
}

fn moved(metric: &MetricVerdict) -> String {
    let (name, level) = (name(metric), level(metric));
    let now = match (metric.evidence, metric.ratio) {
        (Evidence::ChangePoint { .. } | Evidence::Provisional, Some(ratio)) => level * ratio,
        _ => metric.value.unwrap_or(level),
    };
    let verb = if now > level { "rose" } else { "fell" };
    let size = if level > 0.0 && now > 0.0 {
        percent(now / level - 1.0)
    } else {
        format!("by {}", amount((now - level).abs(), &metric.unit))
    };
    let evidence = match metric.evidence {
        Evidence::Unusual { runs: 1 } => "unusual in a single run".to_owned(),
        Evidence::Unusual { runs } => format!("unusual in {runs} runs"),
        Evidence::ChangePoint { state: State::Suspected, runs } => {
            format!("a change of the level is suspected, {} since", plural(runs, "run"))
        }
        Evidence::ChangePoint { state, runs } => {
            format!("a change of the level is {}, {} since", state.word(), plural(runs, "run"))
        }
        Evidence::Exact => "exact: every change is real".to_owned(),
        Evidence::Provisional => "by the repetitions of two runs, provisional".to_owned(),
        Evidence::Within | Evidence::Missing(_) => String::new(),
    };
    let mut text = format!(
        "{name} {verb} {size} ({} to {}), {evidence}.",
        amount(level, &metric.unit),
        amount(now, &metric.unit)
    );
    let limit = |effect: Effect| effect_words(effect, metric);
    let _ = match metric.severity {
        Severity::Fails => write!(text, " Fails: the limit is {}.", limit(metric.bounds.fail)),
        Severity::Warns => write!(text, " Warns: the limit is {}.", limit(metric.bounds.warn)),
        Severity::Quiet => Ok(()),
    };
    if metric.word == Word::Regressed && !metric.caveats.is_empty() {
        let why: Vec<&str> = metric.caveats.iter().map(|caveat| caveat.words()).collect();
        let _ = write!(text, " It does not fail: {}.", why.join("; "));
    }
    text
}

fn effect_words(effect: Effect, metric: &MetricVerdict) -> String {
    let share = effect.relative.map(percent);
    let absolute = effect.absolute.map(|absolute| amount(absolute, &metric.unit));
    let parts: Vec<String> = share.into_iter().chain(absolute).collect();
    if parts.is_empty() { "any change".to_owned() } else { parts.join(" and ") }
}

/// The verdict as JSON.
pub fn json(verdict: &RunVerdict) -> Value {
    object!({
        "word": verdict.word.as_str(),
        "severity": severity(verdict.severity),
        "confirm": verdict.confirm,
        "metrics": verdict.metrics.iter().map(metric_json).collect::<Vec<_>>(),
    })
}

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Quiet => "quiet",
        Severity::Warns => "warns",
        Severity::Fails => "fails",
    }
}

fn metric_json(metric: &MetricVerdict) -> Value {
    let (evidence, runs) = match metric.evidence {
        Evidence::Missing(Missing::Value) => ("no value", None),
        Evidence::Missing(Missing::Earlier) => ("no earlier run", None),
        Evidence::Missing(Missing::Runs(runs)) => ("too few runs", Some(runs)),
        Evidence::Within => ("within limits", None),
        Evidence::Unusual { runs } => ("unusual", Some(runs)),
        Evidence::ChangePoint { state, runs } => (state.word(), Some(runs)),
        Evidence::Exact => ("exact", None),
        Evidence::Provisional => ("provisional", None),
    };
    object!({
        "metric": metric.metric,
        "word": metric.word.as_str(),
        "severity": severity(metric.severity),
        "evidence": evidence,
        "runs": runs,
        "value": metric.value,
        "ratio": metric.ratio,
        "p": metric.p,
        "baseline": metric.baseline.as_ref().map(|baseline| object!({
            "level": baseline.level,
            "runs": baseline.runs,
            "commit": baseline.commit,
            "path": baseline.path,
            "is_ancestor": baseline.is_ancestor,
        })),
        "limits": metric.limits.map(|limits| object!({
            "low": limits.low,
            "high": limits.high,
            "enough": limits.enough,
        })),
        "caveats": metric.caveats.iter().map(|caveat| caveat.words()).collect::<Vec<_>>(),
        "ignored": metric.ignored,
        "words": sentence(metric),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::history::judgement::Limits;
    use crate::analysis::verdict::{Baseline, Bounds};
    use crate::model::metric::Unit;

    /// What is said of a value after a level of 100 s, whose runs lay within 1 s of it.
    fn said(value: f64, least: Effect, evidence: Evidence) -> String {
        let (word, scale) = (Word::Unchanged, Scale::Ratio);
        sentence(&MetricVerdict {
            metric: "cpu_time".to_owned(),
            unit: Unit::Seconds,
            word,
            evidence,
            value: Some(value),
            baseline: Some(Baseline {
                level: 100.0,
                runs: 4,
                commit: None,
                path: "runs/4".to_owned(),
                is_ancestor: false,
            }),
            ratio: Some(value / 100.0),
            limits: Some(Limits {
                points: 4,
                level: 100.0,
                low: 99.0,
                high: 101.0,
                enough: false,
                scale,
                error: 0.01,
            }),
            p: None,
            severity: Severity::Quiet,
            bounds: Bounds { least, warn: least, fail: least },
            caveats: Vec::new(),
            ignored: None,
        })
    }

    #[test]
    fn no_change_is_named_that_would_not_have_been_told() {
        let few = Evidence::Missing(Missing::Runs(4));
        let share = Effect::share;
        let lines = [
            said(100.5, share(0.0), Evidence::Within),
            said(130.0, share(0.4), Evidence::Within),
            said(100.5, share(0.02), few),
            said(129.0, share(0.02), few),
        ];
        let told: Vec<&str> =
            lines.iter().map(|line| line.split(" Baseline").next().unwrap_or(line)).collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        CPU time: no change that would show; 1.0 % would.
        CPU time: no change that would show; 40 % would.
        CPU time: too few runs (4 runs), I would have seen 2.0 %.
        CPU time: 2 min 09 s after 100 s; too few runs (4 runs) to tell a change from chance.
        ");
    }
}
