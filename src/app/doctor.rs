//! `doctor`: says before a long run what would fail after it.

mod programs;

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use jiff::Timestamp;
pub use programs::programs;

use crate::app::run::hints::tox_drops_ours;
use crate::config::{Config, Job, Profiler};
use crate::plan::hints;
use crate::record::Commit;
use crate::source::git::Missing;

/// GitHub ends a job on its own runners after this.
const HOSTED_MAX: Duration = Duration::from_hours(6);
/// And one on a runner of yours after this.
const SELF_HOSTED_MAX: Duration = Duration::from_hours(5 * 24);
/// The workflow's own token ends after this.
const TOKEN_MAX: Duration = Duration::from_hours(24);
/// GitHub stops schedules of a public repository after sixty idle days.
const IDLE_DAYS: i64 = 50;
/// Paths that a finding names.
const NAMED_MAX: usize = 3;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// As it should be.
    Good,
    /// May trouble somebody.
    Warning,
    /// Will fail.
    Bad,
    /// Could not be found out.
    Unknown,
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at, one or two words.
    pub what: &'static str,
    /// How it is.
    pub health: Health,
    /// What was found and what to do.
    pub message: String,
}

impl Finding {
    /// A finding.
    pub fn new(what: &'static str, health: Health, message: impl Into<String>) -> Self {
        Self { what, health, message: message.into() }
    }
}

/// Whether the commit can be told, and whether it is what will run.
pub fn repository(commit: &Commit) -> Finding {
    match (&commit.sha, commit.dirty) {
        (Some(sha), Some(true)) => Finding::new(
            "commit",
            Health::Warning,
            format!(
                "{} with uncommitted changes: its runs stand in no history; commit them",
                sha.short()
            ),
        ),
        (Some(sha), _) => Finding::new("commit", Health::Good, sha.short()),
        (None, _) => {
            let why = commit.unknown.get("sha").map_or("it is not known", String::as_str);
            Finding::new(
                "commit",
                Health::Warning,
                format!("none: {why}; runs stand in no history"),
            )
        }
    }
}

/// Files and submodules that the commit names and the checkout lacks.
pub fn checkout(missing: &Missing) -> Vec<Finding> {
    let told = |what, paths: &[String], help: &str| {
        (!paths.is_empty()).then(|| {
            let named: Vec<&str> = paths.iter().take(NAMED_MAX).map(String::as_str).collect();
            let more = if paths.len() > NAMED_MAX { ", …" } else { "" };
            let message = format!("{} ({}{more}): {help}", paths.len(), named.join(", "));
            Finding::new(what, Health::Bad, message)
        })
    };
    let lfs = "only pointers are here; `git lfs pull`, or `lfs: true` for actions/checkout";
    let sub =
        "not fetched; `git submodule update --init`, or `submodules: true` for actions/checkout";
    let found: Vec<Finding> = [
        told("LFS files", &missing.lfs_pointers, lfs),
        told("submodules", &missing.submodules, sub),
    ]
    .into_iter()
    .flatten()
    .collect();
    if found.is_empty() {
        return vec![Finding::new(
            "checkout",
            Health::Good,
            "no LFS pointer, no missing submodule",
        )];
    }
    found
}

/// Time limits beside those of the platform.
pub fn time_limits(config: &Config) -> Vec<Finding> {
    config.jobs.iter().map(time_limit).collect()
}

fn time_limit(job: &Job) -> Finding {
    let times = job.repetitions.saturating_add(job.warmups);
    let longest = job.total_timeout.or_else(|| job.timeout?.checked_mul(times));
    let Some(longest) = longest else {
        return Finding::new(
            "time limit",
            Health::Warning,
            format!(
                "job {}: none; the platform ends it, and what it measured then is less",
                job.name
            ),
        );
    };
    let hours = longest.as_secs_f64() / 3600.0;
    let job = &job.name;
    let (health, message) = if longest > SELF_HOSTED_MAX {
        (
            Health::Bad,
            format!("job {job}: up to {hours:.1} h, and no job of GitHub runs longer than 5 days"),
        )
    } else if longest > TOKEN_MAX {
        (
            Health::Warning,
            format!(
                "job {job}: up to {hours:.1} h: only on a machine of yours, and no token lives that long: make the credential after the run"
            ),
        )
    } else if longest >= HOSTED_MAX {
        (
            Health::Warning,
            format!("job {job}: up to {hours:.1} h: GitHub's own runners end a job after 6 h"),
        )
    } else {
        (Health::Good, format!("job {job}: up to {hours:.1} h"))
    };
    Finding::new("time limit", health, message)
}

/// Whether each job's profiler is there, in the environment that we were started in.
pub fn profilers(
    config: &Config,
    variables: &[(OsString, OsString)],
    folder: &Path,
) -> Vec<Finding> {
    let mut seen: Vec<Profiler> = Vec::new();
    for job in &config.jobs {
        if !seen.contains(&job.profiler) {
            seen.push(job.profiler);
        }
    }
    seen.into_iter().filter_map(|profiler| profiler_found(profiler, variables, folder)).collect()
}

fn profiler_found(
    profiler: Profiler,
    variables: &[(OsString, OsString)],
    folder: &Path,
) -> Option<Finding> {
    let name = profiler.as_str();
    let command: &[&str] = match name {
        "none" | "self" => return None,
        "cprofile" => &["python3", "-c", "import cProfile"],
        "pyinstrument" => &["python3", "-c", "import pyinstrument"],
        "scalene" => &["python3", "-c", "import scalene"],
        "memray" => &["python3", "-c", "import memray"],
        "perf" => &["perf", "--version"],
        _ => &[name, "--version"],
    };
    let (program, args) = command.split_first()?;
    let ended = Command::new(program)
        .args(args)
        .current_dir(folder)
        .env_clear()
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let found = match ended {
        Ok(status) if status.success() => {
            Finding::new("profiler", Health::Good, format!("{name} is there"))
        }
        Ok(_) => Finding::new(
            "profiler",
            Health::Bad,
            format!("{name} cannot be imported by python3: install it in this environment"),
        ),
        Err(error) => {
            Finding::new("profiler", Health::Bad, format!("{program} does not start: {error}"))
        }
    };
    Some(found)
}

/// Whether tox would keep from its jobs what perftrail gives them.
pub fn tox(config: &Config, root: &Path) -> Option<Finding> {
    let told = |job: &&Job| {
        job.steps.iter().any(|step| hints::starts_tox(&step.run))
            && tox_drops_ours(&root.join(&job.cwd))
    };
    let job = config.jobs.iter().find(told)?;
    let message = format!("job {}: {}", job.name, hints::TOX_ADVICE);
    Some(Finding::new("tox", Health::Warning, message))
}

/// Schedules of public repositories end when nothing is committed for long.
pub fn schedule(
    workflows: &[String],
    committed: Option<Timestamp>,
    now: Timestamp,
) -> Option<Finding> {
    let is_scheduled = workflows.iter().any(|text| {
        text.lines().any(|line| {
            let line = line.trim_start();
            !line.starts_with('#') && line.contains("cron:")
        })
    });
    let days = (now.as_second() - committed?.as_second()) / (24 * 60 * 60);
    is_scheduled.then(|| {
        if days >= IDLE_DAYS {
            Finding::new("schedule", Health::Warning, format!("the newest commit is {days} days old: GitHub stops the schedules of a public repository after 60 idle days; commit something, or start the workflow by hand"))
        } else {
            Finding::new("schedule", Health::Good, format!("the newest commit is {days} days old"))
        }
    })
}

/// Workflows that name no account in which the Action lives.
pub fn placeholder(workflows: &[String]) -> Option<Finding> {
    let names = |text: &String| {
        text.lines().any(|line| line.trim_start_matches([' ', '-']).starts_with("uses: OWNER/"))
    };
    workflows.iter().any(names).then(|| {
        Finding::new(
            "workflow",
            Health::Bad,
            "a workflow uses `OWNER/perftrail`: put the account there in which perftrail lives, or \
             nothing will run",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn limits(text: &str) -> Vec<Health> {
        let config = config::parse("perftrail.toml", text).unwrap();
        time_limits(&config).iter().map(|found| found.health).collect()
    }

    #[test]
    fn time_limits_stand_beside_those_of_the_platform() {
        let job = |more: &str| format!("[[job]]\nname = \"a\"\nrun = \"true\"\n{more}\n");
        for (more, health) in [
            ("", Health::Warning),
            ("timeout = \"90m\"", Health::Good),
            ("timeout = \"90m\"\nrepetitions = 3\nwarmups = 1", Health::Warning),
            ("timeout = \"5h\"", Health::Good),
            ("timeout = \"30h\"", Health::Warning),
            ("timeout = \"3d\"\nrepetitions = 2", Health::Bad),
            ("timeout = \"3d\"\nrepetitions = 2\ntotal_timeout = \"2h\"", Health::Good),
        ] {
            assert_eq!(limits(&job(more)), [health], "{more}");
        }
    }

    #[test]
    fn only_a_schedule_can_fall_asleep() {
        let now: Timestamp = "2026-11-30T00:00:00Z".parse().unwrap();
        let old = Some("2026-10-01T00:00:00Z".parse().unwrap());
        let cron = vec!["on:\n  schedule:\n    - cron: \"1 2 * * *\"\n".to_owned()];
        let health = |flows: &[String], at| schedule(flows, at, now).map(|found| found.health);
        assert_eq!(health(&cron, old), Some(Health::Warning));
        assert_eq!(health(&cron, Some(now)), Some(Health::Good));
        assert_eq!(health(&["# cron: x\non: push\n".to_owned()], old), None);
        assert_eq!(health(&cron, None), None);
    }

    #[test]
    fn what_is_missing_is_named() {
        let paths = |n: usize| (0..n).map(|i| format!("data/{i}.nc")).collect();
        let found = checkout(&Missing { lfs_pointers: paths(5), submodules: Vec::new() });
        assert_eq!(found.len(), 1);
        assert!(found[0].message.starts_with("5 (data/0.nc, data/1.nc, data/2.nc, …)"));
        assert_eq!(checkout(&Missing::default())[0].health, Health::Good);
    }
}
