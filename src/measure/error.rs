//! What can keep a step from being measured.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a step could not be measured at all. A job that fails is no such error: it is measured.
#[derive(Debug, Error)]
pub enum MeasureError {
    /// Two measurements at once would take each other's processes.
    #[error("this process measures something already; wait for it to end")]
    Busy,
    /// The command holds no program.
    #[error("the command is empty; name a program to run")]
    NoProgram,
    /// The folder the job is to run in is not there.
    #[error("the folder {} cannot be entered; check `cwd`", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The system gave no process, pipe or thread.
    #[error("the system refused {what} for the job")]
    System {
        /// What was asked for.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// A pattern of a counter is refused.
    #[error("the pattern of a counter is refused")]
    Pattern {
        /// What the pattern reader says.
        source: Box<regex::Error>,
    },
}
