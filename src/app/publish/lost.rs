//! Runs of a plan for which no bundle came: a record takes their place that says so.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::actions::Actions;
use crate::app::run::draft::{self, Facts};
use crate::app::run::{prepare, redactor};
use crate::bundle::read::Bundle;
use crate::model::metric::BUILT_IN;
use crate::model::status::{Identity, Status};
use crate::plan::{Plan, PlannedRun};
use crate::record::layout::{Origin, RunName, differing};
use crate::record::read::{self, ReadRecord, RecordError};
use crate::record::{
    Commit, Environment, Level, Machine, Notice, Record, Repository, Trigger, canonical,
};
use crate::source::configuration::{self, ConfigurationError};
use crate::source::git;

/// So many attempts back may be the one that measured.
const ATTEMPTS_MAX: u32 = 20;

/// Why most of such a record is empty.
const WHY: &str = "no bundle of this run came";

/// A plan whose bundles are waited for.
#[derive(Clone, Debug)]
pub struct Awaited {
    file: PathBuf,
    /// What is known of each of its runs before a bundle is looked at.
    runs: Vec<Expected>,
    /// Whether the runs act for a pull request, whose author is not trusted.
    is_for_pull_request: bool,
    /// Whether another job than the one that publishes left the bundles.
    is_of_another_job: bool,
    /// Whether the workflow that was to measure ended with success.
    ended_well: bool,
}

/// What is known of a run before its bundle is looked at.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    /// What stands for it when no bundle comes.
    pub(super) lost: ReadRecord,
    /// The names that it may bear: one for each attempt so far; empty where nothing decides it.
    pub(super) names: Vec<String>,
    /// Whether the configuration names its machine group.
    pub(super) names_machine: bool,
    /// Whether another workflow planned it anew: the time of planning is its own.
    pub(super) is_elsewhere: bool,
}

/// Why nothing can be said of the runs of a plan.
#[derive(Debug, thiserror::Error)]
pub enum AwaitedError {
    /// It is no plan, or cannot be read.
    #[error(transparent)]
    Plan(#[from] ConfigurationError),
    /// It names what no record may hold.
    #[error("the plan {} cannot stand in a record: {source}", file.display())]
    Record {
        /// The plan's file.
        file: PathBuf,
        /// What is wrong with it.
        source: RecordError,
    },
    /// A record cannot be written as JSON, which is a fault of perftrail.
    #[error("failed to write a record as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl Awaited {
    /// Reads the plan in `file`. `folder` and `variables` tell whose plan it is, `confirm` which
    /// confirmation of its runs is published.
    ///
    /// # Errors
    /// When it is none that can be used.
    pub fn load(
        file: &Path,
        folder: &Path,
        variables: &[(OsString, OsString)],
        confirm: Option<u32>,
    ) -> Result<Self, AwaitedError> {
        let mut plan = configuration::load_plan(file)?;
        plan.facts.confirm = confirm.or(plan.facts.confirm);
        let actions = Actions::from_variables(&prepare::texts(variables));
        let repository =
            actions.as_ref().map_or_else(|| git::describe(folder).repository, Actions::repository);
        let drafter = Drafter { plan: &plan, repository, actions };
        let redactor = redactor(variables);
        let runs = plan.runs.iter().map(|planned| {
            let mut record = drafter.draft(planned);
            redactor.clean(&mut record);
            record.run.digest = Some(canonical::record_digest(&record)?);
            let lost = read::read(&canonical::pretty(&record)?)
                .map_err(|source| AwaitedError::Record { file: file.to_owned(), source })?;
            Ok(Expected {
                lost,
                names: drafter.names(planned),
                names_machine: planned.job.machine.is_some(),
                is_elsewhere: plan.facts.measured_by.is_some(),
            })
        });
        Ok(Self {
            file: file.to_owned(),
            runs: runs.collect::<Result<_, AwaitedError>>()?,
            is_for_pull_request: plan.facts.pull_request.is_some(),
            is_of_another_job: drafter.actions.is_some(),
            ended_well: plan.facts.measured_by.as_ref().is_some_and(|by| by.succeeded),
        })
    }

    /// Whether the author of what ran is trusted not to harm those who open its pages.
    pub(super) fn is_trusted(&self) -> bool {
        !self.is_for_pull_request
    }

    /// What is known of the runs where nothing of their bundles is trusted; `None` where whoever
    /// publishes answers for them.
    pub(super) fn expected(&self) -> Option<&[Expected]> {
        let strict = self.is_of_another_job || self.is_for_pull_request;
        strict.then_some(self.runs.as_slice())
    }

    /// The plan's file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Whether `record` is of a run of this plan.
    pub(super) fn holds(&self, record: &Record) -> bool {
        self.runs.iter().any(|run| run.is_of(record))
    }

    /// Whether nothing was measured and nothing is lost: a workflow that succeeds without a bundle
    /// was skipped, by a label or a draft of that moment, which nobody can tell later.
    pub fn was_skipped(&self, bundles: usize) -> bool {
        self.ended_well && bundles == 0
    }

    /// What stands for the runs of the plan of which none of `bundles` came.
    pub(super) fn missing(&self, bundles: &[Bundle]) -> Vec<Bundle> {
        if self.was_skipped(bundles.len()) {
            return Vec::new();
        }
        let came = |run: &Expected| bundles.iter().any(|bundle| run.is_of(&bundle.record.record));
        let missing = self.runs.iter().filter(|run| !came(run));
        missing
            .map(|run| Bundle {
                folder: self.file.clone(),
                record: run.lost.clone(),
                files: Vec::new(),
                refused: Vec::new(),
            })
            .collect()
    }
}

impl Expected {
    /// Whether `record` is of this run.
    fn is_of(&self, record: &Record) -> bool {
        let lost = &self.lost.record;
        is_of(record, lost) || (self.is_elsewhere && is_of_job(record, lost))
    }
}

/// Makes the records of runs that nobody heard of.
struct Drafter<'a> {
    plan: &'a Plan,
    repository: Repository,
    actions: Option<Actions>,
}

impl Drafter<'_> {
    fn draft(&self, planned: &PlannedRun) -> Record {
        let mut commit = Commit::known_by_id(self.plan.facts.commit.clone(), WHY);
        let mut trigger = self.trigger();
        prepare::act_for(self.plan.facts.pull_request.as_ref(), &mut trigger, &mut commit);
        let facts = Facts {
            repository: self.repository.clone(),
            commit,
            trigger,
            identity: Identity::Planned,
            machine: Machine {
                fingerprint: String::new(),
                group: planned.job.machine.clone().unwrap_or_else(|| "not known".to_owned()),
                parts: BTreeMap::new(),
            },
            meter: "none",
        };
        let id = self.id(planned);
        let environment = Environment::default();
        let mut record = draft::record(&facts, &self.plan.facts, planned, id, environment);
        record.run.status = Status::Lost;
        record.notices.push(Notice {
            level: Level::Error,
            code: "lost".to_owned(),
            message: format!(
                "{WHY}: it never began, or its machine ended before anything could be saved"
            ),
        });
        for metric in BUILT_IN {
            record.unavailable.insert(metric.name.to_owned(), WHY.to_owned());
        }
        record
    }

    /// The same name that the run itself would bear; by hand, one that the plan alone decides.
    fn id(&self, planned: &PlannedRun) -> String {
        let facts = &self.plan.facts;
        let apart = differing(&planned.params);
        let service = self.service();
        let mut name = RunName {
            origin: service.unwrap_or(Origin::Local { at: facts.planned, random: 0 }),
            job: &planned.job.name,
            params: &apart,
            variant: facts.variant.as_deref(),
            confirm: self.plan.facts.confirm,
        };
        if service.is_none() {
            let digest =
                canonical::sha256_hex(format!("{} {}", facts.planned, name.id()).as_bytes());
            let random = u16::from_str_radix(&digest[..4], 16).unwrap_or_default();
            name.origin = Origin::Local { at: facts.planned, random };
        }
        name.id()
    }

    /// The names that the run may bear: the attempt that measured may be older than the one that
    /// publishes.
    fn names(&self, planned: &PlannedRun) -> Vec<String> {
        let Some(Origin::Service { event, run_id, attempt }) = self.service() else {
            return Vec::new();
        };
        let apart = differing(&planned.params);
        let name = |attempt| RunName {
            origin: Origin::Service { event, run_id, attempt },
            job: &planned.job.name,
            params: &apart,
            variant: self.plan.facts.variant.as_deref(),
            confirm: self.plan.facts.confirm,
        };
        let oldest = attempt.saturating_sub(ATTEMPTS_MAX).max(1);
        (oldest..=attempt).rev().map(|attempt| name(attempt).id()).collect()
    }

    /// The run of the service that measured; `None` by hand.
    fn service(&self) -> Option<Origin<'static>> {
        let facts = &self.plan.facts;
        match &facts.measured_by {
            Some(by) => prepare::service_of(&facts.event, by.run_id, by.attempt)
                .filter(|_| self.actions.is_some()),
            None => self.of_this_event().and_then(prepare::service),
        }
    }

    /// The workflow that we are in, where it is the one that was planned.
    fn of_this_event(&self) -> Option<&Actions> {
        let facts = &self.plan.facts;
        self.actions.as_ref().filter(|actions| {
            actions.event == facts.event && actions.run_number == facts.run_number
        })
    }

    fn trigger(&self) -> Trigger {
        let facts = &self.plan.facts;
        if let (Some(by), Some(actions)) = (&facts.measured_by, &self.actions) {
            let of = Actions {
                event: facts.event.clone(),
                run_id: by.run_id,
                attempt: by.attempt,
                run_number: Some(by.run_number),
                actor: by.actor.clone(),
                ..actions.clone()
            };
            return of.trigger();
        }
        self.of_this_event().map_or_else(
            || Trigger {
                event: facts.event.clone(),
                actor: None,
                run_url: None,
                run_id: None,
                run_number: facts.run_number,
                attempt: None,
                pull_request: None,
            },
            Actions::trigger,
        )
    }
}

/// Whether `here` is of the plan that `there` was made from, whatever it says more. A job may add
/// params to those that were planned, and never changes one.
pub(super) fn is_of(here: &Record, there: &Record) -> bool {
    here.run.planned == there.run.planned && is_of_job(here, there)
}

/// The same, whenever it was planned.
pub(super) fn is_of_job(here: &Record, there: &Record) -> bool {
    here.commit.sha == there.commit.sha
        && here.run.job == there.run.job
        && here.run.variant == there.run.variant
        && there.params.iter().all(|(name, param)| here.params.get(name) == Some(param))
}
