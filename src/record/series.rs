//! `series.json`: numbers over time within a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SeriesSummary;
use crate::model::metric::Unit;

/// The file beside the record that holds the series.
pub const SERIES_FILE: &str = "series.json";

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesFile {
    /// Version of this file's format; 1 is the first.
    pub version: u32,
    /// The series, by name.
    pub series: Vec<Series>,
}

/// Largest file that is read, in bytes.
pub const BYTES_MAX: usize = 32 << 20;

impl SeriesFile {
    /// Reads the file from untrusted bytes; `None` for what is no such file.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let fits = bytes.len() <= BYTES_MAX;
        let read: Self = fits.then(|| serde_json::from_slice(bytes).ok()).flatten()?;
        read.series.iter().all(Series::is_even).then_some(read)
    }
}

impl Series {
    /// All lists have one length, or are empty.
    fn is_even(&self) -> bool {
        let lengths = [self.t.len(), self.x.len(), self.min.len(), self.max.len()];
        lengths.iter().all(|length| *length == 0 || *length == self.value.len())
    }
}

/// Where a series came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeriesSource {
    /// perftrail's sampler saw it.
    Sampled,
    /// The job reported it, through `PERFTRAIL_STATS` or a file that `read` names.
    Reported,
}

/// One series of the last completed repetition. All lists have one length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Its name: `memory`, `cpu`, `processes`, or the job's own.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Where it came from.
    pub source: SeriesSource,
    /// What the x values are, where the job gave any (`date`, say).
    pub x_name: Option<String>,
    /// Seconds from the start of the repetition; empty for a series read from a file without times.
    pub t: Vec<f64>,
    /// The job's own x values, as it wrote them; empty without.
    pub x: Vec<String>,
    /// The mean of each point's bucket.
    pub value: Vec<f64>,
    /// The smallest value of each point's bucket; empty when no bucket holds more than one value.
    pub min: Vec<f64>,
    /// The greatest value of each point's bucket; empty when no bucket holds more than one value.
    pub max: Vec<f64>,
}

/// What the record tells of series.
pub fn summaries(all: &[Series]) -> Vec<SeriesSummary> {
    all.iter()
        .filter_map(|series| {
            let least = if series.min.is_empty() { &series.value } else { &series.min };
            let greatest = if series.max.is_empty() { &series.value } else { &series.max };
            Some(SeriesSummary {
                name: series.name.clone(),
                unit: series.unit.clone(),
                source: series.source,
                file: SERIES_FILE.to_owned(),
                points: series.value.len() as u64,
                min: least.iter().copied().reduce(f64::min)?,
                max: greatest.iter().copied().reduce(f64::max)?,
                last: *series.value.last()?,
            })
        })
        .collect()
}
