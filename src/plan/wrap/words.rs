//! Cuts a shell command into its words, as far as that can be done without being a shell.

use std::ops::Range;

/// A word of a simple command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// What the shell makes of it; `None` where it would expand something.
    pub value: Option<String>,
    /// Where it stands in the text; of a word of a list, where in the list.
    pub place: Range<usize>,
}

/// Words that may stand before a command and leave it one.
const BEFORE: &[&str] = &["!", "{", "then", "else", "do", "exec", "time", "command", "builtin"];
/// Words after which a command may run never or often.
const LOOPS: &[&str] = &["for", "while", "until", "select", "case", "function", "if", "elif"];

/// The simple commands of a shell command, redirections left out; `None` where it has loops,
/// subshells or other things that only a shell understands.
pub(super) fn simple_commands(text: &str) -> Option<Vec<Vec<Word>>> {
    let bytes = text.as_bytes();
    let mut commands = vec![Vec::new()];
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b' ' | b'\t' => at += 1,
            b'\n' | b';' | b'|' | b'&' => {
                commands.push(Vec::new());
                at += 1;
            }
            b'#' => at = text[at..].find('\n').map_or(bytes.len(), |end| at + end),
            b'(' | b')' | b'`' => return None,
            b'<' | b'>' => at = redirection(text, at)?,
            _ => {
                let (word, end) = word(text, at)?;
                let is_descriptor = word.value.as_deref().is_some_and(is_number)
                    && matches!(bytes.get(end), Some(b'<' | b'>'));
                if !is_descriptor && let Some(command) = commands.last_mut() {
                    command.push(word);
                }
                at = end;
            }
        }
    }
    for command in &mut commands {
        let skipped = command.iter().take_while(|word| is_one_of(word, BEFORE)).count();
        command.drain(..skipped);
    }
    let has_loop = |command: &Vec<Word>| command.first().is_some_and(|word| is_one_of(word, LOOPS));
    (!commands.iter().any(has_loop))
        .then(|| commands.into_iter().filter(|command| !command.is_empty()).collect())
}

fn is_one_of(word: &Word, list: &[&str]) -> bool {
    word.value.as_deref().is_some_and(|value| list.contains(&value))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The end of a redirection and its target; here documents are left to shells.
fn redirection(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = start;
    while matches!(bytes.get(at), Some(b'<' | b'>' | b'&' | b'|')) {
        at += 1;
    }
    if text[start..at].starts_with("<<") {
        return None;
    }
    while matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    Some(word(text, at)?.1)
}

/// The word that begins at `start`, and where it ends.
fn word(text: &str, start: usize) -> Option<(Word, usize)> {
    let (mut value, mut is_plain, mut at) = (String::new(), true, start);
    let rest = |at: usize| text[at..].chars().next();
    while let Some(c) = rest(at) {
        match c {
            ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' => break,
            '(' | ')' | '`' => return None,
            '\'' => {
                let end = at + 1 + text[at + 1..].find('\'')?;
                value.push_str(&text[at + 1..end]);
                at = end + 1;
            }
            '"' => at = double_quoted(text, at + 1, &mut value, &mut is_plain)?,
            '\\' => {
                let next = rest(at + 1)?;
                value.push(next);
                at += 1 + next.len_utf8();
            }
            _ => {
                if text[at..].starts_with("$(") {
                    return None;
                }
                is_plain &= !matches!(c, '$' | '*' | '?' | '[' | '{' | '~');
                value.push(c);
                at += c.len_utf8();
            }
        }
    }
    Some((Word { value: is_plain.then_some(value), place: start..at }, at))
}

/// Where the text in double quotes ends.
fn double_quoted(
    text: &str,
    start: usize,
    value: &mut String,
    is_plain: &mut bool,
) -> Option<usize> {
    let mut at = start;
    loop {
        match text[at..].chars().next()? {
            '"' => return Some(at + 1),
            '`' => return None,
            '\\' => {
                let next = text[at + 1..].chars().next()?;
                value.push(next);
                at += 1 + next.len_utf8();
            }
            c => {
                if text[at..].starts_with("$(") {
                    return None;
                }
                *is_plain &= c != '$';
                value.push(c);
                at += c.len_utf8();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Option<Vec<Vec<String>>> {
        let shown = |word: Word| word.value.unwrap_or_else(|| "…".to_owned());
        let commands = simple_commands(text)?.into_iter();
        Some(commands.map(|command| command.into_iter().map(shown).collect()).collect())
    }

    #[test]
    fn words_as_a_shell_sees_them() {
        for (text, expected) in [
            ("python a.py --x 1", vec![vec!["python", "a.py", "--x", "1"]]),
            ("A=1 python 'a b.py' \"c d\"", vec![vec!["A=1", "python", "a b.py", "c d"]]),
            (r"python a\ b.py", vec![vec!["python", "a b.py"]]),
            (
                "cd x && python a.py | tee log",
                vec![vec!["cd", "x"], vec!["python", "a.py"], vec!["tee", "log"]],
            ),
            ("python a.py > out.txt 2>&1", vec![vec!["python", "a.py"]]),
            ("$PYTHON a.py ~/x *.csv", vec![vec!["…", "a.py", "…", "…"]]),
            ("exec python a.py # done", vec![vec!["python", "a.py"]]),
            ("python a.py\n", vec![vec!["python", "a.py"]]),
        ] {
            let expected: Vec<Vec<String>> =
                expected.into_iter().map(|c| c.into_iter().map(str::to_owned).collect()).collect();
            assert_eq!(cut(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_only_a_shell_understands_is_left_to_it() {
        for text in [
            "for i in 1 2; do python a.py; done",
            "(python a.py)",
            "python $(cat name)",
            "python `cat name`",
            "python <<EOF",
            "python 'a",
            "python \"$(x)\"",
        ] {
            assert_eq!(cut(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_no_trouble(text in "[ -~é\n]{0,60}") {
            for word in simple_commands(&text).unwrap_or_default().concat() {
                proptest::prop_assert!(text.get(word.place).is_some());
            }
        }
    }
}
