//! What a step says of its runs: outputs for later steps, annotations, the summary.

use super::super::args::FailOn;
use super::super::command;
use super::super::failure::Failure;
use super::Step;
use super::published::{Outcome, Run};
use crate::actions::Actions;
use crate::actions::commands::{Level, annotation};
use crate::actions::files::SUMMARY_MAX;
use crate::analysis::verdict::Severity;
use crate::app::run::redactor;
use crate::app::watch::Watch;
use crate::record;
use crate::report::summary::{self, Links, Place, SummaryRun};
use crate::report::verdict as words;
use crate::report::{EarlierRun, LogTail, PagePlace, RunPageInput, Said};

/// GitHub shows no more annotations of a level from one step.
const ANNOTATIONS_MAX: usize = 10;

/// The failure that ends the step, as an annotation.
pub(super) fn failure(step: &Step, failure: &Failure) {
    if step.edge.is_in_actions() {
        let message = redactor(&step.edge.variables).text(&failure.message);
        command(&annotation(Level::Error, "perftrail", &message));
    }
}

/// Failed runs as errors; warnings, regressions and disturbances as warnings. A regression that
/// fails the step is an error.
pub(super) fn annotations(outcome: &Outcome, fail_on: FailOn) {
    let mut errors = Vec::new();
    let mut warnings = Vec::new();
    for run in &outcome.runs {
        let record = &run.found.record.record;
        let job = &record.run.job;
        if !run.is_success() {
            let code = record.run.exit_code.map(|code| format!(", exit code {code}"));
            let status = run.status().words();
            errors.push((job.clone(), format!("{job}: {status}{}", code.unwrap_or_default())));
        }
        for notice in &record.notices {
            match notice.level {
                record::Level::Error => errors.push((job.clone(), notice.message.clone())),
                record::Level::Warning => warnings.push((job.clone(), notice.message.clone())),
                record::Level::Info => {}
            }
        }
        if let Ok(verdict) = &run.found.verdict {
            let told = (job.clone(), words::line(verdict));
            match verdict.severity {
                Severity::Fails if fail_on == FailOn::Regressed => errors.push(told),
                Severity::Fails | Severity::Warns => warnings.push(told),
                Severity::Quiet => {}
            }
        }
        let disturbed = record.disturbed_by().map(|one| (job.clone(), one.message.clone()));
        warnings.extend(disturbed);
    }
    if let Some(published) = &outcome.published {
        for refused in &published.refused {
            errors.push(("not published".to_owned(), refused.why.to_string()));
        }
        warnings
            .extend(published.notices.iter().map(|text| ("publishing".to_owned(), text.clone())));
    }
    for (level, told) in [(Level::Error, errors), (Level::Warning, warnings)] {
        for (title, message) in told.iter().take(ANNOTATIONS_MAX) {
            command(&annotation(level, title, message));
        }
    }
}

/// Writes the summary. A page less is no reason to fail.
pub(super) fn summary(step: &Step, outcome: &Outcome) {
    if outcome.runs.is_empty() {
        return;
    }
    let workflow =
        Actions::from_variables(&step.texts).and_then(|actions| actions.trigger().run_url);
    let runs: Vec<SummaryRun<'_>> =
        outcome.runs.iter().map(|run| of_run(run, outcome, workflow.as_deref())).collect();
    let written = summary::summary(&runs, SUMMARY_MAX / 2)
        .map_err(|error| error.to_string())
        .and_then(|text| step.files.summary(&text).map_err(|error| error.to_string()));
    match written {
        Ok(true) => {}
        Ok(false) => step.screen.warn("no summary: the step's is full already"),
        Err(why) => step.screen.warn(&format!("no summary: {why}")),
    }
}

fn of_run<'a>(run: &'a Run, outcome: &'a Outcome, workflow: Option<&'a str>) -> SummaryRun<'a> {
    SummaryRun { page: page(run), history: &run.history, links: links(run, outcome, workflow) }
}

/// Where more about a run can be read.
pub(super) fn links<'a>(
    run: &'a Run,
    outcome: &'a Outcome,
    workflow: Option<&'a str>,
) -> Links<'a> {
    let folder = match &run.path {
        Some(path) => web(outcome, path).map_or(Place::Path(path), Place::Web),
        None => Place::Nowhere(outcome.why_not),
    };
    Links { folder, workflow }
}

fn web<'a>(outcome: &'a Outcome, path: &str) -> Option<&'a str> {
    outcome.links.iter().find(|(of, _)| of == path).map(|(_, url)| url.as_str())
}

/// What the pages of a run are made from.
pub(super) fn page(run: &Run) -> RunPageInput<'_> {
    RunPageInput {
        record: &run.found.record.record,
        series: &run.found.series,
        log_tail: LogTail::Absent("it is in the log of this step"),
        earlier: match &run.found.earlier {
            Ok(line) => EarlierRun::Found(line),
            Err(why) => EarlierRun::Absent(why),
        },
        verdict: match &run.found.verdict {
            Ok(verdict) => Said::Verdict(verdict),
            Err(why) => Said::Nothing(why),
        },
        place: PagePlace::Bundle,
        profiles: &run.found.profiles,
    }
}

/// The outputs that runs decide. Of several runs `status` and `job-exit-code` are those of the
/// first that did not succeed; paths and addresses stand one a line. A lost run has no bundle.
pub(super) fn outputs(outcome: &Outcome) -> Vec<(&'static str, String)> {
    let Some(first) = outcome.runs.first() else { return Vec::new() };
    let telling = outcome.runs.iter().find(|run| !run.is_success()).unwrap_or(first);
    let lines = |of: &dyn Fn(&Run) -> Option<String>| {
        outcome.runs.iter().filter_map(of).collect::<Vec<_>>().join("\n")
    };
    let code = telling.found.record.record.run.exit_code;
    let verdicts = lines(&|run| Some(summary::verdict(&page(run))));
    let confirm =
        outcome.runs.iter().any(|run| run.found.verdict.as_ref().is_ok_and(|found| found.confirm));
    vec![
        ("status", telling.status().as_str().to_owned()),
        ("job-exit-code", code.map(|code| code.to_string()).unwrap_or_default()),
        ("bundle", outcome.runs.iter().find(|run| !run.is_lost).map(folder).unwrap_or_default()),
        ("record", lines(&record_file)),
        ("run-path", lines(&|run| run.path.clone())),
        ("run-url", lines(&|run| web(outcome, run.path.as_ref()?).map(str::to_owned))),
        ("verdict", verdicts),
        ("confirm", confirm.to_string()),
    ]
}

/// The record in its bundle, from the workspace, which lies elsewhere for later steps.
fn record_file(run: &Run) -> Option<String> {
    let name = run.bundle.file_name()?.to_string_lossy();
    (!run.is_lost).then(|| format!("{}/{name}/{}", folder(run), record::layout::RECORD_FILE))
}

fn folder(run: &Run) -> String {
    let parent = run.bundle.parent().and_then(|path| path.file_name());
    parent.map_or_else(|| super::OUTPUT.to_owned(), |name| name.to_string_lossy().into_owned())
}
