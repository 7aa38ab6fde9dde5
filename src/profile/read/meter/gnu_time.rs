//! GNU time's `-v`: `Key: value` lines, some keys with colons in them. Its kbytes are KiB.

use super::super::super::error::{Fault, Reason};
use super::super::super::lines::Lines;
use super::super::super::reading::Reading;
use crate::model::metric::{Better, Unit};

/// The lines that are taken: how they begin, the metric's name, its unit, what one is in it.
const ROWS: &[(&str, &str, Unit, f64)] = &[
    ("User time (seconds)", "user_time", Unit::Seconds, 1.0),
    ("System time (seconds)", "system_time", Unit::Seconds, 1.0),
    ("Maximum resident set size (kbytes)", "max_rss", Unit::Bytes, 1024.0),
    ("Major (requiring I/O) page faults", "major_page_faults", Unit::Count, 1.0),
    ("Minor (reclaiming a frame) page faults", "minor_page_faults", Unit::Count, 1.0),
    ("Voluntary context switches", "voluntary_context_switches", Unit::Count, 1.0),
    ("Involuntary context switches", "involuntary_context_switches", Unit::Count, 1.0),
    // Blocks of 512 bytes, whatever the file system's are.
    ("File system inputs", "file_system_inputs", Unit::Bytes, 512.0),
    ("File system outputs", "file_system_outputs", Unit::Bytes, 512.0),
];

pub(super) fn read(lines: &mut Lines<'_, '_>, reading: &mut Reading) -> Result<(), Fault> {
    while let Some(line) = lines.next()? {
        let text = String::from_utf8_lossy(line);
        let Some((key, value)) = text.trim().rsplit_once(": ") else { continue };
        if key.starts_with("Elapsed (wall clock) time") {
            if let Some(seconds) = clock(value) {
                reading.exact("elapsed_time", seconds, Unit::Seconds);
            }
        } else if key == "Exit status" && value.trim() != "0" {
            let code = crate::profile::names::clean(value);
            reading.note(format!("the command that was timed ended with {code}"));
        } else if let Some((_, name, unit, factor)) = ROWS.iter().find(|row| row.0 == key)
            && let Ok(number) = value.trim().parse::<f64>()
            && let Some(metric) = reading.exact(name, number * factor, unit.clone())
        {
            metric.better = Better::Lower;
        }
    }
    if reading.metrics.is_empty() {
        return Err(lines.wrong(Reason::Missing { what: "a number" }));
    }
    Ok(())
}

/// `h:mm:ss` or `m:ss.ff` in seconds.
fn clock(text: &str) -> Option<f64> {
    text.trim().split(':').try_fold(0.0, |sum, part| {
        let part = part.parse::<f64>().ok().filter(|part| (0.0..1e9).contains(part))?;
        Some(sum * 60.0 + part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks() {
        for (text, seconds) in [
            ("0:07.77", Some(7.77)),
            ("1:02:03", Some(3723.0)),
            ("5", Some(5.0)),
            ("x:1", None),
            ("", None),
        ] {
            assert_eq!(clock(text), seconds, "{text}");
        }
    }
}
