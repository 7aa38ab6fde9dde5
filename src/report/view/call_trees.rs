//! Profiles in short and their heaviest functions, from the record alone.

use super::cell::{Cell, Section, Table, number, text};
use super::metrics::amount;
use super::plural;
use crate::model::metric::Unit;
use crate::record::Record;
use crate::record::profiles::{ProfileSummary, TopFunction};
use crate::report::plain;

/// So many functions of each profile are shown.
const FUNCTIONS_SHOWN: usize = 12;

/// The section.
pub(crate) fn call_trees(record: &Record) -> Section {
    let tables = if record.profiles.is_empty() {
        Vec::new()
    } else {
        let functions = (0_u32..).zip(&record.profiles).map(|(at, profile)| {
            let of_it = record.functions.iter().filter(|one| one.profile == at);
            functions(profile, of_it, record.profiles.len() > 1)
        });
        std::iter::once(profiles(record)).chain(functions).collect()
    };
    Section::new("call-trees", "Call trees", vec![lead(record)], tables)
}

fn lead(record: &Record) -> String {
    let profiler = &record.tool.profiler;
    if !record.profiles.is_empty() {
        let count = plural(record.profiles.len(), "profile");
        return format!("{count} of the run, whole in profile.json.gz.");
    }
    if profiler.name == "none" {
        "No profile was collected: the job ran without a profiler.".to_owned()
    } else {
        format!(
            "No profile was collected, although the job ran under {}.",
            plain::name(&profiler.name)
        )
    }
}

fn profiles(record: &Record) -> Table {
    let columns = [
        text("Read from"),
        text("Format"),
        text("Step"),
        text("Weight"),
        number("Sum"),
        number("Functions"),
        number("Samples"),
    ];
    let count = |value: u64| Cell::number(amount(value as f64, &Unit::Count));
    let rows = record.profiles.iter().map(|profile| {
        let weight = profile.weights.first();
        vec![
            Cell::code(&plain::line(&profile.source, 200)),
            Cell::text(&plain::line(profile.tool.as_deref().unwrap_or(&profile.format), 60)),
            profile
                .step
                .as_deref()
                .map_or_else(|| Cell::text("whole job"), |step| Cell::code(&plain::name(step))),
            weight.map_or_else(
                || Cell::absent("none"),
                |weight| {
                    let name = plain::line(&weight.name, 60);
                    Cell::text(&format!("{name}, {}", weight.measured.as_str()))
                },
            ),
            weight.map_or_else(
                || Cell::absent("none"),
                |weight| Cell::number(amount(weight.sum, &weight.unit)),
            ),
            count(profile.functions),
            profile.samples.map_or_else(|| Cell::absent("not counted"), count),
        ]
    });
    Table::new("Profiles", &columns, rows)
}

fn functions<'r>(
    profile: &ProfileSummary,
    top: impl Iterator<Item = &'r TopFunction>,
    several: bool,
) -> Table {
    let columns = [
        text("Function"),
        text("Where"),
        number("Self"),
        number("Share"),
        number("With callees"),
        number("Calls"),
    ];
    let rows = top.take(FUNCTIONS_SHOWN).map(|one| {
        let place = match (one.file.is_empty(), one.line) {
            (true, _) => one.module.clone(),
            (false, 0) => one.file.clone(),
            (false, line) => format!("{}:{line}", one.file),
        };
        vec![
            Cell::code(&plain::line(&one.function, 160)),
            Cell::code(&plain::line(&place, 160)),
            Cell::number(amount(one.own, &one.unit)),
            Cell::number(amount(one.share, &Unit::Ratio)),
            one.total.map_or_else(
                || Cell::absent("not known"),
                |total| Cell::number(amount(total, &one.unit)),
            ),
            one.calls.map_or_else(
                || Cell::absent("not counted"),
                |calls| Cell::number(amount(calls as f64, &Unit::Count)),
            ),
        ]
    });
    let caption = if several {
        format!("Functions that spent most, of {}", plain::line(&profile.source, 200))
    } else {
        "Functions that spent most".to_owned()
    };
    let table = Table::new(&caption, &columns, rows);
    if table.rows.iter().all(|row| matches!(row.cells.last(), Some(Cell::Absent { .. }))) {
        table.without("Calls")
    } else {
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::call::{Measured, Origin};
    use crate::record::profiles::{Shape, WeightSum};

    fn record() -> Record {
        serde_json::from_str(include_str!("../../../tests/fixtures/records/v1/succeeded.json"))
            .unwrap()
    }

    fn summary() -> ProfileSummary {
        ProfileSummary {
            file: "profile.json.gz".to_owned(),
            place: 0,
            name: String::new(),
            step: None,
            source: "out/</script>.prof".to_owned(),
            format: "pstats".to_owned(),
            tool: None,
            shape: Shape::Table,
            weights: vec![WeightSum {
                name: "time".to_owned(),
                unit: Unit::Seconds,
                measured: Measured::Traced,
                sum: 12.0,
            }],
            functions: 1,
            nodes: 1,
            kept: None,
            samples: None,
            interval: None,
            duration: None,
        }
    }

    fn function() -> TopFunction {
        TopFunction {
            profile: 0,
            step: None,
            function: "update".to_owned(),
            file: "sim.py".to_owned(),
            module: "sim.py".to_owned(),
            origin: Origin::Own,
            line: 7,
            weight: "time".to_owned(),
            unit: Unit::Seconds,
            measured: Measured::Traced,
            own: 3.0,
            total: None,
            share: 0.25,
            calls: None,
        }
    }

    #[test]
    fn without_a_profile_it_says_so() {
        let section = call_trees(&record());
        assert!(section.lead[0].contains("without a profiler"), "{:?}", section.lead);
        assert!(section.tables.is_empty());
    }

    #[test]
    fn functions_stand_with_share_and_place() {
        let mut record = record();
        record.profiles.push(summary());
        record.functions.push(function());
        let section = call_trees(&record);
        let texts = |table: usize| -> Vec<&str> {
            section.tables[table].rows[0].cells.iter().map(Cell::as_text).collect()
        };
        assert_eq!(texts(0)[3..], ["time, traced", "12 s", "1", "not counted"]);
        assert_eq!(texts(1), ["update", "sim.py:7", "3 s", "25.0 %", "not known"]);
        assert_eq!(section.tables[1].columns.len(), 5, "nothing counts calls");
    }
}
