//! Histories of index lines as they are shown.

use std::collections::BTreeMap;

use super::{HistoryInput, Shown};
use crate::analysis::histories::{History, Placed, Rules, Standing, pull_request_of};
use crate::analysis::history::judge;
use crate::analysis::history::series::Aside;
use crate::analysis::verdict::{Bounds, better};
use crate::config::MetricRule;
use crate::model::metric::Unit;
use crate::record::index::Entry;
use crate::report::landing::about;

/// A history of index lines, with what is found in it.
pub fn input_of(history: &History<'_>, rules: &Rules, rule: Option<&MetricRule>) -> HistoryInput {
    let entry = history.runs.iter().rev().find_map(|run| run.entry);
    let unit = entry.map_or(Unit::None, |entry| entry.unit(history.metric));
    let better = better(rule, history.metric, entry);
    let series = history.series(rules);
    let least = |exact| Bounds::of(rule, &unit, exact).least;
    let judgement = judge(&series, least(false), least(true));
    let points = history.inside().zip(&series.points);
    let points = points.map(|(run, point)| shown(run, point.aside)).collect();
    let newest = history.runs.last().map(|run| run.line);
    let about = newest.map_or_else(String::new, |line| format!("{} · {}", line.job, about(line)));
    let beside: BTreeMap<&str, usize> =
        history.beside().into_iter().map(|(standing, count)| (standing.words(), count)).collect();
    HistoryInput {
        metric: history.metric.to_owned(),
        job: newest.map(|line| line.job.clone()),
        about,
        unit,
        better,
        points,
        beside: beside.into_iter().map(|(words, count)| (words.to_owned(), count)).collect(),
        judgement,
    }
}

fn shown(run: &Placed<'_>, aside: Option<Aside>) -> Shown {
    let line = run.line;
    Shown {
        value: run.entry.map(Entry::value),
        commit: line.commit.as_ref().map(ToString::to_string),
        time: Some(line.planned.to_string()),
        pull_request: pull_request_of(line),
        failed: run.standing == Standing::Failed,
        aside,
        after: line.after.clone(),
        path: Some(line.path.clone()),
    }
}
