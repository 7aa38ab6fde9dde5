//! What stands in the terminal after a run: the first numbers, what disturbed them, where things
//! are. Plain text; colours only when asked for.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::view::{Alert, Cell, MetricRow, RunView, Tone};
use super::{RunPageInput, plain};

/// How text is written.
#[derive(Clone, Copy, Debug)]
pub struct TerminalOptions {
    /// Characters in a line.
    pub width: u16,
    /// Whether to colour by terminal sequences.
    pub colours: bool,
}

/// A thing that was written, and where.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    /// `bundle`, `published as`, `page`, …
    pub label: &'a str,
    /// A path or address.
    pub place: &'a str,
}

/// The summary of a run, ended by a newline.
pub fn render(
    input: &RunPageInput<'_>,
    written: &[Written<'_>],
    options: TerminalOptions,
) -> String {
    let view = RunView::new(input);
    let paint = Paint(options.colours);
    let mut text = String::new();
    let status = paint.tone(view.status.tone, view.status.word);
    let _ = writeln!(text, "{} {status} ({})", paint.strong(&view.job), view.status.detail);
    let _ = writeln!(text, "{}: {}", view.verdict.word, view.verdict.why);
    for sentence in &view.verdict.sentences {
        let _ = writeln!(text, "  {sentence}");
    }
    let beside = if view.beside_earlier { "Beside each value" } else { "Nothing to compare with" };
    let _ = writeln!(text, "{beside}: {}", view.verdict.earlier.as_text());
    let _ = writeln!(text, "\n{}\n", numbers(&view, options.width));
    for alert in &view.alerts {
        let _ = writeln!(text, "{}", alert_line(alert, paint));
    }
    if !view.alerts.is_empty() && !written.is_empty() {
        text.push('\n');
    }
    let widest = written.iter().map(|thing| thing.label.chars().count()).max().unwrap_or(0);
    for thing in written {
        let label = plain::line(thing.label, 40);
        let _ = writeln!(text, "{label:<widest$}  {}", plain::line(thing.place, 1000));
    }
    text
}

fn alert_line(alert: &Alert, paint: Paint) -> String {
    format!("{} {}", paint.tone(alert.tone, &format!("{}:", alert.word)), alert.message)
}

fn numbers(view: &RunView, width: u16) -> String {
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(LineStyle::new('─', '─', '─', '─')));
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width.max(40));
    let head: &[&str] = if view.beside_earlier {
        &["Metric", "Value", "Spread", "Earlier", "Change", "Certainty"]
    } else {
        &["Metric", "Value", "Spread", "Certainty"]
    };
    table.set_header(head.to_vec());
    for row in &view.headline {
        table.add_row(cells(row, view.beside_earlier));
    }
    let certainty = head.len() - 1;
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if i > 0 && i < certainty {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

fn cells(row: &MetricRow, beside_earlier: bool) -> Vec<String> {
    let mut cells = vec![&row.value, &row.spread];
    if beside_earlier {
        cells.extend([&row.earlier, &row.change]);
    }
    cells.push(&row.certainty);
    let texts = cells.into_iter().map(Cell::as_text).map(str::to_owned);
    std::iter::once(row.label.clone()).chain(texts).collect()
}

/// Colours, or none.
#[derive(Clone, Copy)]
struct Paint(bool);

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn strong(self, text: &str) -> String {
        self.with("1", text)
    }

    fn tone(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Warning => "33",
            Tone::Calm => "2",
        };
        self.with(code, text)
    }
}
