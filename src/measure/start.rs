//! What comes before a step: checks, pipes, and what must be read first.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use super::MeasureError;
use super::cgroup::{Cgroup, Facts};
use super::command::{MeterKind, MeterOptions, StepCommand};
use super::host::{Disks, HostCpu};
use super::own;
use super::shared::process_cpu;
use super::system;

/// What was read before the start, to be compared with afterwards.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) cgroup: Cgroup,
    pub(super) facts: Facts,
    pub(super) disks: Option<Disks>,
    pub(super) host: Option<HostCpu>,
    pub(super) own_cpu: f64,
    pub(super) own_size: f64,
}

impl Before {
    pub(super) fn read(options: &MeterOptions) -> Self {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let cgroup = Cgroup::find(&options.places, pid);
        Self {
            facts: cgroup.facts(),
            cgroup,
            disks: Disks::read(&options.places),
            host: HostCpu::read(&options.places),
            own_cpu: process_cpu(),
            own_size: own::size() as f64,
        }
    }
}

/// Looks whether the command can be tried at all.
pub(super) fn check(command: &StepCommand) -> Result<(), MeasureError> {
    if command.argv.first().is_none_or(|program| program.is_empty()) {
        return Err(MeasureError::NoProgram);
    }
    // Exec would tell a missing folder and a missing program alike.
    let entered = fs::metadata(&command.cwd).and_then(|meta| {
        if meta.is_dir() {
            Ok(rustix::fs::access(&command.cwd, rustix::fs::Access::EXEC_OK)?)
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    });
    entered.map_err(|source| MeasureError::Folder { path: command.cwd.clone(), source })
}

/// The ends that we read: standard output, standard error.
pub(super) type Pipes = [OwnedFd; 2];

/// The command as it will be started, and the ends of its pipes.
pub(super) fn child(command: &StepCommand) -> Result<(Command, Pipes), MeasureError> {
    let pipe = || io::pipe().map_err(|source| MeasureError::System { what: "a pipe", source });
    let (out_read, out_write) = pipe()?;
    let (err_read, err_write) = pipe()?;
    let (program, args) = command.argv.split_first().ok_or(MeasureError::NoProgram)?;
    let mut child = Command::new(program);
    child
        .args(args)
        .current_dir(&command.cwd)
        .env_clear()
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(out_write)
        .stderr(err_write);
    Ok((child, [out_read.into(), err_read.into()]))
}

/// Orphans of the job become our children, so that nothing escapes being measured or ended.
pub(super) fn adopt_orphans(kind: MeterKind, yes: bool) {
    system::hear_of_children();
    #[cfg(target_os = "linux")]
    if kind.sees_the_tree() {
        // Where it is refused, only what stays below the command is seen.
        let _ = rustix::process::set_child_subreaper(yes.then(rustix::process::getpid));
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (kind, yes);
}

/// Why a program was not executed, as shells tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is no such program, or not the interpreter that it names.
    NotFound,
    /// It is no program, or not executable.
    NotExecutable,
}

impl Refusal {
    /// What the system meant; `None` when it lacked something for a process of its own.
    pub(super) fn of(error: &io::Error) -> Option<Self> {
        match error.raw_os_error()? {
            libc::ENOENT | libc::ENOTDIR => Some(Self::NotFound),
            libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE | libc::ESRCH => None,
            _ => Some(Self::NotExecutable),
        }
    }

    /// The exit code of shells.
    pub(super) const fn exit_code(self) -> i32 {
        match self {
            Self::NotFound => 127,
            Self::NotExecutable => 126,
        }
    }

    /// The notice's key.
    pub(super) const fn code(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::NotExecutable => "not_executable",
        }
    }

    /// What happened, why, and what to do.
    pub(super) fn message(self, program: &str, error: &io::Error) -> String {
        match self {
            Self::NotFound => format!(
                "`{program}` was not found ({error}); \
                 check its name, and the PATH of the job's environment"
            ),
            Self::NotExecutable => format!(
                "`{program}` cannot be executed ({error}); \
                 check that it is a program with execute permission"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_as_shells_do() {
        for (errno, code) in [
            (libc::ENOENT, Some(127)),
            (libc::ENOTDIR, Some(127)),
            (libc::EACCES, Some(126)),
            (libc::ENOEXEC, Some(126)),
            (libc::E2BIG, Some(126)),
            (libc::EAGAIN, None),
            (libc::ENOMEM, None),
        ] {
            let error = io::Error::from_raw_os_error(errno);
            assert_eq!(Refusal::of(&error).map(Refusal::exit_code), code, "{error}");
        }
        assert_eq!(Refusal::of(&io::Error::other("a NUL in an argument")), None);
    }
}
