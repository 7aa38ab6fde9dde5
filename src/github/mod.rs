//! GitHub's REST API: the calls perftrail makes, and no others.
//!
//! A [`Client`] blocks: it has a runtime of its own, which is idle between calls. It must not be
//! used from inside another runtime. It asks again where that is safe: a GET, PATCH, PUT or DELETE
//! after trouble, a POST only when the first was certainly not acted upon; and it waits when
//! GitHub's rate limit asks it to, within [`Patience::total`].
//!
//! Answers are read into our own small types: GitHub Enterprise Server, Gitea and Forgejo leave
//! out fields that GitHub has.

mod app;
mod call;
mod check;
mod contents;
mod conversation;
mod dispatch;
mod error;
mod failure;
mod hosts;
mod in_repository;
mod issue;
mod pause;
mod people;
mod pull_request;
mod repository;
mod retry;
mod status;
mod token;
mod viewer;
mod wire;

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;

pub use app::{App, AppError, AppProblem, AppToken};
pub use check::{Check, Conclusion};
pub use conversation::{COMMENT_MAX, Comment, Reaction};
pub use error::{AddressProblem, DispatchProblem, Error, NetworkKind};
pub use hosts::{Hosts, Proxies};
pub use in_repository::InRepository;
pub use issue::{Issue, IssueChange};
pub use pause::{Pause, RealPause};
pub use pull_request::{ChangedFiles, PullRequest};
pub use repository::{Comparison, Repository, Visibility};
pub use retry::Patience;
pub use status::{Standing, Status, StatusState};
pub use token::{EXPIRY_WARNING_DAYS, ExpiryWarning, Token, TokenProblem, expiry_warning};

use call::Call;
use token::SeenExpiry;
use wire::Wire;

/// What a [`Client`] is made of.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which GitHub.
    pub hosts: Hosts,
    /// The proxies on the way.
    pub proxies: Proxies,
    /// The token; without one only what is public can be read.
    pub token: Option<Token>,
    /// How long and how often to try.
    pub patience: Patience,
}

impl Settings {
    /// Reads the environment: the addresses of `GITHUB_API_URL`, `GITHUB_SERVER_URL` and
    /// `GITHUB_GRAPHQL_URL`, and the proxies. No token yet, and the usual patience.
    ///
    /// # Errors
    /// When an address cannot be used.
    pub fn from_variables(variables: &BTreeMap<String, String>) -> Result<Self, Error> {
        Ok(Self {
            hosts: Hosts::from_variables(variables)?,
            proxies: Proxies::from_variables(variables),
            token: None,
            patience: Patience::default(),
        })
    }
}

/// Asks GitHub.
pub struct Client {
    wire: Wire,
    hosts: Hosts,
}

impl Client {
    /// Makes a client; nothing is sent yet. Give [`RealPause`] outside tests.
    ///
    /// # Errors
    /// When a proxy's address cannot be used, or the HTTP client does not start.
    pub fn new(settings: Settings, pause: impl Pause + 'static) -> Result<Self, Error> {
        let Settings { hosts, proxies, token, patience } = settings;
        let wire = Wire::new(&hosts, &proxies, token, patience, Box::new(pause))?;
        Ok(Self { wire, hosts })
    }

    /// Where it asks.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Whether there is a token; without one only what is public can be read.
    pub fn has_token(&self) -> bool {
        self.wire.has_token()
    }

    /// When the token ends; `None` when it does not, or GitHub does not say. Costs a call only
    /// when none was made before, and that one does not count against the rate limit.
    ///
    /// # Errors
    /// [`Error::Unauthorized`] when it has ended already, and whatever keeps GitHub from answering.
    pub fn token_expiry(&self) -> Result<Option<Timestamp>, Error> {
        if self.wire.seen_expiry() == SeenExpiry::NotAsked {
            match self.wire.ask(&Call::get(&["rate_limit"], &[], "check the token".to_owned())) {
                // Enterprise Server without rate limits answers 404, and has read the token.
                Ok(_) | Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        match self.wire.seen_expiry() {
            SeenExpiry::At(expires) => Ok(Some(expires)),
            SeenExpiry::Unnamed | SeenExpiry::NotAsked => Ok(None),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}
