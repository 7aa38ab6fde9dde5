//! Turns what was read into values of the built-in metrics, or into reasons why there are none.

use std::collections::BTreeMap;

use crate::model::metric::{BUILT_IN, Exactness};

use super::cgroup::Facts;
use super::host::Disks;
use super::measurement::Reading;
use super::procfs::Io;
use super::system::Usage;

/// Built-in metrics that the caller adds.
const OF_THE_CALLER: [&str; 3] = ["output_bytes", "output_files", "warnings"];
/// Below these, sampled and exact CPU time are taken as equal.
const LOST_SECONDS: f64 = 0.05;
const LOST_SHARE: f64 = 0.02;
/// `ru_maxrss` must be this much above our own size to be the job's for sure.
const APART: f64 = 1024.0 * 1024.0;

/// All that is known about a step, as numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence {
    /// Why nothing was measured at all.
    pub(super) never_ran: Option<&'static str>,
    /// Whether the job still runs: then numbers are only sampled.
    pub(super) running: bool,
    /// Whether the process tree can be seen.
    pub(super) sees_tree: bool,
    /// Seconds to the end of the command, or to now.
    pub(super) duration: f64,
    /// Seconds to the end of the last process, or to now.
    pub(super) duration_tree: f64,
    /// Usage of ended processes; while running, of live ones too as far as it is known.
    pub(super) usage: Usage,
    /// How many processes we reaped.
    pub(super) reaped: u64,
    /// I/O of the tree.
    pub(super) io: Option<Io>,
    /// Whether the I/O was found by taking off our own.
    pub(super) io_by_difference: bool,
    /// What the sampler saw; zeros when it saw nothing.
    pub(super) seen: SeenPeaks,
    /// Σ of every process's own CPU time when it was last seen, in seconds.
    pub(super) seen_cpu: f64,
    /// Our own greatest size before the start, in bytes.
    pub(super) own_size: f64,
    /// The control group before and after.
    pub(super) cgroup: (Facts, Facts),
    /// Why the group's totals are not the job's.
    pub(super) cgroup_shared: Option<String>,
    /// The machine's disks since the start.
    pub(super) disks: Option<Disks>,
    /// CPU time that the machine spent on anything but us, in seconds.
    pub(super) host_cpu: Option<f64>,
}

/// Peaks that the sampler saw, in bytes and counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SeenPeaks {
    /// Σ resident sizes, raised by high-water marks.
    pub(super) reached: f64,
    /// Σ high-water marks.
    pub(super) marks: f64,
    /// The largest process.
    pub(super) largest: f64,
    /// The greatest sweep of proportional memory; `None` without any.
    pub(super) pss: Option<f64>,
    /// Processes at once.
    pub(super) processes: u32,
    /// Threads at once.
    pub(super) threads: u32,
}

/// Values by name, and reasons by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Readings {
    /// Values.
    pub(super) values: BTreeMap<&'static str, Reading>,
    /// Reasons.
    pub(super) unavailable: BTreeMap<&'static str, String>,
    /// CPU time that the kernel did not tell at the end, in seconds, by what was sampled.
    pub(super) lost_cpu: Option<f64>,
}

impl Readings {
    fn value(&mut self, name: &'static str, reading: Reading) {
        if reading.value.is_finite() {
            self.values.insert(name, reading);
        }
    }

    fn no(&mut self, name: &'static str, why: &str) {
        self.unavailable.insert(name, why.to_owned());
    }
}

/// Every built-in metric that measuring can give: as a value or as a reason.
pub(super) fn readings(evidence: &Evidence) -> Readings {
    let mut readings = Readings::default();
    if let Some(why) = evidence.never_ran {
        fill(&mut readings, why);
        return readings;
    }
    let clock = |value| Reading::new(value, Exactness::Exact, "clock", "monotonic");
    readings.value("duration", clock(evidence.duration));
    if evidence.sees_tree {
        readings.value("duration_tree", clock(evidence.duration_tree));
        readings.lost_cpu = lost_cpu(evidence);
        usage(evidence, &mut readings);
        io(evidence, &mut readings);
        memory(evidence, &mut readings);
    } else {
        portable_cpu(evidence, &mut readings);
    }
    cgroup(evidence, &mut readings);
    disks(evidence, &mut readings);
    fill(&mut readings, "the portable meter sees only the command's clock and CPU time");
    readings
}

fn fill(readings: &mut Readings, why: &str) {
    for metric in BUILT_IN {
        if !OF_THE_CALLER.contains(&metric.name)
            && !readings.values.contains_key(metric.name)
            && !readings.unavailable.contains_key(metric.name)
        {
            readings.no(metric.name, why);
        }
    }
}

/// What sampling saw of CPU time beyond what the kernel told at the end. A parent that ignores
/// its children's end makes the kernel throw their totals away.
fn lost_cpu(evidence: &Evidence) -> Option<f64> {
    let told = evidence.usage.user + evidence.usage.system;
    let lost = evidence.seen_cpu - told;
    (!evidence.running && lost > LOST_SECONDS && lost > LOST_SHARE * evidence.seen_cpu)
        .then_some(lost)
}

/// A total that the kernel adds up: exact, but for totals that were thrown away.
fn total(evidence: &Evidence, lost: bool, value: f64, method: &'static str) -> Reading {
    if evidence.running {
        Reading::new(value, Exactness::Sampled, "procfs", "so_far")
    } else if lost {
        Reading::new(value, Exactness::Bounded, "wait4", method).between(Some(value), None)
    } else {
        Reading::new(value, Exactness::Exact, "wait4", method)
    }
}

fn usage(evidence: &Evidence, readings: &mut Readings) {
    let usage = &evidence.usage;
    let lost = readings.lost_cpu;
    let of = |value| total(evidence, lost.is_some(), value, "rusage_sum");
    let cpu_upper = lost.map(|_| cpu_upper(evidence));
    let cpu = |value: f64| {
        let reading = of(value);
        let lower = reading.lower;
        match cpu_upper {
            Some(upper) => reading.between(lower, upper.map(|upper| upper.max(value))),
            None => reading,
        }
    };
    readings.value("cpu_time", cpu(usage.user + usage.system));
    readings.value("cpu_user", cpu(usage.user));
    readings.value("cpu_system", cpu(usage.system));
    readings.value("page_faults_minor", of(usage.minor_faults));
    readings.value("page_faults_major", of(usage.major_faults));
    if evidence.running {
        let why = "known only when a process ends";
        readings.no("context_switches_voluntary", why);
        readings.no("context_switches_involuntary", why);
    } else {
        readings.value("context_switches_voluntary", of(usage.voluntary_switches));
        readings.value("context_switches_involuntary", of(usage.involuntary_switches));
    }
}

/// The job cannot have used more than its own cgroup, nor than the machine spent on others than us.
fn cpu_upper(evidence: &Evidence) -> Option<f64> {
    let (before, after) = &evidence.cgroup;
    let own_group =
        evidence.cgroup_shared.is_none().then(|| Some(after.cpu? - before.cpu?)).flatten();
    let upper = match (own_group, evidence.host_cpu) {
        (Some(group), Some(host)) => Some(group.min(host)),
        (group, host) => group.or(host),
    };
    // Both are kept in ticks: what was seen of the processes stands above a rounded-down sum.
    upper.map(|upper| upper.max(evidence.seen_cpu))
}

fn portable_cpu(evidence: &Evidence, readings: &mut Readings) {
    let usage = &evidence.usage;
    if evidence.running {
        for name in ["cpu_time", "cpu_user", "cpu_system"] {
            readings.no(name, "the portable meter knows it only when the command ends");
        }
        return;
    }
    // Processes that nobody waited for are missing.
    let of = |value| {
        Reading::new(value, Exactness::Bounded, "wait4", "rusage_root").between(Some(value), None)
    };
    readings.value("cpu_time", of(usage.user + usage.system));
    readings.value("cpu_user", of(usage.user));
    readings.value("cpu_system", of(usage.system));
}

fn io(evidence: &Evidence, readings: &mut Readings) {
    let names = [
        "io_read_bytes",
        "io_write_bytes",
        "io_reads",
        "io_writes",
        "disk_read_bytes",
        "disk_write_bytes",
    ];
    let Some(io) = evidence.io else {
        for name in names {
            readings.no(name, "the kernel does not let the I/O counters be read");
        }
        return;
    };
    let values = [
        io.read_chars,
        io.write_chars,
        io.read_calls,
        io.write_calls,
        io.read_bytes,
        // What was cut or removed before it was written never reached the disk.
        io.write_bytes.saturating_sub(io.cancelled_write_bytes),
    ];
    let method = if evidence.io_by_difference { "io_difference" } else { "io_at_exit" };
    for (name, value) in names.into_iter().zip(values) {
        let mut reading = total(evidence, readings.lost_cpu.is_some(), value as f64, method);
        reading.source = "procfs";
        readings.value(name, reading);
    }
}

fn memory(evidence: &Evidence, readings: &mut Readings) {
    let seen = &evidence.seen;
    if seen.processes == 0 {
        let why = "every process ended before it could be sampled";
        readings.no("processes_max", why);
        readings.no("threads_max", why);
    } else {
        let of = |value| Reading::new(f64::from(value), Exactness::Sampled, "procfs", "sampled");
        readings.value("processes_max", of(seen.processes));
        readings.value("threads_max", of(seen.threads));
    }
    let told = evidence.usage.max_rss;
    let is_told = told > evidence.own_size + APART;
    let largest = if is_told { told.max(seen.largest) } else { seen.largest };
    if largest <= 0.0 {
        let why = "the command ended before it could be sampled, and it was smaller than perftrail itself";
        readings.no("memory_peak_process", why);
        readings.no("memory_peak", why);
        return;
    }
    // The kernel's figure starts at the size of whoever started the process, so below our own
    // size only the high-water mark that was seen is the job's.
    let upper = told.max(largest);
    let process = if evidence.running {
        Reading::new(largest, Exactness::Sampled, "procfs", "vm_hwm")
    } else if is_told {
        Reading::new(largest, Exactness::Exact, "wait4", "ru_maxrss")
    } else {
        Reading::new(largest, Exactness::Bounded, "procfs", "vm_hwm")
            .between(Some(largest), Some(upper))
    };
    readings.value("memory_peak_process", process);
    let peak = if seen.processes <= 1 && evidence.reaped <= 1 {
        one_process(evidence, largest, is_told, upper)
    } else {
        several_processes(evidence, largest)
    };
    readings.value("memory_peak", peak);
}

fn one_process(evidence: &Evidence, largest: f64, is_told: bool, upper: f64) -> Reading {
    if evidence.running {
        Reading::new(largest, Exactness::Sampled, "procfs", "rss_hwm")
    } else if is_told {
        Reading::new(largest, Exactness::Exact, "procfs", "rss_hwm")
    } else {
        Reading::new(largest, Exactness::Bounded, "procfs", "rss_hwm")
            .between(Some(largest), Some(upper))
    }
}

fn several_processes(evidence: &Evidence, largest: f64) -> Reading {
    let seen = &evidence.seen;
    let (value, method) = match seen.pss {
        Some(pss) if pss > largest => (pss, "pss"),
        Some(_) => (largest, "rss_hwm"),
        // Without a sweep the sum of resident sizes is all there is; shared pages count twice.
        None => (seen.reached.max(largest), "rss_hwm"),
    };
    let exactness = if evidence.running { Exactness::Sampled } else { Exactness::Bounded };
    Reading::new(value, exactness, "procfs", method)
        .between(Some(largest.min(value)), Some(seen.marks.max(seen.reached).max(value)))
}

fn cgroup(evidence: &Evidence, readings: &mut Readings) {
    let name = "memory_peak_cgroup";
    let (before, after) = &evidence.cgroup;
    if let Some(why) = &evidence.cgroup_shared {
        readings.no(name, why);
        return;
    }
    match (before.memory_peak, after.memory_peak) {
        (Some(before), Some(after)) if after > before => {
            readings.value(name, Reading::new(after as f64, Exactness::Exact, "cgroup", "peak"));
        }
        (Some(before), Some(_)) => readings.no(
            name,
            &format!(
                "the cgroup had held more before the job: the job's peak is at most {before} B"
            ),
        ),
        _ => readings.no(name, "the kernel does not tell the cgroup's peak"),
    }
}

fn disks(evidence: &Evidence, readings: &mut Readings) {
    let Some(disks) = &evidence.disks else {
        for metric in BUILT_IN.iter().filter(|metric| metric.name.starts_with("host_disk_")) {
            readings.no(metric.name, "the machine does not tell about its disks");
        }
        return;
    };
    for (name, value) in [
        ("host_disk_reads", disks.reads as f64),
        ("host_disk_writes", disks.writes as f64),
        ("host_disk_read_bytes", disks.read_bytes as f64),
        ("host_disk_write_bytes", disks.write_bytes as f64),
        ("host_disk_read_time", disks.read_ms as f64 / 1e3),
        ("host_disk_write_time", disks.write_ms as f64 / 1e3),
    ] {
        readings.value(name, Reading::new(value, Exactness::Host, "diskstats", "whole_devices"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1024.0 * 1024.0;

    #[track_caller]
    fn is(value: f64, truth: f64) {
        assert!((value - truth).abs() < 1e-9, "{value} is not {truth}");
    }

    fn ended() -> Evidence {
        Evidence {
            sees_tree: true,
            duration: 2.0,
            duration_tree: 2.5,
            usage: Usage { user: 1.0, system: 0.5, max_rss: 200.0 * MIB, ..Usage::default() },
            reaped: 1,
            io: Some(Io { write_bytes: 10, cancelled_write_bytes: 4, ..Io::default() }),
            seen: SeenPeaks {
                reached: 199.0 * MIB,
                marks: 199.0 * MIB,
                largest: 199.0 * MIB,
                pss: None,
                processes: 1,
                threads: 4,
            },
            seen_cpu: 1.49,
            own_size: 10.0 * MIB,
            disks: Some(Disks::default()),
            ..Evidence::default()
        }
    }

    fn is_whole(readings: &Readings) {
        for metric in BUILT_IN {
            let here = usize::from(readings.values.contains_key(metric.name))
                + usize::from(readings.unavailable.contains_key(metric.name));
            let expected = usize::from(!OF_THE_CALLER.contains(&metric.name));
            assert_eq!(here, expected, "{}", metric.name);
        }
        for (name, reading) in &readings.values {
            assert!(reading.lower.is_none_or(|lower| lower <= reading.value), "{name}");
            assert!(reading.upper.is_none_or(|upper| upper >= reading.value), "{name}");
        }
    }

    #[test]
    fn every_metric_is_a_value_or_a_reason() {
        for (running, sees_tree, never_ran) in [
            (false, true, None),
            (true, true, None),
            (false, false, None),
            (true, false, None),
            (false, true, Some("not found")),
        ] {
            let evidence = Evidence { never_ran, running, sees_tree, ..ended() };
            is_whole(&readings(&evidence));
        }
        is_whole(&readings(&Evidence { sees_tree: true, ..Evidence::default() }));
    }

    #[test]
    fn one_process_is_told_by_the_kernel() {
        let readings = readings(&ended());
        let peak = &readings.values["memory_peak"];
        assert_eq!((peak.value, peak.exactness), (200.0 * MIB, Exactness::Exact));
        assert_eq!(readings.values["memory_peak_process"].method, "ru_maxrss");
        is(readings.values["disk_write_bytes"].value, 6.0);
        assert_eq!(readings.values["cpu_time"].exactness, Exactness::Exact);
    }

    #[test]
    fn our_own_size_does_not_pass_for_the_jobs() {
        let mut evidence = ended();
        evidence.own_size = 512.0 * MIB;
        evidence.usage.max_rss = 512.5 * MIB;
        evidence.seen.largest = 11.0 * MIB;
        let readings = readings(&evidence);
        let process = &readings.values["memory_peak_process"];
        assert_eq!((process.value, process.method), (11.0 * MIB, "vm_hwm"));
        assert_eq!(process.upper, Some(512.5 * MIB));
        is(readings.values["memory_peak"].value, 11.0 * MIB);
    }

    #[test]
    fn several_processes_share_pages() {
        let mut evidence = ended();
        evidence.seen = SeenPeaks {
            reached: 903.0 * MIB,
            marks: 905.0 * MIB,
            largest: 101.0 * MIB,
            pss: Some(106.0 * MIB),
            processes: 9,
            threads: 9,
        };
        evidence.usage.max_rss = 101.0 * MIB;
        let peak = readings(&evidence).values["memory_peak"].clone();
        assert_eq!((peak.value, peak.method), (106.0 * MIB, "pss"));
        assert_eq!((peak.lower, peak.upper), (Some(101.0 * MIB), Some(905.0 * MIB)));
        assert_eq!(peak.exactness, Exactness::Bounded);
    }

    #[test]
    fn thrown_away_totals_are_told() {
        let mut evidence = ended();
        evidence.usage.user = 0.001;
        evidence.usage.system = 0.0;
        evidence.seen_cpu = 0.78;
        evidence.host_cpu = Some(1.1);
        let readings = readings(&evidence);
        assert!(readings.lost_cpu.is_some_and(|lost| lost > 0.7));
        let cpu = &readings.values["cpu_time"];
        assert_eq!((cpu.value, cpu.exactness), (0.001, Exactness::Bounded));
        assert_eq!((cpu.lower, cpu.upper), (Some(0.001), Some(1.1)));
        assert_eq!(readings.values["io_write_bytes"].exactness, Exactness::Bounded);
    }

    #[test]
    fn the_cgroups_peak_is_the_jobs_only_when_it_rose() {
        let mut evidence = ended();
        let at = |peak| Facts { memory_peak: Some(peak), ..Facts::default() };
        evidence.cgroup = (at(5), at(9));
        is(readings(&evidence).values["memory_peak_cgroup"].value, 9.0);
        evidence.cgroup = (at(9), at(9));
        assert!(readings(&evidence).unavailable["memory_peak_cgroup"].contains("at most 9 B"));
        evidence.cgroup_shared = Some("it is shared".into());
        assert_eq!(readings(&evidence).unavailable["memory_peak_cgroup"], "it is shared");
    }
}
