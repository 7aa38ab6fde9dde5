//! The record of a run that was measured elsewhere.

use std::collections::BTreeMap;

use super::{Branch, Brought};
use crate::model::metric::{BUILT_IN, Unit};
use crate::model::status::{Identity, Status};
use crate::record::series::summaries;
use crate::record::{
    Commit, Disturbance, Environment, File, IMPORTED, Level, Machine, Notice, Overhead, Profiler,
    Record, Repetitions, Repository, Run, SCHEMA, Tool, Trigger,
};

/// What is known of a run beside its own files.
#[derive(Clone, Debug)]
pub struct Around {
    /// The measured project.
    pub repository: Repository,
    /// The name of its default branch.
    pub default_branch: String,
    /// Names the machine group; `None`: as the files say.
    pub machine: Option<String>,
    /// The profiler that it ran under.
    pub profiler: &'static str,
    /// What a clone of the project knows of the commit.
    pub commit: Option<Commit>,
    /// The files beside the record.
    pub files: Vec<File>,
}

/// How far beyond the usual the machine's traffic marks a run.
const BUSY: f64 = 10.0;

impl Brought {
    /// The run's name: the same for the same run.
    pub fn id(&self) -> String {
        let number = self.number.map_or_else(
            || self.started.strftime("%Y%m%dT%H%M%S").to_string(),
            |number| number.to_string(),
        );
        let event: String = self
            .event
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
            .take(40)
            .collect();
        let event = if event.is_empty() { "imported" } else { &event };
        match &self.machine {
            // Two machines may have measured one commit in one second.
            Some(machine) => {
                let digest = crate::record::canonical::sha256_hex(
                    format!("{machine}\n{}", self.source).as_bytes(),
                );
                format!("{event}-{number}-1-{}-{}", self.job, &digest[..6])
            }
            None => format!("{event}-{number}-1-{}", self.job),
        }
    }

    /// The record, unsigned. Nothing in it depends on when or where it is brought in.
    pub fn record(&self, around: &Around) -> Record {
        let why = "imported: perftrail did not run the job";
        let missing = BUILT_IN.iter().filter(|one| !self.metrics.contains_key(one.name));
        let told = self.source.rsplit('/').next().unwrap_or(&self.source);
        let notice = format!("read from {told}: perftrail did not measure this run");
        let mut notices =
            vec![Notice { level: Level::Info, code: IMPORTED.to_owned(), message: notice }];
        notices.extend(self.notices.iter().cloned());
        Record {
            schema: SCHEMA,
            run: self.run(),
            repository: around.repository.clone(),
            commit: self.commit(around),
            trigger: Trigger {
                event: self.event.clone(),
                actor: None,
                run_url: None,
                run_id: None,
                run_number: self.number,
                attempt: None,
                pull_request: None,
            },
            machine: self.machine(around),
            environment: Environment::default(),
            tool: Tool {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                meter: IMPORTED.to_owned(),
                profiler: Profiler {
                    name: around.profiler.to_owned(),
                    version: None,
                    args: Vec::new(),
                },
            },
            params: self.params.clone(),
            metrics: self.metrics.clone(),
            unavailable: missing.map(|one| (one.name.to_owned(), why.to_owned())).collect(),
            steps: Vec::new(),
            phases: Vec::new(),
            series: summaries(&self.series),
            profiles: Vec::new(),
            functions: Vec::new(),
            extra: self.extra.clone(),
            files: around.files.clone(),
            disturbances: self.disturbed.map(disturbance).into_iter().collect(),
            notices,
            overhead: Overhead::default(),
            comparison: None,
            amended: Vec::new(),
        }
    }

    fn run(&self) -> Run {
        Run {
            id: self.id(),
            job: self.job.clone(),
            tag: None,
            workload: 1,
            variant: None,
            status: Status::Succeeded,
            exit_code: None,
            planned: self.started,
            started: Some(self.started),
            ended: self.ended(),
            repetitions: Repetitions { planned: 1, completed: 1, warmups: 0 },
            digest: None,
            identity: Identity::Claimed,
            judged: Vec::new(),
        }
    }

    fn commit(&self, around: &Around) -> Commit {
        let mut commit = around.commit.clone().unwrap_or_else(|| {
            let mut commit = Commit::known_by_id(self.sha(), "imported: only the id is known");
            if commit.sha.is_none() {
                let why = match &self.commit {
                    Some(text) => format!(
                        "imported: `{}` is no full commit id",
                        crate::model::text::shown(text)
                    ),
                    None => "imported: nothing tells the commit".to_owned(),
                };
                commit.unknown.insert("sha".to_owned(), why);
            }
            commit
        });
        commit.default_branch = Some(around.default_branch.clone());
        let branch = match &self.branch {
            Branch::Default => Some(around.default_branch.as_str()),
            Branch::Named(name) => Some(name.as_str()),
            Branch::Unknown => None,
        };
        commit.reference = branch.map(|name| format!("refs/heads/{name}"));
        if commit.subject.is_none() {
            commit.subject = self.subject.as_deref().map(|text| text.chars().take(200).collect());
        }
        commit.committed = commit.committed.or(self.committed);
        commit.dirty = self.dirty;
        for (part, is_known) in [
            ("ref", commit.reference.is_some()),
            ("committed", commit.committed.is_some()),
            ("dirty", commit.dirty.is_some()),
        ] {
            if is_known {
                commit.unknown.remove(part);
            }
        }
        commit
    }

    fn machine(&self, around: &Around) -> Machine {
        let known = around.machine.as_ref().or(self.machine.as_ref());
        let group = known.map_or("imported, machine not known", String::as_str);
        let group: String = group.chars().take(100).collect();
        Machine { fingerprint: String::new(), group, parts: BTreeMap::new() }
    }
}

fn disturbance(times: f64) -> Disturbance {
    Disturbance {
        name: "host_disk_writes".to_owned(),
        value: times,
        unit: Unit::Ratio,
        limit: Some(BUSY),
        exceeded: true,
        message: format!(
            "the whole machine wrote {times:.0} times as much as beside the usual run: something else was at work"
        ),
    }
}
