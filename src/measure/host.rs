//! Counters of the whole machine.

use std::fs;

use super::command::Places;
use super::procfs::{lines, number, words};

/// What the machine's disks did since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Disks {
    /// Reads that ended.
    pub(super) reads: u64,
    /// Writes that ended.
    pub(super) writes: u64,
    /// Bytes read.
    pub(super) read_bytes: u64,
    /// Bytes written.
    pub(super) write_bytes: u64,
    /// Milliseconds of reading, summed over requests.
    pub(super) read_ms: u64,
    /// Milliseconds of writing, summed over requests.
    pub(super) write_ms: u64,
}

impl Disks {
    /// Reads them; `None` where the machine does not tell, or has no disk.
    pub(super) fn read(places: &Places) -> Option<Self> {
        let text = fs::read(places.proc.join("diskstats")).ok()?;
        let block = places.sys.join("block");
        disks(&text, |name| block.join(name).is_dir())
    }

    /// What came since `before`.
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            reads: self.reads.saturating_sub(before.reads),
            writes: self.writes.saturating_sub(before.writes),
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
            write_bytes: self.write_bytes.saturating_sub(before.write_bytes),
            read_ms: self.read_ms.saturating_sub(before.read_ms),
            write_ms: self.write_ms.saturating_sub(before.write_ms),
        }
    }
}

/// Sums whole devices. Partitions would count twice, and so would devices made of others.
fn disks(text: &[u8], is_whole: impl Fn(&str) -> bool) -> Option<Disks> {
    const SECTOR: u64 = 512;
    let mut sum = Disks::default();
    let mut seen = false;
    for line in lines(text) {
        let mut fields = words(line).skip(2);
        let Some(name) = fields.next().and_then(|name| std::str::from_utf8(name).ok()) else {
            continue;
        };
        let counters: Vec<u64> = fields.map_while(number).collect();
        let [reads, _, sectors_read, read_ms, writes, _, sectors_written, write_ms, ..] =
            counters[..]
        else {
            continue;
        };
        if is_made_up(name) || name.contains('/') || !is_whole(name) {
            continue;
        }
        seen = true;
        sum.reads = sum.reads.saturating_add(reads);
        sum.writes = sum.writes.saturating_add(writes);
        sum.read_bytes = sum.read_bytes.saturating_add(sectors_read.saturating_mul(SECTOR));
        sum.write_bytes = sum.write_bytes.saturating_add(sectors_written.saturating_mul(SECTOR));
        sum.read_ms = sum.read_ms.saturating_add(read_ms);
        sum.write_ms = sum.write_ms.saturating_add(write_ms);
    }
    seen.then_some(sum)
}

/// Devices that are files, memory, or made of other devices.
fn is_made_up(name: &str) -> bool {
    ["loop", "ram", "zram", "dm-", "md", "fd", "sr", "nbd"]
        .iter()
        .any(|kind| name.starts_with(kind))
}

/// CPU time of the whole machine since boot, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct HostCpu {
    /// Doing something, steal not included.
    pub(super) busy: f64,
    /// All of it.
    pub(super) total: f64,
    /// Taken by the hypervisor for others.
    pub(super) steal: f64,
}

impl HostCpu {
    /// Reads it.
    pub(super) fn read(places: &Places) -> Option<Self> {
        host_cpu(&fs::read(places.proc.join("stat")).ok()?)
    }
}

/// The first line of `/proc/stat`. Guest time is part of user time already.
fn host_cpu(text: &[u8]) -> Option<HostCpu> {
    let line = lines(text).find_map(|line| line.strip_prefix(b"cpu "))?;
    let ticks: Vec<f64> = words(line).map_while(number).collect();
    let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = ticks[..] else {
        return None;
    };
    let second = rustix::param::clock_ticks_per_second() as f64;
    let busy = user + nice + system + irq + softirq;
    Some(HostCpu {
        busy: busy / second,
        total: (busy + idle + iowait + steal) / second,
        steal: steal / second,
    })
}

/// Time in which tasks waited for `kind`, in seconds since boot: of some tasks, and of all at once.
pub(super) fn pressure(places: &Places, kind: &str) -> Option<(f64, f64)> {
    let text = fs::read_to_string(places.proc.join("pressure").join(kind)).ok()?;
    Some((pressure_line(&text, "some")?, pressure_line(&text, "full").unwrap_or(0.0)))
}

fn pressure_line(text: &str, which: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.split(' ').next() == Some(which))?;
    let total = line.split(' ').find_map(|word| word.strip_prefix("total="))?;
    Some(total.parse::<u64>().ok()? as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_disks_only() {
        let text = b"   7       0 loop0 9 0 9 9 9 0 9 9 0 9 9\n\
             254       0 vda 100 5 2000 30 50 6 4000 70 0 97 92 4 61\n\
             254       1 vda1 100 5 2000 30 50 6 4000 70 0 97 92\n\
             259       0 nvme0n1 1 0 8 2 3 0 16 4 0 5 6\n\
             253       0 zram0 9 9 9 9 9 9 9 9 9 9 9\n\
             1 2 short 1\n";
        let found = disks(text, |name| !name.ends_with("vda1")).expect("disks");
        assert_eq!(
            found,
            Disks {
                reads: 101,
                writes: 53,
                read_bytes: 2008 * 512,
                write_bytes: 4016 * 512,
                read_ms: 32,
                write_ms: 74
            }
        );
        assert_eq!(disks(b"", |_| true), None);
        assert_eq!(found.since(&found), Disks::default());
    }

    #[test]
    fn cpu_of_the_machine() {
        let text = b"cpu  1000 100 300 5000 50 20 30 400 7 0\ncpu0 1 2 3\n";
        let cpu = host_cpu(text).expect("cpu");
        let second = rustix::param::clock_ticks_per_second() as f64;
        assert!((cpu.busy * second - 1450.0).abs() < 1e-6);
        assert!((cpu.total * second - 6900.0).abs() < 1e-6);
        assert!((cpu.steal * second - 400.0).abs() < 1e-6);
        assert_eq!(host_cpu(b"cpu 1 2\n"), None);
    }

    #[test]
    fn pressure_is_read_by_line() {
        let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n";
        assert_eq!(pressure_line(text, "some"), Some(1.5));
        assert_eq!(pressure_line(text, "full"), Some(0.5));
        assert_eq!(pressure_line("", "full"), None);
    }
}
