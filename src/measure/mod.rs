//! Measures a process tree: exact totals from the kernel at the moment each process is reaped,
//! peaks and series by sampling, and what all of that cost.
//!
//! [`Meter::run`] runs one step. Three kinds of threads work while it does: the *reaper* starts
//! the command and waits for every process of its tree; the *sampler* and the *sweeper* look at
//! `/proc`; two *stream* threads and the *follower* read what the job prints and reports. The
//! calling thread ends the job when it has to, and tells of progress.

mod apart;
mod cgroup;
mod collector;
mod command;
mod disturbance;
mod error;
mod host;
mod kill;
mod lines;
mod log;
mod machine;
mod measurement;
mod output;
mod own;
mod points;
mod process;
mod procfs;
mod readings;
mod reaper;
mod run;
mod sampler;
mod samples;
mod shared;
mod start;
mod stats_file;
mod stop;
mod summary;
mod system;
mod tree;

pub use apart::{Apart, ApartEnd, keep_to_itself};
pub use command::{MeterKind, MeterOptions, Places, Sinks, StepCommand};
pub use disturbance::{Disturbances, Window};
pub use error::MeasureError;
pub use lines::{Counters, WARNINGS};
pub use log::{BoundedLog, LogBudget};
pub use machine::machine;
pub use measurement::{
    Ending, Measurement, Output, PhaseSpan, Reading, Reported, ReportedMetric, Share,
};
pub use points::{POINTS_MAX, Points};
pub use procfs::Io;
pub use run::Progress;
pub use stop::{Stop, StopCause, outlive_file_limits, parent_now};

/// Measures steps, one after the other.
#[derive(Clone, Debug)]
pub struct Meter {
    kind: MeterKind,
    options: MeterOptions,
}

impl Meter {
    /// A meter of that kind.
    pub fn new(kind: MeterKind, options: MeterOptions) -> Self {
        Self { kind, options }
    }

    /// How it measures.
    pub fn kind(&self) -> MeterKind {
        self.kind
    }

    /// Runs `command` to its end and measures it. A command that cannot be started, fails, runs
    /// too long or is stopped is measured too: its ending tells. `progress` is called on this
    /// thread about four times a second.
    ///
    /// Every child of this process that ends meanwhile is waited for, whoever started it: start
    /// no other one while this runs.
    ///
    /// # Errors
    /// When another measurement runs in this process, the folder cannot be entered, or the system
    /// refuses pipes, threads or a process.
    pub fn run(
        &self,
        command: &StepCommand,
        stop: &Stop,
        sinks: Sinks,
        progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<Measurement, MeasureError> {
        run::run(self.kind, &self.options, command, stop, sinks, progress)
    }
}
