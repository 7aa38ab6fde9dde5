//! Turns a number and its unit into text for people.

use super::metric::Unit;

/// The text of `value`, always with its unit: `1.24 s`, `2 h 03 min`, `512 MiB`, `1,200`, `2.0 %`.
/// A minus is U+2212, which is as wide as a digit. Never longer than about forty characters and
/// the unit's own name, whatever the number.
pub fn human(value: f64, unit: &Unit) -> String {
    if !value.is_finite() {
        return "not a number".to_owned();
    }
    let size = value.abs();
    let text = match unit {
        Unit::Seconds => seconds(size),
        Unit::Bytes => bytes(size),
        Unit::Count => count(size),
        Unit::Ratio => percent(size),
        Unit::None => significant(size),
        Unit::Other(name) => format!("{} {name}", significant(size)),
    };
    signed(value, text)
}

fn signed(value: f64, text: String) -> String {
    if value < 0.0 { format!("\u{2212}{text}") } else { text }
}

fn percent(size: f64) -> String {
    let percent = size * 100.0;
    if percent < 1e5 {
        format!("{percent:.1} %")
    } else {
        format!("{} × 100 %", significant(size))
    }
}

fn seconds(size: f64) -> String {
    if size == 0.0 {
        return "0 s".to_owned();
    }
    if size < 0.000_999_5 {
        return format!("{} µs", significant(size * 1e6));
    }
    if size < 0.999_5 {
        return format!("{} ms", significant(size * 1e3));
    }
    // Thousands of years are no time of a run; the plain number says that best.
    if !(119.5..1e11).contains(&size) {
        return format!("{} s", significant(size));
    }
    let total = size.round();
    let (days, hours) = ((total / 86_400.0).trunc(), (total / 3600.0).trunc());
    let (minutes, rest) = (((total % 3600.0) / 60.0).trunc(), total % 60.0);
    if hours == 0.0 {
        format!("{minutes:.0} min {rest:02.0} s")
    } else if days < 3.0 {
        format!("{hours:.0} h {minutes:02.0} min")
    } else {
        format!("{} d {:02.0} h", grouped(days), hours % 24.0)
    }
}

fn bytes(value: f64) -> String {
    let mut size = value;
    for unit in ["B", "KiB", "MiB", "GiB", "TiB"] {
        if size < 999.5 || unit == "TiB" {
            return format!("{} {unit}", significant(size));
        }
        size /= 1024.0;
    }
    format!("{} PiB", significant(size))
}

fn count(size: f64) -> String {
    if size.fract() == 0.0 && size < 1e15 { grouped(size) } else { significant(size) }
}

/// Three significant digits of a number that is not negative, without an exponent where people
/// read one badly.
fn significant(size: f64) -> String {
    if size == 0.0 {
        return "0".to_owned();
    }
    if size.fract() == 0.0 && size < 1000.0 {
        return format!("{size:.0}");
    }
    if !(1e-4..1e15).contains(&size) {
        return format!("{size:.2e}");
    }
    if size >= 999.5 {
        return grouped(size.round());
    }
    // The exponent is read from the rounded number: 0.9996 has three digits as 1.00.
    let rounded = format!("{size:.2e}");
    let exponent: i32 = rounded.split('e').nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    format!("{size:.*}", usize::try_from(2 - exponent).unwrap_or(0))
}

fn grouped(size: f64) -> String {
    let digits = format!("{size:.0}");
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The change from `old` to `new` as `+3.2 %`, beyond elevenfold as `× 12.3`; `None` where a
/// share says nothing (an old value of 0).
pub fn relative(old: f64, new: f64) -> Option<String> {
    let change = (new - old) / old.abs();
    if old == 0.0 || !change.is_finite() {
        return None;
    }
    let text = if change > 10.0 && old > 0.0 {
        format!("× {}", significant(new / old))
    } else if change.abs() > 1e4 {
        return None;
    } else if change.abs() < 0.000_5 {
        "0.0 %".to_owned()
    } else if change > 0.0 {
        format!("+{:.1} %", change * 100.0)
    } else {
        format!("\u{2212}{:.1} %", change.abs() * 100.0)
    };
    Some(text)
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
            (0.999_96, Unit::Seconds, "1.00 s"),
            (119.7, Unit::Seconds, "2 min 00 s"),
            (3599.8, Unit::Seconds, "1 h 00 min"),
            (259_200.0, Unit::Seconds, "3 d 00 h"),
            (-5400.0, Unit::Seconds, "\u{2212}1 h 30 min"),
            (1e300, Unit::Seconds, "1.00e300 s"),
            (-0.0, Unit::Count, "0"),
            (f64::MAX, Unit::Bytes, "1.63e296 TiB"),
            (f64::MAX, Unit::Ratio, "1.80e308 × 100 %"),
            (f64::MIN_POSITIVE, Unit::None, "2.23e-308"),
        ] {
            assert_eq!(human(value, &unit), text);
        }
    }

    #[test]
    fn a_share_of_nothing_is_not_said() {
        assert_eq!(relative(0.0, 3.0), None);
        assert_eq!(relative(f64::MIN_POSITIVE, f64::MAX), None);
        for (old, new, text) in [
            (100.0, 110.0, "+10.0 %"),
            (100.0, 90.0, "\u{2212}10.0 %"),
            (100.0, 100.01, "0.0 %"),
            (-10.0, -5.0, "+50.0 %"),
            (2.0, 200.0, "× 100"),
        ] {
            assert_eq!(relative(old, new).as_deref(), Some(text));
        }
    }
}
