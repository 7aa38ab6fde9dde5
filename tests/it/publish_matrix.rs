//! What sets runs apart in one results repository: their project, job, params, variant, attempt;
//! and what does not.

use std::collections::BTreeSet;

use crate::support::{Answer, Project, read_json};

const JOBS: &str = r#"
[[job]]
name = "scale"
run = "echo {years}"
[job.params]
years = { type = "int", default = 5 }
seed = { default = 1, identity = false }

[[job]]
name = "prepare"
run = "true"
"#;

/// A project whose workflow runs, and the results repository that it shares with others.
struct Workflow<'a> {
    project: Project,
    repository: &'a str,
    results: &'a str,
}

impl<'a> Workflow<'a> {
    fn new(repository: &'a str, results: &'a str) -> Self {
        let project = Project::new();
        project.file("perftrail.toml", JOBS).commit(&format!("Jobs of {repository}"));
        Self { project, repository, results }
    }

    fn step(&self, args: &[&str], attempt: &str) -> Answer {
        let mut command = self.project.command(args);
        for (name, value) in [
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_EVENT_NAME", "schedule"),
            ("GITHUB_RUN_ID", "7"),
            ("GITHUB_RUN_ATTEMPT", attempt),
            ("GITHUB_REPOSITORY", self.repository),
            ("GITHUB_SERVER_URL", "https://git.example.org"),
        ] {
            command.env(name, value);
        }
        Answer::of(&mut command)
    }

    /// Runs, publishes, and gives the run's folder in the results repository.
    #[track_caller]
    fn run(&self, output: &str, args: &[&str], attempt: &str) -> String {
        let run = [&["run", "--output", output], args].concat();
        self.step(&run, attempt).exits(0);
        let publish = ["publish", output, "--to", self.results, "--format", "json"];
        let answer = self.step(&publish, attempt).exits(0);
        let published: serde_json::Value = serde_json::from_str(&answer.stdout).expect("JSON");
        assert_eq!(published["runs"].as_array().map(Vec::len), Some(1), "{published}");
        assert_eq!(published["runs"][0]["outcome"], "added");
        published["runs"][0]["path"].as_str().expect("a path").to_owned()
    }
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().expect("a name")
}

#[test]
fn each_run_has_a_place_of_its_own_and_keeps_it() {
    let shared = tempfile::tempdir().expect("a folder");
    let results = shared.path().join("results");
    let results = results.to_str().expect("text");
    let model = Workflow::new("lab/model", results);
    let other = Workflow::new("lab/other", results);

    let paths = [
        model.run("default", &["scale"], "1"),
        // A param at its default changes nothing, and is tried below.
        model.run("ten", &["scale", "--param", "years=10"], "1"),
        model.run("twenty", &["scale", "--param", "years=20"], "1"),
        // No part of the history's key, but another run all the same.
        model.run("seed", &["scale", "--param", "seed=2"], "1"),
        model.run("linux", &["scale", "--variant", "linux"], "1"),
        model.run("macos", &["scale", "--variant", "macos"], "1"),
        model.run("prepare", &["prepare"], "1"),
        model.run("again", &["scale"], "2"),
        other.run("default", &["scale"], "1"),
    ];
    assert_eq!(paths.iter().collect::<BTreeSet<_>>().len(), paths.len(), "{paths:#?}");
    assert_eq!(name(&paths[0]), "schedule-7-1-scale");
    assert_eq!(name(&paths[6]), "schedule-7-1-prepare");
    assert_eq!(name(&paths[7]), "schedule-7-2-scale");
    assert_eq!(name(&paths[8]), "schedule-7-1-scale", "the commit sets projects apart");
    for path in &paths[1..6] {
        let hash = name(path).strip_prefix("schedule-7-1-scale-").expect("what sets it apart");
        assert!(hash.len() == 6 && hash.bytes().all(|c| c.is_ascii_hexdigit()), "{path}");
    }

    // The same bundle again: nothing to do.
    let answer = model.step(&["publish", "default", "--to", results], "1").exits(0);
    assert!(answer.stderr.contains("is published already"), "{}", answer.stderr);

    // Two runners of a matrix that nobody told apart: the second is refused, with both digests.
    model.step(&["run", "scale", "--param", "years=5", "--output", "clash"], "1").exits(0);
    let answer = model.step(&["publish", "clash", "--to", results], "1").exits(6);
    for output in ["default", "clash"] {
        let record = read_json(&model.project.path(output).join("schedule-7-1-scale/stats.json"));
        let digest = record["run"]["digest"].as_str().expect("a digest").to_owned();
        assert!(answer.stderr.contains(&digest), "{}", answer.stderr);
    }
    assert!(model.project.path("clash/schedule-7-1-scale/stats.json").exists());

    let listed = model.step(&["runs", "--to", results, "--format", "json"], "1").exits(0);
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let runs = listed["runs"].as_array().expect("a list");
    assert_eq!(runs.len(), paths.len());
    // Histories: two projects, two jobs, three values of `years`, two variants more.
    let keys: BTreeSet<&str> = runs.iter().filter_map(|run| run["key"].as_str()).collect();
    assert_eq!(keys.len(), 7, "{runs:#?}");
    let checked = model.step(&["fsck", "--to", results], "1").exits(0);
    assert!(checked.stdout.ends_with("no faults\n"), "{}", checked.stdout);
}
