//! Times, phases and series as text.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::cell::{Cell, Section, Table, number, text};
use super::metrics::{amount, part_value};
use crate::model::metric::Unit;
use crate::record::index::Line;
use crate::record::series::{Series, SeriesFile, SeriesSource};
use crate::record::{Phase, Record, layout};
use crate::report::plain;
use crate::report::timeline::{self, Timeline};

/// How many signs a series has as a line of text.
const SPARK_WIDTH: usize = 24;

/// `2026-11-30 23:59:58 UTC`.
pub(crate) fn utc(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// `2026-11-30 23:59`, for tables whose head says UTC.
pub(crate) fn utc_minutes(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

/// `2026-11-30 1a2b3c4d5e6f`: a run on an axis of runs.
pub(crate) fn day_and_commit(line: &Line) -> String {
    let day = layout::day(line.start);
    match &line.commit {
        Some(sha) => format!("{day} {}", sha.short()),
        None => day,
    }
}

/// The phases of the job: one row each, or one for all of a name where names come again.
pub(crate) fn phases(record: &Record) -> Section {
    let groups = by_name(record);
    let lead = if record.phases.is_empty() {
        vec![
            "The job named no phases. A line `{\"phase\": \"NAME\", \"event\": \"begin\"}` in \
              the file that PERFTRAIL_STATS names begins one."
                .to_owned(),
        ]
    } else {
        Vec::new()
    };
    let table = if groups.len() == record.phases.len() {
        single(record)
    } else {
        grouped(groups.iter().map(Vec::as_slice))
    };
    let table = if record.steps.len() > 1 { table } else { table.without("Step") };
    Section::new("phases", "Phases", lead, vec![table])
}

/// Phases of one step and name together, in the order in which they first began.
fn by_name(record: &Record) -> Vec<Vec<&Phase>> {
    let mut groups: Vec<Vec<&Phase>> = Vec::new();
    let mut at: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for phase in &record.phases {
        let place = *at.entry((&phase.step, &phase.name)).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(phase);
    }
    groups
}

/// The phases that took longest in all, at most `max` of them.
pub(crate) fn longest_phases(record: &Record, max: usize) -> Table {
    let took_all = |group: &[&Phase]| group.iter().filter_map(|phase| took(phase)).sum::<f64>();
    let mut groups = by_name(record);
    groups.sort_by(|a, b| took_all(b).total_cmp(&took_all(a)));
    let more = groups.len().saturating_sub(max);
    let mut table = grouped(groups.iter().take(max).map(Vec::as_slice));
    "The longest phases".clone_into(&mut table.caption);
    table.left_out += more;
    if record.steps.len() > 1 { table } else { table.without("Step") }
}

fn single(record: &Record) -> Table {
    let columns = [
        text("Phase"),
        text("Step"),
        number("From"),
        number("Duration"),
        number("CPU time"),
        number("Memory, peak"),
    ];
    let rows = record.phases.iter().map(|phase| {
        vec![
            Cell::code(&plain::name(&phase.name)),
            Cell::code(&plain::name(&phase.step)),
            phase.begin.map_or_else(
                || Cell::absent("not known"),
                |begin| Cell::number(amount(begin, &Unit::Seconds)),
            ),
            took(phase).map_or_else(
                || Cell::absent("never ended"),
                |took| Cell::number(amount(took, &Unit::Seconds)),
            ),
            part_value(&phase.metrics, "cpu_time", None),
            part_value(&phase.metrics, "memory_peak", None),
        ]
    });
    Table::new("Phases of the last completed repetition", &columns, rows)
}

fn grouped<'a>(groups: impl Iterator<Item = &'a [&'a Phase]>) -> Table {
    let columns = [
        text("Phase"),
        text("Step"),
        number("Times"),
        number("Duration, all"),
        number("Longest"),
        number("CPU time, all"),
        number("Memory, peak"),
    ];
    let rows = groups.filter_map(|group| {
        let first = group.first()?;
        let times: Vec<f64> = group.iter().filter_map(|phase| took(phase)).collect();
        let longest = times.iter().copied().fold(0.0, f64::max);
        let cpu = total(group, "cpu_time");
        let memory = values(group, "memory_peak").reduce(f64::max);
        let or_absent = |value: Option<f64>, unit| {
            value.map_or_else(|| Cell::absent("not measured"), |v| Cell::number(amount(v, unit)))
        };
        Some(vec![
            Cell::code(&plain::name(&first.name)),
            Cell::code(&plain::name(&first.step)),
            Cell::number(amount(group.len() as f64, &Unit::Count)),
            Cell::number(amount(times.iter().sum(), &Unit::Seconds)),
            Cell::number(amount(longest, &Unit::Seconds)),
            or_absent(cpu, &Unit::Seconds),
            or_absent(memory, &Unit::Bytes),
        ])
    });
    Table::new("Phases of the last completed repetition, by name", &columns, rows)
}

/// From begin to end; for a phase from a file, which may have neither, the length it gives.
fn took(phase: &Phase) -> Option<f64> {
    match (phase.begin, phase.end) {
        (Some(begin), Some(end)) => Some((end - begin).max(0.0)),
        (Some(_), None) => None,
        (None, _) => values(&[phase], "duration").next(),
    }
}

fn values(group: &[&Phase], name: &str) -> impl Iterator<Item = f64> {
    group.iter().filter_map(move |phase| phase.metrics.get(name)).map(|metric| metric.value)
}

fn total(group: &[&Phase], name: &str) -> Option<f64> {
    values(group, name).reduce(|sum, value| sum + value)
}

/// Series in short; the page draws them above this table.
pub(crate) fn over_time(record: &Record, file: &SeriesFile, timeline: &Timeline) -> Section {
    let columns = [
        text("Series"),
        text("From"),
        number("Points"),
        number("Least"),
        number("Greatest"),
        number("Last"),
        text("Shape"),
    ];
    let by_name: BTreeMap<&str, &Series> =
        file.series.iter().map(|series| (series.name.as_str(), series)).collect();
    let rows = record.series.iter().map(|summary| {
        let show = |value| Cell::number(amount(value, &summary.unit));
        let source = match summary.source {
            SeriesSource::Sampled => "sampler",
            SeriesSource::Reported => "the job",
        };
        let shape = by_name
            .get(summary.name.as_str())
            .map(|series| timeline::spark(&series.value, SPARK_WIDTH));
        vec![
            Cell::code(&plain::name(&summary.name)),
            Cell::text(source),
            Cell::number(amount(summary.points as f64, &Unit::Count)),
            show(summary.min),
            show(summary.max),
            show(summary.last),
            shape.map_or_else(|| Cell::absent("not kept"), Cell::shape),
        ]
    });
    let mut table = Table::new("Series of the last completed repetition", &columns, rows);
    table.left_out_in = "series.json";
    let mut lead = Vec::new();
    if record.series.is_empty() {
        lead.push("Nothing was recorded over time.".to_owned());
    }
    if timeline.left_out > 0 {
        lead.push(format!("{} more series are in series.json.", timeline.left_out));
    }
    Section::new("over-time", "Over time", lead, vec![table])
}
