//! What the control group of this process tells, in both of the kernel's versions.
//!
//! Files are looked for, not versions: a mounted version 2 need not hold the memory controller.

use std::fs;
use std::path::{Path, PathBuf};

use super::command::Places;
use super::procfs::{lines, number, words};

/// The folders of this process's control group.
#[derive(Clone, Debug, Default)]
pub(super) struct Cgroup {
    memory: Option<PathBuf>,
    cpu: Option<PathBuf>,
    cpu_account: Option<PathBuf>,
    /// Why totals of the group are not the job's; `None` when they are.
    shared: Option<String>,
}

/// What the group tells at one moment. `None` where it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Facts {
    /// The greatest memory the group ever held, page cache included, in bytes.
    pub(super) memory_peak: Option<u64>,
    /// Processes that the kernel killed for want of memory.
    pub(super) oom_kills: Option<u64>,
    /// CPU time in seconds.
    pub(super) cpu: Option<f64>,
    /// Time in which the group was held back by its quota, in seconds.
    pub(super) throttled: Option<f64>,
    /// Its memory limit in bytes.
    pub(super) memory_limit: Option<u64>,
    /// How many CPUs its quota is worth.
    pub(super) cpu_limit: Option<f64>,
}

impl Cgroup {
    /// Finds the group. `pid` is this process.
    pub(super) fn find(places: &Places, pid: i32) -> Self {
        let of_self = fs::read_to_string(places.proc.join("self/cgroup")).unwrap_or_default();
        let mounts = fs::read_to_string(places.proc.join("self/mountinfo")).unwrap_or_default();
        let folders = |controller: &str| folders(&of_self, &mounts, controller, &places.root);
        let with = |controller: &str, files: &[&str]| {
            folders(controller)
                .into_iter()
                .find(|folder| files.iter().any(|file| folder.join(file).is_file()))
        };
        let memory = with("memory", &["memory.peak", "memory.stat", "memory.max_usage_in_bytes"]);
        let cpu = with("cpu", &["cpu.stat"]);
        let cpu_account = with("cpuacct", &["cpuacct.usage"]).or_else(|| cpu.clone());
        let shared = memory.as_deref().and_then(|folder| strangers(folder, pid));
        Self { memory, cpu, cpu_account, shared }
    }

    /// Why the group's totals are not the job's; `None` when they are.
    pub(super) fn shared(&self) -> Option<&str> {
        match (&self.memory, &self.shared) {
            (None, _) => Some("no cgroup with a memory controller can be read"),
            (Some(_), shared) => shared.as_deref(),
        }
    }

    /// What the group tells now.
    pub(super) fn facts(&self) -> Facts {
        let memory = |name: &str| read(self.memory.as_deref(), name);
        let cpu = |name: &str| read(self.cpu.as_deref(), name);
        let account = |name: &str| read(self.cpu_account.as_deref(), name);
        let first = |text: Option<Vec<u8>>| text.and_then(|text| number::<u64>(text.trim_ascii()));
        let oom = memory("memory.events").or_else(|| memory("memory.oom_control"));
        let usage = account("cpu.stat").and_then(|text| keyed(&text, "usage_usec"));
        let throttled = cpu("cpu.stat").and_then(|text| {
            keyed(&text, "throttled_usec")
                .map(|us| us as f64 / 1e6)
                .or_else(|| keyed(&text, "throttled_time").map(|ns| ns as f64 / 1e9))
        });
        Facts {
            memory_peak: first(memory("memory.peak"))
                .or_else(|| first(memory("memory.max_usage_in_bytes"))),
            oom_kills: oom.and_then(|text| keyed(&text, "oom_kill")),
            cpu: usage
                .map(|us| us as f64 / 1e6)
                .or_else(|| first(account("cpuacct.usage")).map(|ns| ns as f64 / 1e9)),
            throttled,
            memory_limit: first(memory("memory.max"))
                .or_else(|| first(memory("memory.limit_in_bytes")))
                // "No limit" in version 1 is a number next to the greatest.
                .filter(|&limit| limit < 1 << 60),
            cpu_limit: cpu("cpu.max").and_then(|text| quota(&text)).or_else(|| {
                let quota = number::<f64>(cpu("cpu.cfs_quota_us")?.trim_ascii())?;
                let period = number::<f64>(cpu("cpu.cfs_period_us")?.trim_ascii())?;
                (quota > 0.0 && period > 0.0).then(|| quota / period)
            }),
        }
    }
}

fn read(folder: Option<&Path>, name: &str) -> Option<Vec<u8>> {
    fs::read(folder?.join(name)).ok()
}

/// The value of a `key value` line.
fn keyed(text: &[u8], key: &str) -> Option<u64> {
    lines(text).find_map(|line| {
        let mut words = words(line);
        (words.next()? == key.as_bytes()).then(|| number(words.next()?))?
    })
}

/// `cpu.max`: `200000 100000` is two CPUs, `max 100000` no limit.
fn quota(text: &[u8]) -> Option<f64> {
    let mut words = words(text);
    let quota: f64 = number(words.next()?)?;
    let period: f64 = number(words.next()?)?;
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// The folders where the group may be, best first: below the mount by its path, then the mount
/// itself, which is what a container sees.
fn folders(of_self: &str, mountinfo: &str, controller: &str, root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in of_self.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let is_v2 = controllers.is_empty();
        if !is_v2 && !controllers.split(',').any(|name| name == controller) {
            continue;
        }
        for mount in mountinfo.lines().filter_map(Mount::parse) {
            if !mount.holds(is_v2, controller) {
                continue;
            }
            let at = root.join(mount.point.trim_start_matches('/'));
            let inside = path.strip_prefix(mount.root).unwrap_or(path).trim_start_matches('/');
            found.push(at.join(inside));
            found.push(at);
        }
    }
    found
}

struct Mount<'a> {
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    /// A line of `mountinfo`: optional fields stand before a lone `-`.
    fn parse(line: &'a str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let mut after = after.split(' ');
        let (root, point) = (before.next()?, before.next()?);
        let (kind, _, options) = (after.next()?, after.next()?, after.next()?);
        // `/` as a mount's root is a prefix of every path and takes nothing away.
        Some(Self { root: if root == "/" { "" } else { root }, point, kind, options })
    }

    fn holds(&self, is_v2: bool, controller: &str) -> bool {
        if is_v2 {
            self.kind == "cgroup2"
        } else {
            self.kind == "cgroup" && self.options.split(',').any(|name| name == controller)
        }
    }
}

/// Why that group is not this process's alone.
fn strangers(folder: &Path, pid: i32) -> Option<String> {
    let Ok(text) = fs::read(folder.join("cgroup.procs")) else {
        return Some("the processes of the cgroup cannot be read".to_owned());
    };
    let others = super::procfs::numbers(&text).filter(|&other| other != pid).count();
    if others > 0 {
        return Some(format!("the cgroup holds {others} processes that are not the job's"));
    }
    let has_children = fs::read_dir(folder).is_ok_and(|mut entries| {
        entries.any(|entry| entry.is_ok_and(|e| e.file_type().is_ok_and(|kind| kind.is_dir())))
    });
    has_children.then(|| "the cgroup has groups below it".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PID: i32 = 77;

    fn lay(files: &[(&str, &str)]) -> (tempfile::TempDir, Places) {
        let root = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            fs::write(path, text).expect("a file");
        }
        let places = Places {
            proc: root.path().join("proc"),
            root: root.path().to_owned(),
            ..Places::default()
        };
        (root, places)
    }

    const V2_MOUNT: &str =
        "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn version_2_in_a_container() {
        let (_root, places) = lay(&[
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", V2_MOUNT),
            ("sys/fs/cgroup/cgroup.procs", "77\n"),
            ("sys/fs/cgroup/memory.peak", "301989888\n"),
            ("sys/fs/cgroup/memory.events", "low 0\nhigh 0\nmax 3\noom 1\noom_kill 1\n"),
            ("sys/fs/cgroup/memory.max", "max\n"),
            ("sys/fs/cgroup/cpu.max", "150000 100000\n"),
            (
                "sys/fs/cgroup/cpu.stat",
                "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\nnr_periods 10\nnr_throttled 2\nthrottled_usec 40000\n",
            ),
        ]);
        let cgroup = Cgroup::find(&places, PID);
        assert_eq!(cgroup.shared(), None);
        assert_eq!(
            cgroup.facts(),
            Facts {
                memory_peak: Some(301_989_888),
                oom_kills: Some(1),
                cpu: Some(2.5),
                throttled: Some(0.04),
                memory_limit: None,
                cpu_limit: Some(1.5),
            }
        );
    }

    #[test]
    fn version_1_in_docker_is_seen_at_the_mount() {
        let (_root, places) = lay(&[
            ("proc/self/cgroup", "9:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n"),
            (
                "proc/self/mountinfo",
                "40 30 0:30 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
                 41 30 0:31 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n",
            ),
            ("sys/fs/cgroup/memory/cgroup.procs", "77\n"),
            ("sys/fs/cgroup/memory/memory.max_usage_in_bytes", "1000\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            (
                "sys/fs/cgroup/memory/memory.oom_control",
                "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
            ),
            ("sys/fs/cgroup/cpu,cpuacct/cpuacct.usage", "3000000000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 0\nthrottled_time 500000000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ]);
        let cgroup = Cgroup::find(&places, PID);
        assert_eq!(cgroup.shared(), None);
        assert_eq!(
            cgroup.facts(),
            Facts {
                memory_peak: Some(1000),
                oom_kills: Some(2),
                cpu: Some(3.0),
                throttled: Some(0.5),
                memory_limit: None,
                cpu_limit: None,
            }
        );
    }

    #[test]
    fn a_shared_group_says_why() {
        let (_root, places) = lay(&[
            ("proc/self/cgroup", "0::/user.slice/a.scope\n"),
            ("proc/self/mountinfo", V2_MOUNT),
            ("sys/fs/cgroup/user.slice/a.scope/memory.peak", "5\n"),
            ("sys/fs/cgroup/user.slice/a.scope/cgroup.procs", "70\n77\n"),
        ]);
        let cgroup = Cgroup::find(&places, PID);
        assert!(cgroup.shared().is_some_and(|why| why.contains("1 processes")));
        assert_eq!(cgroup.facts().memory_peak, Some(5));
    }

    #[test]
    fn without_a_memory_controller_nothing_is_known() {
        let (_root, places) = lay(&[
            ("proc/self/cgroup", "0::/\ngarbage\n"),
            ("proc/self/mountinfo", V2_MOUNT),
            ("sys/fs/cgroup/cgroup.procs", "77\n"),
        ]);
        let cgroup = Cgroup::find(&places, PID);
        assert!(cgroup.shared().is_some());
        assert_eq!(cgroup.facts(), Facts::default());
    }
}
