//! A history in words, as a table, as a chart, as Markdown and as JSON.

mod chart;
mod input;
mod json;
mod markdown;
mod text;
mod words;

pub use input::input_of;
pub use json::json;
pub use markdown::markdown;
pub use text::text;
pub(super) use words::{change_words, percent, sentences, size};

use crate::analysis::history::judgement::Judgement;
use crate::analysis::history::series::Aside;
use crate::model::metric::{Better, Unit};
use crate::model::names::CommitSha;
use crate::record::index::After;

/// One history with what was found in it.
#[derive(Clone, Debug)]
pub struct HistoryInput {
    /// What was measured.
    pub metric: String,
    /// The job; `None` for a bare series.
    pub job: Option<String>,
    /// What the runs have in common: job, machine, params. Empty for a bare series.
    pub about: String,
    /// The metric's unit.
    pub unit: Unit,
    /// Which way it gets better.
    pub better: Better,
    /// The points, oldest first.
    pub points: Vec<Shown>,
    /// How many runs stand beside the history, and what they are.
    pub beside: Vec<(String, usize)>,
    /// What was found.
    pub judgement: Judgement,
}

/// A point as it is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// Its number.
    pub value: Option<f64>,
    /// The commit; short or long.
    pub commit: Option<String>,
    /// When it was measured.
    pub time: Option<String>,
    /// The pull request that brought the commit.
    pub pull_request: Option<u64>,
    /// The run did not succeed.
    pub failed: bool,
    /// Why the number is not judged.
    pub aside: Option<Aside>,
    /// The nearest known ancestor of the commit, and how many commits follow upon it.
    pub after: Option<After>,
    /// The run's folder in the results repository.
    pub path: Option<String>,
}

impl HistoryInput {
    /// How people name a point: its commit, else its number.
    pub(super) fn name_of(&self, at: usize) -> String {
        match self.points.get(at).and_then(|point| point.commit.as_deref()) {
            Some(commit) => super::plain::line(commit.get(..8).unwrap_or(commit), 40),
            None => format!("point {at}"),
        }
    }

    /// How many commits there are from the commit of one point to that of a later one; `None`
    /// where the records do not tell.
    pub(super) fn commits_between(&self, from: usize, to: usize) -> Option<u64> {
        let sha = |at: usize| CommitSha::parse(self.points.get(at)?.commit.as_deref()?);
        let goal = sha(from)?;
        let (mut at, mut count) = (to, 0_u64);
        while sha(at)? != goal {
            let after = self.points[at].after.as_ref()?;
            let before = (from..at).rev().find(|at| sha(*at).is_some_and(|sha| after.is(&sha)))?;
            count = count.checked_add(after.1)?;
            at = before;
        }
        Some(count)
    }

    /// The metric's name as it may be shown.
    fn title(&self) -> String {
        let metric = super::plain::name(&self.metric);
        if self.about.is_empty() { metric } else { format!("{metric} · {}", self.about) }
    }
}
