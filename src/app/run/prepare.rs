//! Gathers what is known before anything runs: the configuration, the plan, the facts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::draft::Facts;
use super::{Import, RunError};
use crate::actions::Actions;
use crate::clock::Clock;
use crate::config::sections::is_pull_request;
use crate::config::{Config, Overrides, ShellKind};
use crate::measure::{MeterKind, Places, machine};
use crate::model::names::CommitSha;
use crate::model::status::Identity;
use crate::plan::{self, Plan, PlannedRun, environment};
use crate::record::layout::Origin;
use crate::record::redact::Redactor;
use crate::record::{Commit, Repository, Trigger};
use crate::source::configuration;
use crate::source::git::{self, Source};

/// What somebody asks to run.
#[derive(Clone, Debug)]
pub struct Request {
    /// The folder it was asked in.
    pub folder: PathBuf,
    /// The configuration, where one was named.
    pub config: Option<PathBuf>,
    /// The plan, where one was made before.
    pub plan: Option<PathBuf>,
    /// What flags ask for.
    pub overrides: Overrides,
    /// Where bundles go.
    pub output: PathBuf,
    /// Sets the runs apart from otherwise equal ones.
    pub variant: Option<String>,
    /// perftrail's own environment.
    pub variables: Vec<(OsString, OsString)>,
    /// How to measure.
    pub meter: MeterKind,
    /// The time of day.
    pub clock: Clock,
    /// What is brought in instead of being run.
    pub import: Option<Import>,
}

/// Everything decided, nothing run.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The configuration.
    pub config: Config,
    /// What will run.
    pub plan: Plan,
    /// The configuration's file; `None` where there is none.
    pub config_file: Option<PathBuf>,
    /// The folder that paths of the configuration are relative to.
    pub root: PathBuf,
    /// Where bundles go.
    pub output: PathBuf,
    /// What people should know of how things were decided.
    pub remarks: Vec<String>,
    pub(super) service: Option<Origin<'static>>,
    pub(super) temp: Option<PathBuf>,
    pub(super) shell: ShellKind,
    pub(super) meter: MeterKind,
    pub(super) clock: Clock,
    pub(super) variables: Vec<(OsString, OsString)>,
    source: Source,
    repository: Repository,
    trigger: Trigger,
    /// How the identity of the runs is known.
    pub identity: Identity,
    texts: BTreeMap<String, String>,
}

/// Reads the configuration and the commit, and makes the plan, or reads the one that was named and
/// holds it against the commit that is checked out.
///
/// # Errors
/// When the configuration or plan is not right, or another commit is checked out.
pub fn prepare(request: Request) -> Result<Prepared, RunError> {
    let texts = texts(&request.variables);
    let actions = Actions::from_variables(&texts);
    let mut source = git::describe(&request.folder);
    let mut found =
        configuration::load(request.config.as_deref(), &request.folder, source.top.as_deref())?;
    if let Some(import) = &request.import {
        import.configure(&mut found.config);
        claim(&mut source.commit, &import.commit);
    }
    let bare = request.overrides.command.is_some();
    let root = if bare { request.folder.clone() } else { found.root };
    let trigger = actions.as_ref().map_or_else(local_trigger, Actions::trigger);
    let (plan, identity) = if let Some(path) = &request.plan {
        (planned_before(path, &source)?, Identity::Planned)
    } else {
        let facts = plan::Facts {
            event: trigger.event.clone(),
            commit: source.commit.sha.clone(),
            run_number: trigger.run_number,
            variant: request.variant.clone(),
            planned: request.clock.now(),
            pull_request: None,
            measured_by: None,
            confirm: None,
        };
        let identity = identity(&request, &texts);
        (plan::make(&found.config, &request.overrides, &facts)?, identity)
    };
    let repository =
        actions.as_ref().map_or_else(|| source.repository.clone(), Actions::repository);
    let mut trigger = trigger;
    act_for(plan.facts.pull_request.as_ref(), &mut trigger, &mut source.commit);
    Ok(Prepared {
        remarks: remarks(&source, found.file.as_deref(), bare),
        service: actions.as_ref().and_then(service),
        temp: actions.as_ref().and_then(|actions| actions.temp.as_ref().map(PathBuf::from)),
        shell: shell(&texts),
        output: request.folder.join(request.output),
        config: found.config,
        config_file: found.file,
        plan,
        root,
        meter: request.meter,
        clock: request.clock,
        variables: request.variables,
        source,
        repository,
        trigger,
        identity,
        texts,
    })
}

impl Prepared {
    /// Knows the values of our own variables, and of those that the configuration sets, that no
    /// record may show: the project may be private where the results are not.
    pub fn redactor(&self) -> Redactor {
        let set = self.plan.runs.iter().flat_map(|planned| &planned.job.env);
        let set = set.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let variables: Vec<_> = self.variables.iter().cloned().chain(set).collect();
        redactor(&variables)
    }

    /// Held-back variables that a job may have. A plan says for which event it is, but what started
    /// us counts as well.
    pub(super) fn may_pass<'a>(&self, planned: &'a PlannedRun) -> &'a [String] {
        if is_pull_request(&self.trigger.event) { &[] } else { &planned.job.env_pass }
    }

    /// What the records of this run say of where and from what it came.
    pub(super) fn facts_for(&self, planned: &PlannedRun) -> Facts {
        let machine = machine(&Places::default(), &self.texts, planned.job.machine.as_deref());
        Facts {
            repository: self.repository.clone(),
            commit: self.source.commit.clone(),
            trigger: self.trigger.clone(),
            identity: self.identity,
            machine,
            meter: self.meter.as_str(),
        }
    }
}

/// Takes out the values of variables that hold secrets.
pub fn redactor(variables: &[(OsString, OsString)]) -> Redactor {
    let secrets: Vec<String> = variables
        .iter()
        .map(|(name, value)| (name, value.to_string_lossy()))
        .filter(|(name, value)| environment::holds_secret(name, value))
        .map(|(_, value)| value.into_owned())
        .collect();
    Redactor::new(secrets.iter().map(String::as_str))
}

/// What runs here is what is checked out here; of what is imported only an event can prove that.
fn identity(request: &Request, variables: &BTreeMap<String, String>) -> Identity {
    let sha = variables.get("GITHUB_SHA").filter(|_| variables.contains_key("GITHUB_ACTIONS"));
    match (&request.import, sha) {
        (Some(import), Some(sha)) if import.commit.as_str() == sha => Identity::Event,
        (Some(_), _) => Identity::Claimed,
        (None, Some(_)) => Identity::Event,
        (None, None) => Identity::Planned,
    }
}

/// The commit that was claimed; of one that is not checked out only the id is known.
fn claim(commit: &mut Commit, claimed: &CommitSha) {
    if commit.sha.as_ref() == Some(claimed) {
        return;
    }
    let default_branch = commit.default_branch.take();
    let why = "imported: the commit is not the one that is checked out";
    *commit = Commit { default_branch, ..Commit::known_by_id(Some(claimed.clone()), why) };
}

fn planned_before(path: &Path, source: &Source) -> Result<Plan, RunError> {
    let plan = configuration::load_plan(path)?;
    let found = source.commit.sha.as_ref();
    if plan.facts.commit.as_ref() == found {
        return Ok(plan);
    }
    let name = |sha: Option<&CommitSha>| sha.map_or_else(|| "none".to_owned(), ToString::to_string);
    Err(RunError::OtherCommit { planned: name(plan.facts.commit.as_ref()), found: name(found) })
}

/// What a record says of the pull request that its run acts for: a checked-out commit has no branch.
pub(in crate::app) fn act_for(
    pull_request: Option<&plan::PullRequest>,
    trigger: &mut Trigger,
    commit: &mut Commit,
) {
    let Some(pull_request) = pull_request else { return };
    trigger.pull_request = Some(pull_request.number);
    commit.reference = Some(pull_request.reference());
    commit.unknown.remove("ref");
}

/// Variables that are text; the others bear nothing that we read.
pub(in crate::app) fn texts(variables: &[(OsString, OsString)]) -> BTreeMap<String, String> {
    variables
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())))
        .collect()
}

fn local_trigger() -> Trigger {
    Trigger {
        event: "local".to_owned(),
        actor: None,
        run_url: None,
        run_id: None,
        run_number: None,
        attempt: None,
        pull_request: None,
    }
}

/// The events whose names may stand in a run's name; another one counts as started by hand.
pub(in crate::app) fn service(actions: &Actions) -> Option<Origin<'static>> {
    service_of(&actions.event, actions.run_id, actions.attempt)
}

/// The same, of any run of the service.
pub(in crate::app) fn service_of(
    event: &str,
    run_id: u64,
    attempt: u32,
) -> Option<Origin<'static>> {
    const EVENTS: [&str; 8] = [
        "schedule",
        "push",
        "workflow_dispatch",
        "repository_dispatch",
        "pull_request",
        "issue_comment",
        "workflow_run",
        "workflow_call",
    ];
    let event = EVENTS.into_iter().find(|known| *known == event)?;
    Some(Origin::Service { event, run_id, attempt })
}

fn shell(variables: &BTreeMap<String, String>) -> ShellKind {
    let path = variables.get("PATH").map_or("/usr/bin:/bin", String::as_str);
    if std::env::split_paths(path).any(|folder| folder.join("bash").is_file()) {
        ShellKind::Bash
    } else {
        ShellKind::Sh
    }
}

fn remarks(source: &Source, file: Option<&Path>, bare: bool) -> Vec<String> {
    let mut remarks = Vec::new();
    match file {
        Some(file) if bare => remarks.push(format!(
            "a command is measured as it stands: of {} only [results], [history] and [metric] count",
            file.display()
        )),
        Some(file) => remarks.push(format!("the configuration is {}", file.display())),
        None => remarks.push("no perftrail.toml: defaults count".to_owned()),
    }
    if let (Some(name), Some(from)) = (&source.commit.default_branch, source.default_branch_from) {
        remarks.push(format!("the default branch is {name}, as {from} says"));
    }
    remarks
}

/// Params that differ from their defaults: these set runs of one job apart.
pub(super) fn params_apart(planned: &PlannedRun) -> BTreeMap<String, Value> {
    crate::record::layout::differing(&planned.params)
}
