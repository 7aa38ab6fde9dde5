//! One comment for each pull request and job: found by its mark and its writer, edited, and
//! replaced by a new one only when the result gets worse, so that people hear of it.

use super::{About, Conversation};
use crate::github::{Comment, Error};
use crate::report::ReportError;
use crate::report::comment::{self, Ended, Running, State};

/// What is to become of the comment.
struct Wanted<'a> {
    number: u64,
    mark: &'a str,
    /// Whether people are to hear of it by a new comment.
    anew: bool,
    text: String,
}

impl Conversation<'_> {
    pub(super) fn comment_running(
        &self,
        number: u64,
        about: &About<'_>,
        asked_by: Option<&str>,
    ) -> Result<(), Error> {
        let mark = comment::mark(about.job, about.variant);
        let own = self.own(number, &mark)?;
        let url = self.commit_url(about.commit);
        let running = running(about, &url, asked_by);
        let text = written(comment::running(&mark, &running, &state_of(&own)))?;
        self.put(&own, &Wanted { number, mark: &mark, anew: false, text })
    }

    pub(super) fn comment_nothing(
        &self,
        number: u64,
        about: &About<'_>,
        why: &str,
    ) -> Result<(), Error> {
        let mark = comment::mark(about.job, about.variant);
        let own = self.own(number, &mark)?;
        let url = self.commit_url(about.commit);
        let running = running(about, &url, None);
        let text = written(comment::nothing(&mark, &running, why, &state_of(&own)))?;
        self.put(&own, &Wanted { number, mark: &mark, anew: false, text })
    }

    pub(super) fn comment_ended(
        &self,
        number: u64,
        about: &About<'_>,
        ended: &Ended<'_>,
    ) -> Result<(), Error> {
        let mark = comment::mark(about.job, about.variant);
        let own = self.own(number, &mark)?;
        if own.is_empty() && self.options.quiet && !ended.is_news() {
            return Ok(());
        }
        let state = state_of(&own);
        let told = ended.told();
        // Told already: this is the same step once more.
        let is_told = state.told.first().is_some_and(|first| first.run == told.run);
        let anew = !is_told && state.worsens(&told);
        let text = written(comment::ended(&mark, ended, &state))?;
        self.put(&own, &Wanted { number, mark: &mark, anew, text })
    }

    /// Our comments of this mark, the oldest first.
    fn own(&self, number: u64, mark: &str) -> Result<Vec<Comment>, Error> {
        let login = self.login()?;
        self.here()?.find_comments(number, |comment| {
            comment.author.as_deref() == Some(login) && comment::bears(&comment.body, mark)
        })
    }

    fn put(&self, own: &[Comment], wanted: &Wanted<'_>) -> Result<(), Error> {
        let here = self.here()?;
        let (older, url) = match own.split_last() {
            Some((newest, older)) if !wanted.anew => {
                if newest.body.trim_end() != wanted.text.trim_end() {
                    here.edit_comment(newest.id, &wanted.text)?;
                }
                (older, newest.url.clone())
            }
            _ => (own, self.write(wanted)?.url),
        };
        for comment in older {
            here.edit_comment(comment.id, &comment::superseded(wanted.mark, &url))?;
        }
        Ok(())
    }

    /// Writes a comment, once: when nobody knows whether it arrived, it is looked for.
    fn write(&self, wanted: &Wanted<'_>) -> Result<Comment, Error> {
        match self.here()?.write_comment(wanted.number, &wanted.text) {
            Err(error) if error.unsure() => {
                let own = self.own(wanted.number, wanted.mark)?;
                let arrived = |one: &Comment| one.body.trim_end() == wanted.text.trim_end();
                own.into_iter().rev().find(arrived).ok_or(error)
            }
            written => written,
        }
    }
}

fn running<'a>(about: &About<'a>, url: &'a str, asked_by: Option<&'a str>) -> Running<'a> {
    Running {
        job: about.job,
        commit: about.commit.as_str(),
        commit_url: Some(url),
        workflow: about.workflow,
        asked_by,
    }
}

fn state_of(own: &[Comment]) -> State {
    own.last().map(|comment| State::of(&comment.body)).unwrap_or_default()
}

/// A page that cannot be made is not GitHub's fault, and is told in the same place.
fn written(text: Result<String, ReportError>) -> Result<String, Error> {
    text.map_err(|error| Error::Unexpected {
        asked: "write the comment".to_owned(),
        detail: error.to_string(),
        unsure: false,
    })
}
