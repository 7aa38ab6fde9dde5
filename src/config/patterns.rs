//! Globs and regular expressions of the file: they compile, and globs stay inside the project.

use globset::{Glob, GlobBuilder};

use super::problem::What;
use super::section::{At, Section};

/// Longest pattern, in bytes.
const LONGEST: usize = 1000;
/// Most memory that one compiled regular expression may take, in bytes.
pub const REGEX_SIZE: usize = 1 << 20;

/// The glob over relative paths: `*` and `?` stay within a folder, `**` crosses folders.
///
/// # Errors
/// When it does not compile.
pub fn glob(text: &str) -> Result<Glob, globset::Error> {
    let text = text.strip_prefix("./").unwrap_or(text);
    GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build()
}

/// The regular expression, bounded in size.
///
/// # Errors
/// When it does not compile.
pub fn regex(text: &str) -> Result<regex::Regex, regex::Error> {
    regex::RegexBuilder::new(text).size_limit(REGEX_SIZE).dfa_size_limit(REGEX_SIZE).build()
}

/// Whether the text is a regular expression that is neither too long nor too large.
pub(crate) fn fits_regex(text: &str) -> bool {
    text.len() <= LONGEST && regex(text).is_ok()
}

/// Whether a path or glob is relative and never climbs out.
pub fn stays_inside(path: &str) -> bool {
    !path.is_empty()
        && path.len() <= LONGEST
        && !path.starts_with(['/', '~'])
        && !path.contains('\0')
        && path.split('/').all(|part| part != "..")
}

/// The globs of a list, checked.
pub(crate) fn globs(section: &Section<'_>, key: &'static str) -> Vec<String> {
    let texts = section.texts(key).unwrap_or_default();
    for text in &texts {
        check_glob(section, text);
    }
    texts.into_iter().map(|text| text.value).collect()
}

/// Tells of a glob that does not compile or leaves the project.
pub(crate) fn check_glob(section: &Section<'_>, text: &At<String>) {
    if !stays_inside(&text.value) {
        let expected = "a relative glob that stays inside the project, such as \"out/**/*.csv\"";
        section.bad_value(text, &text.value, expected);
    } else if let Err(error) = glob(&text.value) {
        bad(section, text, "glob", &error.kind().to_string());
    }
}

/// Tells of a regular expression that does not compile.
pub(crate) fn check_regex(section: &Section<'_>, text: &At<String>) {
    if text.value.len() > LONGEST {
        section.bad_value(text, &text.value, "a regular expression of at most 1000 bytes");
    } else if let Err(error) = regex(&text.value) {
        // The last line holds the reason; those before draw the pattern.
        let message = error.to_string();
        let reason = message.lines().last().unwrap_or_default();
        bad(section, text, "regular expression", reason.trim_start_matches("error: "));
    }
}

fn bad(section: &Section<'_>, text: &At<String>, kind: &'static str, message: &str) {
    let message = super::problem::shown(message);
    section.sink.add(&text.span, What::BadPattern { key: text.key.clone(), kind, message });
}
