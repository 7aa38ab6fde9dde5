//! Text of others in messages of our own.

use super::sequences;

/// Longest piece that a message repeats, in characters.
const SHOWN: usize = 60;

/// Cuts a piece of hostile text for a message and makes its hidden characters visible.
pub fn shown(text: &str) -> String {
    shown_up_to(text, SHOWN)
}

/// Several lines with their hidden characters made visible; line breaks stay.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) && c != '\n' {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// The same as [`shown`], cut after `max` characters.
pub fn shown_up_to(text: &str, max: usize) -> String {
    let mut cut = String::new();
    for c in text.chars().take(max) {
        if is_hidden(c) {
            cut.extend(c.escape_unicode());
        } else {
            cut.push(c);
        }
    }
    if text.chars().nth(max).is_some() {
        cut.push('…');
    }
    cut
}

/// The known word that looks most like `word`, where one is near enough to be meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Distances grow with the product of the lengths; nobody meant a name by a page of text.
    if word.len() > 200 {
        return None;
    }
    let lower = word.to_lowercase();
    known
        .into_iter()
        .map(|candidate| {
            (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate)
        })
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().max(word.len()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Whether a character is not seen, or changes how others are seen: controls, bidi controls,
/// zero-width and other invisible ones but those that join letters. Line breaks and tabs count too.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The characters of `text` without terminal sequences. A sequence that never ends takes no more
/// than the rest of its line.
pub(crate) fn without_sequences(text: &str) -> impl Iterator<Item = char> {
    let mut visible = sequences::visible(text.as_bytes()).peekable();
    text.char_indices().filter_map(move |(at, c)| {
        while visible.next_if(|place| *place < at).is_some() {}
        (visible.peek() == Some(&at)).then_some(c)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_near() {
        let known = ["repetitions", "run", "repository"];
        assert_eq!(nearest("repetitons", known), Some("repetitions"));
        assert_eq!(nearest("RUN", known), Some("run"));
        assert_eq!(nearest("banana", known), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), known), None);
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(visible("a\nb\u{1b}[2J\r\u{202e}"), "a\nb\\u{1b}[2J\\u{d}\\u{202e}");
    }

    #[test]
    fn hostile_text_is_cut_and_visible() {
        assert_eq!(shown("a\u{1b}[31m\n"), "a\\u{1b}[31m\\u{a}");
        assert_eq!(shown("x\u{202e}y"), "x\\u{202e}y");
        assert_eq!(shown(&"é".repeat(100)).chars().count(), 61);
    }
}
