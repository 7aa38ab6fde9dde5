//! Units as people write them, and their way to base units: seconds, bytes, counts.
//!
//! `1 MB` is 10^6 bytes and `1 MiB` is 2^20 bytes, wherever a job writes them.

use super::metric::Unit;

const KIB: f64 = 1024.0;

/// Units a job may name, with what one of them is in the base unit.
static DECLARED: &[(&[&str], Unit, f64)] = &[
    (&["ns", "nanoseconds"], Unit::Seconds, 1e-9),
    (&["us", "µs", "μs", "microseconds"], Unit::Seconds, 1e-6),
    (&["ms", "milliseconds"], Unit::Seconds, 1e-3),
    (&["s", "sec", "secs", "second", "seconds"], Unit::Seconds, 1.0),
    (&["min", "mins", "minute", "minutes"], Unit::Seconds, 60.0),
    (&["h", "hour", "hours"], Unit::Seconds, 3600.0),
    (&["d", "day", "days"], Unit::Seconds, 86_400.0),
    (&["B", "byte", "bytes"], Unit::Bytes, 1.0),
    (&["kB", "KB", "kb"], Unit::Bytes, 1e3),
    (&["MB", "mb"], Unit::Bytes, 1e6),
    (&["GB", "gb"], Unit::Bytes, 1e9),
    (&["TB", "tb"], Unit::Bytes, 1e12),
    (&["KiB", "kiB", "kib"], Unit::Bytes, KIB),
    (&["MiB", "mib"], Unit::Bytes, KIB * KIB),
    (&["GiB", "gib"], Unit::Bytes, KIB * KIB * KIB),
    (&["TiB", "tib"], Unit::Bytes, KIB * KIB * KIB * KIB),
    (&["count", "counts"], Unit::Count, 1.0),
    (&["ratio"], Unit::Ratio, 1.0),
    (&["%", "percent"], Unit::Ratio, 0.01),
];

/// The endings of a name that tell its unit.
static SUFFIXES: &[(&str, Unit, f64)] = &[
    ("_s", Unit::Seconds, 1.0),
    ("_sec", Unit::Seconds, 1.0),
    ("_ms", Unit::Seconds, 1e-3),
    ("_minutes", Unit::Seconds, 60.0),
    ("_MB", Unit::Bytes, 1e6),
    ("_mb", Unit::Bytes, 1e6),
    ("_MiB", Unit::Bytes, KIB * KIB),
    ("_bytes", Unit::Bytes, 1.0),
];

/// The base unit of a unit text, and the factor that brings a value in that unit there.
///
/// A text that is not known is the job's own unit, kept as it is with the factor 1; an empty
/// one is [`Unit::None`].
pub fn from_declared(text: &str) -> (Unit, f64) {
    let text = text.trim();
    DECLARED.iter().find(|(spellings, ..)| spellings.contains(&text)).map_or_else(
        || (Unit::from(text.to_owned()), 1.0),
        |(_, unit, factor)| (unit.clone(), *factor),
    )
}

/// The base unit that a name's ending tells (`_s _sec _ms _minutes _MB _mb _MiB _bytes`), and the
/// factor that brings a value there; `None` for a name without one.
pub fn from_name_suffix(name: &str) -> Option<(Unit, f64)> {
    SUFFIXES
        .iter()
        .find(|(suffix, ..)| name.strip_suffix(suffix).is_some_and(|stem| !stem.is_empty()))
        .map(|(_, unit, factor)| (unit.clone(), *factor))
}

/// The unit of a reported number: the declared one, else the one of the name's ending, else none.
pub fn of_reported(name: &str, declared: Option<&str>) -> (Unit, f64) {
    match declared {
        Some(text) => from_declared(text),
        None => from_name_suffix(name).unwrap_or((Unit::None, 1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_units_go_to_base_units() {
        for (text, unit, factor) in [
            ("s", Unit::Seconds, 1.0),
            ("ms", Unit::Seconds, 0.001),
            ("minutes", Unit::Seconds, 60.0),
            ("MB", Unit::Bytes, 1_000_000.0),
            ("MiB", Unit::Bytes, 1_048_576.0),
            (" GiB ", Unit::Bytes, 1_073_741_824.0),
            ("count", Unit::Count, 1.0),
            ("%", Unit::Ratio, 0.01),
            ("", Unit::None, 1.0),
            ("people", Unit::Other("people".to_owned()), 1.0),
        ] {
            assert_eq!(from_declared(text), (unit, factor), "{text}");
        }
    }

    #[test]
    fn endings_tell_units() {
        for (name, expected) in [
            ("disk_read_s", Some((Unit::Seconds, 1.0))),
            ("compute_sec", Some((Unit::Seconds, 1.0))),
            ("step_ms", Some((Unit::Seconds, 0.001))),
            ("duration_minutes", Some((Unit::Seconds, 60.0))),
            ("pop_df_mem_MB", Some((Unit::Bytes, 1e6))),
            ("max_footprint_mb", Some((Unit::Bytes, 1e6))),
            ("memory_rss_MiB", Some((Unit::Bytes, 1_048_576.0))),
            ("table_bytes", Some((Unit::Bytes, 1.0))),
            ("pop_df_rows", None),
            ("pandas", None),
            ("_s", None),
            ("", None),
        ] {
            assert_eq!(from_name_suffix(name), expected, "{name}");
        }
    }

    #[test]
    fn what_was_declared_counts_more_than_the_name() {
        assert_eq!(of_reported("size_mb", Some("MiB")), (Unit::Bytes, 1_048_576.0));
        assert_eq!(of_reported("size_mb", None), (Unit::Bytes, 1e6));
        assert_eq!(of_reported("rows", None), (Unit::None, 1.0));
    }

    #[test]
    fn every_spelling_is_known_once() {
        let all: Vec<_> = DECLARED.iter().flat_map(|(spellings, ..)| spellings.iter()).collect();
        for (i, spelling) in all.iter().enumerate() {
            assert!(!all[..i].contains(spelling), "{spelling}");
        }
    }
}
