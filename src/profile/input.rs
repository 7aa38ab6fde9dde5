//! The stream a reader reads: gzip undone, bytes counted, both bounded.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use super::error::{Fault, Reason};

/// How much of the start is looked at to tell the format.
pub(super) const PREFIX: usize = 64 << 10;
const CHUNK: usize = 64 << 10;

/// A stream whose start can be seen before it is read.
pub(super) struct Input<'s> {
    source: Box<dyn Read + 's>,
    /// Read, not yet handed out.
    buffer: Vec<u8>,
    start: usize,
    /// Bytes taken from the source so far.
    taken: u64,
    limit: u64,
    ended: bool,
    /// Met while the start was looked at; it is met again when what came before it was read.
    late: Option<Fault>,
    /// Whether a gzip layer was undone.
    pub(super) gzipped: bool,
}

impl<'s> Input<'s> {
    /// Looks at the first bytes of `source` and undoes gzip, one layer of it.
    pub(super) fn open(source: &'s mut dyn Read, limit: u64) -> Result<Self, Fault> {
        let mut plain = BufReader::with_capacity(CHUNK, source);
        let head = plain.fill_buf().map_err(|error| fault_of(&error, 0, false))?;
        let gzipped = head.starts_with(&[0x1f, 0x8b]);
        let source: Box<dyn Read + 's> =
            if gzipped { Box::new(MultiGzDecoder::new(plain)) } else { Box::new(plain) };
        let buffer = Vec::new();
        let mut input =
            Self { source, buffer, start: 0, taken: 0, limit, ended: false, late: None, gzipped };
        while input.buffer.len() < PREFIX {
            match input.fill() {
                Ok(true) => {}
                Ok(false) => break,
                // What came before tells the format of a damaged file.
                Err(fault) if !input.buffer.is_empty() => {
                    input.late = Some(fault);
                    break;
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(input)
    }

    /// The start of what is not yet handed out: at least [`PREFIX`] bytes, or all there is.
    pub(super) fn prefix(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Whether [`Self::prefix`] is all there is.
    pub(super) fn is_all(&self) -> bool {
        self.ended
    }

    /// Bytes handed out.
    pub(super) fn position(&self) -> u64 {
        self.taken - (self.buffer.len() - self.start) as u64
    }

    /// Moves what is left into `into`, more from the source when nothing is; `false` at the end.
    pub(super) fn more(&mut self, into: &mut Vec<u8>) -> Result<bool, Fault> {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
            if !self.fill()? {
                return Ok(false);
            }
        }
        into.extend_from_slice(&self.buffer[self.start..]);
        self.start = self.buffer.len();
        Ok(true)
    }

    /// Everything that is left, if it is at most `limit` bytes.
    pub(super) fn whole(&mut self, limit: u64) -> Result<Vec<u8>, Fault> {
        let mut all = Vec::new();
        while self.more(&mut all)? {
            if all.len() as u64 > limit {
                return Err(too_large("the file", limit, self.taken));
            }
        }
        Ok(all)
    }

    fn fill(&mut self) -> Result<bool, Fault> {
        if let Some(fault) = self.late.take() {
            return Err(fault);
        }
        if self.ended {
            return Ok(false);
        }
        let before = self.buffer.len();
        self.buffer.resize(before + CHUNK, 0);
        let result = loop {
            match self.source.read(&mut self.buffer[before..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        let read = result.as_ref().map_or(0, |read| *read);
        self.buffer.truncate(before + read);
        result.map_err(|error| fault_of(&error, self.taken, self.gzipped))?;
        self.taken += read as u64;
        self.ended = read == 0;
        if self.taken > self.limit {
            return Err(too_large(
                if self.gzipped { "the inflated file" } else { "the file" },
                self.limit,
                self.taken,
            ));
        }
        Ok(read > 0)
    }
}

fn too_large(what: &'static str, limit: u64, at: u64) -> Fault {
    Fault::at_byte(at, Reason::TooLarge { what, limit })
}

fn fault_of(error: &io::Error, at: u64, gzipped: bool) -> Fault {
    let detail = error.to_string();
    let reason = match error.kind() {
        io::ErrorKind::UnexpectedEof => Reason::Cut { inside: "the gzip data" },
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput if gzipped => {
            Reason::Gzip { detail }
        }
        _ => Reason::Io { detail },
    };
    Fault::at_byte(at, reason)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn gz(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn all(mut bytes: &[u8], limit: u64) -> Result<Vec<u8>, Reason> {
        let mut input = Input::open(&mut bytes, limit).map_err(|fault| fault.reason)?;
        input.whole(limit).map_err(|fault| fault.reason)
    }

    #[test]
    fn gzip_is_undone_once() {
        assert_eq!(all(&gz(b"abc"), 100), Ok(b"abc".to_vec()));
        assert_eq!(all(&gz(&gz(b"abc")), 100), Ok(gz(b"abc")));
        assert_eq!(all(&[gz(b"ab"), gz(b"c")].concat(), 100), Ok(b"abc".to_vec()));
        assert_eq!(all(b"", 100), Ok(Vec::new()));
    }

    #[test]
    fn a_bomb_ends_at_the_limit() {
        let bomb = gz(&vec![0; 8 << 20]);
        assert!(bomb.len() < 100_000);
        let what = "the inflated file";
        assert_eq!(all(&bomb, 1 << 20), Err(Reason::TooLarge { what, limit: 1 << 20 }));
    }

    #[test]
    fn a_cut_or_spoilt_gzip_says_so() {
        let whole = gz(b"some text that is long enough to be cut in the middle of the data");
        assert_eq!(all(&whole[..20], 100), Err(Reason::Cut { inside: "the gzip data" }));
        let mut spoilt = whole;
        for byte in &mut spoilt[12..30] {
            *byte = 0xff;
        }
        assert!(matches!(all(&spoilt, 100), Err(Reason::Gzip { .. })));
    }
}
