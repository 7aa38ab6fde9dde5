//! The index: one line a run, enough for history, comparison and the first page.
//!
//! A line is a pure function of the stored record, so index and pages can be made anew from the
//! run folders at any time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Metric, Record, Repository, canonical, layout};
use crate::model::metric::{BUILT_IN, Better, Unit, built_in};
use crate::model::names::CommitSha;
use crate::model::robust;
use crate::model::status::{Identity, Status};

/// Longest line, its newline not counted.
pub const LINE_MAX: usize = 4096;

/// Longest path of a run's folder, in bytes: any record's line still fits beside it.
pub const PATH_MAX: usize = 512;

/// One run in the index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The run's folder, from the repository's root.
    pub path: String,
    /// The record's `run.digest`.
    pub digest: Option<String>,
    /// When it began; for a run that never did, when it was planned.
    pub start: Timestamp,
    /// When it was planned: the order of histories.
    pub planned: Timestamp,
    /// The job's name.
    pub job: String,
    /// The tag, where the job makes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// How it ended.
    pub status: Status,
    /// `host/owner/name`, parts that are not known left out.
    pub repository: String,
    /// The measured commit.
    pub commit: Option<CommitSha>,
    /// The first line of its message, cut to 72 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The branch or tag.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Where it left the default branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_base: Option<CommitSha>,
    /// Its nearest ancestor that is known, and how many commits follow upon that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<After>,
    /// Whether a commit that was measured before descends from it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub older: bool,
    /// Whether the commit lies on the default branch, as far as the record knows.
    pub on_default_branch: bool,
    /// Whether tracked files differed from the commit; `null` when not known.
    pub dirty: Option<bool>,
    /// What started it.
    pub event: String,
    /// The page of the service's run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_url: Option<String>,
    /// The pull request that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<u64>,
    /// How the identity is known.
    pub identity: Identity,
    /// The machine's group.
    pub machine: String,
    /// The machine's fingerprint.
    pub fingerprint: String,
    /// The profiler's name and version, `none` without one.
    pub profiler: String,
    /// The job's workload number.
    pub workload: u32,
    /// The variant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Params that are part of the history's key with their values, as far as they fit.
    pub params: BTreeMap<String, Value>,
    /// How many of these params did not fit: they are read from the record.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_params: u32,
    /// What must be equal for runs to share a history, see [`key_of`].
    pub key: String,
    /// Names of the indicators that were exceeded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<String>,
    /// The newest correction of what it says it measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amended: Option<AmendedLine>,
    /// Judged, built-in and reported metrics, in that order as far as the line's length allows.
    pub metrics: BTreeMap<String, Entry>,
    /// How many metrics did not fit: they are read from the record.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// A commit by its first digits, and how many commits follow upon it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct After(pub String, pub u64);

impl After {
    /// Whether that is the commit `sha`.
    pub fn is(&self, sha: &CommitSha) -> bool {
        self.0.len() >= SHORT && sha.as_str().starts_with(&self.0)
    }
}

/// Digits of a commit in [`After`].
const SHORT: usize = 12;

/// A correction, as a line tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AmendedLine {
    /// The commit that the run said it measured.
    pub from: Option<CommitSha>,
    /// Why that is wrong.
    pub because: String,
    /// Who says so.
    pub author: String,
    /// When.
    pub date: Timestamp,
}

/// One metric of a line: `[value, n, spread, method]`.
///
/// `spread` is the median absolute deviation of the repetitions times 1.4826, in the metric's own
/// unit; `null` for fewer than two. `method` is `source:method`; of a metric that is none of the
/// built-in ones its unit follows in brackets, and behind that which way it gets better, where it
/// does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry(pub f64, pub u32, pub Option<f64>, pub String);

/// Most bytes that the params of a line take, as JSON.
const PARAMS_MAX: usize = 640;

/// A line that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// It is longer than a line may be.
    #[error("the line has {bytes} bytes, and at most {LINE_MAX} are read")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// It is no JSON of this form.
    #[error("the line is no index line: {0}")]
    Form(#[from] serde_json::Error),
}

impl Line {
    /// The line of `record`, stored in the folder `path`.
    ///
    /// Total and at most [`LINE_MAX`] bytes long, whatever the record holds: long texts are cut,
    /// and metrics that do not fit are only counted. `path` is ours and at most [`PATH_MAX`] bytes long.
    pub fn of(record: &Record, path: &str) -> Self {
        let mut line = Self::without_metrics(record, path);
        line.add_metrics(record);
        line
    }

    fn without_metrics(record: &Record, path: &str) -> Self {
        let (run, commit, trigger) = (&record.run, &record.commit, &record.trigger);
        let (params, more_params) = params_that_fit(record);
        Self {
            path: path.to_owned(),
            digest: run.digest.as_deref().map(|digest| fit(digest, 80)),
            start: layout::start_of(record),
            planned: run.planned,
            job: fit(&run.job, 60),
            tag: run.tag.as_deref().map(|tag| fit(tag, 100)),
            status: run.status,
            repository: fit(&repository_name(&record.repository), 200),
            commit: commit.sha.clone(),
            subject: commit.subject.as_deref().map(subject),
            reference: commit.reference.as_deref().map(|name| fit(name, 160)),
            merge_base: commit.merge_base.clone(),
            after: after(record),
            older: commit.against.iter().any(|one| one.ahead == 0 && one.behind > 0),
            on_default_branch: on_default_branch(record),
            dirty: commit.dirty,
            event: fit(&trigger.event, 60),
            // Half an address leads nowhere.
            run_url: trigger.run_url.clone().filter(|url| encoded(url) <= 300),
            pull_request: trigger.pull_request,
            identity: run.identity,
            machine: fit(&record.machine.group, 160),
            fingerprint: fit(&record.machine.fingerprint, 80),
            profiler: fit(&profiler_name(record), 80),
            workload: run.workload,
            variant: run.variant.as_deref().map(|variant| fit(variant, 80)),
            params,
            more_params,
            key: key_of(record),
            disturbed: record.disturbed_by().take(8).map(|by| fit(&by.name, 40)).collect(),
            amended: record.amended.last().map(|amendment| AmendedLine {
                from: amendment.commit.sha.clone(),
                because: fit(&amendment.because, 200),
                author: fit(&amendment.author, 100),
                date: amendment.date,
            }),
            metrics: BTreeMap::new(),
            more: 0,
        }
    }

    /// Adds metrics in order of their weight while they fit; after the first that does not, the
    /// rest is counted, so that what a line holds is easy to foretell.
    fn add_metrics(&mut self, record: &Record) {
        let room = LINE_MAX.saturating_sub(self.to_json().len() + r#","more":4294967295"#.len());
        let mut used = 0;
        let mut full = false;
        for (name, metric) in by_weight(record) {
            let entry = Entry::of(name, metric);
            let cost = encoded(name) + ":,".len() + json_len(&entry);
            full |= used + cost > room;
            if full || !metric.value.is_finite() {
                self.more += 1;
            } else {
                used += cost;
                self.metrics.insert(name.to_owned(), entry);
            }
        }
    }

    /// The line as it stands in a shard, without a newline. Equal lines give equal bytes.
    pub fn to_json(&self) -> String {
        // Every part is text, a number that JSON can hold, or a map with text keys.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a line; keys that only a newer perftrail knows are passed over.
    ///
    /// # Errors
    /// When the text is too long or no line.
    pub fn parse(text: &str) -> Result<Self, LineError> {
        if text.len() > LINE_MAX {
            return Err(LineError::TooLong { bytes: text.len() });
        }
        Ok(serde_json::from_str(text)?)
    }

    /// The shard's month, `YYYY-MM`.
    pub fn month(&self) -> String {
        self.start.strftime("%Y-%m").to_string()
    }

    /// Whether its values may stand in a history: it succeeded and has any.
    pub fn has_values(&self) -> bool {
        self.status == Status::Succeeded && !(self.metrics.is_empty() && self.more == 0)
    }
}

impl Entry {
    /// The entry of the metric `name`. Its method is `source:method`, a long one cut and marked
    /// with a digest so that it stays unequal to others.
    pub fn of(name: &str, metric: &Metric) -> Self {
        let mut method = distinct(&format!("{}:{}", metric.source, metric.method), 60);
        if built_in(name).is_none() {
            if metric.unit != Unit::None {
                let _ = write!(method, " [{}]", fit(metric.unit.as_str(), 30));
            }
            method.push_str(match metric.better {
                Better::Lower => LOWER,
                Better::Higher => HIGHER,
                Better::Neither => "",
            });
        }
        let spread = robust::spread(&metric.repetitions).filter(|spread| spread.is_finite());
        Self(metric.value, metric.n, spread.map(six_digits), method)
    }

    /// The unit of the metric `name`, as far as the line tells it.
    pub fn unit(&self, name: &str) -> Unit {
        match built_in(name) {
            Some(known) => known.unit.clone(),
            None => self
                .method()
                .strip_suffix(']')
                .and_then(|text| text.rsplit_once(" ["))
                .map_or(Unit::None, |(_, unit)| Unit::from(unit.to_owned())),
        }
    }

    /// Which way the metric `name` gets better, as far as the line tells it.
    pub fn better(&self, name: &str) -> Better {
        match built_in(name) {
            Some(known) => known.better,
            None if self.3.ends_with(LOWER) => Better::Lower,
            None if self.3.ends_with(HIGHER) => Better::Higher,
            None => Better::Neither,
        }
    }

    /// The value, in the metric's unit.
    pub const fn value(&self) -> f64 {
        self.0
    }

    /// How many repetitions gave a value.
    pub const fn n(&self) -> u32 {
        self.1
    }

    /// The spread of the repetitions, `None` for fewer than two.
    pub const fn spread(&self) -> Option<f64> {
        self.2
    }

    /// `source:method`, and the unit of a job's own metric: only values of one method and unit can
    /// be compared.
    pub fn method(&self) -> &str {
        let method = self.3.as_str();
        method.strip_suffix(LOWER).or_else(|| method.strip_suffix(HIGHER)).unwrap_or(method)
    }
}

/// How an entry says which way its metric gets better.
const LOWER: &str = " lower";
/// See [`LOWER`].
const HIGHER: &str = " higher";

/// The nearest known ancestor.
fn after(record: &Record) -> Option<After> {
    let commit = &record.commit;
    let ancestors = commit.against.iter().filter(|one| one.behind == 0 && one.ahead > 0);
    let nearest = ancestors.min_by_key(|one| one.ahead)?;
    Some(After(nearest.sha.as_str()[..SHORT].to_owned(), nearest.ahead))
}

/// What must be equal for runs to share a history, as the first 16 digits of a sha256: repository,
/// job, params that count for identity, machine group, profiler with the first two numbers of its
/// version, workload, variant and the record's major version.
pub fn key_of(record: &Record) -> String {
    let params: BTreeMap<&String, &Value> = identity_params(record).collect();
    let mut parts = json!({
        "repository": repository_name(&record.repository),
        "job": record.run.job,
        "params": params,
        "machine": record.machine.group,
        "profiler": record.tool.profiler.name,
        "workload": record.run.workload,
        "variant": record.run.variant,
        "major": record.schema.major,
    });
    // A run without a profiler has the key that it would have if there were no profilers.
    if let (Some(version), Some(parts)) = (profiler_version(record), parts.as_object_mut()) {
        parts.insert("profiler_version".to_owned(), version.into());
    }
    canonical::digest_of(&parts)[..16].to_owned()
}

/// `5.1` of `5.1.3`: patches cost the same; `None` for no profiler, or an unknown version.
fn profiler_version(record: &Record) -> Option<String> {
    let version = record.tool.profiler.version.as_deref()?;
    let numbers: Vec<&str> = version
        .split('.')
        .map_while(|part| {
            let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            Some(&part[..end]).filter(|digits| !digits.is_empty())
        })
        .take(2)
        .collect();
    (!numbers.is_empty()).then(|| numbers.join("."))
}

fn identity_params(record: &Record) -> impl Iterator<Item = (&String, &Value)> {
    record
        .params
        .iter()
        .filter(|(_, param)| param.identity)
        .map(|(name, param)| (name, &param.value))
}

fn params_that_fit(record: &Record) -> (BTreeMap<String, Value>, u32) {
    let mut params = BTreeMap::new();
    let (mut used, mut more) = (0, 0);
    for (name, value) in identity_params(record) {
        let cost = encoded(name) + ":,".len() + json_len(value);
        if used + cost > PARAMS_MAX {
            more += 1;
        } else {
            used += cost;
            params.insert(name.clone(), value.clone());
        }
    }
    (params, more)
}

/// `host/owner/name`, parts that are not known left out.
pub fn repository_name(repository: &Repository) -> String {
    let parts = [&repository.host, &repository.owner, &repository.name];
    parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("/")
}

fn profiler_name(record: &Record) -> String {
    let profiler = &record.tool.profiler;
    match &profiler.version {
        Some(version) => format!("{} {version}", profiler.name),
        None => profiler.name.clone(),
    }
}

/// On the default branch, or an ancestor of it: where the two lines part is the commit itself.
fn on_default_branch(record: &Record) -> bool {
    let commit = &record.commit;
    let branch = commit.reference.as_deref().and_then(|name| name.strip_prefix("refs/heads/"));
    let is_named = branch.is_some() && branch == commit.default_branch.as_deref();
    let is_ancestor = commit.sha.is_some() && commit.sha == commit.merge_base;
    record.trigger.pull_request.is_none() && (is_named || is_ancestor)
}

fn subject(text: &str) -> String {
    let line: String = text.lines().next().unwrap_or_default().chars().take(72).collect();
    fit(&line, 300)
}

/// Judged metrics, then built-in ones in the order of reports, then the job's own by name.
fn by_weight(record: &Record) -> Vec<(&str, &Metric)> {
    let judged = record.run.judged.iter().map(String::as_str);
    let built_in = BUILT_IN.iter().map(|metric| metric.name);
    let reported = record.metrics.keys().map(String::as_str);
    let mut seen = BTreeSet::new();
    judged
        .chain(built_in)
        .chain(reported)
        .filter(|name| seen.insert(*name))
        .filter_map(|name| record.metrics.get(name).map(|metric| (name, metric)))
        .collect()
}

/// A spread has no more meaning than that, and a line has little room.
fn six_digits(number: f64) -> f64 {
    format!("{number:.5e}").parse().unwrap_or(number)
}

/// The bytes of `text` as JSON, quotes included: control characters take six each.
fn encoded(text: &str) -> usize {
    json_len(&text)
}

fn json_len<T: Serialize>(value: &T) -> usize {
    serde_json::to_string(value).map_or(usize::MAX / 4, |json| json.len())
}

/// `text` whole where its JSON has at most `max` bytes, else its start and `…`.
fn fit(text: &str, max: usize) -> String {
    if encoded(text) <= max {
        return text.to_owned();
    }
    let mut start = String::new();
    // Quotes and the ellipsis take five.
    let mut used = 5;
    for c in text.chars() {
        used += encoded(c.encode_utf8(&mut [0; 4])) - 2;
        if used > max {
            break;
        }
        start.push(c);
    }
    start.push('…');
    start
}

/// As [`fit`], with eight digits of the whole text's sha256 at the end, so that two long texts
/// that begin alike stay apart.
fn distinct(text: &str, max: usize) -> String {
    if encoded(text) <= max {
        return text.to_owned();
    }
    let digest = &canonical::sha256_hex(text.as_bytes())[..8];
    format!("{}{digest}", fit(text, max - digest.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::Param;
    use crate::record::read::read;

    fn record() -> Record {
        read(include_bytes!("../../tests/fixtures/records/v1/succeeded.json")).unwrap().record
    }

    #[test]
    fn a_usual_line() {
        let line = Line::of(&record(), "runs/4f/4f2a/2026-11-30/local-081500-00a3-simulation");
        insta::assert_snapshot!(line.to_json(), @r#"{"path":"runs/4f/4f2a/2026-11-30/local-081500-00a3-simulation","digest":"8b3c6840dcb702ba5512cd43d09f063ba216cc48c670296c21d07e4dc7b39c44","start":"2026-11-30T08:15:00.001Z","planned":"2026-11-30T08:14:58.25Z","job":"simulation","tag":"50000__5","status":"succeeded","repository":"github.com/example/simulation","commit":"4f2a4f2a4f2a4f2a4f2a4f2a4f2a4f2a4f2a4f2a","subject":"Let births happen in batches","ref":"refs/heads/main","merge_base":"4f2a4f2a4f2a4f2a4f2a4f2a4f2a4f2a4f2a4f2a","on_default_branch":true,"dirty":false,"event":"local","identity":"planned","machine":"x86_64, AMD EPYC 7763, 4 cores, 16 GB","fingerprint":"0123456789abcdef","profiler":"none","workload":1,"params":{"population":50000,"years":5},"key":"646875d2eb04cb72","disturbed":["steal"],"metrics":{"cpu_time":[118.05,3,0.22239,"wait4:reaped"],"disk_write_bytes":[40960.0,3,0.0,"procfs:io"],"duration":[61.1,3,1.03782,"clock:monotonic"],"memory_peak":[734003200.0,3,777309.0,"procfs:pss_sweep"],"pop_df_rows":[51000.0,3,0.0,"job:reported [count]"],"warnings":[2.0,3,0.0,"job:regex"]}}"#);
    }

    #[test]
    fn the_key_is_what_must_be_equal() {
        let same: [fn(&mut Record); 3] = [
            |r| r.run.variant = None,
            |r| r.commit.sha = None,
            |r| r.params.get_mut("show_progress").unwrap().value = json!(true),
        ];
        let other: [fn(&mut Record); 8] = [
            |r| r.run.variant = Some("macos".to_owned()),
            |r| r.run.workload = 2,
            |r| r.run.job = "other".to_owned(),
            |r| r.repository.name = Some("fork".to_owned()),
            |r| r.machine.group = "dedicated".to_owned(),
            |r| r.tool.profiler.name = "cprofile".to_owned(),
            |r| r.tool.profiler.version = Some("9.1.0".to_owned()),
            |r| r.params.get_mut("years").unwrap().value = json!(6),
        ];
        let key = |change: fn(&mut Record)| {
            let mut record = record();
            change(&mut record);
            key_of(&record)
        };
        let first = key_of(&record());
        assert!(same.into_iter().all(|change| key(change) == first));
        assert!(other.into_iter().all(|change| key(change) != first));
    }

    #[test]
    fn the_key_has_the_profilers_version_but_for_its_patches() {
        let key = |version: Option<&str>| {
            let mut record = record();
            record.tool.profiler.version = version.map(str::to_owned);
            key_of(&record)
        };
        assert_eq!(key(Some("5.1.2")), key(Some("5.1.3rc1")));
        assert_eq!(key(Some("5.1")), key(Some("5.1-git")));
        assert_eq!(key(Some("unknown")), key(None));
        assert_ne!(key(Some("5.1.2")), key(Some("5.2.0")));
        assert_ne!(key(Some("5.1.2")), key(None));
    }

    #[test]
    fn judged_metrics_come_first_and_the_rest_is_counted() {
        let mut record = record();
        let metric = record.metrics["cpu_time"].clone();
        for i in 0..500 {
            record.metrics.insert(format!("a_number_{i:03}"), metric.clone());
        }
        record.metrics.insert("zebra".to_owned(), metric);
        record.run.judged = vec!["zebra".to_owned(), "missing".to_owned()];
        let line = Line::of(&record, "runs/x");
        assert!(line.metrics.contains_key("zebra") && line.metrics.contains_key("duration"));
        assert!(line.metrics.contains_key("a_number_000"));
        assert_eq!(line.metrics.len() + line.more as usize, record.metrics.len());
        assert!((LINE_MAX - 100..=LINE_MAX).contains(&line.to_json().len()));
    }

    #[test]
    fn long_methods_stay_apart() {
        let mut metric = record().metrics["cpu_time"].clone();
        metric.method = "m".repeat(100);
        let first = Entry::of("cpu_time", &metric);
        metric.method.push('x');
        let second = Entry::of("cpu_time", &metric);
        assert!(first.method().len() <= 60 && first.method() != second.method());
    }

    #[test]
    fn the_default_branch_is_known_by_name_or_descent() {
        let on = |change: fn(&mut Record)| {
            let mut record = record();
            record.commit.merge_base = None;
            change(&mut record);
            on_default_branch(&record)
        };
        assert!(on(|_| {}));
        assert!(on(|r| {
            r.commit.reference = None;
            r.commit.merge_base.clone_from(&r.commit.sha);
        }));
        assert!(!on(|r| r.commit.reference = None));
        assert!(!on(|r| r.commit.reference = Some("refs/heads/feature".to_owned())));
        assert!(!on(|r| r.trigger.pull_request = Some(7)));
        assert!(!on(|r| {
            r.commit.reference = None;
            r.commit.default_branch = None;
        }));
    }

    /// Text of every kind: what JSON escapes, wide characters, much of it.
    fn hostile() -> impl Strategy<Value = String> {
        prop_oneof![
            "\\PC{0,20}",
            "[\u{0}-\u{1f}\"\\\\]{0,900}",
            "[\u{202e}\u{1f600}é]{0,900}",
            Just("x".repeat(5000)),
        ]
    }

    prop_compose! {
        fn any_record()(
            texts in prop::collection::vec(hostile(), 12),
            values in prop::collection::vec(any::<f64>(), 0..60),
            params in prop::collection::btree_map("[a-z]{1,40}", hostile(), 0..8),
            names in prop::collection::vec("[a-z]{1,80}", 60),
            status in prop::sample::select(Status::ALL.to_vec()),
            millis in 0_i64..253_402_200_000_000,
        ) -> Record {
            let mut record = record();
            let text = |i: usize| texts[i].clone();
            record.run.status = status;
            record.run.started = Timestamp::from_millisecond(millis).ok();
            record.run.job = text(0);
            record.run.tag = Some(text(1));
            record.run.variant = Some(text(2));
            record.run.digest = Some(text(3));
            record.repository.name = Some(text(4));
            record.commit.subject = Some(text(5));
            record.commit.reference = Some(text(6));
            record.trigger.event = text(7);
            record.trigger.run_url = Some(text(8));
            record.machine.group = text(9);
            record.machine.fingerprint = text(10);
            record.tool.profiler.name = text(11);
            for disturbance in &mut record.disturbances {
                disturbance.name = text(0);
            }
            record.disturbances = record.disturbances.iter().cycle().take(30).cloned().collect();
            record.params = params.into_iter().map(|(name, value)| {
                (name, Param { value: json!(value), default: None, identity: true })
            }).collect();
            for (i, value) in values.into_iter().enumerate() {
                let mut metric = record.metrics["cpu_time"].clone();
                metric.value = value;
                metric.repetitions = vec![value, f64::MAX, f64::MIN];
                metric.source = text(i % 12);
                record.metrics.insert(names[i].clone(), metric);
            }
            record
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn any_record_gives_a_line_that_fits_and_reads_back(record in any_record()) {
            let path = "p".repeat(PATH_MAX);
            let line = Line::of(&record, &path);
            let json = line.to_json();
            prop_assert!(json.len() <= LINE_MAX, "{} bytes", json.len());
            prop_assert!(!json.contains('\n'));
            prop_assert_eq!(&Line::parse(&json).unwrap(), &line);
            prop_assert_eq!(Line::of(&record.clone(), &path).to_json(), json);
            prop_assert_eq!(line.metrics.len() + line.more as usize, record.metrics.len());
        }
    }
}
