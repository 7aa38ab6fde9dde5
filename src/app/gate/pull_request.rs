//! Pull requests without a comment, and what their runs left to be published.

use super::{Configured, Decision, Gate, GateError, Outcome, Withdrawn, configuration};
use crate::github::PullRequest;
use crate::plan::{self, Facts, MeasuredBy};
use crate::trigger::Decision as Decided;
use crate::trigger::approve::Origin;
use crate::trigger::payload::{PullRequestEvent, WorkflowRun};
use crate::trigger::pull_request::{ACTIONS, Standing, decide as hold, only_skipped};

/// Decides on something that happened to a pull request.
pub(super) fn decide(gate: &Gate<'_>, event: &PullRequestEvent) -> Result<Decision, GateError> {
    if !ACTIONS.contains(&event.action.as_str()) {
        let action = crate::model::text::shown(&event.action);
        return Ok(Decision::nothing(format!("a pull request that was {action} starts nothing")));
    }
    let pull = gate.here()?.pull_request(event.number)?;
    of_event(gate, event, &pull, |facts| facts)
}

/// Decides what is to be published of a workflow that ran for a pull request. It could write
/// whatever it wanted, so that all of this is found out anew.
pub(super) fn publish(gate: &Gate<'_>, run: &WorkflowRun) -> Result<Decision, GateError> {
    if run.action != "completed" || run.event != "pull_request" {
        return Ok(Decision::nothing("the workflow did not end a run for a pull request"));
    }
    let Some(place) = &run.head_repository else {
        let reason = "the repository that the pull request comes from is gone";
        return Ok(withdrawn(run, None, Decision::nothing(reason).about(&run.head)));
    };
    let pulls = gate.here()?.pull_requests_of(place, &run.head_branch)?;
    // One that was merged or closed meanwhile has been measured all the same.
    let at_head = || pulls.iter().filter(|pull| pull.head == run.head);
    let Some(pull) = at_head().find(|pull| pull.open).or_else(|| at_head().next()) else {
        let head = run.head.short();
        let reason = format!("no pull request stands at {head} any more");
        let pull = pulls.iter().find(|pull| pull.open).or(pulls.first());
        return Ok(withdrawn(run, pull, Decision::nothing(reason).about(&run.head)));
    };
    let pull = PullRequest { open: true, ..pull.clone() };
    let event = PullRequestEvent {
        action: "synchronize".to_owned(),
        number: pull.number,
        head: run.head.clone(),
        label: None,
    };
    let decision = of_event(gate, &event, &pull, |facts| Facts {
        event: run.event.clone(),
        run_number: Some(run.run_number),
        planned: run.began,
        measured_by: Some(MeasuredBy {
            run_id: run.run_id,
            attempt: run.attempt,
            run_number: run.run_number,
            actor: run.actor.clone(),
            succeeded: run.succeeded,
        }),
        ..facts
    })?;
    Ok(withdrawn(run, Some(&pull), decision))
}

/// Takes back what was said of a workflow while it ran, when nothing of it is published.
fn withdrawn(run: &WorkflowRun, pull: Option<&PullRequest>, decision: Decision) -> Decision {
    let is_nothing = matches!(decision.outcome, Outcome::Nothing(_));
    let withdrawn = is_nothing.then(|| Withdrawn {
        run_id: run.run_id,
        commit: run.head.clone(),
        pull_request: pull.map(|pull| pull.number),
    });
    Decision { withdrawn, ..decision }
}

fn of_event(
    gate: &Gate<'_>,
    event: &PullRequestEvent,
    pull: &PullRequest,
    with: impl FnOnce(Facts) -> Facts,
) -> Result<Decision, GateError> {
    let here = gate.here()?;
    let Configured { config, missing } = configuration(&here, gate.asked.config, &pull.base)?;
    let now = Standing {
        open: pull.open,
        draft: pull.draft,
        head: pull.head.clone(),
        base_branch: pull.base_ref.clone(),
        labels: pull.labels.clone(),
    };
    let not =
        |reason: String| Decision { config: Some(config.clone()), ..Decision::nothing(reason) };
    if let Decided::Nothing(reason) = hold(event, &now, &config.triggers) {
        return Ok(not(reason).about(&pull.head));
    }
    if origin(pull, &gate.slug()) == Origin::Gone {
        let reason = "the repository that the pull request comes from is gone".to_owned();
        return Ok(not(reason).about(&pull.head));
    }
    if !config.triggers.skip_when_only.is_empty() {
        let changed = here.changed_files(pull.number)?;
        if let Some(reason) = only_skipped(&changed.paths, changed.complete, &config.triggers) {
            return Ok(not(reason).about(&pull.head));
        }
    }
    let mut facts = with(gate.facts(pull.head.clone()));
    facts.pull_request = Some(of_pull(pull, &gate.slug()));
    if gate.asked.overrides.command.is_none()
        && !config.jobs.iter().any(|job| job.is_started_by("pull_request"))
    {
        let reason = "no job of the configuration is for pull requests";
        let warnings = missing.into_iter().collect();
        return Ok(Decision { warnings, ..not(reason.to_owned()).about(&pull.head) });
    }
    let plan = plan::make(&config, gate.asked.overrides, &facts)?;
    Ok(Decision { warnings: missing.into_iter().collect(), ..Decision::run(plan, config) })
}

/// Where the branch of a pull request into `here` lies.
pub(super) fn origin(pull: &PullRequest, here: &str) -> Origin {
    match &pull.head_repository {
        None => Origin::Gone,
        Some(place) if place.eq_ignore_ascii_case(here) => Origin::Branch,
        Some(_) => Origin::Fork,
    }
}

/// What a plan says of a pull request into `here`.
pub(super) fn of_pull(pull: &PullRequest, here: &str) -> plan::PullRequest {
    plan::PullRequest {
        number: pull.number,
        head: pull.head.clone(),
        head_branch: pull.head_ref.clone(),
        head_repository: pull.head_repository.clone(),
        is_fork: origin(pull, here) != Origin::Branch,
        base: pull.base.clone(),
        base_branch: pull.base_ref.clone(),
        comment: None,
        against: None,
    }
}
