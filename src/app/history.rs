//! Histories of a results repository, from its index.

use std::collections::BTreeMap;

use super::index::Index;
use crate::analysis::epochs::{EPOCHS_FILE, Epochs};
use crate::analysis::histories::{
    History, Placed, Rules, Standing, by_key, histories as histories_of, pull_request_of,
};
use crate::analysis::history::judge;
use crate::analysis::verdict::{Bounds, better};
use crate::config::{Config, MetricRule};
use crate::model::metric::{Better, Unit, built_in};
use crate::record::index::{Entry, Line};
use crate::record::layout::RECORD_FILE;
use crate::record::read;
use crate::report::history::{HistoryInput, Shown};
use crate::report::landing;
use crate::results::tip::Tip;
use crate::results::{Results, ResultsError};

/// Which histories are wanted; an empty query wants the judged metrics of every job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Of this job.
    pub job: Option<String>,
    /// Of these metrics.
    pub metrics: Vec<String>,
}

/// The histories that were found.
#[derive(Debug, Default)]
pub struct Found {
    /// Those with the newest runs first.
    pub histories: Vec<HistoryInput>,
    /// What people should know, one sentence each.
    pub notices: Vec<String>,
}

/// The histories of a results repository.
///
/// # Errors
/// When the repository cannot be read.
pub fn histories(results: &Results, query: &Query, config: &Config) -> Result<Found, ResultsError> {
    let tip = results.tip()?;
    let mut index = Index::new(&tip)?;
    let mut lines: Vec<Line> = Vec::new();
    for month in index.months().to_vec() {
        lines.extend(index.shard(&month)?.lines().cloned());
    }
    lines.retain(|line| query.job.as_ref().is_none_or(|job| *job == line.job));
    let mut notices: Vec<String> = index.corrupt().collect();
    let (rules, notice) = rules(&tip, &config.history.events)?;
    notices.extend(notice);
    let mut found = Vec::new();
    for lines in by_key(&lines) {
        for metric in metrics(query, config, &lines) {
            let rule = config.metrics.iter().find(|rule| rule.name == metric);
            for history in histories_of(&lines, &metric, &rules) {
                let facts = Told::of(&tip, &history, rule);
                found.push(input(&history, &rules, rule, facts));
            }
        }
    }
    Ok(Found { histories: found, notices })
}

/// Which runs enter, and what people accepted. Epochs that cannot be read are told, and do not
/// keep anything from being judged.
pub(super) fn rules(
    tip: &Tip<'_>,
    events: &[String],
) -> Result<(Rules, Option<String>), ResultsError> {
    let bytes = tip.read(EPOCHS_FILE)?.unwrap_or_default();
    let (epochs, notice) = match Epochs::parse(&String::from_utf8_lossy(&bytes)) {
        Ok(epochs) => (epochs.list(), None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    Ok((Rules { events: events.to_vec(), epochs }, notice))
}

/// The metrics to show of runs that share a key.
fn metrics(query: &Query, config: &Config, lines: &[&Line]) -> Vec<String> {
    if !query.metrics.is_empty() {
        return query.metrics.clone();
    }
    if !config.metrics.is_empty() {
        return config.metrics.iter().map(|rule| rule.name.clone()).collect();
    }
    let has = |name: &str| lines.iter().any(|line| line.metrics.contains_key(name));
    let time = ["cpu_time", "duration"].into_iter().find(|name| has(name));
    let memory = Some("memory_peak").filter(|name| has(name));
    let first =
        || lines.iter().rev().find_map(|line| line.metrics.keys().next()).map(String::as_str);
    let mut names: Vec<&str> = time.into_iter().chain(memory).collect();
    if names.is_empty() {
        names.extend(first());
    }
    names.into_iter().map(str::to_owned).collect()
}

/// A metric's unit and direction.
struct Told {
    unit: Unit,
    better: Better,
}

impl Told {
    /// Those of a built-in metric are known; of others the newest record tells.
    fn of(tip: &Tip<'_>, history: &History<'_>, rule: Option<&MetricRule>) -> Self {
        if let Some(known) = built_in(history.metric) {
            return Self { unit: known.unit.clone(), better: better(rule, history.metric) };
        }
        let newest = history.runs.iter().rev().find(|run| run.entry.is_some());
        let bytes = newest
            .and_then(|run| tip.read(&format!("{}/{RECORD_FILE}", run.line.path)).ok().flatten());
        let record = bytes.and_then(|bytes| read::read(&bytes).ok());
        let metric = record.as_ref().and_then(|read| read.record.metrics.get(history.metric));
        let own = metric.map_or(Better::Neither, |metric| metric.better);
        Self {
            unit: metric.map_or(Unit::None, |metric| metric.unit.clone()),
            better: rule.and_then(|rule| rule.better).unwrap_or(own),
        }
    }
}

fn input(
    history: &History<'_>,
    rules: &Rules,
    rule: Option<&MetricRule>,
    Told { unit, better }: Told,
) -> HistoryInput {
    let series = history.series(rules);
    let least = |exact| Bounds::of(rule, &unit, exact).least;
    let judgement = judge(&series, least(false), least(true));
    let points = history.inside().zip(&series.points);
    let points = points.map(|(run, point)| shown(run, point.aside)).collect();
    let newest = history.runs.last().map(|run| run.line);
    let about =
        newest.map_or_else(String::new, |line| format!("{} · {}", line.job, landing::about(line)));
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

fn shown(run: &Placed<'_>, aside: Option<crate::analysis::history::series::Aside>) -> Shown {
    let line = run.line;
    Shown {
        value: run.entry.map(Entry::value),
        commit: line.commit.as_ref().map(ToString::to_string),
        time: Some(line.planned.to_string()),
        pull_request: pull_request_of(line),
        failed: run.standing == Standing::Failed,
        aside,
        path: Some(line.path.clone()),
    }
}
