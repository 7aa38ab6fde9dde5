//! The message of the commit that brings runs.

use std::fmt::Write as _;

use crate::record::Record;

/// A run that a commit brings.
pub(super) struct Brought<'a> {
    pub(super) record: &'a Record,
    pub(super) path: &'a str,
    pub(super) replaces: bool,
}

/// `Add simulation run of 4f2a4f2a4f2a: succeeded`, or `Add 3 runs`, and each run's folder.
pub(super) fn message(runs: &[Brought<'_>]) -> String {
    let mut text = match runs {
        [run] => format!("{}\n", headline(run)),
        runs => format!("Add {} runs\n", runs.len()),
    };
    for run in runs {
        if runs.len() > 1 {
            let _ = write!(text, "\n{}", headline(run));
        }
        let _ = writeln!(text, "\n{}", run.path);
    }
    text
}

/// Of words that cannot call anybody or name an issue: a job's name, hex digits, a status.
fn headline(run: &Brought<'_>) -> String {
    let verb = if run.replaces { "Replace" } else { "Add" };
    let job = &run.record.run.job;
    let status = run.record.run.status.words();
    match &run.record.commit.sha {
        Some(sha) => format!("{verb} {job} run of {}: {status}", sha.short()),
        None => format!("{verb} {job} run without a commit: {status}"),
    }
}
