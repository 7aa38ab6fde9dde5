//! Turns a number and its unit into text for people.

use super::metric::Unit;

/// The text of `value`, always with its unit: `1.24 s`, `2 h 03 min`, `512 MiB`, `1,200`, `2.0 %`.
pub fn human(value: f64, unit: &Unit) -> String {
    if !value.is_finite() {
        return "not a number".to_owned();
    }
    match unit {
        Unit::Seconds => seconds(value),
        Unit::Bytes => bytes(value),
        Unit::Count => count(value),
        Unit::Ratio => format!("{:.1} %", value * 100.0),
        Unit::None => significant(value),
        Unit::Other(name) => format!("{} {name}", significant(value)),
    }
}

fn seconds(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        "0 s".to_owned()
    } else if size < 0.000_999_5 {
        format!("{} µs", significant(value * 1e6))
    } else if size < 0.999_5 {
        format!("{} ms", significant(value * 1e3))
    } else if size < 119.5 {
        format!("{} s", significant(value))
    } else {
        let total = value.round();
        let (hours, minutes, rest) = (
            (total / 3600.0).trunc(),
            ((total % 3600.0) / 60.0).trunc().abs(),
            (total % 60.0).abs(),
        );
        if hours == 0.0 {
            format!("{}{minutes:.0} min {rest:02.0} s", if value < 0.0 { "-" } else { "" })
        } else {
            format!("{hours:.0} h {minutes:02.0} min")
        }
    }
}

fn bytes(value: f64) -> String {
    let mut size = value;
    for unit in ["B", "KiB", "MiB", "GiB", "TiB"] {
        if size.abs() < 999.5 || unit == "TiB" {
            return if unit == "B" {
                format!("{} B", significant(size))
            } else {
                format!("{} {unit}", significant(size))
            };
        }
        size /= 1024.0;
    }
    format!("{} PiB", significant(size))
}

fn count(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { grouped(value) } else { significant(value) }
}

/// Three significant digits, without an exponent where people read one badly.
fn significant(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if value.fract() == 0.0 && size < 1000.0 {
        return format!("{value:.0}");
    }
    if !(1e-4..1e15).contains(&size) {
        return format!("{value:.2e}");
    }
    if size >= 999.5 {
        return grouped(value.round());
    }
    // The exponent is read from the rounded number: 0.9996 has three digits as 1.00.
    let rounded = format!("{size:.2e}");
    let exponent: i32 = rounded.split('e').nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    format!("{value:.*}", usize::try_from(2 - exponent).unwrap_or(0))
}

fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

/// The change from `old` to `new` as `+3.2 %`; `None` where a share says nothing (an old value of 0).
pub fn relative(old: f64, new: f64) -> Option<String> {
    let change = (new - old) / old;
    (old != 0.0 && change.is_finite()).then(|| format!("{:+.1} %", change * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_these() {
        for (value, unit, text) in [
            (0.0, Unit::Seconds, "0 s"),
            (0.000_012_3, Unit::Seconds, "12.3 µs"),
            (0.0123, Unit::Seconds, "12.3 ms"),
            (0.9996, Unit::Seconds, "1.00 s"),
            (1.236, Unit::Seconds, "1.24 s"),
            (150.0, Unit::Seconds, "2 min 30 s"),
            (27_817.0, Unit::Seconds, "7 h 43 min"),
            (999.0, Unit::Bytes, "999 B"),
            (536_870_912.0, Unit::Bytes, "512 MiB"),
            (1023.9 * 1024.0, Unit::Bytes, "1.00 MiB"),
            (1_234_567.0, Unit::Count, "1,234,567"),
            (0.0204, Unit::Ratio, "2.0 %"),
            (3.5, Unit::None, "3.50"),
            (12.0, Unit::Other("people".into()), "12 people"),
            (f64::NAN, Unit::Seconds, "not a number"),
        ] {
            assert_eq!(human(value, &unit), text);
        }
    }

    #[test]
    fn a_share_of_nothing_is_not_said() {
        assert_eq!(relative(0.0, 3.0), None);
        assert_eq!(relative(100.0, 110.0).as_deref(), Some("+10.0 %"));
    }
}
