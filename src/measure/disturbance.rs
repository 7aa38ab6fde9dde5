//! What may have spoilt a run: flags with evidence, never corrections.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use super::cgroup::{Cgroup, Facts};
use super::command::Places;
use super::host::{HostCpu, pressure};
use super::measurement::Share;
use super::procfs;
use crate::model::metric::Unit;
use crate::model::quantity::human;
use crate::record::Disturbance;

/// Shorter than this, the counters of the machine show little but their own steps.
const SHORTEST: f64 = 0.2;

/// A look at the machine's counters before the run, to be compared with one after it.
#[derive(Debug)]
pub struct Window {
    places: Places,
    cgroup: Cgroup,
    before: Look,
}

/// What disturbed the run, and which indicators could not be had.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disturbances {
    /// What was seen, exceeded or not.
    pub seen: Vec<Disturbance>,
    /// `disturbance.NAME` with its reason.
    pub unavailable: BTreeMap<String, String>,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug)]
struct Look {
    at: Instant,
    host: Option<HostCpu>,
    cpu: Option<(f64, f64)>,
    memory: Option<(f64, f64)>,
    io: Option<(f64, f64)>,
    facts: Facts,
    clocks: Option<Clocks>,
    others: usize,
}

/// Clocks that differ when the machine sleeps, or when somebody sets the time.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    /// Runs on while the machine sleeps, ahead of the one that does not, in seconds.
    asleep: f64,
    /// The wall clock ahead of the one that is never set, in seconds.
    wall: f64,
}

impl Window {
    /// Opens it, right before the first measured command. CPU time that is spent until it is
    /// closed and is neither the job's nor ours counts as foreign.
    pub fn open(places: &Places) -> Self {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let cgroup = Cgroup::find(places, pid);
        let before = Look::take(places, &cgroup, pid);
        Self { places: places.clone(), cgroup, before }
    }

    /// Closes it, right after the last measured command. `share` is what all commands in it used,
    /// warm-ups too.
    pub fn close(self, share: &Share) -> Disturbances {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let after = Look::take(&self.places, &self.cgroup, pid);
        judge(&self.before, &after, share)
    }
}

impl Look {
    fn take(places: &Places, cgroup: &Cgroup, pid: i32) -> Self {
        Self {
            at: Instant::now(),
            host: HostCpu::read(places),
            cpu: pressure(places, "cpu"),
            memory: pressure(places, "memory"),
            io: pressure(places, "io"),
            facts: cgroup.facts(),
            clocks: Clocks::read(),
            others: others(places, pid),
        }
    }
}

impl Clocks {
    #[cfg(target_os = "linux")]
    #[expect(clippy::unnecessary_wraps, reason = "other systems have no such clock")]
    fn read() -> Option<Self> {
        use rustix::time::{ClockId, clock_gettime};
        let seconds = |clock| {
            let time = clock_gettime(clock);
            time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
        };
        let boot = seconds(ClockId::Boottime);
        Some(Self {
            asleep: boot - seconds(ClockId::Monotonic),
            wall: seconds(ClockId::Realtime) - boot,
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn read() -> Option<Self> {
        None
    }
}

/// Other perftrails on the machine: neither ancestors nor descendants of this process.
fn others(places: &Places, pid: i32) -> usize {
    let Ok(entries) = fs::read_dir(&places.proc) else { return 0 };
    let mut parents = BTreeMap::new();
    let mut named = Vec::new();
    for entry in entries.flatten() {
        let Some(other) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        if let Ok(text) = fs::read(entry.path().join("stat"))
            && let Some(stat) = procfs::stat(&text)
        {
            parents.insert(other, stat.ppid);
            if stat.comm == b"perftrail" && !stat.is_dead() {
                named.push(other);
            }
        }
    }
    let descends = |mut from: i32, to: i32| {
        // Parents may change while we look: a circle must not hold us.
        for _ in 0..parents.len() {
            match parents.get(&from) {
                Some(&parent) if parent == to => return true,
                Some(&parent) => from = parent,
                None => return false,
            }
        }
        false
    };
    named
        .into_iter()
        .filter(|&other| other != pid && !descends(pid, other) && !descends(other, pid))
        .count()
}

/// Gathers indicators.
struct Judge {
    found: Disturbances,
    wall: f64,
}

impl Judge {
    fn see(&mut self, name: &str, value: f64, unit: Unit, limit: Option<f64>, what: &str) {
        if !value.is_finite() {
            return;
        }
        let exceeded = limit.is_some_and(|limit| value > limit);
        let beyond = match limit {
            Some(limit) if exceeded => format!(", beyond {}", human(limit, &unit)),
            _ => String::new(),
        };
        let message = format!("{what}: {}{beyond}", human(value, &unit));
        self.found.seen.push(Disturbance {
            name: name.to_owned(),
            value,
            unit,
            limit,
            exceeded,
            message,
        });
    }

    fn no(&mut self, name: &str, why: &str) {
        self.found.unavailable.insert(format!("disturbance.{name}"), why.to_owned());
    }

    /// A part of the wall clock's time.
    fn share(
        &mut self,
        name: &str,
        before: Option<f64>,
        after: Option<f64>,
        limit: f64,
        what: &str,
    ) {
        match (before, after) {
            (Some(before), Some(after)) => {
                let share = (after - before).max(0.0) / self.wall;
                self.see(name, share, Unit::Ratio, Some(limit), what);
            }
            _ => self.no(name, "the kernel does not tell"),
        }
    }
}

fn judge(before: &Look, after: &Look, share: &Share) -> Disturbances {
    let wall = after.at.duration_since(before.at).as_secs_f64();
    let mut judge = Judge { found: Disturbances::default(), wall };
    if wall < SHORTEST {
        for name in ["steal", "foreign_cpu", "throttled", "pressure_memory", "pressure_io"] {
            judge.no(name, "the run was too short for the machine's counters");
        }
    } else {
        judge.host_cpu(before, after, share);
        let what = "the cgroup was held back by its CPU quota, share of the time";
        judge.share("throttled", before.facts.throttled, after.facts.throttled, 0.01, what);
        let full = |pressure: Option<(f64, f64)>| pressure.map(|(_, full)| full);
        let what = "every task of the machine waited for memory, share of the time";
        judge.share("pressure_memory", full(before.memory), full(after.memory), 0.05, what);
        let what = "every task of the machine waited for a disk, share of the time";
        judge.share("pressure_io", full(before.io), full(after.io), 0.05, what);
    }
    judge.job(share);
    judge.clocks(before, after);
    judge.see(
        "another_perftrail",
        before.others.max(after.others) as f64,
        Unit::Count,
        Some(0.0),
        "other perftrails measured on this machine",
    );
    judge.found
}

impl Judge {
    fn host_cpu(&mut self, before: &Look, after: &Look, share: &Share) {
        let (Some(host_before), Some(host_after)) = (before.host, after.host) else {
            self.no("steal", "the kernel does not tell");
            self.no("foreign_cpu", "the kernel does not tell");
            return;
        };
        let total = (host_after.total - host_before.total).max(1e-9);
        // Some hypervisors never tell: then 0 is no evidence of an undisturbed run.
        if host_after.steal > 0.0 {
            let steal = (host_after.steal - host_before.steal).max(0.0) / total;
            let what = "the hypervisor gave the CPU to others, share of CPU time";
            self.see("steal", steal, Unit::Ratio, Some(0.02), what);
        } else {
            self.no(
                "steal",
                "it reads 0 since boot: there is none, or the hypervisor does not report it",
            );
        }
        let busy = host_after.busy - host_before.busy;
        let foreign = ((busy - share.cpu_time - share.own_cpu_time) / total).max(0.0);
        let what = "other programs used the machine's CPUs, share of CPU time";
        self.see("foreign_cpu", foreign, Unit::Ratio, Some(0.10), what);
        // A job with more threads than CPUs makes this by itself, so it only goes with the other.
        if foreign > 0.10
            && let (Some((before, _)), Some((after, _))) = (before.cpu, after.cpu)
        {
            let waited = (after - before).max(0.0) / self.wall;
            let what = "some task of the machine waited for a CPU, share of the time";
            self.see("pressure_cpu", waited, Unit::Ratio, None, what);
        }
    }

    /// What the job's own threads met; told, for the job may cause it itself.
    fn job(&mut self, share: &Share) {
        match (share.run_time, share.wait_time) {
            (Some(run), Some(wait)) if run + wait > 0.0 => {
                let what = "the job's threads were ready and waited for a CPU, share of their time";
                self.see("run_queue_wait", wait / (run + wait), Unit::Ratio, None, what);
            }
            _ => self.no("run_queue_wait", "the job's threads were never sampled"),
        }
        match share.involuntary_switches {
            Some(switches) if share.cpu_time > 0.0 => {
                let unit = Unit::Other("per CPU second".to_owned());
                let what = "the job was interrupted for others";
                self.see("involuntary_switches", switches / share.cpu_time, unit, None, what);
            }
            _ => self.no("involuntary_switches", "the kernel does not tell"),
        }
    }

    fn clocks(&mut self, before: &Look, after: &Look) {
        let (Some(before), Some(after)) = (before.clocks, after.clocks) else {
            self.no("suspended", "the system has no clock that tells");
            self.no("clock_jump", "the system has no clock that tells");
            return;
        };
        let asleep = (after.asleep - before.asleep).max(0.0);
        self.see("suspended", asleep, Unit::Seconds, Some(0.1), "the machine slept");
        let jump = (after.wall - before.wall).abs();
        self.see(
            "clock_jump",
            jump,
            Unit::Seconds,
            Some(1.0),
            "the wall clock was set meanwhile, by",
        );
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn look(at: Instant, busy: f64, steal: f64) -> Look {
        Look {
            at,
            host: Some(HostCpu { busy, total: 0.0, steal }),
            cpu: Some((0.0, 0.0)),
            memory: Some((0.0, 0.0)),
            io: None,
            facts: Facts { throttled: Some(0.0), ..Facts::default() },
            clocks: Some(Clocks { asleep: 5.0, wall: 100.0 }),
            others: 0,
        }
    }

    /// Ten seconds on two CPUs, of which the job used eight CPU seconds.
    fn ten_seconds() -> (Look, Look, Share) {
        let start = Instant::now();
        let before = look(start, 100.0, 1.0);
        let mut after = look(start + Duration::from_secs(10), 109.0, 1.1);
        after.host = after.host.map(|host| HostCpu { total: 20.0, ..host });
        let share = Share {
            cpu_time: 8.0,
            own_cpu_time: 0.1,
            involuntary_switches: Some(80.0),
            run_time: Some(6.0),
            wait_time: Some(2.0),
        };
        (before, after, share)
    }

    fn of<'a>(found: &'a Disturbances, name: &str) -> &'a Disturbance {
        found.seen.iter().find(|one| one.name == name).expect(name)
    }

    #[test]
    fn a_quiet_run_exceeds_nothing() {
        let (before, after, share) = ten_seconds();
        let found = judge(&before, &after, &share);
        assert!(found.seen.iter().all(|one| !one.exceeded), "{found:?}");
        assert!((of(&found, "foreign_cpu").value - 0.045).abs() < 1e-9);
        assert!((of(&found, "steal").value - 0.005).abs() < 1e-9);
        assert!((of(&found, "run_queue_wait").value - 0.25).abs() < 1e-9);
        assert!((of(&found, "involuntary_switches").value - 10.0).abs() < 1e-9);
        assert_eq!(found.unavailable.keys().collect::<Vec<_>>(), ["disturbance.pressure_io"]);
        assert!(found.seen.iter().all(|one| one.name != "pressure_cpu"));
    }

    #[test]
    fn each_disturbance_is_seen() {
        let (before, mut after, share) = ten_seconds();
        after.host = Some(HostCpu { busy: 115.0, total: 20.0, steal: 2.0 });
        after.cpu = Some((3.0, 0.0));
        after.memory = Some((0.0, 0.6));
        after.facts.throttled = Some(0.2);
        after.clocks = Some(Clocks { asleep: 65.0, wall: 90.0 });
        after.others = 1;
        let found = judge(&before, &after, &share);
        let exceeded: Vec<_> =
            found.seen.iter().filter(|one| one.exceeded).map(|one| one.name.as_str()).collect();
        assert_eq!(
            exceeded,
            [
                "steal",
                "foreign_cpu",
                "throttled",
                "pressure_memory",
                "suspended",
                "clock_jump",
                "another_perftrail"
            ]
        );
        assert!(!of(&found, "pressure_cpu").exceeded);
        assert_eq!(
            of(&found, "steal").message,
            "the hypervisor gave the CPU to others, share of CPU time: 5.0 %, beyond 2.0 %"
        );
    }

    #[test]
    fn steal_that_is_never_told_is_no_evidence() {
        let (before, mut after, share) = ten_seconds();
        after.host = after.host.map(|host| HostCpu { steal: 0.0, ..host });
        let found = judge(&before, &after, &share);
        assert!(found.unavailable["disturbance.steal"].contains("since boot"));
        assert!(found.seen.iter().all(|one| one.name != "steal"));
    }

    #[test]
    fn a_moment_tells_nothing_of_the_machine() {
        let (before, mut after, share) = ten_seconds();
        after.at = before.at + Duration::from_millis(50);
        let found = judge(&before, &after, &share);
        assert!(found.unavailable.contains_key("disturbance.foreign_cpu"));
        assert!(found.seen.iter().all(|one| one.name != "foreign_cpu"));
    }

    #[test]
    fn another_perftrail_is_no_relative() {
        let root = tempfile::tempdir().expect("a folder");
        let lay = |pid: i32, name: &str, ppid: i32| {
            let folder = root.path().join(pid.to_string());
            fs::create_dir(&folder).expect("a folder");
            let stat =
                format!("{pid} ({name}) S {ppid} 1 1 0 -1 0 0 0 0 0 0 0 0 0 0 0 1 0 5 0 9 0 0 0");
            fs::write(folder.join("stat"), stat).expect("a file");
        };
        lay(1, "init", 0);
        lay(10, "perftrail", 1);
        lay(11, "perftrail", 10);
        lay(12, "sh", 11);
        lay(13, "perftrail", 12);
        lay(20, "perftrail", 1);
        lay(21, "perftrails", 1);
        let places = Places { proc: root.path().to_owned(), ..Places::default() };
        assert_eq!(others(&places, 11), 1);
        assert_eq!(others(&places, 20), 3);
    }
}
