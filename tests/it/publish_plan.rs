//! Runs of a plan for which no bundle came are recorded as lost, and give way to the bundle that
//! comes after all.

use std::process::Command;

use serde_json::Value;

use crate::support::{Answer, Project};

const JOBS: &str = r#"
[[job]]
name = "first"
run = "true"

[[job]]
name = "second"
run = "echo {years}"
[job.params]
years = 5
"#;

struct Planned {
    project: Project,
}

impl Planned {
    /// A project with two jobs and a plan of both.
    fn new() -> Self {
        let project = Project::new();
        project.file("perftrail.toml", JOBS).commit("Jobs");
        let planned = Self { project };
        planned.plan(&planned.project.command(&["run", "--dry-run"]));
        planned
    }

    fn plan(&self, command: &Command) {
        let mut again = self.project.command(&["run", "--dry-run"]);
        again.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let answer = Answer::of(&mut again).exits(0);
        self.project.file("plan.json", &answer.stdout);
    }

    fn perftrail(&self, args: &[&str]) -> Answer {
        self.project.perftrail(args).exits(0)
    }

    /// Status, identity and name of each run, by name.
    fn runs(&self) -> Vec<(String, String, String)> {
        let listed = self.perftrail(&["runs", "--to", "results", "--format", "json"]);
        let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON alone");
        let text = |run: &Value, key: &str| run[key].as_str().expect("text").to_owned();
        let mut runs: Vec<_> = listed["runs"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|run| {
                let path = text(run, "path");
                let name = path.rsplit('/').next().expect("a name").to_owned();
                (text(run, "status"), text(run, "identity"), name)
            })
            .collect();
        runs.sort_by(|a, b| a.2.cmp(&b.2));
        runs
    }

    fn statuses(&self) -> Vec<String> {
        let mut statuses: Vec<_> = self.runs().into_iter().map(|run| run.0).collect();
        statuses.sort();
        statuses
    }

    fn git(&self, args: &[&str]) -> String {
        let at = self.project.path("results");
        crate::support::git(&at, &at, args)
    }

    /// Index, pages and records say the same, and every run is one folder.
    fn check(&self, runs: usize) {
        let answer = self.perftrail(&["fsck", "--to", "results"]);
        assert!(answer.stdout.ends_with(": no faults\n"), "{}", answer.stdout);
        let paths = self.git(&["ls-tree", "-r", "--name-only", "results"]);
        let records = paths.lines().filter(|path| path.ends_with("/stats.json")).count();
        assert_eq!(records, runs, "{paths}");
    }
}

const PUBLISH_PLAN: &[&str] = &["publish", "--plan", "plan.json", "--to", "results"];

#[test]
fn a_run_of_which_no_bundle_came_is_recorded_and_gives_way_once() {
    let planned = Planned::new();
    let answer = planned.perftrail(PUBLISH_PLAN);
    assert!(answer.stderr.contains("first no bundle came: recorded as lost in runs/"));
    assert_eq!(planned.statuses(), ["lost", "lost"]);
    planned.check(2);
    let landing = planned.git(&["show", "results:README.md"]);
    assert!(landing.contains("lost"), "{landing}");
    let page = planned.git(&["ls-tree", "-r", "--name-only", "results"]);
    let page = page.lines().find(|path| path.ends_with("-first/README.md")).expect("a page");
    let page = planned.git(&["show", &format!("results:{page}")]);
    assert!(page.contains("no bundle of this run came"), "{page}");

    // Once more: it is recorded already.
    let tip = planned.git(&["rev-parse", "results"]);
    let answer = planned.perftrail(PUBLISH_PLAN);
    assert!(answer.stderr.contains("first a run of its plan is there"), "{}", answer.stderr);
    assert_eq!(planned.git(&["rev-parse", "results"]), tip);

    // It comes after all, under the name that it got when it began.
    planned.perftrail(&["run", "--plan", "plan.json"]);
    let answer = planned.perftrail(&["publish", "perftrail-out", "--to", "results"]);
    assert!(answer.stderr.contains("in place of a record that said less"), "{}", answer.stderr);
    assert_eq!(planned.statuses(), ["succeeded", "succeeded"]);
    planned.check(2);
    planned.perftrail(&["publish", "perftrail-out", "--to", "results"]);
    planned.check(2);

    // Nothing is lost any more, and another run of the plan takes nobody's place.
    let answer = planned.perftrail(PUBLISH_PLAN);
    assert!(answer.stderr.contains("second a run of its plan is there"), "{}", answer.stderr);
    planned.perftrail(&["run", "--plan", "plan.json", "--publish", "--to", "results"]);
    planned.check(4);
}

#[test]
fn what_came_is_published_beside_what_did_not() {
    let planned = Planned::new();
    planned.perftrail(&["run", "--plan", "plan.json"]);
    for bundle in planned.project.bundles() {
        if bundle.to_string_lossy().ends_with("-second") {
            std::fs::remove_dir_all(bundle).expect("removed");
        }
    }
    planned.perftrail(&["publish", "perftrail-out", "--plan", "plan.json", "--to", "results"]);
    let runs = planned.runs();
    assert_eq!(planned.statuses(), ["lost", "succeeded"]);
    // The plan proves the identity of what came.
    assert!(runs.iter().all(|run| run.1 == "planned"), "{runs:?}");
    assert_eq!(planned.git(&["rev-list", "--count", "results"]), "1");
    planned.check(2);
    // What is not of the plan is only claimed.
    planned.perftrail(&["run", "--job", "other", "--output", "more", "--", "true"]);
    planned.perftrail(&["publish", "more", "--plan", "plan.json", "--to", "results"]);
    assert_eq!(planned.runs().iter().filter(|run| run.1 == "claimed").count(), 1);
    planned.check(3);
}

#[test]
fn in_a_workflow_the_lost_run_has_the_name_of_the_run_itself() {
    let planned = Planned::new();
    let step = |args: &[&str], attempt: &str| {
        let mut command = planned.project.command(args);
        for (name, value) in [
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_EVENT_NAME", "schedule"),
            ("GITHUB_RUN_ID", "7"),
            ("GITHUB_RUN_NUMBER", "3"),
            ("GITHUB_RUN_ATTEMPT", attempt),
            ("GITHUB_REPOSITORY", "lab/model"),
            ("GITHUB_SERVER_URL", "https://git.example.org"),
        ] {
            command.env(name, value);
        }
        command
    };
    planned.plan(&step(&[], "1"));
    // The artifact never came: the folder is not even there.
    let arguments = ["publish", "perftrail-out", "--plan", "plan.json", "--to", "./results"];
    let answer = Answer::of(&mut step(&arguments, "1")).exits(0);
    assert!(answer.stderr.contains("perftrail-out"), "{}", answer.stderr);
    let lost = planned.runs();
    assert_eq!(
        (lost[0].2.as_str(), lost[1].2.as_str()),
        ("schedule-7-1-first", "schedule-7-1-second")
    );

    // The job is run again, as another attempt of the same plan; its publisher is another one too.
    Answer::of(&mut step(&["run", "--plan", "plan.json"], "2")).exits(0);
    Answer::of(&mut step(&arguments, "3")).exits(0);
    let runs = planned.runs();
    assert_eq!(
        (runs[0].2.as_str(), runs[1].2.as_str()),
        ("schedule-7-2-first", "schedule-7-2-second")
    );
    assert_eq!(planned.statuses(), ["succeeded", "succeeded"]);
    planned.check(2);
    // By hand, from the plan alone, nothing is lost.
    planned.perftrail(PUBLISH_PLAN);
    planned.check(2);
}

#[test]
fn what_is_no_plan_is_told() {
    let planned = Planned::new();
    planned.project.file("plan.json", "{}");
    let answer = planned.project.perftrail(PUBLISH_PLAN).exits(2);
    assert!(answer.stderr.contains("plan.json"), "{}", answer.stderr);
    planned.project.perftrail(&["publish", "--to", "results"]).exits(2);
    planned.project.perftrail(&["publish", "nowhere", "--to", "results"]).exits(2);
    assert!(!planned.project.path("results").exists());
}

#[test]
fn a_secret_in_a_plan_is_not_published() {
    let planned = Planned::new();
    let text = std::fs::read_to_string(planned.project.path("plan.json")).expect("the plan");
    planned
        .project
        .file("plan.json", &text.replace("\"value\": 5", "\"value\": \"s3cret-of-ours\""));
    let mut command = planned.project.command(PUBLISH_PLAN);
    Answer::of(command.env("DATA_TOKEN", "s3cret-of-ours")).exits(0);
    let all = planned.git(&["grep", "-c", "-F", "***", "results", "--"]);
    assert!(all.contains("stats.json"), "{all}");
    let records = planned.git(&["log", "-p", "results"]);
    assert!(!records.contains("s3cret"), "{records}");
}
