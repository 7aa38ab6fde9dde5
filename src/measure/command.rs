//! What is to be measured, and how.

use std::ffi::OsString;
use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use regex::bytes::Regex;

use super::log::LogBudget;

/// One command, run as its own process tree. Its standard input is empty.
#[derive(Clone, Debug)]
pub struct StepCommand {
    /// The program and its arguments. A program without a slash is looked for in the `PATH` of `env`.
    pub argv: Vec<OsString>,
    /// The folder it runs in.
    pub cwd: PathBuf,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The file that the job appends JSON lines to; the caller names it in `env` as well.
    pub stats_file: Option<PathBuf>,
    /// After this it is ended.
    pub timeout: Option<Duration>,
    /// How much of its output is kept.
    pub log: LogBudget,
    /// Patterns that are counted over its output, by name.
    pub counters: Vec<(String, Regex)>,
}

/// Where the job's output goes while it runs, beside the log.
#[derive(Default)]
pub struct Sinks {
    /// For standard output; `None` shows it nowhere.
    pub stdout: Option<Box<dyn Write + Send>>,
    /// For standard error; `None` shows it nowhere.
    pub stderr: Option<Box<dyn Write + Send>>,
}

impl fmt::Debug for Sinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sinks")
            .field("stdout", &self.stdout.is_some())
            .field("stderr", &self.stderr.is_some())
            .finish()
    }
}

/// How processes are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeterKind {
    /// Everything that Linux tells about a process tree.
    #[cfg(target_os = "linux")]
    Linux,
    /// What every Unix tells: the clock, and the CPU time of the command and its waited-for children.
    Portable,
}

impl MeterKind {
    /// The best that this system has.
    pub const fn best() -> Self {
        #[cfg(target_os = "linux")]
        {
            Self::Linux
        }
        #[cfg(not(target_os = "linux"))]
        {
            Self::Portable
        }
    }

    /// The word that stands in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            #[cfg(target_os = "linux")]
            Self::Linux => "linux",
            Self::Portable => "portable",
        }
    }

    pub(super) const fn sees_the_tree(self) -> bool {
        match self {
            #[cfg(target_os = "linux")]
            Self::Linux => true,
            Self::Portable => false,
        }
    }
}

/// Times and places of measuring.
#[derive(Clone, Debug)]
pub struct MeterOptions {
    /// Time between two samples in the first second.
    pub first_interval: Duration,
    /// Time between two samples later; the governor makes it longer where a sample costs much.
    pub interval: Duration,
    /// Whether proportional memory is read as well.
    pub pss: bool,
    /// How long processes may outlive the command before they are ended.
    pub daemon_grace: Duration,
    /// Time from SIGTERM to SIGKILL after a time-out.
    pub kill_grace: Duration,
    /// Time from a request to stop to SIGTERM.
    pub stop_terminate: Duration,
    /// Time from a request to stop to SIGKILL.
    pub stop_kill: Duration,
    /// Time between two reports of progress.
    pub progress: Duration,
    /// Where the facts of the machine are read.
    pub places: Places,
}

impl Default for MeterOptions {
    fn default() -> Self {
        Self {
            first_interval: Duration::from_millis(10),
            interval: Duration::from_millis(50),
            pss: true,
            daemon_grace: Duration::from_secs(5),
            kill_grace: Duration::from_secs(10),
            stop_terminate: Duration::from_secs(3),
            stop_kill: Duration::from_secs(5),
            progress: Duration::from_millis(250),
            places: Places::default(),
        }
    }
}

/// Where the kernel's facts are read, so that tests can lay their own.
#[derive(Clone, Debug)]
pub struct Places {
    /// `/proc`, for facts of the whole machine and of the own cgroup. The process tree itself is
    /// always read from the real one.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
    /// Put before the mount points that `mountinfo` names; `/` for the real ones.
    pub root: PathBuf,
}

impl Default for Places {
    fn default() -> Self {
        Self { proc: "/proc".into(), sys: "/sys".into(), root: "/".into() }
    }
}
