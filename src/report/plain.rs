//! Makes text that a job wrote fit for people's eyes: no control characters, no terminal
//! sequences, no characters that hide or reorder others, and an end.
//!
//! Each output language escapes on top of this; here is what all of them need.

use std::fmt::Write as _;

pub(crate) use crate::model::text::is_hidden;
use crate::model::text::without_sequences;

/// `text` as one line of at most about `max` characters. Line breaks and tabs become spaces,
/// other hidden characters their code (`[U+202E]`), and a cut is said.
pub(crate) fn line(text: &str, max: usize) -> String {
    let mut shown = String::new();
    let mut taken = 0;
    let mut left = without_sequences(text);
    for c in left.by_ref().take(max) {
        push_visible(&mut shown, c);
        taken += 1;
    }
    let rest = left.count();
    if rest > 0 {
        let _ = write!(shown, "… ({} characters)", taken + rest);
    }
    shown.trim().to_owned()
}

/// A name or value that stands for itself: as [`line()`], and `(empty)` where nothing is left.
pub(crate) fn name(text: &str) -> String {
    let shown = line(text, 120);
    if shown.is_empty() { "(empty)".to_owned() } else { shown }
}

/// The last `max_lines` lines of a log, each at most about `max_chars` long. A line that was
/// overwritten by carriage returns (a progress bar) shows its last state.
pub(crate) fn block(text: &str, max_lines: usize, max_chars: usize) -> Vec<String> {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let start = lines.len().saturating_sub(max_lines);
    lines[start..]
        .iter()
        .map(|line_of| {
            let last = line_of.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
            let indent: String = last.chars().take_while(|c| *c == ' ').take(40).collect();
            format!("{indent}{}", line(last, max_chars))
        })
        .collect()
}

fn push_visible(shown: &mut String, c: char) {
    match c {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => shown.push(' '),
        c if is_hidden(c) => {
            let _ = write!(shown, "[U+{:04X}]", u32::from(c));
        }
        c => shown.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_of_visible_text() {
        for (text, shown) in [
            ("plain", "plain"),
            ("a\nb\tc", "a b c"),
            ("\u{1b}[1;31mred\u{1b}[0m \u{9b}2Kx", "red x"),
            ("\u{1b}]0;title\u{7}after", "after"),
            ("\u{1b}]8;;http://e\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}(Bx\u{1b}", "x"),
            ("a\u{0}b", "a[U+0000]b"),
            ("evil\u{202e}txt.exe", "evil[U+202E]txt.exe"),
            ("zero\u{200b}width\u{feff}", "zero[U+200B]width[U+FEFF]"),
            ("naïve ✓ 日本", "naïve ✓ 日本"),
            ("", ""),
        ] {
            assert_eq!(line(text, 100), shown);
        }
        assert_eq!(name(" \u{1b}[0m"), "(empty)");
    }

    #[test]
    fn a_cut_is_said() {
        assert_eq!(line("abcdef", 3), "abc… (6 characters)");
        assert_eq!(line(&"x".repeat(1 << 20), 2), "xx… (1048576 characters)");
    }

    #[test]
    fn the_end_of_a_log() {
        let text = "one\n  two\n10 %\r50 %\r100 %\r\n\u{1b}]0;never ended\nlast\n\n";
        assert_eq!(block(text, 4, 20), ["  two", "100 %", "", "last"]);
        assert_eq!(block("", 4, 20), Vec::<String>::new());
    }
}
