//! Why a results repository cannot be used.

use std::io;
use std::path::PathBuf;

use super::format::FormatError;
use super::path::PathError;
use super::remote::Refusal;

/// Why a results repository on a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// There is no git program.
    #[error("the git program is not there; install git, at least 2.31")]
    GitMissing,
    /// The git program is too old.
    #[error("git {found} is too old; install at least {}.{}", wanted.0, wanted.1)]
    GitTooOld {
        /// Its version.
        found: String,
        /// The oldest that will do.
        wanted: (u32, u32),
    },
    /// The git program cannot be started or read.
    #[error("the git program cannot be used: {source}")]
    Program {
        /// What the system said.
        source: io::Error,
    },
    /// The server, or the way to it, said no.
    #[error("could not {doing} at {url}: {}{}", refusal.words(), below(said))]
    Refused {
        /// What was asked.
        doing: &'static str,
        /// The server's address.
        url: String,
        /// Why.
        refusal: Refusal,
        /// The last words of git and the server, without secrets.
        said: String,
    },
}

fn below(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("\n{said}") }
}

/// Why a results repository cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// It is on a server that said no, or cannot be reached.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// There is nothing at the path.
    #[error("there is no results repository at {}; the first publish makes it", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// The path is a file.
    #[error("{} is a file, not a results repository; name another path", path.display())]
    IsAFile {
        /// The path.
        path: PathBuf,
    },
    /// The folder holds something else.
    #[error(
        "{} is a folder with other things in it, not a git repository; name an empty or new path",
        path.display()
    )]
    NotARepository {
        /// The path.
        path: PathBuf,
    },
    /// The path is a work tree that belongs to a repository elsewhere.
    #[error(
        "{} is a linked work tree or submodule; name the repository that it belongs to",
        path.display()
    )]
    LinkedWorkTree {
        /// The path.
        path: PathBuf,
    },
    /// The branch's files lie in a work tree, which would show all of them as deleted.
    #[error(
        "the branch {branch} is checked out in {}; publish to another branch (--branch), or into a bare repository",
        path.display()
    )]
    CheckedOut {
        /// The repository.
        path: PathBuf,
        /// The branch.
        branch: String,
    },
    /// The name is none that git takes.
    #[error("{branch:?} is not a name for a branch")]
    BadBranch {
        /// The name.
        branch: String,
    },
    /// The system does not let us look or write.
    #[error(
        "{} cannot be used: {source}; give its owner's rights to this user, or name another path",
        path.display()
    )]
    Denied {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no room left.
    #[error("the disk that holds {} is full", path.display())]
    Full {
        /// The path.
        path: PathBuf,
    },
    /// There is no room left for what is to be written.
    #[error("could not {doing}: the disk is full; free some space")]
    NoRoom {
        /// What was to be done.
        doing: &'static str,
    },
    /// The tip holds a file whose content is not there: a damaged repository. It is never taken
    /// for an empty file.
    #[error("the repository holds {path}, and its content cannot be read: {source}")]
    Unreadable {
        /// The path in the repository.
        path: String,
        /// What git said.
        source: git2::Error,
    },
    /// No file of ours is so large, and it is not read.
    #[error(
        "{path} in the results repository has {bytes} bytes, more than perftrail ever writes there; take it away, then make it anew with `perftrail fsck --rebuild`"
    )]
    TooLarge {
        /// The path in the repository.
        path: String,
        /// Its size.
        bytes: usize,
    },
    /// No run is so large, and it is not gone through.
    #[error("{path} in the results repository holds more files than any run; take it away")]
    TooMany {
        /// The path in the repository.
        path: String,
    },
    /// Something of another kind stands where a file or folder of ours has to be.
    #[error("{path} in the results repository is not a plain {wanted}; move it elsewhere")]
    InTheWay {
        /// The path in the repository.
        path: String,
        /// `file` or `folder`.
        wanted: &'static str,
    },
    /// The repository is of a format that this version does not write.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A path of our own making is unfit, which a layout can bring about.
    #[error("the path {path:?} cannot be published: {source}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        source: PathError,
    },
    /// Other publishers were faster, again and again.
    #[error("other publishers were faster {tries} times")]
    LostRaces {
        /// How often it was tried.
        tries: u32,
    },
    /// The branch moved between two looks at it, and what is gone from it is not to be had.
    #[error("the branch moved while its files were fetched")]
    Moved,
    /// git could not do something.
    #[error("could not {doing}: {source}")]
    Git {
        /// What was to be done.
        doing: &'static str,
        /// What git said.
        source: git2::Error,
    },
}

impl ResultsError {
    /// Whether the same may go well a little later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Remote(RemoteError::Refused { refusal, .. }) => refusal.is_transient(),
            Self::Moved => true,
            _ => false,
        }
    }

    pub(super) fn git(doing: &'static str, source: git2::Error) -> Self {
        // libgit2 has no code of its own for this, only the system's words.
        let said = source.message();
        if said.contains("No space left on device") || said.contains("Disk quota exceeded") {
            return Self::NoRoom { doing };
        }
        Self::Git { doing, source }
    }
}
