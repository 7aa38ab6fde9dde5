//! Secrets of the environment stand nowhere in what a run leaves, and nowhere in what is published.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use crate::support::{Answer, Project};

const SECRET: &str = "hunter2secret99";
const SHAPES: [&str; 4] = [
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz",
    "AKIAIOSFODNN7EXAMPLE",
    "pa55word",
];

/// Tells the secret in every way that a job has.
const JOB: &str = r#"
import json, os, sys
secret = "hunter2secret99"
shapes = ["ghp_abcdefghijklmnopqrstuvwxyz0123456789", "AKIAIOSFODNN7EXAMPLE",
          "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz", "https://me:pa55word@example.org/x"]
print(secret, *shapes)
print("hunter2\x1b[31msecret99\x1b[0m", json.dumps({"x": secret}), file=sys.stderr)
with open(os.environ["PERFTRAIL_STATS"], "a") as told:
    for line in ({"note": secret + " ".join(shapes)}, {"metric": secret, "value": 1},
                 {"metric": "m." + secret, "value": 1, "unit": secret}, {secret: 1},
                 {"phase": secret, "event": "begin"}, {"phase": secret, "event": "end"},
                 {"series": secret, "value": 1, "x": secret}, {"series": "q", "value": 1, "x": secret}):
        told.write(json.dumps(line) + "\n")
    told.write("garbage " + secret + "\n")
os.chdir(os.environ["PERFTRAIL_OUTPUT"])
os.makedirs(secret)
open(secret + "/a.txt", "w").write("nothing")
open("b.txt", "w").write("x" + secret)
open("c.txt", "w").write(shapes[0])
json.dump({"k": secret, secret: 1.5, "n": {secret: [secret]}}, open("x.json", "w"))
"#;

/// Every file below, with its path and its content, unpacked.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.push((path.clone(), Vec::new()));
            all.extend(files(&path));
            continue;
        }
        let mut bytes = Vec::new();
        let mut file = File::open(&path).expect("a file");
        if path.extension().is_some_and(|extension| extension == "gz") {
            GzDecoder::new(file).read_to_end(&mut bytes).expect("gzip");
        } else {
            file.read_to_end(&mut bytes).expect("bytes");
        }
        all.push((path, bytes));
    }
    all
}

#[track_caller]
fn holds_no_secret(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for secret in SHAPES.into_iter().chain([SECRET]) {
        let around =
            text.find(secret).map(|at| text[..at].chars().rev().take(60).collect::<Vec<_>>());
        let around = around.map(|chars| chars.into_iter().rev().collect::<String>());
        assert_eq!(around, None, "{secret} in {what}");
    }
}

/// A project that has put the secret wherever it can.
fn leaking() -> Project {
    let project = Project::new();
    project.file("job.py", JOB);
    project.git(&["remote", "add", "origin", &format!("https://user:{SECRET}@github.com/o/n.git")]);
    project.git(&["checkout", "-q", "-b", SECRET]);
    project.file(
        "perftrail.toml",
        &format!(
            r#"
[[job]]
name = "a"
run = "python3 job.py {{p}} {SECRET}"
env = {{ OMP_NUM_THREADS = "{SECRET}" }}
tag = "{{p}}"
read = [{{ path = "x.json", as = "metrics" }}, {{ path = "x.json", as = "extra" }},
        {{ path = "x.json", as = "params" }}, {{ path = "{SECRET}.json", as = "metrics" }}]
collect = ["{SECRET}/**"]
count = {{ {SECRET} = "{SECRET}" }}
[job.params]
p = "{SECRET}"
{SECRET} = "x"
[[job.step]]
"#
        )
        .replace("[[job.step]]\n", "")
        .replace("[job.params]", &format!("machine = \"{SECRET}\"\n[job.params]")),
    );
    project.file(&format!("src/{SECRET}.py"), "");
    project.commit(SECRET);
    project
}

fn with_secrets(project: &Project, args: &[&str]) -> Answer {
    let mut command = project.command(args);
    Answer::of(command.env("DATA_TOKEN", SECRET))
}

#[test]
fn nothing_that_a_run_leaves_holds_a_secret() {
    let project = leaking();
    let more = format!("{SECRET}={SECRET}");
    let args =
        ["run", "a", "--quiet", "--publish", "--variant", SECRET, "--additional-stats", &more];
    let answer = with_secrets(&project, &args).exits(0);
    holds_no_secret("the report", answer.stdout.as_bytes());
    holds_no_secret("the messages", answer.stderr.as_bytes());
    let left = files(&project.path("perftrail-out"));
    assert!(left.len() > 6, "{left:?}");
    for (path, bytes) in &left {
        let name = path.strip_prefix(project.root()).expect("below").display().to_string();
        holds_no_secret("a name", name.as_bytes());
        holds_no_secret(&name, bytes);
    }
    let published = project.git(&[
        "--git-dir=perftrail-results",
        "log",
        "-p",
        "--text",
        "--stat",
        "--format=fuller",
        "results",
    ]);
    holds_no_secret("the results", published.as_bytes());
    let record = project.record();
    assert_eq!(record["repository"]["owner"], "o");
    assert_eq!(record["params"]["p"]["value"], "***");
    assert!(record["metrics"]["___"]["value"].is_number());
    assert_eq!(record["extra"]["___"], "***");
    assert!(record["environment"]["held_back"].to_string().contains("DATA_TOKEN"));
    let left_out = |path: &str| {
        let files = record["files"].as_array().expect("files");
        files.iter().find(|file| file["path"] == path).map(|file| file["left_out"].clone())
    };
    for path in ["files/b.txt", "files/c.txt", "files/x.json"] {
        assert!(left_out(path).is_some_and(|why| why.to_string().contains("secret")), "{path}");
    }
    assert_eq!(left_out("files/___/a.txt"), Some(serde_json::Value::Null));
    for format in ["text", "md", "json", "html"] {
        let shown = project.perftrail(&["report", "--format", format]).exits(0);
        holds_no_secret(format, shown.stdout.as_bytes());
    }
}

#[test]
fn names_and_commands_that_hold_a_secret_are_cleaned() {
    let project = Project::new();
    let script = format!("{SECRET}.sh");
    project.file(&script, "echo ok\n");
    with_secrets(&project, &["run", "--quiet", "--publish", "--", "sh", &script]).exits(0);
    with_secrets(&project, &["run", "--quiet", "--", "sh", "-c", &format!("exit 3; {SECRET}")])
        .exits(3);
    with_secrets(&project, &["run", "--quiet", "--", &format!("./{SECRET}")]).exits(3);
    for (path, bytes) in files(&project.path("perftrail-out")) {
        let name = path.strip_prefix(project.root()).expect("below").display().to_string();
        holds_no_secret("a name", name.as_bytes());
        holds_no_secret(&name, &bytes);
    }
    let answer = with_secrets(&project, &["run", "--config", &format!("{SECRET}.toml")]).exits(2);
    holds_no_secret("the error", answer.stderr.as_bytes());
}

#[test]
fn the_record_is_clean_before_the_job_begins() {
    let project = Project::new();
    // The job looks at the record that says `interrupted`.
    let script = format!("cat perftrail-out/*/stats.json > seen; : {SECRET}");
    with_secrets(&project, &["run", "--quiet", "--", "sh", "-c", &script]).exits(0);
    let seen = fs::read(project.path("seen")).expect("a file");
    assert!(String::from_utf8_lossy(&seen).contains("interrupted"));
    holds_no_secret("the first record", &seen);
}
