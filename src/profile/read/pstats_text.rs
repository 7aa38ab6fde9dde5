//! Rows of cProfile as text: what `pstats` prints, the same split into CSV (with the row of
//! greatest memory of a psrecord log appended), and tables of many runs over commits.
//!
//! Times have three decimals here: a function of 0.001 s is known to a half of that. Calls may be
//! `34/22`: all, and those that are not recursion.

use super::super::build::weight;
use super::super::error::{Fault, Reason};
use super::super::input::Input;
use super::super::lines::Lines as TextLines;
use super::super::model::{Body, Frame, FrameKind, Measured, Origin, Profile, Weight};
use super::super::names;
use super::super::reading::Reading;
use super::super::sniff::Kind;
use super::Context;
use super::table::TableBuilder;
use crate::model::metric::{Better, Unit};

const MIB: f64 = 1_048_576.0;
/// Rows of the older runs of a table that are looked at.
const ROWS_MAX: u64 = 5_000_000;

/// One row.
struct Row<'l> {
    calls: (u64, u64),
    own: f64,
    total: f64,
    file: &'l str,
    line: u32,
    function: &'l str,
}

/// `34/22` or `34`.
fn calls(text: &str) -> Option<(u64, u64)> {
    let (all, primitive) = text.split_once('/').unwrap_or((text, text));
    Some((all.trim().parse().ok()?, primitive.trim().parse().ok()?))
}

fn seconds(text: &str) -> Option<f64> {
    weight(text.trim().parse().ok()?)
}

pub(super) fn read(
    context: &Context<'_>,
    lines: &mut TextLines<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let mut table = TableBuilder::new(1, context.limits);
    let (mut in_table, mut in_memory) = (false, false);
    let mut rows = 0_u64;
    while let Some(line) = lines.next()? {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.contains("filename:lineno(function)") {
            in_table = true;
        } else if text.starts_with('#') && text.contains("Peak Real (MB)") {
            (in_table, in_memory) = (false, true);
        } else if !in_table && text.replace(',', " ").contains(" function calls") {
            preamble(text, reading);
        } else if in_memory {
            memory(text, reading);
        } else if in_table && !text.is_empty() {
            // Callers and callees are printed in tables of their own, which are not read.
            if text.starts_with("Ordered by") || text.contains("was called by...") {
                in_table = false;
            } else if let Some(row) = printed(text) {
                add(context, &mut table, &row);
                rows += 1;
            } else {
                reading.note(format!(
                    "line {} is no row of the table and is left out",
                    lines.number()
                ));
            }
        }
    }
    if rows == 0 {
        return Err(lines.wrong(Reason::Missing { what: "a row of the table" }));
    }
    finish(table, Kind::PstatsText, reading);
    Ok(())
}

/// `125 function calls (120 primitive calls) in 0.500 seconds`, with commas where it was split.
fn preamble(text: &str, reading: &mut Reading) {
    let plain = text.replace([',', '(', ')'], " ");
    let words: Vec<&str> = plain.split_whitespace().collect();
    let before = |word: &str| {
        let at = words.iter().position(|other| *other == word)?;
        words.get(at.checked_sub(1)?)?.parse::<f64>().ok().and_then(weight)
    };
    for (word, name, unit) in [
        ("seconds", "traced_time", Unit::Seconds),
        ("function", "function_calls", Unit::Count),
        ("primitive", "primitive_calls", Unit::Count),
    ] {
        if let Some(value) = before(word) {
            let is_count = unit == Unit::Count;
            if let Some(metric) = reading.exact(name, value, unit)
                && is_count
            {
                metric.better = Better::Neither;
            }
        }
    }
}

/// The row of a psrecord log that has the most memory: the other columns are what they were at
/// that moment, no peaks.
fn memory(text: &str, reading: &mut Reading) {
    let cells: Vec<f64> = text
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|cell| !cell.is_empty())
        .map_while(|cell| cell.parse().ok())
        .collect();
    if let [_, _, real, ..] = &cells[..]
        && weight(*real).is_some()
    {
        reading.metric("memory_peak_sampled", real * MIB, Unit::Bytes);
    }
}

/// `ncalls tottime percall cumtime percall file:line(function)`, with commas or spaces between.
fn printed(text: &str) -> Option<Row<'_>> {
    let first = text.split([',', ' ']).next()?;
    let separator = if text[first.len()..].starts_with(',') { ',' } else { ' ' };
    let mut rest = text;
    let mut cells = [""; 5];
    for cell in &mut cells {
        rest = rest.trim_start();
        let (head, tail) = rest.split_once(separator)?;
        *cell = head.trim();
        rest = tail;
    }
    let (file, line, function) = place(rest.trim())?;
    Some(Row {
        calls: calls(cells[0])?,
        own: seconds(cells[1])?,
        total: seconds(cells[3])?,
        file,
        line,
        function,
    })
}

/// `sim.py:34(group_by)`, `{built-in method time.sleep}`.
fn place(text: &str) -> Option<(&str, u32, &str)> {
    if let Some(name) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        return Some(("~", 0, name));
    }
    let inner = text.strip_suffix(')')?;
    // A file's name may hold brackets and a function's too: a number between `:` and `(` tells.
    let mut from = 0;
    loop {
        let at = from + inner[from..].find('(')?;
        if let Some((file, line)) = inner[..at].rsplit_once(':')
            && let Ok(line) = line.parse()
        {
            return Some((file, line, &inner[at + 1..]));
        }
        from = at + 1;
    }
}

fn add(context: &Context<'_>, table: &mut TableBuilder, row: &Row<'_>) {
    let place = context.paths.place(row.file);
    let is_built_in = row.file == "~";
    let name = if is_built_in && !row.function.starts_with('<') {
        format!("<{}>", row.function)
    } else {
        row.function.to_owned()
    };
    let at = table.row(Frame {
        function: names::function(&name),
        file: place.file,
        line: row.line,
        module: place.module,
        origin: if is_built_in { Origin::Runtime } else { place.origin },
        kind: FrameKind::Function,
    });
    table.add(at, 0, row.own, row.total);
    table.count(at, row.calls.0, row.calls.1);
}

fn finish(table: TableBuilder, format: Kind, reading: &mut Reading) {
    reading.note("the times are printed ones, to a thousandth of a second");
    let (frames, body) = table.finish(true, true);
    let weights = vec![Weight::new("time", Unit::Seconds, Measured::Traced)];
    reading.profiles.push(Profile::new(format, weights, frames, Body::Table(body)));
}

/// Columns of a table of runs over commits.
struct Columns {
    calls: usize,
    own: usize,
    total: usize,
    file: usize,
    line: usize,
    function: usize,
    time: usize,
    label: Option<usize>,
}

/// Reads a table of many runs: the newest of them, by its time stamp.
pub(super) fn read_database(
    context: &Context<'_>,
    input: &mut Input<'_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let bytes = input.whole(context.limits.whole)?;
    let broken = |line: u64, what| Fault::at_line(line, Reason::Missing { what });
    let mut csv = csv::ReaderBuilder::new().flexible(true).from_reader(&bytes[..]);
    let head = csv.byte_headers().map_err(|_| broken(1, "a head"))?.clone();
    let Some(columns) = columns(&head) else {
        return Err(broken(1, "a column of cProfile or `timestamp`"));
    };
    let mut runs = std::collections::BTreeMap::new();
    let mut newest: Option<(String, String, TableBuilder)> = None;
    let mut row = csv::ByteRecord::new();
    let (mut number, mut odd) = (1_u64, 0_u64);
    while csv.read_byte_record(&mut row).map_err(|_| broken(number + 1, "a row"))? {
        number += 1;
        if number > ROWS_MAX {
            return Err(Fault::at_line(
                number,
                Reason::TooLarge { what: "the number of rows", limit: ROWS_MAX },
            ));
        }
        let cell = |at: usize| String::from_utf8_lossy(row.get(at).unwrap_or_default());
        let (time, label) = (cell(columns.time), columns.label.map(&cell).unwrap_or_default());
        if runs.len() < 10_000 {
            *runs.entry(time.to_string()).or_insert(0_u64) += 1;
        }
        if newest.as_ref().is_none_or(|(known, ..)| known.as_str() < &*time) {
            let table = TableBuilder::new(1, context.limits);
            newest = Some((time.to_string(), label.to_string(), table));
        }
        let Some((_, _, table)) = newest.as_mut().filter(|(known, ..)| known.as_str() == &*time)
        else {
            continue;
        };
        let (file, function) = (cell(columns.file), cell(columns.function));
        let parts = (
            calls(&cell(columns.calls)),
            seconds(&cell(columns.own)),
            seconds(&cell(columns.total)),
        );
        let (Some(calls), Some(own), Some(total)) = parts else {
            odd += 1;
            continue;
        };
        let line = cell(columns.line).trim().parse().unwrap_or(0);
        add(context, table, &Row { calls, own, total, file: &file, line, function: &function });
    }
    let Some((time, label, table)) = newest else { return Err(broken(number, "a row")) };
    if odd > 0 {
        reading.note(format!("{odd} rows have no numbers from 0 up and are left out"));
    }
    let (time, label) = (names::clean(&time), names::clean(&label));
    reading.note(format!("the file holds {} runs: that of {time} ({label}) is read", runs.len()));
    finish(table, Kind::PyrealmCsv, reading);
    Ok(())
}

fn columns(head: &csv::ByteRecord) -> Option<Columns> {
    let at = |name: &str| head.iter().position(|cell| cell == name.as_bytes());
    Some(Columns {
        calls: at("ncalls")?,
        own: at("tottime")?,
        total: at("cumtime")?,
        file: at("filename")?,
        line: at("lineno")?,
        function: at("function")?,
        time: at("timestamp")?,
        label: at("label"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::{Options, Reading, read_bytes};
    use super::*;

    fn reading(text: &str) -> Reading {
        let options = Options { workspaces: &["/w"], ..Options::default() };
        read_bytes(text.as_bytes(), &options).unwrap()
    }

    fn rows(reading: &Reading) -> Vec<(String, String, u32, f64, f64, u64)> {
        let profile = &reading.profiles[0];
        let Body::Table(table) = &profile.body else { panic!("a tree") };
        (0..table.frame.len())
            .map(|at| {
                let frame = &profile.frames[table.frame[at] as usize];
                (
                    frame.function.clone(),
                    frame.file.clone(),
                    frame.line,
                    table.own[0][at],
                    table.total[0][at],
                    table.calls[at],
                )
            })
            .collect()
    }

    #[test]
    fn two_tables_glued_into_one_file() {
        let reading = reading(
            "125,function,calls,(120,primitive,calls) in 0.500 seconds\n\nOrdered,by:,cumulative,time\n\nncalls,tottime,percall,cumtime,percall,filename:lineno(function)\n\
             34/22,0.400,0.012,0.500,0.023,/w/ecm_prep.py:12(prep (old))\n1,0.100,0.100,0.100,0.100,{built-in method time.sleep}\n\n\n# Elapsed time,CPU (%),Peak Real (MB),Peak Virtual (MB)\n12.003,99.500,512.000,1024.000\n",
        );
        assert_eq!(
            rows(&reading),
            [
                ("prep (old)".to_owned(), "ecm_prep.py".to_owned(), 12, 0.4, 0.5, 34),
                ("<built-in method time.sleep>".to_owned(), String::new(), 0, 0.1, 0.1, 1),
            ]
        );
        let names: Vec<_> =
            reading.metrics.iter().map(|metric| (metric.name.as_str(), metric.value)).collect();
        assert_eq!(
            names,
            [
                ("traced_time", 0.5),
                ("function_calls", 125.0),
                ("primitive_calls", 120.0),
                ("memory_peak_sampled", 512.0 * MIB)
            ]
        );
    }

    #[test]
    fn what_pstats_prints() {
        let reading = reading(
            "Mon Nov 30 14:00:00 2026    sim.pstats\n\n         7 function calls (5 primitive calls) in 0.003 seconds\n\n   Ordered by: internal time\n\n   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n      3/1    0.002    0.001    0.003    0.003 /w/a b.py:3(f)\n        1    0.001    0.001    0.001    0.001 <frozen importlib._bootstrap>:1002(_find_spec)\n",
        );
        assert_eq!(rows(&reading)[0], ("f".to_owned(), "a b.py".to_owned(), 3, 0.002, 0.003, 3));
        assert_eq!(rows(&reading)[1].0, "_find_spec");
    }

    #[test]
    fn of_many_runs_the_newest_counts() {
        let head = "ncalls,tottime,tottime_percall,cumtime,cumtime_percall,timestamp,filename,lineno,function,process_id,label,ignore_result,ignore_justification\n";
        let row = |time: &str, own: &str, label: &str| {
            format!(
                "13/2,{own},0.033,0.9,0.033,{time},pyrealm/a.py,14,f,pyrealm/a.py:f,{label},False,\n"
            )
        };
        let text = format!(
            "{head}{}{}{}",
            row("2024-05-07T16:26:25", "0.1", "aaa"),
            row("2024-06-07T16:26:25", "0.2", "bbb"),
            row("2024-06-07T16:26:25", "x", "bbb")
        );
        let reading = reading(&text);
        assert_eq!(rows(&reading), [("f".to_owned(), "pyrealm/a.py".to_owned(), 14, 0.2, 0.9, 13)]);
        assert!(
            reading
                .notices
                .iter()
                .any(|notice| notice.contains("2 runs") && notice.contains("bbb"))
        );
        assert!(reading.notices[0].starts_with("1 rows"));
    }
}
