//! Follows the file that the job appends JSON lines to, and stamps each line when it is read.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use super::collector::Moment;
use super::shared::{Shared, lock, thread_cpu};
use crate::record::Level;
use crate::record::marks::LINE_MAX;

const CHUNK: usize = 64 * 1024;
/// No more than this is read in a second: a flood must not become our own load.
const BYTES_PER_SECOND: f64 = 8.0 * 1024.0 * 1024.0;
/// After the job has ended, when reading costs it nothing any more, for this long.
const DRAIN: Duration = Duration::from_secs(10);
/// Without news from the file system, the file is looked at this often.
const POLL: Duration = Duration::from_millis(100);
/// A job that writes without a pause wakes us no more often than this.
const REST: Duration = Duration::from_millis(5);
/// And we rest this many times longer than we worked.
const REST_FACTOR: f64 = 10.0;

/// Follows the file until the measurement is over and its end is reached.
pub(super) fn run(shared: &Shared, path: &Path) {
    Follower::new(path).run(shared);
    shared.thread_ends();
}

struct Follower {
    path: PathBuf,
    file: Option<File>,
    identity: (u64, u64),
    offset: u64,
    partial: Vec<u8>,
    skipping: bool,
    allowance: f64,
    refilled: Instant,
    refused: bool,
    buffer: Vec<u8>,
}

/// What one look at the file found.
#[derive(PartialEq)]
enum Found {
    /// Nothing new.
    Nothing,
    /// Something; there may be more.
    More,
    /// More than may be read now.
    TooMuch,
}

impl Follower {
    fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            file: None,
            identity: (0, 0),
            offset: 0,
            partial: Vec::new(),
            skipping: false,
            allowance: BYTES_PER_SECOND,
            refilled: Instant::now(),
            refused: false,
            buffer: vec![0; CHUNK],
        }
    }

    fn run(&mut self, shared: &Shared) {
        let mut news = News::of(&self.path);
        loop {
            let before = thread_cpu();
            let found = self.read_some(shared);
            let worked = Duration::from_secs_f64((thread_cpu() - before) * REST_FACTOR);
            let over = match found {
                Found::More => shared.sleep(worked.max(REST)),
                Found::TooMuch => shared.sleep(POLL),
                Found::Nothing => {
                    news.wait(&self.path);
                    shared.sleep(Duration::ZERO)
                }
            };
            if over {
                break;
            }
        }
        self.drain(shared);
    }

    /// The job has ended: reads on to the end, within limits.
    fn drain(&mut self, shared: &Shared) {
        let limit = Instant::now() + DRAIN;
        self.allowance = f64::INFINITY;
        while Instant::now() < limit && self.read_some(shared) == Found::More {}
        if !self.partial.is_empty() && !self.skipping {
            // A last line without a newline is a line too.
            let line = std::mem::take(&mut self.partial);
            give(shared, &line);
        }
        let size = self.file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |m| m.len());
        let left = size.saturating_sub(self.offset);
        if left > 0 {
            shared.notice(
                Level::Warning,
                "stats_unread",
                format!(
                    "the job wrote to PERFTRAIL_STATS faster than it is read; the last {left} bytes were not read"
                ),
            );
        }
    }

    fn read_some(&mut self, shared: &Shared) -> Found {
        let now = Instant::now();
        let passed = now.duration_since(self.refilled).as_secs_f64();
        self.refilled = now;
        if self.allowance.is_finite() {
            let more = self.allowance + passed * BYTES_PER_SECOND;
            self.allowance = more.min(2.0 * BYTES_PER_SECOND);
        }
        self.follow_path(shared);
        let Some(file) = &mut self.file else { return Found::Nothing };
        if self.allowance < CHUNK as f64 {
            return Found::TooMuch;
        }
        let Ok(got @ 1..) = file.read(&mut self.buffer) else { return Found::Nothing };
        self.allowance -= got as f64;
        self.offset += got as u64;
        let buffer = std::mem::take(&mut self.buffer);
        self.feed(shared, &buffer[..got]);
        self.buffer = buffer;
        Found::More
    }

    /// Opens the file when it appears, and anew when it was replaced or cut.
    fn follow_path(&mut self, shared: &Shared) {
        let Ok(there) = fs::symlink_metadata(&self.path) else { return };
        let identity = (there.dev(), there.ino());
        if self.file.is_some() && identity == self.identity && there.len() >= self.offset {
            return;
        }
        if !there.is_file() {
            if !self.refused {
                self.refused = true;
                shared.notice(
                    Level::Warning,
                    "stats_not_a_file",
                    "PERFTRAIL_STATS is no regular file any more, so it is not read; \
                     append lines to the file that is there"
                        .to_owned(),
                );
            }
            return;
        }
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(i32::try_from(flags.bits()).unwrap_or(0))
            .open(&self.path);
        // It may have been replaced between the look and the opening: look at what was opened.
        if let Ok(file) = opened
            && let Ok(meta) = file.metadata()
            && meta.is_file()
        {
            self.identity = (meta.dev(), meta.ino());
            self.file = Some(file);
            self.offset = 0;
            self.partial.clear();
            self.skipping = false;
        }
    }

    fn feed(&mut self, shared: &Shared, mut bytes: &[u8]) {
        while let Some(at) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(at);
            bytes = rest.get(1..).unwrap_or_default();
            if self.skipping {
                self.skipping = false;
            } else if self.partial.len() + line.len() > LINE_MAX {
                lock(&shared.collector).long_line();
            } else if self.partial.is_empty() {
                give(shared, line);
            } else {
                self.partial.extend_from_slice(line);
                give(shared, &self.partial);
            }
            self.partial.clear();
        }
        if self.skipping {
            return;
        }
        self.partial.extend_from_slice(bytes);
        if self.partial.len() > LINE_MAX {
            lock(&shared.collector).long_line();
            self.partial.clear();
            self.skipping = true;
        }
    }
}

fn give(shared: &Shared, line: &[u8]) {
    let moment = Moment { now: shared.elapsed(), started: shared.started_unix() };
    // A line that reports no phase needs no look at the tree.
    lock(&shared.collector).line(line, moment, &mut || shared.look(false));
}

/// News from the file system, where it gives any.
struct News {
    #[cfg(target_os = "linux")]
    inotify: Option<std::os::fd::OwnedFd>,
    #[cfg(target_os = "linux")]
    watching: bool,
}

#[cfg(target_os = "linux")]
impl News {
    fn of(path: &Path) -> Self {
        use rustix::fs::inotify::{CreateFlags, init};
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        let mut news = Self { inotify, watching: false };
        news.watch(path);
        news
    }

    fn watch(&mut self, path: &Path) {
        use rustix::fs::inotify::{WatchFlags, add_watch};
        let flags = WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE | WatchFlags::DONT_FOLLOW;
        self.watching =
            self.inotify.as_ref().is_some_and(|inotify| add_watch(inotify, path, flags).is_ok());
    }

    /// Waits for a change of the file, or for the time of the next look.
    fn wait(&mut self, path: &Path) {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        if !self.watching {
            self.watch(path);
        }
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(POLL.subsec_nanos()) };
        match &self.inotify {
            Some(inotify) if self.watching => {
                let mut fds = [PollFd::new(inotify, PollFlags::IN)];
                if poll(&mut fds, Some(&timeout)).is_ok_and(|ready| ready > 0) {
                    // What changed does not matter: the file is looked at anyway.
                    let mut events = [0_u8; 4096];
                    while rustix::io::read(inotify, &mut events).is_ok_and(|got| got > 0) {}
                }
            }
            _ => std::thread::sleep(POLL),
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl News {
    fn of(_path: &Path) -> Self {
        Self {}
    }

    #[expect(clippy::unused_self, reason = "the Linux form has a state")]
    fn wait(&mut self, _path: &Path) {
        std::thread::sleep(POLL / 10);
    }
}
