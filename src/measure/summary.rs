//! Sums a step up, at its end or while it runs.

use std::path::Path;
use std::time::Duration;

use super::cgroup::Facts;
use super::host::{Disks, HostCpu};
use super::kill::Why;
use super::measurement::{Ending, Measurement, Share};
use super::output::Streams;
use super::procfs::Io;
use super::readings::{Evidence, Readings, SeenPeaks, readings};
use super::run::{End, Running};
use super::samples::Samples;
use super::shared::{Reaped, lock, process_cpu, ticks_to_seconds};
use super::system::Exit;
use super::tree::client_named;
use crate::model::metric::Unit;
use crate::model::quantity::human;
use crate::model::status::Status;
use crate::record::{Level, Notice, Overhead};

const SIGKILL: i32 = 9;
/// Processes that outlive the command by less than this are not worth a word.
const OUTLIVED: f64 = 0.1;
/// A job that used less of a core than this, behind a client program, works elsewhere.
const OUTSIDE_SHARE: f64 = 0.2;

impl Running<'_> {
    /// All that is known: at the end, or so far.
    pub(super) fn measurement(&self, end: Option<End>) -> Measurement {
        let shared = &self.shared;
        let running = end.is_none();
        let reaped = lock(&shared.reaped).clone();
        let after = self.before.cgroup.facts();
        let live_io = match (&shared.tree, running) {
            (Some(tree), true) => lock(tree).io(),
            _ => Io::default(),
        };
        let (evidence, overhead, mut series) = {
            let samples = lock(&shared.samples);
            let evidence = self.evidence(running, &reaped, &samples, live_io, after);
            (evidence, self.overhead(&samples), samples.series())
        };
        let readings = readings(&evidence);
        let ending = end
            .map_or(Ending { exit_code: None, signal: None, status: Status::Running }, |end| {
                ending(&reaped, end, oom_killed(&self.before.facts, &after))
            });
        let collector = lock(&shared.collector);
        series.extend(collector.series());
        let mut notices = lock(&shared.notices).clone();
        notices.extend(collector.notices());
        notices.extend(self.own_notices(&evidence, &readings, &ending, end));
        Measurement {
            elapsed: shared.elapsed(),
            ending,
            share: self.share(&evidence, &overhead),
            readings: readings.values,
            unavailable: readings.unavailable,
            series,
            phases: collector.phases(),
            reported: collector.reported(),
            output: self.output(),
            notices,
            overhead,
            io: evidence.io,
        }
    }

    /// A measurement of nothing, for that reason.
    pub(super) fn empty(&self, why: &'static str) -> Measurement {
        let evidence = Evidence { never_ran: Some(why), ..Evidence::default() };
        let readings = readings(&evidence);
        Measurement {
            elapsed: self.shared.elapsed(),
            ending: Ending { exit_code: None, signal: None, status: Status::Failed },
            readings: readings.values,
            unavailable: readings.unavailable,
            series: Vec::new(),
            phases: Vec::new(),
            reported: super::Reported::default(),
            output: self.output(),
            notices: lock(&self.shared.notices).clone(),
            overhead: Overhead::default(),
            share: Share::default(),
            io: None,
        }
    }

    fn evidence(
        &self,
        running: bool,
        reaped: &Reaped,
        samples: &Samples,
        live_io: Io,
        after: Facts,
    ) -> Evidence {
        let shared = &self.shared;
        let elapsed = shared.elapsed();
        let mut usage = reaped.usage;
        if running && self.kind.sees_the_tree() {
            // The split of live processes' time is not kept; its sum is.
            usage.user += (samples.cpu_total - usage.user - usage.system).max(0.0);
            usage.minor_faults += samples.last.minor_faults as f64;
            usage.major_faults += samples.last.major_faults as f64;
        }
        let by_difference =
            (reaped.io_refused > 0).then(|| lock(&shared.own_io).of_reaped()).flatten();
        let io = match (reaped.io_refused, by_difference) {
            (0, _) => Some(reaped.io.plus(live_io)),
            (_, found) => found.map(|io| io.plus(live_io)),
        };
        let places = &self.options.places;
        Evidence {
            never_ran: None,
            running,
            sees_tree: self.kind.sees_the_tree(),
            duration: reaped.root.map_or(elapsed, |(_, at)| shared.seconds_to(at)),
            duration_tree: reaped
                .last
                .filter(|_| !running)
                .map_or(elapsed, |at| shared.seconds_to(at)),
            usage,
            reaped: reaped.count,
            io,
            io_by_difference: by_difference.is_some(),
            seen: peaks(samples),
            seen_cpu: ticks_to_seconds(samples.last.own_ticks),
            own_size: self.before.own_size,
            cgroup: (self.before.facts, after),
            cgroup_shared: self.before.cgroup.shared().map(str::to_owned),
            disks: self.before.disks.and_then(|before| Some(Disks::read(places)?.since(&before))),
            host_cpu: self.before.host.and_then(|before| {
                Some(HostCpu::read(places)?.busy - before.busy - self.own_cpu())
            }),
        }
    }

    fn own_cpu(&self) -> f64 {
        (process_cpu() - self.before.own_cpu).max(0.0)
    }

    fn overhead(&self, samples: &Samples) -> Overhead {
        Overhead {
            cpu_time: self.own_cpu(),
            sampler_cpu_time: samples.sampler_cpu,
            samples: samples.count,
            late_samples: samples.late,
            sample_cost_median: samples.costs.median(),
            sample_cost_max: samples.costs.max(),
            interval: samples.interval,
            pss_sweeps: samples.pss.sweeps,
            pss_cpu_time: samples.pss.cpu,
            output_blocked: self
                .streams
                .as_ref()
                .map_or(Duration::ZERO, Streams::blocked)
                .as_secs_f64(),
        }
    }

    fn share(&self, evidence: &Evidence, overhead: &Overhead) -> Share {
        let queue = lock(&self.shared.samples).pss.run_queue;
        let sees = self.kind.sees_the_tree();
        Share {
            cpu_time: evidence.usage.user + evidence.usage.system,
            own_cpu_time: overhead.cpu_time,
            involuntary_switches: (sees && !evidence.running)
                .then_some(evidence.usage.involuntary_switches),
            run_time: queue.map(|(run, _)| run),
            wait_time: queue.map(|(_, wait)| wait),
        }
    }

    fn own_notices(
        &self,
        evidence: &Evidence,
        readings: &Readings,
        ending: &Ending,
        end: Option<End>,
    ) -> Vec<Notice> {
        let mut notices = Vec::new();
        let mut say = |level, code: &str, message: String| {
            notices.push(Notice { level, code: code.to_owned(), message });
        };
        let time = |seconds| human(seconds, &Unit::Seconds);
        if let Some(lost) = readings.lost_cpu {
            say(
                Level::Warning,
                "cpu_undercounted",
                format!(
                    "a process ignores the end of its children, so the kernel threw their totals away: \
                     at least {} of CPU time are missing, and I/O, faults and switches with them",
                    time(lost)
                ),
            );
        }
        let outlived = evidence.duration_tree - evidence.duration;
        if end.is_some() && outlived > OUTLIVED {
            say(
                Level::Info,
                "outlived",
                format!("processes went on for {} after the command had ended", time(outlived)),
            );
        }
        if let Some(client) = self.client()
            && evidence.duration > 1.0
            && evidence.usage.user + evidence.usage.system < OUTSIDE_SHARE * evidence.duration
        {
            say(
                Level::Warning,
                "outside_tree",
                format!(
                    "`{client}` lets others do the work: what they used is not in these numbers; \
                     run perftrail where the work is done"
                ),
            );
        }
        if end.is_some_and(|end| is_foreign_kill(ending, end)) {
            say(
                Level::Warning,
                "oom_suspected",
                "the job was ended by SIGKILL, which perftrail did not send; \
                 most often that is the kernel when memory runs out"
                    .to_owned(),
            );
        }
        if let Some(failure) = self.streams.as_ref().and_then(Streams::sink_failed) {
            say(
                Level::Warning,
                "output_not_shown",
                format!("the job's output could not be shown ({failure}); the log has it"),
            );
        }
        if self.streams.as_ref().is_some_and(Streams::is_truncated) {
            say(
                Level::Warning,
                "output_truncated",
                "something kept the job's output open after its last process had ended, \
                 so what it wrote later is missing"
                    .to_owned(),
            );
        }
        notices
    }

    /// The client program that the command is or that was seen in its tree.
    fn client(&self) -> Option<&'static str> {
        let named = self.command.argv.first().and_then(|program| {
            let name = Path::new(program).file_name()?;
            client_named(name.as_encoded_bytes())
        });
        named.or_else(|| lock(self.shared.tree.as_ref()?).client())
    }
}

fn peaks(samples: &Samples) -> SeenPeaks {
    SeenPeaks {
        reached: samples.reached as f64,
        marks: samples.marks as f64,
        largest: samples.largest as f64,
        pss: (samples.pss.sweeps > 0)
            .then_some(samples.pss.peak)
            .or(samples.pss.torn)
            .map(|bytes| bytes as f64),
        processes: samples.processes_max,
        threads: samples.threads_max,
    }
}

fn oom_killed(before: &Facts, after: &Facts) -> bool {
    matches!((before.oom_kills, after.oom_kills), (Some(before), Some(after)) if after > before)
}

fn ending(reaped: &Reaped, end: End, oom: bool) -> Ending {
    let exit = reaped.root.map(|(exit, _)| exit);
    let signal = match exit {
        Some(Exit::Signal(signal)) => Some(signal),
        _ => None,
    };
    let own = exit.map(Exit::shell_code);
    let killed = own == Some(128 + SIGKILL) && !end.killed_root;
    let (exit_code, status) = match end.why {
        Some(Why::TimedOut) => (Some(124), Status::TimedOut),
        Some(Why::Stopped(_)) => (own, Status::Cancelled),
        _ if own == Some(0) => (own, Status::Succeeded),
        _ if killed && oom => (own, Status::OutOfMemory),
        _ => (own, Status::Failed),
    };
    Ending { exit_code, signal, status }
}

/// Whether the job was killed and nobody we know of did it.
fn is_foreign_kill(ending: &Ending, end: End) -> bool {
    ending.exit_code == Some(128 + SIGKILL) && !end.killed_root && ending.status == Status::Failed
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::measure::StopCause;

    fn ended(exit: Exit) -> Reaped {
        Reaped { root: Some((exit, Instant::now())), ..Reaped::default() }
    }

    #[test]
    fn how_a_step_ends() {
        let stopped = Some(Why::Stopped(StopCause::Interrupt));
        for (exit, why, killed_root, oom, code, signal, status) in [
            (Exit::Code(0), None, false, false, 0, None, Status::Succeeded),
            (Exit::Code(0), None, false, true, 0, None, Status::Succeeded),
            (Exit::Code(3), None, false, true, 3, None, Status::Failed),
            (Exit::Signal(9), None, false, false, 137, Some(9), Status::Failed),
            (Exit::Signal(9), None, false, true, 137, Some(9), Status::OutOfMemory),
            (Exit::Code(137), None, false, true, 137, None, Status::OutOfMemory),
            (Exit::Signal(15), Some(Why::TimedOut), false, false, 124, Some(15), Status::TimedOut),
            (Exit::Signal(9), Some(Why::TimedOut), true, false, 124, Some(9), Status::TimedOut),
            (Exit::Signal(2), stopped, false, false, 130, Some(2), Status::Cancelled),
        ] {
            let got = ending(&ended(exit), End { why, killed_root }, oom);
            assert_eq!(got, Ending { exit_code: Some(code), signal, status }, "{exit:?} {why:?}");
        }
    }
}
