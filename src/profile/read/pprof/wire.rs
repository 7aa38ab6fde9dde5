//! Protobuf's wire format, as far as pprof needs it. Fields that are not known are passed over.

/// The message ends in the middle of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Where, in the message.
    pub(super) at: usize,
}

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field<'b> {
    pub(super) number: u64,
    pub(super) value: Value<'b>,
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'b> {
    Number(u64),
    Bytes(&'b [u8]),
    /// Of a kind that pprof does not use.
    Other,
}

/// The fields of a message, one after the other.
pub(super) struct Fields<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Fields<'b> {
    pub(super) fn new(bytes: &'b [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    fn cut<T>(&mut self) -> Result<T, Cut> {
        let at = self.at;
        self.at = self.bytes.len();
        Err(Cut { at })
    }

    fn number(&mut self) -> Result<u64, Cut> {
        match varint(&self.bytes[self.at..]) {
            Some((value, length)) => {
                self.at += length;
                Ok(value)
            }
            None => self.cut(),
        }
    }

    fn skip(&mut self, length: u64) -> Result<&'b [u8], Cut> {
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length));
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(bytes) => {
                self.at += bytes.len();
                Ok(bytes)
            }
            None => self.cut(),
        }
    }

    fn field(&mut self) -> Result<Field<'b>, Cut> {
        let tag = self.number()?;
        let value = match tag & 7 {
            0 => Value::Number(self.number()?),
            1 => self.skip(8).map(|_| Value::Other)?,
            2 => {
                let length = self.number()?;
                Value::Bytes(self.skip(length)?)
            }
            5 => self.skip(4).map(|_| Value::Other)?,
            _ => return self.cut(),
        };
        Ok(Field { number: tag >> 3, value })
    }
}

impl<'b> Iterator for Fields<'b> {
    type Item = Result<Field<'b>, Cut>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.at < self.bytes.len()).then(|| self.field())
    }
}

/// A number of seven bits a byte, and how many bytes it has.
fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (at, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f).checked_shl(7 * u32::try_from(at).ok()?).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
    }
    None
}

/// Adds the numbers of a packed list.
pub(super) fn packed(mut bytes: &[u8], into: &mut Vec<u64>) -> Result<(), Cut> {
    while !bytes.is_empty() {
        let Some((value, length)) = varint(bytes) else { return Err(Cut { at: 0 }) };
        into.push(value);
        bytes = &bytes[length..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_what_is_no_number() {
        for (bytes, expected) in [
            (&[0x05][..], Some((5, 1))),
            (&[0xac, 0x02], Some((300, 2))),
            (&[0xff; 9], None),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], Some((u64::MAX, 10))),
            (&[0xff; 11], None),
            (&[], None),
        ] {
            assert_eq!(varint(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn fields_of_all_kinds() {
        let bytes =
            [0x08, 0x05, 0x12, 0x02, b'h', b'i', 0x1d, 0, 0, 0, 0, 0x21, 0, 0, 0, 0, 0, 0, 0, 0];
        let fields: Vec<_> = Fields::new(&bytes, 0).collect::<Result<_, _>>().unwrap();
        assert_eq!(fields[0], Field { number: 1, value: Value::Number(5) });
        assert_eq!(fields[1], Field { number: 2, value: Value::Bytes(b"hi") });
        assert_eq!((fields[2].value, fields[3].value), (Value::Other, Value::Other));
        for bad in
            [&[0x08][..], &[0x12, 0x05, b'h'], &[0x0b], &[0x12, 0xff, 0xff, 0xff, 0xff, 0x0f]]
        {
            assert!(Fields::new(bad, 0).last().is_some_and(|last| last.is_err()), "{bad:?}");
        }
    }
}
