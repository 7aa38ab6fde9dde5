//! What can go wrong between us and GitHub, each with what to do about it.

use jiff::Timestamp;

/// Why GitHub could not be asked, or did not do what it was asked for. `asked` says what that was,
/// and whom: `read the repository o/n at api.github.com`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An address from the environment cannot be used.
    #[error("{variable} cannot be used: {problem}")]
    Address {
        /// The variable, or what the address is for.
        variable: &'static str,
        /// What is wrong with it.
        problem: AddressProblem,
    },
    /// The HTTP client does not start on this machine.
    #[error(
        "could not start the HTTP client: {detail}; are CA certificates installed \
         (package ca-certificates, or SSL_CERT_FILE)?"
    )]
    Start {
        /// The client's own words.
        detail: String,
    },
    /// An owner, a repository or a ref that GitHub cannot have.
    #[error("{text:?} is no {what} that GitHub can have")]
    Name {
        /// What it should be.
        what: &'static str,
        /// What it is.
        text: String,
    },
    /// A `repository_dispatch` beyond GitHub's limits; it was not sent.
    #[error("could not send the repository_dispatch: {problem}")]
    Dispatch {
        /// The limit.
        problem: DispatchProblem,
    },
    /// 401.
    #[error(
        "could not {asked}: {}",
        if *.token { "GitHub does not accept the token: it is wrong, revoked or expired; make a new one and store it in the secret" }
        else { "GitHub wants a token and none was given; set one" }
    )]
    Unauthorized {
        /// What was asked.
        asked: String,
        /// Whether a token was sent.
        token: bool,
    },
    /// 403 that is no rate limit.
    #[error("could not {asked}: GitHub does not allow it: {message}{}", forbidden_help(.needed.as_deref(), .sso.as_deref()))]
    Forbidden {
        /// What was asked.
        asked: String,
        /// GitHub's words.
        message: String,
        /// The permission that would do, as GitHub names it (`contents=write`); `None` where it
        /// does not say.
        needed: Option<String>,
        /// Where the owner of the token lets it pass the organisation's single sign-on; `None`
        /// where that is not the reason.
        sso: Option<String>,
    },
    /// 404. GitHub gives the same answer for what is not there and what a token may not see.
    #[error(
        "could not {asked}: GitHub does not know it, or the token may not see it; \
         check the name, and that the token was given access to that repository"
    )]
    NotFound {
        /// What was asked.
        asked: String,
    },
    /// GitHub asks to wait for longer than there is time.
    #[error(
        "could not {asked}: GitHub asks to wait until {}, its rate limit is used up; \
         try again after that, or with a token that has a limit of its own",
        clock(*.until)
    )]
    RateLimited {
        /// What was asked.
        asked: String,
        /// When it may be asked again.
        until: Timestamp,
    },
    /// 5xx, to the last try.
    #[error(
        "could not {asked}: GitHub is in trouble, it answered {status} ({}); \
         try again later{}{}",
        times(*.tries), status_page(.asked), look(*.unsure)
    )]
    Server {
        /// What was asked.
        asked: String,
        /// The HTTP status.
        status: u16,
        /// How often it was tried.
        tries: u32,
        /// Whether it may have been done all the same.
        unsure: bool,
    },
    /// No whole answer came.
    #[error("could not {asked}: {kind} ({detail}; {}); {}{}", times(*.tries), .kind.help(), look(*.unsure))]
    Network {
        /// What was asked.
        asked: String,
        /// Where on the way it failed.
        kind: NetworkKind,
        /// The innermost cause in the library's words, without addresses.
        detail: String,
        /// How often it was tried.
        tries: u32,
        /// Whether it may have been done all the same.
        unsure: bool,
    },
    /// Any other refusal, such as 422.
    #[error("could not {asked}: GitHub refused it with {status}: {message}")]
    Refused {
        /// What was asked.
        asked: String,
        /// The HTTP status.
        status: u16,
        /// GitHub's words.
        message: String,
    },
    /// An answer that is not what GitHub's API describes.
    #[error(
        "could not {asked}: the answer is not GitHub's ({detail}); \
         is a proxy or a login page in between, and is GITHUB_API_URL right?{}",
        look(*.unsure)
    )]
    Unexpected {
        /// What was asked.
        asked: String,
        /// What is wrong with it.
        detail: String,
        /// Whether it may have been done all the same.
        unsure: bool,
    },
}

impl Error {
    /// Whether GitHub may have done what was asked although no word of it came: to be looked at
    /// before it is asked for again.
    pub fn unsure(&self) -> bool {
        match self {
            Self::Server { unsure, .. }
            | Self::Network { unsure, .. }
            | Self::Unexpected { unsure, .. } => *unsure,
            _ => false,
        }
    }
}

/// What is wrong with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressProblem {
    /// It does not parse.
    #[error("it is no address; write it like https://github.example.org")]
    NoAddress,
    /// Another protocol.
    #[error("its scheme is neither https nor http")]
    Scheme,
    /// A name or a password in it.
    #[error("it holds a user name or a password; give the token by itself")]
    Credentials,
    /// A query or a fragment in it.
    #[error("it holds a query or a fragment; cut it off from the `?` or `#` on")]
    Query,
}

/// A limit that GitHub sets to a `repository_dispatch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DispatchProblem {
    /// No event type, or too long a one.
    #[error("its event type has {characters} characters; GitHub takes 1 to 100")]
    EventType {
        /// How many it has.
        characters: usize,
    },
    /// Too many keys.
    #[error("its payload has {keys} top-level keys; GitHub takes 10")]
    Keys {
        /// How many it has.
        keys: usize,
    },
    /// Too long.
    #[error("its payload has {characters} characters as JSON; GitHub takes 65,535")]
    Length {
        /// How many it has.
        characters: usize,
    },
}

/// Where on the way to GitHub it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NetworkKind {
    /// The name has no address.
    #[error("the name of the server was not found")]
    Dns,
    /// Nothing listens there.
    #[error("nothing listens at the server's address")]
    Refused,
    /// No way to it.
    #[error("the server was not reached")]
    Unreachable,
    /// The connection is not trusted, or is no TLS.
    #[error("the encrypted connection failed")]
    Tls,
    /// No answer in time.
    #[error("no answer came in time")]
    Timeout,
    /// The connection ended before the answer did.
    #[error("the connection was cut")]
    Cut,
    /// The proxy did not let us through.
    #[error("the proxy refused the connection")]
    Proxy,
}

impl NetworkKind {
    fn help(self) -> &'static str {
        match self {
            Self::Dns => "check GITHUB_API_URL and the network of this machine",
            Self::Refused | Self::Unreachable => {
                "check GITHUB_API_URL, and whether HTTPS_PROXY is needed here"
            }
            Self::Tls => "where the server has a private CA, name its certificate in SSL_CERT_FILE",
            Self::Timeout | Self::Cut => "try again later",
            Self::Proxy => "check HTTPS_PROXY, its user and password, and NO_PROXY",
        }
    }
}

/// A moment as messages tell it: `12:03 UTC on 2026-12-14`.
pub(super) fn clock(time: Timestamp) -> String {
    time.strftime("%H:%M UTC on %Y-%m-%d").to_string()
}

fn times(tries: u32) -> String {
    match tries {
        1 => "tried once".to_owned(),
        2 => "tried twice".to_owned(),
        more => format!("tried {more} times"),
    }
}

fn status_page(asked: &str) -> &'static str {
    if asked.ends_with(" api.github.com") {
        ", https://www.githubstatus.com tells how it is"
    } else {
        ""
    }
}

fn look(unsure: bool) -> &'static str {
    if unsure { "; it may have been done all the same: look before doing it again" } else { "" }
}

fn forbidden_help(needed: Option<&str>, sso: Option<&str>) -> String {
    match (needed, sso) {
        (_, Some(address)) => format!("; let the token pass single sign-on at {address}"),
        (Some(needed), None) => format!("; the token needs the permission {needed}"),
        (None, None) => "; give the token the permission it needs".to_owned(),
    }
}
