//! What `cargo bench` prints: `test NAME ... bench:  33,384.12 ns/iter (+/- 1,381.40) = 147 MB/s`.
//! criterion writes the same with `--output-format bencher`. `+/-` is the distance of the greatest
//! and the least, no deviation.

use super::super::super::error::{Fault, Reason};
use super::super::super::lines::Lines;
use super::super::super::reading::Reading;
use super::scaled;
use crate::model::metric::{Better, Unit};

pub(super) fn read(lines: &mut Lines<'_, '_>, reading: &mut Reading) -> Result<(), Fault> {
    while let Some(line) = lines.next()? {
        let text = String::from_utf8_lossy(line);
        let Some(found) = parse(&text) else { continue };
        if let Some(metric) =
            reading.exact(found.name, scaled(found.nanoseconds, 1e-9), Unit::Seconds)
        {
            "median".clone_into(&mut metric.method);
        }
        if let Some(rate) = found.megabytes {
            let unit = Unit::Other("B/s".to_owned());
            let label = format!("{}.throughput", found.name);
            if let Some(metric) = reading.exact(&label, rate * 1e6, unit) {
                metric.better = Better::Higher;
                "median".clone_into(&mut metric.method);
            }
        }
    }
    if reading.metrics.is_empty() {
        return Err(lines.wrong(Reason::Missing { what: "a result" }));
    }
    Ok(())
}

#[derive(Debug, PartialEq)]
struct Found<'l> {
    name: &'l str,
    nanoseconds: f64,
    megabytes: Option<f64>,
}

fn parse(line: &str) -> Option<Found<'_>> {
    let (name, rest) = line.trim().strip_prefix("test ")?.split_once(" ... bench:")?;
    let (value, rest) = rest.split_once("ns/iter")?;
    let plain = |text: &str| text.trim().replace(',', "").parse::<f64>().ok();
    let megabytes = rest.split_once("= ").and_then(|(_, rate)| plain(rate.strip_suffix("MB/s")?));
    Some(Found { name: name.trim(), nanoseconds: plain(value)?, megabytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_new_lines() {
        for (line, nanoseconds, megabytes) in [
            ("test a   ... bench:      33,384.12 ns/iter (+/- 1,381.40)", 33_384.12, None),
            ("test a ... bench:          63 ns/iter (+/- 2)", 63.0, None),
            ("test a ... bench: 108,500 ns/iter (+/- 4,339) = 147 MB/s", 108_500.0, Some(147.0)),
        ] {
            assert_eq!(parse(line), Some(Found { name: "a", nanoseconds, megabytes }), "{line}");
        }
        for line in ["test a ... ok", "test a ... bench: x ns/iter", "bench: 3 ns/iter", ""] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
