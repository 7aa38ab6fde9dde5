//! A run as text for people: what page, Markdown and terminal show, formatted once.

mod call_trees;
pub(crate) mod cell;
mod details;
mod files;
mod head;
mod metrics;
mod moments;
mod setting;

use serde::Serialize;

pub(crate) use cell::{Cell, Column, ColumnKind, Row, Section, Table};
pub(crate) use details::plural;
pub(crate) use head::{Alert, Fact, StatusView, Tone, Verdict};
pub(crate) use metrics::{MetricRow, UNIT_MAX, amount, label_of};
pub(crate) use moments::{day_and_commit, longest_phases, utc_minutes};

use super::timeline::Timeline;
use super::{LogTail, RunPageInput, plain};

/// Most lines of the log that a page shows.
const LOG_LINES: usize = 200;
/// Longest line of the log that a page shows, in characters.
const LOG_LINE_CHARS: usize = 400;

/// One run, whole.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RunView {
    pub(crate) job: String,
    pub(crate) run: String,
    pub(crate) status: StatusView,
    pub(crate) verdict: Verdict,
    pub(crate) facts: Vec<Fact>,
    /// What a reader must know before the numbers: errors, warnings, disturbances.
    pub(crate) alerts: Vec<Alert>,
    /// The first numbers.
    pub(crate) headline: Vec<MetricRow>,
    /// Whether an earlier run stands beside the values.
    pub(crate) beside_earlier: bool,
    /// Between the headline and `sections`: what happened when.
    pub(crate) over_time: Section,
    pub(crate) sections: Vec<Section>,
    pub(crate) log: LogView,
    pub(crate) tool: String,
    #[serde(skip)]
    pub(crate) timeline: Timeline,
}

/// The end of the job's output.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum LogView {
    /// Its lines, and how they were chosen.
    Lines { lines: Vec<String>, note: String },
    /// None, and why.
    Absent { reason: String },
}

impl RunView {
    pub(crate) fn new(input: &RunPageInput<'_>) -> Self {
        let record = input.record;
        let timeline = Timeline::new(record, input.series);
        Self {
            job: plain::name(&record.run.job),
            run: plain::name(&record.run.id),
            status: StatusView::new(record),
            verdict: Verdict::new(input),
            facts: head::facts(input),
            alerts: head::alerts(record),
            headline: metrics::headline(record, input.earlier),
            beside_earlier: matches!(input.earlier, super::EarlierRun::Found(_)),
            over_time: moments::over_time(record, input.series, &timeline),
            sections: sections(input),
            log: log(input.log_tail),
            tool: format!("perftrail {}", plain::line(&record.tool.version, 40)),
            timeline,
        }
    }
}

fn sections(input: &RunPageInput<'_>) -> Vec<Section> {
    let record = input.record;
    vec![
        details::steps(record),
        moments::phases(record),
        call_trees::call_trees(record),
        metrics::all(record, input.earlier),
        files::outputs(record),
        setting::params(record, input.place),
        setting::environment(record),
        setting::machine(record),
        details::disturbances(record),
        details::notices(record),
        details::overhead(record),
    ]
}

fn log(tail: LogTail<'_>) -> LogView {
    let text = match tail {
        LogTail::Text(text) => text,
        LogTail::Absent(reason) => {
            return LogView::Absent { reason: plain::name(reason) };
        }
    };
    let lines = plain::block(text, LOG_LINES, LOG_LINE_CHARS);
    if lines.is_empty() {
        return LogView::Absent { reason: "the job wrote nothing".to_owned() };
    }
    let all = text.trim_end().lines().count();
    let note = if lines.len() < all {
        format!("The last {} lines of the output; more is in log.txt.gz.", lines.len())
    } else {
        "The output; the file is log.txt.gz.".to_owned()
    };
    LogView::Lines { lines, note }
}
