//! The configuration: `perftrail.toml` as typed values.
//!
//! Text in, values out. Every error of a file is found in one pass and has its line, its column,
//! what was expected and the known word that looks most like what was written.

pub mod command;
pub mod job;
pub mod keys;
pub mod layout;
mod names;
pub mod overrides;
pub mod params;
pub mod patterns;
pub mod placeholders;
pub mod problem;
pub mod quote;
pub mod read_rule;
pub mod reference;
pub mod rules;
pub mod scalar;
pub mod schema;
mod section;
pub mod sections;
pub mod template;
#[cfg(test)]
mod tests;

use toml::de::DeTable;

pub use crate::record::reading::{ReadAs, ReadRule};
pub use command::{Command, ShellKind};
pub use job::{CountRule, Job, Profiler, Step};
pub use overrides::Overrides;
pub use params::{ParamDecl, ParamType};
pub use problem::Problems;
pub use read_rule::KeepRule;
pub use rules::{FunctionRule, Ignore, MetricRule};
pub use sections::{History, LogPolicy, RawPolicy, ReportOptions, Results, Target, Triggers};

use problem::{Sink, What};
use section::Section;

/// The file's name at the project's root.
pub const FILE: &str = "perftrail.toml";
/// No configuration is larger, in bytes.
const LARGEST: usize = 1 << 20;
/// Lines with more dots outside comments are no keys but an attack on the parser.
const DEEPEST: usize = 64;

pub(crate) const METRIC_NAME: &str = "a name of letters, digits, `.`, `_` and `-` that starts with a letter or `_`, at most 80 characters";

/// A whole configuration; the default is that of a project without a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Where runs are published, and how much of them.
    pub results: Results,
    /// Which runs make up the history.
    pub history: History,
    /// When nothing needs to run.
    pub triggers: Triggers,
    /// How loudly results are told.
    pub report: ReportOptions,
    /// What can be profiled, in the order of the file.
    pub jobs: Vec<Job>,
    /// What is judged, in the order of the file; empty: `cpu_time`.
    pub metrics: Vec<MetricRule>,
    /// Rules for functions, in the order of the file.
    pub functions: Vec<FunctionRule>,
}

/// Reads the text of a configuration; `file` is its name for messages.
///
/// # Errors
/// Every error of the file, each with its place.
pub fn parse(file: &str, text: &str) -> Result<Config, Problems> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let sink = Sink::new(text);
    if text.len() > LARGEST {
        sink.add(&(0..0), What::TooLarge { bytes: text.len(), max: LARGEST });
        return sink.finish(file, Config::default());
    }
    if let Some(at) = too_deep(text) {
        let message = format!("a key with more than {DEEPEST} parts");
        sink.add(&(at..at), What::Syntax { message });
        return sink.finish(file, Config::default());
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let message = problem::shown(error.message());
        sink.add(&error.span().unwrap_or(0..0), What::Syntax { message });
    }
    if !errors.is_empty() {
        // What a broken file seems to lack would only be guessed.
        return sink.finish(file, Config::default());
    }
    let span = 0..0;
    let top = Section::new(table.get_ref(), &keys::TOP, span, String::new(), &sink);
    let config = Config {
        results: Results::read(&top),
        history: History::read(&top),
        triggers: Triggers::read(&top),
        report: ReportOptions::read(&top),
        jobs: job::read_all(&top),
        metrics: rules::metrics(&top),
        functions: rules::functions(&top),
    };
    sink.finish(file, config)
}

/// Where a key with too many parts stands: the parser would build a table in a table for each.
fn too_deep(text: &str) -> Option<usize> {
    let mut parts = 0;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = match c {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => string_length(rest, c),
            c => c.len_utf8(),
        };
        match c {
            '.' => parts += 1,
            '\n' | '=' | ',' | '{' | '[' => parts = 0,
            _ => {}
        }
        if parts > DEEPEST {
            return Some(text.len() - rest.len());
        }
        rest = rest.get(skipped..).unwrap_or_default();
    }
    None
}

/// The bytes of the string that starts here, its quotes included.
fn string_length(text: &str, quote: char) -> usize {
    let triple = if quote == '"' { "\"\"\"" } else { "\'\'\'" };
    let (open, close) = if text.starts_with(triple) { (3, triple) } else { (1, &triple[..1]) };
    let mut at = open;
    while let Some(rest) = text.get(at..) {
        if rest.is_empty() || (open == 1 && rest.starts_with('\n')) {
            return at;
        }
        if rest.starts_with(close) {
            return at + close.len();
        }
        let escaped = quote == '"' && rest.starts_with('\\');
        let mut chars = rest.chars();
        let width = chars.next().map_or(1, char::len_utf8);
        at += width + if escaped { chars.next().map_or(0, char::len_utf8) } else { 0 };
    }
    text.len()
}
