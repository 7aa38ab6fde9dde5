//! Jobs that do their worst: the record tells what was measured, and nothing hangs, fills or breaks.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::measure::alive;
use crate::support::{Answer, Project, notice, read_json};

/// A project with one job that runs a Python program.
fn python(program: &str, more: &str) -> Project {
    let project = Project::new();
    project.file("job.py", program);
    project.file(
        "perftrail.toml",
        &format!("[[job]]\nname = \"a\"\nrun = \"python3 job.py\"\n{more}"),
    );
    project
}

/// Every number in the value.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Number(number) => number.as_f64().into_iter().collect(),
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        Value::Object(map) => map.values().flat_map(numbers).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn what_cannot_be_started_is_told_as_shells_do() {
    for (program, code, word) in
        [("no-such-program", 127, "not_found"), ("/etc/passwd", 126, "not_executable")]
    {
        let project = Project::new();
        let answer = project.perftrail(&["run", "--", program]).exits(3);
        assert!(answer.stdout.contains(&format!("exit code {code}")), "{}", answer.stdout);
        let record = project.record();
        assert_eq!(record["run"]["exit_code"], code);
        assert!(notice(&record, word).contains(program));
        project.perftrail(&["run", "--propagate-exit", "--", program]).exits(code);
    }
}

#[test]
fn daemons_that_hold_the_output_open_end_with_the_job() {
    let project = Project::new();
    let token = format!("daemon-{}", std::process::id());
    let script = format!(
        "setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 0.2; done; : {token}' & echo begun"
    );
    let answer = project.perftrail(&["run", "--", "sh", "-c", &script]).exits(0);
    assert!(answer.stdout.starts_with("begun\n"), "{}", answer.stdout);
    notice(&project.record(), "left_behind");
    assert_eq!(alive(&token), 0);
}

#[test]
fn output_without_an_end_and_without_meaning_is_kept_within_bounds() {
    let project = Project::new();
    let script = r"head -c 20000000 /dev/zero | tr '\0' x; printf '\377\376\033]0;title\007\n'";
    project.perftrail(&["run", "--quiet", "--", "sh", "-c", script]).exits(0);
    let bundle = project.bundle();
    let log = fs::metadata(bundle.join("log.txt.gz")).expect("a log").len();
    assert!(log < 100_000, "{log}");
    for page in ["README.md", "report.html"] {
        let text = fs::read_to_string(bundle.join(page)).expect("UTF-8");
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{page}");
    }
}

#[test]
fn a_flood_of_garbage_does_not_hide_what_is_told() {
    let project = python(
        r#"
import os
with open(os.environ["PERFTRAIL_STATS"], "ab") as told:
    told.write(b"\0" * 30_000_000 + b"\n" + os.urandom(1_000_000) + b"\n")
    for line in ['{"bad": NaN}', '{"worse": 1e999}', '{"metric": "../../x", "value": 1}',
                 '{"metric": "%s", "value": 1}' % ("a" * 1_000_000), '[1]', '{"x": {"y": 1}}',
                 '{"series": "q", "value": Infinity}', '{"phase": "p", "event": "explode"}',
                 '{"rows": 3}']:
        told.write(line.encode() + b"\n")
"#,
        "",
    );
    project.perftrail(&["run"]).exits(0);
    let record = project.record();
    assert_eq!(record["metrics"]["rows"]["value"], 3.0);
    assert!(notice(&record, "stats_malformed").contains("line 1"));
    for name in record["metrics"].as_object().expect("metrics").keys() {
        assert!(name.len() <= 80 && !name.contains('/'), "{name}");
    }
}

#[test]
fn odd_things_among_the_outputs_are_counted_and_not_followed() {
    let project = python(
        r#"
import os, socket
os.chdir(os.environ["PERFTRAIL_OUTPUT"])
for i in range(5000):
    open(f"f{i:05}", "w").write("x")
os.mkfifo("pipe")
os.symlink("/etc/passwd", "link")
os.symlink("/etc", "folder")
socket.socket(socket.AF_UNIX).bind("socket")
open(b"\xff\xfe", "w").write("x")
open("a\n<b>\x1b[31m\u202e", "w").write("odd name")
"#,
        "",
    );
    project.perftrail(&["run", "--publish"]).exits(0);
    let record = project.record();
    assert_eq!(record["metrics"]["output_files"]["value"], 5001.0);
    let passed = notice(&record, "outputs_passed_over");
    for what in ["1 pipe", "1 socket", "2 symlink", "1 unreadable name"] {
        assert!(passed.contains(what), "{passed}");
    }
    assert!(notice(&record, "outputs_not_listed").contains("4801 more"));
    let kept = fs::read_dir(project.bundle().join("files")).expect("files");
    assert!(kept.flatten().all(|file| file.file_type().is_ok_and(|kind| kind.is_file())));
    let shown = project.perftrail(&["report"]).exits(0);
    assert!(!shown.stdout.contains('\u{1b}') && !shown.stdout.contains('\u{202e}'));
}

#[test]
fn numbers_that_are_none_are_named_and_not_kept() {
    let project = python(
        r#"
import json
json.dump({"a": float("nan"), "b": float("inf"), "c": 1}, open("x.json", "w"))
open("y.json", "w").write('{"d": 1e999, "e": 2}')
open("x.csv", "w").write("t,v,w\n1,nan,1\n2,inf,2\n3,1e999,3\n")
open("x.txt", "w").write("f=nan\ng=-inf\nh=1e999\ni=5\n")
"#,
        "read = [{ path = \"x.json\", as = \"metrics\" }, { path = \"y.json\", as = \"metrics\" },\n\
         { path = \"x.csv\", as = \"series\", x = \"t\" }, { path = \"x.txt\", as = \"metrics\" }]\n",
    );
    project.perftrail(&["run", "--publish"]).exits(0);
    let record = project.record();
    assert!(numbers(&record).iter().all(|number| number.is_finite()));
    for name in ["a", "b", "d", "f", "g", "h"] {
        assert!(record["metrics"].get(name).is_none(), "{name}");
    }
    assert_eq!(record["metrics"]["i"]["value"], 5.0);
    let told = record["notices"].to_string();
    for path in ["x.json", "y.json", "x.csv", "x.txt"] {
        assert!(told.contains(path), "{path}: {told}");
    }
    let series = read_json(&project.bundle().join("series.json"));
    assert!(numbers(&series).iter().all(|number| number.is_finite()));
}

#[test]
fn what_read_does_not_find_is_named_and_fails_the_run_where_it_is_required() {
    let rule = |more: &str| {
        python(
            "open('x.json', 'w').write('{\"here\": 1}')\n",
            &format!("read = [{{ path = \"x.json\", as = \"metrics\", {more} }}]\n"),
        )
    };
    let project = rule("pick = { footprint = \"max.mb\" }");
    project.perftrail(&["run"]).exits(0);
    let record = project.record();
    let told = notice(&record, "read_nothing");
    assert!(told.contains("`x.json` (line 4)") && told.contains("footprint (max.mb)"), "{told}");
    let project = rule("pick = { footprint = \"max.mb\" }, required = true");
    project.perftrail(&["run"]).exits(3);
    assert_eq!(project.record()["run"]["status"], "failed");
    let project = python(
        "open('x.jsn', 'w').write('{}')\n",
        "read = [{ path = \"x.json\", as = \"metrics\", required = true }]\n",
    );
    let answer = project.perftrail(&["run"]).exits(3);
    assert!(answer.stdout.contains("no file matches"), "{}", answer.stdout);
    assert!(project.record()["metrics"]["cpu_time"]["value"].is_number());
}

#[test]
fn a_limit_of_file_sizes_costs_what_does_not_fit() {
    let project = Project::new();
    let limited = |blocks: &str| {
        let mut command = project.command(&[]);
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -f $0; exec \"$@\"", blocks]).arg(command.get_program());
        shell.args(["run", "--quiet", "--", "sh", "-c", "head -c 300000 /dev/zero > big"]);
        shell.current_dir(project.root()).env_clear().envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))),
        );
        command.args(["--version"]);
        Answer::of(&mut shell)
    };
    // Blocks of 512 bytes: the page does not fit, the numbers do.
    let answer = limited("80").exits(3);
    assert!(answer.stderr.contains("report.html: File too large"), "{}", answer.stderr);
    assert!(answer.stderr.contains("the numbers are in stats.json"), "{}", answer.stderr);
    // The limit is the job's too, and it hears of it as it would without perftrail.
    assert_eq!(project.record()["run"]["exit_code"], 153);
    fs::remove_dir_all(project.path("perftrail-out")).expect("bundles");
    // Not even the first record fits: nothing runs, and nothing is left half made.
    let answer = limited("2").exits(1);
    assert!(answer.stderr.contains("stats.json: File too large"), "{}", answer.stderr);
    assert_eq!(project.bundles(), Vec::<std::path::PathBuf>::new());
}

/// Runs a script in a name space of its own whose folder `disk` holds 8 MiB; `None` without the
/// rights for that.
fn on_small_disk(project: &Project, script: &str) -> Option<Answer> {
    let disk = project.path("disk");
    fs::create_dir_all(&disk).expect("a folder");
    let mount = "mount -t tmpfs -o size=8m none disk || exit 99; ";
    let template = project.command(&[]);
    let mut unshare = Command::new("unshare");
    unshare
        .args(["--mount", "sh", "-c", &format!("{mount}{script}")])
        .arg(template.get_program())
        .current_dir(project.root())
        .env("HOME", project.root());
    let answer = Answer::of(&mut unshare);
    let refused = answer.code == 99 || answer.stderr.contains("unshare failed");
    (!refused).then_some(answer)
}

#[test]
fn a_disk_that_the_job_fills_keeps_the_record() {
    let project = Project::new();
    let script = "cd disk && \"$0\" run --quiet --output out -- \
        sh -c 'dd if=/dev/zero of=fill bs=1M 2>/dev/null; sleep 4; echo end; exit 0'; \
        code=$?; cp -r out/local-* ../kept; exit $code";
    let Some(answer) = on_small_disk(&project, script) else { return };
    let answer = answer.exits(0);
    assert!(answer.stderr.contains("No space left on device"), "{}", answer.stderr);
    assert!(answer.stderr.contains("the run goes on"), "{}", answer.stderr);
    let record = read_json(&project.path("kept/stats.json"));
    assert_eq!(record["run"]["status"], "succeeded");
    assert!(record["run"]["digest"].is_string());
    assert!(record["metrics"]["duration"]["value"].as_f64().is_some_and(|value| value > 4.0));
}

#[test]
fn a_disk_that_stays_full_sends_the_bundle_elsewhere() {
    let project = Project::new();
    fs::create_dir(project.path("spare")).expect("a folder");
    let script = "cd disk && TMPDIR=$PWD/../spare \"$0\" run --quiet --output out -- \
        sh -c 'rm -f out/*/.reserve; dd if=/dev/zero of=fill bs=64k 2>/dev/null; exit 0'; \
        code=$?; cp out/local-*/stats.json ..; exit $code";
    let Some(answer) = on_small_disk(&project, script) else { return };
    let answer = answer.exits(0);
    assert!(answer.stderr.contains("its first folder took no more"), "{}", answer.stderr);
    let first = read_json(&project.path("stats.json"));
    assert_eq!(first["run"]["status"], "interrupted");
    let saved = only_saved(&project.path("spare"));
    let record = read_json(&saved.join("stats.json"));
    assert_eq!(record["run"]["status"], "succeeded");
    assert!(notice(&record, "bundle_moved").contains("No space left"));
    assert!(saved.join("report.html").is_file());
}

/// The only bundle that was saved in `place`.
fn only_saved(place: &Path) -> std::path::PathBuf {
    let inside = |folder: &Path| -> Vec<std::path::PathBuf> {
        let entries = fs::read_dir(folder).expect("a folder").flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    };
    let saved = inside(place);
    assert_eq!(saved.len(), 1, "{saved:?}");
    assert!(saved[0].as_os_str().as_bytes().windows(16).any(|part| part == b"perftrail-saved-"));
    inside(&saved[0]).remove(0)
}

#[test]
fn an_output_folder_that_turns_into_a_file_sends_the_bundle_elsewhere() {
    let project = Project::new();
    fs::create_dir(project.path("spare")).expect("a folder");
    let script = "rm -rf perftrail-out; echo x > perftrail-out; exit 7";
    let mut command = project.command(&["run", "--publish", "--", "sh", "-c", script]);
    let answer = Answer::of(command.env("TMPDIR", project.path("spare"))).exits(3);
    assert!(answer.stderr.contains("its first folder took no more"), "{}", answer.stderr);
    let saved = only_saved(&project.path("spare"));
    assert_eq!(read_json(&saved.join("stats.json"))["run"]["exit_code"], 7);
    assert!(answer.stdout.contains("published"), "{}", answer.stdout);
}
