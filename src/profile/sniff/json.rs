//! Tells JSON formats by the keys of the outermost object, as far as the beginning shows them.

use super::Kind;

/// Most keys that are looked at.
const KEYS_MAX: usize = 400;

/// What the beginning of a JSON text shows.
#[derive(Default)]
struct Skim<'a> {
    /// Keys of the outermost object; of the first object in an outermost array.
    keys: Vec<&'a [u8]>,
    /// Whether every value seen is a number.
    only_numbers: bool,
    /// Whether the outermost value is an array.
    is_array: bool,
    /// Whether the text ended within what was seen.
    is_whole: bool,
}

/// The kind, if the keys tell it.
pub(super) fn kind(begin: &[u8]) -> Option<Kind> {
    let skim = skim(begin);
    let has = |key: &str| skim.keys.contains(&key.as_bytes());
    let holds = |text: &str| memchr::memmem::find(begin, text.as_bytes()).is_some();
    if skim.is_array {
        return (has("ph") && has("ts")).then_some(Kind::ChromeTrace);
    }
    let rules: [(bool, Kind); 27] = [
        (has("frame_records") || has("start_call_stack"), Kind::PyinstrumentSession),
        (
            has("session") && (has("frame_tree") || holds("\"start_call_stack\"")),
            Kind::PyinstrumentTree,
        ),
        (has("root_frame"), Kind::PyinstrumentJson),
        (has("alloc_samples") || (has("elapsed_time_sec") && has("files")), Kind::Scalene),
        ((has("$schema") || has("profiles")) && holds("speedscope"), Kind::Speedscope),
        (has("profiles") && has("shared"), Kind::Speedscope),
        (has("total_num_allocations") || has("total_bytes_allocated"), Kind::MemrayStats),
        (has("costs") && has("events"), Kind::Gprof2dot),
        (
            has("nodes") && (has("timeDeltas") || has("startTime") || holds("\"callFrame\"")),
            Kind::CpuProfile,
        ),
        (has("head") && (holds("\"selfSize\"") || holds("\"callFrame\"")), Kind::HeapProfile),
        (has("traceEvents"), Kind::ChromeTrace),
        (
            has("meta")
                && (has("threads")
                    || has("libs")
                    || holds("\"stackwalk\"")
                    || holds("\"preprocessedProfileVersion\"")),
            Kind::Firefox,
        ),
        (has("dhatFileVersion"), Kind::Dhat),
        (has("machine_info") || (has("benchmarks") && has("commit_info")), Kind::PytestBenchmark),
        (
            has("context") && (has("benchmarks") || holds("\"library_build_type\"")),
            Kind::GoogleBenchmark,
        ),
        (has("result_columns") || (has("commit_hash") && has("results")), Kind::Asv),
        (has("results") && holds("\"command\"") && holds("\"mean\""), Kind::Hyperfine),
        (has("benchmarks") && holds("\"runs\"") && holds("\"metadata\""), Kind::Pyperf),
        (has("mean") && has("std_dev") && holds("\"point_estimate\""), Kind::Criterion),
        (has("group_id") && has("full_id"), Kind::CriterionName),
        (has("iters") && has("times"), Kind::CriterionSample),
        (has("counter-value"), Kind::PerfStat),
        (holds("\"param_names\"") && holds("\"min_run_count\""), Kind::AsvBenchmarks),
        (has("benchmarks") && holds("\"fullname\"") && holds("\"stats\""), Kind::PytestBenchmark),
        (has("benchmarks") && holds("\"real_time\""), Kind::GoogleBenchmark),
        (has("frames") && has("events") && holds("speedscope"), Kind::Speedscope),
        (skim.is_whole && skim.only_numbers && !skim.keys.is_empty(), Kind::Numbers),
    ];
    rules.iter().find(|(fits, _)| *fits).map(|(_, kind)| *kind)
}

/// Walks over the beginning once; what stands deeper is only counted.
fn skim(text: &[u8]) -> Skim<'_> {
    let mut skim = Skim { only_numbers: true, ..Skim::default() };
    let mut at = 0;
    let mut depth = 0_u32;
    let mut wants_key = false;
    while at < text.len() && skim.keys.len() < KEYS_MAX {
        let key_depth = if skim.is_array { 2 } else { 1 };
        match text[at] {
            b'"' => {
                let Some(end) = end_of_text(text, at + 1) else { break };
                if depth == key_depth && wants_key {
                    skim.keys.push(&text[at + 1..end]);
                    wants_key = false;
                } else if depth == key_depth {
                    skim.only_numbers = false;
                }
                at = end;
            }
            byte @ (b'{' | b'[') => {
                skim.is_array |= depth == 0 && byte == b'[';
                skim.only_numbers &= depth == 0;
                depth += 1;
                wants_key = byte == b'{' && depth == if skim.is_array { 2 } else { 1 };
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    skim.is_whole = true;
                    break;
                }
                // One object of an array is enough.
                if skim.is_array && depth == 1 {
                    break;
                }
            }
            b',' => wants_key |= depth == key_depth,
            b't' | b'f' | b'n' => skim.only_numbers &= depth != key_depth,
            _ => {}
        }
        at += 1;
    }
    skim
}

fn end_of_text(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}
