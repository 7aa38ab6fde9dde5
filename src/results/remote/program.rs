//! Runs the git program: bounded in time and output, away from the user's configuration when a
//! credential was given, and with secrets in its environment only.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::workspace::Workspace;
use super::{Connection, Credential, KNOWN_HOSTS};
use crate::model::secret::Secret;

/// Most bytes kept of what the program says.
const SAID_MAX: u64 = 1 << 20;
/// The program gives up by itself when less than this many bytes a second came for this many
/// seconds: a server that hangs is told sooner than by the whole time's end.
const LOW_SPEED: (&str, &str) = ("1", "60");

/// The git program with all it needs to reach one server.
#[derive(Debug)]
pub(super) struct Git {
    program: PathBuf,
    folder: PathBuf,
    variables: Vec<(OsString, OsString)>,
    secrets: Vec<Secret>,
    timeout: Duration,
}

/// What the program answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) is_success: bool,
    pub(super) stdout: String,
    /// What it told people, without secrets and control characters.
    pub(super) said: String,
}

/// Why the program gave no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// It is not there.
    Missing,
    /// It could not be started or read.
    Io(io::Error),
    /// It took too long and was ended.
    Timeout,
}

impl Git {
    /// `folder` is the repository in `workspace`; a key goes to a file of its own beside it.
    pub(super) fn new(
        connection: &Connection,
        workspace: &Workspace,
        folder: PathBuf,
    ) -> io::Result<Self> {
        let mut variables: Vec<(OsString, OsString)> = connection.environment.clone();
        let mut set = |name: &str, value: OsString| {
            variables.retain(|(other, _)| other != name);
            variables.push((name.into(), value));
        };
        set("GIT_TERMINAL_PROMPT", "0".into());
        set("GIT_HTTP_LOW_SPEED_LIMIT", LOW_SPEED.0.into());
        set("GIT_HTTP_LOW_SPEED_TIME", LOW_SPEED.1.into());
        // Its words are read, so they must be English.
        set("LC_ALL", "C".into());
        if !matches!(connection.credential, Credential::Own) {
            set("GIT_CONFIG_NOSYSTEM", "1".into());
            set("GIT_CONFIG_GLOBAL", "/dev/null".into());
            set("HOME", workspace.path().into());
            set("GIT_ASKPASS", OsString::new());
            set("SSH_ASKPASS", OsString::new());
        }
        let mut secrets = Vec::new();
        match &connection.credential {
            Credential::Own => {
                // A question that nobody can answer would wait for ever.
                let is_set =
                    |name: &str| connection.environment.iter().any(|(other, _)| other == name);
                if !is_set("GIT_SSH_COMMAND") {
                    set("GIT_SSH_COMMAND", "ssh -o BatchMode=yes".into());
                }
            }
            Credential::Token(token) => {
                let basic = BASE64.encode(format!("x-access-token:{}", token.expose()));
                set("GIT_CONFIG_COUNT", "1".into());
                set("GIT_CONFIG_KEY_0", format!("http.{}.extraHeader", connection.url).into());
                set("GIT_CONFIG_VALUE_0", format!("Authorization: Basic {basic}").into());
                secrets.extend([Some(token.clone()), Secret::new(&basic)].into_iter().flatten());
            }
            Credential::SshKey { key, known_hosts } => {
                let hosts = format!("{KNOWN_HOSTS}\n{}\n", known_hosts.as_deref().unwrap_or(""));
                let hosts = workspace.write_private("known_hosts", &hosts)?;
                // A key without a newline at its end is not read.
                let file = workspace.write_private("key", &format!("{}\n", key.expose()))?;
                let command = format!(
                    "ssh -F /dev/null -i '{}' -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=yes -o UserKnownHostsFile='{}' -o GlobalKnownHostsFile=/dev/null -o ConnectTimeout=30",
                    file.display(),
                    hosts.display()
                );
                set("GIT_SSH_COMMAND", command.into());
                secrets.push(key.clone());
            }
        }
        Ok(Self {
            program: connection.program.clone(),
            folder,
            variables,
            secrets,
            timeout: connection.timeout,
        })
    }

    /// Whether a credential was given.
    pub(super) fn has_credential(&self) -> bool {
        !self.secrets.is_empty()
    }

    /// Runs the program to its end.
    pub(super) fn run(&self, args: &[&str]) -> Result<Answer, NoAnswer> {
        let mut command = Command::new(&self.program);
        command
            .args(["-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never"])
            .args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"])
            .args(args)
            .current_dir(&self.folder)
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => NoAnswer::Missing,
            _ => NoAnswer::Io(error),
        })?;
        self.wait(child)
    }

    /// Reads both streams to their end, or ends the program and all that it started.
    fn wait(&self, mut child: Child) -> Result<Answer, NoAnswer> {
        let (sender, receiver) = mpsc::channel();
        let streams: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>),
            child.stderr.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>),
        ];
        for (number, stream) in streams.into_iter().enumerate() {
            let sender = sender.clone();
            thread::spawn(move || {
                let text = stream.map(read_some).unwrap_or_default();
                // Nobody listens any more when the time is over.
                let _ = sender.send((number, text));
            });
        }
        drop(sender);
        let end = Instant::now() + self.timeout;
        let mut texts = [String::new(), String::new()];
        loop {
            match receiver.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok((number, text)) => texts[number] = text,
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    kill(&mut child);
                    let _ = child.wait();
                    return Err(NoAnswer::Timeout);
                }
            }
        }
        let status = child.wait().map_err(NoAnswer::Io)?;
        let [stdout, said] = texts;
        Ok(Answer { is_success: status.success(), stdout, said: self.clean(&said) })
    }

    /// Without secrets, and with nothing that moves a terminal.
    fn clean(&self, said: &str) -> String {
        let mut text = said.to_owned();
        for secret in &self.secrets {
            text = text.replace(secret.expose(), "***");
        }
        text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
    }
}

fn read_some(stream: impl Read) -> String {
    let mut stream = stream;
    let mut bytes = Vec::new();
    let _ = stream.by_ref().take(SAID_MAX).read_to_end(&mut bytes);
    // The rest is read too, or the program would wait for ever.
    let _ = io::copy(&mut stream, &mut io::sink());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(unix)]
fn kill(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
}

#[cfg(not(unix))]
fn kill(child: &mut Child) {
    let _ = child.kill();
}
