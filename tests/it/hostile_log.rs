//! Whatever others wrote, nothing of it is a command to the runner that reads our log.

use std::process::Command;

use serde_json::json;

use crate::action::Runner;
use crate::support::{Answer, Project};

/// Texts that a runner would obey, as they might stand anywhere.
const HOSTILE: [&str; 12] = [
    "::error::owned",
    "a\n::add-mask::owned\nb",
    "a\r::stop-commands::owned",
    "##[error]owned",
    "a ##[group]owned",
    "a\n \t::warning file=x::owned",
    "\u{1b}[31m::error::owned",
    "a\n\u{feff}\u{200b}::error::owned",
    "a%0A::error::owned",
    "a\n::set-output name=run::owned",
    "a\u{2028}::error::owned",
    "#\u{1b}[0m#[error]owned",
];

/// All of them in two, where every text by itself would take too long: one that stands in a line,
/// and one of several lines.
const TOGETHER: [&str; 2] = [
    "::error::owned ##[error]owned",
    "a\n::add-mask::owned\r\u{1b}[31m::error::owned\n\u{feff} ::x::owned ##[group]b",
];

/// What GitHub's runner takes for a command: `::` at the start of a line that it trims, and `##[`
/// anywhere.
fn is_command(line: &str) -> bool {
    line.trim_start_matches(|c: char| c.is_whitespace() || ['\u{feff}', '\u{200b}'].contains(&c))
        .starts_with("::")
        || line.contains("##[")
}

/// A command of our own, whose parts hold nothing that ends them.
fn is_own(line: &str) -> bool {
    let annotation = ["error", "warning", "notice"].iter().any(|level| {
        let rest = line.strip_prefix("::").and_then(|rest| rest.strip_prefix(*level));
        let title = rest
            .and_then(|rest| rest.strip_prefix(" title="))
            .and_then(|rest| rest.split_once("::"));
        title.is_some_and(|(title, _)| !title.contains(','))
    });
    let silence = line.strip_prefix("::stop-commands::").unwrap_or(line.trim_start_matches(':'));
    annotation || silence.starts_with("perftrail_")
}

#[track_caller]
fn is_inert(answer: &Answer, what: &str) {
    for text in [&answer.stdout, &answer.stderr] {
        for line in text.split(['\n', '\r']) {
            let is_fine = !is_command(line) || is_own(line) && !line.contains("##[");
            assert!(is_fine, "{what}: {line:?} in\n{text}");
            assert!(!line.contains("\u{1b}]") && !line.contains("\u{1b}["), "{what}: {line:?}");
        }
    }
}

/// A command in a step of a workflow, without a container.
fn in_step(project: &Project, args: &[&str]) -> Command {
    let mut command = project.command(args);
    command
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_EVENT_NAME", "schedule")
        .env("GITHUB_RUN_ID", "7")
        .env("GITHUB_SERVER_URL", "https://github.com")
        .env("GITHUB_REPOSITORY", "lab/model");
    command
}

#[track_caller]
fn said(project: &Project, args: &[&str]) -> Answer {
    let answer = Answer::of(&mut in_step(project, args));
    is_inert(&answer, &args.join(" "));
    answer
}

/// Does with every text all that a job can: prints it, tells it, names files by it.
const JOB: &str = "
import json, os, sys
with open('hostile.json') as file:
    texts = json.load(file)
stats = open(os.environ['PERFTRAIL_STATS'], 'a')
for number, text in enumerate(texts):
    print(text)
    print(text, file=sys.stderr)
    tell = lambda **what: stats.write(json.dumps(what) + '\\n')
    tell(note=text)
    tell(metric=text, value=1)
    tell(metric=f'm{number}', value=1, unit=text)
    tell(phase=text, event='begin')
    tell(series=f's{number}', value=1, x=text)
    stats.write(text + '\\n')
    os.makedirs(f'out/{number}')
    open('out/%d/%s.csv' % (number, text.replace('/', '')), 'w').write(text)
sys.exit(len(sys.argv) - 1)
";

/// A project whose job and history are full of these texts, and the additional stats that are too.
fn project() -> Project {
    let project = Project::new();
    project.file("hostile.json", &json!(HOSTILE).to_string());
    project.file("job.py", JOB);
    let strings = HOSTILE.iter().enumerate().map(|(n, text)| format!("p{n} = {}\n", json!(text)));
    let config = format!(
        "[results]\nrepository = \"./kept\"\n\
         [[job]]\nname = \"sim\"\nprepare = \"rm -rf out\"\nrun = \"python3 job.py\"\ncollect = [\"out/**\"]\n[job.params]\n{}\
         [[job]]\nname = \"bad\"\nprepare = \"rm -rf out\"\nrun = \"python3 job.py fail\"\ntag = {}\n\
         [[job]]\nname = \"setup\"\nsetup = 'python3 job.py are you root; false'\nrun = \"true\"\n",
        strings.collect::<String>(),
        json!(HOSTILE[0]),
    );
    project.file("perftrail.toml", &config);
    project.commit(&format!("Begin\n\n{}", HOSTILE.join("\n")));
    project.commit(HOSTILE[0]);
    project
}

#[test]
fn nothing_that_a_job_leaves_is_a_command_in_what_is_said_of_it() {
    let project = project();
    // A line break would begin the next of them.
    let of_one_line = HOSTILE.iter().enumerate().filter(|(_, text)| !text.contains(['\n', '\r']));
    let stats: Vec<String> = of_one_line.map(|(n, text)| format!("k{n}={text}")).collect();
    let mut run = vec!["run", "--publish", "--verbose", "--variant", HOSTILE[3]];
    run.push("--additional-stats");
    run.extend(stats.iter().map(String::as_str));
    let answer = said(&project, &run);
    assert!(answer.stdout.contains("owned"), "{}", answer.stderr);
    assert_eq!(project.bundles().len(), 3, "{}", answer.stderr);
    for format in ["text", "md", "html", "json"] {
        for name in ["latest", "latest~1", "latest~2"] {
            let answer = said(&project, &["report", name, "--format", format]).exits(0);
            assert!(
                answer.stdout.contains("owned") || name != "latest~2" && format == "text",
                "{name} {format}"
            );
        }
    }
    let json = said(&project, &["report", "latest~2", "--format", "json"]).stdout;
    let read: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(read["extra"]["k3"], HOSTILE[3], "whoever reads it reads the same");
    for args in [
        &["runs"][..],
        &["runs", "--format", "json"],
        &["history"],
        &["history", "--format", "md"],
        &["history", "--format", "json"],
        &["report", "latest~1", "--against", "latest~2"],
        &["report", "latest~1", "--against", "latest~2", "--format", "json"],
        &["publish", "perftrail-out", "--format", "json"],
        &["fsck"],
        &["fsck", "--format", "json"],
        &["doctor", "--publish"],
        &["doctor", "--format", "json"],
        &["run", "--dry-run"],
    ] {
        said(&project, args).exits(0);
    }
}

#[test]
fn nothing_that_was_asked_for_is_a_command_in_what_is_said_of_it() {
    let project = project();
    said(&project, &["run", "--publish", "sim"]).exits(0);
    for text in TOGETHER {
        let (pair, key) = (format!("{text}={text}"), format!("{}\n", toml_key(text)));
        project.file("bad.toml", &key);
        project.file("bad.json", &json!({ text: text, "version": text }).to_string());
        for args in [
            &["report", text][..],
            &["report", "latest", "--against", text],
            &["run", "sim", "--param", &pair],
            &["run", "sim", "--profiler", text],
            &["run", "sim", "--timeout", text],
            &["run", "sim", "--repetitions", text],
            &["run", text],
            &["run", "--config", "bad.toml"],
            &["run", "--plan", "bad.json"],
            &["run", "--", text],
            &["publish", text],
            &["publish", "perftrail-out", "--to", text],
            &["publish", "--plan", text],
            &["runs", "--status", text],
            &["accept", text, "--since", text, "--because", text],
            &["accept", "cpu_time", "--since", "HEAD", "--because", text, "--author", text],
            &["fsck", "--to", text],
            &["doctor", "--config", text],
            &["init", "--job", text, "--", text],
            &["import", "files", text, "--job", text, "--commit", text],
            &["history", "--metric", text],
            &[text],
        ] {
            said(&project, args);
        }
        let mut by_variable = in_step(&project, &["run", "sim"]);
        is_inert(&Answer::of(by_variable.env("PERFTRAIL_WARMUPS", text)), text);
    }
}

fn toml_key(text: &str) -> String {
    format!("{} = 1", json!(text))
}

#[test]
fn nothing_that_a_workflow_gives_the_action_is_a_command_in_its_log() {
    let runner = Runner::new("");
    for text in TOGETHER {
        let quoted = format!(
            "python3 -c 'import sys; print(sys.argv[1]); sys.exit(1)' '{}'",
            text.replace('\'', "")
        );
        for inputs in [
            &[("run", quoted.as_str())][..],
            &[("run", "true"), ("variant", text), ("machine", text), ("additional-stats", text)],
            &[("run", "true"), ("job", text)],
            &[("run", "true"), ("ref", text)],
            &[("run", "true"), ("to", text)],
            &[("run", "true"), ("branch", text)],
            &[("job", text), ("params", text)],
            &[("config", text)],
            &[("command", text)],
            &[("fail-on", text)],
            &[("command", "run"), ("plan", text)],
            &[("command", "publish"), ("bundle", text)],
            &[("command", "publish"), ("plan", text)],
        ] {
            runner.fresh_files();
            let payload = json!({"inputs": {"ref": text, "job": text}});
            let is_asked = inputs.len() == 1 && inputs[0].0 == "config";
            let payload = if is_asked { payload } else { json!({}) };
            let answer = Answer::of(&mut runner.step("workflow_dispatch", &payload, inputs));
            is_inert(&answer, &format!("{inputs:?}"));
        }
        let answer = Answer::of(
            runner.step("push", &json!({"ref": text, "before": text}), &[]).env("GITHUB_SHA", text),
        );
        is_inert(&answer, text);
        is_inert(&Answer::of(&mut runner.step(&text.replace('\0', ""), &json!({}), &[])), text);
    }
}
