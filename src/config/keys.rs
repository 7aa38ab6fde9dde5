//! The one table of all keys: what is accepted, what a message expects, what the documentation
//! and the JSON Schema say all come from here.

/// A table of the file.
#[derive(Debug)]
pub struct Table {
    /// As it is written in the file: `[results]`, `[[job]]`; empty for the top of the file.
    pub written: &'static str,
    /// What it is for, one sentence.
    pub about: &'static str,
    /// Its keys, in the order of the documentation.
    pub keys: &'static [Key],
}

/// A key of a table.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What its value may be.
    pub kind: Kind,
    /// The default as it would be written, or in words; empty for a key that must be there.
    pub default: &'static str,
    /// What it means, for people.
    pub meaning: &'static str,
}

/// What a value may be.
#[derive(Debug)]
pub enum Kind {
    /// Any text.
    Text,
    /// A name of a job, step or param.
    Name,
    /// `true` or `false`.
    Truth,
    /// A whole number between two bounds.
    Whole(u32, u32),
    /// A length of time.
    Duration,
    /// A number of bytes.
    Size,
    /// A share, an amount, or both.
    Threshold,
    /// A calendar date.
    Date,
    /// One of some words.
    Word(&'static [&'static str]),
    /// A command for the shell, or a list of strings that is executed directly.
    Command,
    /// A list of strings, or one string that is split at spaces.
    Words,
    /// A glob over paths.
    Glob,
    /// A regular expression.
    Regex,
    /// A text, truth value, whole or decimal number.
    Scalar,
    /// A list.
    List(&'static Kind),
    /// A table with keys of the user's choice.
    Map(&'static Kind),
    /// A table.
    Table(&'static Table),
    /// A list of tables.
    Tables(&'static Table),
    /// A table of tables with names of the user's choice.
    Named(&'static Table),
    /// The declared inputs: plain values or tables.
    Params(&'static Table),
}

impl Kind {
    /// What a message says is expected.
    pub fn expected(&self) -> String {
        match self {
            Self::Text | Self::Name => "a string".to_owned(),
            Self::Truth => "true or false".to_owned(),
            Self::Whole(min, u32::MAX) => format!("a whole number from {min}"),
            Self::Whole(min, max) => format!("a whole number from {min} to {max}"),
            Self::Duration => super::scalar::DURATION.to_owned(),
            Self::Size => super::scalar::SIZE.to_owned(),
            Self::Threshold => super::scalar::THRESHOLD.to_owned(),
            Self::Date => super::scalar::DATE.to_owned(),
            Self::Word(words) => format!(
                "one of {}",
                words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
            ),
            Self::Command => "a command: a string, or a list of strings".to_owned(),
            Self::Words => "a list of strings, or one string".to_owned(),
            Self::Glob => "a glob such as \"out/**/*.csv\"".to_owned(),
            Self::Regex => "a regular expression".to_owned(),
            Self::Scalar => "a string, a number, true or false".to_owned(),
            Self::List(of) => format!("a list, each item {}", of.expected()),
            Self::Map(of) => format!("a table, each value {}", of.expected()),
            Self::Table(_) | Self::Named(_) => "a table".to_owned(),
            Self::Tables(_) => "a list of tables".to_owned(),
            Self::Params(_) => "a table of values or tables".to_owned(),
        }
    }
}

const fn key(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Key {
    Key { name, kind, default, meaning }
}

/// The events that can start a run, as the configuration names them.
pub const EVENTS: &[&str] = &[
    "local",
    "schedule",
    "workflow_dispatch",
    "push",
    "pull_request",
    "comment",
    "repository_dispatch",
    "workflow_call",
    "workflow_run",
    "merge_group",
    "release",
];
/// The profilers that the file may name.
pub const PROFILERS: &[&str] =
    &["none", "self", "pyinstrument", "cprofile", "scalene", "py-spy", "memray", "perf"];
/// The types of params.
pub const PARAM_TYPES: &[&str] = &["int", "float", "bool", "string"];
/// What `read` can make of a file.
pub const READ_AS: &[&str] = &["metrics", "params", "series", "phases", "extra"];
const BETTER: &[&str] = &["lower", "higher", "neither"];

const GLOBS: Kind = Kind::List(&Kind::Glob);
const TEXTS: Kind = Kind::List(&Kind::Text);
const TEXT_MAP: Kind = Kind::Map(&Kind::Text);

/// The top of the file.
pub static TOP: Table = Table {
    written: "",
    about: "Everything is optional.",
    keys: &[
        key(
            "results",
            Kind::Table(&RESULTS),
            "",
            "Where runs are published, and how much of them.",
        ),
        key("history", Kind::Table(&HISTORY), "", "Which runs make up the history."),
        key("triggers", Kind::Table(&TRIGGERS), "", "When nothing needs to run."),
        key("report", Kind::Table(&REPORT), "", "How loudly results are told."),
        key("job", Kind::Tables(&JOB), "", "What can be profiled."),
        key("metric", Kind::Named(&METRIC), "", "Which metrics are judged, and how."),
        key("function", Kind::Tables(&FUNCTION), "", "Rules for functions of a profile."),
    ],
};

/// `[results]`
pub static RESULTS: Table = Table {
    written: "[results]",
    about: "Where runs are published, and how much of them.",
    keys: &[
        key(
            "repository",
            Kind::Text,
            "none given",
            "`owner/name`, a URL or a path; `\"none\"` keeps runs as artifacts only.",
        ),
        key("branch", Kind::Text, "\"results\"", "The branch that holds the results."),
        key(
            "layout",
            Kind::Text,
            "\"{commit:2}/{commit}/{date}/{run}\"",
            "The place of a run under `runs/`. Knows `{commit}`, `{commit:N}`, `{date}`, `{yyyy}`, `{mm}`, `{dd}`, `{hhmm}`, `{event}`, `{run_number}`, `{job}`, `{tag}` and `{run}`, which it must hold.",
        ),
        key(
            "max_file",
            Kind::Size,
            "\"1 MiB\"",
            "Larger files, after compression, are left out and listed with size and reason.",
        ),
        key("max_run", Kind::Size, "\"10 MiB\"", "All files of a run together."),
        key(
            "log",
            Kind::Word(&["none", "tail", "full"]),
            "\"full\"",
            "How much of the job's output is published.",
        ),
        key(
            "raw",
            Kind::Word(&["never", "bundle", "publish"]),
            "\"bundle\"",
            "Raw files of the profiler: dropped, kept in the bundle only, or published.",
        ),
        key(
            "dispatch",
            Kind::Text,
            "none",
            "The `repository_dispatch` event that is sent to the results repository after a push.",
        ),
        key(
            "allow_public",
            Kind::Truth,
            "false",
            "Whether a private source may publish to a public repository.",
        ),
    ],
};

/// `[history]`
pub static HISTORY: Table = Table {
    written: "[history]",
    about: "Which runs make up the history. A clean tree, the default branch and default params are needed too.",
    keys: &[
        key(
            "events",
            Kind::List(&Kind::Word(EVENTS)),
            "[\"schedule\", \"push\", \"workflow_dispatch\", \"local\"]",
            "Runs started by these enter the history. Comments and pull requests never do.",
        ),
        key(
            "confirm_within",
            Kind::Duration,
            "\"30m\"",
            "Jobs shorter than this are measured again by themselves when a change is suspected.",
        ),
    ],
};

/// `[triggers]`
pub static TRIGGERS: Table = Table {
    written: "[triggers]",
    about: "When nothing needs to run.",
    keys: &[
        key(
            "skip_when_only",
            GLOBS,
            "[]",
            "Nothing runs when a pull request or push changes only such files.",
        ),
        key(
            "skip_unchanged",
            Kind::Truth,
            "false",
            "A schedule runs nothing when the results hold a successful scheduled run of every job at this commit.",
        ),
        key("drafts", Kind::Truth, "false", "Whether draft pull requests are measured."),
        key("branches", GLOBS, "every branch", "Pushes to other branches are not measured."),
        key("bases", GLOBS, "every branch", "Pull requests into other branches are not measured."),
        key(
            "labels",
            TEXTS,
            "no label needed",
            "Pull requests without one of these labels are not measured.",
        ),
    ],
};

/// `[report]`
pub static REPORT: Table = Table {
    written: "[report]",
    about: "How loudly results are told.",
    keys: &[
        key("quiet", Kind::Truth, "false", "Comment only when something changed."),
        key("check_run", Kind::Truth, "false", "Also make a check run."),
        key("open_issue", Kind::Truth, "false", "Keep one issue open while there is a regression."),
    ],
};

/// `[[job]]`
pub static JOB: Table = Table {
    written: "[[job]]",
    about: "A named thing to profile.",
    keys: &[
        key("name", Kind::Name, "", "The job's name, unique."),
        key(
            "run",
            Kind::Command,
            "",
            "The command to measure. A string is run by `bash -eo pipefail -c`, a list of strings is executed directly. Either this or `step`.",
        ),
        key(
            "step",
            Kind::Tables(&STEP),
            "",
            "Several commands instead of `run`, each its own process tree, in order.",
        ),
        key(
            "machine",
            Kind::Text,
            "found by itself",
            "Names the machine group: only runs of one group are compared.",
        ),
        key(
            "workload",
            Kind::Whole(1, u32::MAX),
            "1",
            "Raise it when the job itself changes: it cuts the history.",
        ),
        key(
            "on",
            Kind::List(&Kind::Word(EVENTS)),
            "every event",
            "The events that start this job.",
        ),
        key("setup", Kind::Command, "none", "Runs once before, not measured."),
        key("prepare", Kind::Command, "none", "Runs before each repetition, not measured."),
        key("cwd", Kind::Text, "\".\"", "The folder the commands run in, from the project's root."),
        key("env", TEXT_MAP, "{}", "Variables for the commands."),
        key(
            "env_pass",
            TEXTS,
            "[]",
            "Lets variables through that are held back for their names; never for pull requests and comments.",
        ),
        key(
            "profiler",
            Kind::Word(PROFILERS),
            "\"none\"",
            "The profiler. `\"self\"`: the job profiles itself.",
        ),
        key("profiler_args", Kind::Words, "[]", "Arguments for the profiler."),
        key("repetitions", Kind::Whole(1, 10_000), "1", "How often the job is measured."),
        key("warmups", Kind::Whole(0, 10_000), "0", "How often it runs before, not counted."),
        key("timeout", Kind::Duration, "none", "The longest time for one repetition."),
        key("total_timeout", Kind::Duration, "none", "The longest time for the whole job."),
        key(
            "collect",
            GLOBS,
            "[]",
            "Outputs: the sizes of new or changed files are metrics, their content is kept within the budget.",
        ),
        key(
            "keep",
            Kind::Tables(&KEEP),
            "[]",
            "Files that are kept verbatim, for trusted events only.",
        ),
        key("read", Kind::Tables(&READ), "[]", "Files that the job writes and perftrail reads."),
        key(
            "count",
            Kind::Map(&Kind::Regex),
            "{}",
            "Counters: how many lines of stdout, stderr and collected logs match.",
        ),
        key(
            "tag",
            Kind::Text,
            "none",
            "A label made from params, such as `\"{population}__{years}\"`.",
        ),
        key(
            "params",
            Kind::Params(&PARAM),
            "{}",
            "The declared inputs. A plain value is a typed default.",
        ),
    ],
};

/// `[[job.step]]`
pub static STEP: Table = Table {
    written: "[[job.step]]",
    about: "One command of a job.",
    keys: &[
        key("name", Kind::Name, "", "The step's name, unique in its job."),
        key("run", Kind::Command, "", "The command."),
    ],
};

/// An entry of `keep`
pub static KEEP: Table = Table {
    written: "[[job.keep]]",
    about: "Files that are kept verbatim.",
    keys: &[
        key("path", Kind::Glob, "", "Which files."),
        key(
            "html",
            Kind::Truth,
            "false",
            "Whether HTML and SVG files among them are published as such.",
        ),
    ],
};

/// An entry of `read`
pub static READ: Table = Table {
    written: "[[job.read]]",
    about: "Files that the job writes and perftrail reads: JSON, JSON lines, CSV or `key=value` lines, told apart by their content.",
    keys: &[
        key("path", Kind::Glob, "", "Which files."),
        key("as", Kind::Word(READ_AS), "", "What their content is."),
        key("x", Kind::Text, "none", "The column of a series that holds the x values."),
        key(
            "pick",
            TEXT_MAP,
            "everything",
            "Name = path in the file, such as `\"a.b[0].c\"`: only these are read.",
        ),
        key("unit", TEXT_MAP, "from the name", "Name = unit, such as `\"MiB\"` or `\"s\"`."),
        key("rename", TEXT_MAP, "{}", "Name in the file = name in the record."),
        key("required", Kind::Truth, "false", "The run fails when nothing is read."),
    ],
};

/// A param written as a table
pub static PARAM: Table = Table {
    written: "[job.params.NAME]",
    about: "A declared input, written as a table.",
    keys: &[
        key("default", Kind::Scalar, "", "The value when nothing else is asked for."),
        key("type", Kind::Word(PARAM_TYPES), "the default's", "What values may be."),
        key(
            "choices",
            Kind::List(&Kind::Scalar),
            "any value",
            "The only values that are accepted.",
        ),
        key(
            "flag",
            Kind::Text,
            "none",
            "The command-line flag: a true value becomes the flag, a false one nothing, any other the flag and the value.",
        ),
        key(
            "identity",
            Kind::Truth,
            "true",
            "Whether runs with other values belong to another history.",
        ),
    ],
};

/// `[metric.NAME]`
pub static METRIC: Table = Table {
    written: "[metric.NAME]",
    about: "A judged metric. Without any such table, `cpu_time` is judged.",
    keys: &[
        key("better", Kind::Word(BETTER), "the metric's own", "Which way the metric gets better."),
        key("min_effect", Kind::Threshold, "\"2%\"", "Smaller changes are never told."),
        key("warn", Kind::Threshold, "none", "Worse by more than this warns."),
        key(
            "fail",
            Kind::Threshold,
            "none",
            "Worse by more than this fails, where failing is asked for.",
        ),
        key("ignore", Kind::Table(&IGNORE), "none", "Says nothing about it for a while."),
    ],
};

/// `ignore`
pub static IGNORE: Table = Table {
    written: "ignore",
    about: "A change that people know about.",
    keys: &[
        key("because", Kind::Text, "", "The reason."),
        key("until", Kind::Date, "for ever", "The first day on which it counts again."),
    ],
};

/// `[[function]]`
pub static FUNCTION: Table = Table {
    written: "[[function]]",
    about: "A rule for functions of a profile.",
    keys: &[
        key("match", Kind::Text, "every function", "`file glob:function glob`."),
        key("min_time", Kind::Duration, "none", "Functions below this are not judged."),
        key("warn", Kind::Threshold, "none", "Worse by more than this warns."),
        key("ignore", Kind::Table(&IGNORE), "none", "Says nothing about them for a while."),
        key("show", GLOBS, "every file", "Files whose functions `compare` shows."),
        key("hide", GLOBS, "[]", "Files whose functions `compare` leaves out."),
    ],
};

/// Every table, in the order of the documentation.
pub static ALL: &[&Table] = &[
    &RESULTS, &HISTORY, &TRIGGERS, &REPORT, &JOB, &STEP, &PARAM, &KEEP, &READ, &METRIC, &FUNCTION,
    &IGNORE,
];

impl Table {
    /// The key of that name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The table for a message.
    pub fn shown(&self) -> &'static str {
        if self.written.is_empty() { "the top of the file" } else { self.written }
    }
}
