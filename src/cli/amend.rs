//! `perftrail amend`.

use super::args::AmendArgs;
use super::destination::{self, Found};
use super::failure::{ExitCode, Failure};
use super::screen::{JobOutput, Screen};
use super::{Edge, publish};
use crate::app::amend::{self as app, AmendError, Making, Wish};
use crate::app::publish::Pages;
use crate::app::publish::retry::Retry;
use crate::app::watch::Watch;
use crate::github::RealPause;
use crate::model::names::CommitSha;
use crate::results::Results;
use crate::source::{ancestry, git};

/// Corrects the commit of a run.
pub(super) fn amend(edge: &Edge, args: &AmendArgs) -> Result<u8, Failure> {
    let screen = Screen::new(edge.volume, JobOutput::Kept);
    let config = publish::load(edge, args.config.as_deref())?;
    let Found::There(mut to) = destination::find(edge, &args.target, &config)? else {
        return Err(publish::not_named());
    };
    let wish = wish(edge, args)?;
    let usage = |error: &dyn std::error::Error| Failure::new(ExitCode::Usage, error);
    to.renew(edge).map_err(|error| destination::no_token(&error))?;
    let results = Results::open(&to.to, &to.branch).map_err(|error| usage(&error))?;
    let pause = RealPause::new();
    let mut retry = Retry::new(&pause, to.timeout, &to.to);
    let (pages, judging) = (Pages::default(), to.judging());
    let making = Making { pages: &pages, judging: &judging, ancestry: to.ancestry() };
    let done =
        app::amend(&results, &wish, making, &mut |next| retry.wait(next)).map_err(|error| {
            match &error {
                AmendError::Results(_) => Failure::new(ExitCode::NotPublished, &error),
                _ => usage(&error),
            }
        })?;
    let (path, sha) = (&done.path, wish.commit.short());
    screen.say(&match done.commit {
        Some(commit) => format!("{path} says now that it measured {sha}: commit {commit}"),
        None => format!("{path} says already that it measured {sha}"),
    });
    Ok(ExitCode::Done as u8)
}

fn wish(edge: &Edge, args: &AmendArgs) -> Result<Wish, Failure> {
    let (because, author) = super::accept::signed(edge, &args.because, args.author.as_deref())?;
    let commit = CommitSha::parse(&args.commit)
        .or_else(|| git::resolve(&edge.folder, &args.commit))
        .ok_or_else(|| {
            Failure::usage(format!(
                "`{}` is no full commit id, and no clone here knows it",
                crate::model::text::shown(&args.commit)
            ))
            .with_help("give all 40 digits, or run this in a clone of the measured project")
        })?;
    let known = ancestry::commit(&edge.folder, &commit);
    let run = args.run.clone();
    Ok(Wish { run, commit, known, because, author, date: edge.clock.now() })
}
