//! Looks for secrets in the content of a file that is kept as it is: also packed with gzip, and
//! written in UTF-16.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use super::redact::Redactor;

/// So much is looked at in one go.
const BLOCK: usize = 1 << 20;
/// So much of a block is looked at again with the next one: no secret is longer.
const OVERLAP: usize = 64 << 10;
/// What unpacks to more is not looked through.
const UNPACKED_MAX: u64 = 256 << 20;

/// What was seen in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// No secret.
    Clean,
    /// A secret.
    Secret,
    /// It is packed and holds too much to be looked through.
    TooMuch,
}

impl Sight {
    /// Why such a file is not kept; `None` where it may be.
    pub const fn reason(self) -> Option<&'static str> {
        match self {
            Self::Clean => None,
            Self::Secret => Some("it holds what looks like a secret"),
            Self::TooMuch => Some("it unpacks to more than is looked through for secrets"),
        }
    }
}

/// Looks through all of `source`.
///
/// # Errors
/// When it cannot be read. What only looks like gzip is taken as it is.
pub fn look(redactor: &Redactor, source: impl Read) -> io::Result<Sight> {
    let mut plain = BufReader::with_capacity(BLOCK, source);
    if !plain.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        return through(redactor, &mut plain, u64::MAX);
    }
    let mut unpacked = MultiGzDecoder::new(plain);
    match through(redactor, &mut unpacked, UNPACKED_MAX) {
        // What cannot be unpacked cannot be read by anybody else either.
        Err(_) => Ok(Sight::Clean),
        seen => seen,
    }
}

fn through(redactor: &Redactor, source: &mut dyn Read, max: u64) -> io::Result<Sight> {
    let mut window: Vec<u8> = Vec::with_capacity(BLOCK + OVERLAP);
    let mut seen = 0;
    loop {
        let read = source.take(BLOCK as u64).read_to_end(&mut window)?;
        if holds(redactor, &window) {
            return Ok(Sight::Secret);
        }
        if read == 0 {
            return Ok(Sight::Clean);
        }
        seen += read as u64;
        if seen > max {
            return Ok(Sight::TooMuch);
        }
        window.drain(..window.len().saturating_sub(OVERLAP));
    }
}

fn holds(redactor: &Redactor, bytes: &[u8]) -> bool {
    if redactor.finds(bytes) {
        return true;
    }
    // UTF-16, whichever way round: every other byte of plain text is 0.
    let narrow: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
    let zeros = bytes.len() - narrow.len();
    zeros > 0 && zeros * 4 >= bytes.len() && redactor.finds(&narrow)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn seen(bytes: &[u8]) -> Sight {
        look(&Redactor::new(["hunter2secret"]), bytes).unwrap()
    }

    #[test]
    fn secrets_are_seen_in_every_form() {
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let mut across = vec![b'.'; BLOCK - 5];
        across.extend(b"hunter2secret");
        for (bytes, sight) in [
            (b"token hunter2secret".to_vec(), Sight::Secret),
            (packed(b"token hunter2secret"), Sight::Secret),
            (wide("token hunter2secret"), Sight::Secret),
            (packed(&wide("token hunter2secret")), Sight::Secret),
            ([packed(b"a"), packed(b"hunter2secret")].concat(), Sight::Secret),
            (across, Sight::Secret),
            (packed(b"nothing"), Sight::Clean),
            (vec![0x1f, 0x8b, 1, 2], Sight::Clean),
            (vec![0; 3 * BLOCK], Sight::Clean),
            (Vec::new(), Sight::Clean),
        ] {
            assert_eq!(seen(&bytes), sight, "{} bytes", bytes.len());
        }
    }

    #[test]
    fn a_bomb_is_not_unpacked_to_its_end() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        for _ in 0..300 {
            encoder.write_all(&vec![b'.'; 1 << 20]).unwrap();
        }
        // A pattern that is looked for by its first bytes passes over dots quickly.
        assert_eq!(seen(&encoder.finish().unwrap()), Sight::TooMuch);
    }
}
