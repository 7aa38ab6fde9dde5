//! What it means when no whole answer came.

use std::error::Error as StdError;
use std::io;

use super::error::NetworkKind;
use super::retry::Trouble;

/// One try that got no whole answer.
#[derive(Clone, Debug)]
pub(super) struct NoAnswer {
    pub(super) kind: NetworkKind,
    /// The innermost cause in the library's words.
    pub(super) detail: String,
    /// Whether the request may have arrived.
    pub(super) sent: bool,
}

impl NoAnswer {
    /// Sorts what the libraries say.
    pub(super) fn of(error: &(dyn StdError + 'static)) -> Self {
        let detail = innermost(error);
        let http = causes(error).find_map(|cause| cause.downcast_ref::<reqwest::Error>());
        let io = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
        let io = io.map(io::Error::kind).last();
        let connecting = http.is_some_and(reqwest::Error::is_connect);
        let tunnel = causes(error).any(|cause| cause.to_string().starts_with("tunnel error"));
        let kind = if tunnel {
            NetworkKind::Proxy
        } else if http.is_some_and(reqwest::Error::is_dns) {
            NetworkKind::Dns
        } else if http.is_some_and(reqwest::Error::is_timeout) {
            NetworkKind::Timeout
        } else {
            match io {
                Some(io::ErrorKind::ConnectionRefused) => NetworkKind::Refused,
                Some(io::ErrorKind::InvalidData) => NetworkKind::Tls,
                Some(io::ErrorKind::TimedOut) => NetworkKind::Timeout,
                _ if connecting => NetworkKind::Unreachable,
                _ => NetworkKind::Cut,
            }
        };
        Self { kind, detail, sent: !connecting }
    }

    pub(super) fn trouble(&self) -> Trouble {
        match (self.sent, self.kind) {
            (true, _) => Trouble::NoAnswer,
            // A certificate that is not trusted now is not trusted in a minute, and a proxy may
            // lock out who comes with a wrong password again and again.
            (false, NetworkKind::Tls) => Trouble::Final,
            (false, NetworkKind::Proxy) if self.detail.contains("authorization") => Trouble::Final,
            (false, _) => Trouble::NotSent,
        }
    }
}

/// An error and what caused it, outermost first.
fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| match error.downcast_ref::<io::Error>() {
        // Its `source` leaves out what it holds.
        Some(io) => io.get_ref().map(|held| held as &(dyn StdError + 'static)),
        None => error.source(),
    })
}

/// The innermost cause in words: the outer ones repeat addresses.
pub(super) fn innermost(error: &(dyn StdError + 'static)) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}
