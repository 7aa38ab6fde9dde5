//! `[results]`, `[history]`, `[triggers]` and `[report]`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::layout::Layout;
use super::patterns;
use super::problem::What;
use super::scalar;
use super::section::Section;

/// Where runs are published, and how much of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Results {
    /// The results repository; `None` when the file names none.
    pub repository: Option<Target>,
    /// The branch that holds the results.
    pub branch: String,
    /// The place of a run.
    pub layout: Layout,
    /// Larger files, after compression, are left out; in bytes.
    pub max_file: u64,
    /// All files of a run together; in bytes.
    pub max_run: u64,
    /// How much of the job's output is published.
    pub log: LogPolicy,
    /// What becomes of raw files of the profiler.
    pub raw: RawPolicy,
    /// The event that is sent to the results repository after a push.
    pub dispatch: Option<String>,
    /// Whether a private source may publish to a public repository.
    pub allow_public: bool,
}

/// Where runs are published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Nowhere, on purpose.
    Nowhere,
    /// `owner/name`, a URL or a path.
    At(String),
}

/// How much of the job's output is published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogPolicy {
    /// Nothing.
    None,
    /// Its end.
    Tail,
    /// Head and tail within the budget.
    #[default]
    Full,
}

/// What becomes of raw files of the profiler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RawPolicy {
    /// They are dropped.
    Never,
    /// They stay in the bundle and are not published.
    #[default]
    Bundle,
    /// They are published within the budget.
    Publish,
}

/// Which runs make up the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// Runs started by these enter it.
    pub events: Vec<String>,
    /// Jobs shorter than this are measured again when a change is suspected.
    pub confirm_within: Duration,
}

/// When nothing needs to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Triggers {
    /// Nothing runs when only such files changed.
    pub skip_when_only: Vec<String>,
    /// Whether a schedule runs nothing for a commit whose jobs a schedule has measured already.
    pub skip_unchanged: bool,
    /// Whether draft pull requests are measured.
    pub drafts: bool,
    /// Branches whose pushes are measured; empty: all.
    pub branches: Vec<String>,
    /// Branches into which pull requests are measured; empty: all.
    pub bases: Vec<String>,
    /// A pull request needs one of these; empty: none needed.
    pub labels: Vec<String>,
}

/// How loudly results are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportOptions {
    /// Comment only when something changed.
    pub quiet: bool,
    /// Also make a check run.
    pub check_run: bool,
    /// Keep one issue open while there is a regression.
    pub open_issue: bool,
}

impl Default for Results {
    fn default() -> Self {
        Self {
            repository: None,
            branch: "results".to_owned(),
            layout: Layout::default(),
            max_file: 1 << 20,
            max_run: 10 << 20,
            log: LogPolicy::default(),
            raw: RawPolicy::default(),
            dispatch: None,
            allow_public: false,
        }
    }
}

impl Default for History {
    fn default() -> Self {
        Self {
            events: ["schedule", "push", "workflow_dispatch", "local"].map(str::to_owned).to_vec(),
            confirm_within: Duration::from_mins(30),
        }
    }
}

/// The configuration's name of an event: GitHub's `issue_comment` is `comment`, and a pull
/// request is one whichever of its two events said so.
pub fn event(name: &str) -> &str {
    match name {
        "issue_comment" => "comment",
        "pull_request_target" => "pull_request",
        other => other,
    }
}

/// Whether runs of that event act for a pull request, whose author is not trusted.
pub fn is_pull_request(name: &str) -> bool {
    matches!(event(name), "comment" | "pull_request")
        || name.starts_with("pull_request_")
        || name == "workflow_run"
}

impl Results {
    pub(crate) fn read(top: &Section<'_>) -> Self {
        let default = Self::default();
        let Some(section) = top.table("results") else { return default };
        let branch = section.text("branch");
        if let Some(branch) = &branch
            && !is_branch(&branch.value)
        {
            section.bad_value(branch, &branch.value, "a branch's name");
        }
        let layout = section.text("layout").and_then(|text| match Layout::parse(&text.value) {
            Ok(layout) => Some(layout),
            Err(why) => {
                section.sink.add(&text.span, What::BadLayout { key: text.key, why });
                None
            }
        });
        let log = section.word("log").map(|word| match word {
            "none" => LogPolicy::None,
            "tail" => LogPolicy::Tail,
            _ => LogPolicy::Full,
        });
        let raw = section.word("raw").map(|word| match word {
            "never" => RawPolicy::Never,
            "publish" => RawPolicy::Publish,
            _ => RawPolicy::Bundle,
        });
        Self {
            repository: target(&section),
            branch: branch.map_or(default.branch, |branch| branch.value),
            layout: layout.unwrap_or(default.layout),
            max_file: section.size("max_file").unwrap_or(default.max_file),
            max_run: section.size("max_run").unwrap_or(default.max_run),
            log: log.unwrap_or_default(),
            raw: raw.unwrap_or_default(),
            dispatch: section.text("dispatch").map(|name| name.value),
            allow_public: section.truth("allow_public").unwrap_or_default(),
        }
    }
}

fn target(section: &Section<'_>) -> Option<Target> {
    let text = section.text("repository")?;
    if text.value.trim().is_empty() || text.value.starts_with('-') || text.value.len() > 1000 {
        let expected = "\"owner/name\", a URL, a path, or \"none\"";
        section.bad_value(&text, &text.value, expected);
    }
    Some(if text.value == "none" { Target::Nowhere } else { Target::At(text.value) })
}

/// What git takes for a branch, as far as it matters here.
fn is_branch(name: &str) -> bool {
    let lock = name.to_ascii_lowercase().rsplit('.').next() == Some("lock");
    !lock
        && !name.is_empty()
        && name.len() <= 200
        && !name.starts_with(['-', '/', '.'])
        && !name.ends_with(['/', '.'])
        && !name.contains("..")
        && !name.contains("//")
        && !name.contains("@{")
        && !name.contains("/.")
        && !name.chars().any(|c| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c))
}

impl History {
    pub(crate) fn read(top: &Section<'_>) -> Self {
        let default = Self::default();
        let Some(section) = top.table("history") else { return default };
        let events = section.words("events").map(|events| {
            for event in events.iter().filter(|event| is_pull_request(event.value)) {
                let expected = "an event that builds the default branch: runs on pull requests and comments never enter the history";
                section.bad_value(event, event.value, expected);
            }
            events.into_iter().map(|event| event.value.to_owned()).collect()
        });
        Self {
            events: events.unwrap_or(default.events),
            confirm_within: section
                .parsed("confirm_within", scalar::duration)
                .unwrap_or(default.confirm_within),
        }
    }
}

impl Triggers {
    pub(crate) fn read(top: &Section<'_>) -> Self {
        let Some(section) = top.table("triggers") else { return Self::default() };
        let labels = section.texts("labels").unwrap_or_default();
        Self {
            skip_when_only: patterns::globs(&section, "skip_when_only"),
            skip_unchanged: section.truth("skip_unchanged").unwrap_or_default(),
            drafts: section.truth("drafts").unwrap_or_default(),
            branches: patterns::globs(&section, "branches"),
            bases: patterns::globs(&section, "bases"),
            labels: labels.into_iter().map(|label| label.value).collect(),
        }
    }
}

impl ReportOptions {
    pub(crate) fn read(top: &Section<'_>) -> Self {
        let Some(section) = top.table("report") else { return Self::default() };
        Self {
            quiet: section.truth("quiet").unwrap_or_default(),
            check_run: section.truth("check_run").unwrap_or_default(),
            open_issue: section.truth("open_issue").unwrap_or_default(),
        }
    }
}
