//! The verdict of a run, from the index of a tip.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::history::rules;
use super::index::Index;
use crate::analysis::histories::{Epoch, Rules, Standing, order};
use crate::analysis::judging::{JUDGING_FILE, JudgingFile};
use crate::analysis::verdict::{Baseline, Facts, Judging, RunVerdict, Severity, verdict};
use crate::config::{Config, patterns};
use crate::model::names::CommitSha;
use crate::record::Record;
use crate::record::index::Line;
use crate::record::layout::RECORD_FILE;
use crate::record::read;
use crate::results::ResultsError;
use crate::results::tip::Tip;

/// How runs are judged, as the configuration says; what people accepted is the tip's to tell.
pub fn judging(config: &Config) -> Judging {
    Judging {
        rules: Rules { events: config.history.events.clone(), epochs: Vec::new() },
        metrics: config.metrics.clone(),
        confirm_within: config.history.confirm_within,
        quiet_paths: config.triggers.skip_when_only.clone(),
        given: *config != Config::default(),
    }
}

/// By which rules the projects of a results repository are judged. A file that cannot be read is
/// told, and does not keep anything from being judged.
pub(super) fn judging_file(tip: &Tip<'_>) -> Result<(JudgingFile, Option<String>), ResultsError> {
    let bytes = tip.read(JUDGING_FILE)?.unwrap_or_default();
    Ok(match JudgingFile::parse(&bytes) {
        Ok(file) => (file, None),
        Err(error) => (JudgingFile::default(), Some(error.to_string())),
    })
}

/// By which rules the run of `line` is judged, before what people accepted: those of `judging`
/// where a configuration gives them, else those that the results repository keeps.
pub(super) fn judging_of(
    tip: &Tip<'_>,
    line: &Line,
    judging: &Judging,
) -> Result<Judging, ResultsError> {
    if judging.given {
        return Ok(judging.clone());
    }
    Ok(judging_file(tip)?.0.of(&line.repository))
}

/// Judges the run of `line` by the runs that the index holds beside it. `epochs` are the accepted
/// changes where the tip's are not the newest.
///
/// # Errors
/// Why it cannot be judged, for people. That never keeps a run from being published.
pub(super) fn judge(
    tip: &Tip<'_>,
    index: &mut Index<'_, '_>,
    record: &Record,
    line: &Line,
    judging: &Judging,
    epochs: Option<&[Epoch]>,
) -> Result<RunVerdict, String> {
    let told = |error: ResultsError| error.to_string();
    let mut judging = judging_of(tip, line, judging).map_err(told)?;
    let (rules, notice) = rules(tip, &judging.rules.events).map_err(told)?;
    judging.rules = match (epochs, notice) {
        (Some(epochs), _) => Rules { epochs: epochs.to_vec(), ..rules },
        (None, Some(notice)) => return Err(notice),
        (None, None) => rules,
    };
    let lines = index.of_key(line).map_err(told)?;
    let mut facts = facts(record, &judging);
    let all: Vec<&Line> = lines.iter().collect();
    let judged = |facts: &Facts| {
        // A defect in judging is a word less, not a run less.
        catch_unwind(AssertUnwindSafe(|| verdict(&all, line, facts, &judging)))
            .map_err(|_| "judging failed".to_owned())
    };
    let said = judged(&facts)?;
    facts.same_trees = same_trees(tip, record, &said);
    if facts.same_trees.is_empty() { Ok(said) } else { judged(&facts) }
}

/// Commits that the run is held against and whose files are the same. They are looked up only
/// where something would be loud: it takes reading a record.
fn same_trees(tip: &Tip<'_>, record: &Record, said: &RunVerdict) -> Vec<CommitSha> {
    let Some(tree) = record.commit.tree.as_ref() else { return Vec::new() };
    let loud = said.metrics.iter().filter(|metric| metric.severity > Severity::Quiet);
    let mut baselines: Vec<&Baseline> =
        loud.filter_map(|metric| metric.baseline.as_ref()).collect();
    baselines.sort_by(|a, b| a.path.cmp(&b.path));
    baselines.dedup_by(|a, b| a.path == b.path);
    let mut same = Vec::new();
    for baseline in baselines.into_iter().filter(|one| one.commit != record.commit.sha) {
        let bytes = tip.read(&format!("{}/{RECORD_FILE}", baseline.path)).ok().flatten();
        let other = bytes.and_then(|bytes| read::read(&bytes).ok());
        if other.is_some_and(|other| other.record.commit.tree.as_ref() == Some(tree)) {
            same.extend(baseline.commit.clone());
        }
    }
    same
}

/// The commits of the runs that may be held against the run of `line`, newest first.
pub(super) fn measured(lines: &[Line], line: &Line, judging: &Judging) -> Vec<CommitSha> {
    let counts = |other: &&Line| {
        other.path != line.path
            && order(other) < order(line)
            && other.has_values()
            && Standing::of(other, &judging.rules.events) == Standing::Enters
    };
    let mut others: Vec<&Line> = lines.iter().filter(counts).collect();
    others.sort_by(|a, b| order(b).cmp(&order(a)));
    others.into_iter().filter_map(|other| other.commit.clone()).collect()
}

fn facts(record: &Record, judging: &Judging) -> Facts {
    let commit = &record.commit;
    let mut ancestors: Vec<_> =
        commit.against.iter().filter(|against| against.behind == 0).collect();
    ancestors.sort_by_key(|against| against.ahead);
    let quiet = |paths: Option<&Vec<String>>| {
        paths.is_some_and(|paths| is_quiet(paths, &judging.quiet_paths))
    };
    let mut unchanged_since: Vec<CommitSha> = ancestors
        .iter()
        .filter(|against| quiet(against.changed_paths.as_ref()))
        .map(|against| against.sha.clone())
        .collect();
    // What was cut off may be anything.
    let is_whole = !commit.unknown.contains_key("changed_paths");
    if is_whole && quiet(commit.changed_paths.as_ref()) {
        unchanged_since.extend(changed_from(record).cloned());
    }
    Facts {
        unchanged_since,
        ancestors: ancestors.into_iter().map(|against| against.sha.clone()).collect(),
        same_trees: Vec::new(),
    }
}

/// The commit that `changed_paths` of the record are told from.
fn changed_from(record: &Record) -> Option<&CommitSha> {
    let commit = &record.commit;
    let base = commit.merge_base.as_ref().filter(|base| Some(*base) != commit.sha.as_ref());
    base.or_else(|| commit.parents.as_ref().and_then(|parents| parents.first()))
}

/// Whether all of `paths` are such that nothing needs to run.
fn is_quiet(paths: &[String], quiet: &[String]) -> bool {
    let globs = quiet.iter().filter_map(|text| patterns::glob(text).ok());
    let globs: Vec<_> = globs.map(|glob| glob.compile_matcher()).collect();
    !paths.is_empty() && paths.iter().all(|path| globs.iter().any(|glob| glob.is_match(path)))
}
