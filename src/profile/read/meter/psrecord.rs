//! psrecord's log, the plain one and its CSV. Its MB are MiB. Without `--include-children` a
//! command that goes through a shell is the shell's log, flat and tiny.

use super::super::super::error::{Fault, Reason};
use super::super::super::lines::Lines;
use super::super::super::reading::{Reading, series};
use super::{Context, MIB, Points};
use crate::model::metric::Unit;

/// Which column is what.
struct Columns {
    time: usize,
    cpu: Option<usize>,
    real: usize,
}

pub(super) fn read(
    context: &Context<'_>,
    lines: &mut Lines<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let mut columns: Option<Columns> = None;
    let (mut memory, mut cpu) = (Points::default(), Points::default());
    let mut last = 0.0;
    let max = context.limits.values;
    while let Some(line) = lines.next()? {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        let Some(columns) = &columns else {
            columns = header(text);
            continue;
        };
        let cells: Vec<f64> = text
            .split(|c: char| c == ',' || c.is_whitespace())
            .filter(|cell| !cell.is_empty())
            .map_while(|cell| cell.parse().ok())
            .collect();
        let (Some(time), Some(real)) = (cells.get(columns.time), cells.get(columns.real)) else {
            memory.left_out += 1;
            continue;
        };
        memory.push(*time, real * MIB, max);
        last = if time.is_finite() { *time } else { last };
        if let Some(share) = columns.cpu.and_then(|at| cells.get(at)) {
            cpu.push(*time, share / 100.0, max);
        }
    }
    let Some(peak) = memory.peak() else {
        return Err(lines.wrong(Reason::Missing { what: "a row of numbers" }));
    };
    reading.metric("psrecord.memory_peak", peak, Unit::Bytes);
    reading.metric("psrecord.elapsed_time", last, Unit::Seconds);
    if peak < 4.0 * MIB && memory.value.iter().all(|value| value.total_cmp(&peak).is_eq()) {
        reading.note(
            "the memory never moves and is that of a shell: psrecord did not follow the program (`--include-children`)",
        );
    }
    memory.tell_left_out(reading);
    reading.series.push(series("psrecord.memory", Unit::Bytes, memory.t, memory.value));
    if !cpu.t.is_empty() {
        reading.series.push(series("psrecord.cpu", Unit::Ratio, cpu.t, cpu.value));
    }
    Ok(())
}

/// The plain head has names of two words with two spaces or more between them.
fn header(line: &str) -> Option<Columns> {
    let names: Vec<String> = if line.starts_with('#') {
        let names = line.trim_start_matches('#').trim().split("  ");
        names.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    } else {
        line.split(',').map(|name| name.trim().to_owned()).collect()
    };
    // Names run into each other where the head is narrow.
    let at = |words: &[&str]| names.iter().position(|name| words.iter().any(|word| name == word));
    Some(Columns {
        time: at(&["Elapsed time", "elapsed_time"])?,
        cpu: at(&["CPU (%)", "cpu"]),
        real: at(&["Real (MB)", "mem_real"])?,
    })
}
