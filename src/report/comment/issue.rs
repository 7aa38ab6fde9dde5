//! The issue about a confirmed regression of the default branch.

use serde::Serialize;

use super::super::engine::{Engine, Language};
use super::super::markdown::{fitted, headline, table};
use super::super::summary::links;
use super::super::view::{Cell, RunView};
use super::super::{ReportError, Said, plain};
use super::{COMMENT_BYTES_MAX, Ended, commit_of, part};
use crate::analysis::history::judgement::State;
use crate::analysis::verdict::{Evidence, MetricVerdict, Word};
use crate::model::status::Status;
use crate::record::index::Line;

/// What a run says about an issue of its history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A confirmed change for the worse.
    Regressed,
    /// Nothing is worse.
    Recovered,
    /// Neither can be said: the issue stays as it is.
    Open,
}

impl Ended<'_> {
    /// What the run says about an issue of its history. Only runs of the default branch say
    /// anything.
    pub fn standing(&self) -> Standing {
        let record = self.page.record;
        let is_default = Line::of(record, "").on_default_branch;
        let Said::Verdict(verdict) = self.page.verdict else { return Standing::Open };
        if !is_default || record.run.status != Status::Succeeded {
            return Standing::Open;
        }
        let confirmed = |metric: &MetricVerdict| {
            let sure = matches!(
                metric.evidence,
                Evidence::ChangePoint { state: State::Confirmed, .. } | Evidence::Exact
            );
            metric.word == Word::Regressed && sure && metric.ignored.is_none()
        };
        if verdict.metrics.iter().any(confirmed) {
            return Standing::Regressed;
        }
        match verdict.word {
            Word::Unchanged | Word::Improved => Standing::Recovered,
            _ => Standing::Open,
        }
    }
}

/// The mark of the issue about a history.
pub fn issue_mark(key: &str) -> String {
    let key: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("<!-- perftrail:issue={key} -->")
}

/// The issue's title.
pub fn issue_title(ended: &Ended<'_>) -> String {
    let view = RunView::new(&ended.page);
    format!("{} got slower: {}", plain::name(&view.job), plain::line(&view.verdict.why, 150))
}

/// The issue's text.
///
/// # Errors
/// [`ReportError`], when a template does not fit its view.
pub fn issue_body(mark: &str, ended: &Ended<'_>) -> Result<String, ReportError> {
    #[derive(Serialize)]
    struct Text<'a> {
        view: &'a RunView,
        recovered: bool,
        commit: Cell,
        links: Vec<Cell>,
    }
    let engine = Engine::new(Language::Markdown)?;
    let view = RunView::new(&ended.page);
    let head = Text {
        view: &view,
        recovered: ended.standing() == Standing::Recovered,
        commit: commit_of(ended.page.record),
        links: links(&ended.links),
    };
    let parts = [part(engine.render("issue.md", &head)?), table(&headline(&view), &engine)?];
    Ok(format!("{mark}\n{}", fitted(&parts, COMMENT_BYTES_MAX - mark.len())))
}
