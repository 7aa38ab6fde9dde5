//! The record of a run before anything was measured: all that is known by then.

use std::collections::BTreeMap;

use crate::model::param::Param;
use crate::model::status::{Identity, Status};
use crate::plan::{self, PlannedRun};
use crate::record::{
    Commit, Environment, Machine, Overhead, Profiler, Record, Repetitions, Repository, Run, SCHEMA,
    Tool, Trigger,
};

/// What is true of every run of a plan.
#[derive(Clone, Debug)]
pub(in crate::app) struct Facts {
    /// The repository whose program runs.
    pub repository: Repository,
    /// Its commit.
    pub commit: Commit,
    /// What started us.
    pub trigger: Trigger,
    /// How the identity is known.
    pub identity: Identity,
    /// Where we are.
    pub machine: Machine,
    /// How processes are measured.
    pub meter: &'static str,
}

/// The record of `planned` as it stands when perftrail dies right now: `interrupted`.
pub(in crate::app) fn record(
    facts: &Facts,
    plan: &plan::Facts,
    planned: &PlannedRun,
    id: String,
    environment: Environment,
) -> Record {
    let job = &planned.job;
    Record {
        schema: SCHEMA,
        run: Run {
            id,
            job: job.name.clone(),
            tag: planned.tag.clone(),
            workload: job.workload,
            variant: plan.variant.clone(),
            status: Status::Interrupted,
            exit_code: None,
            planned: plan.planned,
            started: None,
            ended: None,
            repetitions: Repetitions {
                planned: job.repetitions,
                completed: 0,
                warmups: job.warmups,
            },
            digest: None,
            identity: facts.identity,
            judged: job.judged.clone(),
        },
        repository: facts.repository.clone(),
        commit: facts.commit.clone(),
        trigger: facts.trigger.clone(),
        machine: facts.machine.clone(),
        environment,
        tool: Tool {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            meter: facts.meter.to_owned(),
            profiler: Profiler {
                name: job.profiler.as_str().to_owned(),
                version: None,
                args: job.profiler_args.clone(),
            },
        },
        params: params(planned),
        metrics: BTreeMap::new(),
        unavailable: BTreeMap::new(),
        steps: Vec::new(),
        phases: Vec::new(),
        series: Vec::new(),
        profiles: Vec::new(),
        functions: Vec::new(),
        extra: planned
            .additional
            .iter()
            .map(|(name, value)| (name.clone(), value.clone().into()))
            .collect(),
        files: Vec::new(),
        disturbances: Vec::new(),
        notices: Vec::new(),
        overhead: Overhead::default(),
        comparison: None,
        amended: Vec::new(),
    }
}

/// The declared inputs. A command typed after `--` declares none: the command itself says what ran,
/// and runs of another one belong to another history.
fn params(planned: &PlannedRun) -> BTreeMap<String, Param> {
    let mut params = planned.params.clone();
    if planned.job.verbatim {
        let steps: Vec<String> = planned.job.steps.iter().map(|step| step.run.text()).collect();
        let value = steps.join("; ").into();
        params.insert("command".to_owned(), Param { value, default: None, identity: true });
    }
    params
}
