//! The token: held so that it cannot be printed, and how long it lives.

use std::fmt;

use jiff::Timestamp;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::TimeZone;

/// A token for GitHub's API. Printing it for debugging shows stars; nothing else prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// Why a text is no token. The text itself is never repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenProblem {
    /// Nothing but white space.
    #[error("the token is empty; is the secret set, and may this workflow read it?")]
    Empty,
    /// A token is one word of printable ASCII.
    #[error(
        "the token holds a space, a line break or another character that no token has; \
         store the secret again, the token alone"
    )]
    Character,
}

impl Token {
    /// Reads a token; white space around it is cut off.
    ///
    /// # Errors
    /// When nothing is left, or when it cannot be a token.
    pub fn new(text: &str) -> Result<Self, TokenProblem> {
        let text = text.trim();
        if text.is_empty() {
            return Err(TokenProblem::Empty);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenProblem::Character);
        }
        Ok(Self(text.to_owned()))
    }

    /// The secret itself: for a header, and for taking it out of other texts.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

/// From how many days before its end a token is warned of.
pub const EXPIRY_WARNING_DAYS: i64 = 14;

/// A token that ends soon, or has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpiryWarning {
    /// When it ends.
    pub expires: Timestamp,
    /// Whole days until then; negative when it has ended.
    pub days_left: i64,
}

/// The warning about a token that ends at `expires`; `None` while more than
/// [`EXPIRY_WARNING_DAYS`] days are left.
pub fn expiry_warning(expires: Timestamp, now: Timestamp) -> Option<ExpiryWarning> {
    let seconds = expires.as_second() - now.as_second();
    let days_left = seconds.div_euclid(24 * 60 * 60);
    (days_left < EXPIRY_WARNING_DAYS).then_some(ExpiryWarning { expires, days_left })
}

impl fmt::Display for ExpiryWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = self.expires.strftime("%Y-%m-%d %H:%M UTC");
        match self.days_left {
            ..0 => write!(f, "the token expired on {on}")?,
            0 => write!(f, "the token expires in less than a day, on {on}")?,
            1 => write!(f, "the token expires in 1 day, on {on}")?,
            days => write!(f, "the token expires in {days} days, on {on}")?,
        }
        f.write_str("; make a new one and store it in the secret")
    }
}

/// What the answers so far told about the token's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SeenExpiry {
    /// None has come yet.
    #[default]
    NotAsked,
    /// GitHub names no end.
    Unnamed,
    /// It ends then.
    At(Timestamp),
}

impl SeenExpiry {
    /// Takes in one more answer's header. An answer without it takes nothing back: the ones of
    /// proxies and of servers in trouble do not have it.
    pub(super) fn and(self, header: Option<&str>) -> Self {
        match (header.and_then(parse_expiry), self) {
            (Some(expires), _) | (None, Self::At(expires)) => Self::At(expires),
            (None, Self::NotAsked | Self::Unnamed) => Self::Unnamed,
        }
    }
}

/// Reads the header `github-authentication-token-expiration`: `2026-12-14 10:00:00 UTC`, or with
/// an offset, `2026-12-14 12:00:00 +0200`. `None` for anything else.
fn parse_expiry(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if let Some(utc) = text.strip_suffix(" UTC") {
        let time = BrokenDownTime::parse("%Y-%m-%d %H:%M:%S", utc).ok()?.to_datetime().ok()?;
        return TimeZone::UTC.to_timestamp(time).ok();
    }
    BrokenDownTime::parse("%Y-%m-%d %H:%M:%S %z", text).ok()?.to_timestamp().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_token_is_one_word_and_never_printed() {
        let token = Token::new(" ghp_secret\n").unwrap();
        assert_eq!((token.expose(), format!("{token:?}").as_str()), ("ghp_secret", "Token(***)"));
        for (text, problem) in [
            ("", TokenProblem::Empty),
            (" \n", TokenProblem::Empty),
            ("two words", TokenProblem::Character),
            ("a\nb", TokenProblem::Character),
            ("tökén", TokenProblem::Character),
        ] {
            assert_eq!(Token::new(text), Err(problem), "{text:?}");
        }
    }

    #[test]
    fn expiry_is_read_as_github_writes_it() {
        let want = Some(time("2026-12-14T10:00:00Z"));
        for text in [
            "2026-12-14 10:00:00 UTC",
            "2026-12-14 10:00:00 +0000",
            "2026-12-14 12:00:00 +0200",
            "2026-12-14 03:00:00 -0700",
            " 2026-12-14 10:00:00 UTC ",
        ] {
            assert_eq!(parse_expiry(text), want, "{text:?}");
        }
        for text in ["", "never", "2026-12-14", "2026-13-14 10:00:00 UTC", "2026-12-14 10:00:00"] {
            assert_eq!(parse_expiry(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_token_is_warned_of_in_its_last_fortnight() {
        let expires = time("2026-12-14T10:00:00Z");
        let warned =
            |now: &str| expiry_warning(expires, time(now)).map(|warning| warning.days_left);
        assert_eq!(warned("2026-11-30T09:00:00Z"), None);
        assert_eq!(warned("2026-11-30T10:00:00Z"), None);
        assert_eq!(warned("2026-11-30T10:00:01Z"), Some(13));
        assert_eq!(warned("2026-12-14T09:59:59Z"), Some(0));
        assert_eq!(warned("2026-12-14T10:00:01Z"), Some(-1));
    }

    #[test]
    fn the_warning_says_when_and_what_to_do() {
        let said = |now: &str| {
            expiry_warning(time("2026-12-14T10:00:00Z"), time(now)).unwrap().to_string()
        };
        insta::assert_snapshot!(said("2026-12-05T09:00:00Z"), @"the token expires in 9 days, on 2026-12-14 10:00 UTC; make a new one and store it in the secret");
        insta::assert_snapshot!(said("2026-12-13T09:00:00Z"), @"the token expires in 1 day, on 2026-12-14 10:00 UTC; make a new one and store it in the secret");
        insta::assert_snapshot!(said("2026-12-14T09:00:00Z"), @"the token expires in less than a day, on 2026-12-14 10:00 UTC; make a new one and store it in the secret");
        insta::assert_snapshot!(said("2026-12-20T09:00:00Z"), @"the token expired on 2026-12-14 10:00 UTC; make a new one and store it in the secret");
    }
}
