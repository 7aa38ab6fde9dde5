//! Publishing over SSH to a real server with a deploy key: host keys are pinned, the key leaves no
//! trace.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::{Answer, Project, free_port, wait_for_port};

/// An SSH server on this machine, with keys of its own, and a bare repository behind it.
struct Ssh {
    project: Project,
    port: u16,
    server: Child,
}

impl Drop for Ssh {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Where Debian's openssh-server puts it; it must be started by its whole path.
fn sshd() -> Option<PathBuf> {
    let places = ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/bin/sshd"];
    let found = places.into_iter().map(PathBuf::from).find(|path| path.is_file());
    if found.is_none() {
        assert!(
            std::env::var_os("PERFTRAIL_DEEP").is_none(),
            "the deep tier needs an SSH server: install openssh-server"
        );
        crate::support::loud(
            "SKIPPED: NO SSH SERVER IS INSTALLED, PUBLISHING OVER SSH IS NOT TESTED",
        );
    }
    found
}

fn done(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn make_key(path: &Path) {
    done(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path));
}

impl Ssh {
    fn start() -> Option<Self> {
        let sshd = sshd()?;
        let project = Project::new();
        for folder in ["temp", "ssh"] {
            fs::create_dir(project.path(folder)).expect("a folder");
        }
        for key in ["host", "deploy", "reader", "stranger"] {
            make_key(&project.path("ssh").join(key));
        }
        let at = |name: &str| project.path("ssh").join(name).display().to_string();
        let public = |name: &str| fs::read_to_string(at(&format!("{name}.pub"))).expect("a key");
        // As GitHub answers for a deploy key that may only read.
        let read_only = r#"command="case \"$SSH_ORIGINAL_COMMAND\" in git-receive-pack*) echo 'ERROR: The key you are authenticating with has been marked as read only.' >&2; exit 1;; *) exec sh -c \"$SSH_ORIGINAL_COMMAND\";; esac""#;
        let keys =
            format!("restrict {}restrict,{read_only} {}", public("deploy"), public("reader"));
        fs::write(at("authorized_keys"), keys).expect("keys");
        let port = free_port();
        let config = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {host}\nAuthorizedKeysFile {keys}\n\
             PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n\
             PermitUserEnvironment no\n",
            host = at("host"),
            keys = at("authorized_keys"),
        );
        fs::write(at("config"), config).expect("a configuration");
        // The server wants an empty folder to lock itself into, and its package makes none.
        let _ = fs::create_dir("/run/sshd");
        let server = Command::new(sshd)
            .args(["-D", "-e", "-f", &at("config")])
            .stdout(Stdio::null())
            .stderr(fs::File::create(at("said")).expect("a file"))
            .spawn()
            .expect("sshd starts");
        wait_for_port(port);
        project.perftrail(&["run", "--job", "sim", "--", "true"]).exits(0);
        let ssh = Self { project, port, server };
        let repository = ssh.repository();
        fs::create_dir(&repository).expect("a folder");
        crate::git_server::git(&repository, &["init", "-q", "--bare", "-b", "main", "."]);
        crate::git_server::git(&repository, &["config", "uploadpack.allowFilter", "true"]);
        Some(ssh)
    }

    fn repository(&self) -> PathBuf {
        self.project.path("ssh").join("results.git")
    }

    fn url(&self) -> String {
        let user = done(Command::new("id").arg("-un"));
        format!("ssh://{user}@127.0.0.1:{}{}", self.port, self.repository().display())
    }

    fn known_hosts(&self, key: &str) -> String {
        let key = fs::read_to_string(self.project.path("ssh").join(format!("{key}.pub")));
        format!("[127.0.0.1]:{} {}", self.port, key.expect("a key"))
    }

    fn command(&self, key: &str, known_hosts: Option<&str>) -> Command {
        let url = self.url();
        let mut command = self.project.command(&["publish", "perftrail-out", "--to", &url]);
        let key = fs::read_to_string(self.project.path("ssh").join(key)).expect("a key");
        command
            .env("PERFTRAIL_RESULTS_SSH_KEY", key)
            .env("PERFTRAIL_PUBLISH_TIMEOUT", "20s")
            .env("RUNNER_TEMP", self.project.path("temp"));
        if let Some(known) = known_hosts {
            command.env("PERFTRAIL_SSH_KNOWN_HOSTS", known);
        }
        command
    }

    /// What every end leaves: no key, no folder, no secret in what was said.
    #[track_caller]
    fn leaves_nothing(&self, answer: &Answer) {
        let left: Vec<_> = fs::read_dir(self.project.path("temp")).expect("a folder").collect();
        assert!(left.is_empty(), "{left:?}");
        assert!(!answer.stderr.contains("PRIVATE KEY"), "{}", answer.stderr);
    }

    #[track_caller]
    fn refused(&self, key: &str, known_hosts: Option<&str>, words: &[&str]) {
        let answer = Answer::of(&mut self.command(key, known_hosts)).exits(6);
        for word in words {
            assert!(answer.stderr.contains(word), "no {word:?} in:\n{}", answer.stderr);
        }
        assert!(answer.stderr.contains("perftrail publish "), "{}", answer.stderr);
        self.leaves_nothing(&answer);
    }
}

#[test]
fn a_deploy_key_publishes_to_a_host_that_is_known() {
    let Some(ssh) = Ssh::start() else { return };
    let known = ssh.known_hosts("host");
    ssh.refused("deploy", None, &["host key is not one of the known ones", "known_hosts"]);
    let other = ssh.known_hosts("stranger");
    ssh.refused("deploy", Some(&other), &["host key is not one of the known ones"]);
    ssh.refused("stranger", Some(&known), &["did not take the credential", "store a new one"]);
    ssh.refused("reader", Some(&known), &["may not write there", "deploy key with write access"]);

    let answer = Answer::of(&mut ssh.command("deploy", Some(&known))).exits(0);
    assert!(answer.stderr.contains("published as runs/"), "{}", answer.stderr);
    ssh.leaves_nothing(&answer);
    let answer = Answer::of(&mut ssh.command("deploy", Some(&known))).exits(0);
    assert!(answer.stderr.contains("is published already"), "{}", answer.stderr);
    let git = |args: &[&str]| crate::git_server::git(&ssh.repository(), args);
    git(&["fsck", "--strict"]);
    assert_eq!(git(&["rev-list", "--count", "results"]), "1");
}

#[test]
fn the_key_of_a_killed_publisher_is_removed_by_the_next() {
    let Some(ssh) = Ssh::start() else { return };
    let known = ssh.known_hosts("host");
    // A push that waits for ever, so that the moment is sure.
    let hook = ssh.repository().join("hooks/pre-receive");
    let (here, go) = (ssh.project.path("ssh/here"), ssh.project.path("ssh/go"));
    let script = format!(
        "#!/bin/sh\n: > '{}'\nwhile [ ! -e '{}' ]; do sleep 0.1; done\n",
        here.display(),
        go.display()
    );
    fs::create_dir_all(hook.parent().expect("a folder")).expect("a folder");
    fs::write(&hook, script).expect("a hook");
    done(Command::new("chmod").arg("755").arg(&hook));
    let mut child =
        ssh.command("deploy", Some(&known)).stderr(Stdio::null()).spawn().expect("runs");
    while !here.exists() {
        assert!(child.try_wait().expect("a child").is_none(), "it ended before the push");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child.kill().expect("it is killed");
    child.wait().expect("it has ended");
    let keys = || {
        walkdir::WalkDir::new(ssh.project.path("temp"))
            .into_iter()
            .filter_map(Result::ok)
            .filter(|entry| entry.file_name() == "key")
            .count()
    };
    assert_eq!(keys(), 1, "the killed publisher could not remove its key");
    fs::remove_file(&hook).expect("the hook");
    fs::write(&go, "").expect("a sign");
    let answer = Answer::of(&mut ssh.command("deploy", Some(&known))).exits(0);
    assert!(answer.stderr.contains("removed the leftovers"), "{}", answer.stderr);
    assert_eq!(keys(), 0);
    ssh.leaves_nothing(&answer);
}
