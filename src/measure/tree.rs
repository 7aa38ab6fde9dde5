//! The job's process tree as `/proc` shows it now.
//!
//! A process is known by pid and start time. Files of known processes stay open: reading them
//! again costs a third of opening them, and they can never show another process.

use std::collections::HashSet;
use std::fs;

use super::process::Proc;
use super::procfs::{self, Io, Stat};

/// Clients that let others do the work: their CPU time says nothing about the job's.
const CLIENTS: [&str; 12] = [
    "docker",
    "podman",
    "nerdctl",
    "srun",
    "sbatch",
    "salloc",
    "ssh",
    "kubectl",
    "qsub",
    "bsub",
    "mosh",
    "apptainer-remote",
];

/// Files that may stay open at once, over all processes.
const OPEN_FILES_MAX: usize = 600;

/// What one look at the tree gives. Zombies count for CPU time only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tick {
    /// Σ resident size, in bytes.
    pub(super) rss: u64,
    /// The greatest sum that can be shown to have been reached since the last look: Σ resident
    /// size, or one process at its high-water mark beside what the others held throughout.
    pub(super) reached: u64,
    /// Σ high-water mark.
    pub(super) marks: u64,
    /// The greatest high-water mark of one process.
    pub(super) largest: u64,
    /// Processes.
    pub(super) processes: u32,
    /// Threads.
    pub(super) threads: u32,
    /// CPU ticks of live processes, their waited-for children included.
    pub(super) ticks: u64,
    /// Σ over every process ever seen of its own ticks when last seen.
    pub(super) own_ticks: u64,
    /// Faults without I/O of live processes.
    pub(super) minor_faults: u64,
    /// Faults with I/O of live processes.
    pub(super) major_faults: u64,
}

/// A process as a signal's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Target {
    /// The process id.
    pub(super) pid: i32,
    /// When it began: with the pid, its identity.
    pub(super) starttime: u64,
    /// Its process group.
    pub(super) pgrp: i32,
}

/// The tree: descendants of this process without itself and without children it had before.
#[derive(Debug)]
pub(super) struct Tree {
    monitor: i32,
    spawner: i32,
    page: u64,
    /// Without `children` files, or as PID 1, all of `/proc` is looked through.
    scan: bool,
    /// Parents stand before their children.
    procs: Vec<Proc>,
    known: HashSet<i32>,
    strangers: HashSet<i32>,
    gone_ticks: u64,
    client: Option<&'static str>,
    buffer: Vec<u8>,
    open_files: usize,
}

impl Tree {
    /// The tree below this process, before anything was started: children it has already are
    /// strangers. `spawner` is the thread that will start the job.
    pub(super) fn new() -> Self {
        let monitor = rustix::process::getpid().as_raw_nonzero().get();
        let has_children_files = fs::read(format!("/proc/self/task/{monitor}/children")).is_ok();
        let mut tree = Self {
            monitor,
            spawner: monitor,
            page: rustix::param::page_size() as u64,
            scan: monitor == 1 || !has_children_files,
            procs: Vec::new(),
            known: HashSet::new(),
            strangers: HashSet::new(),
            gone_ticks: 0,
            client: None,
            buffer: Vec::new(),
            open_files: 0,
        };
        tree.strangers = tree.children_of_monitor();
        tree
    }

    /// Tells which thread starts the job: its children are in that thread's file.
    pub(super) fn set_spawner(&mut self, thread: i32) {
        self.spawner = thread;
    }

    /// That child has ended. Whether it was there before the job; its pid may be another's from
    /// now on.
    pub(super) fn forget_stranger(&mut self, pid: i32) -> bool {
        self.strangers.remove(&pid)
    }

    /// How many children were there before the job.
    pub(super) fn strangers(&self) -> usize {
        self.strangers.len()
    }

    /// Whether nothing of the job was there at the last look, not even a zombie.
    pub(super) fn is_empty(&self) -> bool {
        self.procs.is_empty()
    }

    /// The client program that was seen in the tree, if any.
    pub(super) fn client(&self) -> Option<&'static str> {
        self.client
    }

    fn children_of_monitor(&self) -> HashSet<i32> {
        let mut found = HashSet::new();
        let Ok(entries) = fs::read_dir("/proc") else { return found };
        for pid in entries.flatten().filter_map(|entry| pid_of(&entry)) {
            if let Ok(text) = fs::read(format!("/proc/{pid}/stat"))
                && let Some(stat) = procfs::stat(&text)
                && stat.ppid == self.monitor
            {
                found.insert(pid);
            }
        }
        found
    }

    /// Looks at every process again, finds new ones, drops those that are gone.
    pub(super) fn refresh(&mut self) -> Tick {
        self.update_known();
        if self.scan {
            self.discover_by_scan();
        } else {
            self.discover_by_children();
        }
        self.sum()
    }

    fn update_known(&mut self) {
        let mut procs = std::mem::take(&mut self.procs);
        procs.retain_mut(|proc| {
            let here = self.update(proc);
            if !here {
                self.gone_ticks += proc.own_ticks;
                self.known.remove(&proc.pid);
                self.open_files -= proc.open_files();
            }
            here
        });
        self.procs = procs;
    }

    /// Reads a process; `false` when it is gone.
    fn update(&mut self, proc: &mut Proc) -> bool {
        let pid = proc.pid;
        let keep = self.open_files < OPEN_FILES_MAX;
        let before = proc.open_files();
        let (faults, rss) = (proc.minor_faults + proc.major_faults, proc.rss);
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = proc.stat.read(|| format!("/proc/{pid}/stat"), keep, &mut buffer);
        let here = read.is_ok()
            && procfs::stat(&buffer).is_some_and(|stat| {
                self.note_client(stat.comm);
                stat.starttime == proc.starttime && proc.take(&stat, self.page)
            });
        // Memory grows by page faults: without any, the mark stands where it stood. After an
        // exec the count goes on, and the new program cannot start without faults.
        let moved = faults != proc.minor_faults + proc.major_faults || rss != proc.rss;
        if here && !proc.dead && (moved || proc.mark == 0) {
            let read = proc.status.read(|| format!("/proc/{pid}/status"), keep, &mut buffer);
            let mark = read.ok().and_then(|()| procfs::kib_field(&buffer, "VmHWM:"));
            // The name in `status` may hold anything but a newline, so the field is the kernel's.
            proc.mark = mark.unwrap_or(0).max(proc.rss);
        }
        self.open_files += proc.open_files();
        self.open_files -= before;
        self.buffer = buffer;
        here
    }

    fn note_client(&mut self, comm: &[u8]) {
        if self.client.is_none() {
            self.client = client_named(comm);
        }
    }

    fn discover_by_children(&mut self) {
        let mut found = Vec::new();
        let mut tasks = vec![self.monitor];
        if self.spawner != self.monitor {
            tasks.push(self.spawner);
        }
        for task in tasks {
            if let Ok(text) = fs::read(format!("/proc/self/task/{task}/children")) {
                found.extend(procfs::numbers(&text).filter(|pid| !self.strangers.contains(pid)));
            }
        }
        self.adopt(&found);
        let mut next = 0;
        // New processes are put at the end, so their own children are found in the same pass.
        while next < self.procs.len() {
            found.clear();
            self.children_at(next, &mut found);
            self.adopt(&found);
            next += 1;
        }
    }

    fn children_at(&mut self, index: usize, found: &mut Vec<i32>) {
        let keep = self.open_files < OPEN_FILES_MAX;
        let mut buffer = std::mem::take(&mut self.buffer);
        if let Some(proc) = self.procs.get_mut(index)
            && !proc.dead
        {
            let pid = proc.pid;
            if proc.threads <= 1 {
                let before = proc.open_files();
                let path = || format!("/proc/{pid}/task/{pid}/children");
                // An empty file is no error here: most processes have no children.
                if proc.children.read(path, keep, &mut buffer).is_ok() {
                    found.extend(procfs::numbers(&buffer));
                }
                self.open_files += proc.open_files();
                self.open_files -= before;
            } else if let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) {
                for task in tasks.flatten() {
                    if let Ok(text) = fs::read(task.path().join("children")) {
                        found.extend(procfs::numbers(&text));
                    }
                }
            }
        }
        self.buffer = buffer;
    }

    fn adopt(&mut self, pids: &[i32]) {
        for &pid in pids {
            if self.known.contains(&pid) {
                continue;
            }
            if let Ok(text) = fs::read(format!("/proc/{pid}/stat"))
                && let Some(stat) = procfs::stat(&text)
            {
                self.add(&stat);
            }
        }
    }

    fn discover_by_scan(&mut self) {
        let Ok(entries) = fs::read_dir("/proc") else { return };
        let mut unknown: Vec<(Vec<u8>, i32)> = Vec::new();
        for pid in entries.flatten().filter_map(|entry| pid_of(&entry)) {
            if pid != self.monitor
                && !self.known.contains(&pid)
                && !self.strangers.contains(&pid)
                && let Ok(text) = fs::read(format!("/proc/{pid}/stat"))
                && let Some(ppid) = procfs::stat(&text).map(|stat| stat.ppid)
            {
                unknown.push((text, ppid));
            }
        }
        // A child may stand before its parent: go round until nobody new belongs.
        loop {
            let before = unknown.len();
            unknown.retain(|(text, ppid)| {
                let belongs = *ppid == self.monitor || self.known.contains(ppid);
                if belongs && let Some(stat) = procfs::stat(text) {
                    self.add(&stat);
                }
                !belongs
            });
            if unknown.len() == before {
                return;
            }
        }
    }

    fn add(&mut self, stat: &Stat<'_>) {
        self.note_client(stat.comm);
        let mut proc = Proc::new(stat.pid, stat.starttime);
        if self.update(&mut proc) {
            self.known.insert(proc.pid);
            self.procs.push(proc);
        }
    }

    fn sum(&mut self) -> Tick {
        let mut tick = Tick { own_ticks: self.gone_ticks, ..Tick::default() };
        let mut held = 0;
        for proc in &self.procs {
            tick.ticks += proc.own_ticks + proc.child_ticks;
            tick.own_ticks += proc.own_ticks;
            tick.minor_faults += proc.minor_faults;
            tick.major_faults += proc.major_faults;
            if !proc.dead {
                tick.processes = tick.processes.saturating_add(1);
                tick.threads = tick.threads.saturating_add(proc.threads);
                tick.rss += proc.rss;
                tick.marks += proc.mark;
                tick.largest = tick.largest.max(proc.mark);
                held += proc.rss.min(proc.rss_before);
            }
        }
        tick.reached = tick.rss;
        for proc in self.procs.iter_mut().filter(|proc| !proc.dead) {
            if proc.mark > proc.mark_before {
                let others = held - proc.rss.min(proc.rss_before);
                tick.reached = tick.reached.max(proc.mark + others);
            }
            proc.mark_before = proc.mark;
            proc.rss_before = proc.rss;
        }
        tick
    }

    /// Every live process, as it was at the last look.
    pub(super) fn targets(&self) -> impl Iterator<Item = Target> + '_ {
        self.procs.iter().filter(|proc| !proc.dead).map(|proc| Target {
            pid: proc.pid,
            starttime: proc.starttime,
            pgrp: proc.pgrp,
        })
    }

    /// The I/O of live processes, the children they waited for included.
    pub(super) fn io(&self) -> Io {
        self.procs
            .iter()
            .filter_map(|proc| fs::read(format!("/proc/{}/io", proc.pid)).ok())
            .filter_map(|text| procfs::io(&text))
            .fold(Io::default(), Io::plus)
    }
}

/// The client program of that name.
pub(super) fn client_named(name: &[u8]) -> Option<&'static str> {
    CLIENTS.into_iter().find(|client| client.as_bytes() == name)
}

fn pid_of(entry: &fs::DirEntry) -> Option<i32> {
    entry.file_name().to_str()?.parse().ok()
}

/// The start time of that process; `None` when there is none.
pub(super) fn starttime(pid: i32) -> Option<u64> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    procfs::stat(&text).filter(|stat| !stat.is_dead()).map(|stat| stat.starttime)
}
