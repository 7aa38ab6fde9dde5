//! Carries out one planned run: set-up, warm-ups, repetitions, and the bundle they leave behind.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::bytes::Regex;

use super::RunError;
use super::guard::guarded;
use super::interim::Interim;
use super::ledger::{Besides, Ledger, StepRun};
use super::outputs::{self, Places};
use super::profiles::{Role, Trace};
use super::readings;
use super::wrapped::Profiling;
use crate::app::watch::Watch;
use crate::bundle::scratch::Scratch;
use crate::bundle::write::BundleWriter;
use crate::clock::Stopwatch;
use crate::config::{Command, Profiler, ShellKind};
use crate::measure::{Ending, LogBudget, Measurement, Meter, Sinks, StepCommand, Stop};
use crate::model::status::Status;
use crate::plan::{PlannedRun, Surroundings};
use crate::record::{Level, Notice, Record};
use crate::source::files::Found;

/// What all runs of a plan share.
pub(super) struct Workshop<'a> {
    /// Measures.
    pub meter: &'a Meter,
    /// Asks to stop.
    pub stop: &'a Stop,
    /// Watches.
    pub watch: &'a dyn Watch,
    /// Runs string commands.
    pub shell: ShellKind,
    /// The folder that paths of the configuration are relative to.
    pub root: &'a Path,
    /// Where temporary files go; `None` for the system's place.
    pub temp: Option<&'a Path>,
    /// What the configuration calls the event.
    pub event: &'a str,
    /// The service's running number.
    pub run_number: Option<u64>,
}

/// One run at work.
pub(super) struct Execution<'a> {
    /// What it shares with others.
    pub shop: &'a Workshop<'a>,
    /// What is to be done.
    pub planned: &'a PlannedRun,
    /// The environment of its commands, without what is told per command.
    pub env: Vec<(OsString, OsString)>,
    /// Where the bundle is written.
    pub bundle: &'a BundleWriter,
    /// The record as it will stand.
    pub record: Record,
    /// What is measured.
    pub ledger: Ledger,
    /// Files that live as long as the run.
    pub scratch: Scratch,
    /// Since the run began.
    pub since: Stopwatch,
    /// The profiler that perftrail starts, once it is ready.
    pub profiling: Option<Profiling>,
    counters: Vec<(String, Regex)>,
    interim: Interim,
    /// What the last completed repetition left.
    last: Option<Left>,
    /// How many output folders were given out.
    turn: u32,
    /// What a profiler that perftrail started has written.
    traces: Vec<Trace>,
}

/// How a run ended.
#[derive(Debug)]
pub(super) struct Finished {
    /// How.
    pub status: Status,
    /// The code of the command that decided it.
    pub exit_code: Option<i32>,
    /// The outputs of the last completed repetition.
    pub outputs: Found,
    /// Those of them that may be a profiler's.
    pub traces: Vec<Trace>,
}

/// What a repetition left.
struct Left {
    outputs: Found,
    traces: Vec<Trace>,
    folder: PathBuf,
}

/// What a repetition is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    WarmUp,
    Measure,
    /// Measured under the profiler; it counts.
    MeasureProfiled,
    /// Run under the profiler alone: there are others that count.
    Profile,
}

impl Purpose {
    fn is_profiled(self) -> bool {
        matches!(self, Self::MeasureProfiled | Self::Profile)
    }

    fn counts(self) -> bool {
        matches!(self, Self::Measure | Self::MeasureProfiled)
    }
}

impl<'a> Execution<'a> {
    /// Prepares a run.
    ///
    /// # Errors
    /// When a command cannot be filled.
    pub(super) fn new(
        shop: &'a Workshop<'a>,
        planned: &'a PlannedRun,
        env: Vec<(OsString, OsString)>,
        bundle: &'a BundleWriter,
        record: Record,
        scratch: Scratch,
    ) -> Result<Self, RunError> {
        let counters = planned
            .job
            .count
            .iter()
            .filter_map(|rule| Some((rule.name.clone(), Regex::new(&rule.pattern).ok()?)))
            .collect();
        let mut execution = Self {
            shop,
            planned,
            env,
            bundle,
            record,
            ledger: Ledger::new(Vec::new(), LogBudget::default()),
            scratch,
            since: Stopwatch::start(),
            profiling: None,
            counters,
            interim: Interim::default(),
            last: None,
            turn: 1,
            traces: Vec::new(),
        };
        let steps = execution.commands("")?;
        let steps = steps.into_iter().map(|(name, command)| (name, command.text())).collect();
        execution.ledger = Ledger::new(steps, LogBudget::default());
        Ok(execution)
    }

    /// Runs all of it.
    ///
    /// # Errors
    /// When a command could not be run at all, which is not the same as a command that failed.
    pub(super) fn run(&mut self) -> Result<Finished, RunError> {
        if let Some(ending) = self.set_up()? {
            let status = match ending.status {
                Status::Cancelled | Status::TimedOut => ending.status,
                _ => Status::SetupFailed,
            };
            return Ok(self.finished(status, ending.exit_code));
        }
        if !self.prepare_profiler()? {
            return Ok(self.finished(Status::SetupFailed, None));
        }
        for number in 1..=self.planned.job.warmups {
            if let Some(broken) = self.repetition(Purpose::WarmUp, number)? {
                return Ok(broken);
            }
        }
        for number in 1..=self.planned.job.repetitions {
            if let Some(broken) = self.repetition(self.purpose(number), number)? {
                return Ok(broken);
            }
        }
        Ok(self.finished(Status::Succeeded, Some(0)))
    }

    /// The last repetition runs under the profiler, and counts only when it is the only one.
    fn purpose(&self, number: u32) -> Purpose {
        let job = &self.planned.job;
        match (job.profiler.is_started() && number == job.repetitions, job.repetitions) {
            (false, _) => Purpose::Measure,
            (true, 1) => Purpose::MeasureProfiled,
            (true, _) => Purpose::Profile,
        }
    }

    /// `Some` when the set-up did not succeed.
    fn set_up(&mut self) -> Result<Option<Ending>, RunError> {
        let planned = self.planned;
        let Some(command) = planned.setup(&self.around(""))? else { return Ok(None) };
        self.shop.watch.say(&format!("{}: setup", planned.job.name));
        self.ledger.log_line("setup");
        let limit = self.time_left(None, Stopwatch::start());
        let setup = self.unmeasured(&command, None, limit)?;
        let ending = setup.ending;
        if ending.status == Status::Failed {
            self.explain_setup(&setup);
        }
        Ok((ending.status != Status::Succeeded).then_some(ending))
    }

    /// `Some` when the repetition did not succeed and the run ends with it.
    fn repetition(&mut self, purpose: Purpose, number: u32) -> Result<Option<Finished>, RunError> {
        if let Some(cause) = self.shop.stop.cause() {
            let code = 128 + if cause.as_str() == "SIGINT" { 2 } else { 15 };
            return Ok(Some(self.finished(Status::Cancelled, Some(code))));
        }
        let label = self.label(purpose, number);
        self.ledger.log_line(&label);
        let folder = self.scratch.output(&format!("output-{}", self.turn))?;
        self.turn += 1;
        let output = folder.to_string_lossy().into_owned();
        let places = Places { root: self.shop.root, output: &folder };
        let before = outputs::find(places, &self.watched())?;
        let started = Stopwatch::start();
        if let Some(command) = self.planned.prepare(&self.around(&output))? {
            let limit = self.time_left(None, started);
            let ending = self.unmeasured(&command, Some(&output), limit)?.ending;
            if ending.status != Status::Succeeded {
                self.note(
                    Level::Error,
                    "prepare_failed",
                    "`prepare` failed: the repetition did not run",
                );
                return Ok(Some(self.finished(ending.status, ending.exit_code)));
            }
        }
        let mut wrote = Wrote { places, before: before.clone(), traces: Vec::new() };
        let mut steps = Vec::new();
        let ended = self.steps(purpose, &output, &label, &mut steps, &mut wrote);
        let traces = wrote.traces;
        if purpose.is_profiled() {
            self.keep_traces();
        }
        if purpose == Purpose::Profile {
            return Ok(self.profiled_apart(ended?));
        }
        if purpose == Purpose::WarmUp {
            self.scratch.forget(&folder);
            return Ok(ended?.map(|ending| self.finished(ending.status, ending.exit_code)));
        }
        match ended {
            Ok(None) => {}
            Ok(Some(ending)) => {
                self.ledger.break_off(steps);
                return Ok(Some(self.finished(ending.status, ending.exit_code)));
            }
            Err(error) => {
                // What the steps before have cost is measured, whatever became of the next.
                self.ledger.break_off(steps);
                return Err(error);
            }
        }
        Ok(self.take_outputs(steps, &before, traces, folder))
    }

    /// Reads what the repetition left. Its numbers stay, even when that goes wrong. `Some` when
    /// something is missing that the run cannot be without.
    fn take_outputs(
        &mut self,
        steps: Vec<StepRun>,
        before: &Found,
        traces: Vec<Trace>,
        folder: PathBuf,
    ) -> Option<Finished> {
        let places = Places { root: self.shop.root, output: &folder };
        let read = guarded("reading what the job left", || self.read(places, before, &steps));
        let (found, besides) = read.flatten().unwrap_or_else(|error| {
            let mut besides = Besides::default();
            besides.notices.push(Notice {
                level: Level::Error,
                code: "outputs_not_read".to_owned(),
                message: error.to_string(),
            });
            (Found::default(), besides)
        });
        let broken = besides.is_broken();
        self.ledger.complete(steps, besides);
        // The outputs of one repetition are kept, not those of all: they may be large.
        if let Some(older) = self.last.replace(Left { outputs: found, traces, folder }) {
            self.scratch.forget(&older.folder);
        }
        broken.then(|| self.finished(Status::Failed, Some(0)))
    }

    fn read(
        &self,
        places: Places<'_>,
        before: &Found,
        steps: &[StepRun],
    ) -> Result<(Found, Besides), RunError> {
        let all = outputs::find(places, &self.watched())?;
        let fresh = all.clone().new_or_changed(before);
        let found = outputs::collected(&fresh, places, &self.planned.job.collect);
        let mut besides = outputs::count(&found, &self.counters)?;
        let last = steps.last().map(|step| step.name.clone()).unwrap_or_default();
        readings::read(&self.planned.job.read, &fresh, &all, &last, &mut besides);
        Ok((found, besides))
    }

    /// The run cannot go on: what was measured stays, and the reason with it.
    pub(super) fn break_down(&mut self, error: &RunError) -> Finished {
        self.note(Level::Error, "not_run", &error.to_string());
        let status = if self.ledger.has_measured() { Status::Failed } else { Status::SetupFailed };
        self.finished(status, None)
    }

    /// What the repetition under the profiler means for the run: it does not count, so its failure
    /// is a warning, unless the run itself is to end.
    fn profiled_apart(&mut self, broken: Option<Ending>) -> Option<Finished> {
        let name = self.planned.job.profiler.as_str();
        match broken {
            None => None,
            Some(ending) if ending.status == Status::Cancelled => {
                Some(self.finished(ending.status, ending.exit_code))
            }
            Some(ending) => {
                let code = ending.exit_code.map_or_else(String::new, |code| format!(" ({code})"));
                let message = format!(
                    "the repetition under {name} ended as {}{code}; it does not count for the numbers, \
                     and the profile may be missing or cut",
                    ending.status.words()
                );
                self.note(Level::Warning, "profiled_repetition_failed", &message);
                None
            }
        }
    }

    /// Takes what the profiler has written; without it the numbers stay what they are.
    fn keep_traces(&mut self) {
        match self.traces() {
            Ok(traces) => self.traces = traces,
            Err(error) => self.note(Level::Warning, "profile_not_read", &error.to_string()),
        }
    }

    /// Runs the steps of one repetition and adds them to `steps`; `Some` is how the one ended that
    /// broke it off.
    fn steps(
        &mut self,
        purpose: Purpose,
        output: &str,
        label: &str,
        steps: &mut Vec<StepRun>,
        wrote: &mut Wrote<'_>,
    ) -> Result<Option<Ending>, RunError> {
        let started = Stopwatch::start();
        let commands = self.commands(output)?;
        let several = commands.len() > 1;
        for (name, command) in commands {
            let what = if several { format!("{label}, step {name}") } else { label.to_owned() };
            if several {
                self.ledger.log_line(&what);
            }
            let limit = self.time_left(self.planned.job.timeout, started);
            let stats = self.scratch.stats_file()?;
            let plain = command;
            let command = if purpose.is_profiled() {
                self.under_profiler(&name, plain.clone())
            } else {
                plain.clone()
            };
            let command = self.step_command(&command, Some(output), Some(stats), limit);
            let begin = started.elapsed().as_secs_f64();
            let measurement = self.measured(&command, purpose, steps, &name, begin, &what)?;
            self.ledger.add_output(&measurement);
            self.explain_tox(&plain, &measurement);
            let ending = measurement.ending;
            if purpose == Purpose::Measure && self.planned.job.profiler == Profiler::SelfMade {
                wrote.by(&name, &self.watched())?;
            }
            if purpose.is_profiled() {
                self.convert(&name, &plain)?;
            }
            steps.push(StepRun { name, begin, measurement });
            if ending.status != Status::Succeeded {
                return Ok(Some(ending));
            }
        }
        Ok(None)
    }

    /// Runs one step; meanwhile the record on disk stays fresh and the watcher hears of progress.
    fn measured(
        &mut self,
        command: &StepCommand,
        purpose: Purpose,
        earlier: &[StepRun],
        name: &str,
        begin: f64,
        what: &str,
    ) -> Result<Measurement, RunError> {
        let Self { shop, ledger, interim, bundle, record, planned, .. } = self;
        let (stdout, stderr) = shop.watch.sinks();
        let sinks = Sinks { stdout: Some(stdout), stderr: Some(stderr) };
        let measurement = shop.meter.run(command, shop.stop, sinks, &mut |progress| {
            let elapsed = Duration::from_secs_f64(progress.elapsed);
            shop.watch.progress(elapsed, &super::interim::line(&planned.job.name, what, progress));
            if interim.is_due(shop.stop.cause().is_some()) {
                let mut running = earlier.to_vec();
                let measurement = progress.so_far();
                running.push(StepRun { name: name.to_owned(), begin, measurement });
                let running = purpose.counts().then_some(running);
                interim.write(bundle, record, ledger, running.as_deref(), shop);
            }
        })?;
        Ok(measurement)
    }

    /// Runs a command whose cost does not count.
    fn unmeasured(
        &mut self,
        command: &Command,
        output: Option<&str>,
        limit: Option<Duration>,
    ) -> Result<Measurement, RunError> {
        let command = self.step_command(command, output, None, limit);
        let (stdout, stderr) = self.shop.watch.sinks();
        let sinks = Sinks { stdout: Some(stdout), stderr: Some(stderr) };
        let measurement = self.shop.meter.run(&command, self.shop.stop, sinks, &mut |_| ())?;
        self.ledger.add_output(&measurement);
        Ok(measurement)
    }

    fn step_command(
        &self,
        command: &Command,
        output: Option<&str>,
        stats_file: Option<PathBuf>,
        timeout: Option<Duration>,
    ) -> StepCommand {
        let mut env = self.env.clone();
        let mut set = |name: &str, value: OsString| {
            env.retain(|(other, _)| other != name);
            env.push((name.into(), value));
        };
        if let Some(file) = &stats_file {
            set("PERFTRAIL_STATS", file.clone().into_os_string());
        }
        set("PERFTRAIL_RUN", self.record.run.id.clone().into());
        if let Some(sha) = &self.record.commit.sha {
            set("PERFTRAIL_COMMIT", sha.as_str().into());
        }
        if let Some(output) = output {
            set("PERFTRAIL_OUTPUT", output.into());
        }
        StepCommand {
            argv: command.argv(self.shop.shell).into_iter().map(OsString::from).collect(),
            cwd: self.shop.root.join(&self.planned.job.cwd),
            env,
            stats_file,
            timeout,
            log: LogBudget::default(),
            counters: self.counters.clone(),
        }
    }

    pub(super) fn commands(&self, output: &str) -> Result<Vec<(String, Command)>, RunError> {
        let steps = self.planned.steps(&self.around(output))?;
        Ok(steps.into_iter().map(|step| (step.name, step.run)).collect())
    }

    fn around<'b>(&'b self, output: &'b str) -> Surroundings<'b> {
        Surroundings {
            commit: self.record.commit.sha.as_ref().map(crate::model::names::CommitSha::as_str),
            event: self.shop.event,
            run: &self.record.run.id,
            run_number: self.shop.run_number,
            output: Some(output),
        }
    }

    /// The lesser of what is left of this limit and of the whole job's.
    pub(super) fn time_left(&self, limit: Option<Duration>, since: Stopwatch) -> Option<Duration> {
        let of_this = limit.map(|limit| limit.saturating_sub(since.elapsed()));
        let of_all =
            self.planned.job.total_timeout.map(|limit| limit.saturating_sub(self.since.elapsed()));
        match (of_this, of_all) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn label(&self, purpose: Purpose, number: u32) -> String {
        let job = &self.planned.job;
        match purpose {
            Purpose::WarmUp => format!("warm-up {number} of {}", job.warmups),
            Purpose::Measure => format!("repetition {number} of {}", job.repetitions),
            Purpose::MeasureProfiled | Purpose::Profile => format!(
                "repetition {number} of {}, under {}",
                job.repetitions,
                job.profiler.as_str()
            ),
        }
    }

    /// Patterns of all files that matter.
    fn watched(&self) -> Vec<String> {
        let job = &self.planned.job;
        let read = job.read.iter().map(|rule| rule.path.clone());
        let keep = job.keep.iter().map(|rule| rule.path.clone());
        let keep = keep.filter(|_| job.profiler != Profiler::None);
        job.collect.iter().cloned().chain(read).chain(keep).collect()
    }

    pub(super) fn note(&mut self, level: Level, code: &str, message: &str) {
        self.ledger.notice(Notice { level, code: code.to_owned(), message: message.to_owned() });
    }

    fn finished(&mut self, status: Status, exit_code: Option<i32>) -> Finished {
        let (outputs, mut traces) =
            self.last.take().map(|left| (left.outputs, left.traces)).unwrap_or_default();
        traces.append(&mut self.traces);
        Finished { status, exit_code, outputs, traces }
    }
}

/// The files that may be a profiler's, by the step that wrote them last.
struct Wrote<'a> {
    places: Places<'a>,
    before: Found,
    traces: Vec<Trace>,
}

impl Wrote<'_> {
    /// Adds what is new or has changed since the last look.
    fn by(&mut self, step: &str, patterns: &[String]) -> Result<(), RunError> {
        let now = outputs::find(self.places, patterns)?;
        for file in now.clone().new_or_changed(&self.before).files {
            self.traces.retain(|trace| trace.file.absolute != file.absolute);
            self.traces.push(Trace { file, step: Some(step.to_owned()), role: Role::Found });
        }
        self.before = now;
        Ok(())
    }
}
