//! Python's marshal, as far as profilers use it: a small reader that trusts no length.

use std::rc::Rc;

/// Deepest nesting: a dict of tuples, with dicts of tuples in them.
const DEPTH_MAX: u32 = 16;

/// A marshalled value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Rc<str>),
    /// A tuple or a list.
    Tuple(Rc<[Value]>),
    Dict(Rc<[(Value, Value)]>),
}

/// What is wrong, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It ends too early.
    Cut,
    /// A type that no profiler writes, or a reference to nothing.
    Unknown(u8),
    /// Nested deeper than any profile.
    Deep,
}

/// Reads values from bytes.
pub(super) struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
    /// Values that may be referred to. One that is not finished is `None`.
    known: Vec<Value>,
}

impl<'b> Reader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0, known: Vec::new() }
    }

    /// Bytes from the start.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], Wrong> {
        let end = self.at.checked_add(length).ok_or(Wrong::Cut)?;
        let taken = self.bytes.get(self.at..end).ok_or(Wrong::Cut)?;
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Wrong> {
        self.take(N)?.try_into().map_err(|_| Wrong::Cut)
    }

    fn length(&mut self) -> Result<usize, Wrong> {
        usize::try_from(i32::from_le_bytes(self.array()?)).map_err(|_| Wrong::Cut)
    }

    fn short(&mut self) -> Result<usize, Wrong> {
        let [length] = self.array::<1>()?;
        Ok(usize::from(length))
    }

    /// The next value; `Ok(None)` is the mark that ends a dict.
    pub(super) fn value(&mut self) -> Result<Option<Value>, Wrong> {
        self.at_depth(0)
    }

    fn at_depth(&mut self, depth: u32) -> Result<Option<Value>, Wrong> {
        if depth > DEPTH_MAX {
            return Err(Wrong::Deep);
        }
        let [byte] = self.array::<1>()?;
        let (tag, may_be_referred_to) = (byte & 0x7f, byte & 0x80 != 0);
        // The place comes before the places of what is inside.
        let place = may_be_referred_to.then(|| {
            self.known.push(Value::None);
            self.known.len() - 1
        });
        let Some(value) = self.tagged(tag, depth)? else {
            return Ok(None);
        };
        if let Some(place) = place {
            self.known[place] = value.clone();
        }
        Ok(Some(value))
    }

    fn tagged(&mut self, tag: u8, depth: u32) -> Result<Option<Value>, Wrong> {
        Ok(Some(match tag {
            b'0' => return Ok(None),
            b'N' => Value::None,
            b'T' => Value::Bool(true),
            b'F' => Value::Bool(false),
            b'i' => Value::Int(i64::from(i32::from_le_bytes(self.array()?))),
            b'I' => Value::Int(i64::from_le_bytes(self.array()?)),
            b'l' => Value::Int(self.long()?),
            b'g' => Value::Float(f64::from_le_bytes(self.array()?)),
            b'f' => {
                let length = self.short()?;
                let text = std::str::from_utf8(self.take(length)?).unwrap_or_default();
                Value::Float(text.parse().map_err(|_| Wrong::Unknown(tag))?)
            }
            b's' | b'u' | b't' | b'a' | b'A' => {
                let length = self.length()?;
                self.text(length)?
            }
            b'z' | b'Z' => {
                let length = self.short()?;
                self.text(length)?
            }
            b')' => {
                let length = self.short()?;
                self.tuple(length, depth)?
            }
            b'(' | b'[' => {
                let length = self.length()?;
                self.tuple(length, depth)?
            }
            b'{' => self.dict(depth)?,
            b'r' => {
                let place = self.length()?;
                self.known.get(place).cloned().ok_or(Wrong::Unknown(tag))?
            }
            other => return Err(Wrong::Unknown(other)),
        }))
    }

    fn text(&mut self, length: usize) -> Result<Value, Wrong> {
        Ok(Value::Text(String::from_utf8_lossy(self.take(length)?).into()))
    }

    /// An integer in digits of 15 bits. One beyond 64 bits becomes the greatest.
    fn long(&mut self) -> Result<i64, Wrong> {
        let digits = i32::from_le_bytes(self.array()?);
        let mut value = 0_i64;
        for place in 0..digits.unsigned_abs() {
            let digit = i64::from(u16::from_le_bytes(self.array()?) & 0x7fff);
            let shifted = (place * 15 < 60).then(|| digit.checked_shl(place * 15)).flatten();
            value = match shifted.and_then(|shifted| value.checked_add(shifted)) {
                Some(sum) => sum,
                None if digit == 0 => value,
                None => i64::MAX,
            };
        }
        Ok(if digits < 0 { -value } else { value })
    }

    fn tuple(&mut self, length: usize, depth: u32) -> Result<Value, Wrong> {
        let mut items = Vec::new();
        for _ in 0..length {
            items.push(self.at_depth(depth + 1)?.unwrap_or(Value::None));
        }
        Ok(Value::Tuple(items.into()))
    }

    fn dict(&mut self, depth: u32) -> Result<Value, Wrong> {
        let mut items = Vec::new();
        while let Some(key) = self.at_depth(depth + 1)? {
            let value = self.at_depth(depth + 1)?.unwrap_or(Value::None);
            items.push((key, value));
        }
        Ok(Value::Dict(items.into()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Result<Option<Value>, Wrong> {
        Reader::new(bytes).value()
    }

    #[test]
    fn values_are_read() {
        let text = |text: &str| Value::Text(text.into());
        for (bytes, value) in [
            (&b"i\x02\0\0\0"[..], Value::Int(2)),
            (b"l\x03\0\0\0\0\0\0\0\x02\0", Value::Int(2 << 30)),
            (b"l\xff\xff\xff\xff\x07\0", Value::Int(-7)),
            (b"g\0\0\0\0\0\0\xf8\x3f", Value::Float(1.5)),
            (b"f\x031.5", Value::Float(1.5)),
            (b"z\x02ab", text("ab")),
            (b"u\x02\0\0\0\xc3\xa9", text("é")),
            (b")\x02TN", Value::Tuple([Value::Bool(true), Value::None].into())),
            (b"{z\x01aF0", Value::Dict([(text("a"), Value::Bool(false))].into())),
            // The tuple has place 0, the text in it place 1.
            (b"\xa9\x02\xda\x01ar\x01\0\0\0", Value::Tuple([text("a"), text("a")].into())),
        ] {
            assert_eq!(read(bytes), Ok(Some(value)));
        }
    }

    #[test]
    fn lengths_are_not_trusted() {
        for bytes in [
            &b"(\xff\xff\xff\x7f"[..],
            b"u\xff\xff\xff\x7f",
            b"l\xff\xff\xff\x7f",
            b"(\xff\xff\xff\xff",
            b"",
        ] {
            assert_eq!(read(bytes), Err(Wrong::Cut));
        }
        assert_eq!(read(&b")\x01".repeat(100_000)), Err(Wrong::Deep));
        assert_eq!(read(b"r\x07\0\0\0"), Err(Wrong::Unknown(b'r')));
        assert_eq!(read(b"c"), Err(Wrong::Unknown(b'c')));
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = read(&bytes);
        }
    }
}
