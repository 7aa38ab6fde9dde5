//! A frame of a collapsed stack, in the spelling of any tool.

use super::super::super::build::Builder;
use super::super::super::model::{Frame, FrameKind, Origin};
use super::super::super::names;
use super::super::super::paths::Paths;

/// Makes frames of texts.
pub(super) struct Frames<'p> {
    paths: &'p Paths,
    threads: usize,
    processes: usize,
}

impl<'p> Frames<'p> {
    pub(super) fn new(paths: &'p Paths) -> Self {
        Self { paths, threads: 0, processes: 0 }
    }

    /// The site a text at that depth stands for.
    pub(super) fn site(&mut self, builder: &mut Builder, text: &[u8], depth: usize) -> u32 {
        builder.spelled(text, |builder| {
            let name = String::from_utf8_lossy(text);
            // A thread's name says so only near the root; deeper the same text is a function.
            let is_thread = depth < 2 && is_special(&name);
            let (frame, line) =
                if is_thread { (self.special(&name), 0) } else { function(&name, self.paths) };
            builder.site(frame, line)
        })
    }

    fn special(&mut self, text: &str) -> Frame {
        let is_process = text.starts_with("process ") || is_numbered(text, "P");
        if is_process {
            self.processes += 1;
            names::process(text, self.processes)
        } else {
            self.threads += 1;
            let name = if is_numbered(text, "T") { "" } else { text };
            names::thread(name, self.threads)
        }
    }
}

/// `P` or `T` and nothing but numbers and colons.
fn is_numbered(text: &str, letter: &str) -> bool {
    let rest = text.strip_prefix(letter).unwrap_or_default();
    let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':' || c == 'x');
    !rest.is_empty()
        && digits.chars().all(|c| c.is_ascii_hexdigit())
        && rest.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a text names a thread or a process.
fn is_special(text: &str) -> bool {
    let has_id = text.ends_with(')') && text.contains("(0x");
    (text.starts_with("thread ") && has_id)
        || (text.starts_with("process ") && text.contains(':'))
        || text.starts_with("tid:")
        || (text.starts_with("Thread-") && text.ends_with(')') && !text.contains(".py"))
        || text == "MainThread"
        || (text.starts_with("MainThread") && text.ends_with(')'))
        || (text.starts_with('[') && text.contains(" tid=") && text.ends_with(']'))
        || is_numbered(text, "P")
        || is_numbered(text, "T")
}

/// The frame and the executing line of a text.
fn function(text: &str, paths: &Paths) -> (Frame, u32) {
    if let Some((name, file, line)) = with_brackets(text).or_else(|| with_colons(text)) {
        let place = paths.place(file);
        let frame = Frame {
            function: names::function(name),
            file: place.file,
            line: 0,
            module: place.module,
            origin: place.origin,
            kind: FrameKind::Function,
        };
        return (frame, line);
    }
    (plain(text), 0)
}

/// `name (file:line)` or `name (object)`.
fn with_brackets(text: &str) -> Option<(&str, &str, u32)> {
    let inner = text.strip_suffix(')')?;
    let at = inner.rfind(" (")?;
    let (name, place) = (&inner[..at], &inner[at + 2..]);
    if let Some((file, number)) = place.rsplit_once(':')
        && let Ok(line) = number.parse()
    {
        return Some((name, file, line));
    }
    let is_place = place.contains(['.', '/']) || place.starts_with('<') || place.starts_with('[');
    // Arguments of a function may hold anything too, but no file is followed by a comma.
    (is_place && !place.contains([',', '*', '&']) && !name.is_empty()).then_some((name, place, 0))
}

/// `file:name:line`.
fn with_colons(text: &str) -> Option<(&str, &str, u32)> {
    let (rest, number) = text.rsplit_once(':')?;
    let line = number.parse().ok()?;
    let (file, name) = rest.rsplit_once(':')?;
    let is_file = file.contains(['.', '/', '\\']) || file.starts_with('<');
    (is_file && !name.is_empty() && !file.ends_with(':')).then_some((name, file, line))
}

/// A name alone, maybe with a mark of what it is: `_[k]` kernel, `_[j]` compiled, `_[i]` inlined.
fn plain(text: &str) -> Frame {
    let (name, mark) = match text.len().checked_sub(4).and_then(|at| text.split_at_checked(at)) {
        Some((name, mark)) if mark.starts_with("_[") && mark.ends_with(']') => (name, mark),
        _ => (text, ""),
    };
    let function = names::function(name);
    if name == "[unknown]" || name == "??" || name.is_empty() {
        return Frame {
            function,
            origin: Origin::None,
            kind: FrameKind::Marker,
            ..Frame::default()
        };
    }
    let (module, origin) =
        if mark == "_[k]" { ("kernel".to_owned(), Origin::System) } else { module_of(&function) };
    Frame { function, module, origin, ..Frame::default() }
}

/// What a name tells of where it belongs: `std::rt::lang_start`, `java/lang/Thread.run`.
pub(in crate::profile::read) fn module_of(function: &str) -> (String, Origin) {
    if let Some((crate_name, _)) = function.trim_start_matches(['<', '&']).split_once("::") {
        let name: String =
            crate_name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let origin = if matches!(name.as_str(), "std" | "core" | "alloc") {
            Origin::Runtime
        } else {
            Origin::Own
        };
        return (name, origin);
    }
    if let Some((package, _)) =
        function.rsplit_once('/').filter(|(package, _)| !package.contains(' '))
    {
        let origin = if package.starts_with("java/") || package.starts_with("jdk/") {
            Origin::Runtime
        } else {
            Origin::Own
        };
        return (package.replace('/', "."), origin);
    }
    (String::new(), Origin::Own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_all_tools() {
        let paths = Paths::default();
        for (text, name, file, module, line) in [
            ("infect_group (sim.py:42)", "infect_group", "sim.py", "sim.py", 42),
            ("<module> (sim.py:159)", "<module>", "sim.py", "sim.py", 159),
            (
                "_find (<frozen importlib._bootstrap>:1176)",
                "_find",
                "<frozen importlib._bootstrap>",
                "importlib",
                1176,
            ),
            ("sim.py:main:153", "main", "sim.py", "sim.py", 153),
            ("<frozen getpath>:<module>:606", "<module>", "<frozen getpath>", "getpath", 606),
            ("/w/a b.py:f.<locals>.<listcomp>:3", "f.<locals>.<listcomp>", "/w/a b.py", "/w", 3),
            ("std::rt::lang_start::{{closure}}", "std::rt::lang_start::{{closure}}", "", "std", 0),
            ("a::b::12", "a::b::12", "", "a", 0),
            ("operator()(int)", "operator()(int)", "", "", 0),
            ("f(int, char*) (a.cpp:7)", "f(int, char*)", "a.cpp", "a.cpp", 7),
            ("read (libc.so.6)", "read", "", "libc.so.6", 0),
            ("0x7f1234567890 (libc.so.6)", "0x…", "", "libc.so.6", 0),
            ("do_syscall_64_[k]", "do_syscall_64", "", "kernel", 0),
            ("java/lang/Thread.run_[j]", "java/lang/Thread.run", "", "java.lang", 0),
            ("[unknown]", "[unknown]", "", "", 0),
            ("", "", "", "", 0),
        ] {
            let (frame, at) = function(text, &paths);
            assert_eq!(
                (frame.function.as_str(), frame.file.as_str(), frame.module.as_str(), at),
                (name, file, module, line),
                "{text}"
            );
        }
    }

    #[test]
    fn threads_and_processes() {
        for (text, special) in [
            ("thread (0x7F1234)", true),
            ("MainThread", true),
            ("process 12:\"python a.py\"", true),
            ("tid:4242", true),
            ("P7465", true),
            ("T0:7465", true),
            ("PyEval", false),
            ("T", false),
            ("Thread", false),
            ("thread_main", false),
        ] {
            assert_eq!(is_special(text), special, "{text}");
        }
    }
}
