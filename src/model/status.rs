//! How a run ended, and what started it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of a run. Everything but `Succeeded` is still a record and is still published.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A publisher announced the run; no bundle has come yet.
    Running,
    /// Every step of every repetition ended with exit code 0.
    Succeeded,
    /// A step ended with another code, a signal, or a required output is missing.
    Failed,
    /// A step ran past its time limit and was ended.
    TimedOut,
    /// Somebody asked perftrail to stop.
    Cancelled,
    /// The kernel killed the job for want of memory.
    OutOfMemory,
    /// `setup` failed, so nothing was measured.
    SetupFailed,
    /// perftrail itself ended while the job ran: the record is the last one it wrote.
    Interrupted,
    /// A run was planned and no bundle came.
    Lost,
    /// The run was not needed.
    Skipped,
}

impl Status {
    /// The word that stands in records, tables and comments.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::OutOfMemory => "out_of_memory",
            Self::SetupFailed => "setup_failed",
            Self::Interrupted => "interrupted",
            Self::Lost => "lost",
            Self::Skipped => "skipped",
        }
    }

    /// The same in plain words, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::TimedOut => "timed out",
            Self::OutOfMemory => "out of memory",
            Self::SetupFailed => "setup failed",
            other => other.as_str(),
        }
    }

    /// Whether a fuller bundle of the same plan may take this record's place.
    pub const fn is_replaceable(self) -> bool {
        matches!(self, Self::Running | Self::Lost | Self::Interrupted)
    }

    /// Every status, in the order of the enum.
    pub const ALL: [Self; 10] = [
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::TimedOut,
        Self::Cancelled,
        Self::OutOfMemory,
        Self::SetupFailed,
        Self::Interrupted,
        Self::Lost,
        Self::Skipped,
    ];
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How the identity of a run (commit, event, job, params) is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Identity {
    /// A plan decided it before the run.
    Planned,
    /// The event that started the run says so.
    Event,
    /// Only the person who published says so.
    Claimed,
}
