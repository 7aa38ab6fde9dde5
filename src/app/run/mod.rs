//! `run`: decides what to do, does it, and leaves one bundle a run.

pub(super) mod draft;
mod execute;
pub(super) mod finish;
mod import;
mod interim;
mod ledger;
mod outputs;
pub(super) mod prepare;
mod profiles;
mod readings;
mod values;

use std::path::PathBuf;

use crate::app::watch::Watch;
use crate::bundle::scratch::ScratchError;
use crate::bundle::write::{BundleWriter, WriteError};
use crate::clock;
use crate::measure::{MeasureError, Meter, MeterOptions, Places, Stop, Window};
use crate::plan::{PlanError, PlannedRun, RenderError, environment};
use crate::record::Record;
use crate::record::layout::{Origin, RunName};
use crate::record::redact::Redactor;
use crate::record::series::SeriesFile;
use crate::source;
use crate::source::configuration::ConfigurationError;
use crate::source::files::FilesError;
use execute::{Execution, Workshop};

pub use import::{Import, import};
pub use prepare::{Prepared, Request, prepare};

/// Why a run could not be carried out. A job that fails is no such error.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The configuration is not right.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// What was asked for is not there.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A command cannot be filled.
    #[error(transparent)]
    Command(#[from] RenderError),
    /// `HEAD` is not the commit that was planned.
    #[error(
        "the plan is for commit {planned}, but {found} is checked out; check out the planned commit, or make a new plan"
    )]
    OtherCommit {
        /// The plan's.
        planned: String,
        /// The one that is there.
        found: String,
    },
    /// No bundle can be written.
    #[error("failed to {0}")]
    Bundle(#[from] WriteError),
    /// There is no place for temporary files.
    #[error("failed to {0}")]
    Scratch(#[from] ScratchError),
    /// Outputs cannot be looked for.
    #[error("failed to {0}")]
    Files(#[from] FilesError),
    /// The job could not be started at all.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// The record cannot be written as JSON, which is a fault of perftrail.
    #[error("failed to write the record as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl RunError {
    /// Whether the user can mend it in what they asked for or in their configuration.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Configuration(_)
                | Self::Plan(_)
                | Self::Command(_)
                | Self::Files(FilesError::Pattern { .. })
                | Self::Measure(MeasureError::Folder { .. } | MeasureError::NoProgram)
        )
    }
}

/// A run that left a bundle.
#[derive(Clone, Debug)]
pub struct FinishedRun {
    /// Its bundle.
    pub bundle: PathBuf,
    /// Its record.
    pub record: Record,
    /// Its numbers over time.
    pub series: SeriesFile,
    /// The end of its output, secrets replaced.
    pub log: String,
}

/// Carries out the whole plan, one run after the other. A run that fails does not keep the others
/// from running; a request to stop does.
///
/// # Errors
/// When a run could not be carried out at all. Bundles of earlier runs stay.
pub fn carry_out(
    prepared: &Prepared,
    watch: &dyn Watch,
    stop: &Stop,
) -> Result<Vec<FinishedRun>, RunError> {
    let meter = Meter::new(prepared.meter, MeterOptions::default());
    let shop = Workshop {
        meter: &meter,
        stop,
        watch,
        shell: prepared.shell,
        root: &prepared.root,
        temp: prepared.temp.as_deref(),
        event: &prepared.plan.facts.event,
        run_number: prepared.plan.facts.run_number,
    };
    let mut finished = Vec::new();
    for planned in &prepared.plan.runs {
        if stop.cause().is_some() && !finished.is_empty() {
            watch.warn(&format!("{}: not run, because of the request to stop", planned.job.name));
            continue;
        }
        finished.push(one(prepared, planned, &shop)?);
        watch.clear();
    }
    Ok(finished)
}

fn one(
    prepared: &Prepared,
    planned: &PlannedRun,
    shop: &Workshop<'_>,
) -> Result<FinishedRun, RunError> {
    let env = job_environment(prepared, planned);
    let redactor = Redactor::new(env.secrets.iter().map(String::as_str));
    let environment = source::environment::describe(shop.root, &env.kept, env.held_back);
    let (bundle, id) = new_bundle(prepared, planned)?;
    let facts = prepared.facts_for(planned);
    let record = draft::record(&facts, &prepared.plan.facts, planned, id, environment);
    bundle.write_record(&record)?;
    shop.watch.detail(&format!("the bundle is {}", bundle.folder().display()));
    let mut execution = Execution::new(shop, planned, env.kept, &bundle, record)?;
    let window = Window::open(&Places::default());
    execution.record.run.started = Some(prepared.clock.now());
    let outcome = execution.run();
    execution.record.run.ended = Some(prepared.clock.now());
    finish::finish(execution, outcome, window, prepared, &redactor)
}

/// A bundle under a name that nothing has yet: chance may give two runs of one second one name.
fn new_bundle(
    prepared: &Prepared,
    planned: &PlannedRun,
) -> Result<(BundleWriter, String), RunError> {
    let apart = prepare::params_apart(planned);
    let mut tries = 0;
    loop {
        let origin = prepared
            .service
            .unwrap_or(Origin::Local { at: prepared.clock.now(), random: clock::chance() });
        let variant = prepared.plan.facts.variant.as_deref();
        let id =
            RunName { origin, job: &planned.job.name, params: &apart, variant, confirm: None }.id();
        tries += 1;
        match BundleWriter::create(&prepared.output, &id) {
            Ok(bundle) => return Ok((bundle, id)),
            Err(WriteError::Exists { .. }) if prepared.service.is_none() && tries < 100 => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// What a job gets of our environment, and the secrets among what it does not get.
struct JobEnvironment {
    kept: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    held_back: Vec<String>,
    secrets: Vec<String>,
}

fn job_environment(prepared: &Prepared, planned: &PlannedRun) -> JobEnvironment {
    let filtered = environment::filter(
        prepared.variables.iter().cloned(),
        &planned.job.env_pass,
        &prepared.plan.facts.event,
    );
    let secrets = prepared.secrets();
    let mut kept = filtered.kept;
    for (name, value) in &planned.job.env {
        kept.retain(|(other, _)| other != name.as_str());
        kept.push((name.into(), value.into()));
    }
    JobEnvironment { kept, held_back: filtered.held_back, secrets }
}
