//! Text of others in messages of our own.

/// Longest piece that a message repeats, in characters.
const SHOWN: usize = 60;

/// Cuts a piece of hostile text for a message and makes its hidden characters visible.
pub fn shown(text: &str) -> String {
    shown_up_to(text, SHOWN)
}

/// The same, cut after `max` characters.
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

/// Control characters, those without width, and those that turn the direction of text.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}'
                | '\u{feff}'
        )
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
    fn hostile_text_is_cut_and_visible() {
        assert_eq!(shown("a\u{1b}[31m\n"), "a\\u{1b}[31m\\u{a}");
        assert_eq!(shown("x\u{202e}y"), "x\\u{202e}y");
        assert_eq!(shown(&"é".repeat(100)).chars().count(), 61);
    }
}
