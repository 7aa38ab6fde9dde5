//! Publishing into a repository on this machine.

use std::fs;
use std::path::Path;

use perftrail::app::publish::{Outcome, PublishError, WhyRefused};
use perftrail::bundle::read::ReadError;
use perftrail::bundle::write::gzip;
use perftrail::config::{self, LogPolicy};
use perftrail::model::status::{Identity, Status};
use perftrail::record::index::Line;
use perftrail::record::{File, FileRole, read::read};
use perftrail::report::ReportError;
use perftrail::results::{ResultsError, Target};

use crate::desk::{Desk, numbered, publish_with, record};

const FOLDER: &str =
    "runs/4f/4f2a4f2a4f2a4f2a4f2a4f2a4f2a4f2a4f2a4f2a/2026-11-30/local-081500-00a3-simulation";

#[test]
fn the_first_publish_makes_the_repository() {
    let desk = Desk::new();
    let bundle = desk.bundle("a", &record(|_| {}));
    fs::write(bundle.join("series.json"), r#"{"version":1,"series":[]}"#).expect("a file");
    fs::write(bundle.join("log.txt.gz"), gzip(b"hello\n").expect("gzip")).expect("a file");
    fs::write(bundle.join("README.md"), "the bundle's own").expect("a file");
    assert_eq!(desk.published(&bundle), FOLDER);

    let in_folder = |name: &str| format!("{FOLDER}/{name}");
    let expected = [
        ".nojekyll".to_owned(),
        "README.md".to_owned(),
        "badge.json".to_owned(),
        "badge.svg".to_owned(),
        "index/2026-11.jsonl".to_owned(),
        "perftrail.json".to_owned(),
        in_folder("README.md"),
        in_folder("log.txt.gz"),
        in_folder("report.html"),
        in_folder("series.json"),
        in_folder("stats.json"),
        "trends/job-simulation.md".to_owned(),
        "trends/simulation-646875d2eb04cb72-memory_peak.svg".to_owned(),
        "trends/simulation-646875d2eb04cb72.svg".to_owned(),
    ];
    assert_eq!(desk.tree(), expected);
    assert_eq!(desk.git(&["symbolic-ref", "HEAD"]), "refs/heads/results");
    assert_eq!(fs::read_to_string(desk.repository().join(".gitignore")).expect("a file"), "*\n");
    let landing = desk.show("README.md");
    assert!(landing.starts_with("<!-- perftrail:begin -->\n"), "{landing}");
    assert!(
        landing.contains(FOLDER) && landing.contains("(trends/simulation-646875d2eb04cb72.svg)")
    );
    let page = desk.show(&in_folder("README.md"));
    for words in ["hello", "this is the first run of its history"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains("the bundle's own"));
    let stored = read(desk.show(&in_folder("stats.json")).as_bytes()).expect("a record");
    assert_eq!(stored.record.run.identity, Identity::Claimed);
    assert_eq!(stored.record.run.digest.as_deref(), Some(stored.content_digest().as_str()));
    assert_eq!(desk.show("index/2026-11.jsonl"), Line::of(&stored.record, FOLDER).to_json());
    assert_eq!(
        desk.git(&["log", "-1", "--format=%cI%n%B", "results"]),
        format!("2026-12-01T09:00:00Z\nAdd simulation run of 4f2a4f2a4f2a: succeeded\n\n{FOLDER}")
    );
    desk.check();
}

#[test]
fn the_author_is_gits_user_else_perftrail() {
    let desk = Desk::new();
    desk.published(&desk.bundle("a", &numbered(1)));
    for (n, told, email, author) in [
        (2, "Ana", "ana@example.org", "Ana <ana@example.org>"),
        (3, " ", "", "perftrail <perftrail@localhost>"),
    ] {
        desk.git(&["config", "user.name", told]);
        desk.git(&["config", "user.email", email]);
        desk.published(&desk.bundle(&n.to_string(), &numbered(n)));
        for format in ["%an <%ae>", "%cn <%ce>"] {
            assert_eq!(desk.git(&["log", "-1", &format!("--format={format}"), "results"]), author);
        }
    }
}

#[test]
fn the_same_bundle_again_changes_nothing() {
    let desk = Desk::new();
    let bundle = desk.bundle("a", &record(|_| {}));
    desk.published(&bundle);
    let tip = desk.git(&["rev-parse", "results"]);
    let mut options = desk.options();
    options.now = "2027-01-01T00:00:00Z".parse().expect("a time");
    options.identity = Identity::Planned;
    let again = publish_with(&[&bundle, &bundle], &options).expect("nothing to do");
    assert_eq!(again.commit, None);
    assert_eq!(again.runs.len(), 1);
    assert_eq!(again.runs[0].outcome, Outcome::Unchanged);
    assert_eq!(desk.git(&["rev-parse", "results"]), tip);
}

#[test]
fn another_record_for_the_same_folder_is_refused_and_the_others_go_through() {
    let desk = Desk::new();
    let first = record(|_| {});
    desk.published(&desk.bundle("a", &first));
    let other = record(|record| record.run.exit_code = Some(3));
    let clash = desk.bundle("b", &other);
    let fine = desk.bundle("c", &numbered(1));
    let published = desk.publish(&[&clash, &fine]).expect("published");
    assert_eq!(published.runs.len(), 1);
    let [refused] = published.refused.as_slice() else { panic!("{published:?}") };
    assert_eq!(refused.bundle, clash);
    let text = refused.why.to_string();
    for record in [&first, &other] {
        let digest = record.run.digest.clone().expect("a digest");
        assert!(text.contains(&digest), "{text}");
    }
    assert_eq!(desk.commits(), 2);
    assert!(desk.show(&format!("{FOLDER}/stats.json")).contains("\"exit_code\": 0"));
}

#[test]
fn a_bundle_that_was_changed_is_refused_before_anything_is_made() {
    let desk = Desk::new();
    let mut changed = record(|_| {});
    changed.metrics.get_mut("cpu_time").expect("a metric").value = 1.0;
    let bundle = desk.bundle("a", &changed);
    let published = desk.publish(&[&bundle]).expect("an answer");
    assert!(matches!(published.refused[0].why, WhyRefused::Bundle(ReadError::Digest { .. })));
    assert!(!desk.repository().exists());
}

#[test]
fn a_lost_run_gives_way_to_its_bundle_once() {
    let desk = Desk::new();
    let lost = record(|record| {
        record.run.status = Status::Lost;
        record.run.planned = "2026-10-31T23:59:00Z".parse().expect("a time");
        record.run.started = None;
        record.metrics.clear();
    });
    let whole = record(|record| {
        record.run.planned = "2026-10-31T23:59:00Z".parse().expect("a time");
        record.run.started = Some("2026-11-01T00:01:00Z".parse().expect("a time"));
    });
    let other_plan = record(|record| {
        record.run.planned = "2026-10-31T23:59:00Z".parse().expect("a time");
        record.run.started = Some("2026-10-31T23:59:59Z".parse().expect("a time"));
        record.params.get_mut("years").expect("a param").value = 7.into();
    });
    let bundle = desk.bundle("lost", &lost);
    fs::create_dir(bundle.join("files")).expect("a folder");
    fs::write(bundle.join("files/stale.txt"), "x").expect("a file");
    let path = desk.published(&bundle);
    assert!(path.contains("/2026-10-31/"));
    assert!(desk.show("index/2026-10.jsonl").contains("\"lost\""));

    let refused = desk.publish(&[&desk.bundle("other", &other_plan)]).expect("an answer");
    assert!(matches!(refused.refused[0].why, WhyRefused::Conflict(_)), "{refused:?}");

    let bundle = desk.bundle("whole", &whole);
    let published = desk.publish(&[&bundle]).expect("published");
    assert_eq!(published.runs[0].outcome, Outcome::Replaced);
    assert_eq!(published.runs[0].path, path);
    // A month without a line has no file.
    assert!(!desk.tree().contains(&"index/2026-10.jsonl".to_owned()));
    assert!(desk.show("index/2026-11.jsonl").contains("\"succeeded\""));
    assert!(!desk.tree().contains(&format!("{path}/files/stale.txt")));
    assert!(desk.git(&["log", "-1", "--format=%s", "results"]).starts_with("Replace simulation"));

    assert_eq!(desk.publish(&[&bundle]).expect("an answer").runs[0].outcome, Outcome::Unchanged);
    let again = desk.publish(&[&desk.bundle("lost", &lost)]).expect("an answer");
    assert!(matches!(again.refused[0].why, WhyRefused::Conflict(_)), "{again:?}");
    desk.check();
}

#[test]
fn the_owners_files_stay() {
    let desk = Desk::new();
    fs::create_dir(desk.repository()).expect("a folder");
    desk.git(&["init", "-q", "-b", "main"]);
    for (path, text) in [("readme.md", "Mine\r\n"), ("docs/a.txt", "a"), ("index/notes.txt", "n")] {
        let path = desk.repository().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-q", "-m", "Mine"]);
    let mut options = desk.options();
    let bundle = desk.bundle("a", &record(|_| {}));

    options.branch = "main".to_owned();
    let error = publish_with(&[&bundle], &options).expect_err("main is checked out");
    assert!(matches!(error, PublishError::Results(ResultsError::CheckedOut { .. })), "{error}");

    // A branch of its own leaves the others alone; one that has the files keeps them.
    desk.published(&bundle);
    assert_eq!(desk.git(&["ls-tree", "-r", "--name-only", "main"]).lines().count(), 3);
    desk.git(&["branch", "-f", "results", "main"]);
    desk.published(&bundle);
    assert_eq!(desk.show("docs/a.txt"), "a");
    assert_eq!(desk.show("index/notes.txt"), "n");
    let readme = desk.git(&["cat-file", "-p", "results:readme.md"]);
    assert!(readme.starts_with("Mine\r\n\n<!-- perftrail:begin -->"), "{readme}");
    assert!(!desk.tree().contains(&"README.md".to_owned()));
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    desk.check();
}

#[test]
fn a_branch_that_a_linked_work_tree_shows_is_refused() {
    let desk = Desk::new();
    desk.published(&desk.bundle("a", &numbered(1)));
    desk.git(&["worktree", "add", "-q", "../tree", "results"]);
    let bundle = desk.bundle("b", &numbered(2));
    let error = desk.publish(&[&bundle]).expect_err("checked out");
    assert!(matches!(error, PublishError::Results(ResultsError::CheckedOut { .. })), "{error}");
    let mut options = desk.options();
    options.to = Target::Local(desk.path("tree"));
    let error = publish_with(&[&bundle], &options).expect_err("a linked work tree");
    assert!(matches!(error, PublishError::Results(ResultsError::LinkedWorkTree { .. })), "{error}");
}

#[test]
fn places_that_cannot_be_a_results_repository() {
    let desk = Desk::new();
    let bundle = desk.bundle("a", &record(|_| {}));
    fs::write(desk.path("file"), "x").expect("a file");
    fs::create_dir(desk.path("empty")).expect("a folder");
    let cases: [(&str, &str); 4] = [
        ("file", "is a file"),
        ("file/below", "is a file"),
        ("out", "not a git repository"),
        ("/sys/perftrail", "cannot be used"),
    ];
    for (place, words) in cases {
        let mut options = desk.options();
        options.to = Target::Local(desk.path(place));
        let error = publish_with(&[&bundle], &options).expect_err(place).to_string();
        assert!(error.contains(words), "{place}: {error}");
    }
    let mut options = desk.options();
    options.branch = "..".to_owned();
    let error = publish_with(&[&bundle], &options).expect_err("a bad name").to_string();
    assert!(error.contains("not a name for a branch"), "{error}");
    options = desk.options();
    options.to = Target::Local(desk.path("empty"));
    assert!(publish_with(&[&bundle], &options).expect("an empty folder").is_whole());
    assert!(matches!(desk.publish(&[&desk.path("empty")]), Err(PublishError::NoBundle(_))));
}

#[test]
fn the_measured_projects_own_repository_is_never_written_to() {
    let desk = Desk::new();
    fs::create_dir(desk.repository()).expect("a folder");
    desk.git(&["init", "-q", "-b", "main"]);
    desk.git(&["commit", "-q", "--allow-empty", "-m", "Begin"]);
    let head = desk.git(&["rev-parse", "HEAD"]);
    let bundle = desk.bundle(
        "a",
        &record(|record| {
            record.commit.sha = perftrail::model::names::CommitSha::parse(&head);
        }),
    );
    assert!(matches!(desk.publish(&[&bundle]), Err(PublishError::Source { .. })));
    assert_eq!(desk.git(&["branch", "--list"]), "* main");
}

#[test]
fn formats_of_other_versions() {
    let desk = Desk::new();
    desk.published(&desk.bundle("a", &numbered(1)));
    let set_format = |major: u32, minor: u32| {
        let schema = format!(
            r#"{{"schema":{{"name":"perftrail-results","major":{major},"minor":{minor}}}}}"#
        );
        replace_file(&desk, "perftrail.json", &schema);
    };
    set_format(1, 9);
    let bundle = desk.bundle("b", &numbered(2));
    let landing = desk.show("README.md");
    let published = desk.publish(&[&bundle]).expect("published");
    assert_eq!(published.notices.len(), 1);
    assert_eq!(desk.show("README.md"), landing);
    assert_eq!(desk.show("index/2026-11.jsonl").lines().count(), 2);

    set_format(2, 0);
    let tip = desk.git(&["rev-parse", "results"]);
    let error = desk.publish(&[&desk.bundle("c", &numbered(3))]).expect_err("newer").to_string();
    assert!(error.contains("format 2.0") && error.contains("newer perftrail"), "{error}");
    assert_eq!(desk.git(&["rev-parse", "results"]), tip);
}

/// Puts a file onto the branch by the git program.
fn replace_file(desk: &Desk, path: &str, text: &str) {
    desk.put(path, "100644", text);
}

#[test]
fn what_stands_in_the_way_is_told_and_left() {
    let desk = Desk::new();
    desk.published(&desk.bundle("a", &numbered(1)));
    desk.put("README.md", "120000", "/etc/passwd");
    let published = desk.publish(&[&desk.bundle("b", &numbered(2))]).expect("published");
    assert_eq!(published.notices.len(), 1);
    assert!(published.notices[0].contains("landing page stays"), "{:?}", published.notices);
    assert_eq!(desk.show("README.md"), "/etc/passwd");

    desk.put("runs", "100644", "mine");
    let error = desk.publish(&[&desk.bundle("c", &numbered(3))]).expect_err("a file").to_string();
    assert!(error.contains("not a plain folder"), "{error}");
    assert_eq!(desk.show("runs"), "mine");
}

#[test]
fn a_file_whose_content_is_missing_is_never_taken_for_an_empty_one() {
    let desk = Desk::new();
    desk.published(&desk.bundle("a", &numbered(1)));
    let tip = desk.git(&["rev-parse", "results"]);
    let bundle = desk.bundle("b", &numbered(2));
    for path in ["index/2026-11.jsonl", "index", "perftrail.json"] {
        let object = desk.git(&["rev-parse", &format!("results:{path}")]);
        let file = desk.repository().join("objects").join(&object[..2]).join(&object[2..]);
        let away = desk.path("away");
        fs::rename(&file, &away).expect("the object");
        let error = desk.publish(&[&bundle]).expect_err("unreadable");
        assert!(
            matches!(error, PublishError::Results(ResultsError::Unreadable { .. })),
            "{path}: {error}"
        );
        assert_eq!(desk.git(&["rev-parse", "results"]), tip, "{path}");
        fs::rename(&away, &file).expect("the object");
    }
    desk.published(&bundle);
    assert_eq!(desk.show("index/2026-11.jsonl").lines().count(), 2);
}

#[test]
fn a_page_that_fails_is_left_out_and_the_run_is_published() {
    let desk = Desk::new();
    let mut options = desk.options();
    options.pages.run = |_| panic!("a defect");
    options.pages.landing =
        |_, _| Err(ReportError::Absent { template: "landing.md", place: "count".to_owned() });
    let bundle = desk.bundle("a", &record(|_| {}));
    let published = publish_with(&[&bundle], &options).expect("published");
    assert_eq!(published.notices.len(), 2, "{:?}", published.notices);
    let expected =
        [".nojekyll", "index/2026-11.jsonl", "perftrail.json", &format!("{FOLDER}/stats.json")];
    assert_eq!(desk.tree(), expected);
}

#[test]
fn several_bundles_are_one_commit() {
    let desk = Desk::new();
    for n in [3, 1, 2] {
        desk.bundle(&n.to_string(), &numbered(n));
    }
    let published = desk.publish(&[&desk.path("out")]).expect("published");
    assert_eq!(published.runs.len(), 3);
    assert_eq!(desk.commits(), 1);
    let index = desk.show("index/2026-11.jsonl");
    let starts: Vec<_> =
        index.lines().map(|line| Line::parse(line).expect("a line").start).collect();
    assert!(starts.is_sorted() && starts.len() == 3);
    // Each stands beside the run before it, also where both came in one commit.
    let third = desk.show(&format!("{}/README.md", published.runs[2].path));
    assert!(!third.contains("first run of its history"), "{third}");
    let earlier = published.runs[1].path.strip_prefix("runs/").expect("a run's folder");
    assert!(third.contains(earlier), "{third}");
    let message = desk.git(&["log", "-1", "--format=%B", "results"]);
    assert!(message.starts_with("Add 3 runs\n") && message.contains(&published.runs[0].path));
}

#[test]
fn publishers_that_race_all_land() {
    const PUBLISHERS: i64 = 8;
    let desk = Desk::new();
    let start = std::sync::Barrier::new(usize::try_from(PUBLISHERS).expect("few"));
    std::thread::scope(|scope| {
        for n in 0..PUBLISHERS {
            let (desk, start) = (&desk, &start);
            scope.spawn(move || {
                let bundle = desk.bundle(&n.to_string(), &numbered(n));
                // The first of them also race for making the repository.
                start.wait();
                desk.published(&bundle);
            });
        }
    });
    desk.check();
    assert_eq!(desk.commits(), 8);
    let index = desk.show("index/2026-11.jsonl");
    assert_eq!(index.lines().count(), 8);
    let landing = desk.show("README.md");
    let shown =
        (0..PUBLISHERS).filter(|n| landing.contains(&format!("/schedule-{n}-1-simulation")));
    assert_eq!(shown.count(), 8);
    assert_eq!(desk.tree().iter().filter(|path| path.ends_with("stats.json")).count(), 8);
    let left: Vec<_> = fs::read_dir(desk.path("")).expect("the folder").flatten().collect();
    assert!(left.iter().all(|entry| !entry.file_name().to_string_lossy().starts_with('.')));
}

#[test]
fn a_race_that_is_lost_for_too_long_is_told() {
    let desk = Desk::new();
    desk.published(&desk.bundle("a", &numbered(1)));
    fs::write(desk.repository().join("refs/heads/results.lock"), "").expect("a lock");
    let bundle = desk.bundle("b", &numbered(2));
    let mut waits = Vec::new();
    let result = perftrail::app::publish::publish(
        std::slice::from_ref(&bundle),
        &desk.options(),
        &mut |next| {
            waits.push(next);
            next < 4
        },
    );
    assert!(matches!(result, Err(PublishError::Results(ResultsError::LostRaces { tries: 3 }))));
    assert_eq!(waits, [2, 3, 4]);
}

#[test]
fn a_lock_that_a_killed_publisher_left_is_removed() {
    let desk = Desk::new();
    desk.published(&desk.bundle("a", &numbered(1)));
    let lock = desk.repository().join("refs/heads/results.lock");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_mins(5);
    fs::File::create(&lock).and_then(|file| file.set_modified(long_ago)).expect("a lock");
    let published = desk.publish(&[&desk.bundle("b", &numbered(2))]).expect("published");
    assert!(published.notices[0].contains("removed the lock"), "{:?}", published.notices);
    assert!(published.is_whole() && !lock.exists());
}

#[test]
fn one_more_run_among_a_thousand_writes_few_objects() {
    let desk = Desk::new();
    for n in 0..1000 {
        desk.bundle(&format!("{n:04}"), &numbered(n));
    }
    let mut options = desk.options();
    options.pages.run = |_| Ok(Vec::new());
    publish_with(&[&desk.path("out")], &options).expect("published");
    let count = || -> usize {
        let text = desk.git(&["count-objects"]);
        text.split(' ').next().and_then(|number| number.parse().ok()).expect("a count")
    };
    let before = count();
    desk.published(&desk.bundle("one-more", &numbered(1000)));
    let written = count() - before;
    // The run's record and two pages, shard, landing page, the job's page, two drawings and two
    // badges; the folders run, date, commit, two digits, runs, index, trends and the root; the
    // commit.
    assert!(written <= 19, "{written} objects");
}

#[test]
fn what_may_not_enter_the_tree_is_left_out_and_listed() {
    let desk = Desk::new();
    let file = |path: &str, role| File {
        path: path.to_owned(),
        bytes: 1,
        sha256: None,
        role,
        left_out: None,
    };
    let names = ["files/Out.csv", "files/out.csv", "files/plot.svg", "files/.github/x.yml"];
    let bundle = desk.bundle(
        "a",
        &record(|record| {
            record.files = names.map(|name| file(name, FileRole::Collected)).to_vec();
            record.files.push(file("files/kept.html", FileRole::Kept));
        }),
    );
    let write = |path: &str| {
        let path = bundle.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, "x").expect("a file");
    };
    for name in names {
        write(name);
    }
    for name in [
        "files/kept.html",
        "raw/profile.bin",
        "files/.gitattributes",
        "CNAME",
        "index.html",
        "files/a\\b",
    ] {
        write(name);
    }
    std::os::unix::fs::symlink("/etc/passwd", bundle.join("files/link")).expect("a link");
    let published = desk.publish(&[&bundle]).expect("published");
    let left_out: Vec<&str> =
        published.runs[0].left_out.iter().map(|left| left.path.as_str()).collect();
    assert_eq!(
        left_out,
        [
            "CNAME",
            "files/.gitattributes",
            "files/.github/x.yml",
            "files/a\\b",
            "files/link",
            "files/out.csv",
            "files/plot.svg",
            "index.html",
            "raw/profile.bin",
        ]
    );
    let in_run: Vec<String> = desk
        .tree()
        .iter()
        .filter_map(|path| path.strip_prefix(&format!("{FOLDER}/")).map(str::to_owned))
        .collect();
    assert_eq!(
        in_run,
        ["README.md", "files/Out.csv", "files/kept.html", "report.html", "stats.json"]
    );
    let stored = read(desk.show(&format!("{FOLDER}/stats.json")).as_bytes()).expect("a record");
    let reasons: Vec<bool> =
        stored.record.files.iter().map(|file| file.left_out.is_some()).collect();
    assert_eq!(reasons, [false, true, true, true, false]);
    assert_eq!(stored.record.run.digest, Some(stored.content_digest()));
    // What is left out does not make the bundle another one.
    assert_eq!(desk.publish(&[&bundle]).expect("an answer").runs[0].outcome, Outcome::Unchanged);
    desk.check();
}

#[test]
fn budgets_hold_after_compression() {
    let desk = Desk::new();
    let bundle = desk.bundle("a", &record(|_| {}));
    fs::create_dir(bundle.join("files")).expect("a folder");
    let noise = |seed: u32| -> Vec<u8> {
        let mut state = seed;
        (0..4096)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state.to_be_bytes()[0]
            })
            .collect()
    };
    fs::write(bundle.join("files/a.bin"), noise(1)).expect("a file");
    fs::write(bundle.join("files/b.bin"), noise(2)).expect("a file");
    fs::write(bundle.join("files/large.bin"), [noise(3), noise(4)].concat()).expect("a file");
    fs::write(bundle.join("files/z.txt"), vec![b'x'; 100_000]).expect("a file");
    let log = "a line of the log\n".repeat(10_000);
    fs::write(bundle.join("log.txt.gz"), gzip(log.as_bytes()).expect("gzip")).expect("a file");
    let mut options = desk.options();
    options.rules = config::Results {
        max_file: 5000,
        max_run: 8000,
        log: LogPolicy::Tail,
        ..config::Results::default()
    };
    let published = publish_with(&[&bundle], &options).expect("published");
    let left_out: Vec<_> = published.runs[0]
        .left_out
        .iter()
        .map(|left| (left.path.as_str(), left.bytes, left.reason.as_str()))
        .collect();
    assert_eq!(
        left_out,
        [
            ("files/b.bin", Some(4096), "the run would be larger than 7.81 KiB after compression"),
            ("files/large.bin", Some(8192), "it is larger than 4.88 KiB after compression"),
        ]
    );
    let unpacked = std::process::Command::new("sh")
        .args(["-c", &format!("git show results:{FOLDER}/log.txt.gz | gzip -d")])
        .current_dir(desk.repository())
        .output()
        .expect("sh starts");
    assert!(unpacked.stdout.len() <= 64 << 10 && unpacked.stdout.ends_with(b"of the log\n"));
    assert!(desk.show(&format!("{FOLDER}/files/z.txt")).starts_with("xxx"));
}

#[test]
fn a_layout_of_ones_own_holds_and_a_changed_one_moves_nothing() {
    let desk = Desk::new();
    let bundle = desk.bundle("a", &record(|record| record.run.tag = Some("../x.".to_owned())));
    let mut options = desk.options();
    options.rules.layout = config::layout::Layout::parse("{job}/{tag}/{run}").expect("a layout");
    let published = publish_with(&[&bundle], &options).expect("published");
    assert_eq!(published.runs[0].path, "runs/simulation/_.._x_/local-081500-00a3-simulation");
    let again = desk.publish(&[&bundle]).expect("an answer");
    assert_eq!(again.runs[0].path, published.runs[0].path);
    assert_eq!(again.runs[0].outcome, Outcome::Unchanged);
    let long = config::layout::Layout::parse("{tag}/{tag}-/{tag}_/{run}").expect("a layout");
    options.rules.layout = long;
    let bundle = desk.bundle(
        "b",
        &record(|record| {
            record.run.tag = Some("x".repeat(5000));
            record.run.id = "other".to_owned();
        }),
    );
    let published = publish_with(&[&bundle], &options).expect("an answer");
    assert!(matches!(published.refused[0].why, WhyRefused::Path { .. }), "{published:?}");
}

#[test]
fn a_damaged_index_line_is_kept_and_named() {
    let desk = Desk::new();
    desk.published(&desk.bundle("a", &numbered(1)));
    let line = desk.show("index/2026-11.jsonl");
    replace_file(&desk, "index/2026-11.jsonl", &format!("<<<<<<< ours\n{line}\n"));
    let published = desk.publish(&[&desk.bundle("b", &numbered(2))]).expect("published");
    assert!(published.notices[0].contains("index/2026-11.jsonl line 1"), "{:?}", published.notices);
    let index = desk.show("index/2026-11.jsonl");
    assert!(index.starts_with(&line) && index.ends_with("\n<<<<<<< ours"), "{index}");
    assert_eq!(index.lines().count(), 3);
}

#[test]
fn a_bundle_is_never_changed() {
    let desk = Desk::new();
    let bundle = desk.bundle("a", &record(|_| {}));
    let listing = |folder: &Path| -> Vec<(String, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(folder)
            .expect("the bundle")
            .flatten()
            .map(|entry| {
                let bytes = fs::read(entry.path()).expect("a file");
                (entry.file_name().to_string_lossy().into_owned(), bytes)
            })
            .collect();
        files.sort();
        files
    };
    let before = listing(&bundle);
    desk.published(&bundle);
    assert_eq!(listing(&bundle), before);
}
