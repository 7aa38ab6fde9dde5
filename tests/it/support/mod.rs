//! A project to measure, in a folder of its own, and the built program to measure it with.

pub(crate) mod file_server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// A throw-away project with a HOME of its own.
pub(crate) struct Project {
    folder: TempDir,
}

/// What the program answered.
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Project {
    /// An empty folder that is no repository.
    pub(crate) fn bare_folder() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir_all(folder.path().join("home")).expect("a home");
        fs::create_dir_all(folder.path().join("project")).expect("a project");
        Self { folder }
    }

    /// A repository with one commit.
    pub(crate) fn new() -> Self {
        let project = Self::bare_folder();
        project.git(&["init", "-q", "-b", "main"]);
        project.file("README.md", "A project.\n").commit("Begin");
        project
    }

    /// The project's root.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// A path in the project.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Writes a file.
    pub(crate) fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
        self
    }

    /// Commits everything.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs git in the project.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.root(), &self.home(), args)
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The program, with nothing of the outer environment but the path.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_perftrail"));
        command
            .args(args)
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("LANG", "C.UTF-8");
        command
    }

    /// Runs the program to its end.
    pub(crate) fn perftrail(&self, args: &[&str]) -> Answer {
        Answer::of(&mut self.command(args))
    }

    /// The only bundle in the default output folder.
    pub(crate) fn bundle(&self) -> PathBuf {
        let mut bundles = self.bundles();
        assert_eq!(bundles.len(), 1, "one bundle: {bundles:?}");
        bundles.remove(0)
    }

    /// All bundles in the default output folder, by name.
    pub(crate) fn bundles(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path("perftrail-out")) else {
            return Vec::new();
        };
        let mut bundles: Vec<PathBuf> = entries
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.is_dir())
            .collect();
        bundles.sort();
        bundles
    }

    /// The record of the only bundle.
    pub(crate) fn record(&self) -> Value {
        read_json(&self.bundle().join("stats.json"))
    }
}

/// The message of the notice with that code.
#[track_caller]
pub(crate) fn notice<'a>(record: &'a Value, code: &str) -> &'a str {
    let notices = record["notices"].as_array().expect("notices");
    let found = notices.iter().find(|notice| notice["code"] == code);
    found.unwrap_or_else(|| panic!("no {code} in {notices:?}"))["message"].as_str().expect("a text")
}

impl Answer {
    /// Runs a command and keeps what it answers.
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().expect("the program starts");
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The same, when it ended with that code; else the test fails and shows what was said.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "exit code\n-- stdout\n{}\n-- stderr\n{}",
            self.stdout, self.stderr
        );
        self
    }
}

/// A JSON file.
pub(crate) fn read_json(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Runs the git program, away from the user's configuration.
pub(crate) fn git(folder: &Path, home: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
        .args(args)
        .current_dir(folder)
        .env("HOME", home)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git starts");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A port of this machine that nobody listens on.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Returns when somebody listens on the port.
#[track_caller]
pub(crate) fn wait_for_port(port: u16) {
    for _ in 0..1000 {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("nobody listens on port {port}");
}

/// Says something that nobody is to miss: past what the harness keeps of tests that pass.
pub(crate) fn loud(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
