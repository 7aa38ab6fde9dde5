//! Runs one step: starts the threads, ends the job when it must end, and gathers the numbers.

use std::io;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::MeasureError;
use super::command::{MeterKind, MeterOptions, Sinks, StepCommand};
use super::kill::{self, Act, Escalation, Why};
use super::lines::Counters;
use super::measurement::{Ending, Measurement, Output};
use super::output::Streams;
use super::reaper::{self, Event};
use super::sampler::{self, thread};
use super::shared::{Shared, lock};
use super::start::{Before, Refusal, adopt_orphans, check, child};
use super::stats_file;
use super::stop::{Stop, StopCause};
use super::tree::Tree;
use crate::record::Level;

/// While a job is killed, it is looked for again after this.
const KILL_AGAIN: Duration = Duration::from_millis(20);
/// What is not gone after this long cannot be killed.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// One measurement at a time: the reaper takes every child of the process.
static BUSY: AtomicBool = AtomicBool::new(false);

struct Turn;

impl Turn {
    fn take() -> Result<Self, MeasureError> {
        BUSY.compare_exchange(false, true, Ordering::SeqCst, Ordering::SeqCst)
            .map(|_| Self)
            .map_err(|_| MeasureError::Busy)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        BUSY.store(false, Ordering::SeqCst);
    }
}

/// What is going on, for whoever shows it.
#[derive(Debug)]
pub struct Progress<'a> {
    /// Seconds since the start.
    pub elapsed: f64,
    /// Memory of the tree, resident sizes summed, in bytes; `None` where it cannot be seen.
    pub memory: Option<f64>,
    /// CPU time of the tree so far in seconds; `None` where it cannot be seen.
    pub cpu_time: Option<f64>,
    /// Processes now; `None` where they cannot be seen.
    pub processes: Option<u32>,
    /// The phase that began last and has not ended.
    pub phase: Option<String>,
    run: &'a Running<'a>,
}

impl Progress<'_> {
    /// All that is known by now, in the shape of a measurement whose status is `Running`.
    pub fn so_far(&self) -> Measurement {
        self.run.measurement(None)
    }
}

/// A step that runs.
#[derive(Debug)]
pub(super) struct Running<'a> {
    pub(super) kind: MeterKind,
    pub(super) options: &'a MeterOptions,
    pub(super) command: &'a StepCommand,
    pub(super) shared: Arc<Shared>,
    pub(super) before: Before,
    pub(super) streams: Option<Streams>,
    root: i32,
    root_ended: bool,
    plan: Option<Escalation>,
    /// Since when it is being killed.
    killing: Option<Instant>,
    killed_root: bool,
    stops_seen: u32,
}

/// How it came to its end, beyond what the kernel tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) why: Option<Why>,
    pub(super) killed_root: bool,
}

pub(super) fn run(
    kind: MeterKind,
    options: &MeterOptions,
    command: &StepCommand,
    stop: &Stop,
    sinks: Sinks,
    progress: &mut dyn FnMut(&Progress<'_>),
) -> Result<Measurement, MeasureError> {
    let turn = Turn::take()?;
    check(command)?;
    let (events_in, events) = mpsc::channel();
    let (child, pipes) = child(command)?;
    let counters = Counters::new(&command.counters)?;
    adopt_orphans(kind, true);
    let shared = Arc::new(Shared::new(kind.sees_the_tree().then(Tree::new)));
    let mut running = Running {
        kind,
        options,
        command,
        shared: Arc::clone(&shared),
        before: Before::read(options),
        streams: None,
        root: 0,
        root_ended: false,
        plan: None,
        killing: None,
        killed_root: false,
        stops_seen: stop.requests(),
    };
    if let Some(cause) = stop.cause() {
        return Ok(running.never_started(None, "it was stopped before it began", Some(cause)));
    }
    running.streams = Some(Streams::start(&shared, pipes, sinks, command.log, counters)?);
    let reaper = start_reaper(child, &shared, &events_in)?;
    let started = match events.recv() {
        Ok(Event::Started(started)) => started,
        _ => Err(io::ErrorKind::Other.into()),
    };
    let measured = match started {
        Err(error) => running.not_executed(error),
        Ok(root) => {
            running.root = root;
            let threads = running.start_watchers();
            if threads.is_err() {
                running.plan = Some(Escalation::at_once(Instant::now()));
            }
            wake_on_stop(stop, &events_in);
            running.watch(&events, stop, progress);
            stop.on_request(None);
            threads.map(|threads| running.finish(threads))
        }
    };
    if !shared.is_abandoned() {
        let _ = reaper.join();
    }
    adopt_orphans(kind, false);
    drop(turn);
    measured
}

fn start_reaper(
    child: Command,
    shared: &Arc<Shared>,
    events: &Sender<Event>,
) -> Result<JoinHandle<()>, MeasureError> {
    let (shared, events) = (Arc::clone(shared), events.clone());
    thread("reaper", move || reaper::run(child, &shared, &events))
}

fn wake_on_stop(stop: &Stop, events: &Sender<Event>) {
    let events = events.clone();
    stop.on_request(Some(Box::new(move |_| {
        let _ = events.send(Event::Stop);
    })));
}

fn processes(count: usize) -> String {
    if count == 1 { "1 process".to_owned() } else { format!("{count} processes") }
}

impl Running<'_> {
    /// Starts the threads that look at the job.
    fn start_watchers(&self) -> Result<Vec<JoinHandle<()>>, MeasureError> {
        let mut threads = Vec::new();
        if self.kind.sees_the_tree() {
            let (shared, options) = (Arc::clone(&self.shared), self.options.clone());
            threads.push(thread("sampler", move || sampler::run(&shared, &options))?);
            if self.options.pss {
                let shared = Arc::clone(&self.shared);
                threads.push(thread("sweeper", move || sampler::run_pss(&shared))?);
            }
        }
        if let Some(path) = self.command.stats_file.clone() {
            let shared = Arc::clone(&self.shared);
            threads.push(thread("follower", move || stats_file::run(&shared, &path))?);
        }
        Ok(threads)
    }

    /// Waits for the job's end, and brings it about when it is due.
    fn watch(
        &mut self,
        events: &Receiver<Event>,
        stop: &Stop,
        progress: &mut dyn FnMut(&Progress<'_>),
    ) {
        let start = Instant::now();
        let mut report_at = start + self.options.progress;
        let time_out_at = self.command.timeout.and_then(|limit| start.checked_add(limit));
        loop {
            let now = Instant::now();
            match events.recv_timeout(self.wake_at(report_at, time_out_at).duration_since(now)) {
                Ok(Event::TreeEnded) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(Event::RootEnded) => self.root_ended(),
                Ok(Event::Started(_) | Event::Stop) | Err(RecvTimeoutError::Timeout) => {}
            }
            let now = Instant::now();
            self.heed(stop, now);
            if time_out_at.is_some_and(|at| at <= now) && !self.root_ended && self.plan.is_none() {
                self.plan = Some(Escalation::timed_out(now, self.options));
            }
            if !self.act(now) {
                return;
            }
            if report_at <= now {
                report_at = now + self.options.progress;
                progress(&self.progress());
            }
        }
    }

    fn wake_at(&self, report_at: Instant, time_out_at: Option<Instant>) -> Instant {
        let mut at = report_at;
        if let Some(time_out_at) = time_out_at
            && !self.root_ended
            && self.plan.is_none()
        {
            at = at.min(time_out_at);
        }
        if let Some(next) = self.plan.as_ref().and_then(Escalation::next) {
            at = at.min(next);
        }
        if self.killing.is_some() {
            at = at.min(Instant::now() + KILL_AGAIN);
        }
        at
    }

    fn root_ended(&mut self) {
        self.root_ended = true;
        if self.plan.is_none() {
            self.plan = Some(Escalation::left_behind(Instant::now(), self.options));
        }
    }

    /// Looks whether somebody asked to stop since.
    fn heed(&mut self, stop: &Stop, now: Instant) {
        let requests = stop.requests();
        let Some(cause) = stop.cause() else { return };
        while self.stops_seen < requests {
            self.stops_seen += 1;
            let stopping = Escalation::stopped(now, cause, self.options);
            self.plan = Some(match self.plan.take() {
                Some(mut plan) if matches!(plan.why, Why::Stopped(_)) => {
                    plan.hurry(now);
                    plan
                }
                Some(plan) if plan.why == Why::TimedOut => plan.or_sooner(stopping),
                _ => stopping,
            });
        }
    }

    /// Does what is due; `false` when the job cannot be ended at all.
    fn act(&mut self, now: Instant) -> bool {
        while let Some(act) = self.plan.as_mut().and_then(|plan| plan.due(now)) {
            if self.plan.as_ref().is_some_and(|plan| plan.why == Why::LeftBehind)
                && self.killing.is_none()
            {
                self.tell_left_behind(act);
            }
            match act {
                Act::Send(signal) => kill::send(&self.shared, self.group(), signal),
                Act::Kill => {
                    self.killing = Some(now);
                    self.killed_root |= !self.root_ended;
                }
            }
        }
        let Some(since) = self.killing else { return true };
        kill::kill(&self.shared, self.group());
        if now.duration_since(since) < KILL_LIMIT {
            return true;
        }
        let left = processes(kill::left(&self.shared));
        self.shared.abandoned.store(true, Ordering::SeqCst);
        self.shared.notice(
            Level::Error,
            "survivors",
            format!("{left} of the job could not be killed; end what is left by hand"),
        );
        false
    }

    /// The job's process group, while its number is surely its own.
    fn group(&self) -> Option<i32> {
        (!self.root_ended).then_some(self.root)
    }

    fn tell_left_behind(&self, act: Act) {
        if matches!(act, Act::Send(_)) {
            let left = processes(kill::left(&self.shared));
            let grace = self.options.daemon_grace.as_secs_f64();
            self.shared.notice(
                Level::Warning,
                "left_behind",
                format!(
                    "{left} still ran {grace} s after the command had ended, and had to be ended; \
                     let the command wait for what belongs to it"
                ),
            );
        }
    }

    fn progress(&self) -> Progress<'_> {
        // One lock after the other: whoever takes a mark looks at the samples while it holds the
        // collector.
        let phase = lock(&self.shared.collector).phase().map(str::to_owned);
        let samples = lock(&self.shared.samples);
        let sees = self.kind.sees_the_tree() && samples.count > 0;
        Progress {
            elapsed: self.shared.elapsed(),
            memory: sees.then_some(samples.last.rss as f64),
            cpu_time: sees.then_some(samples.cpu_total),
            processes: sees.then_some(samples.last.processes),
            phase,
            run: self,
        }
    }

    /// No process is left: reads on to the end of what the job wrote, and sums up.
    fn finish(self, threads: Vec<JoinHandle<()>>) -> Measurement {
        self.shared.end();
        let why = self.plan.as_ref().map(|plan| plan.why).filter(|why| *why != Why::LeftBehind);
        if let Some(streams) = &self.streams {
            streams.drain(matches!(why, Some(Why::Stopped(_))));
        }
        for thread in threads {
            let _ = thread.join();
        }
        self.measurement(Some(End { why, killed_root: self.killed_root }))
    }

    /// The program could not be executed, or no process could be made for it.
    fn not_executed(&self, error: io::Error) -> Result<Measurement, MeasureError> {
        let Some(refusal) = Refusal::of(&error) else {
            return Err(MeasureError::System { what: "a process", source: error });
        };
        let program = self.command.argv.first().map(|name| name.to_string_lossy());
        let message = refusal.message(&program.unwrap_or_default(), &error);
        self.shared.notice(Level::Error, refusal.code(), message);
        let why = "the program could not be started";
        Ok(self.never_started(Some(refusal.exit_code()), why, None))
    }

    fn never_started(
        &self,
        exit_code: Option<i32>,
        why: &'static str,
        stopped: Option<StopCause>,
    ) -> Measurement {
        let mut measurement = self.empty(why);
        measurement.ending = Ending {
            exit_code,
            signal: None,
            status: if stopped.is_some() {
                crate::model::status::Status::Cancelled
            } else {
                crate::model::status::Status::Failed
            },
        };
        measurement
    }

    /// What the job printed so far.
    pub(super) fn output(&self) -> Output {
        self.streams.as_ref().map_or_else(|| Output::empty(self.command.log), Streams::so_far)
    }
}
