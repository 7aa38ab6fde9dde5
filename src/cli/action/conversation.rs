//! What people are told outside this step: comment, status, check, issue.

use super::Step;
use super::published::{Outcome, Run};
use super::told;
use crate::actions::Actions;
use crate::app::conversation::{About, Conversation};
use crate::app::runs::{self, FoundRun};
use crate::app::watch::Watch;
use crate::config::ReportOptions;
use crate::github::{Client, RealPause, Settings, Token};
use crate::model::names::CommitSha;
use crate::report::against::{self, Findings, FunctionRules, Side};
use crate::report::comment::Ended;
use crate::results::Results;

/// A pull request that runs belong to.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Its number.
    pub(super) number: u64,
    /// The measured commit: as planned, whatever a bundle says.
    pub(super) commit: CommitSha,
}

/// Tells of each run, where there is somebody to tell: the pull request, and where it is
/// configured an issue. What GitHub refuses is a warning and changes nothing.
pub(super) fn finish(
    step: &Step,
    outcome: &Outcome,
    results: Option<&Results>,
    options: ReportOptions,
    asked: Option<&Asked>,
) {
    if asked.is_none() && !options.open_issue {
        return;
    }
    let Some(actions) = Actions::from_variables(&step.texts) else { return };
    let client = match client(step) {
        Ok(client) => client,
        Err(why) => {
            return step.screen.warn(&format!("no comment and no status: {why}"));
        }
    };
    let conversation = Conversation::new(&client, &actions.owner, &actions.name, options);
    let workflow = actions.trigger().run_url;
    for run in &outcome.runs {
        for trouble in tell(&conversation, run, outcome, results, asked, workflow.as_deref()) {
            step.screen.warn(&trouble);
        }
    }
}

/// A client with the token for comments and statuses.
pub(super) fn client(step: &Step) -> Result<Client, String> {
    let token = step.inputs.get("github-token").ok_or("the input `github-token` is empty")?;
    let mut settings = Settings::from_variables(&step.texts).map_err(|error| error.to_string())?;
    settings.token = Some(Token::new(token).map_err(|error| error.to_string())?);
    Client::new(settings, RealPause).map_err(|error| error.to_string())
}

fn tell(
    conversation: &Conversation<'_>,
    run: &Run,
    outcome: &Outcome,
    results: Option<&Results>,
    asked: Option<&Asked>,
    workflow: Option<&str>,
) -> Vec<String> {
    let record = &run.found.record.record;
    let Some(commit) = asked.map(|asked| &asked.commit).or(record.commit.sha.as_ref()) else {
        return Vec::new();
    };
    let findings = results.and_then(|results| findings(run, results));
    let ended = Ended {
        page: told::page(run),
        findings: findings.as_ref(),
        links: told::links(run, outcome, workflow),
    };
    let about = About {
        job: &record.run.job,
        variant: record.run.variant.as_deref(),
        commit,
        pull_request: asked.map(|asked| asked.number),
        workflow,
    };
    conversation.finish(&about, &ended)
}

/// The run laid on the one that its numbers stand beside.
fn findings(run: &Run, results: &Results) -> Option<Findings> {
    fn side(found: &FoundRun) -> Side<'_> {
        Side { record: &found.record.record, profiles: &found.profiles }
    }
    let earlier = run.found.earlier.as_ref().ok()?;
    let before =
        runs::find(&earlier.path, Some(results), &crate::analysis::verdict::Judging::default());
    let before = before.ok()?;
    Some(against::findings(side(&before), side(&run.found), &FunctionRules::default()))
}
