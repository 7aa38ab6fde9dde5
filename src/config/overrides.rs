//! What flags say: they count more than the file, and the file more than the defaults.

use std::collections::BTreeMap;
use std::time::Duration;

use super::command::Command;
use super::job::Profiler;
use super::problem::shown;

/// Longest key or value of an additional stat, in bytes.
const STAT_MAX: usize = 64 * 1024;

/// What flags ask for; the default asks for nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// The only job to run; for a bare command its name.
    pub job: Option<String>,
    /// A command instead of a configured job.
    pub command: Option<BareCommand>,
    /// Params as `name` and text, in order; the last of a name counts.
    pub params: Vec<(String, String)>,
    /// The only steps to run; empty: all.
    pub steps: Vec<String>,
    /// `setup` instead of the job's.
    pub setup: Option<Command>,
    /// How often each job is measured.
    pub repetitions: Option<u32>,
    /// How often each job runs before, not counted.
    pub warmups: Option<u32>,
    /// The longest time for one repetition.
    pub timeout: Option<Duration>,
    /// The profiler.
    pub profiler: Option<Profiler>,
    /// Arguments for the profiler.
    pub profiler_args: Option<Vec<String>>,
    /// Names the machine group.
    pub machine: Option<String>,
    /// Strings that are added to the record as they are.
    pub additional: BTreeMap<String, String>,
}

/// A command given on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BareCommand {
    /// After `--`: executed as it stands, without placeholders.
    Argv(Vec<String>),
    /// One string, as `run` in the file: for a shell, with placeholders.
    Shell(String),
}

/// Why a `KEY=VALUE` cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairError {
    /// There is no `=`.
    #[error("`{text}` has no `=`, expected {kind}; a job's name stands before the flags")]
    NoEquals {
        /// The word, cut.
        text: String,
        /// What was expected.
        kind: &'static str,
    },
    /// Nothing stands before the `=`.
    #[error("`{text}` has nothing before its `=`, expected {kind}")]
    NoKey {
        /// The word, cut.
        text: String,
        /// What was expected.
        kind: &'static str,
    },
    /// Too long for a record.
    #[error("`{text}` is longer than {STAT_MAX} bytes")]
    TooLong {
        /// The word, cut.
        text: String,
    },
}

/// Splits a param, `K=V`, at its first `=`.
///
/// # Errors
/// Without `=`, or with nothing before it.
pub fn param_pair(text: &str) -> Result<(String, String), PairError> {
    pair(text, "NAME=VALUE")
}

/// Splits an additional stat, `KEY=VALUE`, at its first `=`. Spaces are allowed in both, further
/// `=` belong to the value, and both are kept as they are.
///
/// # Errors
/// Without `=`, with nothing but spaces before it, or when it is too long for a record.
pub fn additional_stat(text: &str) -> Result<(String, String), PairError> {
    if text.len() > STAT_MAX {
        return Err(PairError::TooLong { text: shown(text) });
    }
    pair(text, "KEY=VALUE")
}

fn pair(text: &str, kind: &'static str) -> Result<(String, String), PairError> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(PairError::NoEquals { text: shown(text), kind });
    };
    if key.trim().is_empty() {
        return Err(PairError::NoKey { text: shown(text), kind });
    }
    Ok((key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pairs_are_split_at_the_first_equals() {
        for (text, pair) in [
            ("sha=8f22e783", Some(("sha", "8f22e783"))),
            ("trigger=manual test", Some(("trigger", "manual test"))),
            ("the key=a=b = c", Some(("the key", "a=b = c"))),
            ("empty=", Some(("empty", ""))),
            (" spaced = x ", Some((" spaced ", " x "))),
            ("=x", None),
            ("  =x", None),
            ("scale_run", None),
            ("", None),
        ] {
            let expected = pair.map(|(key, value)| (key.to_owned(), value.to_owned()));
            assert_eq!(additional_stat(text).ok(), expected, "{text}");
        }
        assert!(additional_stat(&format!("a={}", "x".repeat(1_000_000))).is_err());
    }

    #[test]
    fn a_word_without_equals_says_where_the_job_stands() {
        assert_eq!(
            additional_stat("scale_run").unwrap_err().to_string(),
            "`scale_run` has no `=`, expected KEY=VALUE; a job's name stands before the flags"
        );
    }

    proptest! {
        #[test]
        fn nothing_is_lost(key in "[^=]{0,20}", value in ".{0,40}") {
            let pair = additional_stat(&format!("{key}={value}"));
            if key.trim().is_empty() {
                prop_assert!(pair.is_err());
            } else {
                prop_assert_eq!(pair, Ok((key, value)));
            }
        }
    }
}
