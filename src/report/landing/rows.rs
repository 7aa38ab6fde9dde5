//! The newest runs, one row each, with their verdicts.

use std::collections::BTreeMap;

use super::LandingOptions;
use crate::analysis::verdict::{Facts, RunVerdict, Word, verdict};
use crate::model::status::Status;
use crate::record::index::Line;
use crate::report::link::Url;
use crate::report::plain;
use crate::report::verdict as words;
use crate::report::view::{Cell, Row, amount, utc_minutes};

/// The first runs of `sorted`, which holds more of their histories. Links lead from the folder
/// `from`.
pub(super) fn rows(sorted: &[&Line], options: &LandingOptions, from: &str) -> Vec<Row> {
    let mut by_key: BTreeMap<(&str, &str), Vec<&Line>> = BTreeMap::new();
    for line in sorted {
        by_key.entry((&line.job, &line.key)).or_default().push(line);
    }
    let row = |line: &&Line| {
        let lines = by_key.get(&(line.job.as_str(), line.key.as_str()));
        let lines = lines.map(Vec::as_slice).unwrap_or_default();
        let judging = options.judging_of(line);
        row(line, &verdict(lines, line, &Facts::default(), &judging), from)
    };
    sorted.iter().take(options.runs).map(row).collect()
}

fn row(line: &Line, verdict: &RunVerdict, from: &str) -> Row {
    // What the job told itself stands in for what was not measured.
    let value = |name: &str| {
        let told = format!("job.{name}");
        let found = [name, told.as_str()]
            .into_iter()
            .find_map(|name| line.metrics.get(name).map(|entry| (name, entry)));
        match found {
            Some((name, entry)) => Cell::number(amount(entry.value(), &entry.unit(name))),
            None => Cell::absent("not measured"),
        }
    };
    let ended = match line.status {
        Status::Succeeded => "✓ succeeded".to_owned(),
        other => format!("✗ {}", other.words()),
    };
    let disturbed = if line.disturbed.is_empty() { "" } else { ", disturbed" };
    Row {
        cells: vec![
            Cell::link(&utc_minutes(line.start), Url::within(from, &line.path)),
            Cell::text(&plain::name(&line.job)),
            commit(line),
            Cell::text(&format!("{ended}{disturbed}")),
            match verdict.word {
                Word::NothingMeasured => Cell::absent("not judged"),
                word => Cell::text(words::title(word)),
            },
            value("cpu_time"),
            value("duration"),
            value("memory_peak"),
            Cell::link(&started_by(line), line.run_url.as_deref().and_then(Url::web)),
        ],
    }
}

fn started_by(line: &Line) -> String {
    match line.pull_request {
        Some(number) => format!("{}, pull request {number}", plain::name(&line.event)),
        None => plain::name(&line.event),
    }
}

/// Host, owner and name of the measured project, where its name tells them all.
pub(super) fn parts_of(line: &Line) -> Option<(&str, String, &str)> {
    let parts: Vec<&str> = line.repository.split('/').collect();
    match parts.as_slice() {
        [host, owner @ .., name] if !owner.is_empty() => Some((host, owner.join("/"), name)),
        _ => None,
    }
}

/// The commit, linked to its host where the repository's name says it.
fn commit(line: &Line) -> Cell {
    let Some(sha) = &line.commit else {
        return Cell::absent("no commit");
    };
    let parts = parts_of(line);
    let url = parts.and_then(|(host, owner, name)| Url::commit(host, &owner, name, sha));
    let dirty = if line.dirty == Some(true) { " + changes" } else { "" };
    let amended = if line.amended.is_some() { ", amended" } else { "" };
    Cell::code_link(&format!("{}{dirty}{amended}", sha.short()), url)
}
