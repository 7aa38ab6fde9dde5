//! Small values as people write them: durations, sizes, thresholds, dates.

use std::time::Duration;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::model::metric::Unit;
use crate::model::units;

/// What a duration should look like.
pub const DURATION: &str =
    "a duration such as \"90s\", \"1h 30m\" or \"2d\" (units ms, s, m, h, d)";
/// What a size should look like.
pub const SIZE: &str = "a size such as \"500 kB\", \"1 MiB\" or a number of bytes";
/// What a threshold should look like.
pub const THRESHOLD: &str =
    "a share such as \"2%\", an amount such as \"5 s\" or \"10 MiB\", or a list of both";
/// What a date should look like.
pub const DATE: &str = "a date such as \"2027-03-01\"";

/// No run lasts longer: ten years.
pub(crate) const LONGEST: Duration = Duration::from_hours(3_650 * 24);

/// A bound on a change: beyond it, the change counts. Given both, both must be passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// As a share of the baseline: 0.02 is two percent.
    pub relative: Option<f64>,
    /// In the metric's base unit.
    pub absolute: Option<f64>,
}

/// `90s`, `10h`, `1d 2h`, `1h30m`, `1.5h`, `500ms`; more than nothing and at most ten years.
pub fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let (number, after) = split_number(rest)?;
        let after = after.trim_start();
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, next) = after.split_at(end);
        let seconds = match unit {
            "ms" => 1e-3,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            _ => return None,
        };
        let part = Duration::try_from_secs_f64(number * seconds).ok()?;
        total = total.checked_add(part)?;
        rest = next.trim_start();
    }
    (total > Duration::ZERO && total <= LONGEST).then_some(total)
}

/// `1 MiB`, `10 MB`, `500kB`, `2048`: bytes.
pub fn size(text: &str) -> Option<u64> {
    let (number, unit) = split_number(text.trim())?;
    let factor = match unit.trim() {
        "" => 1.0,
        unit => match units::from_declared(unit) {
            (Unit::Bytes, factor) => factor,
            _ => return None,
        },
    };
    let bytes = (number * factor).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to lie between 0 and 2^53"
    )]
    (0.0..9_007_199_254_740_992.0).contains(&bytes).then_some(bytes as u64)
}

/// `2%` as 0.02.
pub fn share(text: &str) -> Option<f64> {
    let (number, unit) = split_number(text.trim())?;
    (unit.trim() == "%").then_some(number / 100.0)
}

/// One part of a threshold: `2%` is relative; `5 s`, `10 MiB`, `3` are absolute.
pub fn threshold(text: &str) -> Option<Threshold> {
    if let Some(relative) = share(text) {
        return Some(Threshold { relative: Some(relative), absolute: None });
    }
    let (number, unit) = split_number(text.trim())?;
    let (_, factor) = units::from_declared(unit);
    let absolute = number * factor;
    absolute.is_finite().then_some(Threshold { relative: None, absolute: Some(absolute) })
}

/// `2027-03-01`.
pub fn date(text: &str) -> Option<Date> {
    (text.len() == 10).then(|| text.parse().ok()).flatten()
}

/// A plain decimal number without sign or exponent, and what follows it.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.len() > 20 || !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    Some((digits.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations() {
        for (text, seconds) in [
            ("90s", Some(90.0)),
            ("10h", Some(36_000.0)),
            ("1d 2h", Some(93_600.0)),
            ("1h30m", Some(5_400.0)),
            ("1.5h", Some(5_400.0)),
            ("500ms", Some(0.5)),
            (" 15 min ", Some(900.0)),
            ("", None),
            ("90", None),
            ("0s", None),
            ("-5s", None),
            ("1y", None),
            ("s", None),
            ("9999999999999d", None),
            ("1e3s", None),
            ("١s", None),
        ] {
            assert_eq!(duration(text).map(|d| d.as_secs_f64()), seconds, "{text}");
        }
    }

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("1 MiB", Some(1_048_576)),
            ("10 MB", Some(10_000_000)),
            ("500kB", Some(500_000)),
            ("2048", Some(2048)),
            ("0.5 KiB", Some(512)),
            ("1 s", None),
            ("MiB", None),
            ("-1 MB", None),
            ("99999999999 TiB", None),
        ] {
            assert_eq!(size(text), bytes, "{text}");
        }
    }

    #[test]
    fn thresholds_and_dates() {
        let relative = |r| Some(Threshold { relative: Some(r), absolute: None });
        let absolute = |a| Some(Threshold { relative: None, absolute: Some(a) });
        assert_eq!(threshold("2%"), relative(0.02));
        assert_eq!(threshold("10 %"), relative(0.1));
        assert_eq!(threshold("5 s"), absolute(5.0));
        assert_eq!(threshold("1 MiB"), absolute(1_048_576.0));
        assert_eq!(threshold("lots"), None);
        assert_eq!(threshold("-2%"), None);
        assert_eq!(date("2027-03-01").map(|d| d.to_string()).as_deref(), Some("2027-03-01"));
        assert_eq!(date("2027-02-30"), None);
        assert_eq!(date("soon"), None);
    }

    proptest! {
        #[test]
        fn whole_seconds_come_back(days in 0_u64..300, hours in 0_u64..24, seconds in 1_u64..3600) {
            let text = format!("{days}d {hours}h{seconds}s");
            let total = Duration::from_secs(days * 86_400 + hours * 3600 + seconds);
            prop_assert_eq!(duration(&text), Some(total));
        }

        #[test]
        fn any_text_gives_an_answer(text in ".{0,60}") {
            let _ = (duration(&text), size(&text), threshold(&text), date(&text));
        }
    }
}
