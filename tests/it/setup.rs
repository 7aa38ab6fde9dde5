//! `setup/action.yml`: its step is run as a runner runs it, with the shells and programs that
//! runners and small images have.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use perftrail::record::canonical::sha256_hex;
use tempfile::TempDir;

use crate::support::Answer;
use crate::support::file_server::FileServer;

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What the step needs of any image.
const ALWAYS: [&str; 19] = [
    "sh",
    "cat",
    "chmod",
    "cp",
    "cut",
    "dirname",
    "gzip",
    "head",
    "id",
    "mktemp",
    "od",
    "rm",
    "sed",
    "sha256sum",
    "sleep",
    "tar",
    "tr",
    "uname",
    "env",
];

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A program that answers as perftrail does.
pub(crate) fn program(version: &str) -> String {
    format!("#!/bin/sh\necho perftrail {version}\n")
}

/// Where a program of this machine lies; `None` where it has none.
pub(crate) fn which(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Python itself, not a script that looks for one.
fn python() -> PathBuf {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let text = String::from_utf8(output.expect("python3").stdout).expect("a path");
    PathBuf::from(text.trim())
}

/// A step of `setup/action.yml` on a runner.
pub(crate) struct Setup {
    folder: TempDir,
    /// The folder of the action.
    pub(crate) action: PathBuf,
    environment: Vec<(String, String)>,
}

impl Setup {
    /// A runner that has these programs beside those that any has.
    pub(crate) fn with(programs: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for part in ["bin", "temp", "work"] {
            fs::create_dir(folder.path().join(part)).expect("a folder");
        }
        let setup = Self { folder, action: root().join("setup"), environment: Vec::new() };
        for name in ALWAYS.iter().chain(programs) {
            let found = if *name == "python3" { Some(python()) } else { which(name) };
            let found = found.unwrap_or_else(|| panic!("this machine has no {name}"));
            symlink(found, setup.path("bin").join(name)).expect("a link");
        }
        setup
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Takes a program away.
    pub(crate) fn without(self, name: &str) -> Self {
        fs::remove_file(self.path("bin").join(name)).expect("it was there");
        self
    }

    /// A program of that name that does this.
    pub(crate) fn fake(self, name: &str, script: &str) -> Self {
        executable(&self.path("bin").join(name), &format!("#!/bin/sh\n{script}\n"));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<Path>) -> Self {
        let value = value.as_ref().to_str().expect("text").to_owned();
        self.environment.push((name.to_owned(), value));
        self
    }

    /// Runs the step with these inputs.
    pub(crate) fn run(&self, inputs: &[(&str, &str)]) -> Answer {
        for name in ["path", "output"] {
            fs::write(self.path(name), "").expect("a file");
        }
        let text = fs::read_to_string(self.action.join("action.yml")).expect("the action");
        let script = self.path("step.sh");
        fs::write(&script, value_of(&text, "run")).expect("a file");
        let mut command = Command::new(self.path("bin/sh"));
        command
            .arg("-e")
            .arg(script)
            .current_dir(self.path("work"))
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("GITHUB_ACTION_PATH", &self.action)
            .env("RUNNER_TEMP", self.path("temp"))
            .env("GITHUB_PATH", self.path("path"))
            .env("GITHUB_OUTPUT", self.path("output"));
        for line in text.lines().filter(|line| line.trim().starts_with("PERFTRAIL_SETUP_")) {
            let (name, value) = line.trim().split_once(": ").expect("a variable");
            let input = value.trim_start_matches("${{ inputs.").trim_end_matches(" }}");
            let given = inputs.iter().find(|(name, _)| *name == input);
            command.env(name, given.map_or("", |(_, value)| value));
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let answer = Answer::of(&mut command);
        for line in answer.stdout.lines().filter(|line| line.trim().starts_with("::")) {
            let level = line
                .strip_prefix("::")
                .and_then(|rest| rest.split_once(" title=perftrail setup::"));
            assert!(
                level.is_some_and(|(level, _)| ["error", "warning", "notice"].contains(&level)),
                "{line}"
            );
        }
        answer
    }

    /// The step ends well, and later steps find the program.
    #[track_caller]
    pub(crate) fn installs(&self, inputs: &[(&str, &str)]) -> String {
        let answer = self.run(inputs).exits(0);
        let added = fs::read_to_string(self.path("path")).expect("the path");
        let found = Path::new(added.trim()).join("perftrail");
        assert_eq!(
            fs::read_to_string(self.path("output")).expect("outputs"),
            format!("version=perftrail {VERSION}\npath={}\n", found.display())
        );
        let said = Answer::of(Command::new(&found).arg("--version")).exits(0);
        assert_eq!(said.stdout, format!("perftrail {VERSION}\n"));
        assert_eq!(self.left().len(), 1, "what was loaded is gone");
        answer.stdout
    }

    /// The step fails with an annotation that holds these words, and leaves nothing.
    #[track_caller]
    pub(crate) fn refuses(&self, inputs: &[(&str, &str)], words: &[&str]) {
        let answer = self.run(inputs).exits(1);
        let last = answer.stdout.lines().last().unwrap_or_default();
        assert!(
            last.starts_with("::error title=perftrail setup::"),
            "{}{}",
            answer.stdout,
            answer.stderr
        );
        for word in words {
            assert!(last.contains(word), "{word}: {last}");
        }
        assert_eq!(fs::read_to_string(self.path("path")).unwrap_or_default(), "");
        assert_eq!(fs::read_to_string(self.path("output")).unwrap_or_default(), "");
        assert!(self.left().is_empty(), "{:?}", self.left());
    }

    fn left(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("temp")).expect("a folder");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    }
}

/// What stands behind `key:` in a file of an action.
fn value_of(text: &str, key: &str) -> String {
    let begin = format!("{key}:");
    let line = text.lines().find(|line| line.trim().starts_with(&begin)).expect("the key");
    line.trim().trim_start_matches(&begin).trim().to_owned()
}

/// A program in the place of whatever stands there; a link is never written through.
pub(crate) fn executable(path: &Path, text: &str) {
    let _ = fs::remove_file(path);
    fs::File::create_new(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a program");
}

/// An archive that holds one file.
pub(crate) fn archive(to: &Path, name: &str, text: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    executable(&folder.path().join(name), text);
    let tar =
        Command::new("tar").arg("-czf").arg(to).arg("-C").arg(folder.path()).arg(name).status();
    assert!(tar.expect("tar").success());
}

pub(crate) fn sum(path: &Path) -> String {
    sha256_hex(&fs::read(path).expect("a file"))
}

#[test]
fn a_program_that_is_there_is_put_on_the_path_by_every_shell() {
    let built = env!("CARGO_BIN_EXE_perftrail");
    // As `sh` these are what the images of Debian, Fedora and Alpine have.
    for shell in ["dash", "bash", "busybox"].into_iter().filter_map(which) {
        let setup = Setup::with(&[]).without("sh");
        symlink(shell, setup.path("bin/sh")).expect("a link");
        setup.installs(&[("path", built)]);
    }
    let setup = Setup::with(&[]);
    executable(&setup.path("work/mine"), &program(VERSION));
    setup.installs(&[("path", "mine"), ("sha256", &sum(&setup.path("work/mine")))]);
    let setup = Setup::with(&[]);
    setup.refuses(&[("path", "nowhere/perftrail")], &["no file nowhere/perftrail"]);
    executable(&setup.path("work/mine"), &program(VERSION));
    setup.refuses(&[("path", "mine"), ("sha256", &"0".repeat(64))], &["mine has the sha256"]);
    setup.refuses(&[("path", ".")], &["no file ."]);
}

#[test]
fn an_address_is_loaded_by_whatever_the_image_has() {
    let server = FileServer::start();
    executable(&server.file("perftrail"), &program(VERSION));
    archive(&server.file("p.tar.gz"), "perftrail", &program(VERSION));
    archive(&server.file("dots.tgz"), "./perftrail", &program(VERSION));
    archive(&server.file("other.tar.gz"), "readme", "nothing\n");
    fs::write(server.file("login"), "<html>Who are you?</html>").expect("a file");
    let url = |name: &str| format!("{}/{name}", server.address());
    let mut tried = 0;
    for client in ["curl", "wget", "python3"].iter().filter(|name| which(name).is_some()) {
        tried += 1;
        for name in ["perftrail", "p.tar.gz", "dots.tgz"] {
            let sum = sum(&server.file(name)).to_uppercase();
            let said = Setup::with(&[client]).installs(&[("url", &url(name)), ("sha256", &sum)]);
            assert!(!said.contains("::"), "{said}");
        }
        let said = Setup::with(&[client]).installs(&[("url", &url("p.tar.gz?raw=1"))]);
        assert!(said.contains("::warning title=perftrail setup::no sha256"), "{said}");
        let setup = Setup::with(&[client]);
        let wrong = [("url", url("perftrail")), ("sha256", "0".repeat(64))];
        let wrong = wrong.each_ref().map(|(name, value)| (*name, value.as_str()));
        setup.refuses(&wrong, &["expected is 0000", "not used"]);
        setup.refuses(&[("url", &url("gone"))], &["/gone could not be downloaded"]);
        setup.refuses(&[("url", &url("login"))], &["is no program", "login"]);
        setup.refuses(&[("url", &url("other.tar.gz"))], &["no archive that holds the program"]);
        setup.refuses(&[("url", "http://127.0.0.1:1/x")], &["could not be downloaded"]);
    }
    assert!(tried > 0);
}

#[test]
fn what_a_small_image_lacks_is_said() {
    let server = FileServer::start();
    archive(&server.file("p.tar.gz"), "perftrail", &program(VERSION));
    let url = format!("{}/p.tar.gz", server.address());
    let given = [("url", url.as_str()), ("sha256", "1")];
    Setup::with(&[]).refuses(&given, &["neither curl, wget nor python3", "the input path"]);
    let setup = Setup::with(&["python3"]).without("sha256sum");
    setup.refuses(&given, &["neither sha256sum, shasum nor openssl"]);
    let setup = Setup::with(&["python3"]).without("tar");
    setup.refuses(&[("url", &url)], &["tar and gzip are not here"]);
}

#[test]
fn a_program_that_cannot_run_here_is_not_put_on_the_path() {
    let setup = Setup::with(&[]);
    let built = fs::read(env!("CARGO_BIN_EXE_perftrail")).expect("the program");
    let mut foreign = built[..4096].to_vec();
    foreign[18..20].copy_from_slice(if cfg!(target_arch = "x86_64") {
        &[0xb7, 0]
    } else {
        &[0x3e, 0]
    });
    fs::write(setup.path("work/foreign"), foreign).expect("a file");
    setup.refuses(&[("path", "foreign")], &["for another processor"]);
    for (text, words) in [
        ("#!/bin/sh\necho no library >&2\nexit 127\n", "does not run on this machine"),
        ("#!/bin/sh\necho something else 1.0\n", "is not perftrail: it says something else 1.0"),
        ("#!/bin/sh\necho perftrail 1\necho ::error::x\n", "is not perftrail"),
        ("#!/bin/sh\n", "is not perftrail"),
        ("", "is no program"),
    ] {
        executable(&setup.path("work/bad"), text);
        setup.refuses(&[("path", "bad")], &[words]);
    }
}

#[test]
fn places_that_cannot_be_written_are_named() {
    let setup = Setup::with(&[]);
    executable(&setup.path("work/mine"), &program(VERSION));
    let mine = [("path", "mine")];
    let gone = setup.path("gone");
    let setup = setup.env("RUNNER_TEMP", &gone);
    setup.refuses(&mine, &["nothing can be written to", "/gone"]);
    for (variable, words) in
        [("GITHUB_PATH", "path of later steps"), ("GITHUB_OUTPUT", "outputs of this step")]
    {
        let setup = Setup::with(&[]);
        executable(&setup.path("work/mine"), &program(VERSION));
        let folder = setup.path("work");
        let answer = setup.env(variable, folder).run(&mine).exits(1);
        assert!(answer.stdout.contains(words), "{}", answer.stdout);
    }
}
