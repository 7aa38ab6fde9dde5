//! Answers to commands in comments: one of each kind, once, however often the step runs.

use super::{Conversation, note};
use crate::github::{Comment, Error, InRepository};
use crate::report::answer as words;

impl Conversation<'_> {
    /// Tells whoever accepted a metric's new level what came of it. Gives what could not be said.
    pub fn accepted(&self, number: u64, comment: u64, what: Result<&str, &str>) -> Vec<String> {
        let marker = |word: &str| words::marker(&format!("{comment} {word}"));
        let (marker, body) = match what {
            Ok(done) => {
                let marker = marker("accepted");
                let body = words::accepted(&marker, done);
                (marker, body)
            }
            Err(why) => {
                let marker = marker("not-accepted");
                let body = words::not_accepted(&marker, why);
                (marker, body)
            }
        };
        let tell = || once(&self.here()?, self.login()?, number, (&marker, &body));
        let mut troubles = Vec::new();
        note(&mut troubles, tell());
        troubles
    }
}

/// Writes a comment that begins with a marker, where `login` has written none with it.
pub(in crate::app) fn once(
    here: &InRepository<'_>,
    login: &str,
    number: u64,
    (marker, body): (&str, &str),
) -> Result<(), Error> {
    // Anybody may paste a marker: only what we wrote counts.
    let is_told = || {
        let is_ours = |other: &Comment| {
            other.author.as_deref() == Some(login) && other.body.starts_with(marker)
        };
        here.find_comments(number, is_ours).map(|found| !found.is_empty())
    };
    if is_told()? {
        return Ok(());
    }
    match here.write_comment(number, body) {
        // It may be there all the same.
        Err(error) if error.unsure() && is_told()? => Ok(()),
        written => written.map(drop),
    }
}
