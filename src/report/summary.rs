//! What a workflow's page shows of the runs of one step: Markdown, as long as the service takes.
//! What does not fit is left out by whole rows and counted, never cut.

use serde::Serialize;

use super::engine::{Engine, Language};
use super::link::Url;
use super::markdown::{Keep, Part, fitted, headline, table, with_alerts};
use super::trend::Trend;
use super::view::{self, Cell, RunView, label_of};
use super::{ReportError, RunPageInput};
use crate::record::index::Line;

/// Phases in a summary.
const PHASES_MAX: usize = 10;
/// Signs in the drawing of a trend.
const TREND_WIDTH: usize = 40;

/// One run, and what is known around it.
#[derive(Clone, Copy, Debug)]
pub struct SummaryRun<'a> {
    /// The run, and the earlier one beside it.
    pub page: RunPageInput<'a>,
    /// The runs of its history, this one included, oldest first; empty where nothing is known.
    pub history: &'a [Line],
    /// Where more can be read.
    pub links: Links<'a>,
}

/// Web addresses; one that is not plain is shown as text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Links<'a> {
    /// The run's folder in the results repository, or in words why it is not there.
    pub folder: Place<'a>,
    /// The workflow's page, which holds the artifacts.
    pub workflow: Option<&'a str>,
}

/// Where a run was published.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// At this web address.
    Web(&'a str),
    /// At this path of a repository that has no pages.
    Path(&'a str),
    /// Nowhere, for this reason.
    Nowhere(&'a str),
}

impl Default for Place<'_> {
    fn default() -> Self {
        Self::Nowhere("not published")
    }
}

/// The summary of these runs, at most `max` bytes.
///
/// # Errors
/// [`ReportError`], when a template does not fit its view.
pub fn summary(runs: &[SummaryRun<'_>], max: usize) -> Result<String, ReportError> {
    let engine = Engine::new(Language::Markdown)?;
    let mut parts = Vec::new();
    for run in runs {
        parts.extend(parts_of(run, &engine)?);
    }
    Ok(fitted(&parts, max))
}

/// What was found, in one or two words.
pub fn verdict(page: &RunPageInput<'_>) -> String {
    RunView::new(page).verdict.word.to_lowercase()
}

fn parts_of(run: &SummaryRun<'_>, engine: &Engine) -> Result<Vec<Part>, ReportError> {
    #[derive(Serialize)]
    struct Head<'a> {
        view: &'a RunView,
        links: Vec<Cell>,
    }
    let view = RunView::new(&run.page);
    let head = engine.render("summary.md", &Head { view: &view, links: links(&run.links) })?;
    let mut parts = vec![with_alerts(&view, head, engine)?, table(&headline(&view), engine)?];
    if let Some(trend) = trend(run.history, engine)? {
        parts.push(plain(trend));
    }
    let phases = view::longest_phases(run.page.record, PHASES_MAX);
    if !phases.rows.is_empty() {
        parts.push(table(&phases, engine)?);
    }
    parts.push(plain("\n".to_owned()));
    Ok(parts)
}

fn plain(head: String) -> Part {
    Part {
        head,
        rows: Vec::new(),
        foot: String::new(),
        keep: Keep::First,
        left_out: 0,
        words: ("", ""),
    }
}

/// The links as cells.
pub(super) fn links(links: &Links<'_>) -> Vec<Cell> {
    let mut cells = match links.folder {
        Place::Web(folder) => vec![
            Cell::link("Run folder", Url::web(folder)),
            Cell::link("Record", Url::web(&format!("{folder}/stats.json"))),
            Cell::link("Report (download)", Url::web(&format!("{folder}/report.html"))),
        ],
        Place::Path(path) => vec![Cell::code(path)],
        Place::Nowhere(why) => vec![Cell::absent(why)],
    };
    cells.extend(
        links.workflow.map(|page| Cell::link("Workflow run and artifacts", Url::web(page))),
    );
    cells
}

fn trend(history: &[Line], engine: &Engine) -> Result<Option<String>, ReportError> {
    #[derive(Serialize)]
    struct View {
        label: String,
        words: String,
        shape: Cell,
    }
    let lines: Vec<&Line> = history.iter().collect();
    if lines.len() < 2 {
        return Ok(None);
    }
    let Some(trend) = Trend::new(&lines) else { return Ok(None) };
    let shape = Cell::shape(trend.spark(TREND_WIDTH));
    let view = View { label: label_of(trend.metric), words: trend.words(), shape };
    engine.render("summary_trend.md", &view).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::read::read;
    use crate::record::series::SeriesFile;
    use crate::report::{EarlierRun, LogTail, PagePlace};

    const WEB: &str = "https://github.com/lab/results/tree/results/runs/x";

    fn with_summary(change: impl FnOnce(&mut crate::record::Record), max: usize) -> String {
        let bytes = include_bytes!("../../tests/fixtures/records/v1/succeeded.json");
        let mut record = read(bytes).unwrap().record;
        change(&mut record);
        let mut earlier = Line::of(&record, "runs/earlier");
        earlier.planned -= jiff::SignedDuration::from_hours(24);
        let now = Line::of(&record, "runs/now");
        let series = SeriesFile::default();
        let page = RunPageInput {
            record: &record,
            series: &series,
            log_tail: LogTail::Absent("not shown"),
            earlier: EarlierRun::Found(&earlier),
            verdict: crate::report::Said::Nothing("not published"),
            place: PagePlace::Bundle,
            profiles: &[],
        };
        let links = Links {
            folder: Place::Web(WEB),
            workflow: Some("https://github.com/lab/m/actions/runs/1"),
        };
        let history = [earlier.clone(), now];
        summary(&[SummaryRun { page, history: &history, links }], max).unwrap()
    }

    #[test]
    fn numbers_stand_beside_the_earlier_run_with_trend_phases_and_links() {
        let text = with_summary(|_| (), 1_000_000);
        for part in [
            "| Metric | Value | Spread | Earlier | Change |",
            "CPU time",
            "0.0 %",
            "oldest run first",
            "The longest phases",
            &format!("[Run folder]({WEB})"),
            &format!("({WEB}/report.html)"),
            "(https://github.com/lab/m/actions/runs/1)",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }

    #[test]
    fn a_long_summary_loses_whole_rows() {
        let long = |record: &mut crate::record::Record| {
            for i in 0..4000 {
                record.notices.push(crate::record::Notice {
                    level: crate::record::Level::Warning,
                    code: "w".to_owned(),
                    message: format!("warning {i} {}", "x".repeat(500)),
                });
                let mut phase = record.phases[0].clone();
                phase.name = format!("phase_{i}_{}", "y".repeat(70));
                record.phases.push(phase);
            }
        };
        let whole = with_summary(long, 1_000_000);
        let cut = with_summary(long, 6_000);
        assert!(cut.len() <= 6_000 && cut.len() < whole.len(), "{} {}", cut.len(), whole.len());
        assert!(cut.lines().all(|line| !line.starts_with('|') || line.ends_with('|')), "{cut}");
        assert!(cut.contains("more rows are in stats.json"), "{cut}");
    }

    #[test]
    fn hostile_names_stay_text() {
        let text = with_summary(
            |record| {
                record.run.job = "a](http://evil) @you <b> #1 | ::error::x".to_owned();
                record.phases[0].name = "`x` | <img src=x>\n# h".to_owned();
            },
            1_000_000,
        );
        assert!(!text.contains("](http://evil)") && !text.contains("<img"), "{text}");
        assert!(!text.contains("@you") && !text.contains("\n# h"), "{text}");
    }
}
