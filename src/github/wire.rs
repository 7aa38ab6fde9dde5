//! The connection: sends a call, waits and sends it again as the rules of `retry` say.

use std::error::Error as StdError;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, LOCATION};
use http_body_util::{BodyExt, Limited};
use jiff::Timestamp;
use octocrab::service::middleware::base_uri::BaseUriLayer;
use octocrab::service::middleware::reqwest_connector::ReqwestConnector;
use octocrab::{AuthState, Octocrab, OctocrabBuilder};
use serde::de::DeserializeOwned;

use super::call::{Answer, Call};
use super::error::{Error, NetworkKind, clock};
use super::failure::{NoAnswer, innermost};
use super::hosts::{Hosts, Proxies};
use super::pause::Pause;
use super::retry::{self, Next, Patience, Repeat, SoFar, Trouble};
use super::token::{SeenExpiry, Token};
use crate::record::redact::Redactor;

/// The version of the API whose answers our models read.
const API_VERSION: &str = "2022-11-28";
/// Bodies beyond this are not GitHub's.
const LONGEST_BODY: usize = 32 << 20;
/// What is kept of a text that GitHub or a library says.
const LONGEST_SAID: usize = 400;
/// Renamed repositories are one redirect away.
const MOST_REDIRECTS: u32 = 3;

/// Sends calls, one at a time.
pub(super) struct Wire {
    runtime: tokio::runtime::Runtime,
    octocrab: Octocrab,
    api: String,
    host: String,
    token: Option<Token>,
    patience: Patience,
    pause: Box<dyn Pause>,
    expiry: Mutex<SeenExpiry>,
}

/// How one try ended.
enum Try {
    Answered(Answer),
    Failed(NoAnswer),
    /// An answer that cannot be GitHub's, and whether it may be about something done.
    Strange {
        detail: String,
        done: bool,
    },
}

impl Wire {
    pub(super) fn new(
        hosts: &Hosts,
        proxies: &Proxies,
        token: Option<Token>,
        patience: Patience,
        pause: Box<dyn Pause>,
    ) -> Result<Self, Error> {
        let start = |error: &(dyn StdError + 'static)| Error::Start { detail: innermost(error) };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| start(&error))?;
        let http = reqwest::Client::builder()
            .user_agent(concat!("perftrail/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers(token.as_ref()).map_err(|error| start(&error))?)
            .connect_timeout(patience.connect)
            .read_timeout(patience.read)
            // Nobody looks after an idle connection: the next call might only find out by being
            // cut off that the server has closed it.
            .pool_max_idle_per_host(0)
            // Redirects are followed here, where the token can be kept from other hosts; and no
            // library may send anything twice.
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never());
        let http = proxies.apply(http)?.build().map_err(|error| start(&error))?;
        let base = hosts.api().parse().map_err(|error: http::uri::InvalidUri| start(&error))?;
        // The client starts a task of its own, which needs to know the runtime.
        let guard = runtime.enter();
        let Ok(octocrab) = OctocrabBuilder::new_empty()
            .with_service(ReqwestConnector::new(http))
            .with_layer(&BaseUriLayer::new(base))
            .with_auth(AuthState::None)
            .build();
        drop(guard);
        let (api, host) = (hosts.api().to_owned(), hosts.api_host());
        Ok(Self { runtime, octocrab, api, host, token, patience, pause, expiry: Mutex::default() })
    }

    /// Sends a call, again where that is right, and gives the answer of success.
    pub(super) fn ask(&self, call: &Call) -> Result<Answer, Error> {
        let start = self.pause.now();
        let mut so_far = SoFar { troubles: 0, limits: 0, spent: Duration::ZERO };
        loop {
            let left = self.patience.total.saturating_sub(so_far.spent);
            let ended = self.attempt(call, left.min(self.patience.attempt));
            let now = self.pause.now();
            so_far.spent = Duration::try_from(now.duration_since(start)).unwrap_or_default();
            let trouble = match &ended {
                Try::Answered(answer) => answer.trouble(now),
                Try::Failed(failure) => Some(failure.trouble()),
                Try::Strange { .. } => Some(Trouble::Final),
            };
            let (trouble, ended) = match (trouble, ended) {
                (None, Try::Answered(answer)) => return Ok(answer),
                (trouble, ended) => (trouble.unwrap_or(Trouble::Final), ended),
            };
            match trouble {
                Trouble::Limited(_) => so_far.limits += 1,
                _ => so_far.troubles += 1,
            }
            let fraction = self.pause.fraction();
            match retry::next(trouble, call.repeat(), so_far, &self.patience, fraction) {
                Next::After(wait) => {
                    self.tell(&ended, trouble, now, wait);
                    self.pause.sleep(wait);
                    so_far.spent = so_far.spent.saturating_add(wait);
                }
                Next::GiveUp(wait) => return Err(self.error(call, ended, so_far, now, wait)),
            }
        }
    }

    /// Sends a call as [`Wire::ask`] does, and reads the answer.
    pub(super) fn ask_for<T: DeserializeOwned>(&self, call: &Call) -> Result<T, Error> {
        let answer = self.ask(call)?;
        serde_json::from_slice(&answer.body).map_err(|error| Error::Unexpected {
            asked: self.asked(call),
            // The parser repeats what it has read.
            detail: self.clean(&error.to_string()),
            unsure: call.repeat() == Repeat::IfNotDone,
        })
    }

    /// Whether there is a token.
    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// What the answers so far told about the token's end.
    pub(super) fn seen_expiry(&self) -> SeenExpiry {
        *self.expiry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a call asks, and whom.
    fn asked(&self, call: &Call) -> String {
        format!("{} at {}", call.doing, self.host)
    }

    fn attempt(&self, call: &Call, longest: Duration) -> Try {
        let followed = async { tokio::time::timeout(longest, self.follow(call)).await };
        match self.runtime.block_on(followed) {
            Ok(Ok(answer)) => Try::Answered(answer),
            Ok(Err(ended)) => ended,
            Err(_) => {
                let detail = format!("after {} s", longest.as_secs_f64());
                Try::Failed(NoAnswer { kind: NetworkKind::Timeout, detail, sent: true })
            }
        }
    }

    /// Sends a call to where it is redirected. A redirect tells that nothing was done.
    async fn follow(&self, call: &Call) -> Result<Answer, Try> {
        let mut target = call.target.clone();
        for _ in 0..=MOST_REDIRECTS {
            let answer = self.send(call, &target).await?;
            let status = answer.status.as_u16();
            tracing::debug!(method = %call.method, target, status, "GitHub answered");
            if !answer.status.is_server_error() {
                let header = answer.header("github-authentication-token-expiration");
                let mut expiry = self.expiry.lock().unwrap_or_else(PoisonError::into_inner);
                *expiry = expiry.and(header);
            }
            if !matches!(status, 301 | 302 | 307 | 308) {
                return Ok(answer);
            }
            match self.below_api(answer.header(LOCATION.as_str())) {
                Some(moved) => target = moved,
                None => break,
            }
        }
        Err(Try::Strange { detail: "it redirects to somewhere else".to_owned(), done: false })
    }

    async fn send(&self, call: &Call, target: &str) -> Result<Answer, Try> {
        let request = http::Request::builder()
            .method(call.method.clone())
            .uri(target)
            .header(ACCEPT, call.accept);
        let request = self
            .octocrab
            .build_request(request, call.body.as_ref())
            .map_err(|error| Try::Strange { detail: innermost(&error), done: false })?;
        let response = self
            .octocrab
            .execute(request)
            .await
            .map_err(|error| Try::Failed(NoAnswer::of(&error)))?;
        let (parts, body) = response.into_parts();
        match Limited::new(body, LONGEST_BODY).collect().await {
            Ok(body) => {
                let body = body.to_bytes().to_vec();
                Ok(Answer { status: parts.status, headers: parts.headers, body })
            }
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                Err(Try::Strange { detail: "it is too long".to_owned(), done: true })
            }
            Err(error) => Err(Try::Failed(NoAnswer::of(error.as_ref()))),
        }
    }

    /// The target of a redirect, when it stays below the API's base: the token goes nowhere else.
    fn below_api(&self, location: Option<&str>) -> Option<String> {
        let target = location?.strip_prefix(&self.api)?;
        target.starts_with('/').then(|| target.to_owned())
    }

    fn tell(&self, ended: &Try, trouble: Trouble, now: Timestamp, wait: Duration) {
        let seconds = wait.as_secs_f64();
        match (trouble, ended) {
            (Trouble::Limited(_), _) => {
                let until = clock(later(now, wait));
                tracing::warn!("GitHub asks to wait until {until}; waiting {seconds:.0} s");
            }
            (_, Try::Answered(answer)) => {
                let status = answer.status.as_u16();
                tracing::info!("GitHub answered {status}; asking again in {seconds:.0} s");
            }
            (_, Try::Failed(NoAnswer { kind, .. })) => {
                tracing::info!("{}: {kind}; asking again in {seconds:.0} s", self.host);
            }
            (_, Try::Strange { .. }) => {}
        }
    }

    fn error(
        &self,
        call: &Call,
        ended: Try,
        so_far: SoFar,
        now: Timestamp,
        wait: Option<Duration>,
    ) -> Error {
        let asked = self.asked(call);
        let tries = so_far.troubles;
        let unsure = |done_maybe| done_maybe && call.repeat() == Repeat::IfNotDone;
        match ended {
            Try::Failed(NoAnswer { kind, detail, sent }) => {
                let detail = self.clean(&detail);
                Error::Network { asked, kind, detail, tries, unsure: unsure(sent) }
            }
            Try::Strange { detail, done } => {
                Error::Unexpected { asked, detail: self.clean(&detail), unsure: unsure(done) }
            }
            Try::Answered(answer) => {
                if let Some(wait) = wait {
                    return Error::RateLimited { asked, until: later(now, wait) };
                }
                if matches!(answer.trouble(now), Some(Trouble::Server(_))) {
                    let status = answer.status.as_u16();
                    return Error::Server { asked, status, tries, unsure: unsure(true) };
                }
                self.refusal(asked, &answer)
            }
        }
    }

    fn refusal(&self, asked: String, answer: &Answer) -> Error {
        let status = answer.status.as_u16();
        let header = |name| answer.header(name).map(|text| self.clean(text));
        let complaint = answer.complaint().map(|said| self.clean(&said));
        match (status, complaint) {
            (401, _) => Error::Unauthorized { asked, token: self.token.is_some() },
            (404, _) => Error::NotFound { asked },
            (403, Some(message)) => Error::Forbidden {
                asked,
                message,
                needed: header("x-accepted-github-permissions")
                    .or_else(|| header("x-accepted-oauth-scopes")),
                sso: header("x-github-sso")
                    .and_then(|text| Some(text.split_once("url=")?.1.to_owned())),
            },
            (_, Some(message)) => Error::Refused { asked, status, message },
            (_, None) => Error::Unexpected {
                asked,
                detail: format!("status {status} without GitHub's words"),
                unsure: false,
            },
        }
    }

    /// Makes a text of others fit to be shown: short, one line, without the token.
    fn clean(&self, text: &str) -> String {
        let token = self.token.as_ref().map(Token::expose);
        let text = match token {
            Some(token) => text.replace(token, crate::record::redact::REPLACEMENT),
            None => text.to_owned(),
        };
        let text = Redactor::new(token).text(&text);
        text.chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .take(LONGEST_SAID)
            .collect::<String>()
            .trim()
            .to_owned()
    }
}

fn later(now: Timestamp, wait: Duration) -> Timestamp {
    now.checked_add(wait).unwrap_or(Timestamp::MAX)
}

/// What goes with every request. The token's header is marked, so that no log shows it.
fn headers(token: Option<&Token>) -> Result<HeaderMap, http::header::InvalidHeaderValue> {
    let mut headers = HeaderMap::new();
    let version = HeaderName::from_static("x-github-api-version");
    headers.insert(version, HeaderValue::from_static(API_VERSION));
    if let Some(token) = token {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose()))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}
