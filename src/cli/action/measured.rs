//! Has the job measured by a process of its own, as the owner of the workspace.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::super::command;
use super::super::failure::{ExitCode, Failure};
use super::super::screen::{Screen, Volume};
use super::promise::Promise;
use super::{OUTPUT, Step, broken};
use crate::actions::commands;
use crate::actions::files::random_word;
use crate::actions::inert::Inert;
use crate::actions::owner::Owner;
use crate::app::run::Prepared;
use crate::app::watch::Watch;
use crate::bundle::read as bundle;
use crate::measure::{Apart, ApartEnd, Stop};
use crate::plan::environment;

/// What came of measuring.
pub(super) struct Measured {
    /// The bundles that are there now and were not before.
    pub(super) bundles: Vec<PathBuf>,
    end: ApartEnd,
}

impl Measured {
    /// The code of the step, as far as measuring decides it.
    pub(super) fn code(&self, screen: &Screen) -> u8 {
        match self.end {
            ApartEnd::Code(code) => code,
            ApartEnd::Signal(signal) => {
                screen.warn(&format!("measuring was ended by signal {signal}"));
                ExitCode::JobFailed as u8
            }
        }
    }
}

/// The user that jobs of this workspace run as; `None` where that is whoever we are.
pub(super) fn user(workspace: &Path) -> Option<Owner> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    Owner::of(workspace)
}

/// Measures what was planned. Everything the job prints is inert in the runner's log.
pub(super) fn measure(
    step: &Step,
    prepared: &Prepared,
    stop: &Stop,
    promise: Option<&Promise>,
) -> Result<Measured, Failure> {
    let internal = |error: &dyn std::error::Error| Failure::new(ExitCode::Internal, error);
    let owner = user(&step.edge.folder);
    tell_user(step, owner);
    let plan = plan_file(step, prepared)?;
    let before = there(&step.edge.folder);
    if let Some(promise) = promise {
        step.files.state(&[promise.state()]).map_err(|error| broken(&error))?;
    }
    let held = step.files.held();
    let apart = Apart {
        argv: arguments(step, plan.path())?,
        cwd: step.edge.folder.clone(),
        env: variables(step, prepared, owner)?,
        user: owner.map(|owner| (owner.uid, owner.gid)),
    };
    let silence = random_word().map_err(|error| broken(&error))?;
    command(&commands::stop(&silence));
    let end = apart.run(stop, Box::new(Inert::new(io::stdout())));
    command(&commands::resume(&silence));
    let end = end.map_err(|error| internal(&error))?;
    let changed = step.files.set_back(&held).map_err(|error| broken(&error))?;
    if !changed.is_empty() {
        step.screen.warn(&format!(
            "the job wrote to files of the runner ({}); that is taken out again",
            changed.join(", ")
        ));
    }
    let bundles = there(&step.edge.folder).difference(&before).cloned().collect();
    Ok(Measured { bundles, end })
}

/// The bundles in the output folder.
pub(super) fn there(workspace: &Path) -> BTreeSet<PathBuf> {
    bundle::find(&workspace.join(OUTPUT)).unwrap_or_default().into_iter().collect()
}

fn tell_user(step: &Step, owner: Option<Owner>) {
    match owner {
        Some(owner) => step.screen.say(&format!(
            "the job runs as the workspace's owner, user {}, without the secrets of this step",
            owner.uid
        )),
        None if rustix::process::geteuid().is_root() => step.screen.warn(
            "the workspace belongs to root, so the job runs as root too: in a container it may reach \
             the Docker socket of the runner, and with it every secret of this workflow job; \
             measure in a job of its own where that matters",
        ),
        None => step.screen.detail("the job runs as the user of this step"),
    }
}

fn plan_file(step: &Step, prepared: &Prepared) -> Result<tempfile::NamedTempFile, Failure> {
    let internal = |error: io::Error| {
        Failure::new(ExitCode::Internal, &error).with_help("the plan could not be handed over")
    };
    let mut file =
        tempfile::Builder::new().prefix("perftrail-plan-").tempfile().map_err(internal)?;
    let text = prepared.plan.to_json().map_err(|error| Failure::new(ExitCode::Internal, &error))?;
    file.write_all(text.as_bytes()).map_err(internal)?;
    if let Some(owner) = user(&step.edge.folder) {
        std::os::unix::fs::chown(file.path(), Some(owner.uid), Some(owner.gid))
            .map_err(internal)?;
    }
    Ok(file)
}

fn arguments(step: &Step, plan: &Path) -> Result<Vec<OsString>, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::new(ExitCode::Internal, &error).with_help("where this program lies is not known")
    })?;
    let mut argv: Vec<OsString> = vec![
        program.into(),
        "run".into(),
        "--plan".into(),
        plan.into(),
        "--output".into(),
        OUTPUT.into(),
    ];
    if let Some(config) = step.inputs.get("config") {
        argv.extend(["--config".into(), config.into()]);
    }
    match step.edge.volume {
        Volume::Quiet => argv.push("--quiet".into()),
        Volume::Verbose => argv.push("--verbose".into()),
        Volume::Normal => {}
    }
    Ok(argv)
}

/// Everything but what holds secrets, steers the runner, or would be taken for a flag.
fn variables(
    step: &Step,
    prepared: &Prepared,
    owner: Option<Owner>,
) -> Result<Vec<(OsString, OsString)>, Failure> {
    let pass: Vec<String> =
        prepared.plan.runs.iter().flat_map(|run| run.job.env_pass.iter().cloned()).collect();
    let filtered =
        environment::filter(step.edge.variables.iter().cloned(), &pass, &prepared.plan.facts.event);
    let mut kept = filtered.kept;
    // Their names are told in the record, their values are not there any more.
    kept.extend(filtered.held_back.into_iter().map(|name| (name.into(), OsString::new())));
    kept.retain(|(name, _)| !name.to_string_lossy().starts_with("PERFTRAIL_"));
    let Some(owner) = owner else { return Ok(kept) };
    let own = owner.settle(&step.texts).map_err(|error| {
        Failure::new(ExitCode::Internal, &error).with_help("the job's user has no home")
    })?;
    let temp = step.texts.get("RUNNER_TEMP").map(PathBuf::from);
    let has_temp =
        temp.is_some_and(|temp| Owner::of(&temp).is_some_and(|its| its.uid == owner.uid));
    kept.retain(|(name, _)| {
        let name = name.to_string_lossy();
        !own.contains_key(name.as_ref()) && (name != "RUNNER_TEMP" || has_temp)
    });
    kept.extend(own.into_iter().map(|(name, value)| (name.into(), value.into())));
    Ok(kept)
}
