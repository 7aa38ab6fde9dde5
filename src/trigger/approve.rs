//! Whether a command in a comment is carried out, and on which commit.
//!
//! Three things are never taken from what the author of a pull request can write: who asks (the
//! permission comes from the API), which commit (its head comes from the API, once), and when it
//! was pushed (the server's own time; dates of commits can be forged).

use jiff::Timestamp;

use super::comment::{Command, Request};
use crate::model::names::CommitSha;

/// What GitHub lets somebody do in the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Everything.
    Admin,
    /// To push; GitHub counts the role `maintain` as this one.
    Write,
    /// To read; everybody in a public repository.
    Read,
    /// Nothing.
    None,
    /// GitHub did not say. That is a no.
    Unknown,
}

impl Permission {
    /// Whether who has it may start a run.
    pub fn may_run(self) -> bool {
        matches!(self, Self::Admin | Self::Write)
    }
}

/// Who wrote a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// A human, as far as GitHub knows.
    Human(Permission),
    /// A program, whatever it may do.
    Bot,
}

/// A pull request, as the API knows it when it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    /// Its number.
    pub number: u64,
    /// Whether it is neither merged nor closed.
    pub open: bool,
    /// The newest commit of the branch it comes from.
    pub head: CommitSha,
    /// Where that branch lies.
    pub origin: Origin,
    /// When the head was pushed, by the server's clock; `None` when the server does not say.
    pub pushed: Option<Timestamp>,
}

/// Where the branch of a pull request lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In the same repository: who pushes there may write.
    Branch,
    /// In somebody's own copy.
    Fork,
    /// The copy is deleted.
    Gone,
}

/// What becomes of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// It is measured, at this commit and no other.
    Run {
        /// The commit.
        commit: CommitSha,
        /// What to measure.
        request: Request,
    },
    /// A metric's new level is accepted.
    Accept {
        /// The metric.
        metric: String,
        /// Why.
        because: String,
    },
    /// The writer is told what can be asked.
    Help,
    /// Nothing, and the writer is told why.
    Refused(Refusal),
    /// Nothing, without a word: it is not for us.
    Ignored(&'static str),
}

/// Why a command is not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The writer may not push to the repository.
    #[error("only people who can push to this repository may start a run")]
    NoPermission,
    /// GitHub did not say what the writer may do.
    #[error("GitHub did not say whether you can push to this repository: try again later")]
    PermissionUnknown,
    /// The pull request is merged or closed.
    #[error("this pull request is not open any more")]
    Closed,
    /// The fork is deleted.
    #[error("the repository that this pull request comes from is gone")]
    OriginGone,
    /// The commit that the writer named is not the head.
    #[error("the newest commit is {}, not {named}: look at it, then write the command again", .head.short())]
    OtherHead {
        /// The head.
        head: CommitSha,
        /// What was named.
        named: String,
    },
    /// Something was pushed after the comment.
    #[error("commits were pushed after your comment: look at {}, then write the command again", .head.short())]
    PushedSince {
        /// The head.
        head: CommitSha,
    },
    /// It comes from a fork, and nobody knows when it was pushed.
    #[error("this comes from a fork: name the commit that you have looked at, as in `sha={}`", .head.short())]
    NameTheCommit {
        /// The head.
        head: CommitSha,
    },
}

/// Decides on the command of a comment that was written at `written`.
pub fn approve(
    command: Command,
    author: Author,
    written: Timestamp,
    pull: &PullRequest,
) -> Approval {
    let permission = match author {
        Author::Bot => return Approval::Ignored("the comment is a program's"),
        Author::Human(permission) => permission,
    };
    if !permission.may_run() {
        return Approval::Refused(match permission {
            Permission::Unknown => Refusal::PermissionUnknown,
            _ => Refusal::NoPermission,
        });
    }
    match command {
        Command::Help => Approval::Help,
        Command::Accept { metric, because } => Approval::Accept { metric, because },
        Command::Profile(request) => match commit(&request, written, pull) {
            Ok(commit) => Approval::Run { commit, request },
            Err(refusal) => Approval::Refused(refusal),
        },
    }
}

/// The commit to measure: the head, if it is what the writer can have seen.
fn commit(request: &Request, written: Timestamp, pull: &PullRequest) -> Result<CommitSha, Refusal> {
    let head = || pull.head.clone();
    if !pull.open {
        return Err(Refusal::Closed);
    }
    if pull.origin == Origin::Gone {
        return Err(Refusal::OriginGone);
    }
    if let Some(named) = &request.sha {
        return if pull.head.as_str().starts_with(named) {
            Ok(head())
        } else {
            Err(Refusal::OtherHead { head: head(), named: named.clone() })
        };
    }
    match (pull.pushed, pull.origin) {
        // At the same second nobody knows which was first.
        (Some(pushed), _) if pushed >= written => Err(Refusal::PushedSince { head: head() }),
        (None, Origin::Fork) => Err(Refusal::NameTheCommit { head: head() }),
        _ => Ok(head()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pull(origin: Origin, open: bool, pushed: Option<i64>) -> PullRequest {
        let head = CommitSha::parse(&"ab".repeat(20)).unwrap();
        PullRequest { number: 7, open, head, origin, pushed: pushed.map(at) }
    }

    fn profile(sha: Option<&str>) -> Command {
        Command::Profile(Request { sha: sha.map(str::to_owned), ..Request::default() })
    }

    fn word(approval: &Approval) -> &'static str {
        match approval {
            Approval::Run { .. } => "run",
            Approval::Accept { .. } => "accept",
            Approval::Help => "help",
            Approval::Ignored(_) => "ignored",
            Approval::Refused(refusal) => match refusal {
                Refusal::NoPermission => "no permission",
                Refusal::PermissionUnknown => "unknown",
                Refusal::Closed => "closed",
                Refusal::OriginGone => "gone",
                Refusal::OtherHead { .. } => "other head",
                Refusal::PushedSince { .. } => "pushed since",
                Refusal::NameTheCommit { .. } => "name it",
            },
        }
    }

    /// Author × where the branch lies × state × push × command: what is decided.
    #[test]
    fn every_cell() {
        use Origin::{Branch, Fork, Gone};
        const HEAD: Option<&str> = Some("abababababab");
        const OTHER: Option<&str> = Some("cdcdcdcdcdcd");
        let (before, same, after) = (Some(99), Some(100), Some(101));
        for (origin, open, pushed, sha, expected) in [
            (Branch, true, before, None, "run"),
            (Branch, true, None, None, "run"),
            (Branch, true, same, None, "pushed since"),
            (Branch, true, after, None, "pushed since"),
            (Branch, true, after, HEAD, "run"),
            (Branch, true, before, OTHER, "other head"),
            (Branch, false, before, None, "closed"),
            (Branch, false, before, HEAD, "closed"),
            (Fork, true, before, None, "run"),
            (Fork, true, None, None, "name it"),
            (Fork, true, same, None, "pushed since"),
            (Fork, true, after, None, "pushed since"),
            (Fork, true, after, HEAD, "run"),
            (Fork, true, None, HEAD, "run"),
            (Fork, true, None, OTHER, "other head"),
            (Fork, false, before, None, "closed"),
            (Gone, true, before, None, "gone"),
            (Gone, true, before, HEAD, "gone"),
        ] {
            let pull = pull(origin, open, pushed);
            let decide = |author| word(&approve(profile(sha), author, at(100), &pull));
            let cell = (origin, open, pushed, sha);
            for permission in [Permission::Admin, Permission::Write] {
                assert_eq!(decide(Author::Human(permission)), expected, "{permission:?} {cell:?}");
            }
            for permission in [Permission::Read, Permission::None] {
                let decided = decide(Author::Human(permission));
                assert_eq!(decided, "no permission", "{permission:?} {cell:?}");
            }
            assert_eq!(decide(Author::Human(Permission::Unknown)), "unknown", "{cell:?}");
            assert_eq!(decide(Author::Bot), "ignored", "{cell:?}");
        }
    }

    #[test]
    fn other_commands_need_the_same_permission() {
        let accept = Command::Accept { metric: "cpu_time".into(), because: "more work".into() };
        let closed = pull(Origin::Branch, false, None);
        for (command, allowed) in [(Command::Help, "help"), (accept, "accept")] {
            for (author, expected) in [
                (Author::Human(Permission::Write), allowed),
                (Author::Human(Permission::Read), "no permission"),
                (Author::Human(Permission::Unknown), "unknown"),
                (Author::Bot, "ignored"),
            ] {
                assert_eq!(word(&approve(command.clone(), author, at(0), &closed)), expected);
            }
        }
    }

    #[test]
    fn the_measured_commit_is_the_head() {
        let pull = pull(Origin::Fork, true, None);
        let approval =
            approve(profile(Some("abababababab")), Author::Human(Permission::Write), at(0), &pull);
        assert!(matches!(approval, Approval::Run { commit, .. } if commit == pull.head));
        let refusal = Refusal::NameTheCommit { head: pull.head };
        assert_eq!(
            refusal.to_string(),
            "this comes from a fork: name the commit that you have looked at, as in `sha=abababababab`"
        );
    }
}
