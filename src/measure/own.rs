//! What perftrail itself reads and writes, to be taken off where the kernel only tells a sum.
//!
//! A process of another user does not let its I/O be read. But the kernel adds it to ours when
//! we reap it, so what is not our own threads' is the job's.

use std::fs;

use super::procfs::{self, Io};

/// The I/O of this process at the start, and of threads that have ended since.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnIo {
    whole_before: Option<Io>,
    threads_before: Io,
    ended: Io,
}

impl OwnIo {
    /// The counters now: before the job is started.
    pub(super) fn start() -> Self {
        Self { whole_before: whole(), threads_before: threads(), ended: Io::default() }
    }

    /// The calling thread is about to end.
    pub(super) fn thread_ends(&mut self) {
        if let Some(io) = read("/proc/thread-self/io") {
            self.ended = self.ended.plus(io);
        }
    }

    /// The I/O of all that was reaped since the start.
    pub(super) fn of_reaped(&self) -> Option<Io> {
        let whole = whole()?.minus(self.whole_before?);
        let own = threads().plus(self.ended).minus(self.threads_before);
        Some(whole.minus(own))
    }
}

fn whole() -> Option<Io> {
    read("/proc/self/io")
}

fn threads() -> Io {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return Io::default() };
    tasks
        .flatten()
        .filter_map(|task| procfs::io(&fs::read(task.path().join("io")).ok()?))
        .fold(Io::default(), Io::plus)
}

fn read(path: &str) -> Option<Io> {
    procfs::io(&fs::read(path).ok()?)
}

/// The greatest size this process ever had, in bytes: a child that it starts cannot show a
/// smaller `ru_maxrss`, because it begins as a copy.
pub(super) fn size() -> u64 {
    let status = fs::read("/proc/self/status").unwrap_or_default();
    procfs::kib_field(&status, "VmHWM:").unwrap_or(0)
}
