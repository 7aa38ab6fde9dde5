//! The pages of jobs in a results repository, and the rules that they are made by.

use perftrail::record::{Against, Record};
use serde_json::Value;

use crate::desk::Desk;
use crate::history_repository::{night, perftrail, publish};

const PAGE: &str = "trends/job-simulation.md";

/// A step of 20 % at night 20, a night without success, and how each commit follows upon another.
fn nights(count: i64) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    for n in 0..count {
        let before = records.last().and_then(|record| record.commit.sha.clone());
        records.push(night(n, if n < 20 { 100.0 } else { 120.0 }, |record| {
            let follows = |sha| Against { sha, ahead: 3, behind: 0, changed_paths: None };
            record.commit.against = before.map(follows).into_iter().collect();
            if n == 27 {
                record.run.status = perftrail::model::status::Status::Failed;
            }
        }));
    }
    records
}

fn sha(record: &Record) -> &str {
    record.commit.sha.as_ref().expect("a commit").as_str()
}

fn configured(desk: &Desk, text: &str) {
    std::fs::write(desk.path("home/perftrail.toml"), text).expect("a configuration");
}

#[test]
fn a_job_has_a_page_with_levels_changes_and_links() {
    let desk = Desk::new();
    let records = nights(36);
    publish(&desk, &records);
    let page = desk.show(PAGE);
    let key = page.split("(simulation-").nth(1).and_then(|rest| rest.get(..16)).expect("a drawing");
    for drawing in [format!("simulation-{key}.svg"), format!("simulation-{key}-memory_peak.svg")] {
        assert!(page.contains(&format!("]({drawing})")), "{drawing}: {page}");
        let svg = desk.show(&format!("trends/{drawing}"));
        assert!(svg.contains("class=\"failed\"") && svg.contains("prefers-color-scheme:dark"));
    }
    let (from, to) = (sha(&records[19]), sha(&records[20]));
    let range = format!("(https://github.com/example/simulation/compare/{from}...");
    assert!(page.contains(&range), "{range}: {page}");
    // The level may as well begin a night later: three commits, or six.
    let is_told = |count: u64| {
        page.contains(&format!(" ({count})</code>]"))
            && page.contains(&format!("({count} commits)"))
    };
    assert!(is_told(3) || is_told(6), "{page}");
    assert!(page.contains("✗ failed") && page.contains("](../runs/"), "{page}");
    assert!(page.contains("[All jobs and the newest runs](../README.md)"));
    let landing = desk.show("README.md");
    assert!(landing.contains(&format!("[simulation]({PAGE})")), "{landing}");
    perftrail(&desk, &["fsck"]).exits(0);

    let because = ["--because", "a better <i>solver</i>", "--author", "A"];
    let args = [&["accept", "cpu_time", "--since", &to[..12]], &because[..]].concat();
    perftrail(&desk, &args).exits(0);
    let page = desk.show(PAGE);
    assert!(page.contains("Accepted at") && page.contains("| accepted |"), "{page}");
    assert!(!page.contains("<i>solver"), "a reason is inert: {page}");
    perftrail(&desk, &["fsck"]).exits(0);
}

#[test]
fn pages_are_made_anew_byte_for_byte_and_taken_away_when_their_job_is_gone() {
    let desk = Desk::new();
    configured(&desk, "[metric.cpu_time]\nwarn = \"30%\"\n[metric.pop_df_rows]\n");
    let mut records = nights(24);
    for record in records.drain(..) {
        let bundle = desk.bundle(&record.run.id, &record).display().to_string();
        perftrail(&desk, &["publish", &bundle]).exits(0);
    }
    let of = |desk: &Desk| -> Vec<(String, String)> {
        let made = |path: &String| {
            path.starts_with("trends/") || path == "README.md" || path == "badge.json"
        };
        desk.tree().into_iter().filter(made).map(|path| (path.clone(), desk.show(&path))).collect()
    };
    let before = of(&desk);
    assert!(before.iter().any(|(path, _)| path.ends_with("-pop_df_rows.svg")), "{before:?}");
    assert!(!before.iter().any(|(path, _)| path.ends_with("-memory_peak.svg")));
    let paths: Vec<String> = before.iter().map(|(path, _)| path.clone()).collect();
    desk.remove(&paths.iter().map(String::as_str).collect::<Vec<_>>());
    std::fs::remove_file(desk.path("home/perftrail.toml")).expect("no configuration is needed");
    perftrail(&desk, &["fsck"]).exits(3);
    perftrail(&desk, &["fsck", "--rebuild"]).exits(0);
    assert_eq!(of(&desk), before);

    desk.put("trends/job-gone.md", "100644", "# gone\n");
    desk.put("trends/gone-0123456789abcdef-memory_peak.svg", "100644", "<svg/>");
    desk.put("trends/notes.md", "100644", "the owner's\n");
    perftrail(&desk, &["fsck"]).exits(3);
    publish(&desk, &[night(50, 120.0, |_| {})]);
    let tree = desk.tree();
    assert!(!tree.iter().any(|path| path.contains("gone")), "{tree:?}");
    assert!(tree.contains(&"trends/notes.md".to_owned()));
}

#[test]
fn verdicts_on_the_pages_use_the_projects_own_limits() {
    let desk = Desk::new();
    let config = "[metric.duration]\nmin_effect = \"40%\"\n";
    configured(&desk, config);
    for n in 0..22 {
        let record = night(n, if n < 20 { 100.0 } else { 120.0 }, |_| {});
        let bundle = desk.bundle(&record.run.id, &record).display().to_string();
        perftrail(&desk, &["publish", &bundle]).exits(0);
    }
    let rules: Value = serde_json::from_str(&desk.show("judging.json")).expect("JSON");
    let rules = &rules["projects"]["github.com/example/simulation"];
    assert_eq!(rules["metrics"][0]["name"], "duration");
    let landing = desk.show("README.md");
    assert!(!landing.contains("| Regressed |"), "20 % is below the limit: {landing}");
    assert!(landing.contains("Latest: [Duration"), "{landing}");
    // Whoever publishes without a configuration changes nothing of that, and judges by it.
    let record = night(22, 121.0, |_| {});
    let bundle = desk.bundle("unconfigured", &record);
    let before = desk.show("judging.json");
    let published = desk.publish(&[&bundle]).expect("published");
    let verdict = published.runs[0].verdict.as_ref().expect("judged").as_ref().expect("a verdict");
    assert_eq!(verdict.metrics[0].metric, "duration");
    assert_eq!(desk.show("judging.json"), before);
    // Nor does a run of a pull request, whatever its configuration says.
    configured(&desk, "[metric.cpu_time]\nmin_effect = \"1%\"\n");
    let pull = night(23, 100.0, |record| {
        record.trigger.event = "pull_request".to_owned();
        record.trigger.pull_request = Some(4);
    });
    let bundle = desk.bundle("pull", &pull).display().to_string();
    perftrail(&desk, &["publish", &bundle]).exits(0);
    assert_eq!(desk.show("judging.json"), before);
    perftrail(&desk, &["fsck"]).exits(0);
}

#[test]
fn rules_that_cannot_be_read_are_told_and_stop_nothing() {
    let desk = Desk::new();
    publish(&desk, &[night(0, 100.0, |_| {})]);
    desk.put("judging.json", "100644", "{\"projects\": 3}");
    configured(&desk, "[metric.duration]\n");
    let bundle = desk.bundle("next", &night(1, 100.0, |_| {})).display().to_string();
    let answer = perftrail(&desk, &["publish", &bundle]).exits(0);
    assert!(answer.stderr.contains("judging.json cannot be read"), "{}", answer.stderr);
    assert_eq!(desk.show("judging.json"), "{\"projects\": 3}");
    perftrail(&desk, &["fsck"]).exits(0);
}

#[test]
fn publishing_rewrites_no_more_the_longer_the_history() {
    let desk = Desk::new();
    let rewritten = |desk: &Desk| {
        let changed = desk.git(&["diff", "--name-only", "--diff-filter=M", "results~1", "results"]);
        changed.lines().filter(|path| !path.is_empty()).count()
    };
    let jobs = ["alpha", "beta", "gamma"];
    let run = |n: i64, job: &str| {
        night(n, 100.0, |record| {
            job.clone_into(&mut record.run.job);
            record.run.id = format!("schedule-{n}-1-{job}");
        })
    };
    let mut counts = Vec::new();
    for (first, count) in [(0, 4), (10, 60)] {
        let records: Vec<Record> =
            (first..first + count).flat_map(|n| jobs.map(|job| run(n, job))).collect();
        publish(&desk, &records);
        publish(&desk, &[run(first + count, "beta")]);
        counts.push(rewritten(&desk));
    }
    // The month, the landing page, the badge twice, the job's page and its two drawings.
    assert!(counts.iter().all(|count| *count <= 7), "{counts:?}");
}
