//! Records to render: a good run, a failed one, and one in which every text is hostile.

use std::f64::consts::TAU;
use std::path::Path;

use perftrail::profile::model::Profile;
use perftrail::record::index::Line;
use perftrail::record::series::{Series, SeriesFile, SeriesSource};
use perftrail::record::{Phase, Record, SeriesSummary, read};
use serde_json::{Value, json};

use perftrail::model::metric::{BUILT_IN, Unit};

/// What every text of the hostile record is.
pub(crate) const HOSTILE: &str = "</script><script>alert(1)</script> | x | @user #1 ![](http://e) \
                           `code` \u{202e}txt\u{0} \u{1b}[31mred <img src=x onerror=alert(1)> --> &amp;";

/// A record with its series.
pub(crate) struct Sample {
    pub(crate) record: Record,
    pub(crate) series: SeriesFile,
    pub(crate) log: String,
    pub(crate) profiles: Vec<Profile>,
}

fn golden(status: &str) -> Value {
    let path = format!("tests/fixtures/records/v1/{status}.json");
    let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a record");
    serde_json::from_slice(&bytes).expect("JSON")
}

fn record(json: &Value) -> Record {
    read::read(json.to_string().as_bytes()).expect("a record").record
}

/// A run of two steps with phases, series, outputs.
pub(crate) fn good() -> Sample {
    let mut json = golden("succeeded");
    metrics(&mut json);
    steps(&mut json);
    json["machine"]["parts"]["kernel"] = json!("6.8.0-1021-azure");
    json["environment"]["variables"]["PYTHONHASHSEED"] = json!("0");
    json["disturbances"].as_array_mut().expect("a list").push(json!({
        "name": "foreign_cpu", "value": 0.004, "unit": "ratio", "limit": 0.05, "exceeded": false,
        "message": "other programs took 0.4 % of the processor"
    }));
    json["unavailable"]["throttled"] = json!("this machine tells no frequencies");
    for (path, bytes) in
        [("files/events.csv", 18_211_u64), ("series.json", 40_960), ("log.txt.gz", 2_048)]
    {
        let role = if path.starts_with("files") { "collected" } else { "bundle" };
        json["files"].as_array_mut().expect("a list").push(json!({
            "path": path, "bytes": bytes, "sha256": "ab".repeat(32), "role": role, "left_out": null
        }));
    }
    let mut record = record(&json);
    record.phases = phases();
    let series = series();
    record.series = series.series.iter().map(summary).collect();
    Sample { record, series, log: log(), profiles: Vec::new() }
}

fn metrics(json: &mut Value) {
    for (i, known) in BUILT_IN.iter().enumerate() {
        if !json["metrics"][known.name].is_null() || known.name == "memory_peak_cgroup" {
            continue;
        }
        let value = match known.unit {
            Unit::Bytes => 4096.0 * 1000.0 * (i + 1) as f64,
            Unit::Seconds => 1.7 * (i + 1) as f64,
            _ => 37.0 * (i + 1) as f64,
        };
        let exactness = if known.name.starts_with("host_") { "host" } else { "exact" };
        json["metrics"][known.name] = json!({
            "value": value, "unit": known.unit.as_str(), "better": "lower", "source": "procfs",
            "method": "counted", "exactness": exactness, "n": 3, "repetitions": [value * 0.99, value, value * 1.02]
        });
    }
}

fn steps(json: &mut Value) {
    let mut prepare = json["steps"][0].clone();
    prepare["name"] = json!("prepare_input");
    prepare["command"] = json!("python3 examples/prepare.py --seed 0");
    prepare["metrics"]["duration"]["value"] = json!(3.2);
    prepare["metrics"]["duration"]["repetitions"] = json!([3.1, 3.4, 3.2]);
    json["steps"][0]["metrics"]["duration"]["repetitions"] = json!([58.6, 57.0, 57.9]);
    json["steps"][0]["metrics"]["duration"]["value"] = json!(57.9);
    prepare["metrics"].as_object_mut().expect("an object").remove("memory_peak");
    prepare["unavailable"]["memory_peak"] = json!("the step ended before the first sample");
    json["steps"].as_array_mut().expect("a list").insert(0, prepare);
}

fn phases() -> Vec<Phase> {
    let phase = |name: &str, begin: f64, end| Phase {
        name: name.to_owned(),
        step: "simulation".to_owned(),
        begin: Some(begin),
        end,
        metrics: std::collections::BTreeMap::new(),
    };
    let mut phases = vec![phase("initialise", 3.4, Some(9.1)), phase("simulate", 9.1, Some(56.0))];
    let years = (0..5).map(|year| {
        let begin = 9.1 + 9.38 * f64::from(year);
        phase(&format!("simulate.year_{}", 2010 + year), begin, Some(begin + 9.3))
    });
    phases.extend(years);
    phases.push(phase("write_outputs", 56.0, None));
    phases
}

fn series() -> SeriesFile {
    let ticks: Vec<f64> = (0..1200).map(|i| f64::from(i) * 0.051).collect();
    let wave = |share: fn(f64) -> f64| ticks.iter().map(|t| share(t / 61.2)).collect::<Vec<_>>();
    let memory = wave(|x| 4e7 + 6.6e8 * x.powf(0.4) + 3e7 * (x * 40.0 * TAU).sin());
    let cpu = wave(|x| if x < 0.15 { 0.99 } else { 1.9 + 0.9 * (x * 11.0 * TAU).sin() });
    let processes = wave(|x| if x < 0.9 { 1.0 } else { 5.0 });
    let sampled = |name: &str, unit, value: Vec<f64>| Series {
        name: name.to_owned(),
        unit,
        source: SeriesSource::Sampled,
        x_name: None,
        t: ticks.clone(),
        x: Vec::new(),
        min: value.iter().map(|v| v * 0.97).collect(),
        max: value.iter().map(|v| v * 1.02).collect(),
        value,
    };
    let months = 60;
    let reported = |name: &str, t: Vec<f64>, value: Vec<f64>| Series {
        name: name.to_owned(),
        unit: Unit::Count,
        source: SeriesSource::Reported,
        x_name: Some("date".to_owned()),
        t,
        x: (0..months).map(|m| format!("{}-{:02}-01", 2010 + m / 12, m % 12 + 1)).collect(),
        value,
        min: Vec::new(),
        max: Vec::new(),
    };
    let at = (0..months).map(|m| 9.5 + 0.78 * f64::from(m)).collect();
    let queue = (0..months).map(|m| 800.0 + 240.0 * (f64::from(m) / 7.0).sin()).collect();
    let rows = (0..months).map(|m| f64::from(50_000 + 17 * m)).collect();
    SeriesFile {
        version: 1,
        series: vec![
            sampled("memory", Unit::Bytes, memory),
            sampled("cpu", Unit::Ratio, cpu),
            sampled("processes", Unit::Count, processes),
            reported("event_queue", at, queue),
            reported("pop_df_rows", Vec::new(), rows),
        ],
    }
}

fn summary(series: &Series) -> SeriesSummary {
    let fold =
        |with: fn(f64, f64) -> f64| series.value.iter().copied().reduce(with).expect("values");
    SeriesSummary {
        name: series.name.clone(),
        unit: series.unit.clone(),
        source: series.source,
        file: "series.json".to_owned(),
        points: series.value.len() as u64,
        min: fold(f64::min),
        max: fold(f64::max),
        last: *series.value.last().expect("a value"),
    }
}

fn log() -> String {
    let months = (0..300).map(|month| {
        format!("\u{1b}[32mINFO\u{1b}[0m month {month:>3}: 51 births, 17 deaths, queue 812\n")
    });
    let warning = "simulation.py:41: DeprecationWarning: `update` is deprecated\n";
    months.chain([warning.to_owned(), "wrote population.csv\n".to_owned()]).collect()
}

/// A job that was not found: nothing was measured.
pub(crate) fn failed() -> Sample {
    Sample {
        record: record(&golden("failed")),
        series: SeriesFile { version: 1, series: Vec::new() },
        log: "bash: line 1: pyhton3: command not found\n".to_owned(),
        profiles: Vec::new(),
    }
}

/// The good run with every text of a job's or a person's replaced by [`HOSTILE`].
pub(crate) fn hostile() -> Sample {
    let mut sample = good();
    let mut json = serde_json::to_value(&sample.record).expect("JSON");
    for part in [
        "run",
        "repository",
        "commit",
        "trigger",
        "machine",
        "environment",
        "tool",
        "params",
        "metrics",
        "unavailable",
        "steps",
        "phases",
        "series",
        "extra",
        "files",
        "disturbances",
        "notices",
    ] {
        poison(&mut json[part]);
    }
    json["extra"]["long"] = json!("<b>|".repeat(1 << 18));
    sample.record = serde_json::from_value(json).expect("a record still");
    for series in &mut sample.series.series {
        HOSTILE.clone_into(&mut series.name);
        series.unit = Unit::Other(HOSTILE.repeat(1000));
        series.x = vec![HOSTILE.to_owned(); series.x.len()];
    }
    sample.log = format!("{HOSTILE}\n````\n# heading\n{}\n", "x`".repeat(1 << 19));
    sample
}

/// Texts that are words of the format stay; keys of maps that a job fills become hostile too.
fn poison(value: &mut Value) {
    const KEPT: [&str; 17] = [
        "status",
        "identity",
        "planned",
        "started",
        "ended",
        "sha",
        "parents",
        "committed",
        "merge_base",
        "against",
        "better",
        "exactness",
        "source",
        "role",
        "level",
        "digest",
        "sha256",
    ];
    match value {
        Value::String(text) => HOSTILE.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(poison),
        Value::Object(map) => {
            for (key, item) in map.iter_mut() {
                if !KEPT.contains(&key.as_str()) || item.is_object() {
                    poison(item);
                }
            }
        }
        _ => {}
    }
}

/// The index line of a run of the same history, some time before.
pub(crate) fn earlier(record: &Record) -> Line {
    let mut record = record.clone();
    record.run.started = "2026-11-28T08:15:00Z".parse().ok();
    for metric in record.metrics.values_mut() {
        metric.value *= 0.96;
    }
    record.metrics.remove("warnings");
    Line::of(
        &record,
        "runs/77/77aa77aa77aa77aa77aa77aa77aa77aa77aa77aa/2026-11-28/local-081500-0001-simulation",
    )
}
