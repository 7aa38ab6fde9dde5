//! Tells people on GitHub what is measured and what was found: one comment for each pull request
//! and job, a commit status, a check run where asked, an issue for a confirmed regression.
//!
//! Everything here may be done again: a step that was killed between two requests and runs again
//! leaves one comment and one status. What GitHub refuses is a sentence for the log, and changes
//! nothing else: the summary tells the same.

mod answer;
mod comment;
mod regression;
mod withdraw;

pub(in crate::app) use answer::once;

use crate::config::ReportOptions;
use crate::github::{
    Check, Client, Conclusion, Error, InRepository, Reaction, Status as CommitStatus, StatusState,
};
use crate::model::names::CommitSha;
use crate::report::comment::{Ended, Grade};

/// The beginning of the names of statuses and checks.
const CONTEXT: &str = "perftrail";

/// Where people are told, and how loudly.
pub struct Conversation<'a> {
    client: &'a Client,
    owner: &'a str,
    name: &'a str,
    options: ReportOptions,
    login: std::cell::OnceCell<String>,
}

/// What is talked about.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The job.
    pub job: &'a str,
    /// Which of otherwise equal runs.
    pub variant: Option<&'a str>,
    /// The measured commit.
    pub commit: &'a CommitSha,
    /// The pull request; `None` for runs of a branch.
    pub pull_request: Option<u64>,
    /// The workflow's page.
    pub workflow: Option<&'a str>,
}

impl About<'_> {
    /// The name of its status and check.
    fn context(&self) -> String {
        let variant = self.variant.map(|variant| format!(" ({variant})"));
        format!("{CONTEXT}/{}{}", self.job, variant.unwrap_or_default())
    }
}

impl<'a> Conversation<'a> {
    /// A conversation in the repository `owner/name`. Nothing is asked yet.
    pub fn new(client: &'a Client, owner: &'a str, name: &'a str, options: ReportOptions) -> Self {
        Self { client, owner, name, options, login: std::cell::OnceCell::new() }
    }

    /// Says that a run begins. Gives what could not be said, a sentence each.
    pub fn begin(&self, about: &About<'_>, asked_by: Option<&str>) -> Vec<String> {
        let mut troubles = Vec::new();
        if let Some(number) = about.pull_request
            && !self.options.quiet
        {
            note(&mut troubles, self.comment_running(number, about, asked_by));
        }
        note(&mut troubles, self.status(about, StatusState::Pending, "is being measured"));
        if self.options.check_run {
            let check = Check {
                name: &about.context(),
                conclusion: None,
                title: "is being measured",
                summary: "The result follows.",
                url: about.workflow,
            };
            note(&mut troubles, self.here().and_then(|here| here.set_check(about.commit, &check)));
        }
        troubles
    }

    /// Says how a run ended. Gives what could not be said, a sentence each.
    pub fn finish(&self, about: &About<'_>, ended: &Ended<'_>) -> Vec<String> {
        let mut troubles = Vec::new();
        if let Some(number) = about.pull_request {
            note(&mut troubles, self.comment_ended(number, about, ended));
        }
        let (told, line) = (ended.told(), ended.line());
        let state = match told.grade {
            Grade::Good | Grade::Warns => StatusState::Success,
            Grade::Broken if ended.is_lost() => StatusState::Error,
            Grade::Fails | Grade::Broken => StatusState::Failure,
        };
        let page = Some(told.url.as_str()).filter(|url| !url.is_empty()).or(about.workflow);
        let about_page = About { workflow: page, ..*about };
        note(&mut troubles, self.status(&about_page, state, &line));
        if self.options.check_run {
            note(&mut troubles, self.check(&about_page, told.grade, &line, ended));
        }
        if self.options.open_issue && about.pull_request.is_none() {
            note(&mut troubles, self.regression(ended));
        }
        troubles
    }

    /// Says that nothing of a run was published, for the reason `why`. Gives what could not be
    /// said, a sentence each.
    pub fn fail(&self, about: &About<'_>, why: &str) -> Vec<String> {
        let mut troubles = Vec::new();
        if let Some(number) = about.pull_request {
            note(&mut troubles, self.comment_nothing(number, about, why));
        }
        self.not_published(about, why, &mut troubles);
        troubles
    }

    /// Says by status and check that nothing was published.
    fn not_published(&self, about: &About<'_>, why: &str, troubles: &mut Vec<String>) {
        let line = format!("not published: {why}");
        note(troubles, self.status(about, StatusState::Error, &line));
        if self.options.check_run {
            let check = Check {
                name: &about.context(),
                conclusion: Some(Conclusion::Failure),
                title: "not published",
                summary: "No result was published; the workflow's log says why.",
                url: about.workflow,
            };
            note(troubles, self.here().and_then(|here| here.set_check(about.commit, &check)));
        }
    }

    /// Puts a sign under the comment that asked.
    pub fn react(&self, comment: u64, reaction: Reaction) -> Vec<String> {
        let mut troubles = Vec::new();
        note(&mut troubles, self.here().and_then(|here| here.react(comment, reaction)));
        troubles
    }

    fn check(
        &self,
        about: &About<'_>,
        grade: Grade,
        line: &str,
        ended: &Ended<'_>,
    ) -> Result<(), Error> {
        let conclusion = match grade {
            Grade::Good => Conclusion::Success,
            Grade::Warns => Conclusion::Neutral,
            Grade::Fails | Grade::Broken => Conclusion::Failure,
        };
        let summary = ended.summary().unwrap_or_else(|_| line.to_owned());
        let check = Check {
            name: &about.context(),
            conclusion: Some(conclusion),
            title: line,
            summary: &summary,
            url: about.workflow,
        };
        self.here()?.set_check(about.commit, &check)
    }

    fn status(
        &self,
        about: &About<'_>,
        state: StatusState,
        description: &str,
    ) -> Result<(), Error> {
        let context = about.context();
        let status = CommitStatus { state, context: &context, description, url: about.workflow };
        self.here()?.set_status(about.commit, &status)
    }

    fn here(&self) -> Result<InRepository<'_>, Error> {
        self.client.in_repository(self.owner, self.name)
    }

    /// Who our comments are by; asked once.
    fn login(&self) -> Result<&str, Error> {
        if let Some(login) = self.login.get() {
            return Ok(login);
        }
        let login = self.client.login()?;
        Ok(self.login.get_or_init(|| login))
    }

    fn commit_url(&self, commit: &CommitSha) -> String {
        let server = self.client.hosts().server().trim_end_matches('/');
        format!("{server}/{}/{}/commit/{commit}", self.owner, self.name)
    }
}

/// Keeps what went wrong, once.
fn note(troubles: &mut Vec<String>, done: Result<(), Error>) {
    if let Err(error) = done {
        let text = error.to_string();
        if !troubles.contains(&text) {
            troubles.push(text);
        }
    }
}
