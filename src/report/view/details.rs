//! Steps, disturbances, notices, and what measuring cost.

use super::cell::{Cell, Section, Table, number, text};
use super::head;
use super::metrics::{amount, part_value};
use crate::model::metric::{self, Unit};
use crate::record::{Level, Record, Step};
use crate::report::plain;

/// The commands of the job.
pub(crate) fn steps(record: &Record) -> Section {
    let columns = [
        text("Step"),
        text("Ended"),
        number("Duration"),
        number("CPU time"),
        number("Memory, peak"),
        text("Command"),
    ];
    let rows = record.steps.iter().map(|step| {
        let value = |name| part_value(&step.metrics, name, step.unavailable.get(name));
        vec![
            Cell::code(&plain::name(&step.name)),
            Cell::text(&ended(step)),
            value("duration"),
            value("cpu_time"),
            value("memory_peak"),
            Cell::code(&step.command),
        ]
    });
    let lead = match record.steps.len() {
        0 => vec!["No step ran.".to_owned()],
        _ => Vec::new(),
    };
    Section::new(
        "steps",
        "Steps",
        lead,
        vec![Table::new("Commands of the job, in order", &columns, rows)],
    )
}

fn ended(step: &Step) -> String {
    let how = match step.signal {
        Some(signal) => match head::signal_name(signal) {
            Some(name) => format!("by {name}"),
            None => format!("by signal {signal}"),
        },
        None => head::exit(step.status, step.exit_code),
    };
    format!("{}, {how}", step.status.words())
}

/// `1 profile`, `2 profiles`.
pub(crate) fn plural(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// What may have spoilt the run, and what could not be looked at.
pub(crate) fn disturbances(record: &Record) -> Section {
    let columns =
        [text("Indicator"), number("Seen"), number("Limit"), text("Counts"), text("Meaning")];
    let mut sorted: Vec<_> = record.disturbances.iter().collect();
    sorted.sort_by_key(|disturbance| !disturbance.exceeded);
    let rows = sorted.into_iter().map(|disturbance| {
        let limit = disturbance.limit.map_or_else(
            || Cell::absent("no limit"),
            |limit| Cell::number(amount(limit, &disturbance.unit)),
        );
        let counts = match (disturbance.exceeded, disturbance.limit) {
            (true, _) => "disturbed",
            (false, Some(_)) => "within the limit",
            (false, None) => "only told",
        };
        vec![
            Cell::code(&plain::name(&disturbance.name)),
            Cell::number(amount(disturbance.value, &disturbance.unit)),
            limit,
            Cell::text(counts),
            Cell::text(&disturbance.message),
        ]
    });
    let seen = Table::new("Looked at", &columns, rows);
    let missing = record
        .unavailable
        .iter()
        .filter(|(name, _)| metric::built_in(name).is_none())
        .map(|(name, reason)| vec![Cell::code(&plain::name(name)), Cell::absent(reason)]);
    let missing = Table::new("Not looked at", &[text("Indicator"), text("Why")], missing);
    let disturbed = record.disturbed_by().count();
    let lead = match (seen.rows.is_empty(), disturbed) {
        (true, _) => "No indicator was measured.".to_owned(),
        (false, 0) => "Nothing that was looked at disturbed the run.".to_owned(),
        (false, count) => {
            format!("The run was disturbed: {} beyond the limit.", plural(count, "indicator"))
        }
    };
    Section::new("disturbances", "Disturbances", vec![lead], vec![seen, missing])
}

/// Everything there is to know, worst first.
pub(crate) fn notices(record: &Record) -> Section {
    let mut sorted: Vec<_> = record.notices.iter().collect();
    sorted.sort_by_key(|notice| std::cmp::Reverse(notice.level));
    let rows = sorted.into_iter().map(|notice| {
        let level = match notice.level {
            Level::Info => "note",
            Level::Warning => "warning",
            Level::Error => "error",
        };
        vec![
            Cell::text(level),
            Cell::text(&plain::line(&notice.message, 600)),
            Cell::code(&plain::name(&notice.code)),
        ]
    });
    let table = Table::new(
        "All notices, worst first",
        &[text("Level"), text("Message"), text("Code")],
        rows,
    );
    let lead =
        if record.notices.is_empty() { vec!["There are none.".to_owned()] } else { Vec::new() };
    Section::new("notices", "Notices", lead, vec![table])
}

/// What measuring itself cost.
pub(crate) fn overhead(record: &Record) -> Section {
    let cost = &record.overhead;
    let seconds = |value| Cell::number(amount(value, &Unit::Seconds));
    let count = |value: u64| Cell::number(amount(value as f64, &Unit::Count));
    let share = match record.metrics.get("cpu_time") {
        Some(job) if job.value > 0.0 => {
            Cell::number(amount(cost.cpu_time / job.value, &Unit::Ratio))
        }
        _ => Cell::absent("the job's CPU time is not known"),
    };
    let mut facts = vec![("CPU time of perftrail".to_owned(), seconds(cost.cpu_time))];
    facts.push(("Share of the job's CPU time".to_owned(), share));
    facts.push(("Samples".to_owned(), count(cost.samples)));
    facts.push(("Samples that came late".to_owned(), count(cost.late_samples)));
    if cost.samples > 0 {
        if cost.sampler_cpu_time > 0.0 {
            facts.push(("CPU time of sampling".to_owned(), seconds(cost.sampler_cpu_time)));
        }
        facts.push(("Time between samples, at the end".to_owned(), seconds(cost.interval)));
        facts.push(("A usual sample".to_owned(), seconds(cost.sample_cost_median)));
        facts.push(("The dearest sample".to_owned(), seconds(cost.sample_cost_max)));
    }
    facts.push(("Sweeps of proportional memory".to_owned(), count(cost.pss_sweeps)));
    facts.push(("CPU time of these sweeps".to_owned(), seconds(cost.pss_cpu_time)));
    facts.push(("The job's output had to wait".to_owned(), seconds(cost.output_blocked)));
    let table = Table::of_facts("Paid by perftrail, not counted as the job's", facts);
    Section::new("cost", "What measuring cost", Vec::new(), vec![table])
}
