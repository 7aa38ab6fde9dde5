//! Terminal sequences: colours, cursor moves, titles, links.

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

/// The places of the bytes that belong to no terminal sequence, in order. A sequence that never
/// ends takes no more than the rest of its line. In UTF-8 text whole characters stay or go.
pub fn visible(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            match end_of_sequence(bytes, at) {
                Some(end) => at = end,
                None if at < bytes.len() => {
                    at += 1;
                    return Some(at - 1);
                }
                None => return None,
            }
        }
    })
}

/// The bytes without terminal sequences.
pub fn without(bytes: &[u8]) -> Vec<u8> {
    visible(bytes).map(|at| bytes[at]).collect()
}

/// Where the sequence that begins at `at` ends; `None` where none begins.
fn end_of_sequence(bytes: &[u8], at: usize) -> Option<usize> {
    let next = bytes.get(at + 1);
    match (*bytes.get(at)?, next) {
        (ESCAPE, Some(b'[')) | (0xc2, Some(0x9b)) => Some(end_of_control(bytes, at + 2)),
        (ESCAPE, Some(b']' | b'P' | b'X' | b'^' | b'_')) => Some(end_of_string(bytes, at + 2)),
        (ESCAPE, Some(b' '..=b'~')) => {
            let after = skip(bytes, at + 1, |byte| matches!(byte, b' '..=b'/'));
            let ends = bytes.get(after).is_some_and(|byte| matches!(byte, b'0'..=b'~'));
            Some(after + usize::from(ends))
        }
        (ESCAPE, _) => Some(at + 1),
        _ => None,
    }
}

/// Parameters and the final byte of a control sequence.
fn end_of_control(bytes: &[u8], from: usize) -> usize {
    let after = skip(bytes, from, |byte| matches!(byte, b' '..=b'?'));
    after + usize::from(bytes.get(after).is_some_and(|byte| matches!(byte, b'@'..=b'~')))
}

/// A string up to its end, or to that of the line.
fn end_of_string(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match (byte, bytes.get(at + 1)) {
            (b'\n', _) => return at,
            (&BELL, _) => return at + 1,
            (&ESCAPE, Some(b'\\')) | (0xc2, Some(0x9c)) => return at + 2,
            (&ESCAPE, _) => return at,
            _ => at += 1,
        }
    }
    at
}

fn skip(bytes: &[u8], from: usize, wanted: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| wanted(**byte)).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sequences_go_and_text_stays() {
        for (text, left) in [
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}shown", "shown"),
            ("\u{1b}]8;;http://e\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]0;never ends\nnext", "\nnext"),
            ("\u{9b}2Jx", "x"),
            ("\u{1b}(Bx", "x"),
            ("\u{1b}cx", "x"),
            ("\u{1b}P1\u{9c}x", "x"),
            ("\u{1b}", ""),
            ("\u{1b}\u{e9}", "\u{e9}"),
            ("no \u{e9} sequence", "no \u{e9} sequence"),
        ] {
            assert_eq!(String::from_utf8_lossy(&without(text.as_bytes())), left, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn text_stays_text(text in "[a\u{1b}\u{9b}\u{7}\\[\\];0mP\u{e9}\u{1f600}\n]{0,40}") {
            let left = without(text.as_bytes());
            prop_assert!(String::from_utf8(left.clone()).is_ok());
            prop_assert!(!left.contains(&ESCAPE));
        }
    }
}
