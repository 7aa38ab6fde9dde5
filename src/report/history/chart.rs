//! A history as a chart of characters.

use std::fmt::Write as _;

use super::HistoryInput;
use crate::analysis::history::judgement::State;
use crate::model::quantity::human;
use crate::model::robust::median;

/// Lines of the chart's field.
const ROWS: usize = 10;
/// The narrowest field.
const NARROWEST: usize = 20;

/// One column of the field.
#[derive(Clone, Default)]
struct Column {
    values: Vec<f64>,
    level: Option<f64>,
    /// The strongest mark of its points.
    mark: Option<char>,
}

/// The chart, each line ended by a newline; empty without two numbers.
pub(super) fn chart(input: &HistoryInput, width: u16) -> String {
    let values: Vec<f64> =
        input.points.iter().filter_map(|point| point.value).filter(|v| v.is_finite()).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if values.len() < 2 {
        return String::new();
    }
    let (top, bottom) = (human(high, &input.unit), human(low, &input.unit));
    let label = top.chars().count().max(bottom.chars().count());
    let room = usize::from(width).saturating_sub(label + 4).max(NARROWEST);
    let columns = columns(input, room);
    let row_of = |value: f64| {
        let span = high - low;
        let share = if span > 0.0 && span.is_finite() { (value - low) / span } else { 0.5 };
        row(share)
    };
    let mut text = String::new();
    for row in (0..ROWS).rev() {
        let name = match row {
            0 => &bottom,
            r if r == ROWS - 1 => &top,
            _ => "",
        };
        let field: String = columns.iter().map(|column| cell(column, row, &row_of)).collect();
        let _ = writeln!(text, "{name:>label$} ┤{}", field.trim_end());
    }
    let marks: String = columns.iter().map(|column| column.mark.unwrap_or(' ')).collect();
    if !marks.trim().is_empty() {
        let _ = writeln!(text, "{:label$}  {}", "", marks.trim_end());
        let legend = "▲ confirmed  △ suspected  ? unusual  ◆ accepted  × without success";
        let _ = writeln!(text, "{:label$}  {legend}", "");
    }
    text
}

fn cell(column: &Column, row: usize, row_of: &dyn Fn(f64) -> usize) -> char {
    if median(&column.values).is_some_and(|value| row_of(value) == row) {
        '●'
    } else if column.values.iter().any(|value| row_of(*value) == row) {
        '·'
    } else if column.level.is_some_and(|level| row_of(level) == row) {
        '─'
    } else {
        ' '
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of one gives a row of the field"
)]
fn row(share: f64) -> usize {
    (share.clamp(0.0, 1.0) * (ROWS - 1) as f64).round() as usize
}

fn columns(input: &HistoryInput, room: usize) -> Vec<Column> {
    let count = input.points.len();
    let mut columns = vec![Column::default(); count.min(room)];
    let wide = columns.len();
    let place = |at: usize| at * wide / count;
    for (at, point) in input.points.iter().enumerate() {
        let column = &mut columns[place(at)];
        column.values.extend(point.value.filter(|value| value.is_finite()));
        if point.failed {
            column.mark = Some('×');
        }
    }
    for level in &input.judgement.levels {
        for column in &mut columns[place(level.from)..=place(level.to.min(count - 1))] {
            column.level = Some(level.value);
        }
    }
    for change in &input.judgement.change_points {
        columns[place(change.index)].mark = Some(match change.state {
            State::Unusual => '?',
            State::Suspected => '△',
            State::Confirmed => '▲',
            State::Accepted => '◆',
        });
    }
    columns
}
