//! Describes the machine: what its fingerprint and its group are made of.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use super::cgroup::Cgroup;
use super::command::Places;
use crate::record::Machine;
use crate::record::canonical;

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// Variables of the runner that say what kind of machine it is, with the part's name.
const RUNNER: [(&str, &str); 6] = [
    ("RUNNER_ENVIRONMENT", "runner"),
    ("RUNNER_OS", "runner_os"),
    ("RUNNER_ARCH", "runner_arch"),
    ("RUNNER_NAME", "runner_name"),
    ("ImageOS", "image"),
    ("ImageVersion", "image_version"),
];

/// Parts that name one machine, not a kind: they are told, but make no other fingerprint.
const ONE_MACHINE: [&str; 1] = ["runner_name"];

/// Describes this machine. `env` is perftrail's environment; `name` is the group's configured
/// name. A part that cannot be read is missing.
pub fn machine(places: &Places, env: &BTreeMap<String, String>, name: Option<&str>) -> Machine {
    let mut parts = from_system();
    parts.extend(from_files(places));
    parts.extend(limits(places));
    for (variable, part) in RUNNER {
        if let Some(value) = env.get(variable).filter(|value| !value.is_empty()) {
            parts.insert(part.to_owned(), short(value));
        }
    }
    let group = name.map_or_else(|| group(&parts), str::to_owned);
    Machine { fingerprint: fingerprint(&parts), group, parts }
}

fn fingerprint(parts: &BTreeMap<String, String>) -> String {
    let kind: Map<String, Value> = parts
        .iter()
        .filter(|(name, _)| !ONE_MACHINE.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
        .collect();
    canonical::digest_of(&Value::Object(kind))[..16].to_owned()
}

/// Runner class, architecture, processor, cores and memory to 10 %: what must be alike for two
/// runs to be compared. Image, kernel and microcode are not in it.
fn group(parts: &BTreeMap<String, String>) -> String {
    let part = |name: &str| parts.get(name).map(String::as_str);
    let cores = part("cores").map(|cores| format!("{cores} cores"));
    let memory =
        part("memory").and_then(|text| text.strip_suffix(" GiB")?.parse().ok()).map(to_tenth);
    [
        Some(part("runner").unwrap_or("local").to_owned()),
        part("architecture").map(str::to_owned),
        part("cpu").map(str::to_owned),
        cores,
        memory,
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(", ")
}

/// Memory on a scale whose steps are 10 % apart, so that a kernel that keeps a little more for
/// itself makes no other group.
fn to_tenth(gib: f64) -> String {
    let step = (gib.max(0.01).ln() / 1.1_f64.ln()).round();
    let rounded = 1.1_f64.powf(step);
    if rounded < 10.0 { format!("{rounded:.1} GiB") } else { format!("{rounded:.0} GiB") }
}

fn from_system() -> BTreeMap<String, String> {
    let mut parts = BTreeMap::new();
    let mut put = |name: &str, value: String| {
        let value = short(&value);
        if !value.is_empty() {
            parts.insert(name.to_owned(), value);
        }
    };
    put("architecture", System::cpu_arch());
    if let Ok(kernel) = System::kernel_version() {
        put("kernel", kernel);
    }
    if let Ok(system) = System::long_os_version() {
        put("system", system);
    }
    let wanted = RefreshKind::nothing()
        .with_cpu(CpuRefreshKind::nothing())
        .with_memory(MemoryRefreshKind::nothing().with_ram());
    if let Ok(system) = System::new_with_specifics(wanted) {
        if let Some(cpu) = system.cpus().first() {
            put("cpu", cpu.brand().to_owned());
        }
        put("cores_online", system.cpus().len().to_string());
        if system.total_memory() > 0 {
            put("memory", format!("{:.1} GiB", system.total_memory() as f64 / GIB));
        }
    }
    parts
}

/// What only the kernel's files tell.
fn from_files(places: &Places) -> BTreeMap<String, String> {
    let mut parts = BTreeMap::new();
    let cpuinfo = fs::read_to_string(places.proc.join("cpuinfo")).unwrap_or_default();
    if let Some(flags) = field(&cpuinfo, "flags").or_else(|| field(&cpuinfo, "Features")) {
        parts.insert(
            "cpu_flags".to_owned(),
            canonical::sha256_hex(flags.as_bytes())[..12].to_owned(),
        );
        let is_virtual = flags.split(' ').any(|flag| flag == "hypervisor");
        parts.insert("virtual".to_owned(), if is_virtual { "yes" } else { "no" }.to_owned());
    }
    if let Some(microcode) = field(&cpuinfo, "microcode") {
        parts.insert("microcode".to_owned(), short(microcode));
    }
    let (proc, sys) = (&places.proc, &places.sys);
    for (name, path) in [
        ("hypervisor", sys.join("hypervisor/type")),
        ("product", sys.join("class/dmi/id/product_name")),
        ("randomized_addresses", proc.join("sys/kernel/randomize_va_space")),
        ("clock_source", sys.join("devices/system/clocksource/clocksource0/current_clocksource")),
        ("governor", sys.join("devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        ("simultaneous_threads", sys.join("devices/system/cpu/smt/control")),
    ] {
        if let Some(value) = line(&path) {
            parts.insert(name.to_owned(), value);
        }
    }
    if let Some(pages) = line(&sys.join("kernel/mm/transparent_hugepage/enabled")) {
        // The chosen one stands in brackets: `always [madvise] never`.
        let chosen = pages.split(['[', ']']).nth(1).unwrap_or(&pages).to_owned();
        parts.insert("huge_pages".to_owned(), chosen);
    }
    parts
}

/// Cores and memory that this process may use.
fn limits(places: &Places) -> BTreeMap<String, String> {
    let mut parts = BTreeMap::new();
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    let facts = Cgroup::find(places, pid).facts();
    if let Some(limit) = facts.memory_limit {
        parts.insert("memory_limit".to_owned(), format!("{:.1} GiB", limit as f64 / GIB));
    }
    if let Some(limit) = facts.cpu_limit {
        parts.insert("cpu_limit".to_owned(), format!("{limit:.2}"));
    }
    if let Some(allowed) = allowed_cores() {
        let cores = facts.cpu_limit.map_or(allowed, |limit| allowed.min(limit.ceil()));
        parts.insert("cores".to_owned(), format!("{:.0}", cores.max(1.0)));
    }
    parts
}

/// Cores that this process may be put on.
#[cfg(target_os = "linux")]
fn allowed_cores() -> Option<f64> {
    rustix::thread::sched_getaffinity(None).ok().map(|set| f64::from(set.count()))
}

#[cfg(not(target_os = "linux"))]
fn allowed_cores() -> Option<f64> {
    std::thread::available_parallelism().ok().map(|cores| cores.get() as f64)
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn line(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = short(text.lines().next()?);
    (!line.is_empty()).then_some(line)
}

/// One line, single spaces, no trademark signs, at most 120 characters.
fn short(text: &str) -> String {
    let plain = text.replace("(R)", "").replace("(TM)", "");
    let words: Vec<_> = plain.split_whitespace().collect();
    words.join(" ").chars().filter(|c| !c.is_control()).take(120).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_group_has_what_must_be_alike() {
        let mut here = parts(&[
            ("runner", "github-hosted"),
            ("architecture", "x86_64"),
            ("cpu", "AMD EPYC 7763"),
            ("cores", "4"),
            ("memory", "15.6 GiB"),
            ("kernel", "6.11"),
        ]);
        let group_here = group(&here);
        assert_eq!(group_here, "github-hosted, x86_64, AMD EPYC 7763, 4 cores, 16 GiB");
        here.insert("kernel".into(), "6.12".into());
        here.insert("memory".into(), "15.5 GiB".into());
        assert_eq!(group(&here), group_here);
        here.insert("memory".into(), "31.2 GiB".into());
        assert_ne!(group(&here), group_here);
        assert_eq!(group(&BTreeMap::new()), "local");
    }

    #[test]
    fn one_machines_name_makes_no_other_kind() {
        let a = parts(&[("cpu", "x"), ("runner_name", "a")]);
        let b = parts(&[("cpu", "x"), ("runner_name", "b")]);
        let c = parts(&[("cpu", "y"), ("runner_name", "a")]);
        assert_eq!(fingerprint(&a), fingerprint(&b));
        assert_ne!(fingerprint(&a), fingerprint(&c));
        assert_eq!(fingerprint(&a).len(), 16);
    }

    #[test]
    fn files_of_the_kernel() {
        let root = tempfile::tempdir().expect("a folder");
        for (path, text) in [
            ("proc/cpuinfo", "processor\t: 0\nmicrocode\t: 0xa0\nflags\t\t: fpu vme hypervisor\n"),
            ("proc/sys/kernel/randomize_va_space", "2\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock\n"),
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", "30 25 0:26 / /cg rw - cgroup2 cgroup2 rw\n"),
            ("cg/cpu.stat", "usage_usec 1\n"),
            ("cg/memory.peak", "1\n"),
            ("cg/cpu.max", "50000 100000\n"),
            ("cg/memory.max", "2147483648\n"),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            fs::write(path, text).expect("a file");
        }
        let places = Places {
            proc: root.path().join("proc"),
            sys: root.path().join("sys"),
            root: root.path().to_owned(),
        };
        let machine = machine(&places, &BTreeMap::new(), Some("dedicated"));
        assert_eq!(machine.group, "dedicated");
        for (name, value) in [
            ("virtual", "yes"),
            ("microcode", "0xa0"),
            ("huge_pages", "madvise"),
            ("clock_source", "kvm-clock"),
            ("randomized_addresses", "2"),
            ("cores", "1"),
            ("cpu_limit", "0.50"),
            ("memory_limit", "2.0 GiB"),
        ] {
            assert_eq!(machine.parts.get(name).map(String::as_str), Some(value), "{name}");
        }
        assert!(!machine.parts.contains_key("governor"));
    }

    #[test]
    fn texts_are_made_short() {
        assert_eq!(short("Intel(R)  Xeon(R) CPU\n@ 2.2GHz "), "Intel Xeon CPU @ 2.2GHz");
        assert_eq!(short(&"x".repeat(500)).len(), 120);
    }
}
