//! Makes the pages of a run and the landing page. A page that cannot be made is left out and
//! told; it never keeps a run from being published.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::analysis::histories::Epoch;
use crate::analysis::judging::JudgingFile;
use crate::analysis::verdict::RunVerdict;
use crate::app::index::RUNS_SHOWN;
use crate::app::log;
use crate::app::runs;
use crate::bundle::read::Bundle;
use crate::config::LogPolicy;
use crate::profile::model::Profile;
use crate::profile::stored::PROFILE_FILE;
use crate::record::Record;
use crate::record::index::Line;
use crate::record::layout::LOG_FILE;
use crate::record::series::{self, SERIES_FILE, SeriesFile};
use crate::report::landing::{self, Landing, LandingOptions};
use crate::report::{self, EarlierRun, LogTail, PagePlace, ReportError, RunPageInput, Said};
use crate::results::ResultsError;

const NO_LOG: &str = "the bundle holds no log";
const LOG_UNPUBLISHED: &str = "the log is not published";

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
    pub(in crate::app) fn of_run(
        &self,
        record: &Record,
        stored: &Stored,
        earlier: EarlierRun<'_>,
        verdict: Said<'_>,
        path: &str,
    ) -> Result<Made, String> {
        let series = &stored.series;
        let log_tail = match &stored.log_tail {
            Ok(text) => LogTail::Text(text),
            Err(why) => LogTail::Absent(why),
        };
        let place = PagePlace::Results(path);
        let profiles = stored.profiles.as_slice();
        let input = RunPageInput { record, series, log_tail, earlier, verdict, place, profiles };
        guarded(|| (self.run)(&input))
    }

    pub(in crate::app) fn landing(
        &self,
        lines: &[Line],
        epochs: Vec<Epoch>,
        judging: JudgingFile,
    ) -> Result<Landing, String> {
        let usual = LandingOptions::default();
        let options = LandingOptions { runs: RUNS_SHOWN, epochs, judging, ..usual };
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

/// What lies beside a record and enters its pages.
#[derive(Debug)]
pub(in crate::app) struct Stored {
    series: SeriesFile,
    /// The end of the job's output, or why it is not shown.
    log_tail: Result<String, String>,
    profiles: Vec<Profile>,
}

impl Stored {
    pub(super) fn of_bundle(bundle: &Bundle, policy: LogPolicy) -> Self {
        let file = |name: &str| bundle.files.iter().find(|file| file.path == name);
        let series = file(SERIES_FILE)
            .filter(|file| file.bytes <= series::BYTES_MAX as u64)
            .and_then(|file| file.read().ok());
        let log = match file(LOG_FILE) {
            _ if policy == LogPolicy::None => Err(LOG_UNPUBLISHED.to_owned()),
            Some(file) => file.read().map_err(|error| format!("the log cannot be read: {error}")),
            None => Err(NO_LOG.to_owned()),
        };
        let profiles = file(PROFILE_FILE).and_then(|file| file.read().ok());
        Self::new(series.as_deref(), log, profiles.as_deref())
    }

    /// Of the files of a run's folder in the results repository.
    pub(in crate::app) fn of_folder(
        record: &Record,
        series: Option<&[u8]>,
        log: Option<Vec<u8>>,
        profiles: Option<&[u8]>,
    ) -> Self {
        let is_listed = record.files.iter().any(|file| file.path == LOG_FILE);
        let log = log.ok_or_else(|| if is_listed { LOG_UNPUBLISHED } else { NO_LOG }.to_owned());
        Self::new(series.filter(|bytes| bytes.len() <= series::BYTES_MAX), log, profiles)
    }

    /// A series file that is not understood is as good as none.
    fn new(series: Option<&[u8]>, log: Result<Vec<u8>, String>, profiles: Option<&[u8]>) -> Self {
        let series = series.and_then(SeriesFile::read).unwrap_or_default();
        let log_tail = log.and_then(|packed| {
            let tail = log::tail(&packed);
            let tail = tail.map_err(|error| format!("the log cannot be read: {error}"))?;
            Ok(String::from_utf8_lossy(&tail).into_owned())
        });
        Self { series, log_tail, profiles: runs::profiles(profiles) }
    }
}

/// The verdict as pages tell it.
pub(in crate::app) fn said(judged: &Result<RunVerdict, String>) -> Said<'_> {
    match judged {
        Ok(verdict) => Said::Verdict(verdict),
        Err(why) => Said::Nothing(why),
    }
}

/// The earlier run as pages tell it.
pub(in crate::app) fn told_earlier(found: &Result<Option<Line>, ResultsError>) -> EarlierRun<'_> {
    match found {
        Ok(Some(line)) => EarlierRun::Found(line),
        Ok(None) => EarlierRun::Absent("this is the first run of its history"),
        Err(_) => EarlierRun::Absent("the index of earlier runs cannot be read"),
    }
}
