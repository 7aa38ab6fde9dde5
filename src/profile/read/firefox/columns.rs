//! Tables whose columns are lists, or whose rows are lists with a schema.

use serde_json::Value;

/// A table of either kind. What is not there is `None`.
#[derive(Clone, Copy)]
pub(super) struct Columns<'v> {
    value: &'v Value,
    rows: Option<&'v [Value]>,
}

impl<'v> Columns<'v> {
    pub(super) fn of(value: &'v Value) -> Self {
        let rows = value.get("schema").and_then(|_| value.get("data"));
        Self { value, rows: rows.and_then(Value::as_array).map(Vec::as_slice) }
    }

    /// How many rows it has: as many as the longest of the columns that count.
    pub(super) fn length(&self) -> usize {
        if let Some(rows) = self.rows {
            return rows.len();
        }
        let column = |name: &str| self.value.get(name).and_then(Value::as_array).map(Vec::len);
        ["stack", "frame", "func", "name"].into_iter().find_map(column).unwrap_or(0)
    }

    fn cell(&self, column: &str, row: usize) -> Option<&'v Value> {
        match self.rows {
            Some(rows) => {
                let at = self.value.get("schema")?.get(column)?.as_f64()?;
                rows.get(row)?.get(crate::profile::build::small(at) as usize)
            }
            None => self.value.get(column)?.get(row),
        }
    }

    /// A number.
    pub(super) fn number(&self, column: &str, row: usize) -> Option<f64> {
        self.cell(column, row)?.as_f64()
    }

    /// A reference to another table; nothing for -1, as some write it.
    pub(super) fn index(&self, column: &str, row: usize) -> Option<u32> {
        let value =
            self.number(column, row).filter(|value| *value >= 0.0 && value.fract() == 0.0)?;
        Some(crate::profile::build::small(value))
    }
}

/// The texts that tables refer to.
#[derive(Clone, Copy)]
pub(super) struct Texts<'v>(pub(super) &'v [Value]);

impl<'v> Texts<'v> {
    /// The text; empty for one that is not there.
    pub(super) fn get(self, at: u32) -> &'v str {
        self.0.get(at as usize).and_then(Value::as_str).unwrap_or_default()
    }
}
