//! A history in the terminal.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::HistoryInput;
use super::chart::chart;
use super::words::{sentences, size};
use crate::model::quantity::human;
use crate::report::plain;
use crate::report::terminal::TerminalOptions;

/// The history as text: a chart, its levels, and what was found.
pub fn text(input: &HistoryInput, options: TerminalOptions) -> String {
    let mut text = format!("{}\n\n", input.title());
    text.push_str(&chart(input, options.width));
    if !input.judgement.levels.is_empty() {
        let _ = writeln!(text, "\n{}", levels(input, options.width));
    }
    text.push('\n');
    for sentence in sentences(input) {
        let _ = writeln!(text, "{}", plain::line(&sentence, 1000));
    }
    text
}

fn levels(input: &HistoryInput, width: u16) -> String {
    let found = &input.judgement;
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(LineStyle::new('─', '─', '─', '─')));
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width.max(40));
    table.set_header(["Level from", "To", "Runs", "Level", "Change", "State"]);
    for level in &found.levels {
        let change = found.change_points.iter().find(|change| change.index == level.from);
        let (size, state) = match change {
            Some(change) => (size(change, &input.unit), change.state.word().to_owned()),
            None if level.from == found.levels[0].from => (String::new(), String::new()),
            None => (String::new(), "too small to tell".to_owned()),
        };
        table.add_row([
            input.name_of(level.from),
            input.name_of(level.to),
            level.points.to_string(),
            human(level.value, &input.unit),
            size,
            state,
        ]);
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if (2..=4).contains(&i) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}
