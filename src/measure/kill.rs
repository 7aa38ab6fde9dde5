//! When and how a job is ended: first asked, then killed, with everything that descends from it.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::command::MeterOptions;
use super::shared::{Shared, lock};
use super::stop::StopCause;
use super::tree::{Target, starttime};

/// Why the job is being ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It ran past its time limit.
    TimedOut,
    /// Somebody asked.
    Stopped(StopCause),
    /// The command has ended and left processes behind.
    LeftBehind,
    /// It runs, but the system refused what measuring needs.
    Unwatched,
}

/// What is to be done to the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Sends that signal once.
    Send(Signal),
    /// Kills, again and again until nothing is left.
    Kill,
}

/// The plan of ending a job: what is done when.
#[derive(Clone, Debug)]
pub(super) struct Escalation {
    /// Why; the first reason stays, but for a request to stop, which is always told.
    pub(super) why: Why,
    steps: Vec<(Instant, Act)>,
}

impl Escalation {
    /// The plan for a time-out.
    pub(super) fn timed_out(now: Instant, options: &MeterOptions) -> Self {
        Self::new(
            Why::TimedOut,
            &[(now, Act::Send(Signal::TERM)), (now + options.kill_grace, Act::Kill)],
        )
    }

    /// The plan for a request to stop.
    pub(super) fn stopped(now: Instant, cause: StopCause, options: &MeterOptions) -> Self {
        let mut steps = vec![(now, Act::Send(cause.signal()))];
        if cause != StopCause::Terminate {
            steps.push((now + options.stop_terminate, Act::Send(Signal::TERM)));
        }
        steps.push((now + options.stop_kill, Act::Kill));
        Self::new(Why::Stopped(cause), &steps)
    }

    /// The plan for what outlives the command.
    pub(super) fn left_behind(now: Instant, options: &MeterOptions) -> Self {
        let end = now + options.daemon_grace;
        let kill = end + options.kill_grace.min(Duration::from_secs(2));
        Self::new(Why::LeftBehind, &[(end, Act::Send(Signal::TERM)), (kill, Act::Kill)])
    }

    /// Nothing is asked: it is killed now, because it cannot be watched.
    pub(super) fn at_once(now: Instant) -> Self {
        Self::new(Why::Unwatched, &[(now, Act::Kill)])
    }

    fn new(why: Why, steps: &[(Instant, Act)]) -> Self {
        Self { why, steps: steps.to_vec() }
    }

    /// When the next step is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.steps.first().map(|(at, _)| *at)
    }

    /// Takes the next step when it is due.
    pub(super) fn due(&mut self, now: Instant) -> Option<Act> {
        (self.next()? <= now).then(|| self.steps.remove(0).1)
    }

    /// The next step that is not yet due is due at once.
    pub(super) fn hurry(&mut self, now: Instant) {
        if let Some((at, _)) = self.steps.iter_mut().find(|(at, _)| *at > now) {
            *at = now;
        }
    }

    /// Another reason comes: it counts when it ends the job sooner.
    pub(super) fn or_sooner(self, other: Self) -> Self {
        let end = |plan: &Self| plan.steps.last().map(|(at, _)| *at);
        if end(&other) < end(&self) { Self { steps: other.steps, ..self } } else { self }
    }
}

/// Sends `signal` to every process of the tree. `group` is the job's process group while the
/// command lives; afterwards its number may be another's.
pub(super) fn send(shared: &Shared, group: Option<i32>, signal: Signal) {
    if let Some(group) = group.and_then(Pid::from_raw) {
        // At one blow, so that none of the group sees another one end first.
        let _ = rustix::process::kill_process_group(group, signal);
    }
    for target in look(shared) {
        if Some(target.pgrp) != group {
            send_one(target, signal);
        }
    }
}

/// Rounds of stopping: a fork bomb that is outrun once has nobody left to fork.
const STOP_ROUNDS: usize = 20;

/// Kills every process of the tree that is there now. Processes are stopped first, so that none
/// of them starts another one meanwhile.
pub(super) fn kill(shared: &Shared, group: Option<i32>) {
    let mut stopped = HashSet::new();
    for _ in 0..STOP_ROUNDS {
        let new: Vec<_> = look(shared).into_iter().filter(|t| !stopped.contains(t)).collect();
        if new.is_empty() {
            break;
        }
        for target in new {
            send_one(target, Signal::STOP);
            stopped.insert(target);
        }
    }
    if let Some(group) = group.and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    for target in look(shared) {
        send_one(target, Signal::KILL);
    }
}

/// The tree as it is now; empty where it cannot be seen.
fn look(shared: &Shared) -> Vec<Target> {
    let Some(tree) = &shared.tree else { return Vec::new() };
    let mut tree = lock(tree);
    tree.refresh();
    tree.targets().collect()
}

/// How many processes of the tree are left.
pub(super) fn left(shared: &Shared) -> usize {
    look(shared).len()
}

/// Signals exactly that process, never another one that got its pid meanwhile.
#[cfg(target_os = "linux")]
fn send_one(target: Target, signal: Signal) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Some(pid) = Pid::from_raw(target.pid) else { return };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) if starttime(target.pid) == Some(target.starttime) => {
            let _ = pidfd_send_signal(&process, signal);
        }
        Err(_) if starttime(target.pid) == Some(target.starttime) => {
            let _ = rustix::process::kill_process(pid, signal);
        }
        // It is gone already.
        _ => {}
    }
}

#[cfg(not(target_os = "linux"))]
fn send_one(target: Target, signal: Signal) {
    if let Some(pid) = Pid::from_raw(target.pid)
        && starttime(target.pid) == Some(target.starttime)
    {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn a_request_gets_harsher() {
        let now = Instant::now();
        let mut plan = Escalation::stopped(now, StopCause::Interrupt, &MeterOptions::default());
        assert_eq!(plan.due(now), Some(Act::Send(Signal::INT)));
        assert_eq!(plan.due(now), None);
        assert_eq!(plan.due(now + seconds(3)), Some(Act::Send(Signal::TERM)));
        assert_eq!(plan.due(now + seconds(4)), None);
        assert_eq!(plan.due(now + seconds(5)), Some(Act::Kill));
        assert_eq!(plan.next(), None);
    }

    #[test]
    fn asking_again_hurries() {
        let now = Instant::now();
        let mut plan = Escalation::stopped(now, StopCause::Interrupt, &MeterOptions::default());
        plan.due(now);
        plan.hurry(now);
        assert_eq!(plan.due(now), Some(Act::Send(Signal::TERM)));
        plan.hurry(now);
        assert_eq!(plan.due(now), Some(Act::Kill));
        plan.hurry(now);
        let mut at_once = Escalation::stopped(now, StopCause::Interrupt, &MeterOptions::default());
        at_once.hurry(now);
        at_once.hurry(now);
        let acts: Vec<_> = std::iter::from_fn(|| at_once.due(now)).collect();
        assert_eq!(acts, [Act::Send(Signal::INT), Act::Send(Signal::TERM), Act::Kill]);
    }

    #[test]
    fn the_sooner_end_counts_and_the_reason_stays() {
        let now = Instant::now();
        let options = MeterOptions::default();
        let plan = Escalation::timed_out(now, &options).or_sooner(Escalation::stopped(
            now,
            StopCause::Interrupt,
            &options,
        ));
        assert_eq!(plan.why, Why::TimedOut);
        assert_eq!(plan.steps.last(), Some(&(now + seconds(5), Act::Kill)));
    }
}
