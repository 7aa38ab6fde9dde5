//! `read`: takes numbers from files that the job wrote.

use super::ledger::Besides;
use super::values::Value;
use crate::model::metric::{Better, built_in};
use crate::plan::files::Selector;
use crate::record::reading::{self, JobFile, ReadAs, ReadOutcome, ReadRule};
use crate::record::{Level, Notice, Phase};
use crate::source::files::{self, Found, FoundFile};

/// A larger file is not read.
const FILE_MAX: u64 = 16 << 20;
/// So many files of one rule are read.
const FILES_MAX: usize = 1000;

/// Reads what `rules` name among the `fresh` files, those that this repetition wrote. `all` also
/// holds those that were there before: a number of an earlier run is never taken for one of this.
pub(super) fn read(
    rules: &[ReadRule],
    fresh: &Found,
    all: &Found,
    step: &str,
    besides: &mut Besides,
) {
    for rule in rules {
        // The configuration has checked that the pattern is one.
        let Ok(selector) = Selector::new(&[rule.path.as_str()]) else { continue };
        let matches = |found: &Found| -> Vec<FoundFile> {
            found.files.iter().filter(|file| selector.matches(&file.path)).cloned().collect()
        };
        let files = matches(fresh);
        if files.is_empty() && !matches(all).is_empty() {
            besides.notices.push(stale(rule));
        }
        let (contents, mut unread) = contents(&files);
        let job_files: Vec<JobFile<'_>> =
            contents.iter().map(|(path, bytes)| JobFile { path, bytes }).collect();
        let others: Vec<&str> = fresh.files.iter().map(|file| file.path.as_str()).collect();
        let outcome = reading::read(rule, &job_files, &others);
        besides.notices.append(&mut unread);
        take(outcome, rule, step, besides);
    }
}

fn stale(rule: &ReadRule) -> Notice {
    Notice {
        level: Level::Warning,
        code: "read_stale".to_owned(),
        message: format!(
            "`{}`: the only files that match were there before, and the job did not write them anew: \
             they are not read",
            rule.path
        ),
    }
}

fn contents(files: &[FoundFile]) -> (Vec<(String, Vec<u8>)>, Vec<Notice>) {
    let mut contents = Vec::new();
    let mut notices = Vec::new();
    let mut unread = |file: &FoundFile, why: &str| {
        notices.push(Notice {
            level: Level::Warning,
            code: "read_failed".to_owned(),
            message: format!("`{}` is not read: {why}", file.path),
        });
    };
    for file in files.iter().take(FILES_MAX) {
        match files::read_head(&file.absolute, FILE_MAX) {
            Ok((bytes, false)) => contents.push((file.path.clone(), bytes)),
            Ok((_, true)) => unread(file, "it is larger than 16 MiB"),
            Err(error) => unread(file, &error.to_string()),
        }
    }
    if let Some(file) = files.get(FILES_MAX) {
        unread(file, "a rule reads at most 1000 files, and this is the next one");
    }
    (contents, notices)
}

fn take(outcome: ReadOutcome, rule: &ReadRule, step: &str, besides: &mut Besides) {
    for (name, metric) in outcome.metrics {
        let name = if built_in(&name).is_some() { format!("job.{name}") } else { name };
        let method = if rule.as_what == ReadAs::Metrics { "read" } else { rule.as_what.word() };
        let value =
            Value::counted(metric.value, metric.unit, Better::Neither, &metric.source, method);
        besides.values.insert(name, value);
    }
    besides.params.extend(outcome.params);
    besides.extra.extend(outcome.extra);
    besides.series.extend(outcome.series);
    besides.phases.extend(outcome.phases.into_iter().map(|phase| Phase {
        name: phase.name,
        step: step.to_owned(),
        begin: phase.begin,
        end: phase.begin.map(|begin| begin + phase.duration),
        metrics: super::ledger::duration(phase.duration, "file"),
    }));
    besides.notices.extend(outcome.notices);
}
