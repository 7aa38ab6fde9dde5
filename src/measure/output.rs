//! The job's output: written through at once, counted, kept within its budget.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::MeasureError;
use super::command::Sinks;
use super::lines::{Counters, Lines, Piece};
use super::log::{BoundedLog, LogBudget};
use super::measurement::Output;
use super::sampler::thread;
use super::shared::{Shared, lock};

const CHUNK: usize = 64 * 1024;
/// After the last process has ended, a stream that is still open is read until nothing came for
/// this long.
const IDLE: Duration = Duration::from_millis(250);
/// And for no longer than this.
const DRAIN: Duration = Duration::from_secs(5);
/// And for no longer than this when somebody asked to stop.
const HASTE: Duration = Duration::from_secs(1);

/// Both streams of a job.
#[derive(Debug)]
pub(super) struct Streams {
    kept: Arc<Kept>,
    threads: Vec<JoinHandle<()>>,
}

/// What both streams' threads write into.
#[derive(Debug)]
struct Kept {
    state: Mutex<State>,
    counters: Counters,
    /// Every process has ended: whoever still holds a stream is none of the job's.
    draining: AtomicBool,
}

#[derive(Debug)]
struct State {
    log: BoundedLog,
    bytes: [u64; 2],
    lines: u64,
    counts: BTreeMap<String, u64>,
    truncated: bool,
    blocked: Duration,
    sink_failed: Option<String>,
}

impl Streams {
    /// Starts a thread for each pipe.
    pub(super) fn start(
        shared: &Arc<Shared>,
        pipes: [OwnedFd; 2],
        sinks: Sinks,
        budget: LogBudget,
        counters: Counters,
    ) -> Result<Self, MeasureError> {
        let state = State {
            log: BoundedLog::new(budget),
            bytes: [0, 0],
            lines: 0,
            counts: counters.zero(),
            truncated: false,
            blocked: Duration::ZERO,
            sink_failed: None,
        };
        let kept =
            Arc::new(Kept { state: Mutex::new(state), counters, draining: AtomicBool::new(false) });
        let mut threads = Vec::new();
        let names = ["stdout", "stderr"];
        let ends = pipes.into_iter().zip([sinks.stdout, sinks.stderr]);
        for (index, (pipe, sink)) in ends.enumerate() {
            let (kept, shared) = (Arc::clone(&kept), Arc::clone(shared));
            threads.push(thread(names[index], move || {
                Stream { index, kept: &kept, sink, lines: Lines::default() }.run(pipe);
                shared.thread_ends();
            })?);
        }
        Ok(Self { kept, threads })
    }

    /// What came so far.
    pub(super) fn so_far(&self) -> Output {
        let state = lock(&self.kept.state);
        Output {
            log: state.log.clone(),
            stdout_bytes: state.bytes[0],
            stderr_bytes: state.bytes[1],
            lines: state.lines,
            counts: state.counts.clone(),
            truncated: state.truncated,
        }
    }

    /// Whether something kept a stream open for longer than we waited.
    pub(super) fn is_truncated(&self) -> bool {
        lock(&self.kept.state).truncated
    }

    /// How long writes to the sinks took.
    pub(super) fn blocked(&self) -> Duration {
        lock(&self.kept.state).blocked
    }

    /// Why a sink was given up; `None` while all is well.
    pub(super) fn sink_failed(&self) -> Option<String> {
        lock(&self.kept.state).sink_failed.clone()
    }

    /// Every process has ended: reads what is left, and marks the output as truncated where a
    /// stream does not end. Where somebody asked to stop there is little time for that.
    pub(super) fn drain(&self, in_haste: bool) {
        self.kept.draining.store(true, Ordering::SeqCst);
        // A thread that cannot write to its sink hangs: it is left behind after a while.
        let limit = Instant::now() + if in_haste { HASTE } else { DRAIN + IDLE };
        while self.threads.iter().any(|thread| !thread.is_finished()) {
            if Instant::now() >= limit {
                lock(&self.kept.state).truncated = true;
                return;
            }
            std::thread::park_timeout(Duration::from_millis(2));
        }
    }
}

struct Stream<'a> {
    index: usize,
    kept: &'a Kept,
    sink: Option<Box<dyn Write + Send>>,
    lines: Lines,
}

impl Stream<'_> {
    fn run(&mut self, pipe: OwnedFd) {
        let mut pipe = File::from(pipe);
        let mut buffer = vec![0; CHUNK];
        let mut draining_since = None;
        loop {
            match self.wait(&pipe, &mut draining_since) {
                Wait::Ready => {}
                Wait::Again => continue,
                Wait::GiveUp => {
                    lock(&self.kept.state).truncated = true;
                    break;
                }
            }
            match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(got) => self.take(&buffer[..got]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.finish();
    }

    /// Waits for bytes; after the job has ended only for a while.
    fn wait(&self, pipe: &File, draining_since: &mut Option<Instant>) -> Wait {
        let ready = {
            let mut fds = [PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)];
            let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(IDLE.subsec_nanos()) };
            poll(&mut fds, Some(&timeout)).unwrap_or(0) > 0
        };
        let draining = self.kept.draining.load(Ordering::SeqCst);
        match (*draining_since, ready) {
            (Some(since), true) if since.elapsed() >= DRAIN => Wait::GiveUp,
            (Some(_), false) => Wait::GiveUp,
            (None, _) if draining => {
                *draining_since = Some(Instant::now());
                if ready { Wait::Ready } else { Wait::Again }
            }
            (_, true) => Wait::Ready,
            (_, false) => Wait::Again,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let began = Instant::now();
        let written =
            self.sink.as_mut().map(|sink| sink.write_all(bytes).and_then(|()| sink.flush()));
        let blocked = began.elapsed();
        let mut state = lock(&self.kept.state);
        if let Some(result) = written {
            state.blocked += blocked;
            if let Err(error) = result {
                // The job goes on and its output stays in the log.
                self.sink = None;
                state.sink_failed.get_or_insert(error.to_string());
            }
        }
        state.bytes[self.index] += bytes.len() as u64;
        let state = &mut *state;
        let ended = self.lines.ended;
        self.lines.feed(bytes, |piece| state.piece(piece, &self.kept.counters));
        state.lines += self.lines.ended - ended;
    }

    fn finish(&mut self) {
        let mut state = lock(&self.kept.state);
        let state = &mut *state;
        let ended = self.lines.ended;
        self.lines.finish(|piece| state.piece(piece, &self.kept.counters));
        state.lines += self.lines.ended - ended;
    }
}

impl State {
    fn piece(&mut self, piece: Piece<'_>, counters: &Counters) {
        self.log.push(piece.bytes);
        if piece.starts_line {
            counters.count(piece.bytes.trim_ascii_end(), &mut self.counts);
        }
    }
}

enum Wait {
    Ready,
    Again,
    GiveUp,
}
