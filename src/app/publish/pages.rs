//! Makes the pages of a run and the landing page. A page that cannot be made is left out and
//! told; it never keeps a run from being published.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::app::index::RUNS_SHOWN;
use crate::app::log;
use crate::bundle::read::Bundle;
use crate::record::Record;
use crate::record::index::Line;
use crate::record::layout::LOG_FILE;
use crate::record::series::{self, SERIES_FILE, SeriesFile};
use crate::report::landing::{self, Landing, LandingOptions};
use crate::report::{self, EarlierRun, LogTail, PagePlace, ReportError, RunPageInput};

/// Pages by their path and content.
pub type Made = Vec<(String, Vec<u8>)>;

/// Makes pages. Plain functions, so that a test can have one fail.
#[derive(Clone, Copy, Debug)]
pub struct Pages {
    /// The pages of a run: paths in the run's folder, and contents.
    pub run: fn(&RunPageInput<'_>) -> Result<Made, ReportError>,
    /// The landing page of these runs.
    pub landing: fn(&[Line], &LandingOptions) -> Result<Landing, ReportError>,
}

impl Default for Pages {
    fn default() -> Self {
        Self { run: report::run_pages, landing: landing::render }
    }
}

impl Pages {
    pub(super) fn of_run(
        &self,
        bundle: &Bundle,
        record: &Record,
        earlier: EarlierRun<'_>,
        path: &str,
    ) -> Result<Made, String> {
        let series = series(bundle).unwrap_or_default();
        let tail = log_tail(bundle);
        let log_tail = match &tail {
            Ok(text) => LogTail::Text(text),
            Err(why) => LogTail::Absent(why),
        };
        let place = PagePlace::Results(path);
        guarded(|| (self.run)(&RunPageInput { record, series: &series, log_tail, earlier, place }))
    }

    pub(super) fn landing(&self, lines: &[Line]) -> Result<Landing, String> {
        let options = LandingOptions { runs: RUNS_SHOWN, ..LandingOptions::default() };
        guarded(|| (self.landing)(lines, &options))
    }
}

/// A defect in a page is a page less, not a run less.
fn guarded<T>(make: impl FnOnce() -> Result<T, ReportError>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(make)) {
        Ok(made) => made.map_err(|error| error.to_string()),
        Err(_) => Err("its renderer failed".to_owned()),
    }
}

/// The bundle's series; `None` for a file that is missing or not understood.
fn series(bundle: &Bundle) -> Option<SeriesFile> {
    let file = bundle.files.iter().find(|file| file.path == SERIES_FILE)?;
    let bytes = (file.bytes <= series::BYTES_MAX as u64).then(|| file.read().ok()).flatten()?;
    SeriesFile::read(&bytes)
}

fn log_tail(bundle: &Bundle) -> Result<String, String> {
    let file = bundle.files.iter().find(|file| file.path == LOG_FILE);
    let file = file.ok_or("the bundle holds no log")?;
    let tail = file.read().and_then(|packed| log::tail(&packed));
    let tail = tail.map_err(|error| format!("the log cannot be read: {error}"))?;
    Ok(String::from_utf8_lossy(&tail).into_owned())
}
