//! What the threads of one measurement share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use super::collector::{Collector, Seen};
use super::own::OwnIo;
use super::procfs::Io;
use super::samples::Samples;
use super::system::{Exit, Usage};
use super::tree::Tree;
use crate::record::{Level, Notice};

/// Locks; a thread that panicked while it held the lock has left plain numbers behind.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The shared state of one measurement.
#[derive(Debug, Default)]
pub(super) struct Shared {
    started: OnceLock<(Instant, f64)>,
    /// The tree; `None` where it cannot be seen.
    pub(super) tree: Option<Mutex<Tree>>,
    /// What ended processes used.
    pub(super) reaped: Mutex<Reaped>,
    /// What the sampler saw.
    pub(super) samples: Mutex<Samples>,
    /// What the job reported.
    pub(super) collector: Mutex<Collector>,
    /// What people should know, beside what follows from the numbers.
    pub(super) notices: Mutex<Vec<Notice>>,
    /// I/O of our own threads.
    pub(super) own_io: Mutex<OwnIo>,
    wake: Mutex<Wake>,
    /// Wakes who sleeps until the end.
    over_signal: Condvar,
    /// Wakes who waits for memory to have grown.
    grown_signal: Condvar,
    /// The reaper is to give up on what is left.
    pub(super) abandoned: AtomicBool,
}

/// What threads wait for.
#[derive(Clone, Copy, Debug, Default)]
struct Wake {
    /// The measurement is over.
    over: bool,
    /// Memory has grown, and nobody has heeded it yet.
    grown: bool,
}

/// What ended processes used.
#[derive(Clone, Debug, Default)]
pub(super) struct Reaped {
    /// Σ usage of processes that we reaped, with all that they had waited for.
    pub(super) usage: Usage,
    /// Σ I/O of the same.
    pub(super) io: Io,
    /// How many of them did not let their I/O be read.
    pub(super) io_refused: u64,
    /// How many processes.
    pub(super) count: u64,
    /// How and when the command itself ended.
    pub(super) root: Option<(Exit, Instant)>,
    /// When the last process of the tree ended.
    pub(super) last: Option<Instant>,
}

impl Shared {
    /// For a measurement that is about to start; `tree` where it can be seen.
    pub(super) fn new(tree: Option<Tree>) -> Self {
        Self { tree: tree.map(Mutex::new), own_io: Mutex::new(OwnIo::start()), ..Self::default() }
    }

    /// The clock starts: just before the job is started.
    pub(super) fn start(&self) -> Instant {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        self.started.get_or_init(|| (Instant::now(), unix)).0
    }

    /// Seconds from the start to `at`; 0 before it.
    pub(super) fn seconds_to(&self, at: Instant) -> f64 {
        self.started
            .get()
            .map_or(0.0, |(start, _)| at.saturating_duration_since(*start).as_secs_f64())
    }

    /// Seconds from the start to now.
    pub(super) fn elapsed(&self) -> f64 {
        self.seconds_to(Instant::now())
    }

    /// The start, in seconds since 1970.
    pub(super) fn started_unix(&self) -> f64 {
        self.started.get().map_or(0.0, |(_, unix)| *unix)
    }

    /// Looks at the tree now, and makes points of it when `plot`.
    pub(super) fn look(&self, plot: bool) -> Option<Seen> {
        let mut tree = lock(self.tree.as_ref()?);
        // Totals of ended processes are read first: one that ends meanwhile is then missed for
        // this time, never counted twice.
        let ended = {
            let reaped = lock(&self.reaped);
            reaped.usage.user + reaped.usage.system
        };
        let tick = tree.refresh();
        let t = self.elapsed();
        drop(tree);
        let cpu_total = ended + ticks_to_seconds(tick.ticks);
        let mut samples = lock(&self.samples);
        samples.take(t, &tick, cpu_total);
        if plot {
            samples.plot();
        }
        let seen = Seen { cpu: samples.cpu_total, memory: tick.reached as f64 };
        drop(samples);
        Some(seen)
    }

    /// Adds something that people should know.
    pub(super) fn notice(&self, level: Level, code: &str, message: String) {
        lock(&self.notices).push(Notice { level, code: code.to_owned(), message });
    }

    /// Says that all threads that look at the job are to end.
    pub(super) fn end(&self) {
        lock(&self.wake).over = true;
        self.over_signal.notify_all();
        self.grown_signal.notify_all();
    }

    /// Says that memory has grown.
    pub(super) fn grows(&self) {
        lock(&self.wake).grown = true;
        self.grown_signal.notify_all();
    }

    /// Sleeps until `deadline`; `true` when the measurement is over before.
    pub(super) fn sleep_until(&self, deadline: Instant) -> bool {
        self.wait(&self.over_signal, deadline, |_| false)
    }

    /// Sleeps until `deadline`, or until memory has grown; `true` when the measurement is over
    /// before.
    pub(super) fn sleep_until_grown(&self, deadline: Instant) -> bool {
        self.wait(&self.grown_signal, deadline, |wake| std::mem::take(&mut wake.grown))
    }

    fn wait(
        &self,
        signal: &Condvar,
        deadline: Instant,
        enough: impl Fn(&mut Wake) -> bool,
    ) -> bool {
        let mut wake = lock(&self.wake);
        loop {
            if wake.over {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if enough(&mut wake) || left.is_zero() {
                return false;
            }
            wake = signal.wait_timeout(wake, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The same for a length of time.
    pub(super) fn sleep(&self, time: Duration) -> bool {
        self.sleep_until(Instant::now() + time)
    }

    /// Whether the reaper is to give up.
    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::SeqCst)
    }

    /// A thread of ours ends: its I/O is kept, else it would pass for the job's.
    pub(super) fn thread_ends(&self) {
        lock(&self.own_io).thread_ends();
    }
}

/// CPU time of the calling thread in seconds.
pub(super) fn thread_cpu() -> f64 {
    seconds(ClockId::ThreadCPUTime)
}

/// CPU time of this process, all threads, without children, in seconds.
pub(super) fn process_cpu() -> f64 {
    seconds(ClockId::ProcessCPUTime)
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Kernel ticks in seconds.
pub(super) fn ticks_to_seconds(ticks: u64) -> f64 {
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}
