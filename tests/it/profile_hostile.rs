//! Files of profilers that are cut, spoilt, enormous or meant to do harm: none makes a reader
//! panic, run away or pass something dangerous on, and what cannot be read is told in one line.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use perftrail::profile::model::Body;
use perftrail::profile::{Kind, Limits, Options, ReadError, Reading, read, read_bytes};

use crate::fuzz::checks::holds;
use crate::profile::support;

/// Files small enough that thousands of them are read in a test.
const LIMITS: Limits =
    Limits { bytes: 64 << 20, whole: 32 << 20, nodes: 50_000, frames: 20_000, values: 20_000 };

fn options(limits: Limits) -> Options<'static> {
    Options { file: "out/p\u{202e}.json", limits, ..Options::default() }
}

/// All fixtures without gzip around them.
fn corpus() -> Vec<(String, Vec<u8>)> {
    let mut names: Vec<String> = std::fs::read_dir(support::folder())
        .expect("fixtures")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let plain = |name: String| {
        let bytes = support::bytes(&name);
        let mut all = Vec::new();
        if bytes.starts_with(&[0x1f, 0x8b]) {
            GzDecoder::new(&bytes[..]).read_to_end(&mut all).expect("gzip");
        } else {
            all = bytes;
        }
        (name, all)
    };
    names.into_iter().map(plain).collect()
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("gzip");
    encoder.finish().expect("gzip")
}

fn look(what: &str, bytes: &[u8]) -> Result<Reading, ReadError> {
    let found = read_bytes(bytes, &options(LIMITS));
    holds(what, &found);
    found
}

/// Numbers that look like chance and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).expect("64 bits") % sides.max(1)
    }
}

/// Pieces that formats are sensitive to.
const PIECES: &[&[u8]] = &[
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"-1",
    b"1e999",
    b"null",
    b"{}",
    b"[]",
    b"[[[[",
    b"}}}}",
    b"\"",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"</script>",
    b"\xe2\x80\xae",
    b"\0",
    b"\n",
    b"\r\n",
    b";",
    b",",
    b" ",
    b"=",
    b":",
    b"99999999999999999999",
    b"0x",
    b"(1)",
    b"calls=",
    b"fn=",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\x7b\xa9",
    b"\x80",
    b"\x1f\x8b",
];

fn spoil(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut spoilt = bytes.to_vec();
    for _ in 0..=dice.roll(4) {
        if spoilt.is_empty() {
            break;
        }
        let at = dice.roll(spoilt.len());
        let to = (at + dice.roll(64)).min(spoilt.len());
        match dice.roll(6) {
            0 => spoilt[at] = u8::try_from(dice.roll(256)).expect("a byte"),
            1 => spoilt[at] ^= 1 << dice.roll(8),
            2 => drop(spoilt.drain(at..to)),
            3 => {
                let piece = spoilt[at..to].to_vec();
                let into = dice.roll(spoilt.len());
                spoilt.splice(into..into, piece);
            }
            4 => spoilt.truncate(at),
            _ => {
                let piece = PIECES[dice.roll(PIECES.len())];
                spoilt.splice(at..at, piece.iter().copied());
            }
        }
    }
    spoilt
}

#[test]
fn files_that_are_cut_anywhere() {
    for (name, bytes) in corpus() {
        let step = (bytes.len() / 23).max(1);
        for length in (0..bytes.len()).step_by(step) {
            let _ = look(&format!("{name}, {length} bytes"), &bytes[..length]);
        }
        let packed = gz(&bytes);
        let cut = look(&name, &packed[..packed.len() / 2]);
        assert!(cut.is_err(), "{name}: half of its gzip");
    }
}

/// `PERFTRAIL_FUZZ_SECONDS` makes it go on for so long, from another start each time.
#[test]
fn files_that_are_spoilt() {
    let seconds = std::env::var("PERFTRAIL_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let corpus: Vec<_> = corpus()
        .into_iter()
        // The sensitive part of a large file is its beginning; small ones are spoilt more often.
        .map(|(name, bytes)| (name, bytes[..bytes.len().min(48 << 10)].to_vec()))
        .collect();
    let start = if until.is_some() { u64::from(std::process::id()) << 20 | 1 } else { 1 };
    let (mut dice, mut rounds, mut read) =
        (Dice(start.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1), 0_u32, 0_u32);
    while rounds < 12 || until.is_some_and(|until| Instant::now() < until) {
        for (name, bytes) in &corpus {
            let spoilt = spoil(bytes, &mut dice);
            let state = dice.0;
            let result = std::panic::catch_unwind(|| look(name, &spoilt));
            match result {
                Ok(found) => read += u32::from(found.is_ok()),
                Err(panic) => {
                    let path = std::env::temp_dir().join(format!("perftrail-spoilt-{state:x}"));
                    std::fs::write(&path, &spoilt).expect("the spoilt file");
                    eprintln!("{name}: spoilt as {}", path.display());
                    std::panic::resume_unwind(panic);
                }
            }
        }
        rounds += 1;
    }
    assert!(read > 0, "everything that was spoilt became unreadable: nothing was tested");
}

/// One small file of each format; `%J` is a name as JSON, `%L` as it is on a line, `%P` as
/// pyinstrument puts it before a file.
const SHAPES: &[(Kind, &str)] = &[
    (Kind::PyinstrumentSession, r#"{"frame_records": [[[%P], 0.5]], "start_call_stack": []}"#),
    (Kind::PyinstrumentJson, r#"{"root_frame": {"function": %J, "time": 1, "children": []}}"#),
    (
        Kind::Speedscope,
        r#"{"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": %J}]}, "profiles": [{"type": "sampled", "unit": "none", "samples": [[0]], "weights": [1]}]}"#,
    ),
    (
        Kind::Scalene,
        r#"{"alloc_samples": 0, "files": {%J: {"functions": [{"line": %J, "lineno": 1, "n_cpu_percent_python": 5}], "lines": [{"line": %J, "lineno": 1, "n_cpu_percent_python": 5}]}}}"#,
    ),
    (Kind::Collapsed, "main;%L 5\n"),
    (Kind::PerfScript, "sim 7 1.0: 100 cpu-clock:\n\t1f %L (/x/y)\n\n"),
    (
        Kind::CpuProfile,
        r#"{"nodes": [{"id": 1, "callFrame": {"functionName": %J, "url": %J, "lineNumber": 1}}], "samples": [1], "timeDeltas": [5], "startTime": 0, "endTime": 9}"#,
    ),
    (
        Kind::HeapProfile,
        r#"{"head": {"callFrame": {"functionName": %J, "url": %J, "lineNumber": 1}, "selfSize": 5, "children": []}}"#,
    ),
    (Kind::Callgrind, "# callgrind format\nevents: Ir\nfl=%L\nfn=%L\n1 5\n"),
    (
        Kind::Firefox,
        r#"{"meta": {"interval": 1}, "libs": [], "threads": [{"name": %J, "samples": {"stack": [0]}, "stackTable": {"prefix": [null], "frame": [0]}, "frameTable": {"func": [0]}, "funcTable": {"name": [0]}, "stringArray": [%J]}]}"#,
    ),
    (
        Kind::ChromeTrace,
        r#"[{"ph": "X", "ts": 1, "dur": 5, "pid": 1, "tid": 1, "name": %J, "args": {"filename": %J}}]"#,
    ),
    (
        Kind::Gprof2dot,
        r#"{"costs": [{"description": "Memory", "unit": "bytes"}], "events": [{"callchain": [0], "cost": [5]}], "functions": [{"name": %J, "module": %J}]}"#,
    ),
    (
        Kind::MemrayStats,
        r#"{"total_num_allocations": 1, "total_bytes_allocated": 9, "top_allocations_by_size": [{"location": %J, "size": 5}]}"#,
    ),
    (
        Kind::Dhat,
        r#"{"dhatFileVersion": 2, "pps": [{"tb": 5, "tbk": 1, "fs": [0]}], "ftbl": [%J]}"#,
    ),
    (
        Kind::PstatsText,
        "ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n1 0.1 0.1 0.1 0.1 a.py:3(%L)\n",
    ),
    (Kind::Hyperfine, r#"{"results": [{"command": %J, "mean": 1.0, "times": [1.0]}]}"#),
    (
        Kind::PytestBenchmark,
        r#"{"machine_info": {}, "benchmarks": [{"fullname": %J, "stats": {"median": 1.0}}]}"#,
    ),
    (Kind::Go, "BenchmarkX 1 5 ns/op\nBenchmark%L_ 1 5 ns/op\n"),
];

fn filled(shape: &str, name: &str) -> String {
    let json = |text: &str| serde_json::to_string(text).expect("JSON");
    shape
        .replace("%J", &json(name))
        .replace("%P", &json(&format!("{name}\u{0}a.py\u{0}3")))
        .replace("%L", &name.replace(['\n', '\r'], " "))
}

#[test]
fn hostile_names_come_out_harmless() {
    let long = "x".repeat(1 << 20);
    let names = [
        "</script><img src=x onerror=alert(1)>",
        "evil\u{202e}gpj.exe",
        "a\u{0}b\u{7}c\u{1b}[31md",
        "`rm -rf`\u{2028}|x|",
        "\u{e0041}\u{feff}\u{200b}",
        "",
        long.as_str(),
    ];
    for (kind, shape) in SHAPES {
        for name in names {
            let shown: String = name.chars().take(20).collect();
            let what = format!("{kind}, {shown:?}");
            let found = look(&what, filled(shape, name).as_bytes());
            // The keys that tell a benchmark's file may stand behind a name of a megabyte.
            if kind.is_measurement() && name.len() > 64 << 10 && found.is_err() {
                continue;
            }
            let reading = found.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(reading.kind, *kind, "{what}");
            let holds_something = !reading.profiles.is_empty() || !reading.metrics.is_empty();
            assert!(holds_something, "{what}");
        }
    }
}

const DEEP: usize = 100_000;

/// Files whose data nests, or whose stacks are, as deep as that.
fn deep_files() -> Vec<(&'static str, String)> {
    let chain = (0..DEEP).map(|at| at.to_string()).collect::<Vec<_>>();
    let folded = format!("{} 5\n", chain.join(";"));
    let stack = vec!["0"; DEEP].join(",");
    let nodes: Vec<String> = (1..=DEEP)
        .map(|at| format!(r#"{{"id": {at}, "callFrame": {{"functionName": "f", "url": ""}}, "children": [{}]}}"#, at + 1))
        .collect();
    let frame = r#"{"callFrame": {"functionName": "f", "url": ""}, "selfSize": 1, "children": ["#;
    let pyinstrument = r#"{"function": "f", "time": 1, "children": ["#;
    let prefixes: Vec<String> = (0..DEEP)
        .map(|at| at.checked_sub(1).map_or("null".to_owned(), |at| at.to_string()))
        .collect();
    let zeros = vec!["0"; DEEP].join(",");
    vec![
        ("collapsed", folded),
        ("nothing but brackets", "[".repeat(DEEP)),
        (
            "an unknown key",
            format!(r#"{{"root_frame": null, "x": {}{}}}"#, "[".repeat(DEEP), "]".repeat(DEEP)),
        ),
        (
            "pyinstrument",
            format!("{{\"root_frame\": {}{}}}", pyinstrument.repeat(DEEP), "]}".repeat(DEEP)),
        ),
        ("heap", format!("{{\"head\": {}{}}}", frame.repeat(DEEP), "]}".repeat(DEEP))),
        (
            "cpu",
            format!(
                r#"{{"nodes": [{}], "samples": [{DEEP}], "timeDeltas": [5], "startTime": 0, "endTime": 9}}"#,
                nodes.join(",")
            ),
        ),
        (
            "speedscope",
            format!(
                r#"{{"$schema": "speedscope", "shared": {{"frames": [{{"name": "f"}}]}}, "profiles": [{{"unit": "none", "samples": [[{stack}]], "weights": [1]}}]}}"#
            ),
        ),
        (
            "gprof2dot",
            format!(
                r#"{{"costs": [{{"unit": "bytes"}}], "events": [{{"callchain": [{stack}], "cost": [5]}}], "functions": [{{"name": "f"}}]}}"#
            ),
        ),
        (
            "memray",
            format!(
                "allocator,num_allocations,size,stack_trace\nm,1,5,{}\n",
                vec!["f;a.py;1"; DEEP].join("|")
            ),
        ),
        (
            "firefox",
            format!(
                r#"{{"meta": {{"interval": 1}}, "threads": [{{"samples": {{"stack": [{}]}}, "stackTable": {{"prefix": [{}], "frame": [{zeros}]}}, "frameTable": {{"func": [0]}}, "funcTable": {{"name": [0]}}, "stringArray": ["f"]}}]}}"#,
                DEEP - 1,
                prefixes.join(",")
            ),
        ),
    ]
}

#[test]
fn a_hundred_thousand_deep() {
    for (name, file) in deep_files() {
        let started = cpu_seconds();
        let found = look(name, file.as_bytes());
        let took = cpu_seconds() - started;
        assert!(took < 5.0, "{name}: {took} s");
        if let Ok(reading) = found {
            for profile in &reading.profiles {
                if let Body::Tree(tree) = &profile.body {
                    assert!(tree.len() <= LIMITS.nodes + 2, "{name}: {}", tree.len());
                }
            }
        } else {
            assert_eq!(name, "nothing but brackets");
        }
    }
}

/// CPU time of this thread.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("schedstat");
    stat.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).expect("a number") / 1e9
}

#[test]
fn numbers_that_are_none_and_keys_that_stand_twice() {
    let mut dice = Dice(7);
    for (name, bytes) in corpus() {
        let Ok(text) = String::from_utf8(bytes) else { continue };
        if !text.trim_start().starts_with(['{', '[']) || text.len() > 64 << 10 {
            continue;
        }
        for word in ["NaN", "Infinity", "-Infinity", "-3.5", "1e400", "null", "\"x\""] {
            let _ = look(
                &format!("{name} with {word}"),
                with_number(&text, word, &mut dice).as_bytes(),
            );
        }
        // The whole content twice in one object.
        if let Some(inner) = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            let _ = look(&format!("{name} twice"), format!("{{{inner},{inner}}}").as_bytes());
        }
    }
}

/// The text with another word for a tenth of its numbers.
fn with_number(text: &str, word: &str, dice: &mut Dice) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_text = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '"' {
            in_text = !in_text;
        }
        if c == '\\' {
            out.push(c);
            out.extend(chars.next());
            continue;
        }
        let starts =
            c.is_ascii_digit() && !in_text && !out.ends_with(|c: char| c.is_alphanumeric());
        if starts && dice.roll(10) == 0 {
            while chars
                .peek()
                .is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-'))
            {
                chars.next();
            }
            out.push_str(word);
        } else {
            out.push(c);
        }
    }
    out
}

#[test]
fn bombs_end_at_the_limit() {
    let limits = Limits { bytes: 4 << 20, ..LIMITS };
    let starts = [
        "",
        "main;f 1\n",
        r#"{"frame_records": ["#,
        r#"{"root_frame": {"function": ""#,
        r#"{"nodes": [{"id": 1, "callFrame": {}}], "samples": ["#,
        "events: Ir\nfn=a\n",
        r#"{"alloc_samples": 1, "files": {"#,
        "MEM 1 2\n",
    ];
    for start in starts {
        let mut bomb = start.as_bytes().to_vec();
        bomb.resize(bomb.len() + (16 << 20), b' ');
        let packed = gz(&bomb);
        assert!(packed.len() < 400_000);
        let found = read(&mut &packed[..], &options(limits));
        holds(start, &found);
        let error = found.expect_err("a bomb").to_string();
        assert!(
            error.contains("4194304") || error.contains("begins with") || error.contains("line"),
            "{start}: {error}"
        );
    }
}

#[test]
fn what_is_enormous_is_bounded_and_keeps_its_sum() {
    let limits = Limits { nodes: 1000, frames: 500, values: 100, ..LIMITS };
    let mut stacks = String::new();
    for at in 0..20_000 {
        writeln!(stacks, "main;f{at};g{at} 1").expect("text");
    }
    let reading = read_bytes(stacks.as_bytes(), &options(limits)).expect("stacks");
    let profile = &reading.profiles[0];
    assert!(profile.frames.len() <= 502 && profile.tree().expect("a tree").len() <= 1002);
    assert!((profile.sum(0) - 20_000.0).abs() < 1e-6);
    assert!(!reading.notices.is_empty(), "it says so");
    let mut series = String::from("CMDLINE x\n");
    for at in 0..5000 {
        writeln!(series, "MEM {at}.5 {}", 1000 + at).expect("text");
    }
    let reading = read_bytes(series.as_bytes(), &options(limits)).expect("a series");
    assert_eq!(reading.series[0].value.len(), 100);
    assert!(reading.notices[0].starts_with("4900 points"), "{:?}", reading.notices);
}

#[test]
fn a_damaged_gzip_still_tells_what_it_holds() {
    for (name, kind) in [
        ("memray.speedscope.json", Kind::Speedscope),
        ("pyinstrument.json", Kind::PyinstrumentJson),
        ("perf-python.collapsed", Kind::Collapsed),
        ("node.cpuprofile", Kind::CpuProfile),
    ] {
        let whole = gz(&support::bytes(name));
        let error = look(name, &whole[..whole.len() * 3 / 4]).expect_err("it is cut");
        assert_eq!(error.format, Some(kind), "{name}: {error}");
        assert!(error.to_string().contains("gzip"), "{error}");
    }
}
