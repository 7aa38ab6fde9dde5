//! The index against the records: a line for each run, in its month, and no other.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::finding::{told, visible};
use super::runs::Survey;
use super::{Checked, Fault, Shards};
use crate::model::text::shown;
use crate::record::index::Line;
use crate::record::shard::{INDEX_DIR, Shard, month_of, shard_path};
use crate::results::ResultsError;
use crate::results::format::Standing;
use crate::results::tip::Tip;
use crate::results::walk::{EntryKind, Walk};

/// So many of the keys that differ are named.
const PARTS_TOLD: usize = 5;

pub(super) fn check(
    tip: &Tip<'_>,
    walk: &Walk,
    survey: &Survey<'_>,
    standing: Standing,
    checked: &mut Checked,
) {
    let mut seen = Seen { survey, standing, runs: HashSet::new() };
    for entry in &walk.entries {
        let name = entry.path.strip_prefix(INDEX_DIR).and_then(|rest| rest.strip_prefix('/'));
        let (Some(month), EntryKind::File(id)) = (name.and_then(month_of), &entry.kind) else {
            continue;
        };
        match tip.content(*id, &entry.path) {
            Ok(bytes) => seen.shard(month, &bytes, checked),
            Err(error) => checked.add(&entry.path, Fault::Lost(told(&error))),
        }
    }
    for (month, lines) in &survey.months {
        for (_, run) in lines.keys().filter(|(_, run)| !seen.runs.contains(run.as_str())) {
            checked.add(&shard_path(month), Fault::LineMissing { run: visible(run) });
        }
    }
}

/// The index as it should be. Lines of records that cannot be used stay as they are.
pub(super) fn as_it_should_be(tip: &Tip<'_>, survey: &Survey<'_>) -> Result<Shards, ResultsError> {
    let mut shards = survey.shards();
    if survey.unusable.is_empty() {
        return Ok(shards);
    }
    for month in tip.months()? {
        let kept: Vec<Line> = tip
            .shard(&month)?
            .into_lines()
            .filter(|line| survey.unusable.contains(line.path.as_str()))
            .collect();
        if kept.is_empty() {
            continue;
        }
        let mut shard = Shard::parse(shards.get(&month).map_or(&[], Vec::as_slice));
        for line in kept {
            shard.insert(line);
        }
        shards.insert(month, shard.to_bytes());
    }
    Ok(shards)
}

/// The runs whose lines were seen so far.
struct Seen<'s, 'w> {
    survey: &'s Survey<'w>,
    standing: Standing,
    runs: HashSet<String>,
}

impl Seen<'_, '_> {
    fn shard(&mut self, month: &str, bytes: &[u8], checked: &mut Checked) {
        let path = shard_path(month);
        let before = checked.findings.len() + checked.more;
        let text = bytes.split(|byte| *byte == b'\n').enumerate();
        for (index, line) in text.filter(|(_, line)| !line.is_empty()) {
            if let Some(fault) = self.line(month, index + 1, line) {
                checked.add(&path, fault);
            }
        }
        let is_faultless = checked.findings.len() + checked.more == before;
        if is_faultless && Shard::parse(bytes).to_bytes() != bytes {
            checked.add(&path, Fault::Order);
        }
    }

    fn line(&mut self, month: &str, number: usize, bytes: &[u8]) -> Option<Fault> {
        let corrupt = |why| Some(Fault::LineCorrupt { number, why });
        let Ok(text) = std::str::from_utf8(bytes) else {
            return corrupt("the line is no UTF-8 text".to_owned());
        };
        let text = text.strip_suffix('\r').unwrap_or(text);
        let line = match Line::parse(text) {
            Ok(line) => line,
            Err(error) => return corrupt(told(&error)),
        };
        let run = visible(&line.path);
        // What a record that cannot be used would give nobody knows.
        if self.survey.unusable.contains(line.path.as_str()) {
            return None;
        }
        let Some(right) = self.survey.month_of.get(line.path.as_str()) else {
            return Some(Fault::LineExtra { number, run });
        };
        if right != month || !self.runs.insert(line.path.clone()) {
            return Some(Fault::LineMisplaced { number, run, month: right.clone() });
        }
        let lines = self.survey.months.get(right)?;
        let expected = lines.get(&(line.start, line.path.clone()));
        // Of a line with another start the place tells nothing.
        let expected = expected
            .or_else(|| lines.iter().find(|((_, path), _)| *path == line.path).map(|(_, l)| l))?;
        let parts = self.parts_that_differ(expected, text)?;
        Some(Fault::LineDiffers { number, run, parts })
    }

    /// The keys in which two lines differ; of a newer format only those that this version knows.
    fn parts_that_differ(&self, expected: &str, found: &str) -> Option<String> {
        if expected == found {
            return None;
        }
        let keys =
            |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
        let (expected, found) = (keys(expected), keys(found));
        let differ = expected.iter().filter(|(key, value)| found.get(*key) != Some(value));
        let mut parts: Vec<String> = differ.map(|(key, _)| key.clone()).collect();
        if self.standing == Standing::Whole {
            let unknown = found.keys().filter(|key| !expected.contains_key(*key));
            parts.extend(unknown.map(|key| shown(key)));
        } else if parts.is_empty() {
            return None;
        }
        if parts.is_empty() {
            // The same values, written in another way.
            return Some("how it is written".to_owned());
        }
        let more = parts.len().saturating_sub(PARTS_TOLD);
        parts.truncate(PARTS_TOLD);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Some(format!("{}{more}", parts.join(", ")))
    }
}
