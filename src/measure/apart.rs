//! Runs the measuring itself as another user, apart from the process that holds the secrets.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::sampler::thread;
use super::stop::{Stop, StopCause};
use super::{MeasureError, system};

/// What still holds the output open after this long is none of the program's.
const DRAIN: Duration = Duration::from_secs(2);
/// Processes that are not gone after this long cannot be ended.
const END_LIMIT: Duration = Duration::from_secs(2);

/// A program to run, to its end, with its output in one stream.
#[derive(Clone, Debug)]
pub struct Apart {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// The folder it runs in.
    pub cwd: PathBuf,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The user and group it runs as, without any other group; `None`: as we do.
    pub user: Option<(u32, u32)>,
}

/// How a program ended that ran apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApartEnd {
    /// With this code.
    Code(u8),
    /// By this signal.
    Signal(i32),
}

impl Apart {
    /// Runs it. A request to stop is passed on as the same signal, each time it comes.
    ///
    /// # Errors
    /// When the system refuses a pipe, a thread or the process.
    pub fn run(
        &self,
        stop: &Stop,
        output: Box<dyn Write + Send>,
    ) -> Result<ApartEnd, MeasureError> {
        system::hear_of_children();
        let (mut child, reader) = self.start(output)?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let alive = Arc::new(Mutex::new(pid));
        let pass_on = {
            let alive = Arc::clone(&alive);
            move |cause: StopCause| {
                if let Some(pid) = *hold(&alive) {
                    // It may have ended just now.
                    let _ = rustix::process::kill_process(pid, cause.signal());
                }
            }
        };
        stop.on_request(Some(Box::new(pass_on)));
        if let Some(pid) = pid {
            // It stays in the process table until no signal can be sent to its number any more.
            let flags = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while rustix::process::waitid(WaitId::Pid(pid), flags)
                .is_err_and(|error| error == rustix::io::Errno::INTR)
            {}
        }
        *hold(&alive) = None;
        stop.on_request(None);
        let status =
            child.wait().map_err(|source| MeasureError::System { what: "wait", source })?;
        end_all_others();
        drain(&reader);
        Ok(match (status.code(), status.signal()) {
            (Some(code), _) => ApartEnd::Code(u8::try_from(code).unwrap_or(u8::MAX)),
            (None, signal) => ApartEnd::Signal(signal.unwrap_or_default()),
        })
    }

    fn start(
        &self,
        mut output: Box<dyn Write + Send>,
    ) -> Result<(Child, JoinHandle<()>), MeasureError> {
        let failed = |what| move |source| MeasureError::System { what, source };
        let (mut from, to) = io::pipe().map_err(failed("a pipe"))?;
        let (program, args) = self.argv.split_first().ok_or(MeasureError::NoProgram)?;
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(&self.cwd)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(to.try_clone().map_err(failed("a pipe"))?)
            .stderr(to)
            .process_group(0);
        if let Some((uid, gid)) = self.user {
            // From root this leaves no other group behind.
            command.gid(gid).uid(uid);
        }
        let child = command.spawn().map_err(failed("a process"))?;
        drop(command);
        let reader = thread("output", move || {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(got) = from.read(&mut buffer) {
                if got == 0 || output.write_all(&buffer[..got]).is_err() {
                    break;
                }
            }
            // What is left is read all the same, or the program would wait for us for ever.
            let _ = io::copy(&mut from, &mut io::sink());
        })?;
        Ok((child, reader))
    }
}

fn hold(alive: &Mutex<Option<Pid>>) -> std::sync::MutexGuard<'_, Option<Pid>> {
    alive.lock().unwrap_or_else(PoisonError::into_inner)
}

fn drain(reader: &JoinHandle<()>) {
    let limit = Instant::now() + DRAIN;
    while !reader.is_finished() && Instant::now() < limit {
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// As the first process of a container: ends every other one, so that nothing of a job is there
/// any more when secrets are used. Elsewhere it does nothing.
fn end_all_others() {
    if rustix::process::getpid().as_raw_nonzero().get() != 1 {
        return;
    }
    let limit = Instant::now() + END_LIMIT;
    while Instant::now() < limit {
        let mut left = false;
        for pid in std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
            entry.file_name().to_str()?.parse::<i32>().ok().filter(|pid| *pid != 1)
        }) {
            if let Some(pid) = Pid::from_raw(pid) {
                left = true;
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
        while let Ok(Some(_)) =
            rustix::process::waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG)
        {
        }
        if !left {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// Keeps this process's secrets to itself: empties those variables where the kernel shows them, and
/// lets no process of the same user look into its memory. With `no_new_rights` nothing that it
/// starts gains rights by a set-user-id program. Call it first, before any thread.
///
/// # Errors
/// When the system refuses.
pub fn keep_to_itself(
    is_secret: impl Fn(&std::ffi::OsStr) -> bool,
    no_new_rights: bool,
) -> Result<(), MeasureError> {
    system::blank_environment(is_secret);
    #[cfg(target_os = "linux")]
    {
        use rustix::process::DumpableBehavior;
        let failed = |what| {
            move |error: rustix::io::Errno| MeasureError::System { what, source: error.into() }
        };
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(failed("memory that nobody else reads"))?;
        if no_new_rights {
            rustix::thread::set_no_new_privs(true).map_err(failed("no new rights"))?;
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = no_new_rights;
    Ok(())
}
