//! Histories of a results repository, from its index.

use super::index::Index;
use crate::analysis::epochs::{EPOCHS_FILE, Epochs};
use crate::analysis::histories::{Epoch, Rules, by_key, headline, histories as histories_of};
use crate::analysis::judging::JudgingFile;
use crate::analysis::verdict::Judging;
use crate::app::verdict::judging_file;
use crate::config::MetricRule;
use crate::config::scalar::Threshold;
use crate::record::index::Line;
use crate::report::history::{HistoryInput, input_of};
use crate::results::tip::Tip;
use crate::results::{Results, ResultsError};

/// Which histories are wanted; an empty query wants the judged metrics of every job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// Of this job.
    pub job: Option<String>,
    /// Of these metrics.
    pub metrics: Vec<String>,
    /// Smaller changes are not told, whatever the rules say.
    pub min_effect: Option<Threshold>,
}

impl Query {
    /// By which rule `metric` is judged, where `rules` are those of its project.
    fn rule(&self, metric: &str, rules: &[MetricRule]) -> Option<MetricRule> {
        let own = rules.iter().find(|rule| rule.name == metric).cloned();
        let Some(least) = self.min_effect else { return own };
        let own = own.unwrap_or_else(|| MetricRule::of(metric));
        Some(MetricRule { min_effect: Some(least), ..own })
    }
}

/// The histories that were found.
#[derive(Debug, Default)]
pub struct Found {
    /// Those with the newest runs first.
    pub histories: Vec<HistoryInput>,
    /// What people should know, one sentence each.
    pub notices: Vec<String>,
}

/// The histories of a results repository, by the rules of `judging` where a configuration gives
/// them, else by those that the repository keeps of each project.
///
/// # Errors
/// When the repository cannot be read.
pub fn histories(
    results: &Results,
    query: &Query,
    judging: &Judging,
) -> Result<Found, ResultsError> {
    let tip = results.tip()?;
    tip.standing()?;
    let mut index = Index::new(&tip)?;
    let mut lines: Vec<Line> = Vec::new();
    for month in index.months().to_vec() {
        lines.extend(index.shard(&month)?.lines().cloned());
    }
    lines.retain(|line| query.job.as_ref().is_none_or(|job| *job == line.job));
    let mut notices: Vec<String> = index.corrupt().collect();
    let (epochs, notice) = epochs(&tip)?;
    notices.extend(notice);
    let kept = if judging.given {
        JudgingFile::default()
    } else {
        let (kept, notice) = judging_file(&tip)?;
        notices.extend(notice);
        kept
    };
    let mut found = Vec::new();
    for lines in by_key(&lines) {
        let Some(line) = lines.first() else { continue };
        let mut judging = if judging.given { judging.clone() } else { kept.of(&line.repository) };
        judging.rules.epochs.clone_from(&epochs);
        for metric in metrics(query, &judging.metrics, &lines) {
            let rule = query.rule(&metric, &judging.metrics);
            for history in histories_of(&lines, &metric, &judging.rules) {
                found.push(input_of(&history, &judging.rules, rule.as_ref()));
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
    let (epochs, notice) = epochs(tip)?;
    Ok((Rules { events: events.to_vec(), epochs }, notice))
}

fn epochs(tip: &Tip<'_>) -> Result<(Vec<Epoch>, Option<String>), ResultsError> {
    let bytes = tip.read(EPOCHS_FILE)?.unwrap_or_default();
    Ok(match Epochs::parse(&String::from_utf8_lossy(&bytes)) {
        Ok(epochs) => (epochs.list(), None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    })
}

/// The metrics to show of runs that share a key.
fn metrics(query: &Query, rules: &[MetricRule], lines: &[&Line]) -> Vec<String> {
    if query.metrics.is_empty() { headline(lines, rules) } else { query.metrics.clone() }
}
