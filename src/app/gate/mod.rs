//! The gate: reads the event and decides whether to run, what, and at which commit. It needs no
//! checkout, runs nothing of the project, and takes no word of whoever wrote what is measured: who
//! may ask, which commit it is and what the configuration says come from the API.

mod answer;
mod comment;
mod configuration;
mod pull_request;
mod trusted;

use std::cell::OnceCell;

use jiff::Timestamp;

pub use configuration::{Configured, configuration};

use crate::config::overrides::PairError;
use crate::config::{Config, Overrides, Problems};
use crate::github::{self, Client, InRepository, RealPause, Settings};
use crate::model::names::CommitSha;
use crate::plan::{Facts, Plan, PlanError};
use crate::trigger::payload::{self, Event};
use crate::trigger::{Trigger, TriggerError};

/// What a gate is told.
pub struct Asked<'a> {
    /// The event's name.
    pub event: &'a str,
    /// Its payload.
    pub payload: &'a [u8],
    /// The account of the repository.
    pub owner: &'a str,
    /// The repository's name.
    pub name: &'a str,
    /// The word that begins a command, such as `/profile`.
    pub word: &'a str,
    /// The configuration's path in the repository.
    pub config: &'a str,
    /// What whoever wrote the workflow asks for: it counts more than a comment or a dispatch.
    pub overrides: &'a Overrides,
    /// Sets the runs apart from otherwise equal ones.
    pub variant: Option<&'a str>,
    /// The service's running number.
    pub run_number: Option<u64>,
    /// The commit of the event.
    pub sha: Option<&'a str>,
    /// The branch, tag or commit that is to be measured instead.
    pub reference: Option<&'a str>,
    /// The time of the plan.
    pub now: Timestamp,
    /// How GitHub is asked.
    pub github: &'a Settings,
    /// Whether every run of a plan was measured before by a schedule.
    pub is_measured: &'a dyn Fn(&Config, &Plan) -> bool,
    /// What is checked out, if anything is: it spares requests on events that only people with
    /// write access cause, and counts for no other.
    pub checkout: Option<Checkout<'a>>,
}

/// What is checked out.
pub struct Checkout<'a> {
    /// The commit.
    pub head: CommitSha,
    /// Its configuration.
    pub config: &'a Config,
    /// The commit that a branch or tag names there.
    pub resolve: &'a dyn Fn(&str) -> Option<CommitSha>,
    /// The paths that differ from an earlier commit; `None` where that is not there.
    pub changed_since: &'a dyn Fn(&CommitSha) -> Option<Vec<String>>,
}

/// What a gate decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What is to be done.
    pub outcome: Outcome,
    /// The commit that it is about, where one is known.
    pub commit: Option<CommitSha>,
    /// The configuration that was read; `None` where none was needed.
    pub config: Option<Config>,
    /// What people should know, one sentence each.
    pub warnings: Vec<String>,
    /// What is to be taken back.
    pub withdrawn: Option<Withdrawn>,
}

/// A workflow of which nothing is published: what was said while it ran holds no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withdrawn {
    /// The id of the workflow's run.
    pub run_id: u64,
    /// The commit that it measured.
    pub commit: CommitSha,
    /// The pull request that it ran for, where one is there.
    pub pull_request: Option<u64>,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// To carry out this plan.
    Run(Box<Plan>),
    /// To accept the change that this plan names.
    Accept(Box<Plan>),
    /// Nothing, for this reason.
    Nothing(String),
}

impl Decision {
    fn nothing(reason: impl Into<String>) -> Self {
        let outcome = Outcome::Nothing(reason.into());
        Self { outcome, commit: None, config: None, warnings: Vec::new(), withdrawn: None }
    }

    fn about(self, commit: &CommitSha) -> Self {
        Self { commit: Some(commit.clone()), ..self }
    }

    /// Carries out `plan`; where it holds no run, nothing.
    fn run(plan: Plan, config: Config) -> Self {
        let commit = plan.facts.commit.clone();
        let outcome = if plan.runs.is_empty() {
            let event = &plan.facts.event;
            Outcome::Nothing(format!("no job of the configuration is for the event `{event}`"))
        } else {
            Outcome::Run(Box::new(plan))
        };
        Self { outcome, commit, config: Some(config), warnings: Vec::new(), withdrawn: None }
    }
}

/// Why nothing can be decided.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The event cannot be read, or nothing is known of it.
    #[error(transparent)]
    Trigger(#[from] TriggerError),
    /// GitHub gives no answer that is needed.
    #[error(transparent)]
    GitHub(#[from] github::Error),
    /// The configuration is not right.
    #[error(transparent)]
    Config(#[from] Problems),
    /// No plan can be made of it.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A dispatch asks for params in another form.
    #[error(transparent)]
    Params(PairError),
    /// What is to be measured is not there.
    #[error("there is no branch, tag or commit `{reference}` in {owner}/{name}")]
    NoCommit {
        /// What was asked for, cut.
        reference: String,
        /// The account.
        owner: String,
        /// The repository.
        name: String,
    },
}

/// Decides on an event. What is not for us costs no request.
///
/// # Errors
/// When the event or the configuration cannot be read, or GitHub does not answer.
pub fn decide(asked: &Asked<'_>) -> Result<Decision, GateError> {
    let event = payload::read(asked.event, asked.payload)?;
    let gate = Gate { asked, client: OnceCell::new() };
    match event {
        Event::Comment(event) => comment::decide(&gate, &event),
        Event::PullRequest(event) => pull_request::decide(&gate, &event),
        Event::WorkflowRun(event) => pull_request::publish(&gate, &event),
        Event::Trusted(Trigger::Push(push)) if push.deleted => {
            Ok(Decision::nothing("the push deleted its branch or tag"))
        }
        Event::Trusted(trigger) => trusted::decide(&gate, &trigger),
    }
}

/// What deciding needs. The client starts with the first question.
struct Gate<'a> {
    asked: &'a Asked<'a>,
    client: OnceCell<Client>,
}

impl Gate<'_> {
    fn client(&self) -> Result<&Client, GateError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = Client::new(self.asked.github.clone(), RealPause::new())?;
        Ok(self.client.get_or_init(|| client))
    }

    /// The repository that the workflow belongs to.
    fn here(&self) -> Result<InRepository<'_>, GateError> {
        Ok(self.client()?.in_repository(self.asked.owner, self.asked.name)?)
    }

    fn slug(&self) -> String {
        format!("{}/{}", self.asked.owner, self.asked.name)
    }

    fn facts(&self, commit: CommitSha) -> Facts {
        Facts {
            event: self.asked.event.to_owned(),
            commit: Some(commit),
            run_number: self.asked.run_number,
            variant: self.asked.variant.map(str::to_owned),
            planned: self.asked.now,
            pull_request: None,
            measured_by: None,
            confirm: None,
        }
    }
}
