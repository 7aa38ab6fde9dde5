//! GitHub Actions: what it tells a step through its environment, and what a step tells it.

pub mod commands;
pub mod files;
pub mod inert;
pub mod inputs;
pub mod owner;

use std::collections::BTreeMap;

use crate::record::{Repository, Trigger};

/// Where the Action lives: what workflows name in `uses`. Whoever publishes it elsewhere changes
/// this line; a test finds the workflows, pages and scripts that say otherwise.
pub const REPOSITORY: &str = "OWNER/perftrail";

/// The environment of a step, read once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actions {
    /// `GITHUB_EVENT_NAME`.
    pub event: String,
    /// `GITHUB_RUN_ID`.
    pub run_id: u64,
    /// `GITHUB_RUN_ATTEMPT`.
    pub attempt: u32,
    /// `GITHUB_RUN_NUMBER`.
    pub run_number: Option<u64>,
    /// `GITHUB_ACTOR`.
    pub actor: Option<String>,
    /// `GITHUB_SERVER_URL`, without a slash at the end.
    pub server_url: String,
    /// `GITHUB_REPOSITORY`, split.
    pub owner: String,
    /// The repository's name.
    pub name: String,
    /// `RUNNER_TEMP`.
    pub temp: Option<String>,
}

impl Actions {
    /// Reads the variables; `None` outside GitHub Actions, or where a variable that every runner
    /// sets is missing.
    pub fn from_variables(variables: &BTreeMap<String, String>) -> Option<Self> {
        let get = |name: &str| variables.get(name).filter(|text| !text.is_empty()).cloned();
        if get("GITHUB_ACTIONS").as_deref() != Some("true") {
            return None;
        }
        let repository = get("GITHUB_REPOSITORY")?;
        let (owner, name) = repository.split_once('/')?;
        Some(Self {
            event: get("GITHUB_EVENT_NAME")?,
            run_id: get("GITHUB_RUN_ID")?.parse().ok()?,
            attempt: get("GITHUB_RUN_ATTEMPT").and_then(|text| text.parse().ok()).unwrap_or(1),
            run_number: get("GITHUB_RUN_NUMBER").and_then(|text| text.parse().ok()),
            actor: get("GITHUB_ACTOR"),
            server_url: get("GITHUB_SERVER_URL")?.trim_end_matches('/').to_owned(),
            owner: owner.to_owned(),
            name: name.to_owned(),
            temp: get("RUNNER_TEMP"),
        })
    }

    /// The trigger as a record keeps it.
    pub fn trigger(&self) -> Trigger {
        let Self { server_url, owner, name, run_id, .. } = self;
        Trigger {
            event: self.event.clone(),
            actor: self.actor.clone(),
            run_url: Some(format!("{server_url}/{owner}/{name}/actions/runs/{run_id}")),
            run_id: Some(*run_id),
            run_number: self.run_number,
            attempt: Some(self.attempt),
            pull_request: None,
        }
    }

    /// The repository the workflow belongs to.
    pub fn repository(&self) -> Repository {
        let host = self.server_url.split_once("://").map(|(_, host)| host.to_ascii_lowercase());
        Repository {
            host,
            owner: Some(self.owner.clone()),
            name: Some(self.name.clone()),
            unknown: BTreeMap::new(),
        }
    }
}

/// Whether the event that started this step says that the repository is private; `None` where
/// there is no event, or it does not say.
pub fn event_is_private(variables: &BTreeMap<String, String>) -> Option<bool> {
    let text = std::fs::read(variables.get("GITHUB_EVENT_PATH")?).ok()?;
    let event: serde_json::Value = serde_json::from_slice(&text).ok()?;
    event.get("repository")?.get("private")?.as_bool()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    const STEP: [(&str, &str); 7] = [
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_EVENT_NAME", "schedule"),
        ("GITHUB_RUN_ID", "42"),
        ("GITHUB_RUN_ATTEMPT", "3"),
        ("GITHUB_SERVER_URL", "https://git.example.org/"),
        ("GITHUB_REPOSITORY", "o/n"),
        ("GITHUB_ACTOR", ""),
    ];

    #[test]
    fn a_step_is_known() {
        let actions = Actions::from_variables(&variables(&STEP)).unwrap();
        let trigger = actions.trigger();
        assert_eq!(trigger.run_url.as_deref(), Some("https://git.example.org/o/n/actions/runs/42"));
        assert_eq!((trigger.attempt, trigger.actor), (Some(3), None));
        assert_eq!(actions.repository().host.as_deref(), Some("git.example.org"));
    }

    #[test]
    fn a_laptop_is_no_step() {
        assert_eq!(Actions::from_variables(&variables(&[("CI", "true")])), None);
        assert_eq!(Actions::from_variables(&variables(&STEP[..3])), None);
    }
}
