//! What stands in a table: cells, columns, tables, sections.

use serde::Serialize;

use crate::report::link::Url;
use crate::report::plain;

/// Longest text of a cell, in characters.
const CELL_MAX: usize = 240;

/// What stands in one place of a table. There is no empty cell: absence has its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Cell {
    /// Words.
    Text { text: String },
    /// A name, path or command as it was written.
    Code { text: String },
    /// A formatted number.
    Number { text: String },
    /// A row of signs that draws numbers.
    Shape { text: String },
    /// Words that lead somewhere.
    Link { text: String, url: Url },
    /// A name as it was written that leads somewhere.
    CodeLink { text: String, url: Url },
    /// Words for people and the name that stands in the record.
    Named { label: String, name: String },
    /// Nothing to show, and why.
    Absent { reason: String },
}

impl Cell {
    pub(crate) fn text(text: &str) -> Self {
        Self::or_absent(text, CELL_MAX, |text| Self::Text { text })
    }

    pub(crate) fn code(text: &str) -> Self {
        Self::or_absent(text, CELL_MAX, |text| Self::Code { text })
    }

    pub(crate) fn number(text: impl Into<String>) -> Self {
        Self::Number { text: text.into() }
    }

    pub(crate) fn shape(signs: String) -> Self {
        if signs.is_empty() { Self::absent("no point") } else { Self::Shape { text: signs } }
    }

    pub(crate) fn absent(reason: &str) -> Self {
        let reason = plain::line(reason, CELL_MAX);
        Self::Absent { reason: if reason.is_empty() { "unknown".to_owned() } else { reason } }
    }

    /// A link where there is an address, the words alone where there is none.
    pub(crate) fn link(text: &str, url: Option<Url>) -> Self {
        match url {
            Some(url) => Self::or_absent(text, CELL_MAX, |text| Self::Link { text, url }),
            None => Self::text(text),
        }
    }

    /// As [`Cell::link`], for names as they were written.
    pub(crate) fn code_link(text: &str, url: Option<Url>) -> Self {
        match url {
            Some(url) => Self::or_absent(text, CELL_MAX, |text| Self::CodeLink { text, url }),
            None => Self::code(text),
        }
    }

    fn or_absent(text: &str, max: usize, make: impl FnOnce(String) -> Self) -> Self {
        let text = plain::line(text, max);
        if text.is_empty() { Self::Absent { reason: "(empty)".to_owned() } } else { make(text) }
    }

    /// The cell as plain text.
    pub(crate) fn as_text(&self) -> &str {
        match self {
            Self::Text { text }
            | Self::Code { text }
            | Self::Number { text }
            | Self::Shape { text }
            | Self::Link { text, .. }
            | Self::CodeLink { text, .. } => text,
            Self::Named { label, .. } => label,
            Self::Absent { reason } => reason,
        }
    }
}

/// The head of a column.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Column {
    pub(crate) title: &'static str,
    /// `text`, or `number` for what stands right-aligned.
    pub(crate) kind: ColumnKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ColumnKind {
    Text,
    Number,
}

/// Columns of text.
pub(crate) const fn text(title: &'static str) -> Column {
    Column { title, kind: ColumnKind::Text }
}

/// Columns of numbers.
pub(crate) const fn number(title: &'static str) -> Column {
    Column { title, kind: ColumnKind::Number }
}

/// Rows under a caption.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    /// Rows there are more than are shown.
    pub(crate) left_out: usize,
    /// Where those are.
    pub(crate) left_out_in: &'static str,
}

/// Cells, as many as the table has columns.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
}

impl Table {
    /// Most rows that a view keeps: more can be read in the record only.
    pub(crate) const ROWS_MAX: usize = 500;

    /// A table of the first rows; `all` may be long, no more than needed of it is made.
    pub(crate) fn new(
        caption: impl Into<String>,
        columns: &[Column],
        all: impl Iterator<Item = Vec<Cell>>,
    ) -> Self {
        let mut all = all;
        let rows: Vec<Row> = all.by_ref().take(Self::ROWS_MAX).map(|cells| Row { cells }).collect();
        debug_assert!(rows.iter().all(|row| row.cells.len() == columns.len()));
        Self {
            caption: caption.into(),
            columns: columns.to_vec(),
            rows,
            left_out: all.count(),
            left_out_in: "stats.json",
        }
    }

    /// The table without that column, where it would say the same in every row.
    pub(crate) fn without(mut self, title: &str) -> Self {
        if let Some(at) = self.columns.iter().position(|column| column.title == title) {
            self.columns.remove(at);
            for row in &mut self.rows {
                row.cells.remove(at);
            }
        }
        self
    }

    /// A name and a value in each row.
    pub(crate) fn of_facts(caption: &str, facts: Vec<(String, Cell)>) -> Self {
        let rows = facts.into_iter().map(|(name, value)| vec![Cell::text(&name), value]);
        Self::new(caption, &[text("What"), text("Value")], rows)
    }
}

/// A part of the report with a heading.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Section {
    /// Its anchor.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// Sentences before the tables; what is absent is told here.
    pub(crate) lead: Vec<String>,
    /// Only tables with rows.
    pub(crate) tables: Vec<Table>,
}

impl Section {
    /// A section whose empty tables are left away.
    pub(crate) fn new(
        id: &'static str,
        title: &'static str,
        lead: Vec<String>,
        tables: Vec<Table>,
    ) -> Self {
        let tables = tables.into_iter().filter(|table| !table.rows.is_empty()).collect();
        Self { id, title, lead, tables }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_empty() {
        for cell in
            [Cell::text(""), Cell::code("\u{1b}[0m "), Cell::absent(""), Cell::link("", None)]
        {
            assert!(matches!(&cell, Cell::Absent { reason } if !reason.is_empty()), "{cell:?}");
        }
    }

    #[test]
    fn a_column_can_be_left_away() {
        let cell = |text: &str| Cell::text(text);
        let rows = [vec![cell("a"), cell("b"), cell("c")]].into_iter();
        let table = Table::new("t", &[text("A"), text("B"), text("C")], rows);
        let table = table.without("B").without("Z");
        assert_eq!(table.columns.iter().map(|c| c.title).collect::<Vec<_>>(), ["A", "C"]);
        assert_eq!(table.rows[0].cells, [cell("a"), cell("c")]);
    }

    #[test]
    fn a_long_table_counts_what_it_leaves_out() {
        let rows = (0..Table::ROWS_MAX + 7).map(|i| vec![Cell::number(i.to_string())]);
        let table = Table::new("t", &[number("n")], rows);
        assert_eq!((table.rows.len(), table.left_out), (Table::ROWS_MAX, 7));
    }
}
