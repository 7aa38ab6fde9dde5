//! Makes series from the rows of a file.

use serde_json::Value;

use super::document::Column;
use super::outcome::{Found, Outcome, number};
use crate::model::metric::Unit;
use crate::record::marks::X_MAX;
use crate::record::series::{Series, SeriesSource};

/// Most points of a series; beyond, neighbours share a point.
pub(super) const POINTS_MAX: usize = 5000;
/// Most series from one rule.
pub(super) const SERIES_MAX: usize = 200;

/// A series that is wanted from a column.
pub(super) struct Wanted<'a> {
    pub(super) name: &'a str,
    /// The base unit, and the factor that brings values there.
    pub(super) unit: Unit,
    pub(super) factor: f64,
    pub(super) column: &'a Column,
    /// The column of the x values.
    pub(super) x: Option<&'a Column>,
}

impl Wanted<'_> {
    /// The series; `None` for a column without any number. Cells that are no number are left out.
    pub(super) fn series(&self, outcome: &mut Outcome) -> Option<Series> {
        let mut points = Vec::new();
        for (row, cell) in self.column.cells.iter().enumerate() {
            match number(cell) {
                Found::Number(value) if (value * self.factor).is_finite() => {
                    let x = self.x.map(|x| x.cells.get(row).map(text).unwrap_or_default());
                    points.push((x, value * self.factor));
                }
                Found::Number(_) | Found::NotFinite => outcome.not_finite(self.name),
                Found::NoNumber => {}
            }
        }
        (!points.is_empty()).then(|| self.thinned(&points))
    }

    fn thinned(&self, points: &[(Option<String>, f64)]) -> Series {
        let per_point = points.len().div_ceil(POINTS_MAX);
        let mut series = Series {
            name: self.name.to_owned(),
            unit: self.unit.clone(),
            source: SeriesSource::Reported,
            x_name: self.x.map(|x| x.name.clone()),
            t: Vec::new(),
            x: Vec::new(),
            value: Vec::new(),
            min: Vec::new(),
            max: Vec::new(),
        };
        for bucket in points.chunks(per_point) {
            series.x.extend(bucket[0].0.clone());
            let values = bucket.iter().map(|(_, value)| *value);
            // Halves first: a sum of great numbers may not be finite.
            let share = 1.0 / bucket.len() as f64;
            series.value.push(values.clone().map(|value| value * share).sum());
            if per_point > 1 {
                series.min.push(values.clone().fold(f64::INFINITY, f64::min));
                series.max.push(values.fold(f64::NEG_INFINITY, f64::max));
            }
        }
        series
    }
}

fn text(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    text.chars().take(X_MAX).collect()
}
