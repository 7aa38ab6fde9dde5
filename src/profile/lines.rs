//! Reads a stream line by line, without ever holding more than one of them.

use memchr::memchr;

use super::error::{Fault, Reason};
use super::input::Input;

/// Longest line that is read. A stack of 100,000 frames has a few million bytes.
const LINE_MAX: usize = 64 << 20;

/// The lines of a stream.
pub(super) struct Lines<'i, 's> {
    input: &'i mut Input<'s>,
    buffer: Vec<u8>,
    start: usize,
    number: u64,
}

impl<'i, 's> Lines<'i, 's> {
    pub(super) fn new(input: &'i mut Input<'s>) -> Self {
        Self { input, buffer: Vec::new(), start: 0, number: 0 }
    }

    /// The next line without its end (`\n` or `\r\n`); `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, Fault> {
        let mut searched = self.start;
        let end = loop {
            if let Some(found) = memchr(b'\n', &self.buffer[searched..]) {
                break searched + found;
            }
            searched = self.buffer.len() - self.start;
            self.buffer.drain(..self.start);
            self.start = 0;
            if self.buffer.len() > LINE_MAX {
                let limit = LINE_MAX as u64;
                return Err(self.fault(Reason::TooLarge { what: "a line", limit }, 1));
            }
            if !self.input.more(&mut self.buffer)? {
                if self.buffer.is_empty() {
                    return Ok(None);
                }
                self.buffer.push(b'\n');
            }
        };
        self.number += 1;
        let line = &self.buffer[self.start..end];
        self.start = end + 1;
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// The number of the last line, counted from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// A fault in the last line.
    pub(super) fn wrong(&self, reason: Reason) -> Fault {
        self.fault(reason, 0)
    }

    fn fault(&self, reason: Reason, ahead: u64) -> Fault {
        Fault::at_line(self.number + ahead, reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(mut text: &[u8]) -> Vec<String> {
        let mut input = Input::open(&mut text, 1 << 30).unwrap();
        let mut lines = Lines::new(&mut input);
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push(String::from_utf8_lossy(line).into_owned());
        }
        assert_eq!(lines.number(), found.len() as u64);
        found
    }

    #[test]
    fn lines_end_in_any_way() {
        assert_eq!(lines(b""), Vec::<String>::new());
        assert_eq!(lines(b"a\nb"), ["a", "b"]);
        assert_eq!(lines(b"a\r\n\nb\n"), ["a", "", "b"]);
    }

    #[test]
    fn a_line_may_be_longer_than_a_chunk() {
        let long = "x".repeat(300_000);
        assert_eq!(lines(format!("a\n{long}\nb\n").as_bytes()), ["a", &long, "b"]);
    }
}
