//! The example gives the same results for the same seed, with and without somebody listening.

use std::fs;
use std::path::Path;
use std::process::Command;

use perftrail::config;

fn simulate(out: &Path, workers: &str, stats: Option<&Path>) {
    let mut command = Command::new("python3");
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/simulation.py"))
        .args(["--years", "2", "--initial-population", "400", "--workers", workers, "--out"])
        .arg(out)
        .env_remove("PERFTRAIL_STATS");
    if let Some(stats) = stats {
        command.env("PERFTRAIL_STATS", stats);
    }
    let output = command.output().expect("Python 3 is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_simulation_repeats_itself() {
    let dir = tempfile::tempdir().expect("a folder");
    let (one, two, stats) =
        (dir.path().join("one"), dir.path().join("two"), dir.path().join("stats.jsonl"));
    simulate(&one, "1", None);
    simulate(&two, "2", Some(&stats));
    for name in ["population.csv", "events.csv", "districts.json"] {
        let read = |from: &Path| fs::read_to_string(from.join(name)).expect("an output");
        assert!(read(&one).len() > 500, "{name} holds nothing");
        assert_eq!(read(&one), read(&two), "{name}");
    }
    let told = fs::read_to_string(stats).expect("what it told");
    for line in told.lines() {
        let _: serde_json::Map<_, _> = serde_json::from_str(line).expect("one JSON object a line");
    }
    assert_eq!(told.matches(r#""series": "event_queue""#).count(), 24);
    assert_eq!(
        told.matches(r#""event": "begin""#).count(),
        told.matches(r#""event": "end""#).count()
    );
}

/// What people copy from must be accepted: the example's configuration and the pages' snippets.
#[test]
fn every_configuration_that_is_shown_is_accepted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut jobs = 0;
    for name in ["examples/perftrail.toml", "README.md"] {
        let text = fs::read_to_string(root.join(name)).expect("a file");
        let blocks =
            || text.split("\n```toml\n").skip(1).filter_map(|rest| rest.split("\n```\n").next());
        let shown: Vec<&str> = if name == "README.md" { blocks().collect() } else { vec![&text] };
        for text in shown {
            let config =
                config::parse(name, text).unwrap_or_else(|problems| panic!("{name}: {problems}"));
            jobs += config.jobs.len();
        }
    }
    assert_eq!(jobs, 3);
}
