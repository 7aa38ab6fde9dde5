//! Reads records of every version, and says what is wrong with one that is none.
//!
//! A record comes from a job's machine, so its bytes are hostile: size, depth, lengths and names
//! have limits, and nothing outside them gets further than this module.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::layout::is_run_id;
use super::{Against, Amendment, Commit, Metric, Record, SCHEMA, SCHEMA_NAME, canonical};
use crate::model::names::{is_job_name, is_metric_name};
use crate::model::status::Identity;

/// Largest record, in bytes.
pub const BYTES_MAX: usize = 8 << 20;
/// Deepest nesting of lists and objects.
pub const DEPTH_MAX: usize = 32;
/// Longest text, in bytes.
pub const TEXT_MAX: usize = 256 << 10;
/// Longest key of an object, in bytes.
pub const KEY_MAX: usize = 4096;
/// Largest number of metrics in one place.
pub const METRICS_MAX: usize = 10_000;

/// A record that was read: typed for use, plain for writing it again.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadRecord {
    /// What this version knows of it.
    pub record: Record,
    /// All of it, with the keys that only a newer perftrail knows.
    pub plain: Value,
}

/// Why bytes are no record that can be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It is larger than any record.
    #[error("the record has {bytes} bytes, and at most {BYTES_MAX} are read")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It is not JSON: cut off, say, or with a number beyond what a computer holds.
    #[error("the record is not JSON: {0}")]
    NotJson(#[source] serde_json::Error),
    /// It is JSON of something else.
    #[error("the file is not a perftrail record: it has no \"schema\" named \"{SCHEMA_NAME}\"")]
    NotARecord,
    /// It has another major version.
    #[error(
        "the record has format {major}.{minor}, written by perftrail {tool}, and this perftrail {} reads format {}; use the newer perftrail",
        env!("CARGO_PKG_VERSION"),
        SCHEMA.major
    )]
    OtherMajor {
        /// Its major version.
        major: u64,
        /// Its minor version.
        minor: u64,
        /// The perftrail that wrote it, as far as it says.
        tool: String,
    },
    /// Lists and objects lie too deep in each other.
    #[error("the record nests deeper than {DEPTH_MAX} levels at {place}")]
    TooDeep {
        /// Where.
        place: String,
    },
    /// A text or key is too long.
    #[error("the record holds {bytes} bytes of text at {place}, and at most {max} are read")]
    LongText {
        /// Where.
        place: String,
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        max: usize,
    },
    /// A part is missing or of another kind.
    #[error("the record does not have the form of format {}: {source}", SCHEMA.major)]
    Form {
        /// What is wrong, as serde tells it.
        source: serde_json::Error,
    },
    /// A name is unfit for paths and tables.
    #[error("the record has a bad name at {place}: {name:?}")]
    BadName {
        /// Where.
        place: &'static str,
        /// The name, cut.
        name: String,
    },
    /// A time lies outside the years 1970 to 9999.
    #[error("the record's {place} is {time}, which is no time of a run")]
    BadTime {
        /// Which.
        place: &'static str,
        /// The time.
        time: Timestamp,
    },
    /// There are more metrics than anybody reads.
    #[error("the record has {count} metrics at {place}, and at most {METRICS_MAX} are read")]
    ManyMetrics {
        /// Where.
        place: &'static str,
        /// How many.
        count: usize,
    },
}

/// Reads a record of any version from untrusted bytes.
///
/// Format 1.0 is the first; a newer minor version is read as far as this one knows it, and keeps
/// the rest in `plain`.
///
/// # Errors
/// Whatever is wrong first, see [`RecordError`].
pub fn read(bytes: &[u8]) -> Result<ReadRecord, RecordError> {
    if bytes.len() > BYTES_MAX {
        return Err(RecordError::TooLarge { bytes: bytes.len() });
    }
    let plain: Value = serde_json::from_slice(bytes).map_err(RecordError::NotJson)?;
    check_version(&plain)?;
    check_size(&plain, &mut Vec::new())?;
    let record: Record =
        serde_json::from_value(plain.clone()).map_err(|source| RecordError::Form { source })?;
    check_names(&record)?;
    check_times(&record)?;
    Ok(ReadRecord { record, plain })
}

impl ReadRecord {
    /// The digest over the content, whatever `run.digest` says.
    pub fn content_digest(&self) -> String {
        canonical::digest_of(&canonical::without_published(self.plain.clone()))
    }

    /// Says how the identity is known. The digest does not cover it.
    pub fn set_identity(&mut self, identity: Identity) {
        self.record.run.identity = identity;
        if let Some(run) = self.plain.get_mut("run").and_then(Value::as_object_mut) {
            let word = serde_json::to_value(identity).unwrap_or(Value::Null);
            run.insert("identity".to_owned(), word);
        }
    }

    /// Says how the commit lies to others. The digest does not cover it.
    pub fn set_against(&mut self, against: Vec<Against>) {
        if let Some(commit) = self.plain.get_mut("commit").and_then(Value::as_object_mut) {
            let value = serde_json::to_value(&against).unwrap_or_else(|_| Value::Array(Vec::new()));
            commit.insert("against".to_owned(), value);
        }
        self.record.commit.against = against;
    }

    /// Puts `commit` in the place of the one that the run told, and keeps that in `amendment`, with
    /// what only a newer perftrail knows of it.
    pub fn amend(&mut self, commit: Commit, amendment: Amendment) {
        if let Some(all) = self.plain.as_object_mut() {
            let value = |commit: &Commit| serde_json::to_value(commit).unwrap_or(Value::Null);
            let mut told = serde_json::to_value(&amendment).unwrap_or(Value::Null);
            let before = all.insert("commit".to_owned(), value(&commit));
            if let (Some(told), Some(before)) = (told.as_object_mut(), before) {
                told.insert("commit".to_owned(), before);
            }
            let list = all.entry("amended").or_insert_with(|| Value::Array(Vec::new()));
            if let Some(list) = list.as_array_mut() {
                list.push(told);
            }
        }
        self.record.commit = commit;
        self.record.amended.push(amendment);
    }

    /// Says why the file `path` does not lie beside the record. The digest does not cover it.
    pub fn leave_out(&mut self, path: &str, reason: &str) {
        for file in self.record.files.iter_mut().filter(|file| file.path == path) {
            file.left_out = Some(reason.to_owned());
        }
        let Some(files) = self.plain.get_mut("files").and_then(Value::as_array_mut) else {
            return;
        };
        for file in files.iter_mut().filter_map(Value::as_object_mut) {
            if file.get("path").and_then(Value::as_str) == Some(path) {
                file.insert("left_out".to_owned(), Value::from(reason));
            }
        }
    }

    /// The record as a file, unknown keys included.
    ///
    /// # Errors
    /// As [`canonical::pretty`].
    pub fn bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        canonical::pretty(&self.plain)
    }
}

fn check_version(plain: &Value) -> Result<(), RecordError> {
    let schema = plain.get("schema").ok_or(RecordError::NotARecord)?;
    if schema.get("name").and_then(Value::as_str) != Some(SCHEMA_NAME) {
        return Err(RecordError::NotARecord);
    }
    let number = |key| schema.get(key).and_then(Value::as_u64);
    match number("major") {
        Some(major) if major == u64::from(SCHEMA.major) => Ok(()),
        Some(major) => {
            let tool = plain.pointer("/tool/version").and_then(Value::as_str).unwrap_or("?");
            Err(RecordError::OtherMajor {
                major,
                minor: number("minor").unwrap_or(0),
                tool: cut(tool),
            })
        }
        None => Err(RecordError::NotARecord),
    }
}

/// Walks the whole value; `place` is the way to it. The JSON reader has bounded the depth already.
fn check_size<'a>(value: &'a Value, place: &mut Vec<&'a str>) -> Result<(), RecordError> {
    if place.len() > DEPTH_MAX {
        return Err(RecordError::TooDeep { place: told(place) });
    }
    match value {
        Value::String(text) if text.len() > TEXT_MAX => {
            Err(RecordError::LongText { place: told(place), bytes: text.len(), max: TEXT_MAX })
        }
        Value::Array(items) => {
            place.push("[]");
            items.iter().try_for_each(|item| check_size(item, place))?;
            place.pop();
            Ok(())
        }
        Value::Object(entries) => {
            for (key, value) in entries {
                if key.len() > KEY_MAX {
                    let (bytes, max) = (key.len(), KEY_MAX);
                    return Err(RecordError::LongText { place: told(place), bytes, max });
                }
                place.push(key);
                check_size(value, place)?;
                place.pop();
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The way to a value, for people: the first few steps.
fn told(place: &[&str]) -> String {
    let steps: Vec<String> = place.iter().take(4).map(|step| cut(step)).collect();
    if steps.is_empty() { "the top".to_owned() } else { steps.join(".") }
}

/// The start of a text of the job's, fit for a message.
fn cut(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(60).collect()
}

fn check_names(record: &Record) -> Result<(), RecordError> {
    check(is_run_id, "run.id", [&record.run.id])?;
    check(is_job_name, "run.job", [&record.run.job])?;
    check(is_metric_name, "params", record.params.keys())?;
    check(is_metric_name, "unavailable", record.unavailable.keys())?;
    check(is_metric_name, "series", record.series.iter().map(|series| &series.name))?;
    check_metrics("metrics", &record.metrics)?;
    for step in &record.steps {
        check(is_job_name, "steps", [&step.name])?;
        check(is_metric_name, "steps.unavailable", step.unavailable.keys())?;
        check_metrics("steps.metrics", &step.metrics)?;
    }
    for phase in &record.phases {
        check(is_metric_name, "phases", [&phase.name])?;
        check_metrics("phases.metrics", &phase.metrics)?;
    }
    Ok(())
}

fn check_metrics(
    place: &'static str,
    metrics: &BTreeMap<String, Metric>,
) -> Result<(), RecordError> {
    if metrics.len() > METRICS_MAX {
        return Err(RecordError::ManyMetrics { place, count: metrics.len() });
    }
    check(is_metric_name, place, metrics.keys())
}

fn check<'a>(
    is_fit: fn(&str) -> bool,
    place: &'static str,
    names: impl IntoIterator<Item = &'a String>,
) -> Result<(), RecordError> {
    match names.into_iter().find(|name| !is_fit(name)) {
        Some(name) => Err(RecordError::BadName { place, name: cut(name) }),
        None => Ok(()),
    }
}

/// Times make paths and the order of histories, so a year has four digits.
fn check_times(record: &Record) -> Result<(), RecordError> {
    let run = &record.run;
    let times = [
        ("run.planned", Some(run.planned)),
        ("run.started", run.started),
        ("run.ended", run.ended),
    ];
    for (place, time) in times {
        if let Some(time) = time.filter(|time| *time < Timestamp::UNIX_EPOCH) {
            return Err(RecordError::BadTime { place, time });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SUCCEEDED: &str = include_str!("../../tests/fixtures/records/v1/succeeded.json");

    fn plain() -> Value {
        serde_json::from_str(SUCCEEDED).unwrap()
    }

    fn error_after(change: impl FnOnce(&mut Value)) -> String {
        let mut value = plain();
        change(&mut value);
        read(value.to_string().as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_record_is_told() {
        let cases: [(&str, &str); 6] = [
            ("", "is not JSON"),
            ("{\"schema\":", "is not JSON"),
            ("[1e999]", "is not JSON"),
            ("[]", "not a perftrail record"),
            (r#"{"schema":{"name":"other","major":1,"minor":0}}"#, "not a perftrail record"),
            (r#"{"schema":{"name":"perftrail-stats","major":1,"minor":0}}"#, "missing field `run`"),
        ];
        for (bytes, words) in cases {
            let error = read(bytes.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(words), "{bytes}: {error}");
        }
        assert!(read(&vec![b' '; BYTES_MAX + 1]).is_err_and(|e| e.to_string().contains("at most")));
    }

    type Change = fn(&mut Value, String);

    #[test]
    fn limits_hold() {
        let long = "x".repeat(TEXT_MAX + 1);
        let cases: [(Change, &str); 4] = [
            (|v, long| v["commit"]["subject"] = json!(long), "text at commit.subject"),
            (|v, long| v["extra"][&long] = json!(1), "text at extra"),
            (|v, long| v["metrics"][&long[..90]] = v["metrics"]["cpu_time"].clone(), "bad name"),
            (|v, _| v["metrics"]["../../x"] = v["metrics"]["cpu_time"].clone(), "\"../../x\""),
        ];
        for (change, words) in cases {
            let error = error_after(|value| change(value, long.clone()));
            assert!(error.contains(words), "{words}: {error}");
        }
        let deep = (0..40).fold(json!(1), |inner, _| json!([inner]));
        assert!(error_after(|v| v["extra"]["deep"] = deep).contains("nests deeper"));
        assert!(error_after(|v| v["run"]["id"] = json!("../up")).contains("run.id"));
        assert!(
            error_after(|v| v["run"]["started"] = json!("-000044-03-15T00:00:00Z"))
                .contains("no time of a run")
        );
    }

    #[test]
    fn another_major_names_the_version_to_use() {
        let error = error_after(|v| {
            v["schema"]["major"] = json!(2);
            v["tool"]["version"] = json!("3.1.4");
        });
        assert!(error.contains("format 2.0") && error.contains("perftrail 3.1.4"), "{error}");
    }

    #[test]
    fn a_newer_minor_is_read_and_its_keys_are_kept() {
        let mut value = plain();
        value["schema"]["minor"] = json!(7);
        value["energy"] = json!({"joules": 12.5});
        value["run"]["mood"] = json!("good");
        let mut read = read(value.to_string().as_bytes()).unwrap();
        read.set_identity(Identity::Claimed);
        let again: Value = serde_json::from_slice(&read.bytes().unwrap()).unwrap();
        assert_eq!(again["energy"], value["energy"]);
        assert_eq!(again["run"]["mood"], "good");
        assert_eq!(again["run"]["identity"], "claimed");
        assert_eq!(read.record.run.identity, Identity::Claimed);
    }

    #[test]
    fn what_publishing_sets_is_outside_the_digest() {
        let mut read = read(SUCCEEDED.as_bytes()).unwrap();
        assert_eq!(read.record.run.digest.as_deref(), Some(read.content_digest().as_str()));
        read.set_identity(Identity::Claimed);
        read.leave_out("files/population.csv", "over the budget");
        assert_eq!(read.record.files[0].left_out.as_deref(), Some("over the budget"));
        assert_eq!(read.plain["files"][0]["left_out"], "over the budget");
        assert_eq!(read.record.run.digest.as_deref(), Some(read.content_digest().as_str()));
    }

    #[test]
    fn a_record_read_back_is_the_record_written() {
        let mut first = read(SUCCEEDED.as_bytes()).unwrap().record;
        if let Some(metric) = first.metrics.get_mut("cpu_time") {
            metric.value = 0.1 + 0.2;
            metric.repetitions = vec![f64::MIN_POSITIVE, 1.0 / 3.0, 5e-324];
        }
        let digest = canonical::record_digest(&first).unwrap();
        let again = read(&canonical::pretty(&first).unwrap()).unwrap();
        assert_eq!(again.record, first);
        assert_eq!(again.content_digest(), digest);
    }
}
