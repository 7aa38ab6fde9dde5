//! The pull request that runs act for, and what somebody said under it.

use serde::{Deserialize, Serialize};

use crate::model::names::CommitSha;

/// A pull request as the API and the event tell it; nothing of it comes from what is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequest {
    /// Its number.
    pub number: u64,
    /// The commit that is measured: its head when the plan was made.
    pub head: CommitSha,
    /// The branch that it comes from.
    pub head_branch: String,
    /// The repository of that branch, `owner/name`; `None` when it is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_repository: Option<String>,
    /// Whether that is another repository than the one it is to be merged into.
    pub is_fork: bool,
    /// The commit that it is to be merged onto.
    pub base: CommitSha,
    /// The branch that it is to be merged into.
    pub base_branch: String,
    /// The comment that asked; `None` where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<Asking>,
    /// What the comment wants the runs to be compared with; `None`: the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Against>,
}

/// A comment that asked for something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asking {
    /// Its id.
    pub id: u64,
    /// The login of who wrote it.
    pub author: String,
}

/// What runs are to be compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Against {
    /// The branch, tag or commit as it was written.
    pub reference: String,
    /// The commit that it was when the plan was made.
    pub commit: CommitSha,
}

/// A change of a metric that somebody takes as the new level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acceptance {
    /// The metric.
    pub metric: String,
    /// Why, in the writer's words.
    pub because: String,
    /// The login of who says so.
    pub author: String,
}

/// The run of a service that measured, where another one publishes what it left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredBy {
    /// The service's id of it.
    pub run_id: u64,
    /// Which try of it.
    pub attempt: u32,
    /// Its running number.
    pub run_number: u64,
    /// Who started it; `None` when the service does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Whether it ended with success: where it left nothing, it was skipped.
    #[serde(default)]
    pub succeeded: bool,
}

impl PullRequest {
    /// Where the commit can be found in the repository that it is to be merged into: a branch of
    /// that repository, or what a server keeps for a fork's head.
    pub fn reference(&self) -> String {
        if self.is_fork {
            format!("refs/pull/{}/head", self.number)
        } else {
            format!("refs/heads/{}", self.head_branch)
        }
    }
}
