//! Reads JSON from a stream, value by value.
//!
//! Profilers write what a usual JSON library refuses or chokes on: calls nested a hundred
//! thousand deep, bare `NaN` and `Infinity`, names of a megabyte, files of many hundred
//! megabytes. This reader never recurses into what it skips, holds one text at a time, and gives
//! names as they stand in the file, so that a name seen before is known without being decoded.

mod value;

use memchr::memchr2;

use super::error::{Fault, Reason, quote};
use super::input::Input;

pub(super) use value::Dom;

/// Longest text that is kept whole; the rest of a longer one is dropped.
pub(super) const TEXT_MAX: usize = 1 << 20;

/// A reader of one JSON value, and of what it holds.
pub(super) struct Json<'i, 's> {
    input: &'i mut Input<'s>,
    buffer: Vec<u8>,
    start: usize,
    /// The last key.
    key: String,
    /// Scratch for texts with escapes.
    text: String,
}

/// What stands next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Object,
    Array,
    Text,
    Number,
    Word,
}

impl<'i, 's> Json<'i, 's> {
    pub(super) fn new(input: &'i mut Input<'s>) -> Self {
        Self { input, buffer: Vec::new(), start: 0, key: String::new(), text: String::new() }
    }

    /// Bytes from the start of the file.
    pub(super) fn position(&self) -> u64 {
        self.input.position() - (self.buffer.len() - self.start) as u64
    }

    /// A fault here.
    pub(super) fn wrong(&self, reason: Reason) -> Fault {
        Fault::at_byte(self.position(), reason)
    }

    /// Leaves everything up to the first of `marks` and that mark out; says which it was.
    pub(super) fn leave_until(&mut self, marks: &[&[u8]]) -> Result<Option<usize>, Fault> {
        let longest = marks.iter().map(|mark| mark.len()).max().unwrap_or(0);
        let finders: Vec<_> = marks.iter().map(memchr::memmem::Finder::new).collect();
        loop {
            let here = &self.buffer[self.start..];
            let first = finders
                .iter()
                .enumerate()
                .filter_map(|(i, finder)| finder.find(here).map(|at| (at, i)));
            if let Some((at, i)) = first.min() {
                self.start += at + marks[i].len();
                return Ok(Some(i));
            }
            self.start =
                self.buffer.len().saturating_sub(longest.saturating_sub(1)).max(self.start);
            if !self.more()? {
                return Ok(None);
            }
        }
    }

    /// Leaves a byte order mark out.
    pub(super) fn leave_mark(&mut self) -> Result<(), Fault> {
        self.peek_byte()?;
        if self.buffer[self.start..].starts_with(b"\xef\xbb\xbf") {
            self.start += 3;
        }
        Ok(())
    }

    /// Gets more bytes; `false` at the end of the file.
    fn more(&mut self) -> Result<bool, Fault> {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.input.more(&mut self.buffer)
    }

    /// The next byte that is no white space; `None` at the end of the file.
    fn peek_byte(&mut self) -> Result<Option<u8>, Fault> {
        loop {
            while let Some(&byte) = self.buffer.get(self.start) {
                if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                    return Ok(Some(byte));
                }
                self.start += 1;
            }
            if !self.more()? {
                return Ok(None);
            }
        }
    }

    fn need_byte(&mut self, inside: &'static str) -> Result<u8, Fault> {
        match self.peek_byte()? {
            Some(byte) => Ok(byte),
            None => Err(self.wrong(Reason::Cut { inside })),
        }
    }

    /// A fault that shows what stands here.
    pub(super) fn unexpected(&self, wanted: &'static str) -> Fault {
        let found = quote(&self.buffer[self.start..]);
        self.wrong(Reason::Unexpected { wanted, found })
    }

    /// What stands next.
    pub(super) fn peek(&mut self) -> Result<Next, Fault> {
        Ok(match self.need_byte("a value")? {
            b'{' => Next::Object,
            b'[' => Next::Array,
            b'"' => Next::Text,
            b'-' | b'0'..=b'9' | b'N' | b'I' => Next::Number,
            b't' | b'f' | b'n' => Next::Word,
            _ => return Err(self.unexpected("a JSON value")),
        })
    }

    /// Nothing but white space may be left.
    pub(super) fn end(&mut self) -> Result<(), Fault> {
        match self.peek_byte()? {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the file")),
        }
    }

    fn take(&mut self, byte: u8, wanted: &'static str) -> Result<(), Fault> {
        if self.need_byte(wanted)? == byte {
            self.start += 1;
            Ok(())
        } else {
            Err(self.unexpected(wanted))
        }
    }

    /// Goes into an object. Then [`Self::next_key`] gives its keys.
    pub(super) fn begin_object(&mut self) -> Result<(), Fault> {
        self.take(b'{', "an object")
    }

    /// Goes into an array. Then [`Self::next_item`] says whether there is another item.
    pub(super) fn begin_array(&mut self) -> Result<(), Fault> {
        self.take(b'[', "an array")
    }

    /// Whether the object has another key; it is then in [`Self::key`] and its value comes next.
    /// `first` is true before the first key.
    pub(super) fn next_key(&mut self, first: &mut bool) -> Result<bool, Fault> {
        if !self.next_of(b'}', "an object", first)? {
            return Ok(false);
        }
        if self.need_byte("an object")? != b'"' {
            return Err(self.unexpected("a key"));
        }
        let (from, to, escaped) = self.scan_text()?;
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        decode(&self.buffer[from..to], escaped, &mut key);
        self.key = key;
        self.start = to + 1;
        self.take(b':', "a colon after the key")?;
        Ok(true)
    }

    /// The last key.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Whether the array has another item, which then comes next.
    pub(super) fn next_item(&mut self, first: &mut bool) -> Result<bool, Fault> {
        self.next_of(b']', "an array", first)
    }

    fn next_of(&mut self, end: u8, inside: &'static str, first: &mut bool) -> Result<bool, Fault> {
        let byte = self.need_byte(inside)?;
        if byte == end {
            self.start += 1;
            return Ok(false);
        }
        if std::mem::replace(first, false) {
            return Ok(true);
        }
        if byte != b',' {
            return Err(self.unexpected("a comma"));
        }
        self.start += 1;
        Ok(true)
    }

    /// Calls `each` for every key of an object; `each` reads the value.
    pub(super) fn object(
        &mut self,
        each: &mut dyn FnMut(&mut Self, &str) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.begin_object()?;
        let mut first = true;
        while self.next_key(&mut first)? {
            let key = std::mem::take(&mut self.key);
            let done = each(self, &key);
            self.key = key;
            done?;
        }
        Ok(())
    }

    /// Calls `each` for every item of an array; `each` reads the item.
    pub(super) fn array(
        &mut self,
        each: &mut dyn FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.begin_array()?;
        let mut first = true;
        while self.next_item(&mut first)? {
            each(self)?;
        }
        Ok(())
    }

    /// Reads an array of numbers. A `null` is given as `NaN`.
    pub(super) fn numbers(
        &mut self,
        mut each: impl FnMut(f64) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.begin_array()?;
        let mut first = true;
        loop {
            // Most items are small whole numbers between commas: read without further ado.
            if !first && let Some(value) = self.small_number() {
                each(f64::from(value))?;
                continue;
            }
            if !self.next_item(&mut first)? {
                return Ok(());
            }
            each(self.number()?)?;
        }
    }

    /// Reads an array of references into a list; one that can be none is given as `None`.
    pub(super) fn indices(&mut self, mut each: impl FnMut(Option<u32>)) -> Result<(), Fault> {
        self.begin_array()?;
        let mut first = true;
        loop {
            if !first && let Some(value) = self.small_number() {
                each(Some(value));
                continue;
            }
            if !self.next_item(&mut first)? {
                return Ok(());
            }
            let value = self.number()?;
            let is_whole = value.fract() == 0.0 && (0.0..f64::from(u32::MAX)).contains(&value);
            each(is_whole.then(|| super::build::small(value)));
        }
    }

    /// The array that comes next as it stands in the file, when all of it lies in the buffer and
    /// it is no longer than `max` and has no other array and no text in it.
    pub(super) fn flat_array(&mut self, max: usize) -> Result<Option<&[u8]>, Fault> {
        if self.peek()? != Next::Array {
            return Err(self.unexpected("an array"));
        }
        let here = &self.buffer[self.start..];
        let here = &here[..here.len().min(max)];
        let Some(end) = memchr::memchr(b']', here) else { return Ok(None) };
        let inside = &here[1..end];
        let is_flat = memchr::memchr3(b'[', b'"', b'{', inside).is_none();
        Ok(is_flat.then_some(&here[..=end]))
    }

    /// Leaves out as many bytes, which were looked at before.
    pub(super) fn pass(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.buffer.len());
    }

    /// The whole number after a comma, when it and the byte after it lie in the buffer.
    fn small_number(&mut self) -> Option<u32> {
        let rest = self.buffer.get(self.start..)?.strip_prefix(b",")?;
        let mut value = 0_u32;
        for (i, byte) in rest.iter().take(10).enumerate() {
            match byte {
                b'0'..=b'9' if i < 9 => value = value * 10 + u32::from(byte - b'0'),
                b',' | b']' if i > 0 => {
                    self.start += 1 + i;
                    return Some(value);
                }
                _ => return None,
            }
        }
        None
    }

    /// A number; `null` and the bare words `NaN`, `Infinity`, `-Infinity` are given as such.
    /// A text or anything else is a fault.
    pub(super) fn number(&mut self) -> Result<f64, Fault> {
        match self.peek()? {
            Next::Word if self.buffer[self.start] == b'n' => {
                self.word(b"null", "a number")?;
                return Ok(f64::NAN);
            }
            Next::Number => {}
            _ => return Err(self.unexpected("a number")),
        }
        let mut length = 0;
        loop {
            let here = &self.buffer[self.start..];
            let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
            length += here[length..].iter().take_while(|b| is_part(b)).count();
            if length < here.len() || length > 400 || !self.more()? {
                break;
            }
        }
        let token = &self.buffer[self.start..self.start + length];
        let value = match token {
            b"NaN" => Some(f64::NAN),
            b"Infinity" => Some(f64::INFINITY),
            b"-Infinity" => Some(f64::NEG_INFINITY),
            _ if token.iter().any(|b| b.is_ascii_alphabetic() && !matches!(b, b'e' | b'E')) => None,
            _ => std::str::from_utf8(token).ok().and_then(|text| text.parse().ok()),
        };
        let Some(value) = value else {
            return Err(self.unexpected("a number"));
        };
        self.start += length;
        Ok(value)
    }

    /// A text as it stands in the file, without its quotes, and whether it has escapes. A text
    /// longer than [`TEXT_MAX`] is cut.
    pub(super) fn raw_text(&mut self) -> Result<(&[u8], bool), Fault> {
        if self.peek()? != Next::Text {
            return Err(self.unexpected("a text"));
        }
        let (from, to, escaped) = self.scan_text()?;
        self.start = to + 1;
        Ok((&self.buffer[from..to], escaped))
    }

    /// A text, decoded; lone surrogates and bytes that are no UTF-8 become U+FFFD.
    pub(super) fn text(&mut self) -> Result<&str, Fault> {
        if self.peek()? != Next::Text {
            return Err(self.unexpected("a text"));
        }
        let (from, to, escaped) = self.scan_text()?;
        self.start = to + 1;
        self.text.clear();
        decode(&self.buffer[from..to], escaped, &mut self.text);
        Ok(&self.text)
    }

    /// A text; anything else is left out and gives `None`.
    pub(super) fn text_or_none(&mut self) -> Result<Option<&str>, Fault> {
        if self.peek()? == Next::Text {
            return self.text().map(Some);
        }
        self.skip()?;
        Ok(None)
    }

    /// A number; anything else is left out and gives `NaN`.
    pub(super) fn number_or_nan(&mut self) -> Result<f64, Fault> {
        if self.peek()? == Next::Number {
            return self.number();
        }
        self.skip()?;
        Ok(f64::NAN)
    }

    /// Finds the end of the text that begins here: the places of its first byte and of its
    /// closing quote. What goes beyond [`TEXT_MAX`] is taken out of the buffer.
    fn scan_text(&mut self) -> Result<(usize, usize, bool), Fault> {
        let mut length = 1;
        let mut escaped = false;
        loop {
            let here = &self.buffer[self.start..];
            match memchr2(b'"', b'\\', here.get(length..).unwrap_or_default()) {
                Some(at) if here[length + at] == b'"' => {
                    length += at;
                    break;
                }
                // The byte after a backslash is never the end.
                Some(at) => {
                    escaped = true;
                    length += at + 2;
                }
                None => length = length.max(here.len()),
            }
            if length >= self.buffer.len() - self.start {
                if length > TEXT_MAX {
                    length = self.drop_long(length);
                }
                if !self.more()? {
                    return Err(self.wrong(Reason::Cut { inside: "a text" }));
                }
            }
        }
        Ok((self.start + 1, self.start + length, escaped))
    }

    /// Takes the middle of an overlong text out of the buffer; gives the new length. A byte that
    /// an escape still waits for is not in the buffer and so not taken.
    fn drop_long(&mut self, length: usize) -> usize {
        let here = self.buffer.len() - self.start;
        let keep = TEXT_MAX - 8;
        self.buffer.truncate(self.start + keep);
        // An escape cut in two would swallow what follows.
        for byte in &mut self.buffer[self.start + keep - 8..] {
            if *byte == b'\\' {
                *byte = b'?';
            }
        }
        keep + (length - here)
    }

    /// Leaves the next value out, however deep it is.
    pub(super) fn skip(&mut self) -> Result<(), Fault> {
        let mut depth = 0_u64;
        loop {
            match self.need_byte("a value")? {
                b'"' => {
                    let (_, to, _) = self.scan_text()?;
                    self.start = to + 1;
                }
                b'{' | b'[' => {
                    self.start += 1;
                    depth += 1;
                    continue;
                }
                b'}' | b']' if depth > 0 => {
                    self.start += 1;
                    depth -= 1;
                }
                b',' | b':' if depth > 0 => {
                    self.start += 1;
                    continue;
                }
                b't' => self.word(b"true", "a value")?,
                b'f' => self.word(b"false", "a value")?,
                b'n' => self.word(b"null", "a value")?,
                _ => {
                    self.number()?;
                }
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// `true` or `false`; anything else is left out and gives `None`.
    pub(super) fn flag(&mut self) -> Result<Option<bool>, Fault> {
        let byte = self.need_byte("a value")?;
        self.skip()?;
        Ok(match byte {
            b't' => Some(true),
            b'f' => Some(false),
            _ => None,
        })
    }

    fn word(&mut self, word: &'static [u8], wanted: &'static str) -> Result<(), Fault> {
        while self.buffer.len() - self.start < word.len() {
            if !self.more()? {
                return Err(self.wrong(Reason::Cut { inside: wanted }));
            }
        }
        if !self.buffer[self.start..].starts_with(word) {
            return Err(self.unexpected(wanted));
        }
        self.start += word.len();
        Ok(())
    }
}

/// Adds a text to `into`, escapes undone.
pub(super) fn decode(raw: &[u8], escaped: bool, into: &mut String) {
    if !escaped {
        into.push_str(&String::from_utf8_lossy(raw));
        return;
    }
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        into.push_str(&String::from_utf8_lossy(&rest[..at]));
        rest = &rest[at + 1..];
        let Some((&letter, after)) = rest.split_first() else {
            return;
        };
        rest = after;
        match letter {
            b'n' => into.push('\n'),
            b't' => into.push('\t'),
            b'r' => into.push('\r'),
            b'b' => into.push('\u{8}'),
            b'f' => into.push('\u{c}'),
            b'u' => rest = unicode_escape(rest, into),
            other => into.push(char::from(other)),
        }
    }
    into.push_str(&String::from_utf8_lossy(rest));
}

/// Adds the character of `\uXXXX`, of a pair of them where it needs two; gives what follows.
fn unicode_escape<'a>(rest: &'a [u8], into: &mut String) -> &'a [u8] {
    let hex = |bytes: &[u8]| {
        let text = std::str::from_utf8(bytes.get(..4)?).ok()?;
        u32::from_str_radix(text, 16).ok()
    };
    let Some(high) = hex(rest) else {
        into.push('\u{fffd}');
        return rest;
    };
    let rest = &rest[4..];
    if (0xd800..0xdc00).contains(&high)
        && let Some(low) = rest.strip_prefix(b"\\u").and_then(hex)
        && (0xdc00..0xe000).contains(&low)
    {
        let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        into.push(char::from_u32(code).unwrap_or('\u{fffd}'));
        return &rest[6..];
    }
    into.push(char::from_u32(high).unwrap_or('\u{fffd}'));
    rest
}

#[cfg(test)]
mod tests;
