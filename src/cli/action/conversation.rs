//! What people are told outside this step: comment, status, check, issue.

use std::collections::BTreeSet;

use super::super::failure::Failure;
use super::super::screen::Screen;
use super::super::{compare, publish};
use super::Step;
use super::published::{Outcome, Run};
use super::told;
use crate::actions::Actions;
use crate::analysis::verdict::Judging;
use crate::app::conversation::{About, Conversation};
use crate::app::runs::{self, FoundRun};
use crate::app::watch::Watch;
use crate::config::Config;
use crate::model::text::shown;
use crate::plan::{Against, Plan};
use crate::report::against::Findings;
use crate::report::comment::Ended;
use crate::results::Results;

/// Who is told, and how loudly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Telling<'a> {
    /// The configuration that counts for publishing.
    pub(super) config: &'a Config,
    /// The plan of a gate; `None` where this step made its own.
    pub(super) plan: Option<&'a Plan>,
}

/// A run beside another one.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// What changed; `None` where there is no other run.
    pub(super) findings: Option<Findings>,
    /// What people should know of it; empty: nothing.
    pub(super) note: String,
}

impl Telling<'_> {
    fn is_wanted(&self) -> bool {
        self.is_of_pull_request() || self.config.report.open_issue
    }

    fn is_of_pull_request(&self) -> bool {
        self.plan.is_some_and(|plan| plan.facts.pull_request.is_some())
    }

    fn against(&self) -> Option<&Against> {
        self.plan?.facts.pull_request.as_ref()?.against.as_ref()
    }

    /// Lays a published run on the one that the plan names, else on the one that its numbers stand
    /// beside. What comes of the first is said in the log too.
    pub(super) fn beside(
        &self,
        found: &FoundRun,
        path: &str,
        results: Option<&Results>,
        screen: &Screen,
    ) -> Beside {
        let Some(results) = results.filter(|_| self.is_wanted()) else { return Beside::default() };
        let Some(against) = self.against() else {
            return Beside { findings: self.earlier(found, results), note: String::new() };
        };
        let laid = compare::with_stored(against, found, results, self.config);
        publish::say_against(against, path, &laid, screen);
        let (name, commit) = (shown(&against.reference), against.commit.short());
        let note = match &laid {
            Ok(Some(_)) => format!("Against {name}, commit {commit}:"),
            Ok(None) => {
                format!("Against {name}: nothing stored of this job for commit {commit}.")
            }
            Err(why) => format!("Against {name}: cannot be compared: {why}."),
        };
        Beside { findings: laid.ok().flatten(), note }
    }

    fn earlier(&self, found: &FoundRun, results: &Results) -> Option<Findings> {
        let line = found.earlier.as_ref().ok()?;
        let before = runs::find(&line.path, Some(results), &Judging::default()).ok()?;
        Some(compare::findings(&before, found, self.config))
    }
}

/// Tells of each run, where there is somebody to tell: the pull request, and where it is
/// configured an issue. `why` is why nothing at all was published. What GitHub refuses is a warning
/// and changes nothing.
pub(super) fn finish(step: &Step, outcome: &Outcome, telling: &Telling<'_>, why: Option<&str>) {
    if !telling.is_wanted() {
        return;
    }
    let Some(actions) = Actions::from_variables(&step.texts) else { return };
    let client = match super::super::gate::client(&step.texts, step.inputs.get("github-token")) {
        Ok(client) => client,
        Err(failure) => {
            let why = failure.message;
            return step.screen.warn(&format!("nobody is told on GitHub: {why}"));
        }
    };
    let talk = Conversation::new(&client, &actions.owner, &actions.name, telling.config.report);
    let workflow = actions.trigger().run_url;
    let published = || outcome.runs.iter().filter(|run| run.path.is_some());
    for run in published() {
        warn(step, &tell(&talk, run, outcome, telling, workflow.as_deref()));
    }
    let Some(plan) = telling.plan else { return };
    let is_told = |job: &str| published().any(|run| run.found.record.record.run.job == job);
    for planned in plan.runs.iter().filter(|planned| !is_told(&planned.job.name)) {
        if let Some(about) = about(&planned.job.name, plan, workflow.as_deref()) {
            warn(step, &talk.fail(&about, &reason(outcome, why)));
        }
    }
}

/// Tells whoever accepted a metric's new level in a comment what came of it.
pub(super) fn accepted(step: &Step, plan: &Plan, config: &Config, done: Result<&String, &Failure>) {
    let Some(pull) = &plan.facts.pull_request else { return };
    let Some(asked) = &pull.comment else { return };
    let Some(actions) = Actions::from_variables(&step.texts) else { return };
    let what = done.map(String::as_str).map_err(|failure| failure.message.as_str());
    let troubles = match super::super::gate::client(&step.texts, step.inputs.get("github-token")) {
        Ok(client) => Conversation::new(&client, &actions.owner, &actions.name, config.report)
            .accepted(pull.number, asked.id, what),
        Err(failure) => vec![format!("nobody is told on GitHub: {}", failure.message)],
    };
    warn(step, &troubles);
}

fn warn(step: &Step, troubles: &[String]) {
    for trouble in troubles {
        step.screen.warn(trouble);
    }
}

fn reason(outcome: &Outcome, why: Option<&str>) -> String {
    match (why, refused(outcome).as_slice()) {
        (Some(why), _) => why.to_owned(),
        (None, []) => "nothing came of it".to_owned(),
        (None, reasons) => reasons.join("; "),
    }
}

/// Why bundles are not published, each reason once.
fn refused(outcome: &Outcome) -> Vec<String> {
    let refused = outcome.published.iter().flat_map(|published| &published.refused);
    let reasons: BTreeSet<String> = refused.map(|one| one.why.to_string()).collect();
    reasons.into_iter().collect()
}

/// What people should know beside the result: of the comparison, and that more came than was taken.
fn note(run: &Run, outcome: &Outcome) -> String {
    let refused = refused(outcome);
    let more = match refused.as_slice() {
        [] => String::new(),
        reasons => {
            format!("Something else that came with it is not published: {}.", reasons.join("; "))
        }
    };
    let both = [run.beside.note.as_str(), more.as_str()];
    both.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A run of the plan: commit and pull request are the plan's, whatever a bundle says.
fn about<'a>(job: &'a str, plan: &'a Plan, workflow: Option<&'a str>) -> Option<About<'a>> {
    Some(About {
        job,
        variant: plan.facts.variant.as_deref(),
        commit: plan.facts.commit.as_ref()?,
        pull_request: plan.facts.pull_request.as_ref().map(|pull| pull.number),
        workflow,
    })
}

fn tell(
    talk: &Conversation<'_>,
    run: &Run,
    outcome: &Outcome,
    telling: &Telling<'_>,
    workflow: Option<&str>,
) -> Vec<String> {
    let record = &run.found.record.record;
    let own = record.commit.sha.as_ref().map(|commit| About {
        job: &record.run.job,
        variant: record.run.variant.as_deref(),
        commit,
        pull_request: None,
        workflow,
    });
    let planned = telling.plan.and_then(|plan| about(&record.run.job, plan, workflow));
    let Some(about) = planned.or(own) else { return Vec::new() };
    let ended = Ended {
        page: told::page(run),
        findings: run.beside.findings.as_ref(),
        note: &note(run, outcome),
        links: told::links(run, outcome, workflow),
    };
    talk.finish(&about, &ended)
}
