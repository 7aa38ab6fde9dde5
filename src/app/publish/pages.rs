//! Makes the pages of a run and the landing page. A page that cannot be made is left out and
//! told; it never keeps a run from being published.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::log;
use crate::bundle::read::Bundle;
use crate::record::Record;
use crate::record::index::Line;
use crate::record::layout::LOG_FILE;
use crate::record::series::{SERIES_FILE, SeriesFile};

/// Largest `series.json` that is drawn, in bytes.
const SERIES_MAX: u64 = 32 << 20;

/// What the pages of a run are made from.
#[derive(Debug)]
pub struct RunInput<'a> {
    /// The run.
    pub record: &'a Record,
    /// Its numbers over time.
    pub series: &'a SeriesFile,
    /// The end of its output, or why there is none.
    pub log_tail: Result<&'a str, &'a str>,
    /// The newest earlier run that may be compared, or why there is none.
    pub earlier: Result<&'a Line, &'a str>,
    /// Its folder in the results repository.
    pub path: &'a str,
}

/// A page or drawing: its path and content.
pub type Page = (String, Vec<u8>);

/// The landing page and its drawings, paths from the repository's root.
#[derive(Clone, Debug, Default)]
pub struct Landing {
    /// What stands between the markers of `README.md`.
    pub markdown: String,
    /// Drawings that it shows.
    pub files: Vec<Page>,
}

/// Makes pages. Plain functions, so that a test can have one fail.
#[derive(Clone, Copy, Debug)]
pub struct Pages {
    /// The pages of a run, paths in the run's folder.
    pub run: fn(&RunInput<'_>) -> Result<Vec<Page>, String>,
    /// The landing page of these runs, newest first.
    pub landing: fn(&[Line]) -> Result<Landing, String>,
}

impl Pages {
    pub(super) fn of_run(
        &self,
        bundle: &Bundle,
        record: &Record,
        earlier: Result<&Line, &str>,
        path: &str,
    ) -> Result<Vec<Page>, String> {
        let series = series(bundle).unwrap_or_default();
        let tail = log_tail(bundle);
        let log_tail = tail.as_deref().map_err(String::as_str);
        let input = RunInput { record, series: &series, log_tail, earlier, path };
        guarded(|| (self.run)(&input))
    }

    pub(super) fn landing(&self, lines: &[Line]) -> Result<Landing, String> {
        guarded(|| (self.landing)(lines))
    }
}

/// A defect in a page is a page less, not a run less.
fn guarded<T>(make: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|_| Err("its renderer failed".to_owned()))
}

/// The bundle's series; `None` for a file that is missing or not understood.
fn series(bundle: &Bundle) -> Option<SeriesFile> {
    let file = bundle.files.iter().find(|file| file.path == SERIES_FILE)?;
    let bytes = (file.bytes <= SERIES_MAX).then(|| file.read().ok()).flatten()?;
    let read: SeriesFile = serde_json::from_slice(&bytes).ok()?;
    let is_even = |one: &crate::record::series::Series| {
        let count = one.value.len();
        [one.t.len(), one.x.len(), one.min.len(), one.max.len()]
            .iter()
            .all(|length| *length == 0 || *length == count)
    };
    read.series.iter().all(is_even).then_some(read)
}

fn log_tail(bundle: &Bundle) -> Result<String, String> {
    let file = bundle.files.iter().find(|file| file.path == LOG_FILE);
    let file = file.ok_or("the bundle holds no log")?;
    let tail = file.read().and_then(|packed| log::tail(&packed));
    let tail = tail.map_err(|error| format!("the log cannot be read: {error}"))?;
    Ok(String::from_utf8_lossy(&tail).into_owned())
}
