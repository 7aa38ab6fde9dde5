//! Keeps the record on disk fresh while the job runs.

use std::time::Duration;

use super::execute::Workshop;
use super::ledger::{Ledger, StepRun};
use crate::bundle::write::BundleWriter;
use crate::clock::Stopwatch;
use crate::measure::Progress;
use crate::model::metric::Unit;
use crate::model::quantity::human;
use crate::model::status::Status;
use crate::record::Record;

/// A record on disk is never older than this and the time it takes to write one.
const EVERY: Duration = Duration::from_secs(3);

/// When the record was written last, and what was said about it.
#[derive(Debug)]
pub(super) struct Interim {
    last: Stopwatch,
    told_of_stop: bool,
    told_of_failure: bool,
}

impl Default for Interim {
    fn default() -> Self {
        Self { last: Stopwatch::start(), told_of_stop: false, told_of_failure: false }
    }
}

impl Interim {
    /// Whether the record is to be written now: every few seconds, and at once when the run is
    /// asked to stop.
    pub(super) fn is_due(&mut self, stopping: bool) -> bool {
        let news = stopping && !self.told_of_stop;
        self.told_of_stop |= stopping;
        let due = news || self.last.elapsed() >= EVERY;
        if due {
            self.last = Stopwatch::start();
        }
        due
    }

    /// Writes the record as it stands. A disk that refuses it is told of once; the job goes on.
    pub(super) fn write(
        &mut self,
        bundle: &BundleWriter,
        record: &Record,
        ledger: &Ledger,
        running: Option<&[StepRun]>,
        shop: &Workshop<'_>,
    ) {
        let mut fresh = record.clone();
        ledger.fill(&mut fresh, running);
        fresh.run.status =
            if shop.stop.cause().is_some() { Status::Cancelled } else { Status::Interrupted };
        if let Err(error) = bundle.write_record(&fresh)
            && !self.told_of_failure
        {
            self.told_of_failure = true;
            shop.watch.warn(&format!(
                "the record on disk is not fresh: failed to {error}; the run goes on"
            ));
        }
    }
}

/// One line on how far the job is.
pub(super) fn line(job: &str, what: &str, progress: &Progress<'_>) -> String {
    let mut parts = vec![format!("{job}: {what}"), human(progress.elapsed, &Unit::Seconds)];
    if let Some(cpu) = progress.cpu_time {
        parts.push(format!("CPU {}", human(cpu, &Unit::Seconds)));
    }
    if let Some(memory) = progress.memory {
        parts.push(format!("memory {}", human(memory, &Unit::Bytes)));
    }
    if let Some(processes) = progress.processes.filter(|count| *count > 1) {
        parts.push(format!("{processes} processes"));
    }
    if let Some(phase) = &progress.phase {
        parts.push(format!("phase {phase}"));
    }
    parts.join(" · ")
}
