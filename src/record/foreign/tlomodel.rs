//! The tree of TLOmodel-profiling: `YYYY/MM/DD/HHMM/{event}_{run_number}_{sha}.*`, one folder a
//! run, with numbers in `.stats.json`, arguments in `.args.json`, a table over simulated time in
//! `.logged-stats.csv`, pages, and logs.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Branch, Brought, ForeignError, better_of, json, number, object, of_seconds};
use crate::model::metric::{Better, Exactness, Unit};
use crate::model::param::Param;
use crate::record::reading::{JobFile, ReadAs, ReadRule, TEXT_MAX, read};

/// The job whose runs they are.
pub const JOB: &str = "scale_run";
/// What its numbers come from.
const SOURCE: &str = "tlomodel";
const WANTED: &str = "stats file of TLOmodel-profiling";

/// Units of keys whose names do not tell them.
const UNITS: [(&str, &str); 7] = [
    ("duration", "s"),
    ("cpu_time", "s"),
    ("disk_reads", "count"),
    ("disk_writes", "count"),
    ("pop_df_rows", "count"),
    ("pop_df_cols", "count"),
    ("pop_df_times_extended", "count"),
];
/// Spellings of one key: the older, and the one that stayed.
const ALIASES: [(&str, &str); 1] = [("pop_df_mem_mb", "pop_df_mem_MB")];
/// What the whole machine did, this job or another one.
const OF_MACHINE: &str = "disk_";
/// Arguments that change nothing of the work.
const ASIDE: [&str; 7] = [
    "log_filename",
    "log_level",
    "parse_log_file",
    "show_progress_bar",
    "ignore_warnings",
    "disable_log_output_to_stdout",
    "log_final_population_checksum",
];

/// A file of a run's folder.
#[derive(Clone, Copy, Debug)]
pub struct TreeFile<'a> {
    /// Its path from the tree's root.
    pub path: &'a str,
    /// Its content; empty for a page, which is not read.
    pub bytes: &'a [u8],
}

/// What the name of a run's files tells: event, number and commit.
pub fn parts(path: &str) -> Option<(String, u64, String)> {
    let name = path.rsplit('/').next()?;
    let stem = name.split('.').next()?;
    let (rest, sha) = stem.rsplit_once('_')?;
    let (event, number) = rest.rsplit_once('_')?;
    let is_sha = sha.len() == 40 && sha.bytes().all(|c| c.is_ascii_hexdigit());
    (is_sha && !event.is_empty()).then_some(())?;
    Some((event.to_owned(), number.parse().ok()?, sha.to_ascii_lowercase()))
}

/// Whether a file is a page, which is not read.
pub fn is_page(path: &str) -> bool {
    ends(path, "html")
}

fn ends(path: &str, ending: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, found)| found == ending)
}

/// Whether a file of the tree tells of a run.
pub fn is_stats(path: &str) -> bool {
    path.ends_with(".stats.json") && parts(path).is_some()
}

/// The run of `stats`, with the other files of its folder.
///
/// # Errors
/// When the stats are none.
pub fn run(stats: TreeFile<'_>, beside: &[TreeFile<'_>]) -> Result<Brought, ForeignError> {
    let value = json(stats.path, stats.bytes)?;
    let keys = object(stats.path, WANTED, &value)?;
    let (event, run_number, sha) = parts(stats.path)
        .ok_or_else(|| ForeignError::form(stats.path, WANTED, "its name tells no commit"))?;
    let started = keys.get("start_time").and_then(Value::as_f64).and_then(of_seconds);
    let started =
        started.ok_or_else(|| ForeignError::form(stats.path, WANTED, "it has no `start_time`"))?;
    let mut run = Brought::new(stats.path, JOB, started);
    run.seconds = keys.get("duration").and_then(Value::as_f64);
    // A schedule runs the default branch, whatever its name.
    run.branch = if event == "schedule" { Branch::Default } else { Branch::Unknown };
    (run.event, run.number, run.commit) = (event, Some(run_number), Some(sha));
    numbers(&mut run, stats);
    texts(&mut run, keys);
    // A run's other files share its name; logs bear one of their own.
    let stem = stats.path.trim_end_matches(".stats.json");
    for file in beside {
        if let Some(ending) = file.path.strip_prefix(stem) {
            match ending {
                ".args.json" => arguments(&mut run, *file)?,
                ".logged-stats.csv" => table(&mut run, *file),
                _ if is_page(file.path) => run.pages.push(file.path.to_owned()),
                _ => {}
            }
        }
    }
    logs(&mut run, beside.iter().filter(|file| ends(file.path, "log")));
    Ok(run)
}

fn rule(as_what: ReadAs) -> ReadRule {
    let own = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    };
    ReadRule {
        path: String::new(),
        as_what,
        x: Some("date".to_owned()),
        pick: BTreeMap::new(),
        unit: own(&UNITS),
        rename: own(&ALIASES),
        required: false,
        line: None,
    }
}

/// Every number, known or not.
fn numbers(run: &mut Brought, stats: TreeFile<'_>) {
    let file = JobFile { path: stats.path, bytes: stats.bytes };
    let found = read(&rule(ReadAs::Metrics), &[file], &[]);
    for (name, metric) in found.metrics.into_iter().filter(|(name, _)| name != "start_time") {
        let of_machine = name.starts_with(OF_MACHINE);
        let better = if of_machine { Better::Neither } else { better_of(&metric.unit) };
        let mut one = number(metric.value, metric.unit, better, SOURCE, "reported");
        if of_machine {
            one.exactness = Exactness::Host;
        }
        run.metrics.insert(name, one);
    }
    run.notices.extend(found.notices);
}

/// Texts and truth values as they are.
fn texts(run: &mut Brought, keys: &serde_json::Map<String, Value>) {
    for (name, value) in keys {
        match value {
            Value::String(text) if text.len() <= TEXT_MAX => {
                run.extra.insert(name.clone(), value.clone());
            }
            Value::Bool(_) => {
                run.extra.insert(name.clone(), value.clone());
            }
            _ => {}
        }
    }
}

fn arguments(run: &mut Brought, file: TreeFile<'_>) -> Result<(), ForeignError> {
    let value = json(file.path, file.bytes)?;
    for (name, value) in object(file.path, "arguments of TLOmodel-profiling", &value)? {
        let fits = crate::model::names::is_job_name(name);
        if fits && !matches!(value, Value::Array(_) | Value::Object(_)) {
            let identity = !ASIDE.contains(&name.as_str());
            run.params
                .insert(name.clone(), Param { value: value.clone(), default: None, identity });
        }
    }
    Ok(())
}

fn table(run: &mut Brought, file: TreeFile<'_>) {
    let found = read(&rule(ReadAs::Series), &[JobFile { path: file.path, bytes: file.bytes }], &[]);
    run.series.extend(found.series);
    run.notices.extend(found.notices);
}

/// How much was logged, and how often it warned.
fn logs<'a>(run: &mut Brought, files: impl Iterator<Item = &'a TreeFile<'a>>) {
    let (mut bytes, mut warned, mut count) = (0_usize, 0_u64, 0);
    for file in files {
        count += 1;
        bytes += file.bytes.len();
        warned += warnings(file.bytes);
    }
    if count > 0 {
        let told = |value, unit, better| number(value, unit, better, SOURCE, "logs");
        run.metrics.insert("log_bytes".to_owned(), told(bytes as f64, Unit::Bytes, Better::Lower));
        // The name of a built-in metric, and not measured by us.
        let warned = told(warned as f64, Unit::Count, Better::Lower);
        run.metrics.insert("job.warnings".to_owned(), warned);
    }
}

/// Rows of tables whose header says that they warn, and other lines that say so.
fn warnings(log: &[u8]) -> u64 {
    let mut tables: Vec<String> = Vec::new();
    let mut count = 0;
    for line in log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match serde_json::from_slice::<Value>(line) {
            Ok(Value::Object(row)) => {
                let text = |key: &str| row.get(key).and_then(Value::as_str);
                if text("type") == Some("header") {
                    let loud = matches!(text("level"), Some("WARNING" | "ERROR" | "CRITICAL"));
                    tables.extend(text("uuid").filter(|_| loud).map(str::to_owned));
                } else if text("uuid").is_some_and(|id| tables.iter().any(|table| table == id)) {
                    count += 1;
                }
            }
            _ => count += u64::from(says_warning(line)),
        }
    }
    count
}

fn says_warning(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line).to_ascii_lowercase();
    text.contains("warning")
}

/// How many times the usual traffic of disks marks a run beside which something else ran.
const BUSY: f64 = 10.0;

/// Marks runs beside which the machine wrote far more than it usually does.
pub fn mark_disturbed(runs: &mut [Brought]) {
    let written = |run: &Brought| run.metrics.get("disk_write_MB").map(|metric| metric.value);
    let all: Vec<f64> = runs.iter().filter_map(written).collect();
    let Some(usual) = crate::model::robust::median(&all).filter(|usual| *usual > 0.0) else {
        return;
    };
    for run in runs.iter_mut() {
        run.disturbed = written(run).map(|bytes| bytes / usual).filter(|times| *times > BUSY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str =
        "2024/11/02/0023/schedule_1361_8f22e783aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.stats.json";

    #[test]
    fn names_tell_event_number_and_commit() {
        assert!(is_stats(NAME));
        let (event, number, sha) =
            parts(&NAME.replace("schedule_1361", "issue_comment_517")).unwrap();
        assert_eq!((event.as_str(), number, sha.len()), ("issue_comment", 517, 40));
        for name in ["a.stats.json", "x_1_2.stats.json", "schedule_x_8f22.stats.json", ""] {
            assert!(!is_stats(name), "{name}");
        }
    }

    #[test]
    fn warnings_are_rows_of_loud_tables_and_lines_that_say_so() {
        let log = br#"{"uuid":"a","type":"header","module":"tlo.x","key":"m","level":"WARNING"}
{"uuid":"b","type":"header","module":"tlo.x","key":"n","level":"INFO"}
{"uuid":"a","date":"2010-01-01","values":["no beds"]}
{"uuid":"b","date":"2010-01-01","values":["Warning in a value"]}
{"uuid":"a","date":"2010-01-02","values":["no beds"]}
/usr/lib/x.py:3: FutureWarning: old
plain line
"#;
        assert_eq!(warnings(log), 3);
        assert_eq!(warnings(b""), 0);
    }

    #[test]
    fn a_stats_file_without_a_start_is_told() {
        let of = |text: &str| {
            run(TreeFile { path: NAME, bytes: text.as_bytes() }, &[]).unwrap_err().to_string()
        };
        assert!(of("{}").contains("no `start_time`"));
        assert!(of("[1]").contains("no object"));
        assert!(of("{").contains("no JSON"));
        assert!(of("{\"start_time\": 1e300}").contains("no `start_time`"));
    }
}
