//! `perftrail.json`: which format a results repository has.

use serde_json::{Value, json};

/// The file at the repository's root.
pub const FORMAT_FILE: &str = "perftrail.json";
/// The name it bears.
const NAME: &str = "perftrail-results";
/// The format that this version writes.
const MAJOR: u64 = 1;
const MINOR: u64 = 0;

/// How this version may write into a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// All of it: the format is this version's own, or there is none yet.
    Whole,
    /// A newer perftrail looks after it: only runs and their index lines are added.
    RunsOnly,
}

/// Why a repository's format shuts this version out.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// A newer perftrail made it.
    #[error(
        "the results repository has format {major}.{minor}, and perftrail {} knows format {MAJOR}; use a newer perftrail",
        env!("CARGO_PKG_VERSION")
    )]
    Newer {
        /// Its major version.
        major: u64,
        /// Its minor version.
        minor: u64,
    },
    /// The file says something else.
    #[error(
        "{FORMAT_FILE} in the results repository does not name its format; mend it, or publish to another branch"
    )]
    Unknown,
}

/// What `perftrail.json` of the tip allows; `None` for a tip without one.
///
/// # Errors
/// When the format is newer, or the file is somebody else's.
pub fn standing(bytes: Option<&[u8]>) -> Result<Standing, FormatError> {
    let Some(bytes) = bytes else {
        return Ok(Standing::Whole);
    };
    let value: Value = serde_json::from_slice(bytes).map_err(|_| FormatError::Unknown)?;
    let part = |key: &str| value.get("schema").and_then(|schema| schema.get(key));
    let number = |key| part(key).and_then(Value::as_u64);
    if part("name").and_then(Value::as_str) != Some(NAME) {
        return Err(FormatError::Unknown);
    }
    match (number("major"), number("minor")) {
        (Some(MAJOR), Some(minor)) if minor > MINOR => Ok(Standing::RunsOnly),
        (Some(MAJOR), Some(_)) => Ok(Standing::Whole),
        (Some(major), Some(minor)) => Err(FormatError::Newer { major, minor }),
        _ => Err(FormatError::Unknown),
    }
}

/// The file of a repository of this version's format.
pub fn file() -> Vec<u8> {
    let value = json!({"schema": {"name": NAME, "major": MAJOR, "minor": MINOR}});
    format!("{value:#}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_newer_and_foreign() {
        let of = |text: &str| standing(Some(text.as_bytes()));
        assert_eq!(standing(None), Ok(Standing::Whole));
        assert_eq!(standing(Some(&file())), Ok(Standing::Whole));
        let schema = |name, major, minor| {
            format!(r#"{{"more":1,"schema":{{"name":"{name}","major":{major},"minor":{minor}}}}}"#)
        };
        assert_eq!(of(&schema(NAME, 1, 5)), Ok(Standing::RunsOnly));
        assert_eq!(of(&schema(NAME, 2, 0)), Err(FormatError::Newer { major: 2, minor: 0 }));
        for text in
            ["", "{}", "[1]", &schema("other", 1, 0), r#"{"schema":{"name":"perftrail-results"}}"#]
        {
            assert_eq!(of(text), Err(FormatError::Unknown), "{text}");
        }
    }
}
