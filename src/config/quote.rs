//! Quoting for the shell: the one way a value gets into a command.

/// Words that a shell understands where a command may start; they are quoted, so that a value
/// stays a value.
const KEYWORDS: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "in", "function", "select", "time", "coproc",
];

/// `text` as one word of a shell command: whatever it holds, the shell gives it back unchanged.
///
/// A NUL cannot stand in any command; the caller keeps it out.
pub fn quote(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-./:,+@%".contains(&b);
    if !text.is_empty() && text.bytes().all(plain) && !KEYWORDS.contains(&text) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a POSIX shell makes of one quoted word, by the rules for single quotes and backslash.
    fn shell_reads(word: &str) -> Option<String> {
        let mut value = String::new();
        let mut chars = word.chars();
        while let Some(c) = chars.next() {
            match c {
                '\'' => loop {
                    match chars.next()? {
                        '\'' => break,
                        inner => value.push(inner),
                    }
                },
                '\\' => value.push(chars.next()?),
                c if c.is_ascii_alphanumeric() || "_-./:,+@%".contains(c) => value.push(c),
                _ => return None,
            }
        }
        Some(value)
    }

    #[test]
    fn words_people_use() {
        for (text, quoted) in [
            ("5", "5"),
            ("out/run-1.csv", "out/run-1.csv"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$(id)", "'$(id)'"),
            ("a=b", "'a=b'"),
            ("~", "'~'"),
            ("while", "'while'"),
        ] {
            assert_eq!(quote(text), quoted);
        }
    }

    proptest! {
        #[test]
        fn the_shell_reads_back_any_text(text in any::<String>()) {
            prop_assert_eq!(shell_reads(&quote(&text)), Some(text));
        }

        #[test]
        fn the_shell_reads_back_its_own_signs(text in r#"['"\\$`(){};&|<>!*?~#= \n\t]{0,12}"#) {
            prop_assert_eq!(shell_reads(&quote(&text)), Some(text));
        }
    }
}
