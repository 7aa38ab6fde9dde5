//! The end of a job's output, from the packed log.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

/// How much of the output's end is shown, in bytes.
pub(crate) const TAIL_MAX: usize = 64 << 10;
/// A log that unpacks to more was not written by perftrail.
const UNPACKED_MAX: u64 = 256 << 20;

/// The last lines of a packed log, at most [`TAIL_MAX`] bytes, the first of them whole.
///
/// # Errors
/// When it is not gzip, or unpacks to more than any log.
pub(crate) fn tail(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut unpacked = MultiGzDecoder::new(packed).take(UNPACKED_MAX + 1);
    let mut end: Vec<u8> = Vec::new();
    let mut chunk = vec![0; TAIL_MAX];
    let (mut total, mut is_cut) = (0, false);
    loop {
        let count = unpacked.read(&mut chunk)?;
        if count == 0 {
            break;
        }
        total += count as u64;
        end.extend_from_slice(&chunk[..count]);
        if end.len() > 2 * TAIL_MAX {
            end.drain(..end.len() - TAIL_MAX);
            is_cut = true;
        }
    }
    if total > UNPACKED_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it unpacks to more than 256 MiB"));
    }
    if end.len() > TAIL_MAX {
        end.drain(..end.len() - TAIL_MAX);
        is_cut = true;
    }
    if is_cut && let Some(line) = end.iter().position(|byte| *byte == b'\n') {
        end.drain(..=line);
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::write::gzip;

    #[test]
    fn the_end_begins_with_a_whole_line() {
        let line = "a line of output\n";
        let short = gzip(line.repeat(3).as_bytes()).unwrap();
        assert_eq!(tail(&short).unwrap(), line.repeat(3).as_bytes());
        for count in [5_000, 50_000] {
            let end = tail(&gzip(line.repeat(count).as_bytes()).unwrap()).unwrap();
            assert!(end.starts_with(b"a line") && end.ends_with(b"output\n"));
            assert!((TAIL_MAX - 2 * line.len()..=TAIL_MAX).contains(&end.len()), "{}", end.len());
        }
        let one_line = gzip(&vec![b'x'; 200_000]).unwrap();
        assert_eq!(tail(&one_line).unwrap().len(), TAIL_MAX);
    }

    #[test]
    fn what_is_no_log_is_an_error() {
        assert!(tail(b"plain text").is_err());
        let bomb = gzip(&vec![0; (256 << 20) + 1]).unwrap();
        assert!(bomb.len() < 1 << 20 && tail(&bomb).is_err());
    }
}
