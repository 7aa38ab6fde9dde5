//! Taking back that something is being measured, when nothing of it will be published: its pull
//! request became a draft, or got another commit, while another workflow measured it.

use super::{About, CONTEXT, Conversation, note};
use crate::app::gate::Withdrawn;
use crate::github::{Comment, Error, Standing, StatusState};
use crate::report::comment::{State, marked};

impl Conversation<'_> {
    /// Takes back what waits for a workflow, for the reason `why`. What has a result, or waits for
    /// another workflow, stays. Gives what could not be said, a sentence each.
    pub fn withdraw(&self, withdrawn: &Withdrawn, why: &str) -> Vec<String> {
        let mut troubles = Vec::new();
        let waiting = self.waiting_statuses(withdrawn);
        for status in waiting.as_deref().unwrap_or_default() {
            let Some((job, variant)) = About::parts(&status.context) else { continue };
            let about = About {
                job,
                variant,
                commit: &withdrawn.commit,
                pull_request: None,
                workflow: status.url.as_deref(),
            };
            self.not_published(&about, why, &mut troubles);
        }
        note(&mut troubles, waiting.map(drop));
        if let Some(number) = withdrawn.pull_request {
            note(&mut troubles, self.withdraw_comments(number, withdrawn, why));
        }
        troubles
    }

    fn waiting_statuses(&self, withdrawn: &Withdrawn) -> Result<Vec<Standing>, Error> {
        let waits = |status: &Standing| {
            status.state == StatusState::Pending.word()
                && status.url.as_deref().is_some_and(|page| is_its(page, withdrawn))
        };
        let all = self.here()?.statuses(&withdrawn.commit)?;
        Ok(all.into_iter().filter(waits).collect())
    }

    fn withdraw_comments(
        &self,
        number: u64,
        withdrawn: &Withdrawn,
        why: &str,
    ) -> Result<(), Error> {
        let login = self.login()?;
        let waits_for = |comment: &Comment| {
            State::of(&comment.body).running.filter(|page| is_its(page, withdrawn))
        };
        let waiting = self.here()?.find_comments(number, |comment| {
            comment.author.as_deref() == Some(login) && waits_for(comment).is_some()
        })?;
        for comment in waiting {
            let Some((job, variant)) = marked(&comment.body) else { continue };
            let page = waits_for(&comment);
            let about = About {
                job: &job,
                variant: variant.as_deref(),
                commit: &withdrawn.commit,
                pull_request: Some(number),
                workflow: page.as_deref(),
            };
            self.comment_nothing(number, &about, why)?;
        }
        Ok(())
    }
}

/// Whether `page` is that of the workflow.
fn is_its(page: &str, withdrawn: &Withdrawn) -> bool {
    page.ends_with(&format!("/actions/runs/{}", withdrawn.run_id))
}

impl<'a> About<'a> {
    /// The job and the variant in the name of one of our statuses.
    fn parts(context: &'a str) -> Option<(&'a str, Option<&'a str>)> {
        let name = context.strip_prefix(CONTEXT)?.strip_prefix('/')?;
        // No job has a space in its name.
        match name.split_once(" (") {
            None => Some((name, None)),
            Some((job, variant)) => Some((job, Some(variant.strip_suffix(')')?))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::names::CommitSha;

    #[test]
    fn names_of_statuses_are_read_back() {
        let commit = CommitSha::parse(&"1".repeat(40)).unwrap();
        for variant in [None, Some("linux"), Some("a (b) c")] {
            let about = About {
                job: "sim-1",
                variant,
                commit: &commit,
                pull_request: None,
                workflow: None,
            };
            assert_eq!(About::parts(&about.context()), Some(("sim-1", variant)));
        }
        for other in ["perftrail", "perftrails/sim", "ci/perftrail/sim", "perftrail/sim (x"] {
            assert_eq!(About::parts(other), None, "{other}");
        }
    }
}
