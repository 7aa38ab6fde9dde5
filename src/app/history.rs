//! Histories of a results repository, from its index.

use super::index::Index;
use crate::analysis::epochs::{EPOCHS_FILE, Epochs};
use crate::analysis::histories::{Rules, by_key, headline, histories as histories_of};
use crate::config::Config;
use crate::record::index::Line;
use crate::report::history::{HistoryInput, input_of};
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
    tip.standing()?;
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
                found.push(input_of(&history, &rules, rule));
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
    if query.metrics.is_empty() { headline(lines, &config.metrics) } else { query.metrics.clone() }
}
