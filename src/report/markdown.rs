//! `README.md` of a run's folder: the same as the page, as Markdown that GitHub shows, at most
//! 64 KiB. What does not fit is left out by whole rows and counted, never cut.

use std::fmt::Write as _;

use serde::Serialize;

use super::ReportError;
use super::engine::{Engine, Language};
use super::view::{Cell, Column, ColumnKind, LogView, Row, RunView, Section, Table};
use crate::record::layout::CALL_TREE_FILE;

/// GitHub cuts a README beyond this.
pub(crate) const README_MAX: usize = 64 * 1024;
/// Room for the line that counts what was left out.
const REST_MAX: usize = 80;

/// A stretch of the document whose rows may be left out.
pub(super) struct Part {
    /// Stands always.
    pub(super) head: String,
    pub(super) rows: Vec<String>,
    /// Stands after the rows, when there are any.
    pub(super) foot: String,
    /// Which rows stay.
    pub(super) keep: Keep,
    /// Rows that the view left out already.
    pub(super) left_out: usize,
    /// What rows are called, and where those left out are.
    pub(super) words: (&'static str, &'static str),
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Keep {
    First,
    Last,
}

/// The whole document.
///
/// With `drawing` it shows the drawing of the call tree that lies beside it.
pub(crate) fn render(view: &RunView, drawing: bool) -> Result<String, ReportError> {
    let engine = Engine::new(Language::Markdown)?;
    let mut parts = head(view, &engine)?;
    for section in std::iter::once(&view.over_time).chain(&view.sections) {
        let mut of_section = section_parts(section, &engine)?;
        if drawing
            && section.id == "call-trees"
            && let Some(first) = of_section.first_mut()
        {
            // The name is ours, nothing in it needs escaping.
            let _ = write!(first.head, "\n![The top of the call tree]({CALL_TREE_FILE})\n");
        }
        parts.extend(of_section);
    }
    parts.push(log(&view.log, &engine)?);
    Ok(fitted(&parts, README_MAX))
}

/// Title, verdict, alerts, first numbers, facts.
fn head(view: &RunView, engine: &Engine) -> Result<Vec<Part>, ReportError> {
    #[derive(Serialize)]
    struct Intro<'a> {
        view: &'a RunView,
    }
    let intro = with_alerts(view, engine.render("intro.md", &Intro { view })?, engine)?;
    let numbers = headline(view);
    let facts = view.facts.iter().map(|fact| vec![Cell::text(fact.label), fact.value.clone()]);
    let facts = Table::new(
        "",
        &[column("About", ColumnKind::Text), column("This run", ColumnKind::Text)],
        facts,
    );
    Ok(vec![intro, table(&numbers, engine)?, table(&facts, engine)?])
}

/// A head, and what a reader must know before the numbers.
pub(super) fn with_alerts(
    view: &RunView,
    head: String,
    engine: &Engine,
) -> Result<Part, ReportError> {
    let rows = view.alerts.iter().map(|alert| engine.render("alert.md", alert));
    Ok(Part {
        head,
        rows: rows.collect::<Result<_, _>>()?,
        foot: String::new(),
        keep: Keep::First,
        left_out: 0,
        words: ("notices", "stats.json"),
    })
}

/// The first numbers, beside those of the earlier run.
pub(super) fn headline(view: &RunView) -> Table {
    let mut columns = vec![
        column("Metric", ColumnKind::Text),
        column("Value", ColumnKind::Number),
        column("Spread", ColumnKind::Number),
    ];
    if view.beside_earlier {
        columns
            .extend([column("Earlier", ColumnKind::Number), column("Change", ColumnKind::Number)]);
    }
    columns.push(column("Certainty", ColumnKind::Text));
    let rows = view.headline.iter().map(|row| {
        let label = if row.judged { format!("{} (judged)", row.label) } else { row.label.clone() };
        let mut cells = vec![Cell::text(&label), row.value.clone(), row.spread.clone()];
        if view.beside_earlier {
            cells.extend([row.earlier.clone(), row.change.clone()]);
        }
        cells.push(row.certainty.clone());
        cells
    });
    Table::new("", &columns, rows)
}

const fn column(title: &'static str, kind: ColumnKind) -> Column {
    Column { title, kind }
}

pub(super) fn section_parts(section: &Section, engine: &Engine) -> Result<Vec<Part>, ReportError> {
    let mut parts = vec![Part {
        head: engine.render("section.md", section)?,
        rows: Vec::new(),
        foot: String::new(),
        keep: Keep::First,
        left_out: 0,
        words: ("", ""),
    }];
    for of_section in &section.tables {
        parts.push(table(of_section, engine)?);
    }
    Ok(parts)
}

pub(super) fn table(table: &Table, engine: &Engine) -> Result<Part, ReportError> {
    let render = |row: &Row| engine.render("row.md", row);
    Ok(Part {
        head: engine.render("table.md", table)?,
        rows: table.rows.iter().map(render).collect::<Result<_, _>>()?,
        foot: String::new(),
        keep: Keep::First,
        left_out: table.left_out,
        words: ("rows", table.left_out_in),
    })
}

fn log(log: &LogView, engine: &Engine) -> Result<Part, ReportError> {
    let head = engine.render("log.md", &serde_json::json!({ "log": log }))?;
    let lines: &[String] = match log {
        LogView::Lines { lines, .. } => lines,
        LogView::Absent { .. } => &[],
    };
    let fence = fence(lines);
    Ok(Part {
        head: if lines.is_empty() { head } else { format!("{head}\n{fence}text\n") },
        rows: lines.iter().map(|line| format!("{line}\n")).collect(),
        foot: if lines.is_empty() { String::new() } else { format!("{fence}\n") },
        keep: Keep::Last,
        left_out: 0,
        words: ("lines", "log.txt.gz"),
    })
}

/// Backticks, more of them than the text has in a row.
fn fence(lines: &[String]) -> String {
    let longest =
        lines.iter().flat_map(|line| line.split(|c| c != '`')).map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// The parts in order, with as many rows as `max` bytes hold.
pub(super) fn fitted(parts: &[Part], max: usize) -> String {
    let fixed: usize = parts.iter().map(|part| part.head.len() + part.foot.len() + REST_MAX).sum();
    let needs: Vec<usize> =
        parts.iter().map(|part| part.rows.iter().map(String::len).sum()).collect();
    let shares = shares(&needs, max.saturating_sub(fixed));
    let mut text = String::new();
    for (part, share) in parts.iter().zip(shares) {
        let written = part.written(share);
        // Heads are short, so this is never needed; and if it were, less is better than a cut.
        if text.len() + written.len() <= max {
            text.push_str(&written);
        }
    }
    text
}

/// How many bytes each part gets of `room`: all of what it needs where that is little, and an
/// equal share of the rest where it is much.
fn shares(needs: &[usize], room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|i| needs[*i]);
    let mut shares = vec![0; needs.len()];
    let mut left = room;
    for (done, i) in order.iter().enumerate() {
        shares[*i] = needs[*i].min(left / (needs.len() - done));
        left -= shares[*i];
    }
    shares
}

impl Part {
    fn written(&self, share: usize) -> String {
        let mut used = 0;
        let fits = |row: &&String| {
            used += row.len();
            used <= share
        };
        let mut kept: Vec<&String> = match self.keep {
            Keep::First => self.rows.iter().take_while(fits).collect(),
            Keep::Last => self.rows.iter().rev().take_while(fits).collect(),
        };
        if self.keep == Keep::Last {
            kept.reverse();
        }
        let left_out = self.left_out + self.rows.len() - kept.len();
        let mut text = self.head.clone();
        text.extend(kept.into_iter().map(String::as_str));
        text.push_str(&self.foot);
        if left_out > 0 {
            let (rows, place) = self.words;
            let _ = writeln!(text, "\n{left_out} more {rows} are in {place}.");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_parts_are_whole_and_great_ones_share() {
        assert_eq!(shares(&[10, 1000, 20, 1000], 130), [10, 50, 20, 50]);
        assert_eq!(shares(&[10, 20], 1000), [10, 20]);
        assert_eq!(shares(&[], 10), Vec::<usize>::new());
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        let lines = |text: &str| vec![text.to_owned()];
        assert_eq!(fence(&lines("plain")), "```");
        assert_eq!(fence(&lines("a ````` b ``")), "``````");
    }
}
