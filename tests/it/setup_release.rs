//! Releases: what `.ci/release` makes of one, and what `setup/action.yml` takes from it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::setup::{Setup, VERSION, archive, executable, program, root, sum};
use crate::support::file_server::FileServer;
use crate::support::{Answer, git};

const GITHUB: &str = "https://github.com";

/// The archive for this machine's processor.
fn archive_name() -> String {
    format!("perftrail-{}-unknown-linux-musl.tar.gz", std::env::consts::ARCH)
}

/// A server with a release of this version.
struct Releases {
    server: FileServer,
}

impl Releases {
    fn new() -> Self {
        let releases = Self { server: FileServer::start() };
        releases.add(VERSION, &program(VERSION));
        releases
    }

    fn folder(version: &str) -> String {
        format!("{}/releases/download/v{version}", perftrail::actions::REPOSITORY)
    }

    fn file(&self, version: &str, name: &str) -> PathBuf {
        self.server.file(&format!("{}/{name}", Self::folder(version)))
    }

    fn add(&self, version: &str, text: &str) {
        let file = self.file(version, &archive_name());
        archive(&file, "perftrail", text);
        self.sums(version, &sum(&file));
    }

    fn sums(&self, version: &str, sum: &str) {
        let text =
            format!("{}  perftrail-other.tar.gz\n{sum}  {}\n", "1".repeat(64), archive_name());
        fs::write(self.file(version, "SHA256SUMS"), text).expect("a file");
    }

    /// A runner of this server.
    fn runner(&self) -> Setup {
        Setup::with(&["python3"]).env("GITHUB_SERVER_URL", self.server.address())
    }

    /// A runner of github.com, whose files come from this server.
    fn at_github(&self) -> Setup {
        let script = format!(
            "while [ $# -gt 1 ]; do [ \"$1\" != --output ] || to=$2; shift; done\n\
             cp \"{}${{1#{GITHUB}}}\" \"$to\"",
            self.server.file("").display()
        );
        Setup::with(&[]).fake("curl", &script).env("GITHUB_SERVER_URL", GITHUB)
    }
}

#[test]
fn a_release_is_checked_against_its_sums() {
    let releases = Releases::new();
    let said = releases.runner().installs(&[]);
    assert!(said.contains("::notice") && said.contains("is not github.com"), "{said}");
    releases.runner().installs(&[("version", &format!("v{VERSION}"))]);
    let right = sum(&releases.file(VERSION, &archive_name()));
    releases.runner().installs(&[("sha256", &right)]);
    releases.runner().refuses(&[("sha256", &"2".repeat(64))], &["expected is 2222"]);
    releases.runner().refuses(&[("version", "9.9.9")], &["is there a release v9.9.9?"]);
    releases.runner().refuses(&[("version", "../../x")], &["a character that no version has"]);
    let mut alone = releases.runner();
    alone.action = alone.path("work/setup");
    fs::create_dir(&alone.action).expect("a folder");
    for name in ["action.yml", "install.sh"] {
        fs::copy(root().join("setup").join(name), alone.action.join(name)).expect("a copy");
    }
    alone.refuses(&[], &["does not tell its own version"]);
    alone.installs(&[("version", VERSION)]);
    releases.sums(VERSION, &"3".repeat(64));
    releases.runner().refuses(&[], &["expected is 3333", "not used"]);
    fs::write(releases.file(VERSION, "SHA256SUMS"), "").expect("a file");
    releases.runner().refuses(&[], &["does not name", &archive_name()]);
    fs::remove_file(releases.file(VERSION, "SHA256SUMS")).expect("it was there");
    releases.runner().refuses(&[], &["SHA256SUMS could not be downloaded"]);
    releases.add("1.2.3", &program("0.0.1"));
    let older = "the release v1.2.3 holds perftrail 0.0.1";
    releases.runner().refuses(&[("version", "1.2.3")], &[older]);
    let setup =
        releases.runner().fake("uname", "case $1 in -s) echo Linux ;; *) echo riscv64 ;; esac");
    setup.refuses(&[], &["no release for Linux riscv64", "input path"]);
}

#[test]
fn an_attestation_is_asked_for_where_it_can_be() {
    let releases = Releases::new();
    let said = releases.at_github().installs(&[]);
    assert!(said.contains("::notice") && said.contains("the program gh is not here"), "{said}");
    let old = releases.at_github().fake("gh", "echo unknown command >&2; exit 1");
    let said = old.installs(&[]);
    assert!(said.contains("::notice") && said.contains("older than attestations"), "{said}");
    let help = "[ \"$3\" != --help ] || exit 0";
    let good =
        releases.at_github().fake("gh", &format!("{help}; echo \"$@\" >\"$RUNNER_TEMP/../asked\""));
    let said = good.installs(&[]);
    assert!(said.contains("the attestation is right") && !said.contains("::"), "{said}");
    let asked = fs::read_to_string(good.path("asked")).expect("what was asked");
    let repository = perftrail::actions::REPOSITORY;
    let end = format!(
        "{} --repo {repository} --signer-workflow {repository}/.github/workflows/release.yml\n",
        archive_name()
    );
    assert!(asked.starts_with("attestation verify /") && asked.ends_with(&end), "{asked}");
    let bad = format!("{help}; printf 'no\\n::add-mask::x ##[error]100%%\\n' >&2; exit 1");
    let words = ["attestation of", "is not used; gh says: no ::add-mask::x ## [error]100%25"];
    releases.at_github().fake("gh", &bad).refuses(&[], &words);
}

/// A repository with what a release needs, its tag, and a place to push to.
struct Released {
    folder: tempfile::TempDir,
}

impl Released {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn git(&self, args: &[&str]) -> String {
        git(&self.path("source"), self.folder.path(), args)
    }

    fn new() -> Self {
        let released = Self { folder: tempfile::tempdir().expect("a folder") };
        for name in [
            "action.yml",
            "setup/action.yml",
            "setup/install.sh",
            "Cargo.toml",
            "CHANGELOG.md",
            ".ci/release",
        ] {
            let to = released.path("source").join(name);
            fs::create_dir_all(to.parent().expect("a folder")).expect("folders");
            fs::copy(root().join(name), to).expect("a copy");
        }
        released.git(&["init", "-q", "-b", "main"]);
        released.git(&["add", "-A"]);
        released.git(&["commit", "-q", "-m", "Begin"]);
        released.git(&["tag", &format!("v{VERSION}")]);
        let remote = released.path("server/owner/name");
        git(
            released.folder.path(),
            released.folder.path(),
            &["init", "-q", "--bare", &remote.to_string_lossy()],
        );
        fs::create_dir(released.path("bin")).expect("a folder");
        let asked = released.path("asked");
        executable(
            &released.path("bin/gh"),
            &format!("#!/bin/sh\necho \"$@\" >>{}\n", asked.display()),
        );
        fs::create_dir(released.path("dist")).expect("a folder");
        archive(&released.path("dist").join(archive_name()), "perftrail", &program(VERSION));
        released
    }

    fn release(&self, tag: &str, image: &str) -> Answer {
        let path = std::env::var("PATH").unwrap_or_default();
        let server = format!("file://{}", self.path("server").display());
        let mut command = Command::new("bash");
        command
            .args([".ci/release", tag, image])
            .arg(self.path("dist"))
            .current_dir(self.path("source"))
            .env_clear()
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("HOME", self.folder.path())
            .env("GITHUB_SERVER_URL", server)
            .env("GITHUB_REPOSITORY", "owner/name")
            .env("GH_TOKEN", "t");
        Answer::of(&mut command)
    }
}

#[test]
fn who_pins_the_action_pins_image_and_program() {
    let released = Released::new();
    let tag = format!("v{VERSION}");
    let image = format!("ghcr.io/owner/name@sha256:{}", "a".repeat(64));
    released.release(&tag, "ghcr.io/owner/name:latest").exits(1);
    released.release("v99.0.0", &image).exits(1);
    released.release(&tag, &image).exits(0);
    let asked = fs::read_to_string(released.path("asked")).expect("what was asked");
    assert!(asked.starts_with(&format!("release create {tag} --verify-tag")), "{asked}");
    assert!(asked.contains(&archive_name()) && asked.contains("SHA256SUMS"), "{asked}");

    let home = released.folder.path();
    let remote = released.path("server/owner/name");
    let tags = git(&remote, home, &["tag", "--format=%(refname:short) %(objectname)"]);
    let tags: Vec<&str> =
        tags.lines().filter_map(|line| line.split_once(' ').map(|(_, id)| id)).collect();
    assert!(tags.len() == 2 && tags[0] == tags[1], "{tags:?}");
    let shown = git(&remote, home, &["show", &format!("{tag}:action.yml")]);
    assert!(shown.contains(&format!("  image: docker://{image}")), "{shown}");
    // Whatever the release's page says now, the action knows its programs.
    let action = released.path("pinned");
    git(
        home,
        home,
        &["clone", "-q", "-b", &tag, &remote.to_string_lossy(), &action.to_string_lossy()],
    );
    let releases = Releases::new();
    fs::copy(released.path("dist").join(archive_name()), releases.file(VERSION, &archive_name()))
        .expect("a copy");
    releases.sums(VERSION, &"4".repeat(64));
    let pinned = || {
        let mut setup = releases.runner();
        setup.action = action.join("setup");
        setup
    };
    pinned().installs(&[]);
    releases.add(VERSION, "#!/bin/sh\necho evil\n");
    pinned().refuses(&[], &["has the sha256", "not used"]);
    assert!(Path::new(&action).join("setup/SHA256SUMS").is_file());
}
