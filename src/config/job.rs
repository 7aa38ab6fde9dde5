//! `[[job]]`: what can be profiled.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::command::Command;
use super::names::{Named, unique};
use super::params::{self, ParamDecl};
use super::patterns;
use super::placeholders;
use super::problem::What;
use super::read_rule::{KeepRule, read_rule};
use super::scalar;
use super::section::{At, Section};
use super::sections::event;
use crate::model::names::is_metric_name;
use crate::record::reading::ReadRule;

/// Words that a job cannot be named: what a comment on a pull request means by them.
pub const RESERVED: &[&str] = &["help", "accept", "against"];

/// A named thing to profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// Names the machine group; `None`: found from the machine.
    pub machine: Option<String>,
    /// Raised when the job itself changes.
    pub workload: u32,
    /// The events that start it; `None`: every event.
    pub on: Option<Vec<String>>,
    /// Runs once before, not measured.
    pub setup: Option<Command>,
    /// Runs before each repetition, not measured.
    pub prepare: Option<Command>,
    /// The commands, in order; one named as the job for a job with `run`.
    pub steps: Vec<Step>,
    /// The folder they run in, from the project's root.
    pub cwd: String,
    /// Variables for the commands.
    pub env: BTreeMap<String, String>,
    /// Held-back variables that are let through.
    pub env_pass: Vec<String>,
    /// The profiler.
    pub profiler: Profiler,
    /// Arguments for the profiler.
    pub profiler_args: Vec<String>,
    /// How often the job is measured.
    pub repetitions: u32,
    /// How often it runs before, not counted.
    pub warmups: u32,
    /// The longest time for one repetition; `None`: no limit.
    pub timeout: Option<Duration>,
    /// The longest time for the whole job; `None`: no limit.
    pub total_timeout: Option<Duration>,
    /// Globs of outputs.
    pub collect: Vec<String>,
    /// Files kept verbatim.
    pub keep: Vec<KeepRule>,
    /// Files the job writes and perftrail reads.
    pub read: Vec<ReadRule>,
    /// Counters: name and regular expression, in the order of the file.
    pub count: Vec<CountRule>,
    /// A label made from params.
    pub tag: Option<String>,
    /// The declared inputs, in the order of the file.
    pub params: Vec<ParamDecl>,
}

/// One command of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// The command, placeholders not yet filled.
    pub run: Command,
}

/// A counter of lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountRule {
    /// The metric's name.
    pub name: String,
    /// The regular expression; it compiles.
    pub pattern: String,
}

/// The profiler of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profiler {
    /// None: the job runs as it is.
    #[default]
    None,
    /// The job profiles itself.
    #[serde(rename = "self")]
    SelfMade,
    /// pyinstrument
    Pyinstrument,
    /// cProfile
    Cprofile,
    /// Scalene
    Scalene,
    /// py-spy
    PySpy,
    /// memray
    Memray,
    /// perf
    Perf,
}

impl Profiler {
    /// The word in the file and in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::SelfMade => "self",
            Self::Pyinstrument => "pyinstrument",
            Self::Cprofile => "cprofile",
            Self::Scalene => "scalene",
            Self::PySpy => "py-spy",
            Self::Memray => "memray",
            Self::Perf => "perf",
        }
    }

    /// The profiler of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profiler| profiler.as_str() == word)
    }

    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::None,
        Self::SelfMade,
        Self::Pyinstrument,
        Self::Cprofile,
        Self::Scalene,
        Self::PySpy,
        Self::Memray,
        Self::Perf,
    ];
}

impl Job {
    /// A job with that name and command, everything else by default.
    pub fn bare(name: &str, run: Command) -> Self {
        Self {
            name: name.to_owned(),
            machine: None,
            workload: 1,
            on: None,
            setup: None,
            prepare: None,
            steps: vec![Step { name: name.to_owned(), run }],
            cwd: ".".to_owned(),
            env: BTreeMap::new(),
            env_pass: Vec::new(),
            profiler: Profiler::None,
            profiler_args: Vec::new(),
            repetitions: 1,
            warmups: 0,
            timeout: None,
            total_timeout: None,
            collect: Vec::new(),
            keep: Vec::new(),
            read: Vec::new(),
            count: Vec::new(),
            tag: None,
            params: Vec::new(),
        }
    }

    /// Whether that event starts it.
    pub fn is_started_by(&self, event: &str) -> bool {
        let event = self::event(event);
        self.on.as_ref().is_none_or(|events| events.iter().any(|one| one == event))
    }
}

/// All jobs, in the order of the file.
pub(crate) fn read_all(top: &Section<'_>) -> Vec<Job> {
    let sections = top.tables("job");
    let names: Vec<_> = sections.iter().map(|section| section.text("name")).collect();
    let named: Vec<_> = names
        .iter()
        .flatten()
        .map(|name| Named { name: &name.value, span: name.span.clone() })
        .collect();
    unique(&named, "job", RESERVED, top.sink);
    sections.iter().zip(&names).filter_map(|(section, name)| job(section, name.as_ref())).collect()
}

fn job(section: &Section<'_>, name: Option<&At<String>>) -> Option<Job> {
    if !section.has("name") {
        section.missing("name", "runs are stored under it");
    }
    // A job without a fit name is told already; the rest of it is still checked.
    let name = name.map_or("", |name| name.value.as_str());
    let params = params::read_all(section);
    let steps = steps(section, name, &params);
    let default = Job::bare(name, Command::Argv(Vec::new()));
    let word = section.word("profiler").and_then(Profiler::from_word);
    let on = section
        .words("on")
        .map(|events| events.into_iter().map(|event| event.value.to_owned()).collect::<Vec<_>>());
    Some(Job {
        machine: machine(section),
        workload: section.whole("workload").unwrap_or(default.workload),
        on,
        setup: placeholders::command(section, "setup", &params),
        prepare: placeholders::command(section, "prepare", &params),
        cwd: cwd(section).unwrap_or(default.cwd),
        env: env(section),
        env_pass: plain(section.texts("env_pass")),
        profiler: word.unwrap_or_default(),
        profiler_args: section.split_words("profiler_args").unwrap_or_default(),
        repetitions: section.whole("repetitions").unwrap_or(default.repetitions),
        warmups: section.whole("warmups").unwrap_or(default.warmups),
        timeout: section.parsed("timeout", scalar::duration),
        total_timeout: section.parsed("total_timeout", scalar::duration),
        collect: patterns::globs(section, "collect"),
        keep: section.tables("keep").iter().filter_map(KeepRule::read).collect(),
        read: section.tables("read").iter().filter_map(read_rule).collect(),
        count: counters(section),
        tag: section.text("tag").map(|tag| tag.value),
        params,
        name: default.name,
        steps: steps?,
    })
}

fn steps(section: &Section<'_>, job: &str, params: &[ParamDecl]) -> Option<Vec<Step>> {
    match (section.has("run"), section.has("step")) {
        (true, true) => {
            let what = What::Together {
                first: "run".to_owned(),
                second: "step".to_owned(),
                why: "a job has one command or several steps, not both",
            };
            section.sink.add(&section.span_of("run"), what);
            None
        }
        (false, false) => {
            section.missing("run", "a job needs a command: `run`, or one [[job.step]] or more");
            None
        }
        (true, false) => {
            let run = placeholders::command(section, "run", params)?;
            Some(vec![Step { name: job.to_owned(), run }])
        }
        (false, true) => {
            let sections = section.tables("step");
            if sections.is_empty() {
                section.missing("run", "the list of steps is empty");
            }
            let names: Vec<_> = sections.iter().map(|step| step.text("name")).collect();
            let named: Vec<_> = names
                .iter()
                .flatten()
                .map(|name| Named { name: &name.value, span: name.span.clone() })
                .collect();
            unique(&named, "step", &[], section.sink);
            let steps = sections.iter().zip(names).filter_map(|(step, name)| {
                for key in ["name", "run"] {
                    if !step.has(key) {
                        step.missing(key, "each step has a name and a command");
                    }
                }
                let run = placeholders::command(step, "run", params);
                Some(Step { name: name?.value, run: run? })
            });
            Some(steps.collect())
        }
    }
}

fn machine(section: &Section<'_>) -> Option<String> {
    let name = section.text("machine")?;
    if !is_metric_name(&name.value) {
        let expected = "a name of letters, digits, `.`, `_` and `-`, at most 80 characters";
        section.bad_value(&name, &name.value, expected);
    }
    Some(name.value)
}

fn cwd(section: &Section<'_>) -> Option<String> {
    let cwd = section.text("cwd")?;
    if !patterns::stays_inside(&cwd.value) {
        section.bad_value(&cwd, &cwd.value, "a folder inside the project, such as \"src\"");
    }
    Some(cwd.value)
}

fn env(section: &Section<'_>) -> BTreeMap<String, String> {
    let entries = section.text_map("env").unwrap_or_default();
    for (name, value) in &entries {
        if name.value.is_empty() || name.value.contains(['=', '\0']) {
            section.bad_value(name, &name.value, "names of variables, without `=`");
        }
        if value.value.contains('\0') {
            section.bad_value(value, &value.value, "a text without the character NUL");
        }
    }
    entries.into_iter().map(|(name, value)| (name.value, value.value)).collect()
}

fn counters(section: &Section<'_>) -> Vec<CountRule> {
    let entries = section.text_map("count").unwrap_or_default();
    for (name, pattern) in &entries {
        if !is_metric_name(&name.value) {
            section.bad_value(name, &name.value, super::METRIC_NAME);
        }
        patterns::check_regex(section, pattern);
    }
    entries
        .into_iter()
        .map(|(name, pattern)| CountRule { name: name.value, pattern: pattern.value })
        .collect()
}

fn plain(texts: Option<Vec<At<String>>>) -> Vec<String> {
    texts.unwrap_or_default().into_iter().map(|text| text.value).collect()
}
