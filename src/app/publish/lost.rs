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

/// Why most of such a record is empty.
const WHY: &str = "no bundle of this run came";

/// A plan whose bundles are waited for.
#[derive(Clone, Debug)]
pub struct Awaited {
    file: PathBuf,
    /// What stands for each of its runs of which no bundle came.
    lost: Vec<ReadRecord>,
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
    /// Reads the plan in `file`. `folder` and `variables` tell whose plan it is.
    ///
    /// # Errors
    /// When it is none that can be used.
    pub fn load(
        file: &Path,
        folder: &Path,
        variables: &[(OsString, OsString)],
    ) -> Result<Self, AwaitedError> {
        let plan = configuration::load_plan(file)?;
        let actions = Actions::from_variables(&prepare::texts(variables));
        let repository =
            actions.as_ref().map_or_else(|| git::describe(folder).repository, Actions::repository);
        let drafter = Drafter { plan: &plan, repository, actions };
        let redactor = redactor(variables);
        let lost = plan.runs.iter().map(|planned| {
            let mut record = drafter.draft(planned);
            redactor.clean(&mut record);
            record.run.digest = Some(canonical::record_digest(&record)?);
            read::read(&canonical::pretty(&record)?)
                .map_err(|source| AwaitedError::Record { file: file.to_owned(), source })
        });
        Ok(Self { file: file.to_owned(), lost: lost.collect::<Result<_, _>>()? })
    }

    /// The plan's file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Whether `record` is of a run of this plan.
    pub(super) fn holds(&self, record: &Record) -> bool {
        self.lost.iter().any(|lost| is_of(record, &lost.record))
    }

    /// What stands for the runs of the plan of which none of `bundles` came.
    pub(super) fn missing(&self, bundles: &[Bundle]) -> Vec<Bundle> {
        let came = |lost: &ReadRecord| {
            bundles.iter().any(|bundle| is_of(&bundle.record.record, &lost.record))
        };
        let missing = self.lost.iter().filter(|lost| !came(lost));
        missing
            .map(|lost| Bundle {
                folder: self.file.clone(),
                record: lost.clone(),
                files: Vec::new(),
                refused: Vec::new(),
            })
            .collect()
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
        let facts = Facts {
            repository: self.repository.clone(),
            commit: Commit::known_by_id(self.plan.facts.commit.clone(), WHY),
            trigger: self.trigger(),
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
        let service = self.of_this_event().and_then(prepare::service);
        let mut name = RunName {
            origin: service.unwrap_or(Origin::Local { at: facts.planned, random: 0 }),
            job: &planned.job.name,
            params: &apart,
            variant: facts.variant.as_deref(),
            confirm: None,
        };
        if service.is_none() {
            let digest =
                canonical::sha256_hex(format!("{} {}", facts.planned, name.id()).as_bytes());
            let random = u16::from_str_radix(&digest[..4], 16).unwrap_or_default();
            name.origin = Origin::Local { at: facts.planned, random };
        }
        name.id()
    }

    /// The workflow that we are in, where it is the one that was planned.
    fn of_this_event(&self) -> Option<&Actions> {
        let facts = &self.plan.facts;
        self.actions.as_ref().filter(|actions| {
            actions.event == facts.event && actions.run_number == facts.run_number
        })
    }

    fn trigger(&self) -> Trigger {
        self.of_this_event().map_or_else(
            || Trigger {
                event: self.plan.facts.event.clone(),
                actor: None,
                run_url: None,
                run_id: None,
                run_number: self.plan.facts.run_number,
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
    here.run.planned == there.run.planned
        && here.commit.sha == there.commit.sha
        && here.run.job == there.run.job
        && here.run.variant == there.run.variant
        && there.params.iter().all(|(name, param)| here.params.get(name) == Some(param))
}
