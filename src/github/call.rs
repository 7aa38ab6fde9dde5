//! One call to GitHub's API, and what its answer means.

use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};
use jiff::Timestamp;
use serde::Deserialize;

use super::retry::{Repeat, Trouble};

/// What GitHub gives unless it is asked for something else.
const JSON: &str = "application/vnd.github+json";
/// A file's own bytes.
const RAW: &str = "application/vnd.github.raw+json";

/// A request, ready to be sent as often as needed.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) method: Method,
    /// Path and query below the API's base.
    pub(super) target: String,
    pub(super) body: Option<serde_json::Value>,
    /// The form of the answer.
    pub(super) accept: &'static str,
    /// What it does, for messages: `read the repository o/n`.
    pub(super) doing: String,
    repeat: Repeat,
}

impl Call {
    /// A GET of a path whose segments are encoded here.
    pub(super) fn get(segments: &[&str], query: &[(&str, &str)], doing: String) -> Self {
        let target = target(segments, query);
        Self {
            method: Method::GET,
            target,
            body: None,
            accept: JSON,
            doing,
            repeat: Repeat::Freely,
        }
    }

    /// A GET of a file as it is.
    pub(super) fn get_raw(segments: &[&str], query: &[(&str, &str)], doing: String) -> Self {
        Self { accept: RAW, ..Self::get(segments, query, doing) }
    }

    /// A POST, which is never sent twice unless the first was certainly not acted upon.
    pub(super) fn post(segments: &[&str], body: serde_json::Value, doing: String) -> Self {
        Self::with_body(Method::POST, segments, body, doing, Repeat::IfNotDone)
    }

    /// A POST after which a second one changes nothing.
    pub(super) fn post_again(segments: &[&str], body: serde_json::Value, doing: String) -> Self {
        Self::with_body(Method::POST, segments, body, doing, Repeat::Freely)
    }

    /// A PATCH.
    pub(super) fn patch(segments: &[&str], body: serde_json::Value, doing: String) -> Self {
        Self::with_body(Method::PATCH, segments, body, doing, Repeat::Freely)
    }

    fn with_body(
        method: Method,
        segments: &[&str],
        body: serde_json::Value,
        doing: String,
        repeat: Repeat,
    ) -> Self {
        let target = target(segments, &[]);
        Self { method, target, body: Some(body), accept: JSON, doing, repeat }
    }

    pub(super) fn repeat(&self) -> Repeat {
        self.repeat
    }
}

/// Joins segments and query, each encoded.
fn target(segments: &[&str], query: &[(&str, &str)]) -> String {
    let Ok(mut url) = reqwest::Url::parse("http://api/") else { return "/".to_owned() };
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

/// A whole answer.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// A header as text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok().map(str::trim).filter(|text| !text.is_empty())
    }

    /// What GitHub says is wrong: its `message` and the `errors` under it; else nothing.
    pub(super) fn complaint(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Body {
            message: Option<String>,
            errors: Option<Vec<serde_json::Value>>,
        }
        let body: Body = serde_json::from_slice(&self.body).ok()?;
        let mut said = body.message?;
        for error in body.errors.iter().flatten().take(5) {
            let text = error.as_str().or_else(|| error.get("message")?.as_str());
            said.push_str(": ");
            said.push_str(&text.map_or_else(|| error.to_string(), str::to_owned));
        }
        Some(said)
    }

    /// Sorts it for the retry rules; `None` when it is no trouble. `now` is this machine's time,
    /// which the answer's own date overrules: the two clocks need not agree.
    pub(super) fn trouble(&self, now: Timestamp) -> Option<Trouble> {
        if self.status.is_success() {
            return None;
        }
        if self.is_rate_limit() {
            return Some(Trouble::Limited(self.wait(now)));
        }
        let worth_it = self.status.is_server_error() && self.status != StatusCode::NOT_IMPLEMENTED;
        Some(if worth_it { Trouble::Server(self.retry_after(now)) } else { Trouble::Final })
    }

    fn is_rate_limit(&self) -> bool {
        match self.status {
            StatusCode::TOO_MANY_REQUESTS => true,
            StatusCode::FORBIDDEN => {
                self.headers.contains_key("retry-after")
                    || self.used_up()
                    || self
                        .complaint()
                        .is_some_and(|said| said.to_lowercase().contains("rate limit"))
            }
            _ => false,
        }
    }

    fn used_up(&self) -> bool {
        self.header("x-ratelimit-remaining") == Some("0")
    }

    /// `retry-after`; else the reset of a limit that is used up.
    fn wait(&self, now: Timestamp) -> Option<Duration> {
        let reset = || {
            let at: i64 = self.header("x-ratelimit-reset")?.parse().ok()?;
            let wait = at.saturating_sub(self.date().unwrap_or(now).as_second());
            // The limit is open again a moment after the second it names.
            Some(Duration::from_secs(u64::try_from(wait).unwrap_or(0).saturating_add(1)))
        };
        self.retry_after(now).or_else(|| if self.used_up() { reset() } else { None })
    }

    fn retry_after(&self, now: Timestamp) -> Option<Duration> {
        let text = self.header("retry-after")?;
        if let Ok(seconds) = text.parse() {
            return Some(Duration::from_secs(seconds));
        }
        let at = http_date(text)?.as_second();
        let wait = at.saturating_sub(self.date().unwrap_or(now).as_second());
        Some(Duration::from_secs(u64::try_from(wait).unwrap_or(0)))
    }

    fn date(&self) -> Option<Timestamp> {
        http_date(self.header("date")?)
    }
}

fn http_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(text).ok().map(|time| time.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(
                http::HeaderName::from_bytes(name.as_bytes()).unwrap(),
                value.parse().unwrap(),
            );
        }
        let status = StatusCode::from_u16(status).unwrap();
        Answer { status, headers: map, body: body.as_bytes().to_vec() }
    }

    fn limited(seconds: u64) -> Trouble {
        Trouble::Limited(Some(Duration::from_secs(seconds)))
    }

    #[test]
    fn answers_are_sorted() {
        // 1,000 s after the epoch.
        let now = Timestamp::from_second(1_000).unwrap();
        let used_up = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1060")];
        let secondary = r#"{"message": "You have exceeded a secondary rate limit."}"#;
        let skewed = [used_up[0], used_up[1], ("date", "Thu, 01 Jan 1970 00:17:00 GMT")];
        for (status, headers, body, want) in [
            (200, &[][..], "", None),
            (204, &[], "", None),
            (403, &[], r#"{"message": "Resource not accessible"}"#, Some(Trouble::Final)),
            (403, &used_up, "", Some(limited(61))),
            (403, &skewed, "", Some(limited(41))),
            (429, &used_up, "", Some(limited(61))),
            (403, &[("retry-after", "30"), used_up[0], used_up[1]], "", Some(limited(30))),
            (429, &[("retry-after", "Thu, 01 Jan 1970 00:17:00 GMT")], "", Some(limited(20))),
            (403, &[], secondary, Some(Trouble::Limited(None))),
            (403, &used_up[1..], secondary, Some(Trouble::Limited(None))),
            (429, &[("retry-after", "soon")], "", Some(Trouble::Limited(None))),
            (404, &used_up, "", Some(Trouble::Final)),
            (422, &[], "", Some(Trouble::Final)),
            (500, &[], "", Some(Trouble::Server(None))),
            (501, &[], "", Some(Trouble::Final)),
            (503, &[("retry-after", "9")], "", Some(Trouble::Server(Some(Duration::from_secs(9))))),
            (304, &[], "", Some(Trouble::Final)),
        ] {
            assert_eq!(answer(status, headers, body).trouble(now), want, "{status} {headers:?}");
        }
    }

    #[test]
    fn a_complaint_is_what_github_says() {
        for (body, want) in [
            ("", None),
            ("<html>", None),
            ("{}", None),
            (r#"{"message": "Bad credentials"}"#, Some("Bad credentials")),
            (
                r#"{"message": "Failed", "errors": ["one", {"message": "two"}, {"code": 3}]}"#,
                Some(r#"Failed: one: two: {"code":3}"#),
            ),
        ] {
            assert_eq!(answer(422, &[], body).complaint().as_deref(), want, "{body}");
        }
    }

    #[test]
    fn segments_and_query_are_encoded() {
        assert_eq!(target(&["repos", "o", "n"], &[]), "/repos/o/n");
        assert_eq!(
            target(&["repos", "o", "n", "compare", "main...feature/a b#1?x"], &[("per_page", "1")]),
            "/repos/o/n/compare/main...feature%2Fa%20b%231%3Fx?per_page=1"
        );
    }
}
