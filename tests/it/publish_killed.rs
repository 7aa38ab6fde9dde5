//! A publisher that is killed at any moment, and the one after it: one run each, nothing lost,
//! nothing left that stands in anybody's way.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::git_server::{Server, WRITE_TOKEN};
use crate::support::{Answer, Project};

/// Kills in an ordinary test run; `PERFTRAIL_DEEP` asks for the many that show rare moments.
fn kills() -> u32 {
    if std::env::var_os("PERFTRAIL_DEEP").is_some() { 200 } else { 6 }
}

struct Desk {
    project: Project,
    to: String,
}

impl Desk {
    fn new(to: String) -> Self {
        let project = Project::new();
        fs::create_dir(project.path("temp")).expect("a folder");
        Self { project, to }
    }

    /// A new bundle: every run has a name of its own.
    fn bundle(&self) -> String {
        let before = self.project.bundles();
        self.project.perftrail(&["run", "--job", "sim", "--", "true"]).exits(0);
        let bundles = self.project.bundles();
        let new = bundles.iter().find(|bundle| !before.contains(bundle)).expect("a new bundle");
        new.to_str().expect("text").to_owned()
    }

    fn publish(&self, bundle: &str) -> Command {
        let mut command = self.project.command(&["publish", bundle, "--to", &self.to]);
        command
            .env("PERFTRAIL_RESULTS_TOKEN", WRITE_TOKEN)
            .env("RUNNER_TEMP", self.project.path("temp"))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// How long a publish takes that nobody kills.
    fn usual(&self) -> Duration {
        let bundle = self.bundle();
        let start = Instant::now();
        Answer::of(&mut self.publish(&bundle)).exits(0);
        start.elapsed()
    }

    /// Kills one publish after another, each a little later in its life, and publishes again.
    fn ordeal(&self) -> u32 {
        let usual = self.usual();
        let (kills, mut killed, mut mended) = (kills(), 0, 0);
        for turn in 0..kills {
            let bundle = self.bundle();
            let mut child = self.publish(&bundle).spawn().expect("the program starts");
            // The moments are spread evenly over the life of a publish and a little beyond.
            thread::sleep(usual.mul_f64(1.1 * f64::from(turn) / f64::from(kills)));
            child.kill().expect("it is killed");
            killed += u32::from(!child.wait().expect("it has ended").success());
            let mut again = self.publish(&bundle);
            let answer = Answer::of(again.stderr(Stdio::piped())).exits(0);
            mended += u32::from(answer.stderr.contains("removed "));
        }
        crate::support::loud(&format!(
            "{killed} of {kills} publishers died; {mended} left something that was removed"
        ));
        assert!(killed > 0, "every publisher was faster than its end");
        kills + 1
    }
}

fn check(repository: &std::path::Path, runs: u32) {
    let git = |args: &[&str]| crate::support::git(repository, repository, args);
    git(&["fsck", "--strict", "--no-dangling"]);
    let paths = git(&["ls-tree", "-r", "--name-only", "results"]);
    let records = paths.lines().filter(|path| path.ends_with("/stats.json")).count();
    assert_eq!(records, runs as usize, "one record a run");
    let shards = paths.lines().filter(|path| path.starts_with("index/"));
    let lines: usize =
        shards.map(|path| git(&["show", &format!("results:{path}")]).lines().count()).sum();
    assert_eq!(lines, runs as usize, "one index line a run");
    let commits = git(&["rev-list", "--count", "--no-merges", "results"]);
    assert_eq!(commits, runs.to_string(), "a straight line of commits");
    let path = repository.to_str().expect("text");
    let checked = Project::new().perftrail(&["fsck", "--to", path]).exits(0);
    assert!(checked.stdout.ends_with("no faults\n"), "{}", checked.stdout);
}

#[test]
fn a_killed_publisher_to_a_server_loses_and_doubles_nothing() {
    let server = Server::start();
    let desk = Desk::new(server.url());
    let runs = desk.ordeal();
    check(&server.repository(), runs);
    let left: Vec<_> =
        fs::read_dir(desk.project.path("temp")).expect("a folder").flatten().collect();
    assert!(left.is_empty(), "left in the temporary folder: {left:?}");
}

#[test]
fn a_half_made_repository_of_a_killed_publisher_is_removed() {
    let desk = Desk::new("here".to_owned());
    let bundle = desk.bundle();
    let at = |name: &str| desk.project.path(name);
    fs::create_dir_all(at(".perftrail-new-dead/repository/objects")).expect("folders");
    fs::write(at(".perftrail-new-dead/owner.lock"), "").expect("a lock");
    fs::create_dir(at(".perftrail-new-alive")).expect("a folder");
    let alive = fs::File::create(at(".perftrail-new-alive/owner.lock")).expect("a lock");
    alive.lock().expect("held");
    let answer = Answer::of(desk.publish(&bundle).stderr(Stdio::piped())).exits(0);
    assert!(answer.stderr.contains("removed 1 half repository"), "{}", answer.stderr);
    assert!(!at(".perftrail-new-dead").exists() && at(".perftrail-new-alive").exists());
    check(&at("here"), 1);
}

#[test]
fn a_killed_publisher_to_a_path_loses_and_doubles_nothing() {
    let desk = Desk::new("here".to_owned());
    let runs = desk.ordeal();
    check(&desk.project.path("here"), runs);
}

/// Publishers at once: twenty, and fifty in the deep tier.
fn publishers() -> u32 {
    if std::env::var_os("PERFTRAIL_DEEP").is_some() { 50 } else { 20 }
}

#[test]
fn twenty_publishers_at_once_are_twenty_runs() {
    let server = Server::start();
    let desk = Desk::new(server.url());
    let bundles: Vec<String> = (0..publishers()).map(|_| desk.bundle()).collect();
    let children: Vec<_> = bundles
        .iter()
        .map(|bundle| {
            let mut publish = desk.publish(bundle);
            publish.stderr(Stdio::piped()).spawn().expect("the program starts")
        })
        .collect();
    for child in children {
        let ended = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{}: {said}", ended.status);
    }
    check(&server.repository(), publishers());
}
