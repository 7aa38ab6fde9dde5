//! The threads that look at the tree: one at every tick, one now and then for proportional memory.

use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::command::MeterOptions;
use super::procfs;
use super::samples::next_interval;
use super::shared::{Shared, lock, thread_cpu};
use super::tree::{Target, starttime};

/// For how long ticks come at the first, shorter interval.
const FIRST: Duration = Duration::from_secs(1);

/// Looks at the tree until the measurement is over.
pub(super) fn run(shared: &Shared, options: &MeterOptions) {
    let start = Instant::now();
    let mut deadline = start;
    let mut late = false;
    let mut cpu = thread_cpu();
    loop {
        if let Some(seen) = shared.look(true) {
            lock(&shared.collector).memory(seen.memory);
        }
        let base = if start.elapsed() < FIRST { options.first_interval } else { options.interval };
        // From tick to tick: falling asleep and waking up cost as much as a small tree does.
        let before = std::mem::replace(&mut cpu, thread_cpu());
        let (interval, grown) = {
            let mut samples = lock(&shared.samples);
            samples.count += 1;
            samples.late += u64::from(late);
            samples.costs.take(cpu - before);
            samples.sampler_cpu = cpu;
            samples.interval = next_interval(base.as_secs_f64(), samples.costs.moving_mean());
            (Duration::from_secs_f64(samples.interval), samples.has_grown())
        };
        if grown {
            shared.grows();
        }
        // Deadlines are absolute. A tick that is missed is left out: no burst makes up for it.
        deadline += interval;
        let now = Instant::now();
        if deadline < now {
            deadline = now + interval;
        }
        if shared.sleep_until(deadline) {
            break;
        }
        late = deadline.elapsed() > interval.min(options.interval) / 2;
    }
    shared.thread_ends();
}

/// Time between two sweeps when memory does not grow. Of a job whose memory never rests a sweep
/// counts after that time, although sizes changed meanwhile.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// Time between two looks at how long threads waited for a CPU.
const QUEUE_EVERY: Duration = Duration::from_secs(1);
/// A sweep waits for this many times the last one's cost: at most 0.8 % of a core.
const SWEEP_REST: u32 = 125;
/// Sizes that together change by less than one part in so many have not changed.
const TORN_SHARE: u64 = 100;
/// Nor have those that together change by less than this, in bytes: the kernel counts in batches.
const TORN_MIN: u64 = 1 << 20;
/// Threads whose wait for a CPU is read, at most.
const THREADS_MAX: usize = 256;

/// Reads proportional memory within its budget until the measurement is over.
pub(super) fn run_pss(shared: &Arc<Shared>) {
    be_nice();
    let mut sweep_at = Instant::now();
    let mut allowed_at = sweep_at;
    let mut queue = RunQueue::default();
    let mut queue_at = sweep_at + QUEUE_EVERY;
    let mut cpu = thread_cpu();
    while !shared.sleep_until_grown(sweep_at.min(queue_at).max(allowed_at)) {
        // Whoever is woken because memory has grown rests all the same.
        if shared.sleep_until(allowed_at) {
            break;
        }
        let now = Instant::now();
        let grown = lock(&shared.samples).has_grown();
        if grown || sweep_at <= now {
            sweep(shared);
            sweep_at = now + SWEEP_EVERY;
        } else if queue_at <= now {
            queue.read(shared);
            queue_at = now + QUEUE_EVERY;
        }
        // From sweep to sweep, so that falling asleep and waking up count.
        let before = std::mem::replace(&mut cpu, thread_cpu());
        lock(&shared.samples).pss.cpu = cpu;
        allowed_at = now + Duration::from_secs_f64(cpu - before) * SWEEP_REST;
    }
    shared.thread_ends();
}

/// Lowers the calling thread's priority, so that the job goes first.
fn be_nice() {
    #[cfg(target_os = "linux")]
    {
        let thread = rustix::thread::gettid();
        // Where it is refused the thread is as important as before: no harm.
        let _ = rustix::process::setpriority_process(Some(thread), 5);
    }
}

fn targets(shared: &Shared) -> Vec<Target> {
    shared.tree.as_ref().map(|tree| lock(tree).targets().collect()).unwrap_or_default()
}

/// Reads the proportional memory of all processes. Of one alone the resident size tells it.
fn sweep(shared: &Shared) {
    {
        let mut samples = lock(&shared.samples);
        samples.pss.swept_size = samples.last.rss;
        if samples.last.processes < 2 {
            return;
        }
    }
    let began = shared.elapsed();
    let swept = Swept::read(targets(shared));
    if swept.read.is_empty() {
        return;
    }
    let t = f64::midpoint(began, shared.elapsed());
    let is_torn = swept.is_torn();
    let mut samples = lock(&shared.samples);
    if is_torn && t - samples.pss.taken_at < SWEEP_EVERY.as_secs_f64() {
        samples.pss.torn = samples.pss.torn.max(Some(swept.sum));
        // Memory counts as grown, and the next sweep comes as soon as it may.
        samples.pss.swept_size = 0;
        return;
    }
    samples.take_pss(t, swept.sum, swept.refused);
}

/// What one sweep has read.
#[derive(Default)]
struct Swept {
    /// Σ proportional memory, in bytes.
    sum: u64,
    /// Σ resident size of those that were read, before any of them was.
    before: u64,
    /// Σ resident size of those that were read, as each was read.
    resident: u64,
    /// Those that were read.
    read: Vec<i32>,
    /// How many could not be read.
    refused: u64,
}

impl Swept {
    fn read(targets: Vec<Target>) -> Self {
        let mut swept = Self::default();
        // All before any: one may grow until its turn comes, and share what others had alone.
        let sizes: Vec<u64> = targets.iter().map(|target| resident(target.pid)).collect();
        for (target, before) in targets.into_iter().zip(sizes) {
            let pid = target.pid;
            if starttime(pid) != Some(target.starttime) {
                continue;
            }
            if let Ok(text) = fs::read(format!("/proc/{pid}/smaps_rollup")) {
                swept.sum += procfs::kib_field(&text, "Pss:").unwrap_or(0);
                swept.resident += procfs::kib_field(&text, "Rss:").unwrap_or(0);
                swept.before += before;
                swept.read.push(pid);
            } else {
                // Gone meanwhile, or of another user: then its resident size stands in.
                let status = fs::read(format!("/proc/{pid}/status")).unwrap_or_default();
                if let Some(rss) = procfs::kib_field(&status, "VmRSS:") {
                    swept.sum += rss;
                    swept.refused += 1;
                }
            }
        }
        swept
    }

    /// Whether sizes changed while it read one process after the other. What a process shares with
    /// others then counts whole in one and in part in the others, and the sum is that of no moment.
    fn is_torn(&self) -> bool {
        let now: u64 = self.read.iter().map(|pid| resident(*pid)).sum();
        let allowed = TORN_MIN.max(self.resident / TORN_SHARE);
        [self.before, self.resident].iter().any(|then| now.abs_diff(*then) > allowed)
    }
}

/// The resident size of a process, in bytes; 0 of one that is gone.
fn resident(pid: i32) -> u64 {
    let pages = |text: Vec<u8>| procfs::words(&text).nth(1).and_then(procfs::number::<u64>);
    let pages = fs::read(format!("/proc/{pid}/statm")).ok().and_then(pages);
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

/// How long threads ran and waited for a CPU, as last seen of each.
#[derive(Default)]
struct RunQueue {
    ended: (u64, u64),
    seen: std::collections::HashMap<(i32, i32), (u64, u64)>,
}

impl RunQueue {
    fn read(&mut self, shared: &Shared) {
        let mut now = std::collections::HashMap::new();
        'all: for target in targets(shared) {
            let Ok(tasks) = fs::read_dir(format!("/proc/{}/task", target.pid)) else { continue };
            for task in tasks.flatten() {
                if now.len() >= THREADS_MAX {
                    break 'all;
                }
                let Some(tid) = task.file_name().to_str().and_then(|name| name.parse().ok()) else {
                    continue;
                };
                if let Ok(text) = fs::read(task.path().join("schedstat"))
                    && let Some(times) = procfs::schedstat(&text)
                {
                    now.insert((target.pid, tid), times);
                }
            }
        }
        for (key, times) in self.seen.drain() {
            if !now.contains_key(&key) {
                self.ended.0 += times.0;
                self.ended.1 += times.1;
            }
        }
        let sum = now.values().fold(self.ended, |sum, times| (sum.0 + times.0, sum.1 + times.1));
        self.seen = now;
        lock(&shared.samples).pss.run_queue = Some((sum.0 as f64 / 1e9, sum.1 as f64 / 1e9));
    }
}

/// Starts a named thread of ours.
pub(super) fn thread(
    name: &str,
    run: impl FnOnce() + Send + 'static,
) -> Result<thread::JoinHandle<()>, super::MeasureError> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .map_err(|source| super::MeasureError::System { what: "a thread", source })
}
