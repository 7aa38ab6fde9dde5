//! What a results repository holds, and the names by which people find a run.

use std::fs;
use std::path::Path;

use perftrail::analysis::verdict::Judging;
use perftrail::app::runs::{FindError, FoundRun, Place, Query, find, runs};
use perftrail::bundle::write::gzip;
use perftrail::model::status::Status;
use perftrail::results::{BRANCH, Results, ResultsError, Target};

use crate::desk::{Desk, numbered, record};

/// Three runs of three commits, the last of them failed, and one more of the first commit by
/// another job.
fn desk() -> Desk {
    let desk = Desk::new();
    for n in 1..=3 {
        let mut record = numbered(n);
        if n == 3 {
            record.run.status = Status::Failed;
            record.run.digest = None;
            let digest = perftrail::record::canonical::record_digest(&record).expect("JSON");
            record.run.digest = Some(digest);
        }
        let bundle = desk.bundle(&n.to_string(), &record);
        fs::write(bundle.join("log.txt.gz"), gzip(format!("run {n}\n").as_bytes()).expect("gzip"))
            .expect("a log");
    }
    let first = numbered(1).commit.sha;
    let other = record(|record| {
        "other".clone_into(&mut record.run.job);
        "schedule-1-1-other".clone_into(&mut record.run.id);
        record.commit.sha = first;
    });
    desk.bundle("other", &other);
    assert!(desk.publish(&[&desk.path("out")]).expect("published").is_whole());
    desk
}

fn open(desk: &Desk) -> Results {
    Results::open(&Target::Local(desk.repository()), BRANCH).expect("the repository")
}

fn found(name: &str, results: &Results) -> FoundRun {
    find(name, Some(results), &Judging::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn runs_are_listed_newest_first_and_sifted() {
    let desk = desk();
    let results = open(&desk);
    let ids = |query: &Query| -> Vec<String> {
        let listing = runs(&results, query).expect("a listing");
        assert!(listing.corrupt.is_empty());
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        listing.lines.iter().map(|line| last(&line.path)).collect()
    };
    let all = ids(&Query::default());
    let simulations =
        ["schedule-3-1-simulation", "schedule-2-1-simulation", "schedule-1-1-simulation"];
    assert_eq!(all[..3], simulations);
    assert_eq!(all[3], "schedule-1-1-other");
    let job = Some("simulation".to_owned());
    assert_eq!(ids(&Query { job, ..Query::default() }), simulations);
    let status = Some(Status::Failed);
    assert_eq!(ids(&Query { status, ..Query::default() }), ["schedule-3-1-simulation"]);
    let since = numbered(2).run.started;
    assert_eq!(ids(&Query { since, ..Query::default() }), simulations[..2]);
    let since = Some("2027-01-01T00:00:00Z".parse().expect("a time"));
    assert_eq!(ids(&Query { since, ..Query::default() }), Vec::<String>::new());
}

#[test]
fn a_run_has_several_names() {
    let desk = desk();
    let results = open(&desk);
    let sha = |n| numbered(n).commit.sha.expect("a commit").to_string();
    let second = format!("runs/{}/{}/2026-11-30/schedule-2-1-simulation", &sha(2)[..2], sha(2));
    for (name, id) in [
        ("latest".to_owned(), "schedule-3-1-simulation"),
        ("latest~1".to_owned(), "schedule-2-1-simulation"),
        ("latest~3".to_owned(), "schedule-1-1-other"),
        ("latest/other".to_owned(), "schedule-1-1-other"),
        ("latest~1/simulation".to_owned(), "schedule-2-1-simulation"),
        (sha(2), "schedule-2-1-simulation"),
        (sha(2)[..8].to_uppercase(), "schedule-2-1-simulation"),
        (format!("{}/simulation", &sha(1)[..12]), "schedule-1-1-simulation"),
        (format!("{}/other", &sha(1)[..12]), "schedule-1-1-other"),
        (second.clone(), "schedule-2-1-simulation"),
        (format!("{second}/"), "schedule-2-1-simulation"),
    ] {
        assert_eq!(found(&name, &results).record.record.run.id, id, "{name}");
    }
    let run = found("latest~1", &results);
    assert_eq!(run.place, Place::Results(second));
    assert_eq!(run.log_tail.as_deref(), Ok("run 2\n"));
    let earlier = run.earlier.expect("an earlier run");
    assert!(earlier.path.ends_with("schedule-1-1-simulation"));
    let first = found(&format!("{}/simulation", sha(1)), &results);
    assert_eq!(first.earlier.err().as_deref(), Some("this is the first run of its history"));
}

#[test]
fn a_bundle_is_a_run_too() {
    let desk = desk();
    let results = open(&desk);
    let name = |path: &str| desk.path(path).to_string_lossy().into_owned();
    let run = found(&name("out/2"), &results);
    assert_eq!(run.place, Place::Bundle(desk.path("out/2")));
    assert!(run.earlier.is_ok_and(|line| line.path.ends_with("schedule-1-1-simulation")));
    let alone = find(&name("out/2"), None, &Judging::default()).expect("a bundle");
    assert_eq!(alone.log_tail.as_deref(), Ok("run 2\n"));
    assert_eq!(alone.earlier.err().as_deref(), Some("there is no results repository"));
    let several = find(&name("out"), None, &Judging::default()).expect_err("four bundles");
    assert!(matches!(several, FindError::Several { ref choices, .. } if choices.len() == 4));
    fs::create_dir(desk.path("one")).expect("a folder");
    fs::rename(desk.path("out/2"), desk.path("one/2")).expect("moved");
    assert_eq!(found(&name("one"), &results).place, Place::Bundle(desk.path("one/2")));
}

#[test]
fn what_is_no_run_is_told() {
    let desk = desk();
    let results = open(&desk);
    for name in [
        "latest~4",
        "latest~1/other",
        "latest/none",
        "latest~x",
        "abc",
        "ffff",
        "runs/none",
        "",
        "../..",
        "no/such",
    ] {
        let error = find(name, Some(&results), &Judging::default()).expect_err(name);
        let is_told = matches!(error, FindError::NoRun { .. } | FindError::Bundle(_));
        assert!(is_told, "{name}: {error}");
        assert!(Path::new(name).is_dir() || find(name, None, &Judging::default()).is_err());
    }
    let sha = numbered(1).commit.sha.expect("a commit").to_string();
    let error =
        find(&sha[..6], Some(&results), &Judging::default()).expect_err("two jobs").to_string();
    assert!(error.contains("/other") && error.contains("/simulation"), "{error}");
    let nowhere = Results::open(&Target::Local(desk.path("nowhere")), BRANCH);
    assert!(matches!(nowhere.err(), Some(ResultsError::Missing { .. })));
}
