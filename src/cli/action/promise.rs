//! What a step promises to publish, kept for the end of the job: another container reads it there,
//! when the step was cancelled or killed.
//!
//! The runner's state lies in a file that the job can write to. So the promise is signed with the
//! secrets of the step, which the job does not know.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::failure::{ExitCode, Failure};
use super::{Step, measured};
use crate::app::run::Prepared;
use crate::app::watch::Watch;
use crate::bundle::read as bundle;
use crate::config::{self, Config};
use crate::model::names::CommitSha;
use crate::model::status::Identity;
use crate::record::canonical;

/// The name of the state.
const STATE: &str = "perftrail";
/// The state that says that nothing is left to do.
pub(super) const KEPT: (&str, String) = (STATE, String::new());
/// A longer configuration is not kept: the environment takes no longer value.
const CONFIG_MAX: usize = 60 * 1024;

/// What is to be published, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Promise {
    /// The text of the configuration before the job ran.
    config: Option<String>,
    /// The measured commit.
    commit: Option<CommitSha>,
    /// How the ids of this step's runs begin.
    runs: String,
    /// Whether the commit is the event's.
    is_event: bool,
    /// Bundles that were there before, by name.
    before: BTreeSet<String>,
    #[serde(skip)]
    signed: String,
}

#[derive(Serialize, Deserialize)]
struct Signed {
    promise: String,
    mac: String,
}

impl Promise {
    pub(super) fn new(step: &Step, prepared: &Prepared) -> Result<Self, Failure> {
        let text = |name: &str| step.texts.get(name).cloned().unwrap_or_default();
        let event = &prepared.plan.facts.event;
        let commit = prepared.plan.facts.commit.clone();
        let config =
            prepared.config_file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        let mut promise = Self {
            config: config.filter(|text| text.len() <= CONFIG_MAX),
            is_event: commit.as_ref().is_some_and(|sha| sha.as_str() == text("GITHUB_SHA")),
            commit,
            runs: format!(
                "{event}-{}-{}-",
                text("GITHUB_RUN_ID"),
                attempt(&text("GITHUB_RUN_ATTEMPT"))
            ),
            before: measured::there(&step.edge.folder)
                .iter()
                .filter_map(|path| name_of(path))
                .collect(),
            signed: String::new(),
        };
        let internal = |error: serde_json::Error| Failure::new(ExitCode::Internal, &error);
        let told = serde_json::to_string(&promise).map_err(internal)?;
        let signed = Signed { mac: mac(step, &told), promise: told };
        promise.signed = serde_json::to_string(&signed).map_err(internal)?;
        Ok(promise)
    }

    /// The state to keep.
    pub(super) fn state(&self) -> (&'static str, String) {
        (STATE, self.signed.clone())
    }

    /// The promise that the step gave; `None` where it gave none or kept it.
    ///
    /// # Errors
    /// When somebody else wrote it.
    pub(super) fn given(step: &Step) -> Result<Option<Self>, Failure> {
        let Some(text) = step.texts.get(&format!("STATE_{STATE}")).filter(|text| !text.is_empty())
        else {
            return Ok(None);
        };
        let told = serde_json::from_str::<Signed>(text).ok();
        let told = told.filter(|signed| signed.mac == mac(step, &signed.promise));
        let promise = told.and_then(|signed| serde_json::from_str(&signed.promise).ok());
        if promise.is_none() {
            step.screen.warn("the state of the step was changed by somebody else");
        }
        promise.map(Some).ok_or_else(|| {
            let message = "what the step wanted to publish is not known for sure, so nothing is published";
            Failure {
                code: ExitCode::NotPublished,
                message: message.to_owned(),
                causes: Vec::new(),
                help: None,
            }
            .with_help("the bundles are in the workspace: upload them as an artifact and publish them by hand")
        })
    }

    /// The bundles that the step left.
    pub(super) fn left(&self, workspace: &Path) -> Vec<PathBuf> {
        let is_new =
            |path: &PathBuf| name_of(path).is_some_and(|name| !self.before.contains(&name));
        measured::there(workspace).into_iter().filter(is_new).collect()
    }

    /// The configuration as it was before the job ran.
    pub(super) fn config(&self) -> Result<Config, Failure> {
        let text = self.config.as_deref().unwrap_or_default();
        config::parse(config::FILE, text).map_err(|error| Failure::new(ExitCode::Usage, &error))
    }

    /// How the identity of these bundles is known: they must tell the commit and the runs that were
    /// planned, else they are no more than a claim.
    pub(super) fn identity(&self, bundles: &[PathBuf]) -> Identity {
        let is_planned = |folder: &PathBuf| {
            bundle::read(folder).is_ok_and(|bundle| {
                let record = &bundle.record.record;
                record.commit.sha == self.commit && record.run.id.starts_with(&self.runs)
            })
        };
        match bundles.iter().all(is_planned) {
            true if self.is_event => Identity::Event,
            true => Identity::Planned,
            false => Identity::Claimed,
        }
    }
}

fn attempt(text: &str) -> u32 {
    text.parse().unwrap_or(1)
}

fn name_of(path: &Path) -> Option<String> {
    path.file_name().and_then(|name| name.to_str()).map(str::to_owned)
}

/// A code that only who knows the secrets of the step can make.
fn mac(step: &Step, text: &str) -> String {
    let secrets = ["github-token", "results-token", "results-ssh-key", "app-private-key"];
    let key: Vec<&str> = secrets.iter().map(|name| step.inputs.get(name).unwrap_or("")).collect();
    let digest = |parts: &[&str]| canonical::digest_of(&serde_json::json!(parts));
    let key = digest(&key);
    digest(&[&key, &digest(&[&key, text])])
}
