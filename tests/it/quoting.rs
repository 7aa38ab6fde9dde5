//! Values of params reach a command as they are, whatever they hold: asked of real shells.

use std::fs;
use std::path::Path;
use std::process::Command as Process;

use perftrail::config::quote::quote;
use perftrail::config::{self, Overrides, ShellKind};
use perftrail::model::names::CommitSha;
use perftrail::plan::{self, Facts, Surroundings};
use proptest::prelude::*;

/// Values that do harm where they are not quoted well. The marker file tells of it.
const HOSTILE: &[&str] = &[
    "plain",
    "",
    " ",
    "a b  c",
    "'",
    "\"",
    "\\",
    "\\'",
    "'; touch HURT; '",
    "\"; touch HURT; \"",
    "$(touch HURT)",
    "`touch HURT`",
    "\n touch HURT\n",
    "'\"$(touch HURT)\"'",
    "\"'$(touch HURT)'\"",
    "'\n$(touch HURT)\n'",
    "\\$(touch HURT)",
    "a[$(touch HURT)]",
    "*",
    "~",
    "$HOME",
    "-n",
    "--",
    "#",
    "!!",
    "{a,b}",
    "{value}",
    "{{value}}",
    "if",
    "x=1",
    "&& touch HURT",
    "| touch HURT",
    "> HURT",
    "\u{1}\u{7f}é\u{202e}",
    "EOF\ntouch HURT\n",
];

/// Pieces that shell commands are made of, with the placeholder between them. Many are accepted
/// by no shell; what counts is that none of them ever runs the value.
const PIECES: &[&str] = &[
    "{value}",
    "{value}",
    "{value}",
    "echo ",
    " ",
    "'",
    "\"",
    "\\",
    "$(",
    ")",
    "(",
    "$((",
    "))",
    "${",
    "}",
    "${x:-",
    "`",
    "$'",
    "$\"",
    "#",
    " # ",
    "\n",
    ";",
    "<<E\n",
    "\nE\n",
    "<<<",
    "$$",
    "$",
    "case a in a) ",
    ";; esac",
    "{{",
    "}}",
    "[[ ",
    " ]]",
    "$[",
    "]",
    "x=",
    "&&",
    "|",
    "<(",
    "a",
    "=(",
];

fn filled(run: &str, value: &str) -> Option<config::Command> {
    let text = format!(
        "[[job]]\nname = 'a'\nrun = {}\n[job.params]\nvalue = ''\n",
        serde_json::Value::from(run)
    );
    let config = config::parse("f.toml", &text).ok()?;
    let overrides =
        Overrides { params: vec![("value".to_owned(), value.to_owned())], ..Overrides::default() };
    let facts = Facts {
        event: "local".to_owned(),
        commit: CommitSha::parse(&"a".repeat(40)),
        run_number: None,
        variant: None,
        planned: "2026-01-01T00:00:00Z".parse().expect("a time"),
        pull_request: None,
        measured_by: None,
        confirm: None,
    };
    let plan = plan::make(&config, &overrides, &facts).expect("a plan");
    let around = Surroundings {
        commit: None,
        event: "local",
        run: "local-000000-0000-a",
        run_number: None,
        output: Some("out"),
    };
    let mut steps = plan.runs[0].steps(&around).expect("a command");
    Some(steps.remove(0).run)
}

/// Runs a command in a folder of its own and gives back what it printed.
fn printed(command: &config::Command, shell: ShellKind, dir: &Path) -> Vec<u8> {
    let argv = command.argv(shell);
    let output = Process::new(&argv[0])
        .args(&argv[1..])
        .current_dir(dir)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("a shell");
    output.stdout
}

#[test]
fn every_value_arrives_as_it_is() {
    let dir = tempfile::tempdir().expect("a folder");
    for (template, before, after) in [
        ("printf '<%s>' {value}", "<", ">"),
        ("printf '<%s>' '{value}'", "<", ">"),
        ("printf '<%s>' \"{value}\"", "<", ">"),
        ("printf '<%s>' \"a{value}b\"", "<a", "b>"),
        ("printf '<%s>' 'a{value}b'", "<a", "b>"),
        ("printf '<%s>' a{value}b", "<a", "b>"),
        ("# it's {value}\nprintf '<%s>' {value}", "<", ">"),
        ("printf '<%s>' \"$(printf '%s.' {value})\"", "<", ".>"),
        ("printf '<%s>' \"$(printf '%s.' \"{value}\")\"", "<", ".>"),
        ("x={value}; printf '<%s>' \"$x\"", "<", ">"),
        ("(printf '<%s>' {value}) | cat", "<", ">"),
        ("printf '<%s>' \"\\$(\"{value}\")\"", "<$(", ")>"),
        ("printf '<%s>' \"\\$({value})\"", "<$(", ")>"),
    ] {
        for value in HOSTILE {
            let command = filled(template, value).expect("a template that can be filled");
            for shell in [ShellKind::Bash, ShellKind::Sh] {
                let printed = printed(&command, shell, dir.path());
                let expected = format!("{before}{value}{after}");
                assert_eq!(String::from_utf8_lossy(&printed), expected, "{template} {value:?}");
            }
        }
    }
    assert_eq!(fs::read_dir(dir.path()).expect("the folder").count(), 0, "a value was run");
}

#[test]
fn lists_need_no_shell() {
    let dir = tempfile::tempdir().expect("a folder");
    for value in HOSTILE {
        let argv = ["printf".to_owned(), "<%s>".to_owned(), (*value).to_owned()].to_vec();
        let printed = printed(&config::Command::Argv(argv), ShellKind::Bash, dir.path());
        assert_eq!(String::from_utf8_lossy(&printed), format!("<{value}>"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_comes_back(value in "[^\0]{0,40}") {
        let dir = tempfile::tempdir().expect("a folder");
        let command = config::Command::Shell(format!("printf '%s' {}", quote(&value)));
        for shell in [ShellKind::Bash, ShellKind::Sh] {
            let printed = printed(&command, shell, dir.path());
            prop_assert_eq!(String::from_utf8_lossy(&printed), value.as_str());
        }
    }
}

fn cases() -> u32 {
    std::env::var("PERFTRAIL_TEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// Any command that is accepted, however odd, never runs what a value holds.
    #[test]
    fn no_accepted_command_runs_a_value(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 1..9),
        value in prop::sample::select(HOSTILE),
    ) {
        let template = pieces.concat();
        if let Some(command) = filled(&template, value) {
            let dir = tempfile::tempdir().expect("a folder");
            for shell in [ShellKind::Bash, ShellKind::Sh] {
                printed(&command, shell, dir.path());
                let hurt = dir.path().join("HURT").exists();
                prop_assert!(!hurt, "{:?} with {:?}: {:?}", template, value, command);
            }
        }
    }
}
