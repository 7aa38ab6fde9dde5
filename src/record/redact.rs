//! Takes secrets out of text that is going to be kept: registered values and what looks like a token.

use regex::bytes::{Regex, RegexBuilder};

/// What stands in a secret's place.
pub const REPLACEMENT: &str = "[secret removed]";

/// Shorter values are everyday words: taking them out would only spoil the text.
const SECRET_MIN: usize = 6;

/// Forms of well-known credentials.
const SHAPES: &[&str] = &[
    r"gh[pousr]_[A-Za-z0-9]{30,255}",
    r"github_pat_[A-Za-z0-9_]{22,255}",
    r"glpat-[A-Za-z0-9_-]{20,64}",
    r"xox[abeprs]-[A-Za-z0-9-]{10,255}",
    r"pypi-AgE[A-Za-z0-9_-]{50,}",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9+/=\s]*(?:-----END [A-Z ]*PRIVATE KEY-----)?",
];

/// Takes secrets out of text.
#[derive(Clone, Debug)]
pub struct Redactor {
    pattern: Option<Regex>,
    in_url: Option<Regex>,
}

impl Redactor {
    /// A redactor of these values and of every known shape.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut parts: Vec<String> = secrets
            .into_iter()
            .flat_map(|secret| std::iter::once(secret).chain(secret.lines()))
            .map(str::trim)
            .filter(|secret| secret.len() >= SECRET_MIN)
            .map(regex::escape)
            .collect();
        // The longest first: a value that holds another goes whole.
        parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
        parts.dedup();
        parts.extend(SHAPES.iter().map(|shape| (*shape).to_owned()));
        Self {
            pattern: compile(&parts.join("|")),
            in_url: compile(r"([a-z][a-z0-9+.-]*://)[^\s/@:]*:[^\s/@]+@"),
        }
    }

    /// `bytes` without secrets.
    pub fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut clean = bytes.to_vec();
        if let Some(pattern) = &self.pattern {
            clean = pattern.replace_all(&clean, REPLACEMENT.as_bytes()).into_owned();
        }
        if let Some(in_url) = &self.in_url {
            clean = in_url.replace_all(&clean, &b"${1}[secret removed]@"[..]).into_owned();
        }
        clean
    }

    /// `text` without secrets.
    pub fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }
}

/// The size limit allows for many long registered values; a set over it leaves only what fits.
fn compile(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).size_limit(64 << 20).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registered_values_and_shapes_go() {
        let redactor = Redactor::new(["hunter22", "abc", "line one of key\nline two of key"]);
        for (text, clean) in [
            ("pass hunter22!", "pass [secret removed]!"),
            ("abc stays", "abc stays"),
            ("x line two of key y", "x [secret removed] y"),
            (
                "token ghp_0123456789012345678901234567890123456789 end",
                "token [secret removed] end",
            ),
            ("https://u:p4ss@host/x", "https://[secret removed]@host/x"),
            ("https://host/x", "https://host/x"),
        ] {
            assert_eq!(redactor.text(text), clean);
        }
    }

    #[test]
    fn bytes_that_are_no_text_stay() {
        assert_eq!(Redactor::new([]).bytes(b"\xff\xfe ok"), b"\xff\xfe ok");
    }

    #[test]
    fn every_shape_compiles() {
        assert!(Redactor::new([]).pattern.is_some() && Redactor::new([]).in_url.is_some());
    }
}
