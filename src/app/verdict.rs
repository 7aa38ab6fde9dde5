//! The verdict of a run, from the index of a tip.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::history::rules;
use super::index::Index;
use crate::analysis::verdict::{Facts, Judging, RunVerdict, verdict};
use crate::config::{Config, patterns};
use crate::record::Record;
use crate::record::index::Line;
use crate::results::ResultsError;
use crate::results::tip::Tip;

/// How runs are judged, as the configuration says; what people accepted is the tip's to tell.
pub fn judging(config: &Config) -> Judging {
    Judging {
        rules: crate::analysis::histories::Rules {
            events: config.history.events.clone(),
            epochs: Vec::new(),
        },
        metrics: config.metrics.clone(),
        confirm_within: config.history.confirm_within,
        quiet_paths: config.triggers.skip_when_only.clone(),
    }
}

/// Judges the run of `line` by the runs that the index holds beside it.
///
/// # Errors
/// Why it cannot be judged, for people. That never keeps a run from being published.
pub(super) fn judge(
    tip: &Tip<'_>,
    index: &mut Index<'_, '_>,
    record: &Record,
    line: &Line,
    judging: &Judging,
) -> Result<RunVerdict, String> {
    let told = |error: ResultsError| error.to_string();
    let (rules, notice) = rules(tip, &judging.rules.events).map_err(told)?;
    if let Some(notice) = notice {
        return Err(notice);
    }
    let judging = Judging { rules, ..judging.clone() };
    let lines = index.of_key(line).map_err(told)?;
    let facts = facts(record, &judging);
    let all: Vec<&Line> = lines.iter().collect();
    // A defect in judging is a word less, not a run less.
    catch_unwind(AssertUnwindSafe(|| verdict(&all, line, &facts, &judging)))
        .map_err(|_| "judging failed".to_owned())
}

fn facts(record: &Record, judging: &Judging) -> Facts {
    let commit = &record.commit;
    let mut ancestors: Vec<_> =
        commit.against.iter().filter(|against| against.behind == 0).collect();
    ancestors.sort_by_key(|against| against.ahead);
    Facts {
        nothing_changed: commit
            .changed_paths
            .as_ref()
            .is_some_and(|paths| is_quiet(paths, &judging.quiet_paths)),
        ancestors: ancestors.into_iter().map(|against| against.sha.clone()).collect(),
    }
}

/// Whether all of `paths` are such that nothing needs to run.
fn is_quiet(paths: &[String], quiet: &[String]) -> bool {
    let globs = quiet.iter().filter_map(|text| patterns::glob(text).ok());
    let globs: Vec<_> = globs.map(|glob| glob.compile_matcher()).collect();
    !paths.is_empty() && paths.iter().all(|path| globs.iter().any(|glob| glob.is_match(path)))
}
