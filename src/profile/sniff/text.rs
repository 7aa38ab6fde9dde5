//! Tells text formats by their first lines.

use super::Kind;
use crate::profile::read::collapsed::split_count;

/// How many lines are looked at.
const LINES_MAX: usize = 60;

/// The kind, if the lines tell it.
pub(super) fn kind(begin: &[u8]) -> Option<Kind> {
    let lines: Vec<&[u8]> = begin
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.trim_ascii().is_empty())
        .take(LINES_MAX)
        .collect();
    let first = *lines.first()?;
    let starts = |mark: &str| lines.iter().any(|line| line.starts_with(mark.as_bytes()));
    let has =
        |mark: &str| lines.iter().any(|line| memchr::memmem::find(line, mark.as_bytes()).is_some());
    let rules: [(bool, Kind); 18] = [
        (first.starts_with(b"# callgrind format") || starts("creator: callgrind"), Kind::Callgrind),
        (starts("events: ") && (starts("fn=") || starts("fl=")), Kind::Callgrind),
        (starts("time_unit: ") && (starts("snapshot=") || starts("#---")), Kind::Massif),
        (is_mprof(first), Kind::Mprof),
        (
            first.starts_with(b"# Elapsed time") || first.starts_with(b"elapsed_time,nproc,cpu"),
            Kind::Psrecord,
        ),
        (has("Command being timed: ") && has("time (seconds): "), Kind::GnuTime),
        (starts("{\"counter-value\"") || has("Performance counter stats for"), Kind::PerfStat),
        (
            first.starts_with(b"# started on")
                && lines.iter().skip(1).any(|line| is_perf_csv(line)),
            Kind::PerfStat,
        ),
        (is_perf_csv(first), Kind::PerfStat),
        (is_pyrealm(first), Kind::PyrealmCsv),
        (has("filename:lineno(function)"), Kind::PstatsText),
        (lines.iter().any(|line| is_libtest(line)), Kind::Libtest),
        (lines.iter().any(|line| is_go(line)), Kind::Go),
        (is_memray_csv(first), Kind::MemrayCsv),
        (first.starts_with(b"# austin: "), Kind::Collapsed),
        (is_perf_script(&lines), Kind::PerfScript),
        (is_one_long_stack(begin, &lines), Kind::Collapsed),
        (is_collapsed(&lines), if is_diff(&lines) { Kind::CollapsedDiff } else { Kind::Collapsed }),
    ];
    rules.iter().find(|(fits, _)| *fits).map(|(_, kind)| *kind)
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

fn is_number(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(|word| word.parse::<f64>().is_ok())
}

fn is_mprof(first: &[u8]) -> bool {
    if first.starts_with(b"CMDLINE ") {
        return true;
    }
    let numbers = words(first).skip(1).filter(|word| is_number(word)).count();
    (first.starts_with(b"MEM ") && numbers == 2) || (first.starts_with(b"FUNC ") && numbers >= 4)
}

/// `75.83,msec,task-clock,75827944,100.00,…`
fn is_perf_csv(line: &[u8]) -> bool {
    let fields: Vec<_> = line.split(|byte| *byte == b',').collect();
    fields.len() >= 5
        && (is_number(fields[0]) || fields[0].starts_with(b"<not "))
        && !fields[2].is_empty()
        && !is_number(fields[2])
        && is_number(fields[3])
        && is_number(fields[4])
}

fn is_pyrealm(first: &[u8]) -> bool {
    let has = |name: &[u8]| first.split(|byte| *byte == b',').any(|field| field == name);
    has(b"tottime") && has(b"cumtime") && has(b"function") && has(b"lineno")
}

fn is_memray_csv(first: &[u8]) -> bool {
    let has = |name: &[u8]| first.split(|byte| *byte == b',').any(|field| field == name);
    has(b"allocator") && has(b"size") && has(b"stack_trace")
}

fn is_libtest(line: &[u8]) -> bool {
    line.starts_with(b"test ") && memchr::memmem::find(line, b" bench: ").is_some()
}

fn is_go(line: &[u8]) -> bool {
    let mut words = words(line);
    line.starts_with(b"Benchmark")
        && words.nth(1).is_some_and(|count| count.iter().all(u8::is_ascii_digit))
        && words.next().is_some_and(is_number)
        && words.next().is_some_and(|unit| unit.ends_with(b"/op") || unit.contains(&b'/'))
}

/// A head `comm pid [cpu] time: event:` and below it frames `address symbol (object)`.
fn is_perf_script(lines: &[&[u8]]) -> bool {
    let is_head = |line: &[u8]| {
        let is_time = |word: &[u8]| {
            word.strip_suffix(b":").is_some_and(|time| time.contains(&b'.') && is_number(time))
        };
        !line.starts_with(b"\t")
            && words(line).any(is_time)
            && line.trim_ascii_end().ends_with(b":")
    };
    let is_frame = |line: &[u8]| {
        line.starts_with(b"\t")
            && words(line).next().is_some_and(|word| word.iter().all(u8::is_ascii_hexdigit))
    };
    lines.iter().any(|line| is_head(line)) && lines.iter().any(|line| is_frame(line))
}

/// Stacks with a number behind the last space. The last line may be cut.
fn is_collapsed(lines: &[&[u8]]) -> bool {
    let lines: Vec<_> = lines.iter().filter(|line| !line.starts_with(b"#")).collect();
    let fit = lines.iter().filter(|line| split_count(line).is_some()).count();
    let with_stack = lines.iter().filter(|line| line.contains(&b';')).count();
    !lines.is_empty()
        && fit + usize::from(lines.len() > 1) >= lines.len()
        && fit > 0
        && (with_stack > 0
            || lines.iter().all(|line| {
                words(line).count() == 2 && !is_number(words(line).next().unwrap_or_default())
            }))
}

/// A stack so deep that its line has no end within what is looked at.
fn is_one_long_stack(begin: &[u8], lines: &[&[u8]]) -> bool {
    begin.len() >= crate::profile::input::PREFIX
        && lines.len() == 1
        && lines[0].contains(&b';')
        && !lines[0].contains(&0)
}

/// Two numbers behind every stack.
fn is_diff(lines: &[&[u8]]) -> bool {
    let has_two = |line: &&&[u8]| {
        split_count(line).is_some_and(|(stack, _)| stack.is_empty() || split_count(stack).is_some())
    };
    let with_stack: Vec<_> = lines.iter().filter(|line| line.contains(&b';')).collect();
    !with_stack.is_empty() && with_stack.iter().all(has_two)
}
