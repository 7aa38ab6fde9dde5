//! One issue for a confirmed regression of the default branch: opened, kept up to date, closed when
//! the numbers are back.

use super::Conversation;
use crate::github::{Error, Issue, IssueChange};
use crate::record::index::key_of;
use crate::report::comment::{Ended, Standing, issue_body, issue_mark, issue_title};

impl Conversation<'_> {
    pub(super) fn regression(&self, ended: &Ended<'_>) -> Result<(), Error> {
        let standing = ended.standing();
        if standing == Standing::Open {
            return Ok(());
        }
        let (here, login) = (self.here()?, self.login()?);
        let mark = issue_mark(&key_of(ended.page.record));
        let ours = |issue: &Issue| issue.body.starts_with(&mark);
        let found = here.find_issue(login, ours)?;
        match (standing, found) {
            (Standing::Regressed, None) => {
                let body = issue_text(&mark, ended)?;
                match here.open_issue(&issue_title(ended), &body) {
                    Err(error) if error.unsure() => {
                        here.find_issue(login, ours)?.map(drop).ok_or(error)
                    }
                    opened => opened.map(drop),
                }
            }
            (Standing::Regressed, Some(issue)) => {
                let body = issue_text(&mark, ended)?;
                if issue.body.trim_end() == body.trim_end() {
                    return Ok(());
                }
                let change = IssueChange { body: Some(&body), ..IssueChange::default() };
                here.change_issue(issue.number, change)
            }
            (Standing::Recovered, Some(issue)) => {
                let body = issue_text(&mark, ended)?;
                let change =
                    IssueChange { body: Some(&body), open: Some(false), ..IssueChange::default() };
                here.change_issue(issue.number, change)
            }
            (Standing::Recovered | Standing::Open, _) => Ok(()),
        }
    }
}

fn issue_text(mark: &str, ended: &Ended<'_>) -> Result<String, Error> {
    issue_body(mark, ended).map_err(|error| Error::Unexpected {
        asked: "write the issue".to_owned(),
        detail: error.to_string(),
        unsure: false,
    })
}
