//! Tells a writer why a command starts nothing: a sign under the comment, and one comment.

use crate::app::conversation::once;
use crate::config::job::Job;
use crate::github::{Client, Error, InRepository, Reaction};
use crate::report::answer as words;
use crate::trigger::approve::Refusal;
use crate::trigger::payload::Comment;

/// What a writer is told.
pub(super) enum Answer<'a> {
    /// It is not carried out.
    Refused(&'a Refusal),
    /// It is not understood, or not known.
    Unknown { why: &'a str, jobs: &'a [&'a Job] },
    /// What can be asked for.
    Help { jobs: &'a [&'a Job] },
}

/// Tells it once. Whoever may not start anything is told once under a pull request, whatever
/// number of commands they write; to every other comment there is one answer of each kind, however
/// often the workflow runs again.
pub(super) fn answer(
    client: &Client,
    here: &InRepository<'_>,
    comment: &Comment,
    (login, word): (&str, &str),
    what: &Answer<'_>,
) -> Result<(), Error> {
    let reaction = match what {
        Answer::Help { .. } => Reaction::Rocket,
        Answer::Refused(_) | Answer::Unknown { .. } => Reaction::Confused,
    };
    let reacted = here.react(comment.id, reaction);
    let key = match what {
        Answer::Refused(Refusal::NoPermission) => format!("to @{login}"),
        Answer::Refused(refusal) => format!("{} {}", comment.id, name(refusal)),
        Answer::Unknown { .. } => format!("{} unknown", comment.id),
        Answer::Help { .. } => format!("{} help", comment.id),
    };
    let marker = words::marker(&key);
    let body = match what {
        Answer::Refused(refusal) => words::refused(&marker, &refusal.to_string()),
        Answer::Unknown { why, jobs } => words::known(&marker, why, word, jobs),
        Answer::Help { jobs } => words::help(&marker, word, jobs),
    };
    once(here, &client.login()?, comment.number, (&marker, &body))?;
    reacted
}

fn name(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::NoPermission => "no-permission",
        Refusal::PermissionUnknown => "permission-unknown",
        Refusal::Closed => "closed",
        Refusal::OriginGone => "origin-gone",
        Refusal::OtherHead { .. } => "other-head",
        Refusal::PushedSince { .. } => "pushed-since",
        Refusal::NameTheCommit { .. } => "name-the-commit",
    }
}
