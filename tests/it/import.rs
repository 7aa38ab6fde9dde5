//! `import files`: a project that measures itself replaces only its copy step.

use crate::support::{Answer, Project, read_json};

const SHA: &str = "0123456789abcdef0123456789abcdef01234567";

fn with_results() -> Project {
    let project = Project::new();
    project
        .file("out/run_7.stats.json", r#"{"duration": 27817.5, "pop_df_rows": 62000, "sha": "x"}"#)
        .file("out/run_7.args.json", r#"{"years": 5, "seed": null}"#)
        .file("out/run_7.html", "<html><script>1</script></html>");
    project
}

fn import(project: &Project, more: &[&str]) -> Answer {
    let mut args = vec!["import", "files", "out", "--job", "scale_run", "--commit", SHA];
    args.extend(["--read", "metrics=*.stats.json", "--read", "params=*.args.json"]);
    args.extend(more);
    project.perftrail(&args)
}

#[test]
fn numbers_and_params_of_files_make_a_record_whose_identity_is_claimed() {
    let project = with_results();
    import(&project, &["--additional-stats", "trigger=by hand"]).exits(0);
    let record = project.record();
    assert_eq!(record["run"]["identity"], "claimed");
    assert_eq!(record["commit"]["sha"], SHA);
    assert_eq!(record["metrics"]["job.duration"]["value"], 27817.5);
    assert_eq!(record["metrics"]["pop_df_rows"]["value"], 62000.0);
    assert_eq!(record["params"]["years"]["value"], 5);
    assert_eq!(record["extra"]["trigger"], "by hand");
    assert!(record["metrics"].get("cpu_time").is_none(), "nothing is made up");
    assert!(record["metrics"].get("warnings").is_none(), "no log was there to count in");
    assert!(record["unavailable"]["cpu_time"].as_str().is_some_and(|why| why.contains("imported")));
}

#[test]
fn kept_files_are_verbatim_and_the_run_is_published() {
    let project = with_results();
    import(&project, &["--keep", "*.html", "--started", "2024-11-02T00:23:30Z", "--to", "results"])
        .exits(0);
    let kept = project.bundle().join("files/run_7.html");
    assert_eq!(
        std::fs::read_to_string(kept).expect("the kept file"),
        "<html><script>1</script></html>"
    );
    let listed = project.perftrail(&["runs", "--to", "results", "--format", "json"]).exits(0);
    let runs: serde_json::Value = serde_json::from_str(&listed.stdout).expect("JSON alone");
    assert_eq!(runs["runs"][0]["commit"], SHA);
    assert_eq!(runs["runs"][0]["start"], "2024-11-02T00:23:30Z");
}

#[test]
fn the_rules_of_a_configured_job_count() {
    let project = with_results();
    project.file(
        "perftrail.toml",
        "[[job]]\nname = \"scale_run\"\nrun = \"true\"\nread = [{ path = \"out/*.stats.json\", as = \"metrics\", \
         pick = { rows = \"pop_df_rows\" }, required = true }]\n",
    );
    project.perftrail(&["import", "files", "out", "--job", "scale_run", "--commit", SHA]).exits(0);
    assert_eq!(project.record()["metrics"]["rows"]["value"], 62000.0);
}

#[test]
fn a_required_number_that_is_missing_fails_the_import() {
    let project = with_results();
    project.file(
        "perftrail.toml",
        "[[job]]\nname = \"scale_run\"\nrun = \"true\"\nread = [{ path = \"out/*.none\", as = \"metrics\", required = true }]\n",
    );
    let answer = project
        .perftrail(&["import", "files", "out", "--job", "scale_run", "--commit", SHA])
        .exits(3);
    assert!(answer.stdout.contains("failed"), "{}", answer.stdout);
    assert_eq!(read_json(&project.bundle().join("stats.json"))["run"]["status"], "failed");
}

#[test]
fn what_cannot_be_imported_is_told() {
    let project = with_results();
    for (args, word) in [
        (vec!["import", "files", "nowhere", "--job", "j", "--commit", SHA], "no folder"),
        (vec!["import", "files", "out", "--job", "j", "--commit", "abc"], "40 digits"),
        (vec!["import", "files", "out", "--job", "j", "--commit", SHA, "--read", "x"], "metrics="),
    ] {
        let answer = project.perftrail(&args).exits(2);
        assert!(answer.stderr.contains(word), "{args:?}: {}", answer.stderr);
    }
    assert!(project.bundles().is_empty(), "nothing was made");
}
