//! What the run was given and where it ran: params, environment, machine.

use serde_json::Value;

use super::cell::{Cell, Section, Table, text};
use crate::record::Record;
use crate::report::link::Url;
use crate::report::{IN_RESULTS, PagePlace, plain};

/// The job's inputs, and what else was said about the run.
pub(crate) fn params(record: &Record, place: PagePlace<'_>) -> Section {
    let columns = [text("Param"), text("Value"), text("Default"), text("Sets histories apart")];
    let rows = record.params.iter().map(|(name, param)| {
        let default =
            param.default.as_ref().map_or_else(|| Cell::absent("none: the job reported it"), value);
        let identity = if param.identity { "yes" } else { "no" };
        vec![Cell::code(&plain::name(name)), value(&param.value), default, Cell::text(identity)]
    });
    let declared = Table::new("Declared inputs", &columns, rows);
    let rows = record.extra.iter().map(|(name, given)| match linked(name, given, place) {
        Some(cells) => cells,
        None => vec![Cell::code(&plain::name(name)), value(given)],
    });
    let extra = Table::new("Said about the run", &[text("Key"), text("Value")], rows);
    let lead = if record.params.is_empty() {
        vec!["The job declares no params.".to_owned()]
    } else {
        Vec::new()
    };
    Section::new("params", "Params", lead, vec![declared, extra])
}

/// A page that the results repository holds in a place of its own.
fn linked(name: &str, given: &Value, place: PagePlace<'_>) -> Option<Vec<Cell>> {
    let (file, PagePlace::Results(here)) = (name.strip_prefix(IN_RESULTS)?, place) else {
        return None;
    };
    let url = Url::within(here, given.as_str()?)?;
    Some(vec![Cell::code(&plain::name(file)), Cell::link("in this repository", Some(url))])
}

fn value(value: &Value) -> Cell {
    match value {
        Value::String(text) => Cell::code(text),
        other => Cell::code(&other.to_string()),
    }
}

/// What it ran with.
pub(crate) fn environment(record: &Record) -> Section {
    let environment = &record.environment;
    let mut facts: Vec<(String, Cell)> = Vec::new();
    for (name, version) in &environment.interpreters {
        facts.push((plain::name(name), Cell::text(version)));
    }
    if let Some(image) = &environment.image {
        facts.push(("Image".to_owned(), Cell::text(image)));
    }
    for (path, hash) in &environment.lock_files {
        facts.push((format!("SHA-256 of {}", plain::name(path)), Cell::code(hash)));
    }
    facts.push(("Measured by".to_owned(), tool(record)));
    facts.push(("Profiler".to_owned(), profiler(record)));
    let variables = environment
        .variables
        .iter()
        .map(|(name, set)| vec![Cell::code(&plain::name(name)), Cell::code(set)]);
    let variables =
        Table::new("Variables that bear on speed", &[text("Variable"), text("Value")], variables);
    let mut lead = Vec::new();
    if !environment.held_back.is_empty() {
        let names: Vec<String> =
            environment.held_back.iter().take(40).map(|name| plain::name(name)).collect();
        let rest = environment.held_back.len() - names.len();
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        lead.push(format!("Held back from the job: {}{more}.", names.join(", ")));
    }
    let programs = Table::of_facts("Programs", facts);
    Section::new("environment", "Environment", lead, vec![programs, variables])
}

fn tool(record: &Record) -> Cell {
    let tool = &record.tool;
    Cell::text(&format!(
        "perftrail {}, {} meter",
        plain::name(&tool.version),
        plain::name(&tool.meter)
    ))
}

fn profiler(record: &Record) -> Cell {
    let profiler = &record.tool.profiler;
    if profiler.name == "none" {
        return Cell::absent("none");
    }
    let version = profiler.version.as_deref().unwrap_or("version not known");
    let args = if profiler.args.is_empty() {
        String::new()
    } else {
        format!(", given {}", profiler.args.join(" "))
    };
    Cell::text(&format!("{} {version}{args}", profiler.name))
}

/// Where it ran.
pub(crate) fn machine(record: &Record) -> Section {
    let machine = &record.machine;
    let mut facts = vec![
        ("Group".to_owned(), Cell::text(&machine.group)),
        ("Fingerprint".to_owned(), Cell::code(&machine.fingerprint)),
    ];
    for (name, part) in &machine.parts {
        facts.push((plain::name(name), Cell::text(part)));
    }
    let table = Table::of_facts("Runs of one group may be compared", facts);
    Section::new("machine", "Machine", Vec::new(), vec![table])
}
