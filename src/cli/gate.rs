//! `perftrail gate`, and the same as a step of a workflow.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::access;
use super::args::{GateArgs, ListFormat, Target as TargetArgs};
use super::destination::{self, texts};
use super::failure::{ExitCode, Failure};
use super::run::{params, variant};
use super::screen::{JobOutput, Screen};
use super::{Edge, print_json};
use crate::actions::Actions;
use crate::actions::files::Files;
use crate::app::conversation::{About, Conversation};
use crate::app::gate::{self as app, Asked, Checkout, Decision, GateError, Outcome};
use crate::app::runs::{self, Query};
use crate::app::watch::Watch;
use crate::config::{self, Config, Overrides};
use crate::github::{Client, Reaction, RealPause, Settings, Token};
use crate::model::names::CommitSha;
use crate::model::status::Status;
use crate::plan::{Plan, PullRequest};
use crate::record::canonical;
use crate::report::answer;
use crate::results::Results;
use crate::source::{configuration, git};
use crate::trigger::TriggerError;

/// A larger payload is not read: GitHub sends none.
const PAYLOAD_MAX: u64 = 32 << 20;

/// What whoever wrote the workflow wants of a gate.
pub(super) struct Wants<'a> {
    /// Where we are.
    pub(super) edge: &'a Edge,
    /// Whoever may read the results.
    pub(super) publisher: &'a Edge,
    /// Where the results are.
    pub(super) target: TargetArgs,
    /// The word that begins a command.
    pub(super) word: String,
    /// The configuration, where one is named.
    pub(super) config: Option<PathBuf>,
    /// What counts more than the event.
    pub(super) overrides: Overrides,
    /// Sets the runs apart.
    pub(super) variant: Option<String>,
    /// What is to be measured.
    pub(super) reference: Option<String>,
    /// May read the repository, and answer; `None`: that of the environment.
    pub(super) token: Option<String>,
}

/// The verb.
pub(super) fn gate(edge: &Edge, args: &GateArgs) -> Result<u8, Failure> {
    let screen = edge.screen(JobOutput::Kept);
    let texts = texts(edge);
    let wants = Wants {
        edge,
        publisher: edge,
        target: args.target.clone(),
        word: args.comment_command.clone(),
        config: args.config.clone(),
        overrides: Overrides {
            job: args.job.clone(),
            params: params(&args.param)?,
            repetitions: args.repetitions,
            machine: args.machine.clone(),
            ..Overrides::default()
        },
        variant: variant(args.variant.as_ref())?,
        reference: args.reference.clone(),
        token: None,
    };
    let decision = decide(&wants, &screen)?;
    tell(&decision, &Files::from_variables(&texts), &screen)?;
    if args.format == ListFormat::Json {
        print_json(&as_json(&decision)?)?;
    }
    Ok(ExitCode::Done as u8)
}

/// Decides on the event that started this step.
pub(super) fn decide(wants: &Wants<'_>, screen: &Screen) -> Result<Decision, Failure> {
    let texts = texts(wants.edge);
    let text = |name: &str| texts.get(name).map(String::as_str).filter(|text| !text.is_empty());
    let (Some(event), Some(repository)) = (text("GITHUB_EVENT_NAME"), text("GITHUB_REPOSITORY"))
    else {
        return Err(Failure::usage("there is no event to decide on").with_help(
            "a gate is a step of a workflow, which sets GITHUB_EVENT_NAME, GITHUB_EVENT_PATH and \
             GITHUB_REPOSITORY",
        ));
    };
    let Some((owner, name)) = repository.split_once('/') else {
        return Err(Failure::usage("GITHUB_REPOSITORY is not `owner/name`"));
    };
    let github = settings(&texts, wants.token.as_deref())?;
    let payload = payload(text("GITHUB_EVENT_PATH"))?;
    let is_measured = |config: &Config, plan: &Plan| {
        is_measured(wants.publisher, &wants.target, config, plan, screen)
    };
    let checked_out = checked_out(wants, event)?;
    let resolve = |name: &str| git::resolve(&wants.edge.folder, name);
    let changed_since = |before: &CommitSha| {
        let (head, _) = checked_out.as_ref()?;
        git::changed_between(&wants.edge.folder, before, head)
    };
    let checkout = checked_out.as_ref().map(|(head, config)| Checkout {
        head: head.clone(),
        config,
        resolve: &resolve,
        changed_since: &changed_since,
    });
    let path = wants.config.as_ref().map(|path| path.to_string_lossy().into_owned());
    app::decide(&Asked {
        event,
        payload: &payload,
        owner,
        name,
        word: &wants.word,
        config: path.as_deref().unwrap_or(config::FILE),
        overrides: &wants.overrides,
        variant: wants.variant.as_deref(),
        run_number: Actions::from_variables(&texts).and_then(|actions| actions.run_number),
        sha: text("GITHUB_SHA"),
        reference: wants.reference.as_deref(),
        now: wants.edge.clock.now(),
        github: &github,
        is_measured: &is_measured,
        checkout,
    })
    .map(|mut decision| {
        let told = tell_people(&github, (owner, name), &texts, &decision);
        decision.warnings.extend(told);
        decision
    })
    .map_err(|error| failure(&error))
}

/// Says under the pull request what was decided. Gives what could not be said.
fn tell_people(
    github: &Settings,
    (owner, name): (&str, &str),
    texts: &BTreeMap<String, String>,
    decision: &Decision,
) -> Vec<String> {
    let options = decision.config.as_ref().map(|config| config.report).unwrap_or_default();
    let with = |say: &dyn Fn(&Conversation<'_>) -> Vec<String>| match Client::new(
        github.clone(),
        RealPause::new(),
    ) {
        Ok(client) => say(&Conversation::new(&client, owner, name, options)),
        Err(error) => vec![error.to_string()],
    };
    match (&decision.outcome, &decision.withdrawn) {
        // What another workflow has measured is running no more.
        (Outcome::Run(plan) | Outcome::Accept(plan), _) if plan.facts.measured_by.is_none() => {
            let (Some(pull), Some(commit)) = (&plan.facts.pull_request, &plan.facts.commit) else {
                return Vec::new();
            };
            with(&|talk| begin(talk, texts, plan, pull, commit))
        }
        (Outcome::Nothing(why), Some(withdrawn)) => with(&|talk| talk.withdraw(withdrawn, why)),
        _ => Vec::new(),
    }
}

/// Says that the runs of a pull request begin, or that a command was heard.
fn begin(
    talk: &Conversation<'_>,
    texts: &BTreeMap<String, String>,
    plan: &Plan,
    pull: &PullRequest,
    commit: &CommitSha,
) -> Vec<String> {
    let workflow = Actions::from_variables(texts).and_then(|actions| actions.trigger().run_url);
    let asked_by = pull.comment.as_ref().map(|comment| comment.author.as_str());
    let mut troubles = Vec::new();
    if let Some(comment) = &pull.comment {
        troubles.extend(talk.react(comment.id, Reaction::Eyes));
    }
    for run in &plan.runs {
        let about = About {
            job: &run.job.name,
            variant: plan.facts.variant.as_deref(),
            commit,
            pull_request: Some(pull.number),
            workflow: workflow.as_deref(),
        };
        troubles.extend(talk.begin(&about, asked_by));
    }
    troubles.dedup();
    troubles
}

/// A client with the token for comments and statuses.
pub(super) fn client(
    texts: &BTreeMap<String, String>,
    token: Option<&str>,
) -> Result<Client, Failure> {
    Client::new(settings(texts, token)?, RealPause::new())
        .map_err(|error| Failure::new(ExitCode::Usage, &error))
}

fn failure(error: &GateError) -> Failure {
    let code = match error {
        GateError::Trigger(TriggerError::Payload { .. })
        | GateError::Config(_)
        | GateError::Plan(_)
        | GateError::Params(_) => ExitCode::Usage,
        GateError::Trigger(_) | GateError::NoCommit { .. } => ExitCode::NotAllowed,
        GateError::GitHub(_) => ExitCode::NoAnswer,
    };
    Failure::new(code, error)
}

/// Commit and configuration of the workspace, on events that only people with write access cause.
fn checked_out(wants: &Wants<'_>, event: &str) -> Result<Option<(CommitSha, Config)>, Failure> {
    if matches!(event, "issue_comment" | "pull_request" | "workflow_run") {
        return Ok(None);
    }
    let source = git::describe(&wants.edge.folder);
    let Some(head) = source.commit.sha else { return Ok(None) };
    let found =
        configuration::load(wants.config.as_deref(), &wants.edge.folder, source.top.as_deref())
            .map_err(|error| Failure::new(ExitCode::Usage, &error))?;
    Ok(Some((head, found.config)))
}

/// The configuration that counts for publishing what a plan left. Of a pull request it is that of
/// its base, asked for at GitHub: what lies in the workspace may be the pull request's own. For
/// others it is the one that is there, else the one at the planned commit.
pub(super) fn configuration_of(
    edge: &Edge,
    plan: &Plan,
    named: Option<&Path>,
    token: Option<&str>,
) -> Result<Config, Failure> {
    let texts = texts(edge);
    let pull = plan.facts.pull_request.as_ref();
    if pull.is_none() || !edge.is_in_actions() {
        let found = super::publish::load(edge, named)?;
        if found != Config::default() || !edge.is_in_actions() {
            return Ok(found);
        }
    }
    let commit = pull.map(|pull| &pull.base).or(plan.facts.commit.as_ref());
    let place = texts.get("GITHUB_REPOSITORY").and_then(|name| name.split_once('/'));
    let (Some(commit), Some((owner, name))) = (commit, place) else {
        return Ok(Config::default());
    };
    let usage = |error: &dyn std::error::Error| Failure::new(ExitCode::Usage, error);
    let github = settings(&texts, token)?;
    let client = Client::new(github, RealPause::new()).map_err(|error| usage(&error))?;
    let here = client.in_repository(owner, name).map_err(|error| usage(&error))?;
    let path = named.map_or(config::FILE.into(), Path::to_string_lossy);
    app::configuration(&here, &path, commit)
        .map(|found| found.config)
        .map_err(|error| failure(&error))
}

/// How GitHub is asked: with `token`, else with that of the environment.
fn settings(texts: &BTreeMap<String, String>, token: Option<&str>) -> Result<Settings, Failure> {
    let usage = |error: &dyn std::error::Error| Failure::new(ExitCode::Usage, error);
    let mut github = Settings::from_variables(texts).map_err(|error| usage(&error))?;
    let token = token.or_else(|| access::project_token(texts)).map(Token::new).transpose();
    github.token = token.map_err(|error| usage(&error))?;
    Ok(github)
}

/// The payload of the event at `path`; empty where there is none.
pub(super) fn payload(path: Option<&str>) -> Result<Vec<u8>, Failure> {
    let Some(path) = path else { return Ok(Vec::new()) };
    match std::fs::metadata(path) {
        Ok(found) if found.len() <= PAYLOAD_MAX => std::fs::read(path).map_err(|error| {
            Failure::new(ExitCode::Internal, &error).with_help(format!("{path} is the event"))
        }),
        Ok(_) => Err(Failure::usage(format!("the event in {path} is larger than any of GitHub's"))),
        Err(_) => Ok(Vec::new()),
    }
}

/// Whether the results hold a successful scheduled run of every planned job at this commit. What
/// cannot be read holds nothing.
pub(super) fn is_measured(
    publisher: &Edge,
    target: &TargetArgs,
    config: &Config,
    plan: &Plan,
    screen: &Screen,
) -> bool {
    let lines = || -> Option<Vec<crate::record::index::Line>> {
        let to = destination::find(publisher, target, config).ok()?.place()?;
        let results = Results::open(&to.to, &to.branch).ok()?;
        let query = Query { status: Some(Status::Succeeded), ..Query::default() };
        Some(runs::runs(&results, &query).ok()?.lines)
    };
    let Some(lines) = lines() else {
        screen
            .detail("the results cannot be read, so whether this commit was measured is not known");
        return false;
    };
    plan.runs.iter().all(|planned| {
        lines.iter().any(|line| {
            line.job == planned.job.name
                && line.event == "schedule"
                && line.commit == plan.facts.commit
                && line.variant == plan.facts.variant
        })
    })
}

/// Says what was decided: outputs for later jobs, one line of the summary, one for people.
pub(super) fn tell(decision: &Decision, files: &Files, screen: &Screen) -> Result<(), Failure> {
    let internal = |error: &dyn std::error::Error| Failure::new(ExitCode::Internal, error);
    files.outputs(&outputs(decision)?).map_err(|error| internal(&error))?;
    let line = line(decision);
    files.summary(&format!("{}\n\n", answer::sentence(&line))).map_err(|error| internal(&error))?;
    screen.say(&line);
    decision.warnings.iter().for_each(|warning| screen.warn(warning));
    Ok(())
}

/// What was decided, in one sentence.
fn line(decision: &Decision) -> String {
    match &decision.outcome {
        Outcome::Run(plan) => {
            let jobs: Vec<&str> = plan.runs.iter().map(|run| run.job.name.as_str()).collect();
            let commit = decision.commit.as_ref().map_or("no commit", CommitSha::short);
            format!("{} of {commit} is measured", jobs.join(", "))
        }
        Outcome::Accept(plan) => match &plan.accept {
            Some(accept) => format!("{} is accepted: {}", accept.metric, accept.because),
            None => "nothing to do".to_owned(),
        },
        Outcome::Nothing(reason) => format!("nothing to do: {reason}"),
    }
}

fn outputs(decision: &Decision) -> Result<Vec<(&'static str, String)>, Failure> {
    let plan = plan(decision);
    let (action, reason) = match &decision.outcome {
        Outcome::Run(_) => ("run", String::new()),
        Outcome::Accept(_) => ("accept", String::new()),
        Outcome::Nothing(reason) => ("none", reason.clone()),
    };
    let text = plan.map(serde_json::to_string).transpose();
    let text = text.map_err(|error| Failure::new(ExitCode::Internal, &error))?;
    let commit = decision.commit.as_ref().map(ToString::to_string);
    Ok(vec![
        ("action", action.to_owned()),
        ("run", (action == "run").to_string()),
        ("reason", reason),
        ("plan", text.unwrap_or_default()),
        ("commit", commit.unwrap_or_default()),
        ("key", plan.map(Plan::key).unwrap_or_default()),
    ])
}

fn plan(decision: &Decision) -> Option<&Plan> {
    match &decision.outcome {
        Outcome::Run(plan) | Outcome::Accept(plan) => Some(plan),
        Outcome::Nothing(_) => None,
    }
}

fn as_json(decision: &Decision) -> Result<Vec<u8>, Failure> {
    let mut value = json!({ "warnings": decision.warnings });
    for (name, text) in outputs(decision)? {
        value[name] = match name {
            "run" => json!(text == "true"),
            "plan" => json!(plan(decision)),
            _ if text.is_empty() => json!(null),
            _ => json!(text),
        };
    }
    canonical::pretty(&value).map_err(|error| Failure::new(ExitCode::Internal, &error))
}
