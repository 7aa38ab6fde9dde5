//! What opens the results repository: a deploy key, a token, or a GitHub App that gets one. And what
//! reads the measured project.

use std::collections::BTreeMap;

use super::Edge;
use super::failure::{ExitCode, Failure};
use crate::app::hub::Slug;
use crate::github::{App, AppError, AppToken, RealPause, Settings};
use crate::model::secret::Secret;
use crate::results::remote::Credential;

/// The variables that may hold a token of the measured project, the first that does counts.
const PROJECT_TOKENS: [&str; 3] = ["PERFTRAIL_GITHUB_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"];

/// An App and the repository that it is to open.
#[derive(Debug)]
pub(super) struct AppAccess {
    app: App,
    results: Slug,
    settings: Settings,
}

/// A key or token that was given to us, else whatever git finds by itself.
pub(super) fn credential(texts: &BTreeMap<String, String>) -> Credential {
    if let Some(key) = secret(texts, "PERFTRAIL_RESULTS_SSH_KEY") {
        let known_hosts = texts.get("PERFTRAIL_SSH_KNOWN_HOSTS").cloned();
        return Credential::SshKey { key, known_hosts };
    }
    match secret(texts, "PERFTRAIL_RESULTS_TOKEN") {
        Some(token) => Credential::Token(token),
        None => Credential::Own,
    }
}

fn secret(texts: &BTreeMap<String, String>, name: &str) -> Option<Secret> {
    texts.get(name).and_then(|text| Secret::new(text))
}

/// The App that opens the repository at `url`; `None` where none is named, or a key or token is
/// given as well.
pub(super) fn app(
    texts: &BTreeMap<String, String>,
    url: &str,
) -> Result<Option<AppAccess>, Failure> {
    if credential(texts) != Credential::Own {
        return Ok(None);
    }
    let (id, key) = ("PERFTRAIL_APP_ID", "PERFTRAIL_APP_PRIVATE_KEY");
    let (id, key) = match (secret(texts, id), secret(texts, key)) {
        (None, None) => return Ok(None),
        (Some(id), Some(key)) => (id, key),
        (Some(_), None) => return Err(lacks("private key", key, "app-private-key")),
        (None, Some(_)) => return Err(lacks("id", id, "app-id")),
    };
    let usage = |error: &dyn std::error::Error| Failure::new(ExitCode::Usage, error);
    let app = App::new(id.expose(), key.expose()).map_err(|error| usage(&error))?;
    let settings = Settings::from_variables(texts).map_err(|error| usage(&error))?;
    let server = settings.hosts.server();
    let is_web = url.starts_with("http");
    let Some(results) = Slug::of(url, server).filter(|_| is_web) else {
        return Err(Failure::usage(format!(
            "a GitHub App opens repositories of {server} by https alone, and the results go to {url}"
        ))
        .with_help("name the results repository as owner/name, or give a key or token instead of the App"));
    };
    Ok(Some(AppAccess { app, results, settings }))
}

fn lacks(what: &str, variable: &str, input: &str) -> Failure {
    Failure::usage(format!("a GitHub App is named without its {what}")).with_help(format!(
        "give both: the input {input} of the Action, or the variable {variable}; is the secret set, and may \
         this workflow read it?"
    ))
}

impl AppAccess {
    /// A fresh token for that repository alone. Where a runner reads along it is masked before
    /// anybody uses it.
    pub(super) fn token(&self, edge: &Edge) -> Result<AppToken, AppError> {
        let Slug { owner, name } = &self.results;
        let given = self.app.token_for(owner, name, &self.settings, RealPause::new())?;
        if edge.masks {
            super::command(&crate::actions::commands::mask(given.token.expose()));
        }
        Ok(given)
    }
}

/// The token that reads the measured project.
pub(super) fn project_token(texts: &BTreeMap<String, String>) -> Option<&str> {
    PROJECT_TOKENS.iter().find_map(|name| given(texts, name))
}

/// A variable that says something.
pub(super) fn given<'t>(texts: &'t BTreeMap<String, String>, name: &str) -> Option<&'t str> {
    texts.get(name).map(String::as_str).filter(|text| !text.trim().is_empty())
}
