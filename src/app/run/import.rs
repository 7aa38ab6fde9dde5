//! `import files`: makes a bundle from what a job left behind that perftrail did not run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::finish::{self, KeptFiles};
use super::ledger::Ledger;
use super::profiles::{self, Around, Role, Trace};
use super::{FinishedRun, Prepared, RunError, draft, outputs, readings};
use crate::app::watch::Watch;
use crate::config::{Command, Config, Job, KeepRule, Profiler};
use crate::measure::LogBudget;
use crate::model::metric::BUILT_IN;
use crate::model::names::CommitSha;
use crate::model::status::Status;
use crate::plan::{JobSpec, PlannedRun};
use crate::record::reading::ReadRule;
use crate::record::{Environment, IMPORTED, Machine, Repetitions};
use crate::source::files::{self, Found};

/// What is brought in.
#[derive(Clone, Debug)]
pub struct Import {
    /// The folder that the job left.
    pub folder: PathBuf,
    /// The job's name.
    pub job: String,
    /// The commit that was measured, as whoever imports says.
    pub commit: CommitSha,
    /// Whether it ran on this machine.
    pub here: bool,
    /// Rules beside those of the configured job.
    pub read: Vec<ReadRule>,
    /// Files to keep beside those of the configured job.
    pub keep: Vec<KeepRule>,
    /// When the job began, where that is known.
    pub started: Option<Timestamp>,
    /// When it ended, where that is known.
    pub ended: Option<Timestamp>,
}

impl Import {
    /// The configuration with the job in it, so that a job that is only imported needs no `run`.
    pub fn configure(&self, config: &mut Config) {
        let place = config.jobs.iter().position(|job| job.name == self.job).unwrap_or_else(|| {
            let mut job = Job::bare(&self.job, Command::Argv(vec!["(imported)".to_owned()]));
            job.collect = vec!["**".to_owned()];
            config.jobs.push(job);
            config.jobs.len() - 1
        });
        let job = &mut config.jobs[place];
        job.read.extend(self.read.iter().cloned());
        job.keep.extend(self.keep.iter().cloned());
        if job.collect.is_empty() {
            job.collect = vec!["**".to_owned()];
        }
    }
}

/// Makes the bundle.
///
/// # Errors
/// When the folder cannot be searched or the bundle cannot be written.
pub fn import(
    prepared: &Prepared,
    import: &Import,
    watch: &dyn Watch,
) -> Result<Vec<FinishedRun>, RunError> {
    let root = prepared.root.canonicalize().unwrap_or_else(|_| prepared.root.clone());
    let import_one = |planned: &PlannedRun| {
        let mut planned = planned.clone();
        move_below(&mut planned.job, &root, &import.folder);
        one(prepared, &planned, import, watch)
    };
    prepared.plan.runs.iter().map(import_one).collect()
}

fn one(
    prepared: &Prepared,
    planned: &PlannedRun,
    import: &Import,
    watch: &dyn Watch,
) -> Result<FinishedRun, RunError> {
    let (bundle, id) = super::new_bundle(prepared, planned)?;
    let facts = prepared.facts_for(planned);
    let environment = Environment::default();
    let mut record = draft::record(&facts, &prepared.plan.facts, planned, id, environment);
    record.run.status = Status::Succeeded;
    record.run.started = import.started;
    record.run.ended = import.ended;
    record.run.repetitions = Repetitions { planned: 1, completed: 1, warmups: 0 };
    IMPORTED.clone_into(&mut record.tool.meter);
    if !import.here {
        record.machine = unknown_machine(planned.job.machine.as_deref());
    }
    let found = find(planned, import)?;
    let mut besides = outputs::count(&found, &[])?;
    readings::read(&planned.job.read, &found, &found, "", &mut besides);
    if besides.is_broken() {
        record.run.status = Status::Failed;
    }
    let mut ledger = Ledger::new(Vec::new(), LogBudget::default());
    ledger.log_line("imported: perftrail did not run this job and has none of its output");
    ledger.complete(Vec::new(), besides);
    ledger.fill(&mut record, None);
    for metric in BUILT_IN.iter().filter(|metric| !record.metrics.contains_key(metric.name)) {
        let why = "imported: perftrail did not run the job".to_owned();
        record.unavailable.insert(metric.name.to_owned(), why);
    }
    let root = prepared.root.to_string_lossy();
    let expected = planned.job.profiler != Profiler::None;
    let rules = finish::by_rule(&planned.job.read);
    let (redactor, by_rule) = (bundle.redactor(), rules.as_ref());
    let around =
        Around { workspaces: &[root.as_ref()], redactor, expected, by_rule, gives_up: &|| false };
    let traces: Vec<Trace> = found
        .files
        .iter()
        .map(|file| Trace { file: file.clone(), step: None, role: Role::Found })
        .collect();
    let kept = KeptFiles {
        found: &found,
        rules: &planned.job.keep,
        root: &import.folder,
        profiled: profiles::read(&traces, around),
    };
    finish::complete(&bundle, record, &ledger, &kept, prepared, watch)
}

/// The files of the folder that matter.
fn find(planned: &PlannedRun, import: &Import) -> Result<Found, RunError> {
    let job = &planned.job;
    let patterns: Vec<String> =
        job.collect.iter().cloned().chain(job.read.iter().map(|rule| rule.path.clone())).collect();
    Ok(files::find(&import.folder, &patterns)?)
}

/// Patterns of a configuration are relative to the project's root, those of somebody who imports
/// by hand to the folder: leading parts that name the folder itself are taken off.
fn below(pattern: &str, folder: &[&str]) -> String {
    let mut parts: Vec<&str> = pattern.trim_start_matches("./").split('/').collect();
    for name in folder {
        if parts.len() > 1 && (parts[0] == *name || parts[0] == "*") {
            parts.remove(0);
        } else {
            break;
        }
    }
    parts.join("/")
}

fn move_below(job: &mut JobSpec, root: &Path, folder: &Path) {
    let Ok(relative) = folder.strip_prefix(root) else { return };
    let names: Vec<&str> =
        relative.components().filter_map(|part| part.as_os_str().to_str()).collect();
    for pattern in &mut job.collect {
        *pattern = below(pattern, &names);
    }
    for rule in &mut job.read {
        rule.path = below(&rule.path, &names);
    }
    for rule in &mut job.keep {
        rule.path = below(&rule.path, &names);
    }
}

/// Where it ran is not known to us.
fn unknown_machine(name: Option<&str>) -> Machine {
    let group = name.unwrap_or("imported, machine not known").to_owned();
    Machine { fingerprint: String::new(), group, parts: BTreeMap::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_both_kinds_mean_the_same_files() {
        for (pattern, folder, expected) in [
            ("*.json", vec!["out"], "*.json"),
            ("out/*.json", vec!["out"], "*.json"),
            ("./out/**", vec!["out"], "**"),
            ("out/**/*.json", vec!["out", "2024"], "**/*.json"),
            ("out/*/a.json", vec!["out", "2024"], "a.json"),
            ("other/*.json", vec!["out"], "other/*.json"),
            ("out", vec!["out"], "out"),
        ] {
            assert_eq!(below(pattern, &folder), expected, "{pattern} below {folder:?}");
        }
    }
}
