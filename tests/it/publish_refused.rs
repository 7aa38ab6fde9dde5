//! Whatever keeps a run from being published: the bundle stays whole, the words help, no secret
//! shows, and the command that is printed publishes it once the trouble is over.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::git_server::{READ_TOKEN, Server, Trouble, WRITE_TOKEN};
use crate::support::{Answer, Project};

struct Case {
    project: Project,
    server: Server,
    before: BTreeMap<PathBuf, Vec<u8>>,
}

/// What the program is told to do, and with what.
struct Asked<'a> {
    to: String,
    token: &'a str,
    path: Option<PathBuf>,
}

impl Case {
    fn new() -> Self {
        let project = Project::new();
        fs::create_dir(project.path("temp")).expect("a folder");
        project.perftrail(&["run", "--job", "sim", "--", "true"]).exits(0);
        let before = content(&project.bundle());
        Self { project, server: Server::start(), before }
    }

    fn asked(&self) -> Asked<'static> {
        Asked { to: self.server.url(), token: WRITE_TOKEN, path: None }
    }

    fn with_environment(&self, command: &mut Command, asked: &Asked<'_>) {
        command
            .env("PERFTRAIL_RESULTS_TOKEN", asked.token)
            .env("RUNNER_TEMP", self.project.path("temp"))
            .env("PERFTRAIL_PUBLISH_TIMEOUT", "1s");
        if let Some(path) = &asked.path {
            command.env("PATH", path);
        }
    }

    /// Publishes in vain; gives the command that is said to try again.
    #[track_caller]
    fn refused(&self, asked: &Asked<'_>, words: &[&str]) -> String {
        let bundle = self.project.bundle();
        let bundle = bundle.to_string_lossy();
        let mut command = self.project.command(&["publish", &bundle, "--to", &asked.to]);
        self.with_environment(&mut command, asked);
        self.check(&Answer::of(&mut command).exits(6), asked, words)
    }

    #[track_caller]
    fn check(&self, answer: &Answer, asked: &Asked<'_>, words: &[&str]) -> String {
        let told = &answer.stderr;
        for word in words {
            assert!(told.contains(word), "no {word:?} in:\n{told}");
        }
        assert!(told.contains("nothing is lost"), "{told}");
        for text in [told, &answer.stdout] {
            assert!(
                !text.contains(asked.token) && !text.contains("Basic "),
                "a secret in:\n{text}"
            );
        }
        assert_eq!(content(&self.project.bundle()), self.before, "the bundle is as it was");
        let left: Vec<_> = fs::read_dir(self.project.path("temp")).expect("a folder").collect();
        assert!(left.is_empty(), "{left:?}");
        let again = told.lines().last().expect("a command").trim();
        assert!(again.starts_with("perftrail publish "), "{told}");
        again.to_owned()
    }

    /// Pastes the command into a shell.
    #[track_caller]
    fn paste(&self, again: &str, asked: &Asked<'_>) -> Answer {
        let mut command = self.project.command(&[]);
        let program = PathBuf::from(command.get_program());
        let folder = program.parent().expect("a folder").to_string_lossy().into_owned();
        command = Command::new("bash");
        command.args(["-c", again]).current_dir(self.project.root()).env_clear();
        self.with_environment(&mut command, asked);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{folder}:{path}")).env("HOME", self.project.path("temp"));
        Answer::of(&mut command)
    }

    /// The trouble is over: the command that was printed works.
    #[track_caller]
    fn works(&self, again: &str) {
        self.server.take_troubles();
        let _ = fs::remove_file(self.server.repository().join("hooks/pre-receive"));
        let answer = self.paste(again, &self.asked()).exits(0);
        assert!(answer.stderr.contains("published as runs/"), "{}", answer.stderr);
        let tree = self.server.git(&["ls-tree", "-r", "--name-only", "results"]);
        assert_eq!(tree.lines().filter(|path| path.ends_with("/stats.json")).count(), 1);
    }
}

fn real_git() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join("git"))
        .find(|file| file.is_file())
        .expect("a git program")
}

/// Every file of a folder.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    walkdir::WalkDir::new(folder)
        .into_iter()
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| (entry.path().to_owned(), fs::read(entry.path()).expect("a file")))
        .collect()
}

#[test]
fn tokens_that_do_not_open() {
    let case = Case::new();
    for (token, words) in [
        ("ghs_of_nobody", ["wrong, expired or revoked", "store a new one"]),
        (READ_TOKEN, ["may not write", "contents: write"]),
    ] {
        let asked = Asked { token, ..case.asked() };
        let again = case.refused(&asked, &words);
        case.paste(&again, &asked).exits(6);
    }
    let again = case.refused(&Asked { token: "ghs_of_nobody", ..case.asked() }, &[]);
    case.works(&again);
}

#[test]
fn a_repository_that_is_not_there() {
    let case = Case::new();
    let to = case.server.url().replace("results", "nothing");
    case.refused(&Asked { to, ..case.asked() }, &["no such repository", "check the name"]);
}

#[test]
fn servers_that_say_no() {
    let case = Case::new();
    let mut again = String::new();
    for (said, words) in [
        (
            "error: GH006: Protected branch update failed for refs/heads/results.",
            ["a rule protects the branch", "--branch"],
        ),
        (
            "error: GH013: Repository rule violations found for refs/heads/results.",
            ["a rule protects the branch", "--branch"],
        ),
        ("no pushes on Sundays", ["a hook of the server refused", "no pushes on Sundays"]),
        (
            "error: File a.bin is 123.00 MB; this exceeds GitHub's file size limit of 100.00 MB",
            ["a file is larger than the server takes", "max_file"],
        ),
        ("Your repository is over its data quota", ["no room left", "name another repository"]),
        ("fatal: write error: No space left on device", ["a disk is full", "free some space"]),
    ] {
        case.server.hook("pre-receive", &format!("echo \"{said}\" >&2; exit 1"));
        again = case.refused(&case.asked(), &words);
    }
    case.works(&again);
}

#[test]
fn servers_in_trouble() {
    let case = Case::new();
    let mut again = String::new();
    for (trouble, words) in [
        (Trouble::Status(413), ["a file is larger than the server takes", "max_file"]),
        (Trouble::Status(429), ["come back later", "wait some minutes"]),
        (Trouble::Status(500), ["trouble of its own", "try again later"]),
        (Trouble::Status(502), ["trouble of its own", "try again later"]),
        (Trouble::Status(503), ["trouble of its own", "try again later"]),
        (Trouble::Status(504), ["trouble of its own", "try again later"]),
        (Trouble::CutBefore, ["the connection broke off", "try again later"]),
        (Trouble::Silent, ["did not answer in time", "try again later"]),
    ] {
        case.server.spoil_pushes(&[trouble; 20]);
        again = case.refused(&case.asked(), &words);
        case.server.take_troubles();
    }
    case.works(&again);
}

#[test]
fn ways_that_lead_nowhere() {
    let case = Case::new();
    for to in ["http://127.0.0.1:9/lab/results", "http://name.invalid/lab/results"] {
        let asked = Asked { to: to.to_owned(), ..case.asked() };
        let words = ["cannot be reached", "check the address, the network and the proxy"];
        let again = case.refused(&asked, &words);
        case.paste(&again, &asked).exits(6);
    }
    // A server that speaks no TLS where TLS is asked for.
    let to = case.server.url().replace("http://", "https://");
    case.refused(&Asked { to, ..case.asked() }, &["no secure connection", "https"]);
}

#[test]
fn a_certificate_that_nobody_signed() {
    let case = Case::new();
    let at = |name: &str| case.project.path(name).to_string_lossy().into_owned();
    let (key, certificate) = (at("key.pem"), at("certificate.pem"));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
        ])
        .args(["-keyout", &key, "-out", &certificate])
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        crate::support::loud("SKIPPED: there is no openssl program, so no TLS server to refuse");
        return;
    }
    let port = crate::support::free_port();
    let mut server = Command::new("openssl")
        .args(["s_server", "-quiet", "-www", "-accept", &format!("127.0.0.1:{port}")])
        .args(["-cert", &certificate, "-key", &key])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("openssl starts");
    crate::support::wait_for_port(port);
    let to = format!("https://127.0.0.1:{port}/lab/results");
    let words = ["certificate is not trusted here", "GIT_SSL_CAINFO"];
    case.refused(&Asked { to, ..case.asked() }, &words);
    server.kill().expect("it is ended");
    server.wait().expect("it has ended");
}

#[test]
fn a_git_that_will_not_do() {
    let case = Case::new();
    let bin = case.project.path("bin");
    fs::create_dir(&bin).expect("a folder");
    let asked = || Asked { path: Some(bin.clone()), ..case.asked() };
    case.refused(&asked(), &["the git program is not there", "install git"]);
    let program = |text: &str| {
        fs::write(bin.join("git"), format!("#!/bin/sh\n{text}\n")).expect("a program");
        fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).expect("it runs");
    };
    program("echo git version 2.25.1");
    case.refused(&asked(), &["git 2.25.1 is too old", "at least 2.31"]);
    program(&format!(
        "case \" $* \" in *' fetch '*) exec /bin/sleep 1000;; *) exec '{}' \"$@\";; esac",
        real_git().display()
    ));
    let again = case.refused(&asked(), &["did not answer in time"]);
    case.works(&again);
}

#[test]
fn a_full_disk_of_this_machine() {
    let case = Case::new();
    let small = case.project.path("small");
    fs::create_dir(&small).expect("a folder");
    let bundle = case.project.bundle();
    let program = PathBuf::from(case.project.command(&[]).get_program());
    // A file system of its own, which no other process sees.
    let in_small = |to: &str| {
        let script = format!(
            "mount -t tmpfs -o size=48k none '{small}' && exec '{program}' publish '{bundle}' --to '{to}'",
            small = small.display(),
            program = program.display(),
            bundle = bundle.display()
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "--user", "--map-root-user", "sh", "-c", &script]);
        command.current_dir(case.project.root()).env("HOME", case.project.path("temp"));
        case.with_environment(&mut command, &case.asked());
        command
    };
    let can = Command::new("unshare")
        .args(["--mount", "--user", "--map-root-user", "mount", "-t", "tmpfs", "none"])
        .arg(&small)
        .output();
    if !can.is_ok_and(|done| done.status.success()) {
        crate::support::loud("SKIPPED: file systems of one's own are not to be had here (unshare)");
        return;
    }
    let there = small.join("results");
    for (to, temp) in [
        (there.to_string_lossy().into_owned(), case.project.path("temp")),
        (case.server.url(), small.clone()),
    ] {
        let mut command = in_small(&to);
        let answer = Answer::of(command.env("RUNNER_TEMP", temp)).exits(6);
        let again = case.check(&answer, &case.asked(), &["full"]);
        if to.starts_with("http") {
            case.works(&again);
        } else {
            case.paste(&again, &case.asked()).exits(0);
        }
    }
}
