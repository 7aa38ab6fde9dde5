//! Starts the job and takes its processes out of the process table, each with its exact totals.
//!
//! One thread does both: the job is killed when the thread that started it ends, so that a killed
//! perftrail leaves no job behind, and that thread must wait for every process anyway.

use std::fs;
use std::io;
use std::process::Command;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use super::procfs;
use super::shared::{Shared, lock};
use super::system::{self, Exit, Usage};

/// Something that the control loop must know.
#[derive(Debug)]
pub(super) enum Event {
    /// The job runs, with this pid; or it could not be started.
    Started(io::Result<i32>),
    /// The command itself has ended.
    RootEnded,
    /// No process of the job is left, or the reaper gave up.
    TreeEnded,
    /// Somebody asked to stop.
    Stop,
}

/// Starts `command`, then reaps until nothing of it is left.
pub(super) fn run(mut command: Command, shared: &Shared, events: &Sender<Event>) {
    tell_spawner(shared);
    shared.start();
    let started = system::spawn(&mut command);
    // Our copies of the pipes' ends must go, else the streams never end.
    drop(command);
    let root = match started {
        Ok(child) => i32::try_from(child.id()).unwrap_or_default(),
        Err(error) => {
            let _ = events.send(Event::Started(Err(error)));
            shared.thread_ends();
            return;
        }
    };
    let _ = events.send(Event::Started(Ok(root)));
    if shared.tree.is_some() {
        reap_tree(root, shared, events);
    } else {
        reap_root(root, shared, events);
    }
    shared.thread_ends();
    let _ = events.send(Event::TreeEnded);
}

/// The job will be a child of this thread, and stands in this thread's file.
fn tell_spawner(shared: &Shared) {
    #[cfg(target_os = "linux")]
    if let Some(tree) = &shared.tree {
        lock(tree).set_spawner(rustix::thread::gettid().as_raw_nonzero().get());
    }
    #[cfg(not(target_os = "linux"))]
    let _ = shared;
}

/// Where only the command itself can be waited for.
fn reap_root(root: i32, shared: &Shared, events: &Sender<Event>) {
    if let Ok((exit, usage)) = system::reap(root) {
        take(shared, root, root, exit, &usage, Instant::now());
    }
    let _ = events.send(Event::RootEnded);
}

#[cfg(not(target_os = "linux"))]
fn reap_tree(root: i32, shared: &Shared, events: &Sender<Event>) {
    reap_root(root, shared, events);
}

#[cfg(target_os = "linux")]
fn reap_tree(root: i32, shared: &Shared, events: &Sender<Event>) {
    use super::system::Ended;

    let mut root_ended = false;
    let mut pause = Duration::from_millis(1);
    loop {
        // While the command lives its end wakes us. Afterwards we must also hear that the rest
        // is given up, so we look again and again.
        match system::next_ended(!root_ended) {
            Ok(Ended::Child(pid)) => {
                let at = Instant::now();
                pause = Duration::from_millis(1);
                reap_one(root, pid, shared, at);
                if pid == root {
                    root_ended = true;
                    let _ = events.send(Event::RootEnded);
                }
            }
            Ok(Ended::NotYet) => {
                if shared.is_abandoned() || only_strangers_left(shared) {
                    return;
                }
                shared.sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(5));
            }
            Ok(Ended::NoChildren) | Err(_) => {
                if !root_ended {
                    let _ = events.send(Event::RootEnded);
                }
                return;
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn reap_one(root: i32, pid: i32, shared: &Shared, at: Instant) {
    let is_stranger = shared.tree.as_ref().is_some_and(|tree| lock(tree).forget_stranger(pid));
    // The kernel tells a dead process's I/O until it is reaped, to the same user.
    let io = fs::read(format!("/proc/{pid}/io")).ok().and_then(|text| procfs::io(&text));
    let Ok((exit, usage)) = system::reap(pid) else { return };
    if is_stranger {
        return;
    }
    {
        let mut reaped = lock(&shared.reaped);
        match io {
            Some(io) => reaped.io = reaped.io.plus(io),
            None => reaped.io_refused += 1,
        }
    }
    take(shared, root, pid, exit, &usage, at);
}

fn take(shared: &Shared, root: i32, pid: i32, exit: Exit, usage: &Usage, at: Instant) {
    let mut reaped = lock(&shared.reaped);
    reaped.usage.add(usage);
    reaped.count += 1;
    reaped.last = Some(at);
    if pid == root {
        reaped.root = Some((exit, at));
    }
}

/// Whether every child that is left was there before the job.
#[cfg(target_os = "linux")]
fn only_strangers_left(shared: &Shared) -> bool {
    let Some(tree) = &shared.tree else { return true };
    let mut tree = lock(tree);
    tree.strangers() > 0 && {
        tree.refresh();
        tree.is_empty()
    }
}
