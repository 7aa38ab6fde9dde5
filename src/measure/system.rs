//! The only place with `unsafe`: what neither the standard library nor rustix offers.
//!
//! Four things need it: `wait4`, which alone gives the resource usage of exactly one process;
//! `waitid` with the pid of what it found; the few calls a child makes between fork and exec; and
//! the memory that the kernel shows as this process's environment.

#![expect(
    unsafe_code,
    reason = "wait4, waitid, pre_exec and the environment's memory have no safe form"
)]

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

/// What one process and the children it waited for used, as the kernel counted it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usage {
    /// CPU time in user mode, in seconds.
    pub(super) user: f64,
    /// CPU time in the kernel, in seconds.
    pub(super) system: f64,
    /// The largest resident size of one process, in bytes.
    pub(super) max_rss: f64,
    /// Page faults without I/O.
    pub(super) minor_faults: f64,
    /// Page faults that needed I/O.
    pub(super) major_faults: f64,
    /// Context switches because it waited.
    pub(super) voluntary_switches: f64,
    /// Context switches because its time was up.
    pub(super) involuntary_switches: f64,
}

impl Usage {
    /// Adds another process: counters add up, the largest size stays.
    pub(super) fn add(&mut self, other: &Self) {
        self.user += other.user;
        self.system += other.system;
        self.max_rss = self.max_rss.max(other.max_rss);
        self.minor_faults += other.minor_faults;
        self.major_faults += other.major_faults;
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
    }

    fn from_raw(raw: &libc::rusage) -> Self {
        // Linux counts ru_maxrss in KiB, macOS in bytes.
        let rss_unit = if cfg!(target_vendor = "apple") { 1.0 } else { 1024.0 };
        Self {
            user: seconds(raw.ru_utime),
            system: seconds(raw.ru_stime),
            max_rss: raw.ru_maxrss as f64 * rss_unit,
            minor_faults: raw.ru_minflt as f64,
            major_faults: raw.ru_majflt as f64,
            voluntary_switches: raw.ru_nvcsw as f64,
            involuntary_switches: raw.ru_nivcsw as f64,
        }
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Exit {
    fn from_raw(status: i32) -> Self {
        if libc::WIFSIGNALED(status) {
            Self::Signal(libc::WTERMSIG(status))
        } else {
            Self::Code(libc::WEXITSTATUS(status))
        }
    }

    /// The code a shell would tell: its own, or 128 + the signal.
    pub(super) fn shell_code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

/// Waits for that child to end, takes it out of the process table and tells what it used.
///
/// # Errors
/// `ECHILD` when it is no child of this process, or was waited for by somebody else.
pub(super) fn reap(pid: i32) -> io::Result<(Exit, Usage)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to live locals of the right type; the kernel only writes them.
        let got = unsafe { libc::wait4(pid, &raw mut status, wait_flags(), usage.as_mut_ptr()) };
        if got == pid {
            // SAFETY: it was zeroed, which is a valid rusage, and wait4 filled it.
            let usage = unsafe { usage.assume_init() };
            return Ok((Exit::from_raw(status), Usage::from_raw(&usage)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(target_os = "linux")]
const fn wait_flags() -> i32 {
    libc::__WALL
}

#[cfg(not(target_os = "linux"))]
const fn wait_flags() -> i32 {
    0
}

/// The next child that has ended, left in the process table so that `/proc` still tells about it.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// This child has ended.
    Child(i32),
    /// Children are left, none has ended. Only when not blocking.
    NotYet,
    /// There is no child at all.
    NoChildren,
}

/// Looks for a child that has ended; waits for one when `block`.
///
/// # Errors
/// What the kernel says beyond "no child".
#[cfg(target_os = "linux")]
pub(super) fn next_ended(block: bool) -> io::Result<Ended> {
    let mut flags = libc::WEXITED | libc::WNOWAIT | libc::__WALL;
    if !block {
        flags |= libc::WNOHANG;
    }
    loop {
        let mut found = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: the pointer is to a live local of the right type.
        let got = unsafe { libc::waitid(libc::P_ALL, 0, found.as_mut_ptr(), flags) };
        if got == 0 {
            // SAFETY: it was zeroed, which is a valid siginfo, and waitid filled it;
            // the pid is set for a child's end and 0 when none has ended.
            let pid = unsafe { found.assume_init().si_pid() };
            return Ok(if pid == 0 { Ended::NotYet } else { Ended::Child(pid) });
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::ECHILD) => return Ok(Ended::NoChildren),
            _ => return Err(error),
        }
    }
}

/// Starts `command` in a session of its own, with every signal at its default. On Linux the
/// child is killed when the calling thread ends, so that thread must outlive the run.
///
/// # Errors
/// As [`Command::spawn`]: also when the program cannot be executed.
pub(super) fn spawn(command: &mut Command) -> io::Result<Child> {
    let parent = rustix::process::getpid();
    // SAFETY: the closure runs in the forked child and makes only async-signal-safe calls; it
    // allocates nothing, takes no lock, and touches no memory of other threads.
    unsafe {
        command.pre_exec(move || {
            for signal in 1..=SIGNALS {
                // Fails for KILL, STOP and the two that libc keeps for itself: nothing to do there.
                libc::signal(signal, libc::SIG_DFL);
            }
            if libc::setsid() == -1 {
                return Err(io::Error::last_os_error());
            }
            follow(parent.as_raw_nonzero().get())
        });
    }
    command.spawn()
}

#[cfg(target_os = "linux")]
const SIGNALS: i32 = 64;
#[cfg(not(target_os = "linux"))]
const SIGNALS: i32 = 31;

/// In the child: die with the parent; fail when it is gone already.
#[cfg(target_os = "linux")]
fn follow(parent: i32) -> io::Result<()> {
    // SAFETY: both calls take and return plain numbers.
    unsafe {
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == -1 {
            return Err(io::Error::last_os_error());
        }
        if libc::getppid() != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn follow(_parent: i32) -> io::Result<()> {
    Ok(())
}

/// Makes sure that this process is told about its children's end: when it was started with
/// SIGCHLD ignored, the kernel would throw away their status and usage.
pub(super) fn hear_of_children() {
    // SAFETY: setting a default disposition runs no code of ours.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
}

unsafe extern "C" {
    /// The variables of this process, as POSIX has them; ends with a null pointer.
    static environ: *const *mut libc::c_char;
}

/// Overwrites the values of those variables where the kernel shows them, `/proc/self/environ`.
/// From then on they are empty. Call it before any other thread runs.
pub(super) fn blank_environment(is_secret: impl Fn(&std::ffi::OsStr) -> bool) {
    use std::os::unix::ffi::OsStrExt as _;

    // SAFETY: `environ` points to an array of pointers to C strings that ends with a null pointer,
    // unless the process has none. No other thread runs, so nobody reads or moves them meanwhile.
    // Only bytes before a string's end are written, all of them with its end.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let text = std::ffi::CStr::from_ptr(*entry).to_bytes();
            let length = text.len();
            let equals = text.iter().position(|byte| *byte == b'=');
            if let Some(at) =
                equals.filter(|at| is_secret(std::ffi::OsStr::from_bytes(&text[..*at])))
            {
                (*entry).add(at + 1).write_bytes(0, length - at - 1);
            }
            entry = entry.add(1);
        }
    }
}

/// From now on a file that grows beyond the limit of this process is an error of the write, not the
/// end of the process. Children begin with the default again.
pub(super) fn outlive_file_limits() {
    // SAFETY: ignoring a signal runs no code of ours.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}
