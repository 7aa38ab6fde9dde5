//! Decides whether to run and what, and pins the commit.

use std::path::PathBuf;

use super::super::failure::{ExitCode, Failure};
use super::super::gate::{self as shared, Wants, is_measured, payload};
use super::super::run::{additional, params, profiler, timeout, variant};
use super::{OUTPUT, Step, broken};
use crate::app::run::{self as app, Prepared, Request};
use crate::app::watch::Watch;
use crate::config::Command;
use crate::config::overrides::{BareCommand, Overrides};
use crate::measure::MeterKind;
use crate::model::names::CommitSha;
use crate::plan::Plan;
use crate::source::git;
use crate::trigger::{self, Asked, Decision, Trigger, TriggerError};

/// What the gate decided.
pub(super) enum Gated {
    /// Run this.
    Run(Box<Prepared>),
    /// Nothing, for this reason.
    Nothing {
        /// Why.
        reason: String,
    },
}

/// Only decides: for jobs of their own that measure and publish. Needs no checkout, and decides on
/// more events than one step may do everything for.
pub(super) fn only(step: &Step) -> Result<u8, Failure> {
    let request = request(step, &Asked::default())?;
    let own = |name: &str| step.inputs.get(name).map(str::to_owned);
    let decision = shared::decide(
        &Wants {
            edge: &step.edge,
            publisher: &step.publisher,
            target: step.target(),
            word: own("comment-command").unwrap_or_else(|| "/profile".to_owned()),
            config: request.config,
            overrides: request.overrides,
            variant: request.variant,
            reference: own("ref"),
            token: own("github-token"),
        },
        &step.screen,
    )?;
    shared::tell(&decision, &step.files, &step.screen)?;
    Ok(ExitCode::Done as u8)
}

/// Reads the event and makes the plan, or says why not.
pub(super) fn gate(step: &Step) -> Result<Gated, Failure> {
    let event = step.texts.get("GITHUB_EVENT_NAME").map_or("", String::as_str);
    let trigger =
        trigger::read(event, &payload(step.texts.get("GITHUB_EVENT_PATH").map(String::as_str))?)
            .map_err(|error| not_here(&error))?;
    let asked = match &trigger {
        Trigger::Dispatch(asked) | Trigger::Repository(asked) => asked.clone(),
        Trigger::Schedule | Trigger::Push(_) => Asked::default(),
    };
    if let Trigger::Push(push) = &trigger
        && push.deleted
    {
        return nothing(step, "the push deleted its branch or tag".to_owned(), None);
    }
    let prepared = app::prepare(request(step, &asked)?)?;
    let head = prepared.plan.facts.commit.clone();
    let wanted = wanted(step, &asked)?;
    check_head(wanted.as_ref(), head.as_ref())?;
    if prepared.plan.runs.is_empty() {
        let reason = format!("no job of perftrail.toml is for the event `{event}`");
        return nothing(step, reason, head);
    }
    let changed = changed(step, &trigger, head.as_ref());
    match trigger::decide(&trigger, &prepared.config.triggers, changed.as_deref()) {
        Decision::Nothing(reason) => return nothing(step, reason, head),
        Decision::Run => {}
    }
    if trigger == Trigger::Schedule
        && prepared.config.triggers.skip_unchanged
        && is_measured(
            &step.publisher,
            &step.target(),
            &prepared.config,
            &prepared.plan,
            &step.screen,
        )
    {
        let reason = "a schedule has measured this commit already".to_owned();
        return nothing(step, reason, head);
    }
    tell_run(step, &prepared.plan)?;
    prepared.remarks.iter().for_each(|remark| step.screen.detail(remark));
    Ok(Gated::Run(Box::new(prepared)))
}

/// The plan that another job made.
pub(super) fn planned(step: &Step, plan: &str) -> Result<Gated, Failure> {
    let mut request = request(step, &Asked::default())?;
    request.overrides = Overrides::default();
    request.plan = Some(plan_file(step, plan)?);
    let prepared = app::prepare(request)?;
    tell_run(step, &prepared.plan)?;
    Ok(Gated::Run(Box::new(prepared)))
}

/// The file of a plan that is given as JSON or as a path from the workspace.
pub(super) fn plan_file(step: &Step, plan: &str) -> Result<PathBuf, Failure> {
    if !plan.starts_with('{') {
        return Ok(step.edge.folder.join(plan));
    }
    let file = step.private.path().join("plan.json");
    std::fs::write(&file, plan).map_err(|error| Failure::new(ExitCode::Internal, &error))?;
    Ok(file)
}

fn not_here(error: &TriggerError) -> Failure {
    match error {
        TriggerError::SeparateJobs { .. } => Failure::new(ExitCode::NotAllowed, error).with_help(
            "use separate jobs on separate runners for it: one that measures and holds no secret \
             (`command: run`, or setup/action.yml and `perftrail run`), one that publishes \
             (`command: publish`); docs/action.md shows them",
        ),
        TriggerError::Unknown { .. } => Failure::new(ExitCode::NotAllowed, error),
        TriggerError::Payload { .. } => Failure::new(ExitCode::Usage, error),
    }
}

fn request(step: &Step, asked: &Asked) -> Result<Request, Failure> {
    let inputs = &step.inputs;
    let own = |name: &str| inputs.get(name).map(str::to_owned);
    // Inputs count more than what the event asks for; of a param the last one counts.
    let given = [asked.params.clone(), inputs.lines("params")].concat();
    let repetitions = inputs.get("repetitions").map(|text| {
        text.parse().map_err(|_| {
            Failure::usage("the input `repetitions` is no number").with_help("write 1 or more")
        })
    });
    Ok(Request {
        folder: step.edge.folder.clone(),
        config: inputs.get("config").map(PathBuf::from),
        plan: None,
        overrides: Overrides {
            job: own("job").or_else(|| asked.job.clone()),
            command: own("run").map(BareCommand::Shell),
            params: params(&given)?,
            setup: own("setup").map(Command::Shell),
            repetitions: repetitions.transpose()?,
            timeout: timeout(inputs.get("timeout"))?,
            profiler: profiler(inputs.get("profiler"))?,
            machine: own("machine"),
            additional: additional(&inputs.lines("additional-stats"))?,
            ..Overrides::default()
        },
        output: PathBuf::from(OUTPUT),
        variant: variant(own("variant").as_ref())?,
        variables: step.edge.variables.clone(),
        meter: MeterKind::best(),
        clock: step.edge.clock,
        import: None,
    })
}

/// The commit that is to be measured; `None` outside Actions, where it is the one that is there.
fn wanted(step: &Step, asked: &Asked) -> Result<Option<CommitSha>, Failure> {
    let named = step.inputs.get("ref").or(asked.reference.as_deref());
    let name = named.or_else(|| step.texts.get("GITHUB_SHA").map(String::as_str));
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(None) };
    let found = CommitSha::parse(name).or_else(|| git::resolve(&step.edge.folder, name));
    found.map(Some).ok_or_else(|| {
        not_allowed(format!(
            "there is no `{}` in the workspace's repository",
            crate::model::text::shown(name)
        ))
    })
}

fn not_allowed(message: String) -> Failure {
    Failure { code: ExitCode::NotAllowed, message, causes: Vec::new(), help: None }.with_help(
        "check out what is to be measured before this step: `uses: actions/checkout` with the same `ref`",
    )
}

fn check_head(wanted: Option<&CommitSha>, head: Option<&CommitSha>) -> Result<(), Failure> {
    match (wanted, head) {
        (None, _) => Ok(()),
        (Some(wanted), Some(head)) if wanted == head => Ok(()),
        (Some(wanted), Some(head)) => Err(not_allowed(format!(
            "commit {} is to be measured, but {} is checked out",
            wanted.short(),
            head.short()
        ))),
        (Some(wanted), None) => Err(not_allowed(format!(
            "commit {} is to be measured, but the workspace holds no repository with a commit",
            wanted.short()
        ))),
    }
}

fn changed(step: &Step, trigger: &Trigger, head: Option<&CommitSha>) -> Option<Vec<String>> {
    match (trigger, head) {
        (Trigger::Push(push), Some(head)) => {
            git::changed_between(&step.edge.folder, push.before.as_ref()?, head)
        }
        _ => None,
    }
}

fn nothing(step: &Step, reason: String, commit: Option<CommitSha>) -> Result<Gated, Failure> {
    let outputs = [
        ("action", "none".to_owned()),
        ("run", "false".to_owned()),
        ("reason", reason.clone()),
        ("commit", commit.map(|sha| sha.to_string()).unwrap_or_default()),
    ];
    step.files.outputs(&outputs).map_err(|error| broken(&error))?;
    Ok(Gated::Nothing { reason })
}

fn tell_run(step: &Step, plan: &Plan) -> Result<(), Failure> {
    let json = |error: serde_json::Error| Failure::new(ExitCode::Internal, &error);
    let commit = plan.facts.commit.as_ref().map(ToString::to_string).unwrap_or_default();
    let outputs = [
        ("action", "run".to_owned()),
        ("run", "true".to_owned()),
        ("reason", String::new()),
        ("plan", serde_json::to_string(plan).map_err(json)?),
        ("commit", commit),
        ("key", plan.key()),
    ];
    step.files.outputs(&outputs).map_err(|error| broken(&error))
}
