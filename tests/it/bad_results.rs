//! Results repositories that are none, belong to others, or hold what no perftrail wrote.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::desk::{Desk, numbered};
use crate::support::{Answer, Project, git};

fn run(project: &Project, to: &str) -> Answer {
    project.perftrail(&["run", "--quiet", "--publish", "--to", to, "--", "true"])
}

/// The bundle is there, the message says why it is not published, and how to do it later.
#[track_caller]
fn refused(project: &Project, to: &str, told: &str) {
    let _ = fs::remove_dir_all(project.path("perftrail-out"));
    let answer = run(project, to).exits(6);
    assert!(answer.stderr.contains(told), "{}", answer.stderr);
    assert!(answer.stderr.contains("nothing is lost"), "{}", answer.stderr);
    let bundle = project.bundle();
    assert!(answer.stderr.contains(&format!("perftrail publish {}", bundle.display())));
    assert!(bundle.join("report.html").is_file());
}

fn home(project: &Project) -> std::path::PathBuf {
    project.path("../home")
}

#[test]
fn what_is_no_results_repository_is_named_and_stays_as_it_is() {
    let project = Project::new();
    project.file("file", "x").file("folder/thing", "x");
    refused(&project, "file", "is a file");
    refused(&project, "folder", "other things in it");
    assert_eq!(fs::read_to_string(project.path("folder/thing")).expect("a file"), "x");
    assert_eq!(fs::read_dir(project.path("folder")).expect("a folder").count(), 1);
    let long = "x".repeat(5000);
    refused(&project, &long, "File name too long");
}

#[test]
fn a_branch_that_is_checked_out_is_not_moved_under_its_owner() {
    let project = Project::new();
    git(&project.root(), &home(&project), &["init", "-q", "-b", "results", "theirs"]);
    let theirs = project.path("theirs");
    fs::write(theirs.join("README.md"), "Mine.\n").expect("a file");
    git(&theirs, &home(&project), &["add", "-A"]);
    git(&theirs, &home(&project), &["commit", "-q", "-m", "Mine"]);
    refused(&project, "theirs", "is checked out in");
    git(&theirs, &home(&project), &["checkout", "-q", "-b", "other"]);
    run(&project, "theirs").exits(0);
    let readme = git(&theirs, &home(&project), &["show", "results:README.md"]);
    assert!(readme.starts_with("Mine.\n") && readme.contains("perftrail:begin"), "{readme}");
}

#[test]
fn odd_paths_are_paths() {
    let project = Project::new();
    for to in ["a b  c", "./-x", "ünï\u{202e}", "a;b'c\"d$(e)"] {
        run(&project, to).exits(0);
        assert!(project.path(to).join("HEAD").is_file(), "{to}");
        let listed = project.perftrail(&["runs", "--to", to]).exits(0);
        assert!(listed.stdout.contains("succeeded"), "{}", listed.stdout);
    }
}

#[test]
fn a_branch_that_is_none_is_told_before_anything_runs() {
    let project = Project::new();
    for branch in ["a..b", "x\u{1b}[31m", "a b", ".lock", "@{"] {
        let flag = format!("--branch={branch}");
        let answer = project.perftrail(&["run", "--publish", &flag, "--", "true"]).exits(2);
        assert!(answer.stderr.contains("is not a name for a branch"), "{}", answer.stderr);
        assert!(!answer.stderr.contains('\u{1b}'));
        assert!(project.bundles().is_empty());
    }
}

#[test]
fn a_repository_that_cannot_be_written_is_named() {
    let project = Project::new();
    run(&project, "results").exits(0);
    let closed = |mode: u32| {
        for path in ["results/objects", "results/refs/heads"] {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(project.path(path), mode).expect("permissions");
        }
    };
    closed(0o555);
    let writable = fs::File::create(project.path("results/objects/probe")).is_ok();
    if !writable {
        refused(&project, "results", "Permission denied");
    }
    closed(0o755);
}

#[test]
fn a_disk_that_is_read_only_is_named() {
    let project = Project::new();
    run(&project, "results").exits(0);
    let program = project.command(&[]).get_program().to_owned();
    let script = "mount --bind results results && mount -o remount,bind,ro results || exit 99; \
                  exec \"$0\" run --quiet --publish --to results -- true";
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "sh", "-c", script]).arg(program).current_dir(project.root());
    let answer = Answer::of(&mut unshare);
    if answer.code == 99 || answer.stderr.contains("unshare failed") {
        // Making a name space needs rights that not everybody has.
        return;
    }
    let answer = answer.exits(6);
    assert!(answer.stderr.to_lowercase().contains("read-only"), "{}", answer.stderr);
    assert!(answer.stderr.contains("nothing is lost"), "{}", answer.stderr);
}

/// A desk whose results repository was changed by hand; what the program says of it.
fn by_hand(change: impl FnOnce(&Desk), args: &[&str]) -> (Answer, Desk) {
    let desk = Desk::new();
    for n in 1..=3 {
        desk.published(&desk.bundle(&format!("b{n}"), &numbered(n)));
    }
    change(&desk);
    let repository = desk.repository();
    let mut command = Command::new(env!("CARGO_BIN_EXE_perftrail"));
    command.args(args).arg("--to").arg(&repository).current_dir(desk.path("home"));
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    (Answer::of(command.env("HOME", desk.path("home"))), desk)
}

#[test]
fn formats_of_another_time() {
    let format = |major: u32, minor: u32| {
        move |desk: &Desk| {
            let text = desk.show("perftrail.json");
            let text = text.replace("\"major\": 1", &format!("\"major\": {major}"));
            let text = text.replace("\"minor\": 0", &format!("\"minor\": {minor}"));
            desk.put("perftrail.json", "100644", &text);
        }
    };
    let (answer, desk) = by_hand(format(2, 0), &["runs"]);
    assert_ne!(answer.code, 0);
    assert!(answer.stderr.contains("newer"), "{}", answer.stderr);
    let bundle = desk.bundle("late", &numbered(9));
    assert!(desk.publish(&[&bundle]).is_err());
    let (answer, desk) = by_hand(format(1, 9), &["runs"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let before = desk.show("README.md");
    let bundle = desk.bundle("late", &numbered(9));
    desk.publish(&[&bundle]).expect("the run and its line are added");
    assert_eq!(desk.show("README.md"), before, "and nothing else");
}

#[test]
fn what_others_wrote_into_the_index_is_inert() {
    let evil = "\u{1b}[2J\u{202e}<script>alert(1)</script>|`x`";
    let (answer, _desk) = by_hand(
        |desk| {
            let path =
                desk.tree().into_iter().find(|path| path.starts_with("index/")).expect("one");
            let text =
                desk.show(&path).replace("\"simulation\"", &serde_json::json!(evil).to_string());
            desk.put(&path, "100644", &text);
        },
        &["runs"],
    );
    for stream in [&answer.stdout, &answer.stderr] {
        assert!(!stream.contains('\u{1b}') && !stream.contains('\u{202e}'), "{stream:?}");
    }
}

#[test]
fn records_that_were_changed_are_refused_or_inert() {
    let desk = Desk::new();
    let folder = desk.bundle("b", &numbered(1));
    let record = folder.join("stats.json");
    let whole = fs::read(&record).expect("a record");
    let program = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_perftrail"));
        command.args(args).current_dir(desk.path("home")).env("HOME", desk.path("home"));
        Answer::of(&mut command)
    };
    let folder = folder.to_string_lossy().into_owned();
    for bytes in [
        &whole[..whole.len() / 2],
        b"",
        b"[]",
        b"\xff\xfe\x00",
        b"{\"schema\": {\"name\": \"perftrail-stats\", \"major\": 1, \"minor\": 0}}",
    ] {
        fs::write(&record, bytes).expect("a file");
        for args in [vec!["report", &folder], vec!["publish", &folder, "--to", "r"]] {
            let answer = program(&args);
            assert!(answer.code == 2 || answer.code == 6, "{args:?}: {}", answer.stderr);
            assert!(answer.stderr.contains("stats.json: "), "{}", answer.stderr);
        }
    }
    fs::remove_file(&record).expect("a file");
    std::os::unix::fs::symlink("/etc/passwd", &record).expect("a link");
    let answer = program(&["publish", &folder, "--to", "r"]).exits(2);
    assert!(!Path::new(&folder).join("r").exists() && !answer.stderr.contains("root:"));
}
