//! Results repositories whose content does not come, is not ours, or belongs to somebody else.

use std::fs;
use std::os::unix::fs::{MetadataExt, lchown};
use std::process::Command;

use perftrail::app::publish::PublishError;
use perftrail::model::status::Status;
use perftrail::results::ResultsError;

use crate::desk::{Desk, numbered, record};
use crate::git_server::{Server, Trouble, WRITE_TOKEN};
use crate::support::{Answer, Project};

/// The program publishes the bundles of a project to a server.
fn publish(project: &Project, server: &Server) -> Answer {
    let url = server.url();
    let mut command = project.command(&["publish", "perftrail-out", "--to", &url]);
    Answer::of(
        command.env("PERFTRAIL_RESULTS_TOKEN", WRITE_TOKEN).env("PERFTRAIL_PUBLISH_TIMEOUT", "2s"),
    )
}

#[test]
fn a_blob_that_does_not_come_costs_no_line() {
    let (project, server) = (Project::new(), Server::start());
    // Each object is a file of its own, to be taken away.
    server.git(&["config", "receive.unpackLimit", "100000"]);
    let run = || project.perftrail(&["run", "--job", "sim", "--", "true"]).exits(0);
    let _ = (run(), run(), run());
    publish(&project, &server).exits(0);
    let lines = |path: &str| server.git(&["show", &format!("results:{path}")]).lines().count();
    let shard = server.git(&["ls-tree", "-r", "--name-only", "results", "index"]);
    let before = server.git(&["rev-parse", "results"]);
    run();
    // What the branch names comes: its references, then its folders. No file does.
    for trouble in [Trouble::Status(403), Trouble::Status(503), Trouble::CutBefore] {
        server.spoil_fetches(&[[Trouble::Nothing; 2].as_slice(), &[trouble; 30]].concat());
        let answer = publish(&project, &server).exits(6);
        assert!(answer.stderr.contains("could not fetch"), "{}", answer.stderr);
        assert_eq!(server.git(&["rev-parse", "results"]), before, "{trouble:?}");
        server.take_troubles();
    }
    // The server itself has lost it: the index, then the landing page.
    for path in [shard.as_str(), "README.md"] {
        let object = server.git(&["rev-parse", &format!("results:{path}")]);
        let file = server.repository().join("objects").join(&object[..2]).join(&object[2..]);
        let away = server.repository().join("away");
        fs::rename(&file, &away).expect("the object");
        let answer = publish(&project, &server);
        fs::rename(&away, &file).expect("the object");
        if path == shard {
            assert_eq!(answer.code, 6, "{}", answer.stderr);
            assert_eq!(server.git(&["rev-parse", "results"]), before);
        } else {
            // The page stays as it was, or nothing was published at all.
            assert_eq!(server.git(&["rev-parse", "results:README.md"]), object);
        }
    }
    publish(&project, &server).exits(0);
    run();
    publish(&project, &server).exits(0);
    assert_eq!(lines(&shard), 5);
    let landing = server.git(&["show", "results:README.md"]);
    let shown = |bundle: &std::path::PathBuf| {
        landing.contains(bundle.file_name().and_then(|name| name.to_str()).expect("a name"))
    };
    assert!(project.bundles().iter().all(shown), "{landing}");
    server.git(&["fsck", "--strict"]);
}

#[test]
fn a_file_that_is_far_too_large_is_not_read() {
    let desk = Desk::new();
    let path =
        desk.publish(&[&desk.bundle("1", &numbered(1))]).expect("published").runs[0].path.clone();
    let large = "x".repeat(129 << 20);
    for file in ["index/2026-11.jsonl", "perftrail.json"] {
        let tip = desk.git(&["rev-parse", "results"]);
        desk.put(file, "100644", &large);
        let error = desk.publish(&[&desk.bundle("2", &numbered(2))]).expect_err("too large");
        assert!(
            matches!(&error, PublishError::Results(ResultsError::TooLarge { path, .. }) if path == file),
            "{error}"
        );
        desk.git(&["update-ref", "refs/heads/results", &tip]);
    }
    desk.put("README.md", "100644", &large);
    let published = desk.publish(&[&desk.bundle("3", &numbered(3))]).expect("published");
    assert!(published.notices[0].contains("README.md"), "{:?}", published.notices);
    assert!(desk.tree().contains(&format!("{path}/stats.json")));
}

#[test]
fn a_folder_that_holds_itself_again_and_again_is_not_gone_through() {
    let desk = Desk::new();
    let lost = record(|record| record.run.status = Status::Lost);
    let path =
        desk.publish(&[&desk.bundle("lost", &lost)]).expect("published").runs[0].path.clone();
    // Ten folders in ten folders, eight deep: a hundred million files in nine trees.
    let mut tree = desk.git(&["rev-parse", &format!("results:{path}")]);
    for _ in 0..8 {
        let entries: Vec<String> = (0..10).map(|n| format!("040000 tree {tree}\t{n}\n")).collect();
        let file = desk.path("entries");
        fs::write(&file, entries.concat()).expect("a file");
        let made = Command::new("sh")
            .args(["-c", &format!("git mktree < '{}'", file.display())])
            .current_dir(desk.repository())
            .output()
            .expect("sh starts");
        String::from_utf8_lossy(&made.stdout).trim().clone_into(&mut tree);
    }
    let record_blob = desk.git(&["rev-parse", &format!("results:{path}/stats.json")]);
    desk.put_tree(&format!("{path}/bomb"), &tree);
    assert_eq!(desk.git(&["rev-parse", &format!("results:{path}/stats.json")]), record_blob);
    let whole = record(|_| {});
    let error = desk.publish(&[&desk.bundle("whole", &whole)]).expect_err("too many");
    assert!(
        matches!(&error, PublishError::Results(ResultsError::TooMany { path: told }) if *told == path),
        "{error}"
    );
}

#[test]
fn what_root_writes_belongs_to_the_owner_of_the_repository() {
    const NOBODY: u32 = 65534;
    if fs::metadata("/proc/self").expect("this process").uid() != 0 {
        crate::support::loud("SKIPPED: only root can write into somebody else's repository");
        return;
    }
    let project = Project::new();
    project
        .perftrail(&["run", "--job", "sim", "--publish", "--to", "results", "--", "true"])
        .exits(0);
    let all = || walkdir::WalkDir::new(project.path("results")).into_iter().flatten();
    for entry in all() {
        lchown(entry.path(), Some(NOBODY), Some(NOBODY)).expect("given away");
    }
    // Another name of a file of root's, which the owner may have put there.
    let secret = project.path("secret");
    fs::write(&secret, "root's").expect("a file");
    fs::hard_link(&secret, project.path("results/link")).expect("a link");
    std::os::unix::fs::symlink(project.path("home"), project.path("results/way-out"))
        .expect("a link");
    project
        .perftrail(&["run", "--job", "sim", "--publish", "--to", "results", "--", "true"])
        .exits(0);
    let owned: Vec<_> = all()
        .filter(|entry| entry.metadata().expect("metadata").uid() == 0)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(owned, ["link"]);
    assert_eq!(fs::metadata(&secret).expect("the file").uid(), 0);
}
