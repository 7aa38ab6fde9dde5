//! Makes names of functions, threads and processes such that two runs say the same and nothing
//! hostile gets through.

use std::sync::LazyLock;

use regex::Regex;

use super::model::{Frame, FrameKind};

/// Longest name that is kept, in characters.
pub const NAME_MAX: usize = 300;

/// Whether a character moves, hides or ends the text around it.
pub fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' | '\u{61c}')
}

/// `text` without hostile characters, cut in the middle when it is too long. Two long names stay
/// two: what was cut is told by a checksum.
pub fn clean(text: &str) -> String {
    let replace = |c: char| if is_hostile(c) { '\u{fffd}' } else { c };
    if text.len() <= NAME_MAX || text.chars().nth(NAME_MAX).is_none() {
        return text.trim().chars().map(replace).collect();
    }
    let begin: String = text.trim().chars().take(NAME_MAX - 12).map(replace).collect();
    format!("{begin}…{:08x}", checksum(text.as_bytes()))
}

/// FNV-1a, 32 bits: tells cut names apart, nothing more.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

static ADDRESS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\b0x[0-9a-fA-F]{4,16}\b").ok());
static HASH: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"::h[0-9a-f]{16}$|\.llvm\.[0-9]+$").ok());

/// A function's name without what differs from run to run: addresses, hashes of the build.
pub fn function(raw: &str) -> String {
    let name = clean(raw);
    let name = if name.contains("0x") {
        ADDRESS
            .as_ref()
            .map_or_else(|| name.clone(), |re| re.replace_all(&name, "0x…").into_owned())
    } else {
        name
    };
    if name.contains("::h") || name.contains(".llvm.") {
        HASH.as_ref().map_or_else(|| name.clone(), |re| re.replace(&name, "").into_owned())
    } else {
        name
    }
}

/// The frame of a thread. Numbers the system gives out differ from run to run: a thread that has
/// nothing else is told by `nth`, its place among the threads of its file, from 1.
pub fn thread(raw: &str, nth: usize) -> Frame {
    let name = without_ids(raw);
    let name = if name.is_empty() { format!("thread {nth}") } else { name };
    Frame::special(FrameKind::Thread, &name)
}

/// The frame of a process, told by its command's program, else by its place.
pub fn process(raw: &str, nth: usize) -> Frame {
    let command = raw.split_once(['"', '\'']).map_or("", |(_, rest)| rest);
    let program = command.split_whitespace().next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default().trim_matches(['"', '\'']);
    let name = clean(program);
    let name = if name.is_empty() { format!("process {nth}") } else { name };
    Frame::special(FrameKind::Process, &name)
}

/// The words of a thread's name: without numbers of the system, brackets and quotes.
fn without_ids(raw: &str) -> String {
    let is_id = |word: &str| {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        let is_hex = word.starts_with("0x") || word.len() >= 10;
        word.is_empty()
            || digits.chars().all(|c| c.is_ascii_digit())
            || (is_hex && digits.chars().all(|c| c.is_ascii_hexdigit()))
            || matches!(word.to_ascii_lowercase().as_str(), "thread" | "tid" | "pid")
    };
    let name = clean(raw);
    let words: Vec<_> = name
        .split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"' | '[' | ']' | ':' | ','))
        .filter(|word| !is_id(word))
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_differ_from_run_to_run() {
        for (raw, name) in [
            ("<method 'run' of 'C' at 0x7f1234abcd>", "<method 'run' of 'C' at 0x…>"),
            ("0x7f87663e6b9f", "0x…"),
            ("alloc::vec::Vec<T>::push::h0123456789abcdef", "alloc::vec::Vec<T>::push"),
            ("inner.llvm.123456", "inner"),
            ("max0x12", "max0x12"),
            ("h", "h"),
        ] {
            assert_eq!(function(raw), name);
        }
    }

    #[test]
    fn hostile_names_stay_one_harmless_line() {
        assert_eq!(clean("a\u{202e}b\0c\nd"), "a\u{fffd}b\u{fffd}c\u{fffd}d");
        assert_eq!(clean("</script>"), "</script>");
        let (long, other) = ("x".repeat(1 << 20), format!("{}y", "x".repeat(1 << 20)));
        assert!(clean(&long).chars().count() <= NAME_MAX);
        assert_ne!(clean(&long), clean(&other));
        assert_eq!(clean(&"é".repeat(NAME_MAX)), "é".repeat(NAME_MAX));
    }

    #[test]
    fn threads_and_processes_have_names_without_numbers() {
        for (raw, name) in [
            ("MainThread", "MainThread"),
            ("Thread 29461 \"\"", "thread 1"),
            ("Thread 29461 \"worker-2\"", "worker-2"),
            ("thread (0x7F1234567890)", "thread 1"),
            ("tid:4242", "thread 1"),
            ("ThreadPoolExecutor-0_0 (140232)", "ThreadPoolExecutor-0_0"),
        ] {
            assert_eq!(thread(raw, 1).function, name);
        }
        assert_eq!(
            process("process 12:\"/opt/x/bin/python sim.py --key 1\"", 1).function,
            "python"
        );
        assert_eq!(process("process 12", 3).function, "process 3");
    }
}
