//! Why a file could not be read: one line with file, guessed format, place and reason.

use std::fmt;

use super::sniff::Kind;

/// Longest piece of a hostile file that a message repeats.
const QUOTE_MAX: usize = 40;

/// A file that could not be read. Its text is one line: `name: read as FORMAT, byte 12: reason`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ReadError {
    /// The file, as [`super::Options::file`] named it; empty without.
    pub file: String,
    /// The format it was taken for; `None` when no format fits.
    pub format: Option<Kind>,
    /// Where reading ended.
    pub place: Place,
    /// What was wrong there.
    pub reason: Reason,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}: ", one_line(&self.file, 200))?;
        }
        if let Some(format) = self.format {
            write!(f, "read as {format}, ")?;
        }
        write!(f, "{}: {}", self.place, self.reason)
    }
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Bytes from its start, after gzip was undone.
    Byte(u64),
    /// A line, counted from 1.
    Line(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte(byte) => write!(f, "byte {byte}"),
            Self::Line(line) => write!(f, "line {line}"),
        }
    }
}

/// What was wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Nothing but white space.
    #[error("the file is empty")]
    Empty,
    /// It ends in the middle of something.
    #[error("the file ends too early, in {inside}")]
    Cut {
        /// What was being read.
        inside: &'static str,
    },
    /// Something else stands where the format wants `wanted`.
    #[error("expected {wanted}, found `{found}`")]
    Unexpected {
        /// What the format has there.
        wanted: &'static str,
        /// What stands there, cut and without control characters.
        found: String,
    },
    /// A part without which the rest says nothing.
    #[error("{what} is missing")]
    Missing {
        /// The part.
        what: &'static str,
    },
    /// A part that may stand once stands twice: which one counts cannot be known.
    #[error("{what} stands there twice")]
    Twice {
        /// The part.
        what: &'static str,
    },
    /// More than is read.
    #[error("{what} is larger than {limit}, the most that is read")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// A number that is none, or negative where that says nothing.
    #[error("{what} is not a finite number from 0 up")]
    BadNumber {
        /// The number's name.
        what: &'static str,
    },
    /// A reference to something that does not exist.
    #[error("{what} {index} does not exist")]
    NoSuch {
        /// What is referred to.
        what: &'static str,
        /// The reference.
        index: u64,
    },
    /// The gzip layer is broken.
    #[error("the gzip data is broken: {detail}")]
    Gzip {
        /// What the inflater says.
        detail: String,
    },
    /// The file could not be read further.
    #[error("reading failed: {detail}")]
    Io {
        /// What the system says.
        detail: String,
    },
    /// No known format.
    #[error("no known format: it begins with `{begin}`")]
    Unknown {
        /// How the file begins.
        begin: String,
    },
    /// A known format that only its own tool can read.
    #[error("{what} can only be read by its own tool: {instead}")]
    Private {
        /// The format.
        what: &'static str,
        /// What to do instead.
        instead: &'static str,
        /// Whether a profiler wrote it; else it may be anything.
        of_profiler: bool,
    },
    /// An HTML page without data that is understood.
    #[error("this is an HTML page without the profile's data: {instead}")]
    Html {
        /// What to do instead.
        instead: &'static str,
    },
}

/// What is wrong and where, before the file and its format are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// What.
    pub reason: Reason,
}

impl Fault {
    /// A fault at a byte.
    pub fn at_byte(byte: u64, reason: Reason) -> Self {
        Self { place: Place::Byte(byte), reason }
    }

    /// A fault at a line.
    pub fn at_line(line: u64, reason: Reason) -> Self {
        Self { place: Place::Line(line), reason }
    }
}

/// `bytes` as a short text on one line, for messages.
pub(super) fn quote(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(QUOTE_MAX * 4)]);
    one_line(&text, QUOTE_MAX)
}

/// `text` on one line, cut, without characters that move or hide others.
fn one_line(text: &str, max: usize) -> String {
    let clean = |c: char| if super::names::is_hostile(c) || c == '`' { '\u{fffd}' } else { c };
    let mut line: String = text.chars().take(max).map(clean).collect();
    if text.chars().nth(max).is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_with_file_format_place_and_reason() {
        let error = ReadError {
            file: "out/p\n\u{202e}.json".to_owned(),
            format: Some(Kind::Speedscope),
            place: Place::Byte(12),
            reason: Reason::Unexpected { wanted: "a number", found: quote(b"</script>\n\0`x") },
        };
        insta::assert_snapshot!(error, @"out/p��.json: read as speedscope, byte 12: expected a number, found `</script>���x`");
    }
}
