//! `perftrail accept`.

use super::args::AcceptArgs;
use super::destination::{self, Destination, Found};
use super::failure::{ExitCode, Failure};
use super::screen::{JobOutput, Screen};
use super::{Edge, publish};
use crate::actions::Actions;
use crate::app::accept::{self as app, AcceptError, From, Wish};
use crate::app::publish::Pages;
use crate::app::publish::retry::Retry;
use crate::app::watch::Watch;
use crate::github::RealPause;
use crate::model::names::is_metric_name;
use crate::model::text::visible;
use crate::plan::Plan;
use crate::record::index::repository_name;
use crate::results::Results;
use crate::source::git;

/// Longest reason and author, in characters.
const TEXT_MAX: usize = 1000;

/// Accepts a change of a metric's level.
pub(super) fn accept(edge: &Edge, args: &AcceptArgs) -> Result<u8, Failure> {
    let screen = Screen::new(edge.volume, JobOutput::Kept);
    let config = publish::load(edge, args.config.as_deref())?;
    let Found::There(mut to) = destination::find(edge, &args.target, &config)? else {
        return Err(publish::not_named());
    };
    let wish = wish(edge, args)?;
    screen.say(&carry_out(edge, &wish, &mut to)?);
    Ok(ExitCode::Done as u8)
}

/// Accepts what a plan says: somebody wrote so under a pull request.
pub(super) fn planned(edge: &Edge, plan: &Plan, to: &mut Destination) -> Result<String, Failure> {
    let (Some(accept), Some(pull)) = (&plan.accept, &plan.facts.pull_request) else {
        return Err(Failure::usage("the plan accepts nothing"));
    };
    // Other projects that publish here count their pull requests from one, too.
    let project = Actions::from_variables(&destination::texts(edge));
    let wish = Wish {
        metric: accept.metric.clone(),
        job: None,
        repository: project.map(|actions| repository_name(&actions.repository())),
        since: From::PullRequest(pull.number),
        because: accept.because.clone(),
        author: accept.author.clone(),
    };
    carry_out(edge, &wish, to)
}

fn carry_out(edge: &Edge, wish: &Wish, to: &mut Destination) -> Result<String, Failure> {
    let usage = |error: &dyn std::error::Error| Failure::new(ExitCode::Usage, error);
    to.renew(edge).map_err(|error| destination::no_token(&error))?;
    let results = Results::open(&to.to, &to.branch).map_err(|error| usage(&error))?;
    let pause = RealPause::new();
    let mut retry = Retry::new(&pause, to.timeout, &to.to);
    let done = app::accept(&results, wish, &Pages::default(), edge.clock.now(), &mut |next| {
        retry.wait(next)
    })
    .map_err(|error| match &error {
        AcceptError::Results(_) => Failure::new(ExitCode::NotPublished, &error),
        _ => usage(&error),
    })?;
    let since = done.since.as_str();
    Ok(match done.commit {
        Some(commit) => format!("{} is accepted since {since}: commit {commit}", wish.metric),
        None => format!(
            "{} was accepted since {since} before, because: {}; nothing is changed. To give another \
             reason, edit epochs.toml in the results repository",
            wish.metric,
            visible(&done.because)
        ),
    })
}

fn wish(edge: &Edge, args: &AcceptArgs) -> Result<Wish, Failure> {
    if !is_metric_name(&args.metric) {
        return Err(Failure::usage(format!("`{}` is no metric's name", args.metric)));
    }
    let (because, author) = signed(edge, &args.because, args.author.as_deref())?;
    Ok(Wish {
        metric: args.metric.clone(),
        job: args.job.clone(),
        repository: None,
        since: From::Commit(args.since.clone()),
        because,
        author,
    })
}

/// A reason, and who gives it.
pub(super) fn signed(
    edge: &Edge,
    because: &str,
    author: Option<&str>,
) -> Result<(String, String), Failure> {
    let because = because.trim();
    let author = author.map(str::to_owned).or_else(|| git::author(&edge.folder));
    let author = author.unwrap_or_else(|| "unknown".to_owned());
    let fits = |text: &str| (1..=TEXT_MAX).contains(&text.chars().count());
    if !fits(because) || !fits(&author) {
        return Err(Failure::usage("a reason and an author have 1 to 1000 characters"));
    }
    Ok((because.to_owned(), author))
}
