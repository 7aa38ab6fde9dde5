//! `perftrail doctor`.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;

use super::args::{DoctorArgs, ListFormat};
use super::destination::{self, Found};
use super::failure::{ExitCode, Failure};
use super::{Edge, print, print_json};
use crate::app::doctor::{self, Finding, Health};
use crate::config::{self, Config};
use crate::github::{Visibility, expiry_warning};
use crate::model::text::visible;
use crate::record::canonical;
use crate::results::Results;
use crate::source::git::Source;
use crate::source::{configuration, git};

/// Looks at everything, then says it.
pub(super) fn doctor(edge: &Edge, args: &DoctorArgs) -> Result<u8, Failure> {
    let source = git::describe(&edge.folder);
    let (mut found, config) = project(edge, args, &source);
    if args.publish {
        found.extend(publishing(edge, args, &config.unwrap_or_default()));
    }
    tell(&found, args.format)
}

/// What is found of the project, and its configuration where that can be read.
fn project(edge: &Edge, args: &DoctorArgs, source: &Source) -> (Vec<Finding>, Option<Config>) {
    let mut found = Vec::new();
    // A workflow looks whether publishing will work before anything is checked out.
    let is_bare = source.top.is_none() && args.config.is_none();
    if args.publish && is_bare && !edge.folder.join(config::FILE).exists() {
        let message = "no project is here: only publishing is looked at";
        found.push(Finding::new("checkout", Health::Good, message));
        return (found, None);
    }
    let top = source.top.clone().unwrap_or_else(|| edge.folder.clone());
    let mut root = top.clone();
    let config = match configuration::load(args.config.as_deref(), &edge.folder, Some(&top)) {
        Ok(read) => {
            let message = match &read.file {
                Some(file) => {
                    let jobs = read.config.jobs.len();
                    format!("{}, {jobs} job{}", file.display(), if jobs == 1 { "" } else { "s" })
                }
                None => "none: only commands after `--` can be run".to_owned(),
            };
            found.push(Finding::new("configuration", Health::Good, message));
            root = read.root;
            Some(read.config)
        }
        Err(error) => {
            found.push(Finding::new("configuration", Health::Bad, error.to_string()));
            None
        }
    };
    found.push(doctor::repository(&source.commit));
    found.extend(doctor::checkout(&git::missing(&edge.folder)));
    if let Some(config) = &config {
        found.extend(doctor::time_limits(config));
        found.extend(doctor::programs(config, &edge.variables, &root));
        found.extend(doctor::profilers(config, &edge.variables, &edge.folder));
        found.extend(doctor::tox(config, &root));
    }
    let workflows = workflows(&top);
    found.extend(doctor::placeholder(&workflows));
    found.extend(doctor::schedule(&workflows, source.commit.committed, edge.clock.now()));
    (found, config)
}

fn workflows(top: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(top.join(".github/workflows")).into_iter().flatten().flatten();
    entries.filter_map(|entry| std::fs::read_to_string(entry.path()).ok()).collect()
}

/// Whether results can be put where they should go, and for how long.
fn publishing(edge: &Edge, args: &DoctorArgs, config: &Config) -> Vec<Finding> {
    let bad = |message: String| Finding::new("results", Health::Bad, message);
    let to = match destination::find(edge, &args.target, config) {
        Ok(Found::There(to)) => to,
        Ok(Found::Nowhere) => {
            return vec![Finding::new("results", Health::Good, "`none`: nothing is published")];
        }
        Ok(Found::NotNamed) => return vec![bad("no results repository is named".to_owned())],
        Err(failure) => return vec![bad(failure.message)],
    };
    let mut found = Vec::new();
    match Results::open(&to.to, &to.branch) {
        Ok(results) => found.push(match format(&results).and_then(|()| results.check_writable()) {
            Ok(()) => Finding::new(
                "results",
                Health::Good,
                format!("{} can be written, branch {}", results.place(), results.branch()),
            ),
            Err(error) => bad(error.to_string()),
        }),
        Err(crate::results::ResultsError::Missing { path }) => found.push(Finding::new(
            "results",
            Health::Good,
            format!("{} is made by the first run", path.display()),
        )),
        Err(error) => found.push(bad(error.to_string())),
    }
    if let Some(hub) = &to.hub {
        found.extend(at_github(edge, hub));
    }
    found
}

/// Whether this version may write there.
fn format(results: &Results) -> Result<(), crate::results::ResultsError> {
    results.tip()?.standing().map(drop)
}

fn at_github(edge: &Edge, hub: &destination::Hub) -> Vec<Finding> {
    let unknown = |message: String| Finding::new("GitHub", Health::Unknown, message);
    let client = match hub.client() {
        Ok(client) => client,
        Err(failure) => return vec![unknown(failure.message)],
    };
    let mut found = Vec::new();
    match client.repository(&hub.results.owner, &hub.results.name) {
        Ok(repository) => {
            if repository.archived {
                found.push(Finding::new(
                    "GitHub",
                    Health::Bad,
                    "the results repository is archived",
                ));
            }
            if repository.may_push == Some(false) {
                let message =
                    "the token may not push: give it `contents: write` for that repository";
                found.push(Finding::new("GitHub", Health::Bad, message));
            }
            if repository.visibility == Visibility::Public {
                found.push(Finding::new("GitHub", Health::Good, "the results are public"));
            }
        }
        Err(error) => found.push(unknown(error.to_string())),
    }
    if hub.is_fresh {
        let message = "a GitHub App makes one for each publishing; it lives for an hour";
        found.push(Finding::new("token", Health::Good, message));
        return found;
    }
    found.push(match client.token_expiry() {
        Ok(Some(expires)) => match expiry_warning(expires, edge.clock.now()) {
            Some(warning) => Finding::new("token", Health::Warning, warning.to_string()),
            None => Finding::new("token", Health::Good, format!("lives until {expires}")),
        },
        Ok(None) => Finding::new("token", Health::Good, "GitHub names no end"),
        Err(error) => Finding::new("token", Health::Unknown, error.to_string()),
    });
    found
}

fn tell(found: &[Finding], format: ListFormat) -> Result<u8, Failure> {
    let word = |health| match health {
        Health::Good => "ok",
        Health::Warning => "warning",
        Health::Bad => "fails",
        Health::Unknown => "unknown",
    };
    if format == ListFormat::Json {
        let findings: Vec<_> = found
            .iter()
            .map(|one| json!({ "what": one.what, "health": word(one.health), "message": one.message }))
            .collect();
        let bytes = canonical::pretty(&json!({ "findings": findings }))
            .map_err(|error| Failure::new(ExitCode::Internal, &error))?;
        print_json(&bytes)?;
    } else {
        let mut text = String::new();
        for one in found {
            let message = visible(&one.message).replace('\n', "\n                        ");
            let _ = writeln!(text, "{:<8} {:<14} {message}", word(one.health), one.what);
        }
        print(text.as_bytes())?;
    }
    let fails = found.iter().any(|one| one.health == Health::Bad);
    Ok(if fails { ExitCode::FAULTS_FOUND as u8 } else { ExitCode::Done as u8 })
}
