//! Checking a results repository, and making anew what can be made.

use std::fs;
use std::process::Command;

use perftrail::app::fsck::{Checked, RebuildError, Rebuilt, check, rebuild};
use perftrail::app::publish::{Outcome, Pages};
use perftrail::bundle::write::gzip;
use perftrail::model::status::Status;
use perftrail::record::{File, FileRole, Record, canonical};
use perftrail::results::{BRANCH, Results, ResultsError, Target};
use serde_json::Value;

use crate::desk::{Desk, numbered, record};

const LOG: &[u8] = b"a line of the log\n";

/// A run with everything that a run may have, of the month that its number gives.
fn whole(n: i64, change: impl FnOnce(&mut Record)) -> Record {
    let file = |path: &str, bytes: &[u8], role| File {
        path: path.to_owned(),
        bytes: bytes.len() as u64,
        sha256: Some(canonical::sha256_hex(bytes)),
        role,
        left_out: None,
    };
    let of = numbered(n);
    record(|record| {
        *record = of;
        record.files = vec![
            file("files/out.csv", b"a,b\n1,2\n", FileRole::Collected),
            file("files/old/stats.json", b"{}", FileRole::Collected),
            file("log.txt.gz", LOG, FileRole::Bundle),
        ];
        change(record);
    })
}

fn publish(desk: &Desk, name: &str, record: &Record) -> String {
    let bundle = desk.bundle(name, record);
    fs::create_dir_all(bundle.join("files/old")).expect("a folder");
    fs::write(bundle.join("files/out.csv"), "a,b\n1,2\n").expect("a file");
    fs::write(bundle.join("files/old/stats.json"), "{}").expect("a file");
    fs::write(bundle.join("log.txt.gz"), gzip(LOG).expect("gzip")).expect("a file");
    desk.published(&bundle)
}

/// Six runs over three months, of two histories, published in no order; one of them was lost
/// first, in another month. The owner has a text and a file.
fn desk() -> (Desk, Vec<String>) {
    let desk = Desk::new();
    let hours = [0, 800, 2, 1500, 1, 801];
    let mut paths = Vec::new();
    for (index, n) in hours.into_iter().enumerate() {
        let change = |record: &mut Record| {
            if index % 2 == 1 {
                record.params.get_mut("years").expect("a param").value = 7.into();
            }
            if index == 4 {
                record.run.status = Status::Failed;
            }
        };
        paths.push(publish(&desk, &index.to_string(), &whole(n, change)));
    }
    let late = |record: &mut Record| {
        "schedule-99-1-simulation".clone_into(&mut record.run.id);
        record.run.planned = "2026-09-30T23:59:00Z".parse().expect("a time");
    };
    let lost = whole(0, |record| {
        late(record);
        record.files.clear();
        record.run.status = Status::Lost;
        record.run.started = None;
    });
    desk.published(&desk.bundle("lost", &lost));
    let readme = desk.show("README.md");
    desk.put("README.md", "100644", &format!("# Our runs\n\n{readme}\nMore of ours.\n"));
    desk.put("docs/README.md", "100644", "ours");
    desk.put("index/notes.txt", "100644", "ours");
    let came = whole(0, |record| {
        late(record);
        record.run.started = Some("2026-10-01T00:01:00Z".parse().expect("a time"));
    });
    let bundle = desk.path("out/came");
    paths.push(publish(&desk, "came", &came));
    assert_eq!(desk.publish(&[&bundle]).expect("published").runs[0].outcome, Outcome::Unchanged);
    (desk, paths)
}

fn open(desk: &Desk) -> Results {
    Results::open(&Target::Local(desk.repository()), BRANCH).expect("the repository")
}

fn checked(desk: &Desk) -> Checked {
    check(&open(desk), &Pages::default()).expect("a check")
}

fn rebuilt(desk: &Desk) -> Result<Rebuilt, RebuildError> {
    let now = "2027-01-01T00:00:00Z".parse().expect("a time");
    rebuild(&open(desk), &Pages::default(), now, &mut |_| true)
}

fn told(checked: &Checked) -> Vec<String> {
    checked.findings.iter().map(ToString::to_string).collect()
}

fn tree(desk: &Desk) -> String {
    desk.git(&["rev-parse", "results^{tree}"])
}

#[test]
fn what_publishing_leaves_is_clean() {
    let (desk, paths) = desk();
    let checked = checked(&desk);
    assert_eq!(told(&checked), Vec::<String>::new());
    assert_eq!((checked.runs, checked.months), (paths.len(), 3));
    let before = desk.git(&["rev-parse", "results"]);
    let rebuilt = rebuilt(&desk).expect("nothing to do");
    assert_eq!((rebuilt.commit, rebuilt.notices), (None, vec![]));
    assert_eq!(desk.git(&["rev-parse", "results"]), before);
}

#[test]
fn everything_but_run_folders_is_made_anew_byte_for_byte() {
    let (desk, paths) = desk();
    let was = tree(&desk);
    let commits = desk.commits();
    let run = &paths[5];
    let trends: Vec<String> =
        desk.tree().into_iter().filter(|path| path.starts_with("trends/")).collect();
    assert_eq!(trends.len(), 5, "two histories with two numbers each, and their job's page");
    let readme = desk.show("README.md");

    desk.remove(&["index/2026-11.jsonl", "index/2026-10.jsonl", "trends", ".nojekyll"]);
    desk.remove(&["perftrail.json", &format!("{run}/README.md")]);
    desk.remove(&[&format!("{run}/report.html")]);
    assert!(!checked(&desk).is_clean());
    let commit = rebuilt(&desk).expect("made anew").commit.expect("a commit");
    assert_eq!(desk.git(&["rev-parse", "results"]), commit);
    assert_eq!(tree(&desk), was);
    assert_eq!(desk.commits(), commits + 4);

    let line = desk.show("index/2026-11.jsonl");
    let altered = line.replace("\"succeeded\"", "\"failed\"");
    let garbled = format!("<<<<<<< ours\n{altered}\n{line}\n");
    desk.put("index/2026-11.jsonl", "100644", &garbled);
    desk.put("index/2019-01.jsonl", "100644", &line);
    desk.put(&trends[0], "100644", "<svg/>");
    desk.put("trends/simulation-0123456789abcdef.svg", "100644", "<svg/>");
    let altered = readme.replace("simulation", "something");
    desk.put("README.md", "100644", &format!("{altered}\n"));
    rebuilt(&desk).expect("made anew");
    assert_eq!(tree(&desk), was);
    assert!(desk.show("README.md").starts_with("# Our runs\n\n<!-- perftrail:begin -->"));
    assert!(desk.show("README.md").ends_with("More of ours."));
    assert_eq!(told(&checked(&desk)), Vec::<String>::new());
    desk.check();
}

#[test]
fn a_drawing_that_is_not_shown_any_more_goes() {
    let (desk, _) = desk();
    desk.put("trends/simulation-0123456789abcdef.svg", "100644", "<svg/>");
    desk.put("trends/logo.svg", "100644", "<svg/>");
    publish(&desk, "more", &whole(3, |_| {}));
    let trends: Vec<String> =
        desk.tree().into_iter().filter(|path| path.starts_with("trends/")).collect();
    assert!(!trends.contains(&"trends/simulation-0123456789abcdef.svg".to_owned()));
    assert!(trends.contains(&"trends/logo.svg".to_owned()) && trends.len() == 6);
}

/// What is done to a repository, and the codes and paths of what is then found.
struct Case {
    harm: fn(&Desk, &[String]),
    found: &'static [(&'static str, &'static str)],
}

/// `{}` in a path stands for the folder of the first run.
const CASES: &[Case] = &[
    Case {
        harm: |desk, _| desk.remove(&["perftrail.json", ".nojekyll", "README.md"]),
        found: &[
            ("format_missing", "perftrail.json"),
            ("nojekyll_missing", ".nojekyll"),
            ("landing_missing", "README.md"),
        ],
    },
    Case {
        harm: |desk, _| desk.put("perftrail.json", "100644", "{}"),
        found: &[("format_unknown", "perftrail.json")],
    },
    Case {
        harm: |desk, _| {
            let readme = desk.show("README.md");
            desk.put("README.md", "100644", &format!("{readme}\n<!-- perftrail:begin -->\n"));
        },
        found: &[("landing_unmakeable", "README.md")],
    },
    Case {
        harm: |desk, paths| {
            let path = format!("{}/stats.json", paths[0]);
            let text = desk.show(&path).replace("118.05", "11.05");
            desk.put(&path, "100644", &text);
        },
        found: &[("record_changed", "{}/stats.json"), ("line_differs", "index/2026-11.jsonl")],
    },
    Case {
        harm: |desk, paths| desk.put(&format!("{}/stats.json", paths[0]), "100644", "{\"a\":"),
        found: &[("record_unreadable", "{}/stats.json")],
    },
    Case {
        harm: |desk, paths| desk.remove(&[&format!("{}/stats.json", paths[0])]),
        found: &[("no_record", "{}"), ("line_extra", "index/2026-11.jsonl")],
    },
    Case {
        harm: |desk, paths| {
            let record = desk.show(&format!("{}/stats.json", paths[0]));
            desk.put(&format!("{}/stats.json", &paths[0][..7]), "100644", &format!("{record}\n"));
        },
        found: &[
            ("record_elsewhere", "runs/9e/stats.json"),
            ("file_missing", "runs/9e/files/out.csv"),
            ("run_twice", "{}"),
            ("page_missing", "runs/9e/README.md"),
            ("line_missing", "index/2026-11.jsonl"),
        ],
    },
    Case {
        harm: |desk, paths| {
            let at = |name: &str| format!("{}/{name}", paths[0]);
            desk.put(&at("files/out.csv"), "100644", "other");
            desk.put(&at("files/new.csv"), "100644", "new");
            desk.put(&at("log.txt.gz"), "100644", "no gzip");
            desk.remove(&[&at("files/old"), &at("report.html")]);
        },
        found: &[
            ("file_differs", "{}/files/out.csv"),
            ("file_missing", "{}/files/old/stats.json"),
            ("file_differs", "{}/log.txt.gz"),
            ("file_unlisted", "{}/files/new.csv"),
            ("page_missing", "{}/report.html"),
        ],
    },
    Case {
        harm: |desk, paths| {
            let at = |name: &str| format!("{}/files/{name}", paths[0]);
            desk.put(&at("OUT.csv"), "100644", "x");
            desk.put(&at(".gitattributes"), "100644", "x");
            desk.put(&at("link"), "120000", "/etc/passwd");
            desk.put("Trends/x", "100644", "x");
        },
        found: &[
            ("bad_name", "{}/files/.gitattributes"),
            ("bad_name", "{}/files/out.csv"),
            ("not_a_plain_file", "{}/files/link"),
            ("bad_name", "trends"),
            ("file_unlisted", "{}/files/OUT.csv"),
        ],
    },
    Case {
        harm: |desk, _| desk.put("epochs.toml", "100644", "[[epoch]]\nmetric = \n"),
        found: &[("epochs_unreadable", "epochs.toml")],
    },
    Case {
        harm: |desk, _| {
            let lines = desk.show("index/2026-11.jsonl");
            let mut lines: Vec<&str> = lines.lines().collect();
            let first = lines.remove(0);
            lines.push(first);
            desk.put("index/2026-11.jsonl", "100644", &format!("{}\n", lines.join("\n")));
        },
        found: &[("index_order", "index/2026-11.jsonl")],
    },
    Case {
        harm: |desk, _| {
            let lines = desk.show("index/2026-11.jsonl");
            let (first, rest) = lines.split_once('\n').expect("two lines");
            let second = rest.lines().next().expect("two lines");
            let text = format!("{{\n{second}\n{second}\n");
            desk.put("index/2026-11.jsonl", "100644", &text);
            desk.put("index/2020-01.jsonl", "100644", &format!("{first}\n"));
        },
        found: &[
            ("line_misplaced", "index/2020-01.jsonl"),
            ("line_corrupt", "index/2026-11.jsonl"),
            ("line_misplaced", "index/2026-11.jsonl"),
            ("line_missing", "index/2026-11.jsonl"),
        ],
    },
];

#[test]
fn each_fault_is_named_with_its_place() {
    let (desk, paths) = desk();
    let tip = desk.git(&["rev-parse", "results"]);
    for (number, case) in CASES.iter().enumerate() {
        (case.harm)(&desk, &paths);
        let checked = checked(&desk);
        let told = told(&checked);
        let found = |code: &str, path: &str| {
            checked.findings.iter().any(|one| one.fault.code() == code && one.path == path)
        };
        for (code, path) in case.found {
            let path = path.replace("{}", &paths[0]);
            assert!(found(code, &path), "case {number}: no {code} at {path}: {told:#?}");
        }
        for line in &told {
            assert!(line.contains(": ") && line.contains("; ") && !line.contains('\n'), "{line}");
        }
        desk.git(&["update-ref", "refs/heads/results", &tip]);
    }
    assert!(checked(&desk).is_clean());
}

#[test]
fn content_that_is_gone_is_told_and_not_built_upon() {
    let (desk, paths) = desk();
    let tip = desk.git(&["rev-parse", "results"]);
    for (path, code) in [
        (format!("{}/stats.json", paths[0]), "content_lost"),
        (format!("{}/files/out.csv", paths[0]), "content_lost"),
        (paths[0].clone(), "content_lost"),
        ("runs".to_owned(), "content_lost"),
        ("index".to_owned(), "content_lost"),
        ("index/2026-11.jsonl".to_owned(), "content_lost"),
    ] {
        let object = desk.git(&["rev-parse", &format!("results:{path}")]);
        let file = desk.repository().join("objects").join(&object[..2]).join(&object[2..]);
        let away = desk.path("away");
        fs::rename(&file, &away).expect("the object");
        let found = checked(&desk);
        let is_told = |one: &perftrail::app::fsck::Finding| {
            one.fault.code() == code && path.starts_with(&one.path) || one.path.starts_with(&path)
        };
        assert!(found.findings.iter().any(is_told), "{path}: {:#?}", told(&found));
        if path.starts_with("runs") && !path.contains("out.csv") {
            // A run whose record or folder is gone keeps its line.
            let _ = rebuilt(&desk);
            let index = desk.show("index/2026-11.jsonl");
            assert!(index.contains(&paths[0]), "{path}");
        }
        fs::rename(&away, &file).expect("the object");
        desk.git(&["update-ref", "refs/heads/results", &tip]);
    }
}

#[test]
fn the_line_of_a_record_that_cannot_be_used_stays() {
    let (desk, paths) = desk();
    desk.put(&format!("{}/stats.json", paths[0]), "100644", "{");
    let index = desk.show("index/2026-11.jsonl");
    desk.put("index/2026-11.jsonl", "100644", &format!("{index}\n{{\n"));
    rebuilt(&desk).expect("made anew");
    assert_eq!(desk.show("index/2026-11.jsonl"), index);
    let left = told(&checked(&desk));
    assert_eq!(left.len(), 1, "{left:#?}");
    assert!(left[0].contains("record cannot be used"), "{left:#?}");
}

#[test]
fn a_newer_format_is_checked_as_far_as_it_is_known_and_never_rebuilt() {
    let (desk, _) = desk();
    let format = |major: u32, minor: u32| {
        format!(r#"{{"schema":{{"name":"perftrail-results","major":{major},"minor":{minor}}}}}"#)
    };
    desk.put("perftrail.json", "100644", &format(1, 4));
    let lines = desk.show("index/2026-11.jsonl").replace("{\"path\"", "{\"energy\":1,\"path\"");
    desk.put("index/2026-11.jsonl", "100644", &format!("{lines}\n"));
    desk.put("README.md", "100644", "another landing page");
    let checked = checked(&desk);
    assert_eq!(told(&checked), Vec::<String>::new());
    assert_eq!(checked.notices.len(), 1);
    assert!(matches!(rebuilt(&desk), Err(RebuildError::NewerFormat)));
    desk.put("perftrail.json", "100644", &format(2, 0));
    let error = check(&open(&desk), &Pages::default()).expect_err("a newer format");
    assert!(matches!(error, ResultsError::Format(_)), "{error}");
    assert!(matches!(rebuilt(&desk), Err(RebuildError::Results(ResultsError::Format(_)))));
}

#[test]
fn making_anew_races_with_publishers_and_nothing_is_lost() {
    const PUBLISHERS: i64 = 4;
    let desk = Desk::new();
    publish(&desk, "first", &whole(100, |_| {}));
    let start = std::sync::Barrier::new(5);
    std::thread::scope(|scope| {
        for n in 0..PUBLISHERS {
            let (desk, start) = (&desk, &start);
            scope.spawn(move || {
                start.wait();
                publish(desk, &n.to_string(), &whole(n, |_| {}));
            });
        }
        start.wait();
        desk_is_rebuilt_again_and_again(&desk);
    });
    let checked = checked(&desk);
    assert_eq!(told(&checked), Vec::<String>::new());
    assert_eq!(checked.runs, 5);
    desk.check();
}

fn desk_is_rebuilt_again_and_again(desk: &Desk) {
    for _ in 0..4 {
        rebuilt(desk).expect("made anew");
    }
}

#[test]
fn a_repository_without_runs_is_clean() {
    let desk = Desk::new();
    fs::create_dir(desk.repository()).expect("a folder");
    desk.git(&["init", "-q", "--bare", "-b", "results"]);
    assert!(checked(&desk).is_clean());
    assert_eq!(rebuilt(&desk).expect("nothing to do").commit, None);
}

#[test]
fn the_command_tells_what_it_found_and_ends_accordingly() {
    let (desk, paths) = desk();
    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_perftrail"))
            .args(args)
            .args(["--to", "results"])
            .current_dir(desk.path(""))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .output()
            .expect("perftrail starts");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), stdout, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, stdout, stderr) = run(&["fsck"]);
    assert_eq!(
        (code, stdout.as_str(), stderr.as_str()),
        (Some(0), "7 runs in 3 months: no faults\n", "")
    );

    desk.remove(&["index/2026-11.jsonl", &format!("{}/files/out.csv", paths[0])]);
    let (code, stdout, _) = run(&["fsck"]);
    assert_eq!(code, Some(3), "{stdout}");
    let line = format!("index/2026-11.jsonl: it has no line of {}; ", paths[0]);
    assert!(stdout.contains(&line) && stdout.contains("fsck --rebuild"), "{stdout}");
    let (code, stdout, _) = run(&["fsck", "--format", "json"]);
    assert_eq!(code, Some(3));
    let value: Value = serde_json::from_str(&stdout).expect("JSON");
    let first = &value["findings"][0];
    assert_eq!(
        (first["code"].as_str(), first["mended_by"].as_str()),
        (Some("file_missing"), Some("by_hand"))
    );
    assert_eq!((value["runs"].as_u64(), &value["rebuilt"]), (Some(7), &Value::Null));

    let (code, stdout, _) = run(&["fsck", "--rebuild"]);
    assert_eq!(code, Some(3), "a file is still missing: {stdout}");
    assert!(stdout.starts_with("made anew: commit ") && stdout.contains("1 fault\n"), "{stdout}");
    let (code, stdout, _) = run(&["fsck", "--rebuild", "--format", "json"]);
    let value: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!((code, &value["rebuilt"]["commit"]), (Some(3), &Value::Null));
    let output = Command::new(env!("CARGO_BIN_EXE_perftrail"))
        .args(["fsck", "--to", "nowhere"])
        .current_dir(desk.path(""))
        .output()
        .expect("perftrail starts");
    assert_eq!(output.status.code(), Some(2));
}
