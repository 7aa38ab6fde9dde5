//! Tells a format by how a file begins, never by its name.

mod json;
mod text;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $label:literal;)*) => {
        /// A format that is known.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        pub enum Kind {
            $($(#[$doc])* #[serde(rename = $word)] $name,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The word in files.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }
        }

        impl fmt::Display for Kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$name => $label,)* })
            }
        }
    };
}

kinds! {
    /// What pyinstrument saves: every sample.
    PyinstrumentSession = "pyinstrument_session", "pyinstrument session";
    /// What pyinstrument renders as JSON: a tree that was pruned.
    PyinstrumentJson = "pyinstrument_json", "pyinstrument JSON";
    /// The whole tree that pyinstrument's page holds from 5.0 on.
    PyinstrumentTree = "pyinstrument_tree", "pyinstrument tree";
    /// Python's own profilers, as marshal.
    Pstats = "pstats", "pstats";
    /// What pstats prints, as text or split into CSV.
    PstatsText = "pstats_text", "pstats table";
    /// One stack and one number a line.
    Collapsed = "collapsed", "collapsed stacks";
    /// Two numbers a line: before and after.
    CollapsedDiff = "collapsed_diff", "differential collapsed stacks";
    /// The file of speedscope's own.
    Speedscope = "speedscope", "speedscope";
    /// Scalene's JSON.
    Scalene = "scalene", "Scalene JSON";
    /// An HTML page: what is in it shows only when it is read.
    Html = "html", "HTML page";
    /// Numbers of a memray capture.
    MemrayStats = "memray_stats", "memray stats";
    /// Allocations by call chain, as memray and others write for gprof2dot.
    Gprof2dot = "gprof2dot", "gprof2dot JSON";
    /// Allocations by stack, as memray writes.
    MemrayCsv = "memray_csv", "memray CSV";
    /// Go's protobuf format.
    Pprof = "pprof", "pprof";
    /// V8's CPU profile.
    CpuProfile = "cpuprofile", "V8 CPU profile";
    /// V8's heap profile.
    HeapProfile = "heapprofile", "V8 heap profile";
    /// What `perf script` prints.
    PerfScript = "perf_script", "perf script";
    /// valgrind's callgrind and cachegrind.
    Callgrind = "callgrind", "callgrind";
    /// The Firefox profiler's formats.
    Firefox = "firefox", "Firefox profile";
    /// Begin and end of calls, for Chrome's tracing view.
    ChromeTrace = "chrome_trace", "Chrome trace";
    /// valgrind's DHAT.
    Dhat = "dhat", "DHAT";
    /// hyperfine's JSON.
    Hyperfine = "hyperfine", "hyperfine";
    /// pytest-benchmark's JSON.
    PytestBenchmark = "pytest_benchmark", "pytest-benchmark";
    /// criterion's estimates of one benchmark.
    Criterion = "criterion", "criterion estimates";
    /// The name of one criterion benchmark.
    CriterionName = "criterion_name", "criterion benchmark";
    /// The samples of one criterion benchmark.
    CriterionSample = "criterion_sample", "criterion sample";
    /// Rust's `cargo bench` text.
    Libtest = "libtest", "libtest bench";
    /// Go's benchmark text.
    Go = "go", "Go benchmark";
    /// google-benchmark's JSON.
    GoogleBenchmark = "google_benchmark", "google-benchmark";
    /// pyperf's JSON.
    Pyperf = "pyperf", "pyperf";
    /// asv's results of one commit.
    Asv = "asv", "asv results";
    /// asv's list of benchmarks.
    AsvBenchmarks = "asv_benchmarks", "asv benchmarks";
    /// psrecord's log.
    Psrecord = "psrecord", "psrecord";
    /// The log of `memory_profiler`.
    Mprof = "mprof", "mprof";
    /// valgrind's massif.
    Massif = "massif", "massif";
    /// GNU time's `-v`.
    GnuTime = "gnu_time", "GNU time -v";
    /// `perf stat` with `-j`, with `-x` or as text.
    PerfStat = "perf_stat", "perf stat";
    /// A database of cProfile rows over commits.
    PyrealmCsv = "pyrealm_csv", "profiling CSV";
    /// An object of numbers.
    Numbers = "numbers", "JSON object of numbers";
}

/// What a file can be by how it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guess {
    /// A known format.
    Kind(Kind),
    /// A known format that only its own tool can read.
    Private(&'static Private),
    /// Nothing but white space.
    Empty,
    /// Nothing known.
    Unknown,
}

/// A format that only its own tool can read.
#[derive(Debug, PartialEq, Eq)]
pub struct Private {
    magic: &'static [u8],
    /// What it is.
    pub what: &'static str,
    /// What to do instead.
    pub instead: &'static str,
    /// Whether a profiler wrote it; else it may be anything.
    pub of_profiler: bool,
}

const fn private(
    magic: &'static [u8],
    what: &'static str,
    instead: &'static str,
    of_profiler: bool,
) -> Private {
    Private { magic, what, instead, of_profiler }
}

const MEMRAY: &str = "run `memray stats --json` or `memray transform speedscope` in the job";

/// Formats that are binary, private and change with every version.
const PRIVATE: &[Private] = &[
    private(
        b"PERFILE2",
        "a perf.data file",
        "run `perf script` in the job and keep its output",
        true,
    ),
    private(b"memray", "a memray capture", MEMRAY, true),
    private(b"\x04\x22\x4d\x18", "an lz4 file (a memray capture?)", MEMRAY, true),
    private(b"MOJ", "a binary austin file", "run austin without `-b`", true),
    private(b"FLR\0", "a Java flight recording", "convert it to collapsed stacks in the job", true),
    private(
        b"\x28\xb5\x2f\xfd",
        "a zstd file (heaptrack's?)",
        "run `heaptrack_print -F` in the job",
        false,
    ),
    private(b"PK\x03\x04", "a zip archive", "unpack it in the job", false),
    private(b"\x7fELF", "a program", "name the profiler's output instead", false),
    private(b"\x1f\x8b", "gzip in gzip", "unpack it in the job", false),
];

impl Kind {
    /// Whether such a file holds a profile, not only numbers.
    pub fn is_profile(self) -> bool {
        use Kind::{
            Callgrind, ChromeTrace, Collapsed, CollapsedDiff, CpuProfile, Dhat, Firefox, Gprof2dot,
            HeapProfile, Html, MemrayCsv, MemrayStats, PerfScript, Pprof, Pstats, PstatsText,
            PyinstrumentJson, PyinstrumentSession, PyinstrumentTree, PyrealmCsv, Scalene,
            Speedscope,
        };
        matches!(
            self,
            Callgrind
                | ChromeTrace
                | Collapsed
                | CollapsedDiff
                | CpuProfile
                | Dhat
                | Firefox
                | Gprof2dot
                | HeapProfile
                | Html
                | MemrayCsv
                | MemrayStats
                | PerfScript
                | Pprof
                | Pstats
                | PstatsText
                | PyinstrumentJson
                | PyinstrumentSession
                | PyinstrumentTree
                | PyrealmCsv
                | Scalene
                | Speedscope
        )
    }
}

impl Kind {
    /// Whether such a file holds numbers that a tool measured: results of benchmarks, logs of
    /// meters.
    pub fn is_measurement(self) -> bool {
        use Kind::{
            Asv, Criterion, CriterionName, CriterionSample, GnuTime, Go, GoogleBenchmark,
            Hyperfine, Libtest, Massif, Mprof, PerfStat, Psrecord, Pyperf, PytestBenchmark,
        };
        matches!(
            self,
            Asv | Criterion
                | CriterionName
                | CriterionSample
                | GnuTime
                | Go
                | GoogleBenchmark
                | Hyperfine
                | Libtest
                | Massif
                | Mprof
                | PerfStat
                | Psrecord
                | Pyperf
                | PytestBenchmark
        )
    }
}

/// Tells the format from how a file begins (gzip undone). `begin` is the first 64 KiB, or all.
pub fn sniff(begin: &[u8]) -> Guess {
    let trimmed = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(begin);
    if let Some(private) = PRIVATE.iter().find(|private| begin.starts_with(private.magic)) {
        return Guess::Private(private);
    }
    let known = binary(begin).or_else(|| match first_visible(trimmed) {
        Some(b'{' | b'[') => json::kind(trimmed).or_else(|| text::kind(trimmed)),
        Some(b'<') if is_html(trimmed) => Some(Kind::Html),
        _ => text::kind(trimmed),
    });
    match known {
        Some(kind) => Guess::Kind(kind),
        None if first_visible(trimmed).is_none() => Guess::Empty,
        None => Guess::Unknown,
    }
}

fn first_visible(bytes: &[u8]) -> Option<u8> {
    bytes.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

fn is_html(begin: &[u8]) -> bool {
    let head: Vec<u8> =
        begin.trim_ascii_start().iter().take(200).map(u8::to_ascii_lowercase).collect();
    [&b"<!doctype html"[..], b"<html", b"<head", b"<!--", b"<script", b"<meta"]
        .iter()
        .any(|mark| head.starts_with(mark))
}

fn binary(begin: &[u8]) -> Option<Kind> {
    match begin {
        // A marshalled dict, with or without the flag of a reference, whose first key is a
        // tuple; or an empty one.
        [0x7b | 0xfb, 0x29 | 0xa9 | 0x28 | 0xa8 | b'0', ..] => Some(Kind::Pstats),
        // A message of pprof: its first field is a value type, whose fields are numbers.
        [0x0a, length, field, ..]
            if *length > 0 && *length < 0x20 && matches!(field, 0x08 | 0x10) =>
        {
            Some(Kind::Pprof)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
