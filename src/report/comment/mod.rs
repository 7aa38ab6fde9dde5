//! The comment under a pull request: what is measured, then what was found, within what GitHub
//! takes. What does not fit is left out by whole rows and counted, never cut.

mod issue;
mod state;

use serde::Serialize;

use super::against::{Findings, Noted};
use super::engine::{Engine, Language};
use super::link::Url;
use super::markdown::{Keep, Part, fitted, headline, table, with_alerts};
use super::summary::{Links, links};
use super::view::{Cell, Column, ColumnKind, Row, RunView, Table, amount};
use super::{ReportError, RunPageInput, Said, plain};
use crate::analysis::verdict::{Severity, Word};
use crate::model::status::Status;
use crate::profile::view::difference::Presence;
use crate::record::Record;

pub use issue::{Standing, issue_body, issue_mark, issue_title};
pub use state::{Grade, State, Told, bears, mark, marked, superseded};

/// The longest comment, in bytes: GitHub takes 65,536 characters.
pub const COMMENT_BYTES_MAX: usize = 60_000;
/// Functions in a comment.
const FUNCTIONS_MAX: usize = 10;
/// Stands before the folded results.
const OLDER_HEAD: &str = "<details><summary>Results before</summary>\n\n\
                          | Commit | Result |\n|:--|:--|\n";
/// First digits of a commit.
const SHA_SHOWN: usize = 12;

/// A run that has begun.
#[derive(Clone, Copy, Debug)]
pub struct Running<'a> {
    /// The job.
    pub job: &'a str,
    /// The commit, all its digits.
    pub commit: &'a str,
    /// The commit's page.
    pub commit_url: Option<&'a str>,
    /// The workflow's page.
    pub workflow: Option<&'a str>,
    /// Who asked for it; `None` where no person did.
    pub asked_by: Option<&'a str>,
}

/// A run that has ended, in whatever way.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    /// The run, and the earlier one beside it.
    pub page: RunPageInput<'a>,
    /// What changed from the run that was asked for, else from that one; `None` where there is none.
    pub findings: Option<&'a Findings>,
    /// What people should know of the comparison that was asked for; empty: nothing.
    pub note: &'a str,
    /// Where more can be read.
    pub links: Links<'a>,
}

impl Ended<'_> {
    /// The result, as short as it is kept.
    pub fn told(&self) -> Told {
        let record = self.page.record;
        let view = RunView::new(&self.page);
        let url = match self.links.folder {
            super::summary::Place::Web(url) => url.to_owned(),
            _ => self.links.workflow.unwrap_or_default().to_owned(),
        };
        Told {
            run: record.run.id.clone(),
            commit: short(record).unwrap_or_default(),
            words: title(record, &view),
            grade: grade(record, self.page.verdict),
            url,
        }
    }

    /// Whether there is more to say than that nothing changed.
    pub fn is_news(&self) -> bool {
        let quiet = match self.page.verdict {
            Said::Verdict(verdict) => {
                matches!(verdict.word, Word::NothingMeasured | Word::Inconclusive | Word::Unchanged)
            }
            Said::Nothing(_) => true,
        };
        self.page.record.run.status != Status::Succeeded || !quiet
    }

    /// Whether nothing is known of the run but that it was to be.
    pub fn is_lost(&self) -> bool {
        self.page.record.run.status == Status::Lost
    }

    /// The same as the comment, without its hidden head, for a check run.
    ///
    /// # Errors
    /// [`ReportError`], when a template does not fit its view.
    pub fn summary(&self) -> Result<String, ReportError> {
        let parts = parts(self, &State::default(), &Engine::new(Language::Markdown)?)?;
        Ok(fitted(&parts, COMMENT_BYTES_MAX))
    }

    /// One line for a commit's status.
    pub fn line(&self) -> String {
        let view = RunView::new(&self.page);
        let verdict = view.verdict.word.to_lowercase();
        let status = &self.page.record.run.status;
        if *status == Status::Succeeded {
            format!("{verdict}: {}", view.verdict.why)
        } else {
            format!("{}: {}", status.words(), view.status.detail)
        }
    }
}

/// How bad a run is.
fn grade(record: &Record, said: Said<'_>) -> Grade {
    if record.run.status != Status::Succeeded {
        return Grade::Broken;
    }
    match said {
        Said::Verdict(verdict) => match verdict.severity {
            Severity::Quiet => Grade::Good,
            Severity::Warns => Grade::Warns,
            Severity::Fails => Grade::Fails,
        },
        Said::Nothing(_) => Grade::Good,
    }
}

fn title(record: &Record, view: &RunView) -> String {
    if record.run.status == Status::Succeeded {
        view.verdict.word.to_lowercase()
    } else {
        view.status.word.to_lowercase()
    }
}

fn short(record: &Record) -> Option<String> {
    record.commit.sha.as_ref().map(|sha| sha.as_str().chars().take(SHA_SHOWN).collect())
}

/// The comment while the job runs.
///
/// # Errors
/// [`ReportError`], when a template does not fit its view.
pub fn running(mark: &str, running: &Running<'_>, state: &State) -> Result<String, ReportError> {
    #[derive(Serialize)]
    struct View {
        job: String,
        commit: Cell,
        asked: String,
        links: Vec<Cell>,
    }
    let engine = Engine::new(Language::Markdown)?;
    let short: String = running.commit.chars().take(SHA_SHOWN).collect();
    let asked = running.asked_by.map(|who| format!(", as {} asked", plain::name(who)));
    let link = running.workflow.map(|page| Cell::link("Workflow run", Url::web(page)));
    let view = View {
        job: plain::name(running.job),
        commit: commit_cell(&short, running.commit_url),
        asked: asked.unwrap_or_default(),
        links: link.into_iter().collect(),
    };
    let text = engine.render("comment_running.md", &view)?;
    let mut parts = vec![part(text)];
    parts.extend(older(state, "", &engine)?);
    Ok(whole(mark, &state.waiting(running.workflow), &parts))
}

/// The comment when nothing of a run was published, for the reason `why`.
///
/// # Errors
/// [`ReportError`], when a template does not fit its view.
pub fn nothing(
    mark: &str,
    running: &Running<'_>,
    why: &str,
    state: &State,
) -> Result<String, ReportError> {
    #[derive(Serialize)]
    struct View {
        job: String,
        commit: Cell,
        why: String,
        links: Vec<Cell>,
    }
    let engine = Engine::new(Language::Markdown)?;
    let short: String = running.commit.chars().take(SHA_SHOWN).collect();
    let link = running.workflow.map(|page| Cell::link("Workflow run", Url::web(page)));
    let view = View {
        job: plain::name(running.job),
        commit: commit_cell(&short, running.commit_url),
        why: plain::line(why, 600),
        links: link.into_iter().collect(),
    };
    let mut parts = vec![part(engine.render("comment_nothing.md", &view)?)];
    parts.extend(older(state, "", &engine)?);
    Ok(whole(mark, &state.waiting(None), &parts))
}

/// The comment when the run has ended. `state` is what it remembered before.
///
/// # Errors
/// [`ReportError`], when a template does not fit its view.
pub fn ended(mark: &str, ended: &Ended<'_>, state: &State) -> Result<String, ReportError> {
    let parts = parts(ended, state, &Engine::new(Language::Markdown)?)?;
    Ok(whole(mark, &state.with(ended.told()), &parts))
}

fn parts(ended: &Ended<'_>, state: &State, engine: &Engine) -> Result<Vec<Part>, ReportError> {
    #[derive(Serialize)]
    struct Head<'a> {
        view: &'a RunView,
        title: String,
        explained: String,
    }
    #[derive(Serialize)]
    struct End<'a> {
        view: &'a RunView,
        commit: Cell,
        machine: String,
        links: Vec<Cell>,
    }
    let record = ended.page.record;
    let view = RunView::new(&ended.page);
    let sentence = ended.findings.map(|found| found.sentence.as_str());
    let said = [Some(ended.note), sentence].into_iter().flatten().filter(|text| !text.is_empty());
    let explained = said.map(|text| plain::line(text, 600)).collect::<Vec<_>>().join(" ");
    let head = Head { view: &view, title: title(record, &view), explained };
    let mut parts = vec![
        with_alerts(&view, engine.render("comment.md", &head)?, engine)?,
        table(&headline(&view), engine)?,
    ];
    for functions in ended.findings.into_iter().flat_map(functions) {
        parts.push(table(&functions, engine)?);
    }
    let end = End {
        view: &view,
        commit: commit_of(record),
        machine: plain::line(&record.machine.group, 200),
        links: links(&ended.links),
    };
    parts.push(part(engine.render("comment_end.md", &end)?));
    parts.extend(older(state, &record.run.id, engine)?);
    Ok(parts)
}

fn commit_of(record: &Record) -> Cell {
    let Some(short) = short(record) else { return Cell::absent("not known") };
    let of = |text: &Option<String>| text.clone().unwrap_or_default();
    let repository = &record.repository;
    let url = record.commit.sha.as_ref().and_then(|sha| {
        Url::commit(&of(&repository.host), &of(&repository.owner), &of(&repository.name), sha)
    });
    commit_cell(&short, url.as_ref().map(Url::as_str))
}

fn commit_cell(short: &str, url: Option<&str>) -> Cell {
    Cell::code_link(short, url.and_then(Url::web))
}

/// The functions that changed, a table for each profile that has such.
fn functions(findings: &Findings) -> impl Iterator<Item = Table> {
    const COLUMNS: [Column; 5] = [
        Column { title: "Function", kind: ColumnKind::Text },
        Column { title: "Where", kind: ColumnKind::Text },
        Column { title: "Self before", kind: ColumnKind::Number },
        Column { title: "Self now", kind: ColumnKind::Number },
        Column { title: "Of all before", kind: ColumnKind::Number },
    ];
    findings.profiles.iter().filter_map(|pairing| {
        let told = pairing.difference.as_ref()?;
        if told.functions.is_empty() {
            return None;
        }
        let (unit, sum) = (&told.weight.unit, told.sum.before);
        let row = |noted: &Noted| {
            let change = &noted.change;
            let share = if sum > 0.0 { change.own.change() / sum * 100.0 } else { 0.0 };
            let sign = if share < 0.0 { '\u{2212}' } else { '+' };
            let place = if change.file.is_empty() { &change.module } else { &change.file };
            let side = |there: bool, value: f64| {
                if there { Cell::number(amount(value, unit)) } else { Cell::absent("not there") }
            };
            vec![
                Cell::code(&change.function),
                Cell::code(place),
                side(change.presence != Presence::New, change.own.before),
                side(change.presence != Presence::Vanished, change.own.after),
                Cell::number(format!("{sign}{:.1} %", share.abs())),
            ]
        };
        let caption = format!(
            "Functions that changed ({}, {})",
            plain::line(&told.weight.name, 60),
            told.weight.measured.as_str()
        );
        let rows = told.functions.iter().take(FUNCTIONS_MAX).map(row);
        let mut table = Table::new(caption, &COLUMNS, rows);
        table.left_out = told.functions.len().saturating_sub(FUNCTIONS_MAX);
        table.left_out_in = "the report";
        Some(table)
    })
}

/// The results before, folded.
fn older(state: &State, run: &str, engine: &Engine) -> Result<Option<Part>, ReportError> {
    let rows: Vec<String> = state
        .others(run)
        .map(|told| {
            let result = Cell::link(&told.words, Url::web(&told.url));
            engine.render("row.md", &Row { cells: vec![Cell::code(&told.commit), result] })
        })
        .collect::<Result<_, _>>()?;
    if rows.is_empty() {
        return Ok(None);
    }
    Ok(Some(Part {
        head: OLDER_HEAD.to_owned(),
        rows,
        foot: "\n</details>\n".to_owned(),
        keep: Keep::First,
        left_out: 0,
        words: ("results", "the results repository"),
    }))
}

fn part(head: String) -> Part {
    Part {
        head,
        rows: Vec::new(),
        foot: String::new(),
        keep: Keep::First,
        left_out: 0,
        words: ("", ""),
    }
}

fn whole(mark: &str, state: &State, parts: &[Part]) -> String {
    let head = state::head(mark, state);
    let room = COMMENT_BYTES_MAX.saturating_sub(head.len());
    head + &fitted(parts, room)
}
