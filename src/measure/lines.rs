//! Cuts a stream of bytes into lines and counts those that match.

use std::collections::BTreeMap;

use regex::bytes::Regex;

use super::MeasureError;
use crate::model::sequences;

/// The longest part of a line that is looked at.
const LINE_MAX: usize = 64 * 1024;

/// The counter of lines that look like warnings.
pub const WARNINGS: &str = "warnings";

/// A line looks like a warning when a word ends in `warning`: `warning:`, `UserWarning`.
const WARNING_PATTERN: &str = r"(?i-u)warning\b";

/// Patterns that are counted over the lines of both output streams, once a line each.
#[derive(Clone, Debug)]
pub struct Counters {
    patterns: Vec<(String, Regex)>,
}

impl Counters {
    /// The built-in warnings counter and the job's own.
    ///
    /// # Errors
    /// When the built-in pattern is refused, which a test rules out.
    pub fn new(own: &[(String, Regex)]) -> Result<Self, MeasureError> {
        let warning = Regex::new(WARNING_PATTERN)
            .map_err(|source| MeasureError::Pattern { source: Box::new(source) })?;
        let mut patterns = vec![(WARNINGS.to_owned(), warning)];
        patterns.extend(own.iter().cloned());
        Ok(Self { patterns })
    }

    /// Every counter at 0.
    pub fn zero(&self) -> BTreeMap<String, u64> {
        self.patterns.iter().map(|(name, _)| (name.clone(), 0)).collect()
    }

    /// Counts the line where it matches.
    pub fn count(&self, line: &[u8], counts: &mut BTreeMap<String, u64>) {
        let stripped;
        let line = if line.contains(&ESCAPE) {
            stripped = sequences::without(line);
            &stripped
        } else {
            line
        };
        for (name, pattern) in &self.patterns {
            if pattern.is_match(line)
                && let Some(count) = counts.get_mut(name)
            {
                *count += 1;
            }
        }
    }
}

const ESCAPE: u8 = 0x1b;

/// One stream's lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    partial: Vec<u8>,
    /// The line at hand was longer than [`LINE_MAX`]: its start has been given out.
    cut: bool,
    /// How many lines have ended.
    pub(super) ended: u64,
}

/// A part of the stream that is given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// The bytes, newline included where there is one.
    pub(super) bytes: &'a [u8],
    /// Whether this is a line's start: only that is matched.
    pub(super) starts_line: bool,
}

impl Lines {
    /// Takes the next bytes of the stream and gives out what is complete.
    pub(super) fn feed(&mut self, mut bytes: &[u8], mut give: impl FnMut(Piece<'_>)) {
        while let Some(at) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(at + 1);
            bytes = rest;
            if self.partial.is_empty() && line.len() <= LINE_MAX {
                give(Piece { bytes: line, starts_line: !self.cut });
            } else {
                self.hold(line, &mut give);
                self.give_partial(&mut give);
            }
            self.cut = false;
            self.ended += 1;
        }
        self.hold(bytes, &mut give);
    }

    fn hold(&mut self, mut bytes: &[u8], give: &mut impl FnMut(Piece<'_>)) {
        while !bytes.is_empty() {
            let room = (LINE_MAX - self.partial.len()).min(bytes.len());
            let (now, later) = bytes.split_at(room);
            self.partial.extend_from_slice(now);
            bytes = later;
            if self.partial.len() >= LINE_MAX {
                self.give_partial(give);
                self.cut = true;
            }
        }
    }

    fn give_partial(&mut self, give: &mut impl FnMut(Piece<'_>)) {
        if !self.partial.is_empty() {
            give(Piece { bytes: &self.partial, starts_line: !self.cut });
            self.partial.clear();
        }
    }

    /// The stream has ended: a last line without a newline is a line too.
    pub(super) fn finish(&mut self, mut give: impl FnMut(Piece<'_>)) {
        if self.cut || !self.partial.is_empty() {
            self.ended += 1;
        }
        self.give_partial(&mut give);
        self.cut = false;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn warnings(line: &str) -> u64 {
        let counters = Counters::new(&[]).expect("the built-in pattern");
        let mut counts = counters.zero();
        counters.count(line.as_bytes(), &mut counts);
        counts[WARNINGS]
    }

    #[test]
    fn what_looks_like_a_warning() {
        for (line, count) in [
            ("warning: unused variable, warning again", 1),
            ("a.py:3: UserWarning: odd", 1),
            ("WARNING [root] careful", 1),
            ("\u{1b}[1;33mwarn\u{1b}[0ming: colours", 1),
            ("\u{1b}]0;warning\u{7}done", 0),
            ("\u{1b}(Bwarning", 1),
            ("  warnings.warn('x')", 0),
            ("all fine", 0),
        ] {
            assert_eq!(warnings(line), count, "{line:?}");
        }
    }

    #[test]
    fn own_patterns_count_beside() {
        let own = vec![("deprecated".to_owned(), Regex::new("(?i)deprecat").expect("a pattern"))];
        let counters = Counters::new(&own).expect("patterns");
        let mut counts = counters.zero();
        counters.count(b"DeprecationWarning: old \xff\xfe", &mut counts);
        assert_eq!((counts["deprecated"], counts[WARNINGS]), (1, 1));
    }

    #[test]
    fn a_line_without_end_is_cut_and_matched_once() {
        let mut lines = Lines::default();
        let (mut starts, mut bytes) = (0, 0);
        let mut give = |piece: Piece<'_>| {
            starts += usize::from(piece.starts_line);
            bytes += piece.bytes.len();
            assert!(piece.bytes.len() <= LINE_MAX);
        };
        for _ in 0..10 {
            lines.feed(&vec![b'x'; 50_000], &mut give);
        }
        lines.finish(&mut give);
        assert_eq!((lines.ended, starts, bytes), (1, 1, 500_000));
    }

    proptest! {
        #[test]
        fn every_byte_comes_out_once(
            chunks in proptest::collection::vec("[a\\n]{0,20}", 0..30)
        ) {
            let mut lines = Lines::default();
            let mut out = Vec::new();
            let mut starts = 0;
            let mut give = |piece: Piece<'_>| {
                out.extend_from_slice(piece.bytes);
                starts += u64::from(piece.starts_line);
            };
            for chunk in &chunks {
                lines.feed(chunk.as_bytes(), &mut give);
            }
            lines.finish(&mut give);
            let all = chunks.concat();
            prop_assert_eq!(&out, all.as_bytes());
            prop_assert_eq!(lines.ended, all.lines().count() as u64);
            prop_assert_eq!(starts, lines.ended);
        }
    }
}
