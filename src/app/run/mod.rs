//! `run`: decides what to do, does it, and leaves one bundle a run.

pub(super) mod draft;
mod execute;
mod finish;
mod guard;
pub(super) mod hints;
mod import;
mod interim;
mod ledger;
mod outputs;
pub(super) mod prepare;
mod profiles;
mod readings;
mod values;
mod wrapped;

use std::path::PathBuf;

use crate::app::watch::Watch;
use crate::bundle::scratch::{Scratch, ScratchError};
use crate::bundle::write::{BundleWriter, WriteError};
use crate::clock;
use crate::measure::{MeasureError, Meter, MeterOptions, Places, Stop, Window};
use crate::plan::{PlanError, PlannedRun, RenderError, environment};
use crate::profile::model::Profile;
use crate::record::Record;
use crate::record::layout::{Origin, RunName};
use crate::record::series::SeriesFile;
use crate::source;
use crate::source::configuration::ConfigurationError;
use crate::source::files::FilesError;
use execute::{Execution, Workshop};

pub use import::{Import, import};
pub use prepare::{Prepared, Request, prepare, redactor};

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
    /// A fault of perftrail's own.
    #[error("{what} met a fault of perftrail's own ({said}); please report it")]
    Fault {
        /// What was being done.
        what: &'static str,
        /// What the fault said.
        said: String,
    },
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
    /// Its profiles.
    pub profiles: Vec<Profile>,
}

/// What came of a plan.
#[derive(Debug, Default)]
pub struct CarriedOut {
    /// The runs that left a bundle, whatever their status.
    pub finished: Vec<FinishedRun>,
    /// Why runs could not be carried out as planned. What they had measured is in their bundles.
    pub errors: Vec<RunError>,
}

/// Carries out the whole plan, one run after the other. A run that fails, or that cannot be carried
/// out, does not keep the others from running; a request to stop does.
pub fn carry_out(prepared: &Prepared, watch: &dyn Watch, stop: &Stop) -> CarriedOut {
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
    let mut out = CarriedOut::default();
    for planned in &prepared.plan.runs {
        if stop.cause().is_some() && !out.finished.is_empty() {
            watch.warn(&format!("{}: not run, because of the request to stop", planned.job.name));
            continue;
        }
        match one(prepared, planned, &shop) {
            Ok((run, error)) => {
                out.finished.push(run);
                out.errors.extend(error);
            }
            Err(error) => out.errors.push(error),
        }
        watch.clear();
    }
    out
}

/// The run's bundle, and why the run was not carried out as planned.
fn one(
    prepared: &Prepared,
    planned: &PlannedRun,
    shop: &Workshop<'_>,
) -> Result<(FinishedRun, Option<RunError>), RunError> {
    let env = job_environment(prepared, planned);
    let environment = source::environment::describe(shop.root, &env.kept, env.held_back);
    let scratch = Scratch::new(shop.temp)?;
    let (bundle, id) = new_bundle(prepared, planned)?;
    let facts = prepared.facts_for(planned);
    let record = draft::record(&facts, &prepared.plan.facts, planned, id, environment);
    // Nothing has begun: a bundle that cannot even hold this is of no use.
    let begun = bundle.write_record(&record).map_err(RunError::from);
    let begun =
        begun.and_then(|()| Execution::new(shop, planned, env.kept, &bundle, record, scratch));
    let mut execution = begun.inspect_err(|_| bundle.discard())?;
    shop.watch.detail(&format!("the bundle is {}", bundle.folder().display()));
    let window = Window::open(&Places::default());
    execution.record.run.started = Some(prepared.clock.now());
    let outcome = execution.run();
    execution.record.run.ended = Some(prepared.clock.now());
    finish::finish(execution, outcome, window, prepared)
}

/// A bundle under a name that nothing has yet: chance may give two runs of one second one name.
fn new_bundle(
    prepared: &Prepared,
    planned: &PlannedRun,
) -> Result<(BundleWriter, String), RunError> {
    let apart = prepare::params_apart(planned);
    let redactor = prepared.redactor();
    let mut tries = 0;
    loop {
        let origin = prepared
            .service
            .unwrap_or(Origin::Local { at: prepared.clock.now(), random: clock::chance() });
        let variant = prepared.plan.facts.variant.as_deref();
        let job = &redactor.name(&planned.job.name);
        let id =
            RunName { origin, job, params: &apart, variant, confirm: prepared.plan.facts.confirm }
                .id();
        tries += 1;
        match BundleWriter::create(&prepared.output, &id, redactor.clone()) {
            Ok(bundle) => return Ok((bundle, id)),
            Err(WriteError::Exists { .. }) if prepared.service.is_none() && tries < 100 => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// What a job gets of our environment, and the names of what it does not get.
struct JobEnvironment {
    kept: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    held_back: Vec<String>,
}

fn job_environment(prepared: &Prepared, planned: &PlannedRun) -> JobEnvironment {
    let filtered = environment::filter(
        prepared.variables.iter().cloned(),
        prepared.may_pass(planned),
        &prepared.plan.facts.event,
    );
    let mut kept = filtered.kept;
    for (name, value) in &planned.job.env {
        kept.retain(|(other, _)| other != name.as_str());
        kept.push((name.into(), value.into()));
    }
    JobEnvironment { kept, held_back: filtered.held_back }
}
