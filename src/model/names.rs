//! Names and ids: what is a fit name for a job, a metric, a commit.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest name of a metric, phase or series.
pub const METRIC_NAME_MAX: usize = 80;
/// Longest name of a job, step or param.
pub const JOB_NAME_MAX: usize = 40;

/// Whether `text` can name a metric, phase or series: `[A-Za-z_][A-Za-z0-9_.-]*`, at most 80 characters.
pub fn is_metric_name(text: &str) -> bool {
    is_name(text, METRIC_NAME_MAX, |c| c == b'.')
}

/// Whether `text` can name a job, step or param: `[A-Za-z_][A-Za-z0-9_-]{0,39}`.
pub fn is_job_name(text: &str) -> bool {
    is_name(text, JOB_NAME_MAX, |_| false)
}

fn is_name(text: &str, max: usize, also: impl Fn(u8) -> bool) -> bool {
    let mut bytes = text.bytes();
    let Some(first) = bytes.next() else {
        return false;
    };
    text.len() <= max
        && (first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'-' || also(c))
}

/// Turns any text into a fit job name: other characters become `_`, the length is cut.
/// An empty text gives `job`.
pub fn job_name_from(text: &str) -> String {
    let mut name: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .take(JOB_NAME_MAX)
        .collect();
    match name.bytes().next() {
        None => name.push_str("job"),
        Some(first) if first.is_ascii_alphabetic() || first == b'_' => {}
        Some(_) => {
            name.insert(0, '_');
            name.truncate(JOB_NAME_MAX);
        }
    }
    name
}

/// A full commit id: 40 (SHA-1) or 64 (SHA-256) lower-case hex digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct CommitSha(String);

impl CommitSha {
    /// `None` unless `text` is a full commit id; upper case is lowered.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = matches!(text.len(), 40 | 64) && text.bytes().all(|c| c.is_ascii_hexdigit());
        fits.then(|| Self(text.to_ascii_lowercase()))
    }

    /// All digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first twelve digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..12]
    }
}

impl<'de> Deserialize<'de> for CommitSha {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| serde::de::Error::custom("a commit is 40 or 64 hex digits"))
    }
}

impl fmt::Display for CommitSha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_metrics_and_jobs() {
        for (text, metric, job) in [
            ("cpu_time", true, true),
            ("memory.module.births", true, false),
            ("_a-b", true, true),
            ("", false, false),
            ("../../x", false, false),
            ("9lives", false, false),
            ("naïve", false, false),
            ("a b", false, false),
        ] {
            assert_eq!(is_metric_name(text), metric, "{text}");
            assert_eq!(is_job_name(text), job, "{text}");
        }
        assert!(is_metric_name(&"a".repeat(80)) && !is_metric_name(&"a".repeat(81)));
        assert!(is_job_name(&"a".repeat(40)) && !is_job_name(&"a".repeat(41)));
    }

    #[test]
    fn any_text_makes_a_fit_job_name() {
        for text in ["", "..", "3d", "simulation.py", "a/b", &"x".repeat(99), "\u{202e}évil"] {
            assert!(is_job_name(&job_name_from(text)), "{text}");
        }
        assert_eq!(job_name_from("simulation"), "simulation");
    }

    #[test]
    fn commits_are_full_ids() {
        assert!(CommitSha::parse(&"a".repeat(40)).is_some());
        assert!(CommitSha::parse(&"A".repeat(64)).is_some_and(|c| c.as_str() == "a".repeat(64)));
        assert!(CommitSha::parse("abc").is_none() && CommitSha::parse(&"g".repeat(40)).is_none());
    }
}
