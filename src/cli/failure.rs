//! What went wrong, for people and for the shell.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use crate::actions::inert;
use crate::app::publish::PublishError;
use crate::app::run::RunError;
use crate::bundle::write::WriteError;
use crate::model::text::visible;
use crate::record::redact::Redactor;

/// Exit codes are part of the interface; `docs/cli.md` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCode {
    /// Done, or nothing to do.
    Done = 0,
    /// A fault of perftrail's own, or of the system under it.
    Internal = 1,
    /// Usage or configuration.
    Usage = 2,
    /// The job failed.
    JobFailed = 3,
    /// A number is worse than a limit that fails, and failing was asked for.
    Regressed = 4,
    /// Asked to run what may not run here, or another commit is checked out.
    NotAllowed = 5,
    /// Could not publish.
    NotPublished = 6,
    /// GitHub gave no answer that is needed to go on.
    NoAnswer = 7,
}

impl ExitCode {
    /// `fsck` found faults. It runs no job, so 3 means nothing else there.
    pub const FAULTS_FOUND: Self = Self::JobFailed;
}

/// An error that ends the program.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub code: ExitCode,
    /// What happened.
    pub message: String,
    /// What led to it, outermost first.
    pub causes: Vec<String>,
    /// What to do.
    pub help: Option<String>,
}

impl Failure {
    /// A failure of that kind.
    pub fn new(code: ExitCode, error: &dyn std::error::Error) -> Self {
        let message = error.to_string();
        let mut causes = Vec::new();
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            // Messages that already hold their cause are not said twice.
            if !message.contains(&text) {
                causes.push(text);
            }
            source = cause.source();
        }
        Self { code, message, causes, help: None }
    }

    /// A failure in what was asked for.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { code: ExitCode::Usage, message: message.into(), causes: Vec::new(), help: None }
    }

    /// The same with advice.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Prints it on standard error, without the secrets that the environment holds. A closed
    /// standard error is no reason to fail otherwise.
    pub fn print(&self, redactor: &Redactor, is_read_by_runner: bool) {
        let mut text = redactor.text(&visible(&self.text()));
        if is_read_by_runner {
            text = text.lines().map(|line| inert::line(line) + "\n").collect();
        }
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Error, causes and help, a line each.
    pub fn text(&self) -> String {
        let mut text = format!("error: {}\n", self.message);
        for cause in &self.causes {
            let _ = writeln!(text, "caused by: {cause}");
        }
        if let Some(help) = &self.help {
            let _ = writeln!(text, "help: {help}");
        }
        text
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let code = match &error {
            RunError::OtherCommit { .. } => ExitCode::NotAllowed,
            error if error.is_usage() => ExitCode::Usage,
            _ => ExitCode::Internal,
        };
        let failure = Self::new(code, &error);
        match &error {
            RunError::Bundle(WriteError::File { source, .. }) if takes_no_more(source) => failure
                .with_help(
                    "free some space, or choose a folder on another disk with --output; what was \
                     measured and could be kept is named above",
                ),
            _ => failure,
        }
    }
}

/// Whether a disk is the reason.
fn takes_no_more(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), QuotaExceeded | ReadOnlyFilesystem | StorageFull)
}

impl From<PublishError> for Failure {
    fn from(error: PublishError) -> Self {
        let code = match &error {
            PublishError::NoBundle(_) => ExitCode::Usage,
            _ => ExitCode::NotPublished,
        };
        Self::new(code, &error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("failed to do it")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn error_cause_and_help_are_told_once_each() {
        let failure = Failure::new(ExitCode::Internal, &Outer(std::io::Error::other("no room")))
            .with_help("make room");
        assert_eq!(failure.text(), "error: failed to do it\ncaused by: no room\nhelp: make room\n");
    }
}
