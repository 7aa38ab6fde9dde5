//! Where results go, what opens it, and what GitHub knows of it.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::Edge;
use super::access::{self, AppAccess};
use super::args::Target as TargetArgs;
use super::failure::{ExitCode, Failure};
use crate::actions::{self, Actions};
use crate::analysis::verdict::Judging;
use crate::app::ancestry::Ancestry;
use crate::app::hub::{Slug, SourceVisibility};
use crate::app::publish::{Options, Pages};
use crate::app::verdict;
use crate::app::watch::Watch;
use crate::config::{Config, Target as Configured, scalar};
use crate::github::{AppError, Client, Hosts, Patience, RealPause, Settings, Token};
use crate::model::secret::Secret;
use crate::model::status::Identity;
use crate::record::Repository;
use crate::results::address::Address;
use crate::results::remote::{Connection, Credential};
use crate::results::{Target, check_branch};
use crate::source::git;

/// Where results go on a laptop when nobody says otherwise.
const LOCAL: &str = "perftrail-results";
/// How long publishing is tried, unless another time is asked for.
const PUBLISH_TIMEOUT: Duration = Duration::from_mins(15);

/// A push may take this long: an App's token that ends before is not used.
const TOKEN_LEFT: Duration = Duration::from_mins(30);

/// A results repository, its branch, and how to get there.
#[derive(Debug)]
pub(super) struct Destination {
    /// Where it is.
    pub(super) to: Target,
    /// The branch that holds the runs.
    pub(super) branch: String,
    /// How long publishing is tried.
    pub(super) timeout: Duration,
    /// Its side at GitHub, where it lies there and a token is at hand.
    pub(super) hub: Option<Hub>,
    /// The App that opens it.
    app: Option<AppAccess>,
    /// When the App's token ends, an hour after it was made.
    until: Option<Timestamp>,
    /// The configuration of the project.
    config: Config,
    /// Tells how measured commits lie to each other.
    ancestry: Ancestry,
}

/// The results repository as GitHub's API knows it.
#[derive(Debug)]
pub(super) struct Hub {
    /// Its name there.
    pub(super) results: Slug,
    /// The measured project.
    pub(super) source: SourceVisibility,
    /// Whether its token is made for this alone, so that its end is nobody's worry.
    pub(super) is_fresh: bool,
    settings: Settings,
}

impl Hub {
    /// A client that may ask about it.
    pub(super) fn client(&self) -> Result<Client, Failure> {
        Client::new(self.settings.clone(), RealPause::new())
            .map_err(|error| Failure::new(ExitCode::NotPublished, &error))
    }
}

impl Destination {
    /// How to publish there.
    pub(super) fn options(&self, identity: Identity, edge: &Edge) -> Options {
        Options {
            to: self.to.clone(),
            branch: self.branch.clone(),
            rules: self.config.results.clone(),
            trusted: true,
            identity,
            awaited: None,
            now: edge.clock.now(),
            pages: Pages::default(),
            judging: self.judging(),
            ancestry: self.ancestry.clone(),
        }
    }

    /// Tells how measured commits lie to each other.
    pub(super) fn ancestry(&self) -> &Ancestry {
        &self.ancestry
    }

    /// How the configuration judges runs.
    pub(super) fn judging(&self) -> Judging {
        verdict::judging(&self.config)
    }

    /// Gets a fresh token, where an App opens the repository and the one at hand ends soon.
    pub(super) fn renew(&mut self, edge: &Edge) -> Result<(), AppError> {
        let Some(app) = &self.app else { return Ok(()) };
        let lives_on = |until: Timestamp| {
            edge.clock.now().checked_add(TOKEN_LEFT).is_ok_and(|soon| until > soon)
        };
        if self.until.is_some_and(lives_on) {
            return Ok(());
        }
        let given = app.token(edge)?;
        self.until = Some(given.expires);
        if let Target::Remote(connection) = &mut self.to
            && let Some(token) = Secret::new(given.token.expose())
        {
            connection.credential = Credential::Token(token);
        }
        if let Some(hub) = &mut self.hub {
            hub.settings.token = Some(given.token);
            hub.is_fresh = true;
        }
        Ok(())
    }

    /// What the configuration says of publishing.
    pub(super) fn rules(&self) -> &crate::config::Results {
        &self.config.results
    }
}

/// What came of looking for a place.
#[derive(Debug)]
pub(super) enum Found {
    /// Results go there.
    There(Box<Destination>),
    /// Somebody said `none`.
    Nowhere,
    /// In Actions nobody named one, and there is no default.
    NotNamed,
}

impl Found {
    /// The place, where there is one.
    pub(super) fn place(self) -> Option<Destination> {
        match self {
            Self::There(destination) => Some(*destination),
            Self::Nowhere | Self::NotNamed => None,
        }
    }
}

/// The flag, else the configuration, else `./perftrail-results`; ready to be used.
pub(super) fn find(edge: &Edge, args: &TargetArgs, config: &Config) -> Result<Found, Failure> {
    let mut found = locate(edge, args, config)?;
    if let Found::There(to) = &mut found {
        to.renew(edge).map_err(|error| no_token(&error))?;
    }
    Ok(found)
}

/// The same for a place that is used after a long run, which renews it then. Trouble that may be
/// over by that time is only warned of.
pub(super) fn find_for_later(
    edge: &Edge,
    args: &TargetArgs,
    config: &Config,
    watch: &dyn Watch,
) -> Result<Found, Failure> {
    let mut found = locate(edge, args, config)?;
    if let Found::There(to) = &mut found {
        match to.renew(edge) {
            Err(error) if error.may_pass() => {
                watch.warn(&format!(
                    "{error}; it is tried again when there is something to publish"
                ));
            }
            other => other.map_err(|error| no_token(&error))?,
        }
    }
    Ok(found)
}

/// Said where an App gets no token.
pub(super) fn no_token(error: &AppError) -> Failure {
    Failure::new(ExitCode::NotPublished, error)
}

fn locate(edge: &Edge, args: &TargetArgs, config: &Config) -> Result<Found, Failure> {
    let texts = texts(edge);
    let actions = Actions::from_variables(&texts);
    let place = match (&args.to, &config.results.repository) {
        (Some(place), _) | (None, Some(Configured::At(place))) => place.clone(),
        (None, Some(Configured::Nowhere)) => return Ok(Found::Nowhere),
        (None, None) if actions.is_some() => return Ok(Found::NotNamed),
        (None, None) => LOCAL.to_owned(),
    };
    if place == "none" {
        return Ok(Found::Nowhere);
    }
    let hosts =
        Hosts::from_variables(&texts).map_err(|error| Failure::new(ExitCode::Usage, &error))?;
    let address = Address::parse(&place, hosts.server())
        .map_err(|error| Failure::new(ExitCode::Usage, &error))?;
    let timeout = timeout(args)?;
    let (to, hub, app) = match address {
        Address::Path(path) => (Target::Local(edge.folder.join(path)), None, None),
        Address::Url(url) => {
            let app = access::app(&texts, &url)?;
            let hub = hub(edge, &texts, actions.as_ref(), &url, app.is_some())?;
            let credential = access::credential(&texts);
            let mut connection = Connection::new(url, credential, edge.variables.iter().cloned());
            connection.timeout = connection.timeout.min(timeout);
            (Target::Remote(connection), hub, app)
        }
    };
    let branch = args.branch.clone().unwrap_or_else(|| config.results.branch.clone());
    check_branch(&branch).map_err(|error| Failure::new(ExitCode::Usage, &error))?;
    let ancestry = Ancestry::new(Some(edge.folder.clone()), asking(&texts))
        .cleaned_by(crate::app::run::redactor(&edge.variables));
    let config = config.clone();
    let until = None;
    Ok(Found::There(Box::new(Destination {
        to,
        branch,
        timeout,
        hub,
        app,
        until,
        config,
        ancestry,
    })))
}

/// How GitHub is asked about commits of the measured project: by the token that may read it, else
/// by that of the results; without any it is not asked.
fn asking(texts: &BTreeMap<String, String>) -> Option<Settings> {
    let of_results = || access::given(texts, "PERFTRAIL_RESULTS_TOKEN");
    let token = access::project_token(texts).or_else(of_results)?;
    let mut settings = Settings::from_variables(texts).ok()?;
    settings.token = Some(Token::new(token).ok()?);
    // Good to know and no more: a run is not kept waiting for it.
    settings.patience = Patience {
        connect: Duration::from_secs(3),
        total: Duration::from_secs(10),
        tries: 1,
        ..settings.patience
    };
    Some(settings)
}

fn timeout(args: &TargetArgs) -> Result<Duration, Failure> {
    args.publish_timeout.as_deref().map_or(Ok(PUBLISH_TIMEOUT), |text| {
        scalar::duration(text).ok_or_else(|| {
            Failure::usage(format!("`{text}` is no time"))
                .with_help("write a number with its unit, such as 90s or 15m")
        })
    })
}

/// The variables that are text.
pub(super) fn texts(edge: &Edge) -> BTreeMap<String, String> {
    edge.variables
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())))
        .collect()
}

fn hub(
    edge: &Edge,
    texts: &BTreeMap<String, String>,
    actions: Option<&Actions>,
    url: &str,
    has_app: bool,
) -> Result<Option<Hub>, Failure> {
    let token = texts.get("PERFTRAIL_RESULTS_TOKEN").filter(|text| !text.trim().is_empty());
    let private = actions.and_then(|_| actions::event_is_private(texts));
    // Whoever comes with a deploy key may still not make a private project's numbers public.
    if token.is_none() && !has_app && private != Some(true) {
        return Ok(None);
    }
    let usage = |error: &dyn std::error::Error| Failure::new(ExitCode::Usage, error);
    let mut settings = Settings::from_variables(texts).map_err(|error| usage(&error))?;
    let Some(results) = Slug::of(url, settings.hosts.server()) else { return Ok(None) };
    settings.token =
        token.map(|token| Token::new(token)).transpose().map_err(|error| usage(&error))?;
    let source = match (actions, private) {
        (_, Some(private)) => SourceVisibility::Known { private },
        (Some(_), None) => SourceVisibility::Unknown,
        (None, None) => asked(&git::describe(&edge.folder).repository, settings.hosts.server()),
    };
    Ok(Some(Hub { results, source, is_fresh: false, settings }))
}

/// The project we are in, where it lies on the same server.
fn asked(repository: &Repository, server: &str) -> SourceVisibility {
    let host = server.split_once("://").map(|(_, host)| host);
    match (&repository.host, &repository.owner, &repository.name) {
        (Some(at), Some(owner), Some(name)) if Some(at.as_str()) == host => {
            SourceVisibility::Ask(Slug { owner: owner.clone(), name: name.clone() })
        }
        _ => SourceVisibility::Unknown,
    }
}
