//! What is wrong with a configuration file: every error of the file, each with its place.

use std::fmt;
use std::ops::Range;

pub use crate::model::text::{nearest, shown};

/// Errors beyond this many are only counted.
const LISTED: usize = 50;
/// With this many, unknown keys are not looked at any more.
const KEPT: usize = 1000;

/// All errors of one file, in the order of their places.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems {
    /// The file, as the user knows it.
    pub file: String,
    /// The errors; never empty.
    pub all: Vec<Problem>,
    /// How many more there are than `all` lists.
    pub more: usize,
}

/// One error of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong there.
    pub what: What,
}

/// What is wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum What {
    /// Not TOML.
    #[error("{message}")]
    Syntax {
        /// The parser's words.
        message: String,
    },
    /// The file is too large to be a configuration.
    #[error("the file has {bytes} bytes, more than the {max} a configuration may have")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The most it may have.
        max: usize,
    },
    /// A key that the table does not have.
    #[error("unknown key `{key}` in {table}: {}", suggestion(.nearest.as_deref(), .known))]
    UnknownKey {
        /// The key.
        key: String,
        /// The table, as it is written in the file.
        table: String,
        /// The known key that looks most like it.
        nearest: Option<String>,
        /// All known keys.
        known: Vec<String>,
    },
    /// A value of another type.
    #[error("`{key}` is {found}, expected {expected}")]
    WrongType {
        /// The key with its tables.
        key: String,
        /// What it should be.
        expected: String,
        /// What it is.
        found: &'static str,
    },
    /// A value of the right type that does not fit.
    #[error("`{key}` is `{value}`, expected {expected}")]
    BadValue {
        /// The key with its tables.
        key: String,
        /// The value, cut.
        value: String,
        /// What it should be.
        expected: String,
    },
    /// A value that is not one of the known words.
    #[error("`{key}` is `{value}`: {}", suggestion(.nearest.as_deref(), .known))]
    UnknownWord {
        /// The key with its tables.
        key: String,
        /// The value, cut.
        value: String,
        /// The known word that looks most like it.
        nearest: Option<String>,
        /// All known words.
        known: Vec<String>,
    },
    /// A name that is no name.
    #[error(
        "`{name}` cannot name a {kind}: a name starts with a letter or `_`, goes on with letters, digits, `_` or `-`, and has at most 40 characters"
    )]
    BadName {
        /// What is named.
        kind: &'static str,
        /// The name, cut.
        name: String,
    },
    /// A name that perftrail keeps for itself.
    #[error("a {kind} cannot be named `{name}`: perftrail keeps the words {} for itself", list(.reserved))]
    ReservedName {
        /// What is named.
        kind: &'static str,
        /// The name.
        name: String,
        /// All names kept.
        reserved: Vec<String>,
    },
    /// Two things of one name; upper and lower case count as the same.
    #[error(
        "a {kind} named `{name}` stands already on line {first}: names are unique, upper and lower case count as the same"
    )]
    Duplicate {
        /// What is named.
        kind: &'static str,
        /// The name.
        name: String,
        /// The line of the first one.
        first: usize,
    },
    /// A key that must be there is not.
    #[error("{table} has no `{key}`: {why}")]
    Missing {
        /// The table, as it is written in the file.
        table: String,
        /// The key.
        key: &'static str,
        /// What it is needed for.
        why: &'static str,
    },
    /// Two keys that exclude each other, or one that needs another.
    #[error("`{first}` with `{second}`: {why}")]
    Together {
        /// The one.
        first: String,
        /// The other.
        second: String,
        /// What to do.
        why: &'static str,
    },
    /// A param where its text cannot be quoted safely.
    #[error("`{{{name}}}` in `{key}` {why}")]
    UnsafePlace {
        /// The key with its tables.
        key: String,
        /// The placeholder's name.
        name: String,
        /// Why, and what to do.
        why: &'static str,
    },
    /// A layout that cannot be used.
    #[error("`{key}` cannot be used: {why}")]
    BadLayout {
        /// The key with its tables.
        key: String,
        /// Why.
        why: super::layout::LayoutError,
    },
    /// A pattern that does not compile.
    #[error("`{key}` is no {kind}: {message}")]
    BadPattern {
        /// The key with its tables.
        key: String,
        /// `glob` or `regular expression`.
        kind: &'static str,
        /// The compiler's words, on one line.
        message: String,
    },
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.all.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}:{}:{}: {}", self.file, problem.line, problem.column, problem.what)?;
        }
        if self.more > 0 {
            write!(f, "\n{}: and {} more", self.file, self.more)?;
        }
        Ok(())
    }
}

/// `did you mean …?`, or what is known.
pub fn suggestion(nearest: Option<&str>, known: &[String]) -> String {
    match nearest {
        Some(word) => format!("did you mean `{word}`?"),
        None if known.is_empty() => "none are declared in perftrail.toml".to_owned(),
        None => format!("known are {}", list(known)),
    }
}

/// The words between backticks, with commas.
pub fn list(words: &[String]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// Takes errors with their place in the text.
#[derive(Debug)]
pub(crate) struct Sink {
    /// The byte at which each line starts.
    line_starts: Vec<usize>,
    text: String,
    found: std::cell::RefCell<Vec<(usize, What)>>,
}

impl Sink {
    pub(crate) fn new(text: &str) -> Self {
        let line_starts = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1))
            .collect();
        Self { line_starts, text: text.to_owned(), found: std::cell::RefCell::new(Vec::new()) }
    }

    pub(crate) fn add(&self, span: &Range<usize>, what: What) {
        self.found.borrow_mut().push((span.start, what));
    }

    /// Whether there are so many errors that looking for more helps nobody.
    pub(crate) fn is_full(&self) -> bool {
        self.found.borrow().len() >= KEPT
    }

    /// The line of a byte, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at)
    }

    fn column(&self, at: usize) -> usize {
        let start = self.line_starts[self.line(at).saturating_sub(1)];
        self.text.get(start..at).map_or(1, |before| before.chars().count() + 1)
    }

    /// The errors, or `value` when there are none.
    pub(crate) fn finish<T>(self, file: &str, value: T) -> Result<T, Problems> {
        let mut found = self.found.take();
        if found.is_empty() {
            return Ok(value);
        }
        found.sort_by_key(|(at, _)| *at);
        // A parser that has lost its way says the same again and again.
        found.dedup_by(|a, b| a.0 == b.0 && a.1.to_string() == b.1.to_string());
        let more = found.len().saturating_sub(LISTED);
        let all = found
            .into_iter()
            .take(LISTED)
            .map(|(at, what)| Problem { line: self.line(at), column: self.column(at), what })
            .collect();
        Err(Problems { file: file.to_owned(), all, more })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_lines_and_columns() {
        let sink = Sink::new("a\néb = 1\n");
        sink.add(&(4..5), What::Syntax { message: "no".to_owned() });
        let problems = sink.finish("f.toml", ()).unwrap_err();
        assert_eq!(problems.to_string(), "f.toml:2:2: no");
    }
}
