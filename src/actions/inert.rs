//! Makes what others wrote inert in a log that a runner reads: no workflow command, no terminal
//! sequence, no line that never ends.
//!
//! A runner takes `::name::` at the start of a line, and `##[name]` anywhere in one, for a command
//! to itself. It ends lines at a carriage return too.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::model::text::{is_hidden, without_sequences};

/// A longer line is cut in the log of the runner; the bundle's log keeps it.
const LINE_MAX: usize = 16 * 1024;
/// Stands between characters that together would be a command.
const APART: char = '\u{200b}';

/// Passes whole lines on, each made inert.
#[derive(Debug)]
pub struct Inert<W: Write> {
    inner: W,
    line: Vec<u8>,
    /// Bytes of the line that were thrown away.
    cut: usize,
    /// The last byte was a carriage return that ended a line.
    after_return: bool,
}

impl<W: Write> Inert<W> {
    /// Passes lines on to `inner`.
    pub fn new(inner: W) -> Self {
        Self { inner, line: Vec::new(), cut: 0, after_return: false }
    }

    fn end_line(&mut self) -> io::Result<()> {
        let mut text = line(&String::from_utf8_lossy(&self.line));
        if self.cut > 0 {
            let _ = write!(text, "… ({} bytes more are in the run's log)", self.cut);
        }
        text.push('\n');
        self.line.clear();
        self.cut = 0;
        self.inner.write_all(text.as_bytes())
    }

    fn byte(&mut self, byte: u8) -> io::Result<()> {
        let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
        match byte {
            b'\n' if after_return => Ok(()),
            b'\n' | b'\r' => self.end_line(),
            byte if self.line.len() < LINE_MAX => {
                self.line.push(byte);
                Ok(())
            }
            _ => {
                self.cut += 1;
                Ok(())
            }
        }
    }
}

impl<W: Write> Write for Inert<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            self.byte(*byte)?;
        }
        Ok(bytes.len())
    }

    /// A line that has not ended waits for its end.
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Write> Drop for Inert<W> {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            // Whoever reads the log is gone: nothing to do about it here.
            let _ = self.end_line();
        }
        let _ = self.inner.flush();
    }
}

/// One line, inert: nothing in it is a command, and nothing moves the cursor.
pub fn line(text: &str) -> String {
    broken(&plain(text))
}

/// Several lines of a page of ours, in which others' text stands: nothing in it is a command, and
/// every character stays.
pub fn page(text: &str) -> String {
    text.split_inclusive(['\n', '\r']).map(broken).collect()
}

/// JSON in which no text is a command; whoever reads it reads the same.
pub fn json(text: &str) -> String {
    // A line begins with a bracket, a quotation mark or a number.
    text.replace("##[", "##\\u005b")
}

/// The line without commands.
fn broken(plain: &str) -> String {
    let mut shown = String::with_capacity(plain.len() + 4);
    let mut at_start = true;
    let mut chars = plain.chars().peekable();
    while let Some(c) = chars.next() {
        shown.push(c);
        let next = chars.peek();
        if (at_start && c == ':' && next == Some(&':')) || (c == '#' && next == Some(&'[')) {
            shown.push(APART);
        }
        at_start &= !is_seen(c);
    }
    shown
}

/// Whether a runner that trims the start of a line would stop here. Hidden characters are passed
/// over to be on the safe side, whatever it takes for white space.
fn is_seen(c: char) -> bool {
    !c.is_whitespace() && !is_hidden(c) && !matches!(c, '\u{200c}' | '\u{200d}')
}

/// Control characters, and those that turn the direction of text, are left out with terminal
/// sequences; a tab stays.
fn plain(text: &str) -> String {
    without_sequences(text).filter(|c| !is_hidden(*c) || *c == '\t').collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn passed(chunks: &[&[u8]]) -> String {
        let mut out = Vec::new();
        let mut inert = Inert::new(&mut out);
        for chunk in chunks {
            inert.write_all(chunk).unwrap();
        }
        drop(inert);
        String::from_utf8(out).unwrap()
    }

    /// What GitHub's runner takes for a command.
    fn is_command(line: &str) -> bool {
        line.trim().starts_with("::") || line.contains("##[")
    }

    #[test]
    fn commands_are_broken_and_the_rest_stays() {
        for (text, shown) in [
            ("plain text: a::b", "plain text: a::b"),
            ("::add-mask::x", ":\u{200b}:add-mask::x"),
            ("  \t::error::x", "  \t:\u{200b}:error::x"),
            ("\u{feff}\u{200b}::error::x", ":\u{200b}:error::x"),
            ("\u{1b}[0m::error::x", ":\u{200b}:error::x"),
            ("see ##[group]x", "see ##\u{200b}[group]x"),
            ("#\u{1b}[1m#[error]", "##\u{200b}[error]"),
            ("\u{1b}]0;title\u{7}done\u{7}", "done"),
            ("std::vec", "std::vec"),
            ("naïve ✓", "naïve ✓"),
        ] {
            assert_eq!(line(text), shown);
        }
    }

    #[test]
    fn pages_stay_as_they_are_but_for_commands() {
        for (text, shown) in [
            ("# A\n\ta :: b\u{200b}c\r\n", "# A\n\ta :: b\u{200b}c\r\n"),
            ("a\n ::error::x\r::b::", "a\n :\u{200b}:error::x\r:\u{200b}:b::"),
            ("a ##[group]b", "a ##\u{200b}[group]b"),
            ("\u{200b}::error::x", "\u{200b}:\u{200b}:error::x"),
        ] {
            assert_eq!(page(text), shown);
        }
        let value = serde_json::json!({"::error::": ["##[error]", "###[", "\n::x::"]});
        let text = json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!text.lines().any(is_command), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn a_carriage_return_begins_a_line() {
        assert_eq!(passed(&[b"10 %\r::error::x\r", b"\nlast"]), "10 %\n:\u{200b}:error::x\nlast\n");
        assert_eq!(passed(&[b"a\r\n\r\nb\n"]), "a\n\nb\n");
        assert_eq!(passed(&[b"::st", b"op-commands::x\n"]), ":\u{200b}:stop-commands::x\n");
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let shown = passed(&[&vec![b'x'; 1 << 20]]);
        assert!(shown.len() < LINE_MAX + 100, "{}", shown.len());
        assert!(shown.contains("1032192 bytes more"), "{}", &shown[LINE_MAX..]);
    }

    proptest! {
        #[test]
        fn nothing_that_passes_is_a_command(text in r"([:#\[ \t\r\n\x1b\x00-\x1f\u{200b}\u{feff}\u{a0}]|.){0,60}") {
            let shown = passed(&[text.as_bytes()]);
            for line in shown.split(['\n', '\r']) {
                prop_assert!(!is_command(line), "{line:?} of {text:?}");
                prop_assert!(!line.contains('\u{1b}'), "a sequence");
            }
        }
    }
}
