//! `perftrail runs`.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, ContentArrangement, Table};
use jiff::tz::TimeZone;
use serde_json::json;

use super::args::{ListFormat, RunsArgs};
use super::destination::{self, Found};
use super::failure::{ExitCode, Failure};
use super::screen::JobOutput;
use super::{Edge, print, print_json, publish};
use crate::app::runs::{self, Query};
use crate::app::watch::Watch;
use crate::model::metric::Unit;
use crate::model::quantity::human;
use crate::model::status::Status;
use crate::record::canonical;
use crate::record::index::Line;
use crate::report::plain;
use crate::results::Results;

/// Lists what the results repository holds, newest first.
pub(super) fn runs(edge: &Edge, args: &RunsArgs) -> Result<u8, Failure> {
    let screen = edge.screen(JobOutput::Kept);
    let config = publish::load(edge, args.config.as_deref())?;
    let to = match destination::find(edge, &args.target, &config)? {
        Found::There(to) => to,
        Found::Nowhere => {
            return Err(Failure::usage(
                "the results repository is `none`: there are no runs to list",
            ));
        }
        Found::NotNamed => return Err(publish::not_named()),
    };
    let failed = |error: &dyn std::error::Error| Failure::new(ExitCode::Usage, error);
    let results = Results::open(&to.to, &to.branch).map_err(|error| failed(&error))?;
    let listing = runs::runs(&results, &query(args)?).map_err(|error| failed(&error))?;
    listing.corrupt.iter().for_each(|line| screen.warn(line));
    let shown = &listing.lines[..listing.lines.len().min(args.limit)];
    if args.format == ListFormat::Json {
        let value = json!({ "runs": shown, "found": listing.lines.len() });
        let bytes =
            canonical::pretty(&value).map_err(|error| Failure::new(ExitCode::Internal, &error))?;
        return print_json(&bytes);
    }
    let mut text = table(shown, super::report::terminal_options().width);
    if shown.len() < listing.lines.len() {
        let _ = writeln!(
            text,
            "{} of {} runs are shown; --limit shows more",
            shown.len(),
            listing.lines.len()
        );
    }
    print(text.as_bytes())
}

fn query(args: &RunsArgs) -> Result<Query, Failure> {
    let status = args.status.as_deref().map(status).transpose()?;
    let since = args
        .since
        .map(|day| {
            day.at(0, 0, 0, 0).to_zoned_datetime(TimeZone::UTC).map(|zoned| zoned.timestamp())
        })
        .transpose()
        .map_err(|error| Failure::new(ExitCode::Usage, &error))?;
    Ok(Query { job: args.job.clone(), status, since })
}

fn status(word: &str) -> Result<Status, Failure> {
    let known = || Status::ALL.iter().map(|status| status.as_str()).collect::<Vec<_>>().join(", ");
    Status::ALL.into_iter().find(|status| status.as_str() == word).ok_or_else(|| {
        Failure::usage(format!("`{word}` is no status")).with_help(format!("known are {}", known()))
    })
}

fn table(lines: &[Line], width: u16) -> String {
    if lines.is_empty() {
        return "no run matches\n".to_owned();
    }
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width);
    table.load_style(comfy_table::TableStyle::new());
    table.set_header(["Start (UTC)", "Job", "Status", "Commit", "CPU time", "Duration", "Memory"]);
    for line in lines {
        table.add_row([
            line.start.strftime("%Y-%m-%d %H:%M").to_string(),
            plain::name(&line.job),
            line.status.words().to_owned(),
            commit(line),
            number(line, "cpu_time", &Unit::Seconds),
            number(line, "duration", &Unit::Seconds),
            number(line, "memory_peak", &Unit::Bytes),
        ]);
    }
    for column in table.column_iter_mut().skip(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n", table.trim_fmt())
}

fn commit(line: &Line) -> String {
    match &line.commit {
        Some(sha) if line.dirty == Some(true) => format!("{} dirty", sha.short()),
        Some(sha) => sha.short().to_owned(),
        None => "uncommitted".to_owned(),
    }
}

fn number(line: &Line, name: &str, unit: &Unit) -> String {
    line.metrics.get(name).map_or_else(|| "not measured".to_owned(), |entry| human(entry.0, unit))
}
