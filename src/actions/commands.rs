//! Commands to the runner, written into the log: annotations, and a stretch in which it listens to
//! no command.

use super::inert;

/// Longest message of an annotation, in characters.
const MESSAGE_MAX: usize = 1000;

/// How grave an annotation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something failed.
    Error,
    /// Something should be looked at.
    Warning,
    /// Something to know.
    Notice,
}

impl Level {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice => "notice",
        }
    }
}

/// The line that makes an annotation. Texts may come from anywhere.
pub fn annotation(level: Level, title: &str, message: &str) -> String {
    let title = property(&one_line(title));
    format!("::{} title={title}::{}", level.as_str(), data(&one_line(message)))
}

/// The line after which the runner listens to nothing, until [`resume`] with the same token.
pub fn stop(token: &str) -> String {
    format!("::stop-commands::{token}")
}

/// The line after which the runner listens again.
pub fn resume(token: &str) -> String {
    format!("::{token}::")
}

/// The line that has the runner replace `secret` by stars wherever it is printed.
pub fn mask(secret: &str) -> String {
    format!("::add-mask::{}", data(secret))
}

fn one_line(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = inert::line(&line).chars().take(MESSAGE_MAX).collect();
    shown
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_in_its_annotation() {
        assert_eq!(
            annotation(Level::Error, "job a,b: c", "100 %\n::set-output name=x::y ##[group]"),
            "::error title=job a%2Cb%3A c::100 %25 ::set-output name=x::y ##\u{200b}[group]"
        );
        assert_eq!(annotation(Level::Warning, "t", "\u{1b}[31mred"), "::warning title=t::red");
    }

    #[test]
    fn a_stretch_of_silence_ends_with_its_token() {
        assert_eq!((stop("abc"), resume("abc")), ("::stop-commands::abc".into(), "::abc::".into()));
        assert_eq!(mask("a\nb%"), "::add-mask::a%0Ab%25");
    }
}
