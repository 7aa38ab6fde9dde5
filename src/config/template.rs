//! Placeholders in commands and tags: `{name}` of declared params and of what perftrail knows,
//! `{{` and `}}` for braces; any other `{` is left alone, and so is the shell's own `${name}`.
//!
//! In a shell command it matters where a placeholder stands. A value that is quoted for the shell
//! is safe between words, and inside quotes once these are closed before it and opened again
//! after it. Where the shell reads text by other rules (here-documents, backticks, `$'…'`,
//! arithmetic, the inside of `${…}`) no quoting holds, so only values that cannot hold anything
//! special may stand there.

/// Where a placeholder stands in a shell command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Between words, or inside `$( )`.
    Bare,
    /// Inside single quotes.
    Single,
    /// Inside double quotes.
    Double,
    /// Where the shell's rules make quoting unsafe.
    Unsure,
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text as it is.
    Text(String),
    /// A placeholder.
    Hole {
        /// Its name.
        name: String,
        /// Where it stands; always `Bare` outside shell commands.
        place: Place,
    },
}

/// The pieces of a list element or a tag, where no shell reads them.
pub fn plain(text: &str, known: impl Fn(&str) -> bool) -> Vec<Piece> {
    let mut out = Pieces::default();
    for token in tokens(text, &known, false) {
        match token {
            Token::Char(c) => out.push(c),
            Token::Hole(name) => out.hole(name, Place::Bare),
        }
    }
    out.finish()
}

/// The pieces of a shell command.
pub fn shell(text: &str, known: impl Fn(&str) -> bool) -> Vec<Piece> {
    let mut out = Pieces::default();
    let mut reader = Shell::default();
    let tokens = tokens(text, &known, true);
    let mut chars = tokens.iter().peekable();
    while let Some(token) = chars.next() {
        match token {
            Token::Char(c) => {
                let next = match chars.peek() {
                    Some(Token::Char(next)) => Some(*next),
                    _ => None,
                };
                reader.see(*c, next);
                out.push(*c);
            }
            // Nobody runs a comment, and a value with a line break would end it.
            Token::Hole(name) if reader.in_comment() => {
                out.push('{');
                name.chars().for_each(|c| out.push(c));
                out.push('}');
            }
            Token::Hole(name) => {
                out.hole((*name).to_owned(), reader.place());
                reader.see_word();
            }
        }
    }
    out.finish()
}

#[derive(Default)]
struct Pieces {
    done: Vec<Piece>,
    text: String,
}

impl Pieces {
    fn push(&mut self, c: char) {
        self.text.push(c);
    }

    fn hole(&mut self, name: impl Into<String>, place: Place) {
        self.flush();
        self.done.push(Piece::Hole { name: name.into(), place });
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.done.push(Piece::Text(std::mem::take(&mut self.text)));
        }
    }

    fn finish(mut self) -> Vec<Piece> {
        self.flush();
        self.done
    }
}

enum Token<'a> {
    Char(char),
    Hole(&'a str),
}

/// Splits at placeholders and doubled braces. In shell text `${name}` is the shell's own.
fn tokens<'a>(text: &'a str, known: &impl Fn(&str) -> bool, shell: bool) -> Vec<Token<'a>> {
    let mut out = Vec::new();
    let mut rest = text;
    let mut after_dollar = false;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("{{").or_else(|| rest.strip_prefix("}}")) {
            out.push(Token::Char(c));
            rest = after;
        } else if let Some((name, after)) =
            hole_at(rest).filter(|(name, _)| known(name) && !(shell && after_dollar))
        {
            out.push(Token::Hole(name));
            rest = after;
        } else {
            out.push(Token::Char(c));
            rest = &rest[c.len_utf8()..];
        }
        after_dollar = c == '$';
    }
    out
}

/// The name of a placeholder that starts here, and what follows it.
fn hole_at(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('{')?;
    // Names have at most 40 characters: do not look further for the end.
    let end = inner.bytes().take(41).position(|b| b == b'}')?;
    Some((inner.get(..end)?, &inner[end + 1..]))
}

/// Follows how a shell reads text, as far as quoting needs it. Where it does not follow, it says
/// so for all that comes after, never the other way round.
#[derive(Default)]
struct Shell {
    stack: Vec<Open>,
    unsure: bool,
    escaped: bool,
    /// The word so far; a quoted part stands as one quote.
    word: String,
    /// Whether a comment cannot start here.
    in_word: bool,
    /// The character before, where it was not escaped and not the end of `$$`.
    previous: Option<char>,
    /// How many `<` stand directly before.
    less_thans: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Comment,
    Single,
    Double,
    /// `( )` or `$( )`.
    Paren,
    /// A `${…}` with nothing special in it.
    Brace,
}

impl Shell {
    fn in_comment(&self) -> bool {
        self.stack.last() == Some(&Open::Comment)
    }

    fn place(&self) -> Place {
        match self.stack.last() {
            _ if self.unsure || self.escaped => Place::Unsure,
            None | Some(Open::Paren) => Place::Bare,
            Some(Open::Single) => Place::Single,
            Some(Open::Double) => Place::Double,
            Some(Open::Brace | Open::Comment) => Place::Unsure,
        }
    }

    /// A filled placeholder is part of a word, whatever it holds.
    fn see_word(&mut self) {
        self.word.push('\'');
        self.in_word = true;
        self.previous = None;
        self.escaped = false;
        self.less_thans = 0;
    }

    fn see(&mut self, c: char, next: Option<char>) {
        if std::mem::take(&mut self.escaped) {
            self.see_word();
            return;
        }
        match self.stack.last() {
            Some(Open::Comment) => self.close_at('\n', c),
            Some(Open::Single) => self.close_at('\'', c),
            Some(Open::Double) => self.in_double(c, next),
            Some(Open::Brace) => self.in_brace(c),
            None | Some(Open::Paren) => self.in_bare(c, next),
        }
        // `$$` is the shell's process: its second `$` starts nothing.
        let ends_pair = c == '$' && self.previous == Some('$');
        self.previous = (!ends_pair).then_some(c);
    }

    fn close_at(&mut self, end: char, c: char) {
        if c == end {
            self.stack.pop();
        }
    }

    fn in_double(&mut self, c: char, next: Option<char>) {
        match c {
            '"' => {
                self.stack.pop();
            }
            '\\' => self.escaped = true,
            '`' => self.unsure = true,
            '(' | '{' | '[' if self.previous == Some('$') => self.expansion(c, next),
            _ => {}
        }
    }

    fn in_brace(&mut self, c: char) {
        match c {
            '}' => {
                self.stack.pop();
            }
            '\'' | '"' | '\\' | '`' | '$' | '{' => self.unsure = true,
            _ => {}
        }
    }

    fn in_bare(&mut self, c: char, next: Option<char>) {
        self.less_thans = if c == '<' { self.less_thans + 1 } else { 0 };
        // A here-document; `<<<` is only a string.
        self.unsure |= self.less_thans == 2 && next != Some('<');
        match c {
            '\'' if self.previous == Some('$') => self.unsure = true,
            '\'' => self.stack.push(Open::Single),
            '"' => self.stack.push(Open::Double),
            '\\' => self.escaped = true,
            '`' => self.unsure = true,
            // Whether this starts a comment depends on what the parenthesis closed.
            '#' if self.previous == Some(')') => self.unsure = true,
            '#' if !self.in_word => return self.stack.push(Open::Comment),
            '(' => return self.expansion(c, next),
            '{' | '[' if self.previous == Some('$') => return self.expansion(c, next),
            ')' => {
                self.end_word();
                self.stack.pop();
            }
            c if c.is_whitespace() || ";&|<>".contains(c) => self.end_word(),
            _ => {}
        }
        if !c.is_whitespace() && !";&|<>)".contains(c) {
            self.word.push(c);
            self.in_word = true;
        }
    }

    fn end_word(&mut self) {
        // `case` has closing parentheses of its own; inside others they would be counted wrongly.
        self.unsure |= self.word == "case" && !self.stack.is_empty();
        self.word.clear();
        self.in_word = false;
    }

    /// Something that a bracket opens.
    fn expansion(&mut self, c: char, next: Option<char>) {
        match c {
            '{' => self.stack.push(Open::Brace),
            // Arithmetic reads quotes and names by rules of its own.
            '[' => self.unsure = true,
            _ => {
                self.unsure |= next == Some('(') || self.previous == Some('(');
                self.stack.push(Open::Paren);
                self.word.clear();
                self.in_word = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<Place> {
        shell(text, |name| name == "x")
            .into_iter()
            .filter_map(|piece| match piece {
                Piece::Hole { place, .. } => Some(place),
                Piece::Text(_) => None,
            })
            .collect()
    }

    #[test]
    fn where_a_placeholder_stands() {
        for (text, place) in [
            ("run {x}", Place::Bare),
            ("run --x={x}", Place::Bare),
            ("a; b && c {x}", Place::Bare),
            ("run '{x}'", Place::Single),
            (r#"run "a {x}""#, Place::Double),
            (r#"run "a" {x}"#, Place::Bare),
            (r#"run "it's {x}""#, Place::Double),
            (r"run it\'s {x}", Place::Bare),
            (r#"run "$(cmd {x})""#, Place::Bare),
            (r#"run "$(cmd "{x}")""#, Place::Double),
            (r#"run "\$({x})""#, Place::Double),
            (r#"run "$$({x})""#, Place::Double),
            ("run ${HOME} {x}", Place::Bare),
            (r#"run "${HOME}/{x}""#, Place::Double),
            ("# it's\nrun {x}", Place::Bare),
            ("run a#it's {x}", Place::Single),
            ("cat <<< {x}", Place::Bare),
            ("diff <(a {x}) b", Place::Bare),
            ("case {x} in a) b;; esac", Place::Bare),
            ("cat <<EOF\n{x}\nEOF", Place::Unsure),
            ("run `echo {x}`", Place::Unsure),
            ("run $'{x}'", Place::Unsure),
            ("run $(( {x} ))", Place::Unsure),
            ("(( {x} ))", Place::Unsure),
            ("run $[ {x} ]", Place::Unsure),
            ("run ${y:-{x}}", Place::Unsure),
            (r#"run "${y:-"z"}" {x}"#, Place::Unsure),
            (r"run \{x}", Place::Unsure),
            (r#"run "$(case a in a) echo {x};; esac)""#, Place::Unsure),
            ("run $(a)#it's\n{x}", Place::Unsure),
        ] {
            assert_eq!(places(text), [place], "{text}");
        }
    }

    #[test]
    fn what_is_no_placeholder_is_left_alone() {
        for text in ["${x}", "{y}", "{", "}", "{x", "{}", "{ x }", "a {x y} b", "# {x}\n"] {
            assert_eq!(shell(text, |name| name == "x"), [Piece::Text(text.to_owned())], "{text}");
        }
        assert_eq!(shell("", |_| true), []);
    }

    #[test]
    fn doubled_braces_are_braces() {
        let text = |text: &str| Piece::Text(text.to_owned());
        let hole = Piece::Hole { name: "x".to_owned(), place: Place::Bare };
        assert_eq!(plain("{{x}}", |_| true), [text("{x}")]);
        assert_eq!(plain("{{{x}}}", |_| true), [text("{"), hole.clone(), text("}")]);
        assert_eq!(
            plain("a{x}__{x}", |_| true),
            [text("a"), hole.clone(), text("__"), hole.clone()]
        );
        assert_eq!(plain("${x}", |_| true), [text("$"), hole]);
    }

    #[test]
    fn long_and_deep_text_is_read_in_one_pass() {
        let deep = format!("{}{{x}}", "$(".repeat(200_000));
        assert_eq!(places(&deep), [Place::Bare]);
        assert_eq!(places(&"{".repeat(300_000)), []);
    }
}
