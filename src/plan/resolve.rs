//! Makes the plan: flags over file over defaults.

use std::collections::BTreeMap;

use super::check::REPETITIONS_MAX;
use super::wrap::{self, CannotWrap, Program, Wrapping};
use super::{Facts, JUDGED_BY_DEFAULT, JobSpec, Plan, PlannedRun, VERSION, render, stem};
use crate::config::overrides::BareCommand;
use crate::config::params::ParamError;
use crate::config::problem::{nearest, shown, suggestion};
use crate::config::{Command, Config, Job, Overrides, Profiler};
use crate::model::names::{is_job_name, is_metric_name};
use crate::model::param::Param;

/// Why no plan can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Neither a job nor a command.
    #[error(
        "there is nothing to run: the configuration has no [[job]], and no command stands after `--`"
    )]
    NothingToRun,
    /// A job that is not configured.
    #[error("there is no job `{name}`: {}", suggestion(.nearest.as_deref(), .known))]
    UnknownJob {
        /// The name, cut.
        name: String,
        /// The job whose name looks most like it.
        nearest: Option<String>,
        /// All jobs.
        known: Vec<String>,
    },
    /// A step that no planned job has.
    #[error("there is no step `{name}`: {}", suggestion(.nearest.as_deref(), .known))]
    UnknownStep {
        /// The name, cut.
        name: String,
        /// The step whose name looks most like it.
        nearest: Option<String>,
        /// All steps of the planned jobs.
        known: Vec<String>,
    },
    /// A param that no planned job declares.
    #[error("there is no param `{name}`: {}", suggestion(.nearest.as_deref(), .known))]
    UnknownParam {
        /// The name, cut.
        name: String,
        /// The param whose name looks most like it.
        nearest: Option<String>,
        /// All params of the planned jobs.
        known: Vec<String>,
    },
    /// A param for a command that declares none.
    #[error(
        "a command after `--` has no param `{name}`: put the value into the command, or note it with --additional-stats"
    )]
    ParamOfBareCommand {
        /// The name, cut.
        name: String,
    },
    /// A value that the param cannot have.
    #[error("job `{job}`: {source}")]
    Param {
        /// The job.
        job: String,
        /// Why.
        source: ParamError,
    },
    /// A name that is none.
    #[error(
        "`{name}` cannot name a {kind}: a name starts with a letter or `_`, goes on with letters, digits, `_` or `-`"
    )]
    BadName {
        /// What is named.
        kind: &'static str,
        /// The name, cut.
        name: String,
    },
    /// A profiler that cannot follow any step of the job.
    #[error("job `{job}`, step `{step}` cannot run under {profiler}: {why}")]
    Profiler {
        /// The job.
        job: String,
        /// Its first step.
        step: String,
        /// The profiler.
        profiler: &'static str,
        /// Why.
        why: CannotWrap,
    },
    /// No repetition at all.
    #[error("0 repetitions measure nothing: ask for at least 1")]
    NoRepetitions,
    /// More often than any job is run.
    #[error("{asked} {what} are too many: ask for at most {REPETITIONS_MAX}")]
    TooOften {
        /// Repetitions or warm-ups.
        what: &'static str,
        /// How many were asked for.
        asked: u32,
    },
    /// An empty command.
    #[error("the command is empty")]
    EmptyCommand,
}

/// Decides what runs.
///
/// A command of the overrides is the only run. Else it is the named job, or every job that the
/// event starts, in the order of the file; that may be none.
///
/// # Errors
/// When a job, step or param is asked for that is not there, a value does not fit, or the
/// profiler is not available.
pub fn make(config: &Config, overrides: &Overrides, facts: &Facts) -> Result<Plan, PlanError> {
    let jobs = if let Some(command) = &overrides.command {
        vec![bare(command, overrides)?]
    } else {
        with_steps(selected(config, overrides, facts)?, &overrides.steps)?
    };
    check_params(&jobs, overrides)?;
    let judged = judged(config);
    let runs = jobs
        .into_iter()
        .map(|job| planned(job, overrides, &judged))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Plan { version: VERSION, facts: facts.clone(), runs, accept: None })
}

fn judged(config: &Config) -> Vec<String> {
    if config.metrics.is_empty() {
        return vec![JUDGED_BY_DEFAULT.to_owned()];
    }
    config.metrics.iter().map(|metric| metric.name.clone()).collect()
}

fn bare(command: &BareCommand, overrides: &Overrides) -> Result<Job, PlanError> {
    let (run, name) = match command {
        BareCommand::Argv(argv) => (Command::Argv(argv.clone()), stem::job_name(argv)),
        BareCommand::Shell(line) => (Command::Shell(line.clone()), stem::job_name_of_line(line)),
    };
    if run.is_empty() {
        return Err(PlanError::EmptyCommand);
    }
    if let Some((name, _)) = overrides.params.first() {
        return Err(PlanError::ParamOfBareCommand { name: shown(name) });
    }
    let name = match &overrides.job {
        Some(name) if is_job_name(name) => name.clone(),
        Some(name) => return Err(PlanError::BadName { kind: "job", name: shown(name) }),
        None => name,
    };
    let job = Job::bare(&name, run);
    Ok(with_steps(vec![job.clone()], &overrides.steps)?.pop().unwrap_or(job))
}

fn selected(config: &Config, overrides: &Overrides, facts: &Facts) -> Result<Vec<Job>, PlanError> {
    let Some(name) = &overrides.job else {
        if config.jobs.is_empty() {
            return Err(PlanError::NothingToRun);
        }
        let started = config.jobs.iter().filter(|job| job.is_started_by(&facts.event));
        return Ok(started.cloned().collect());
    };
    let found = config.jobs.iter().find(|job| job.name.eq_ignore_ascii_case(name));
    let known = || config.jobs.iter().map(|job| job.name.as_str());
    match found {
        Some(job) => Ok(vec![job.clone()]),
        None => Err(PlanError::UnknownJob {
            name: shown(name),
            nearest: nearest(name, known()).map(str::to_owned),
            known: known().map(str::to_owned).collect(),
        }),
    }
}

/// Keeps only the named steps, and only jobs that have one of them.
fn with_steps(jobs: Vec<Job>, wanted: &[String]) -> Result<Vec<Job>, PlanError> {
    if wanted.is_empty() || jobs.is_empty() {
        return Ok(jobs);
    }
    let is_wanted = |name: &str| wanted.iter().any(|step| step.eq_ignore_ascii_case(name));
    let known: Vec<_> =
        jobs.iter().flat_map(|job| &job.steps).map(|step| step.name.clone()).collect();
    let unknown =
        wanted.iter().find(|step| !known.iter().any(|one| one.eq_ignore_ascii_case(step)));
    if let Some(name) = unknown {
        return Err(PlanError::UnknownStep {
            name: shown(name),
            nearest: nearest(name, known.iter().map(String::as_str)).map(str::to_owned),
            known,
        });
    }
    let mut jobs = jobs;
    for job in &mut jobs {
        job.steps.retain(|step| is_wanted(&step.name));
    }
    jobs.retain(|job| !job.steps.is_empty());
    Ok(jobs)
}

fn check_params(jobs: &[Job], overrides: &Overrides) -> Result<(), PlanError> {
    let known: Vec<_> =
        jobs.iter().flat_map(|job| &job.params).map(|param| param.name.as_str()).collect();
    match overrides.params.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        // Where nothing runs, nothing is wrong with its params.
        Some((name, _)) if !jobs.is_empty() => Err(PlanError::UnknownParam {
            name: shown(name),
            nearest: nearest(name, known.iter().copied()).map(str::to_owned),
            known: known.into_iter().map(str::to_owned).collect(),
        }),
        _ => Ok(()),
    }
}

fn planned(job: Job, overrides: &Overrides, judged: &[String]) -> Result<PlannedRun, PlanError> {
    let params = params(&job, overrides)?;
    let profiler = overrides.profiler.unwrap_or(job.profiler);
    let profiler_args =
        overrides.profiler_args.clone().unwrap_or_else(|| job.profiler_args.clone());
    check_profiler(&job, profiler, &profiler_args)?;
    let repetitions = overrides.repetitions.unwrap_or(job.repetitions);
    if repetitions == 0 {
        return Err(PlanError::NoRepetitions);
    }
    let warmups = overrides.warmups.unwrap_or(job.warmups);
    for (what, asked) in [("repetitions", repetitions), ("warm-ups", warmups)] {
        if asked > REPETITIONS_MAX {
            return Err(PlanError::TooOften { what, asked });
        }
    }
    let machine = overrides.machine.clone().or(job.machine);
    if let Some(name) = machine.as_deref().filter(|name| !is_metric_name(name)) {
        return Err(PlanError::BadName { kind: "machine group", name: shown(name) });
    }
    let tag = job.tag.as_deref().map(|tag| render::tag(tag, &params));
    let flags = job.params.iter().filter_map(|decl| Some((decl.name.clone(), decl.flag.clone()?)));
    let spec = JobSpec {
        verbatim: matches!(overrides.command, Some(BareCommand::Argv(_))),
        setup: overrides.setup.clone().or(job.setup),
        prepare: job.prepare,
        cwd: job.cwd,
        env: job.env,
        env_pass: job.env_pass,
        flags: flags.collect(),
        collect: job.collect,
        keep: job.keep,
        read: job.read,
        count: job.count,
        repetitions,
        warmups,
        timeout: overrides.timeout.or(job.timeout),
        total_timeout: job.total_timeout,
        profiler,
        profiler_args,
        machine,
        workload: job.workload,
        judged: judged.to_vec(),
        steps: job.steps,
        name: job.name,
    };
    Ok(PlannedRun { job: spec, params, tag, additional: overrides.additional.clone() })
}

/// At least one step must be such that the profiler can follow it, as far as that can be told
/// before a shell, or a look at the program, says more.
fn check_profiler(job: &Job, profiler: Profiler, args: &[String]) -> Result<(), PlanError> {
    if !profiler.is_started() || profiler == Profiler::Perf {
        return Ok(());
    }
    let wrapping = Wrapping { profiler, args, major: None, output: "" };
    let mut first = None;
    for step in &job.steps {
        let why = match wrap::program(&step.run) {
            Ok(Program::Python) => wrap::wrap(&step.run, &wrapping).err(),
            Ok(Program::Named(_) | Program::Unknown) => None,
            Err(why) => Some(why),
        };
        let Some(why) = why else { return Ok(()) };
        first.get_or_insert(PlanError::Profiler {
            job: job.name.clone(),
            step: step.name.clone(),
            profiler: profiler.as_str(),
            why,
        });
    }
    first.map_or(Ok(()), Err)
}

/// The job's params with the values asked for; the last one of a name counts.
fn params(job: &Job, overrides: &Overrides) -> Result<BTreeMap<String, Param>, PlanError> {
    let mut params = BTreeMap::new();
    for decl in &job.params {
        let asked = overrides.params.iter().rev().find(|(name, _)| *name == decl.name);
        let value = match asked {
            Some((_, text)) => decl
                .read(text)
                .map_err(|source| PlanError::Param { job: job.name.clone(), source })?,
            None => decl.default.clone(),
        };
        let param = Param { value, default: Some(decl.default.clone()), identity: decl.identity };
        params.insert(decl.name.clone(), param);
    }
    Ok(params)
}
