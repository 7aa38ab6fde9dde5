//! `perftrail init` and `perftrail doctor`: a project set up from nothing, and looked at.

use std::fs;

use crate::fake_github::{FakeGitHub, FakeRepository, FakeToken};
use crate::git_server::{READ_TOKEN, Server, WRITE_TOKEN};
use crate::support::{Answer, Project};

const PROGRAM: &str = "if __name__ == \"__main__\":\n    print(\"ran\")\n";

#[test]
fn a_project_with_one_program_is_set_up_without_a_question() {
    let project = Project::new();
    project.file("src/model.py", PROGRAM).file("src/parts.py", "x = 1\n");
    project.file("pyproject.toml", "[project]\nname = \"model\"\n");
    let answer = project.perftrail(&["init"]).exits(0);
    assert!(answer.stdout.contains("python src/model.py"), "{}", answer.stdout);
    let flow = fs::read_to_string(project.path(".github/workflows/perftrail.yml")).expect("it");
    for part in
        ["pip install -e .", "exec perftrail run", "persist-credentials: false", "if: always()"]
    {
        assert!(flow.contains(part), "{part}:\n{flow}");
    }
    assert!(!flow.contains("command: publish"), "nobody named a place:\n{flow}");
    let plan = project.perftrail(&["run", "--dry-run"]).exits(0).stdout;
    assert!(plan.contains("\"name\": \"model\"") && plan.contains("python src/model.py"), "{plan}");
    // What is there stays.
    project.file("perftrail.toml", "[[job]]\nname = \"mine\"\nrun = \"true\"\n");
    project.perftrail(&["init", "--", "false"]).exits(0);
    let kept = fs::read_to_string(project.path("perftrail.toml")).expect("it");
    assert!(kept.contains("mine"), "{kept}");
}

#[test]
fn what_cannot_be_seen_is_asked_for_with_the_choices() {
    let project = Project::new();
    let none = project.perftrail(&["init"]).exits(2);
    assert!(none.stderr.contains("perftrail init -- "), "{}", none.stderr);
    project.file("a.py", PROGRAM).file("scripts/b.py", PROGRAM);
    let two = project.perftrail(&["init"]).exits(2);
    assert!(two.stderr.contains("a.py, scripts/b.py"), "{}", two.stderr);
    assert!(!project.path("perftrail.toml").exists() && !project.path(".github").exists());
    project.perftrail(&["init", "--job", "both", "--", "echo", "a b", "{x}"]).exits(0);
    let answer = project.perftrail(&["run", "both"]).exits(0);
    assert!(answer.stdout.contains("a b {x}"), "{}", answer.stdout);
}

#[test]
fn a_results_repository_gets_its_first_commit_and_takes_runs() {
    let project = Project::new();
    project.file("model.py", PROGRAM).file("environment.yml", "name: x\n");
    project.perftrail(&["init", "--results", "./kept", "--", "true"]).exits(0);
    let show = |path: &str| project.git(&["-C", "kept", "show", &format!("results:{path}")]);
    let before = show("README.md");
    assert!(before.contains("forbid force pushes") && before.contains("No run has been published"));
    let again = project.perftrail(&["init", "--results", "./kept"]).exits(0);
    assert!(again.stdout.contains("has its first commit already"), "{}", again.stdout);
    let flow = fs::read_to_string(project.path(".github/workflows/perftrail.yml")).expect("it");
    assert!(flow.contains("setup-miniconda") && flow.contains("to: \"./kept\""), "{flow}");
    project.perftrail(&["run", "--publish"]).exits(0);
    let after = show("README.md");
    assert!(after.contains("forbid force pushes") && after.contains("succeeded"), "{after}");
    project.perftrail(&["fsck", "--to", "./kept"]).exits(0);
}

#[test]
fn doctor_finds_nothing_wrong_with_a_good_project() {
    let project = Project::new();
    project.file("perftrail.toml", "[[job]]\nname = \"a\"\nrun = \"true\"\ntimeout = \"1h\"\n");
    project.commit("Configure");
    let answer = project.perftrail(&["doctor", "--publish"]).exits(0);
    for line in answer.stdout.lines() {
        assert!(line.starts_with("ok "), "{}", answer.stdout);
    }
    assert!(answer.stdout.contains("is made by the first run"), "{}", answer.stdout);
}

/// As the workflow's preflight does, which checks nothing out.
#[test]
fn doctor_looks_at_publishing_alone_where_no_project_is() {
    let project = Project::new();
    std::fs::create_dir(project.path("empty")).expect("a folder");
    let mut command = project.command(&["doctor", "--publish", "--to", "../results"]);
    command.current_dir(project.path("empty")).env("GIT_CEILING_DIRECTORIES", project.root());
    let answer = crate::support::Answer::of(&mut command).exits(0);
    assert!(answer.stdout.contains("no project is here"), "{}", answer.stdout);
    assert!(answer.stdout.contains("results"), "{}", answer.stdout);
    assert!(!answer.stdout.contains("warning"), "{}", answer.stdout);
}

#[test]
fn doctor_tells_what_will_fail() {
    let project = Project::new();
    let config = "[[job]]\nname = \"a\"\nrun = \"true\"\ntimeout = \"6d\"\nprofiler = \"memray\"\n";
    project.file("perftrail.toml", config);
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    project.file("data/big.nc", pointer);
    project.commit("Configure");
    let module = project.git(&["rev-parse", "HEAD"]);
    project.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{module},vendor/lib")]);
    project.git(&["commit", "-q", "-m", "Link"]);
    let answer = project.perftrail(&["doctor"]).exits(3);
    for part in ["data/big.nc", "git lfs pull", "vendor/lib", "5 days", "memray"] {
        assert!(answer.stdout.contains(part), "{part}:\n{}", answer.stdout);
    }
    let json = project.perftrail(&["doctor", "--format", "json"]).exits(3).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let fails = json["findings"].as_array().expect("a list").iter();
    assert_eq!(fails.filter(|one| one["health"] == "fails").count(), 4, "{json}");
    project.file("perftrail.toml", "[[jobs]]\n");
    let answer = project.perftrail(&["doctor"]).exits(3);
    assert!(answer.stdout.contains("fails    configuration"), "{}", answer.stdout);
}

#[test]
fn doctor_tries_the_results_repository_without_changing_it() {
    let (project, server, github) = (Project::new(), Server::start(), FakeGitHub::start());
    let token =
        FakeToken { expires: Some("2020-01-02 10:00:00 UTC"), ..FakeToken::writes("lab/results") };
    github
        .repository("lab/results", FakeRepository::of("private"))
        .token(WRITE_TOKEN, token)
        .token(READ_TOKEN, FakeToken::reads("lab/results"));
    let url = server.url();
    let doctor = |token: &str| {
        let mut command = project.command(&["doctor", "--publish", "--to", "lab/results"]);
        command
            .env("GITHUB_SERVER_URL", url.strip_suffix("/lab/results").expect("the address"))
            .env("GITHUB_API_URL", &github.variables()["GITHUB_API_URL"])
            .env("PERFTRAIL_RESULTS_TOKEN", token);
        Answer::of(&mut command)
    };
    let good = doctor(WRITE_TOKEN).exits(0);
    assert!(good.stdout.contains("can be written, branch results"), "{}", good.stdout);
    assert!(
        good.stdout.contains("warning  token") && good.stdout.contains("2020-01-02"),
        "{}",
        good.stdout
    );
    assert_eq!(server.git(&["branch", "--list"]), "", "nothing was pushed");
    let bad = doctor(READ_TOKEN).exits(3);
    assert!(bad.stdout.contains("fails    results"), "{}", bad.stdout);
    assert!(bad.stdout.contains("may not push"), "{}", bad.stdout);
    for text in [good.stdout, bad.stdout] {
        assert!(!text.contains(WRITE_TOKEN) && !text.contains(READ_TOKEN), "{text}");
    }
}
