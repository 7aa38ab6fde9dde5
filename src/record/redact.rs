//! Takes secrets out of text that is going to be kept: registered values and what looks like a token.

use std::ops::Range;

use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};

use crate::model::sequences;

/// What stands in a secret's place.
pub const REPLACEMENT: &str = "***";
/// What stands in its place in a name, which has no room for other characters.
pub const NAME_REPLACEMENT: &str = "___";

/// Shorter values are everyday words: taking them out would only spoil the text.
const SECRET_MIN: usize = 6;

/// Forms of well-known credentials.
const SHAPES: &[&str] = &[
    r"gh[pousr]_[A-Za-z0-9_]{20,}(?:\.[A-Za-z0-9_-]+)*",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"glpat-[A-Za-z0-9_-]{20,}",
    r"xox[abeprs]-[A-Za-z0-9-]{10,}",
    r"pypi-AgE[A-Za-z0-9_-]{50,}",
    r"npm_[A-Za-z0-9]{36}",
    r"hf_[A-Za-z0-9]{30,}",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bAIza[0-9A-Za-z_-]{35}",
    r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    r"(?x) -----BEGIN\ [A-Z0-9\ ]*PRIVATE\ KEY(?:\ BLOCK)?-----
        (?:(?:\s|\\n)*[A-Z][A-Za-z-]*:\ [^\n]*\n)* [A-Za-z0-9+/=\s\\]*
        (?:-----END\ [A-Z0-9\ ]*PRIVATE\ KEY(?:\ BLOCK)?-----)?",
];

/// The value of the header `Authorization`, and name and password of an address: what is taken out
/// is the group.
const PARTS: &[&str] = &[
    r"(?i)\bauthorization\s*:\s*(?:basic|bearer|token)\s+([A-Za-z0-9+/=_.~-]{8,})",
    r#"(?i)\b[a-z][a-z0-9+.-]*://([^\s/@:"'<>]*:[^\s/"'<>]*)@"#,
];

/// Takes secrets out of text.
#[derive(Clone, Debug)]
pub struct Redactor {
    values: Vec<Finder<'static>>,
    shapes: Option<Regex>,
    parts: Vec<Regex>,
}

impl Redactor {
    /// A redactor of these values and of every known shape.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut values: Vec<String> = secrets
            .into_iter()
            .flat_map(|secret| std::iter::once(secret).chain(secret.lines()))
            .map(str::trim)
            .filter(|secret| secret.len() >= SECRET_MIN)
            .flat_map(spellings)
            .collect();
        values.sort();
        values.dedup();
        Self {
            values: values.iter().map(|value| Finder::new(value).into_owned()).collect(),
            shapes: compile(&SHAPES.join("|")),
            parts: PARTS.iter().filter_map(|part| compile(part)).collect(),
        }
    }

    /// Whether `bytes` hold a secret.
    pub fn finds(&self, bytes: &[u8]) -> bool {
        !self.places(bytes).is_empty()
    }

    /// `bytes` without secrets.
    pub fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        self.replaced(bytes, REPLACEMENT)
    }

    /// `text` without secrets.
    pub fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    /// `name` without secrets; what was a fit name stays one.
    pub fn name(&self, name: &str) -> String {
        String::from_utf8_lossy(&self.replaced(name.as_bytes(), NAME_REPLACEMENT)).into_owned()
    }

    fn replaced(&self, bytes: &[u8], by: &str) -> Vec<u8> {
        let mut clean = Vec::with_capacity(bytes.len());
        let mut from = 0;
        for place in self.places(bytes) {
            clean.extend_from_slice(&bytes[from..place.start]);
            clean.extend_from_slice(by.as_bytes());
            from = place.end;
        }
        clean.extend_from_slice(&bytes[from..]);
        clean
    }

    /// Where secrets stand, in order, none within another. A secret that terminal sequences part
    /// is one all the same: pages show the text without them.
    fn places(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut places = self.plain_places(bytes);
        if bytes.contains(&0x1b) || bytes.contains(&0x9b) {
            let kept: Vec<usize> = sequences::visible(bytes).collect();
            let shown: Vec<u8> = kept.iter().map(|at| bytes[*at]).collect();
            let whole = |place: Range<usize>| kept[place.start]..kept[place.end - 1] + 1;
            places.extend(self.plain_places(&shown).into_iter().map(whole));
        }
        places.sort_by_key(|place| (place.start, place.end));
        let mut joined: Vec<Range<usize>> = Vec::with_capacity(places.len());
        for place in places {
            match joined.last_mut() {
                Some(last) if place.start < last.end => last.end = last.end.max(place.end),
                _ => joined.push(place),
            }
        }
        joined
    }

    fn plain_places(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut places = Vec::new();
        for value in &self.values {
            let length = value.needle().len();
            places.extend(value.find_iter(bytes).map(|at| at..at + length));
        }
        if let Some(shapes) = &self.shapes {
            places.extend(shapes.find_iter(bytes).map(|found| found.range()));
        }
        for part in &self.parts {
            let groups = part.captures_iter(bytes).filter_map(|found| found.get(1));
            places.extend(groups.map(|group| group.range()));
        }
        places.retain(|place| !place.is_empty());
        places
    }
}

/// A value as it stands, and as JSON, addresses and shells write it.
fn spellings(value: &str) -> Vec<String> {
    let json = serde_json::Value::from(value).to_string();
    let json = json.trim_matches('"').to_owned();
    let percent = value
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect();
    vec![value.to_owned(), json, percent, value.replace('\'', r"'\''")]
}

fn compile(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).size_limit(64 << 20).build().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn registered_values_and_shapes_go() {
        let redactor =
            Redactor::new(["hunter22", "abc", "line one of key\nline two of key", "a\"b'c&d"]);
        for (text, clean) in [
            ("pass hunter22!", "pass ***!"),
            ("hunter22hunter22", "******"),
            ("abc stays", "abc stays"),
            ("x line two of key y", "x *** y"),
            ("line one of key\nline two of key", "***"),
            ("token ghp_0123456789012345678901234567890123456789 end", "token *** end"),
            ("ghs_1234567_eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxIn0.c2lnbmF0dXJl-x end", "*** end"),
            ("github_pat_11ABCDEFG0123456789abcdef", "***"),
            ("AKIAIOSFODNN7EXAMPLE.", "***."),
            ("https://u:p4ss@host/x", "https://***@host/x"),
            ("https://u:p@ss@host/x", "https://***@host/x"),
            ("HTTPS://:p4ss@host", "HTTPS://***@host"),
            ("https://host/x ssh://git@host/x", "https://host/x ssh://git@host/x"),
            ("http://h:80 me@x", "http://h:80 me@x"),
            ("AUTHORIZATION: basic eC1hY2Nlc3M6Z2hz", "AUTHORIZATION: basic ***"),
            ("-----BEGIN RSA PRIVATE KEY-----\nMIIE+/=\n-----END RSA PRIVATE KEY-----|", "***|"),
            (
                "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMII=\n-----END EC PRIVATE KEY-----",
                "***",
            ),
            ("-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----\\n", "***\\n"),
            ("hun\u{1b}[31mter22\u{1b}[0m!", "***\u{1b}[0m!"),
            (r#"{"x": "a\"b'c&d"}"#, r#"{"x": "***"}"#),
            ("?x=a%22b%27c%26d", "?x=***"),
            (r#"'a"b'\''c&d'"#, "'***'"),
        ] {
            assert_eq!(redactor.text(text), clean);
            assert_eq!(redactor.finds(text.as_bytes()), text != clean);
        }
        assert_eq!(redactor.name("x_hunter22"), "x____");
    }

    #[test]
    fn bytes_that_are_no_text_stay() {
        assert_eq!(Redactor::new([]).bytes(b"\xff\xfe\x9b ok"), b"\xff\xfe\x9b ok");
    }

    #[test]
    fn every_shape_compiles() {
        let redactor = Redactor::new([]);
        assert!(redactor.shapes.is_some());
        assert_eq!(redactor.parts.len(), PARTS.len());
    }

    #[test]
    fn many_long_values_are_all_known() {
        let values: Vec<String> =
            (0..40).map(|n| format!("{n}-{}", "long value ".repeat(5_000))).collect();
        let redactor = Redactor::new(values.iter().map(String::as_str));
        for value in &values {
            assert_eq!(redactor.text(&format!("<{}>", value.trim())), "<***>");
        }
    }

    proptest! {
        #[test]
        fn no_value_stays(secret in "[!-~]{6,20}", around in ".{0,20}", other in "[!-~]{6,20}") {
            let redactor = Redactor::new([secret.as_str(), other.as_str()]);
            let clean = redactor.text(&format!("{around}{secret}{around}{other}{secret}"));
            prop_assert!(!clean.contains(&secret) || REPLACEMENT.contains(&secret), "{clean}");
        }
    }
}
