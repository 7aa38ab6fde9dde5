//! The page of all keys, `docs/configuration.md`, made from the table of keys.

use std::fmt::Write as _;

use super::keys::{self, Kind, Table};

const INTRO: &str = "# Configuration

`perftrail.toml` at the project's root holds the configuration. All of it is optional.
This page is made from the program's own table of keys; `perftrail schema config` prints the same as a JSON Schema.

A flag counts more than the file, and the file more than the default.
";

const AFTER: &str = "
## Commands and placeholders

A string is run by `bash -eo pipefail -c`, or by `sh -e -c` where there is no bash: it stops at the first command that fails.
A list of strings is executed directly, without a shell.

`{name}` of a declared param, and `{commit}`, `{event}`, `{run}`, `{run_number}` and `{output}`, are replaced by their values.
Away from a service that counts its runs, `{run_number}` is empty; without a commit, `{commit}` is `uncommitted`.
`{output}` is an empty folder outside the work tree, made for each repetition and collected by default.
`{{` and `}}` are braces. Any other `{` is left alone, and so is the shell's own `${name}`.

In a string every value is quoted for the shell, so that it arrives as it is, whatever it holds. A placeholder may stand between words, inside single or double quotes, and inside `$( )`.
Where the shell has rules of its own (here-documents, backticks, `$'…'`, arithmetic, inside `${…}`) a string param is refused; numbers and truth values are not.
In a list each value is put in unchanged.

A param with a `flag` becomes that flag: `true` gives the flag, `false` nothing, any other value the flag and the value.

## Variables

Commands get the variables that perftrail was started with, but for those that carry secrets or steer the runner: `INPUT_*`, `ACTIONS_*`, `STATE_*`, `GITHUB_TOKEN`, `GITHUB_ENV`, `GITHUB_OUTPUT`, `GITHUB_PATH`, `GITHUB_STATE`, `GITHUB_STEP_SUMMARY`, perftrail's own credentials, and all whose names end in `TOKEN`, `SECRET`, `PASSWORD` or `KEY`.
The record lists what was held back. `env_pass` lets single ones through, but never for pull requests and comments.

## Files that a job writes

`read` knows JSON, JSON lines, CSV with a header row, and lines of `key = value` or `key: value`. It tells them apart by their content, not by their names.

| `as` | JSON | JSON lines | CSV | `key = value` |
|---|---|---|---|---|
| `metrics` | every number; those of inner tables get names with dots | the last value of each name | the last row | every number |
| `params`, `extra` | every text, number and truth value | the last value of each name | the last row | every line |
| `series` | lists of numbers, or a list of tables | a point for each line | a point for each row | – |
| `phases` | seconds by name of phase | the last value of each name | the last row | every number |

`pick` takes single values: `pick = { footprint = \"files[0].max_mb\" }`. A unit comes from `unit`, else from the end of the name (`_s`, `_sec`, `_ms`, `_minutes`, `_MB`, `_mb`, `_MiB`, `_bytes`), else there is none.
Values are kept in seconds and bytes: 1 MB is 1,000,000 bytes, 1 MiB is 1,048,576.
A name that perftrail measures itself, such as `cpu_time`, is kept as `job.cpu_time`.
";

/// The whole page.
pub fn markdown() -> String {
    let mut page = INTRO.to_owned();
    for table in keys::ALL {
        section(&mut page, table);
    }
    page.push_str(AFTER);
    page
}

fn section(page: &mut String, table: &Table) {
    let _ = write!(page, "\n## `{}`\n\n{}\n\n", table.written, table.about);
    page.push_str("| Key | Type | Default | Meaning |\n|---|---|---|---|\n");
    for key in table.keys {
        let default = match key.default {
            "" => "needed".to_owned(),
            text if is_written(text) => format!("`{text}`"),
            words => words.to_owned(),
        };
        // A job's command may be given by either of two keys.
        let default = if matches!(key.name, "run" | "step") && table.written == "[[job]]" {
            "one of `run` and `step` is needed".to_owned()
        } else {
            default
        };
        let kind = cell(&words(&key.kind));
        let _ = writeln!(
            page,
            "| `{}` | {kind} | {} | {} |",
            key.name,
            cell(&default),
            cell(key.meaning)
        );
    }
}

/// Whether a default is TOML, not words.
pub(crate) fn is_written(text: &str) -> bool {
    text.starts_with(['"', '[', '{'])
        || text.parse::<u32>().is_ok()
        || matches!(text, "true" | "false")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn words(kind: &Kind) -> String {
    match kind {
        Kind::Text => "string".to_owned(),
        Kind::Name => "name".to_owned(),
        Kind::Truth => "true or false".to_owned(),
        Kind::Whole(min, u32::MAX) => format!("whole number from {min}"),
        Kind::Whole(min, max) => format!("whole number, {min} to {max}"),
        Kind::Duration => "duration, `\"1h 30m\"`".to_owned(),
        Kind::Size => "size, `\"1 MiB\"`".to_owned(),
        Kind::Threshold => "`\"2%\"`, `\"5 s\"`, or a list of both".to_owned(),
        Kind::Date => "date, `\"2027-03-01\"`".to_owned(),
        Kind::Word(words) => {
            words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ")
        }
        Kind::Command => "string, or list of strings".to_owned(),
        Kind::Words => "list of strings, or one string split at spaces".to_owned(),
        Kind::Glob => "glob".to_owned(),
        Kind::Regex => "regular expression".to_owned(),
        Kind::Scalar => "string, number, true or false".to_owned(),
        Kind::List(of) => format!("list of: {}", words(of)),
        Kind::Map(of) => format!("table, name = {}", words(of)),
        Kind::Table(table) | Kind::Named(table) | Kind::Tables(table) => {
            format!("see `{}`", table.written)
        }
        Kind::Params(table) => format!("values, or tables: see `{}`", table.written),
    }
}
