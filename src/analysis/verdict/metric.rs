//! One metric of one run.

use super::repetitions::differ;
use super::{
    Baseline, Bounds, Caveat, Evidence, FALSE_SHARE, Facts, Judging, MetricVerdict, Missing,
    Severity, Word, better, is_point,
};
use crate::analysis::histories::{History, Placed, Standing, histories, order};
use crate::analysis::history::judgement::{ChangePoint, Judgement, Limits, State};
use crate::analysis::history::{Effect, judge as judge_series};
use crate::config::MetricRule;
use crate::model::metric::{Better, Unit, built_in};
use crate::model::names::CommitSha;
use crate::record::index::{Entry, Line};

/// A change is told of the first runs of its level, until there are enough to judge by it.
const NEWS: usize = 9;

/// What the numbers of `name` say of `run`; words and loudness come later, when it is known how
/// many metrics were looked at.
pub(super) fn judge(
    name: &str,
    lines: &[&Line],
    run: &Line,
    facts: &Facts,
    judging: &Judging,
) -> MetricVerdict {
    let rule = judging.metrics.iter().find(|rule| rule.name == name);
    let unit = built_in(name).map_or(Unit::None, |known| known.unit.clone());
    let mut verdict = MetricVerdict {
        metric: name.to_owned(),
        bounds: Bounds::of(rule, &unit, false),
        unit,
        word: Word::Inconclusive,
        evidence: Evidence::Missing(Missing::Value),
        value: None,
        baseline: None,
        ratio: None,
        limits: None,
        p: None,
        severity: Severity::Quiet,
        caveats: Vec::new(),
        ignored: None,
    };
    let Some(entry) = run.metrics.get(name).filter(|_| run.has_values()) else {
        verdict.word = Word::NothingMeasured;
        return verdict;
    };
    verdict.unit = entry.unit(name);
    verdict.bounds = Bounds::of(rule, &verdict.unit, false);
    verdict.value = Some(entry.value());
    verdict.evidence = Evidence::Missing(Missing::Earlier);
    let mut all = lines.to_vec();
    all.retain(|line| line.path != run.path);
    let others = histories(&all, name, &judging.rules);
    if let Some(history) = others.iter().find(|history| history.method == entry.method()) {
        Judge { history, entry, run, facts, judging, rule }.judge(&mut verdict);
    }
    verdict
}

/// What a metric of a run is judged by.
struct Judge<'a> {
    /// The history without the run.
    history: &'a History<'a>,
    entry: &'a Entry,
    run: &'a Line,
    facts: &'a Facts,
    judging: &'a Judging,
    rule: Option<&'a MetricRule>,
}

impl Judge<'_> {
    fn judge(&self, verdict: &mut MetricVerdict) {
        let before = self.before();
        let nearest = self.of_other_commits(&before);
        let news = self.news(&before);
        // The level that a run brings news of a change from is the one before that change.
        let others = match news.and_then(|(change, _)| change.after) {
            Some(after) => before[..=after.min(before.len() - 1)].to_vec(),
            None => nearest.clone(),
        };
        let judgement = self.of_runs(&others);
        verdict.bounds = Bounds::of(self.rule, &verdict.unit, judgement.exact);
        let Some(level) = judgement.levels.last() else {
            // No run has a number: they failed, or are disturbed.
            return;
        };
        let last = others[level.to.min(others.len() - 1)];
        verdict.baseline = Some(Baseline {
            level: level.value,
            runs: level.points,
            commit: last.line.commit.clone(),
            path: last.line.path.clone(),
            is_ancestor: self.is_ancestor(last.line),
        });
        verdict.ratio = ratio(level.value, self.entry.value());
        let nearest = nearest.iter().rev().find(|run| run.entry.is_some()).unwrap_or(&last);
        self.caveats([last.line, nearest.line], verdict);
        verdict.limits = judgement.limits;
        if let Some((change, attributed)) = news {
            told(&change, attributed, verdict);
        } else {
            self.by_limits(&others, &judgement, verdict);
        }
    }

    /// A commit is not its own baseline, unless there is no other.
    fn of_other_commits<'r>(&self, before: &[&'r Placed<'r>]) -> Vec<&'r Placed<'r>> {
        let is_own =
            |run: &Placed<'_>| self.run.commit.is_some() && run.line.commit == self.run.commit;
        let others: Vec<_> = before.iter().copied().filter(|run| !is_own(run)).collect();
        if others.is_empty() { before.to_vec() } else { others }
    }

    /// The runs of the history that the run is held against: those planned before; for a run beside
    /// the history, and for one whose commit is older than others that were measured, those up to
    /// the nearest measured ancestor.
    fn before(&self) -> Vec<&Placed<'_>> {
        let mut before: Vec<&Placed<'_>> =
            self.history.inside().filter(|run| order(run.line) < order(self.run)).collect();
        if self.run.older || !is_point(self.run, self.judging) {
            let mut known = self.facts.ancestors.iter().chain(&self.run.merge_base);
            let place = |sha| before.iter().rposition(|run| run.line.commit.as_ref() == Some(sha));
            if let Some(last) = known.find_map(place) {
                before.truncate(last + 1);
            }
        }
        before
    }

    fn is_ancestor(&self, line: &Line) -> bool {
        let Some(commit) = &line.commit else { return false };
        self.facts.ancestors.contains(commit)
            || self.run.merge_base.as_ref() == Some(commit)
            || self.run.commit.as_ref() == Some(commit)
    }

    /// Judges runs that stand in the history.
    fn of_runs(&self, runs: &[&Placed<'_>]) -> Judgement {
        let history = History {
            metric: self.history.metric,
            method: self.history.method,
            runs: runs.iter().map(|run| **run).collect(),
        };
        let series = history.series(&self.judging.rules);
        let unit = self.entry.unit(self.history.metric);
        let least = |exact| Bounds::of(self.rule, &unit, exact).least;
        judge_series(&series, least(false), least(true))
    }

    /// The change point that the run is news of: the last one, while its level is young; and whether
    /// the runs before it ran on the same machine.
    fn news(&self, before: &[&Placed<'_>]) -> Option<(ChangePoint, bool)> {
        if !is_point(self.run, self.judging) {
            return None;
        }
        let placed = Placed { line: self.run, entry: Some(self.entry), standing: Standing::Enters };
        let mut with: Vec<&Placed<'_>> = before.to_vec();
        with.push(&placed);
        let judgement = self.of_runs(&with);
        let change = judgement.change_points.last()?;
        let young = change.points <= NEWS && !(judgement.exact && change.points > 1);
        let sure = match change.state {
            State::Unusual => change.points > 1,
            State::Suspected | State::Confirmed => true,
            State::Accepted => false,
        };
        let last = change.after.and_then(|after| with.get(after));
        let same = last.is_none_or(|last| machine(last.line) == machine(self.run));
        (young && sure).then_some((*change, same && !change.machine_changed))
    }

    /// Holds the run against the limits of the level.
    fn by_limits(
        &self,
        before: &[&Placed<'_>],
        judgement: &Judgement,
        verdict: &mut MetricVerdict,
    ) {
        let value = self.entry.value();
        if judgement.exact {
            let level = verdict.baseline.as_ref().map(|baseline| baseline.level);
            let same = level.is_some_and(|level| !verdict.bounds.least.is_reached(level, value));
            verdict.evidence = if same { Evidence::Within } else { Evidence::Exact };
            return;
        }
        if let Some(limits) = judgement.limits.filter(|limits| limits.enough) {
            let p = limits.chance(value);
            verdict.p = Some(p);
            verdict.evidence = if p <= FALSE_SHARE {
                Evidence::Unusual { runs: 1 + self.agreeing(&limits, value) }
            } else {
                Evidence::Within
            };
            return;
        }
        let newest = before.iter().rev().find_map(|run| run.entry);
        verdict.evidence = match newest {
            Some(then) if differ(then, self.entry) == Some(true) => {
                verdict.ratio = ratio(then.value(), value);
                Evidence::Provisional
            }
            _ => {
                Evidence::Missing(Missing::Runs(judgement.levels.last().map_or(0, |at| at.points)))
            }
        };
    }

    /// How many other runs of the commit lie outside the limits on the same side.
    fn agreeing(&self, limits: &Limits, value: f64) -> usize {
        let side = |value: f64| value > limits.level;
        let others = self
            .history
            .runs
            .iter()
            .filter(|run| self.run.commit.is_some() && run.line.commit == self.run.commit);
        others
            .filter_map(|run| run.entry)
            .filter(|entry| {
                side(entry.value()) == side(value) && limits.chance(entry.value()) <= FALSE_SHARE
            })
            .count()
    }

    /// `held_against` are the level's newest run and the newest of all, which is another one where
    /// the run is news of a change.
    fn caveats(&self, held_against: [&Line; 2], verdict: &mut MetricVerdict) {
        let run = self.run;
        let [_, nearest] = held_against;
        let same_commit = run.commit.is_some() && run.commit == nearest.commit;
        let other = machine(run) != machine(nearest);
        let is_of = |known: &[CommitSha]| {
            let mut commits = held_against.iter().filter_map(|line| line.commit.as_ref());
            commits.any(|sha| known.contains(sha))
        };
        let found = [
            (!run.disturbed.is_empty(), Caveat::Disturbed),
            (other, Caveat::OtherMachine),
            (same_commit, Caveat::SameCommit),
            (!same_commit && is_of(&self.facts.same_trees), Caveat::SameTree),
            (is_of(&self.facts.unchanged_since), Caveat::NothingChanged),
        ];
        verdict.caveats.extend(found.into_iter().filter(|(is, _)| *is).map(|(_, what)| what));
    }
}

/// What makes runs of one history differ although the code is the same.
fn machine(line: &Line) -> (&str, &str) {
    (&line.fingerprint, &line.profiler)
}

/// Takes over what the history's change point says; `attributed` is whether nothing but the code
/// changed with it.
fn told(change: &ChangePoint, attributed: bool, verdict: &mut MetricVerdict) {
    verdict.evidence = if change.state == State::Unusual {
        Evidence::Unusual { runs: change.points }
    } else {
        Evidence::ChangePoint { state: change.state, runs: change.points }
    };
    verdict.ratio = change.ratio.map(|ratio| ratio.value);
    if let Some(baseline) = &mut verdict.baseline {
        baseline.level = change.from;
    }
    if !attributed && !verdict.caveats.contains(&Caveat::OtherMachine) {
        verdict.caveats.push(Caveat::OtherMachine);
    }
}

/// Says the word and how loud it is. A change that people accepted is silent, for that reason.
pub(super) fn conclude(
    verdict: &mut MetricVerdict,
    rule: Option<&MetricRule>,
    accepted: Option<String>,
    run: &Line,
) {
    let (Some(value), Some(baseline)) = (verdict.value, verdict.baseline.clone()) else {
        return;
    };
    let level = baseline.level;
    let now = match (verdict.evidence, verdict.ratio) {
        (Evidence::ChangePoint { .. } | Evidence::Provisional, Some(ratio)) => level * ratio,
        _ => value,
    };
    let moved = match verdict.evidence {
        Evidence::Missing(_) => return,
        Evidence::Within => false,
        _ => verdict.bounds.least.is_reached(level, now),
    };
    if !moved {
        verdict.word = Word::Unchanged;
        return;
    }
    let entry = run.metrics.get(&verdict.metric);
    let worse = match better(rule, &verdict.metric, entry) {
        Better::Lower => now > level,
        Better::Higher => now < level,
        Better::Neither => {
            verdict.word = Word::Changed;
            return;
        }
    };
    verdict.word = if worse { Word::Regressed } else { Word::Improved };
    if matches!(verdict.evidence, Evidence::Unusual { runs: 1 } | Evidence::Provisional) {
        verdict.caveats.push(Caveat::OneRun);
    }
    verdict.ignored = accepted.or_else(|| rule.and_then(|rule| ignored(rule, run)));
    if worse && verdict.ignored.is_none() {
        verdict.severity = severity(verdict, level, now);
    }
}

fn severity(verdict: &MetricVerdict, level: f64, now: f64) -> Severity {
    let passes = |effect: Effect| effect.is_reached(level, now);
    if passes(verdict.bounds.fail) && verdict.caveats.is_empty() {
        Severity::Fails
    } else if passes(verdict.bounds.warn) || passes(verdict.bounds.fail) {
        Severity::Warns
    } else {
        Severity::Quiet
    }
}

/// Why `rule` says nothing about a run of that day. The day is the run's, not today's: what is
/// said of a run stays the same.
fn ignored(rule: &MetricRule, run: &Line) -> Option<String> {
    let ignore = rule.ignore.as_ref()?;
    let day = jiff::tz::TimeZone::UTC.to_datetime(run.planned).date();
    let counts = ignore.until.is_some_and(|until| day >= until);
    (!counts).then(|| ignore.because.clone())
}

fn ratio(from: f64, to: f64) -> Option<f64> {
    (from > 0.0 && to > 0.0).then(|| to / from).filter(|ratio| ratio.is_finite())
}
