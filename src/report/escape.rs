//! The escape function of each output language: whatever text comes in, it shows as itself and
//! does nothing.
//!
//! Names that only look safe are escaped like any other text. Hidden characters were made visible
//! before (see `plain`); one that still comes is replaced here.

use std::io::{self, Write};

use super::plain::is_hidden;

/// For text between tags and in quoted attributes of HTML and SVG.
pub(crate) fn html(text: &str, out: &mut dyn Write) -> io::Result<()> {
    for c in text.chars() {
        match c {
            '&' => out.write_all(b"&amp;")?,
            '<' => out.write_all(b"&lt;")?,
            '>' => out.write_all(b"&gt;")?,
            '"' => out.write_all(b"&quot;")?,
            '\'' => out.write_all(b"&#39;")?,
            '\n' => out.write_all(b"\n")?,
            c => write_visible(c, out)?,
        }
    }
    Ok(())
}

/// For a line of GitHub's Markdown: table cells, list items, text, alternative texts.
///
/// What GitHub would act on is kept apart by a zero-width space, the way its own bots do it:
/// mentions (`@name`), references (`#12`, `GH-12`) and bare addresses notify or link otherwise.
pub(crate) fn markdown(text: &str, out: &mut dyn Write) -> io::Result<()> {
    const APART: &str = "&#8203;";
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        match c {
            '&' => out.write_all(b"&amp;")?,
            '<' => out.write_all(b"&lt;")?,
            '>' => out.write_all(b"&gt;")?,
            '|' => out.write_all(b"&#124;")?,
            '`' => out.write_all(b"&#96;")?,
            '\\' => out.write_all(b"&#92;")?,
            '$' => out.write_all(b"<span>$</span>")?,
            '*' | '[' | ']' | '~' => write!(out, "\\{c}")?,
            '_' if !(is_word(before) && is_word(next)) => out.write_all(b"\\_")?,
            '@' => write!(out, "@{APART}")?,
            '#' => write!(out, "\\#{APART}")?,
            ':' if next == Some('/') => write!(out, ":{APART}")?,
            '.' if before.is_some_and(|b| b.eq_ignore_ascii_case(&'w')) => {
                write!(out, ".{APART}")?;
            }
            '-' if before.is_some_and(|b| b.eq_ignore_ascii_case(&'h')) => {
                write!(out, "-{APART}")?;
            }
            // At the start of a line these would begin a list or a rule.
            '-' | '+' | '=' if before.is_none() && !is_word(next) => write!(out, "\\{c}")?,
            '.' | ')' if before.is_some_and(|b| b.is_ascii_digit()) && next == Some(' ') => {
                write!(out, "\\{c}")?;
            }
            '\n' | '\r' | '\t' => out.write_all(b" ")?,
            c => write_visible(c, out)?,
        }
        before = Some(c);
    }
    Ok(())
}

fn is_word(c: Option<char>) -> bool {
    c.is_some_and(char::is_alphanumeric)
}

fn write_visible(c: char, out: &mut dyn Write) -> io::Result<()> {
    let shown = if is_hidden(c) { char::REPLACEMENT_CHARACTER } else { c };
    out.write_all(shown.encode_utf8(&mut [0; 4]).as_bytes())
}

/// JSON for a `<script type="application/json">`: nothing in it can end the element or open a
/// comment.
pub(crate) fn json_in_html(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(with: fn(&str, &mut dyn Write) -> io::Result<()>, text: &str) -> String {
        let mut out = Vec::new();
        with(text, &mut out).expect("a vector takes all");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn html_text_stays_text() {
        assert_eq!(
            escaped(html, "</script><img src='x' onerror=\"alert(1)\">&amp;\0\u{202e}"),
            "&lt;/script&gt;&lt;img src=&#39;x&#39; onerror=&quot;alert(1)&quot;&gt;&amp;amp;\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn markdown_text_stays_text() {
        for (text, written) in [
            ("cpu_time", "cpu_time"),
            ("_x_", "\\_x\\_"),
            ("**bold** ~~s~~", "\\*\\*bold\\*\\* \\~\\~s\\~\\~"),
            ("| x |", "&#124; x &#124;"),
            ("`code`", "&#96;code&#96;"),
            ("<b>&amp;", "&lt;b&gt;&amp;amp;"),
            ("@user", "@&#8203;user"),
            ("me@example.org", "me@&#8203;example.org"),
            ("see #1", "see \\#&#8203;1"),
            ("owner/repo#3 GH-4", "owner/repo\\#&#8203;3 GH-&#8203;4"),
            ("![](http://e)", "!\\[\\](http:&#8203;//e)"),
            ("[a](b)", "\\[a\\](b)"),
            ("www.example.org", "www.&#8203;example.org"),
            ("a\nb\r\nc", "a b  c"),
            ("\\| \\`", "&#92;&#124; &#92;&#96;"),
            ("$x$", "<span>$</span>x<span>$</span>"),
            ("- item", "\\- item"),
            ("+4.2 %", "+4.2 %"),
            ("---", "\\---"),
            ("1. item", "1\\. item"),
            ("1.5 s", "1.5 s"),
            ("\u{202e}\0", "\u{fffd}\u{fffd}"),
        ] {
            assert_eq!(escaped(markdown, text), written);
        }
    }

    #[test]
    fn json_cannot_end_its_element() {
        let json = serde_json::to_string("</script><!--&").expect("JSON");
        let shown = json_in_html(&json);
        assert!(!shown.contains(['<', '>', '&']), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).expect("JSON"), "</script><!--&");
    }
}
