//! Events that only people with write access cause, without a checkout.

use super::{Configured, Decision, Gate, GateError, configuration};
use crate::config::overrides::param_pair;
use crate::model::names::CommitSha;
use crate::model::text::shown;
use crate::plan;
use crate::trigger::{self, Decision as Decided, Push, Trigger};

/// Decides on a dispatch, a schedule or a push.
pub(super) fn decide(gate: &Gate<'_>, trigger: &Trigger) -> Result<Decision, GateError> {
    let asked = match trigger {
        Trigger::Dispatch(asked) | Trigger::Repository(asked) => asked.clone(),
        Trigger::Schedule | Trigger::Push(_) => trigger::Asked::default(),
    };
    let commit = commit(gate, asked.reference.as_deref())?;
    // Another commit than the one that is checked out has another configuration.
    let checkout = gate.asked.checkout.as_ref().filter(|checkout| checkout.head == commit);
    let Configured { config, missing } = match checkout {
        Some(checkout) => Configured { config: checkout.config.clone(), missing: None },
        None => configuration(&gate.here()?, gate.asked.config, &commit)?,
    };
    let mut overrides = gate.asked.overrides.clone();
    overrides.job = overrides.job.or(asked.job);
    let params = asked.params.iter().map(|text| param_pair(text));
    let params = params.collect::<Result<Vec<_>, _>>().map_err(GateError::Params)?;
    overrides.params = [params, overrides.params].concat();
    let plan = plan::make(&config, &overrides, &gate.facts(commit.clone()))?;
    let changed = match trigger {
        Trigger::Push(Push { before: Some(before), .. })
            if !config.triggers.skip_when_only.is_empty() =>
        {
            match checkout.and_then(|checkout| (checkout.changed_since)(before)) {
                Some(paths) => Some(paths),
                // What is not known never keeps a run from happening.
                None => gate
                    .here()
                    .ok()
                    .and_then(|here| here.changed_between(before, &commit).ok())
                    .filter(|changed| changed.complete)
                    .map(|changed| changed.paths),
            }
        }
        _ => None,
    };
    let not = |reason: String| Decision {
        config: Some(config.clone()),
        ..Decision::nothing(reason).about(&commit)
    };
    if let Decided::Nothing(reason) = trigger::decide(trigger, &config.triggers, changed.as_deref())
    {
        return Ok(not(reason));
    }
    if *trigger == Trigger::Schedule
        && config.triggers.skip_unchanged
        && (gate.asked.is_measured)(&config, &plan)
    {
        return Ok(not("a schedule has measured this commit already".to_owned()));
    }
    Ok(Decision { warnings: missing.into_iter().collect(), ..Decision::run(plan, config) })
}

/// The commit that is to be measured: the workflow's choice, else the dispatch's, else the event's.
fn commit(gate: &Gate<'_>, asked: Option<&str>) -> Result<CommitSha, GateError> {
    let checkout = gate.asked.checkout.as_ref();
    let reference = match (gate.asked.reference.or(asked).or(gate.asked.sha), checkout) {
        (Some(reference), _) => reference,
        (None, Some(checkout)) => return Ok(checkout.head.clone()),
        (None, None) => "HEAD",
    };
    let there = || (checkout?.resolve)(reference);
    if let Some(commit) = CommitSha::parse(reference).or_else(there) {
        return Ok(commit);
    }
    gate.here()?.commit_of(reference)?.ok_or_else(|| GateError::NoCommit {
        reference: shown(reference),
        owner: gate.asked.owner.to_owned(),
        name: gate.asked.name.to_owned(),
    })
}
