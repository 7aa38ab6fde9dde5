//! Says whose code a file is, and names it such that two runs on two machines say the same:
//! without the workspace, virtual environments, homes and versions in the path.

use super::model::Origin;
use super::names;

/// Where a function is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file's name; empty where it says nothing (a shared object is a module, not a file).
    pub file: String,
    /// What it belongs to.
    pub module: String,
    /// Whose code it is.
    pub origin: Origin,
}

/// How many last parts of a path are kept when nothing tells its root.
const TAIL: usize = 3;

/// Top-level modules of Python's standard library that profilers name by a relative path.
const PYTHON: &[&str] = &[
    "abc",
    "argparse",
    "ast",
    "asyncio",
    "base64",
    "bisect",
    "cProfile",
    "codecs",
    "collections",
    "concurrent",
    "configparser",
    "contextlib",
    "contextvars",
    "copy",
    "copyreg",
    "csv",
    "ctypes",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "dis",
    "email",
    "encodings",
    "enum",
    "fnmatch",
    "fractions",
    "functools",
    "genericpath",
    "getpass",
    "gettext",
    "glob",
    "gzip",
    "hashlib",
    "heapq",
    "html",
    "http",
    "importlib",
    "inspect",
    "io",
    "ipaddress",
    "json",
    "linecache",
    "locale",
    "logging",
    "lzma",
    "multiprocessing",
    "ntpath",
    "operator",
    "optparse",
    "os",
    "pathlib",
    "pickle",
    "pkgutil",
    "platform",
    "posixpath",
    "pprint",
    "profile",
    "pstats",
    "queue",
    "random",
    "re",
    "runpy",
    "selectors",
    "shutil",
    "signal",
    "site",
    "socket",
    "sqlite3",
    "sre_compile",
    "sre_parse",
    "ssl",
    "stat",
    "string",
    "struct",
    "subprocess",
    "sysconfig",
    "tarfile",
    "tempfile",
    "textwrap",
    "threading",
    "token",
    "tokenize",
    "traceback",
    "tracemalloc",
    "types",
    "typing",
    "unittest",
    "urllib",
    "uuid",
    "warnings",
    "weakref",
    "xml",
    "zipfile",
    "zipimport",
    "zlib",
];

/// Names files.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    workspaces: Vec<String>,
}

impl Paths {
    /// Paths below one of `workspaces` are the project's own.
    pub fn new<'a>(workspaces: impl IntoIterator<Item = &'a str>) -> Self {
        let workspaces = workspaces
            .into_iter()
            .map(|path| path.trim_end_matches('/').to_owned())
            .filter(|path| !path.is_empty())
            .collect();
        Self { workspaces }
    }

    /// The place of a file as a profiler writes it.
    pub fn place(&self, raw: &str) -> Place {
        let path = plain(raw);
        let path = path.as_str();
        if path.is_empty() || path == "???" || path == "[unknown]" || path == "unknown" {
            return Place { origin: Origin::Own, ..Place::default() };
        }
        bracketed(path)
            .or_else(|| python(path))
            .or_else(|| javascript(path))
            .or_else(|| rust(path))
            .or_else(|| go(path))
            .or_else(|| self.own(path))
            .or_else(|| object(path))
            .unwrap_or_else(|| elsewhere(path))
    }

    /// A file of the workspace, or one that is named relative to it.
    fn own(&self, path: &str) -> Option<Place> {
        let below = |root: &String| path.strip_prefix(root.as_str())?.strip_prefix('/');
        let relative = self.workspaces.iter().find_map(below).or_else(|| on_runner(path));
        let is_relative = !path.starts_with('/') && !path.contains(":/");
        let file = relative.or_else(|| is_relative.then_some(path))?;
        let file = file.trim_start_matches("./");
        if is_shared_object(file) {
            return None;
        }
        let module = file.rsplit_once('/').map_or(file, |(folder, _)| folder);
        Some(place(file, module, Origin::Own))
    }
}

fn place(file: &str, module: &str, origin: Origin) -> Place {
    Place { file: names::clean(file), module: names::clean(module), origin }
}

/// One spelling: no scheme, no backslashes.
fn plain(raw: &str) -> String {
    let path = raw.trim().strip_prefix("file://").unwrap_or(raw.trim());
    let is_windows = path.as_bytes().get(1) == Some(&b':') || path.starts_with(r"\\");
    if is_windows || (path.contains('\\') && !path.contains('/')) {
        return path.replace('\\', "/");
    }
    path.to_owned()
}

/// Whether the file has that extension; capitals count as themselves, as compilers take them.
fn ends(path: &str, extension: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, found)| found == extension)
}

/// What stands after the last `mark` in the path.
fn after<'a>(path: &'a str, mark: &str) -> Option<&'a str> {
    path.rfind(mark).map(|at| &path[at + mark.len()..])
}

fn first_part(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}

/// The last parts of a path.
fn tail(path: &str, parts: usize) -> &str {
    let mut from = path.len();
    for _ in 0..parts {
        match path[..from].rfind('/') {
            Some(at) => from = at,
            None => return path,
        }
    }
    &path[from + 1..]
}

/// Names that are no files: `<frozen runpy>`, `~`, `[kernel.kallsyms]`, `node:internal/…`.
fn bracketed(path: &str) -> Option<Place> {
    if path == "~" || path == "<built-in>" {
        return Some(place("", "built-in", Origin::Runtime));
    }
    if let Some(frozen) = path.strip_prefix("<frozen ") {
        let name = frozen.trim_end_matches('>');
        let module = name.split('.').next().unwrap_or(name);
        return Some(place(path, module, Origin::Runtime));
    }
    if path.starts_with("[kernel") || path.starts_with("[guest.kernel") {
        return Some(place("", "kernel", Origin::System));
    }
    if path.starts_with('[') && path.ends_with(']') {
        return Some(place("", path, Origin::System));
    }
    if let Some(internal) = path.strip_prefix("node:") {
        return Some(place(path, first_part(internal), Origin::Runtime));
    }
    // Code from a text: `<string>`, `<stdin>`, `<ipython-input-3-…>`.
    (path.starts_with('<') && path.ends_with('>')).then(|| place(path, path, Origin::Own))
}

fn python(path: &str) -> Option<Place> {
    for mark in ["/site-packages/", "/dist-packages/"] {
        if let Some(file) = after(path, mark) {
            let module = first_part(file).trim_end_matches(".py");
            return Some(place(file, module, Origin::Library));
        }
    }
    let standard = standard_library(path)?;
    let module = first_part(standard).trim_end_matches(".py");
    Some(place(standard, module, Origin::Runtime))
}

/// The path within Python's standard library: `…/lib/python3.11/json/encoder.py`,
/// `…/Python311/Lib/json/encoder.py`, or a known relative one.
fn standard_library(path: &str) -> Option<&str> {
    if let Some(at) = path.rfind("/python3.").or_else(|| path.rfind("/python3")) {
        let rest = &path[at + 1..];
        let (version, file) = rest.split_once('/')?;
        let is_version = version[6..]
            .trim_end_matches(".zip")
            .chars()
            .all(|c| c.is_ascii_digit() || c == '.' || c == 't');
        let in_lib = path[..at].ends_with("/lib") || path[..at].ends_with("/lib64");
        if is_version && in_lib {
            return Some(file);
        }
    }
    if let Some((_, file)) = path.split_once("/Lib/").filter(|(root, _)| root.contains("ython")) {
        return Some(file);
    }
    let is_relative = !path.starts_with('/') && ends(path, "py");
    let known = PYTHON.binary_search(&first_part(path).trim_end_matches(".py")).is_ok();
    (is_relative && known).then_some(path)
}

fn javascript(path: &str) -> Option<Place> {
    let file = after(path, "/node_modules/").or_else(|| path.strip_prefix("node_modules/"))?;
    let module = if file.starts_with('@') {
        let end = file.match_indices('/').nth(1).map_or(file.len(), |(at, _)| at);
        &file[..end]
    } else {
        first_part(file)
    };
    Some(place(file, module, Origin::Library))
}

fn rust(path: &str) -> Option<Place> {
    if let Some(rest) = path.find("/rustc/").map(|at| &path[at + 7..])
        && let Some((_, file)) = rest.split_once('/')
    {
        return Some(rust_library(file));
    }
    if let Some(file) = after(path, "/lib/rustlib/src/rust/") {
        return Some(rust_library(file));
    }
    if path.starts_with("library/") {
        return Some(rust_library(path));
    }
    let rest = after(path, "/registry/src/").or_else(|| after(path, "/git/checkouts/"))?;
    let (_, file) = rest.split_once('/')?;
    let (folder, rest) = file.split_once('/')?;
    let is_version =
        |(_, version): &(&str, &str)| version.starts_with(|c: char| c.is_ascii_digit());
    let name = folder.rsplit_once('-').filter(is_version).map_or(folder, |(name, _)| name);
    Some(place(&format!("{name}/{rest}"), name, Origin::Library))
}

fn rust_library(file: &str) -> Place {
    let module = file.split('/').nth(1).unwrap_or("std");
    place(file, module, Origin::Runtime)
}

fn go(path: &str) -> Option<Place> {
    if let Some(file) = after(path, "/pkg/mod/") {
        let (module, rest) = file.split_once('@')?;
        let rest = rest.split_once('/').map_or("", |(_, rest)| rest);
        return Some(place(&format!("{module}/{rest}"), module, Origin::Library));
    }
    let file = after(path, "/usr/local/go/src/").or_else(|| after(path, "/libexec/src/"))?;
    Some(place(file, first_part(file), Origin::Runtime))
}

/// The path within the checkout on a hosted runner, whose root is known.
fn on_runner(path: &str) -> Option<&str> {
    let path = path.strip_prefix('/').unwrap_or(path);
    for root in ["home/runner/work/", "Users/runner/work/", "__w/", "D:/a/"] {
        if let Some(rest) = path.strip_prefix(root) {
            return rest.splitn(3, '/').nth(2);
        }
    }
    path.strip_prefix("github/workspace/")
}

fn is_shared_object(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let has_version =
        |(_, version): (&str, &str)| version.chars().all(|c| c.is_ascii_digit() || c == '.');
    ["so", "dylib", "dll", "pyd"].iter().any(|extension| ends(name, extension))
        || name.split_once(".so.").is_some_and(has_version)
}

/// A shared object or a program.
fn object(path: &str) -> Option<Place> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if is_shared_object(path) {
        let is_system = ["/lib", "/usr/lib", "/lib64"].iter().any(|root| path.starts_with(root))
            || !path.contains('/');
        let is_runtime = name.starts_with("libpython") || name.starts_with("libjvm");
        let origin = match (is_runtime, is_system) {
            (true, _) => Origin::Runtime,
            (false, true) => Origin::System,
            (false, false) => Origin::Library,
        };
        return Some(place("", name, origin));
    }
    None
}

/// An absolute path that nothing else knows.
fn elsewhere(path: &str) -> Place {
    let is_system = ["/usr/", "/bin/", "/sbin/", "/lib", "/opt/", "/nix/"]
        .iter()
        .any(|root| path.starts_with(root));
    let path = without_home(path);
    let file = tail(path, TAIL);
    let module = file.rsplit_once('/').map_or(file, |(folder, _)| folder);
    place(file, module, if is_system { Origin::System } else { Origin::Own })
}

/// The path below somebody's home, so that nobody's name is published.
fn without_home(path: &str) -> &str {
    let below = |root: &str| {
        let at = path.find(root)?;
        path[at + root.len()..].split_once('/').map(|(_, rest)| rest)
    };
    let home = below("/home/").or_else(|| below("/Users/"));
    home.or_else(|| path.strip_prefix("/root/")).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::too_many_lines, reason = "one table")]
    fn whose_code_it_is_and_what_two_runs_call_it() {
        use Origin::{Library, Own, Runtime, System};
        let paths = Paths::new(["/w/sim/"]);
        for (raw, file, module, origin) in [
            ("/w/sim/src/pop/births.py", "src/pop/births.py", "src/pop", Own),
            ("./sim.py", "sim.py", "sim.py", Own),
            ("sim.py", "sim.py", "sim.py", Own),
            ("^home/runner/work/sim/sim/src/a.py", "src/a.py", "src", Own),
            (
                "/v/lib/python3.11/site-packages/numpy/core/fromnumeric.py",
                "numpy/core/fromnumeric.py",
                "numpy",
                Library,
            ),
            ("/usr/lib/python3/dist-packages/six.py", "six.py", "six", Library),
            (
                "^home/me/.pyenv/versions/3.11.7/lib/python3.11/json/encoder.py",
                "json/encoder.py",
                "json",
                Runtime,
            ),
            (r"C:\Python311\Lib\json\encoder.py", "json/encoder.py", "json", Runtime),
            ("json/__init__.py", "json/__init__.py", "json", Runtime),
            (
                "<frozen importlib._bootstrap>",
                "<frozen importlib._bootstrap>",
                "importlib",
                Runtime,
            ),
            ("~", "", "built-in", Runtime),
            ("<string>", "<string>", "<string>", Own),
            ("/usr/lib/x86_64-linux-gnu/libc.so.6", "", "libc.so.6", System),
            ("libc.so.6", "", "libc.so.6", System),
            (
                "^home/me/.pyenv/versions/3.11.7/lib/libpython3.11.so.1.0",
                "",
                "libpython3.11.so.1.0",
                Runtime,
            ),
            ("[kernel.kallsyms]", "", "kernel", System),
            (
                "/rustc/59807616e1fa2540724bf/library/alloc/src/alloc.rs",
                "library/alloc/src/alloc.rs",
                "alloc",
                Runtime,
            ),
            (
                "^root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/serde_json-1.0.1/src/de.rs",
                "serde_json/src/de.rs",
                "serde_json",
                Library,
            ),
            ("file:///w/sim/app.js", "app.js", "app.js", Own),
            ("/w/sim/node_modules/@a/b/index.js", "@a/b/index.js", "@a/b", Library),
            (
                "node:internal/modules/cjs/loader",
                "node:internal/modules/cjs/loader",
                "internal",
                Runtime,
            ),
            (
                "/go/pkg/mod/github.com/x/y@v1.2.3/z.go",
                "github.com/x/y/z.go",
                "github.com/x/y",
                Library,
            ),
            ("/usr/local/go/src/runtime/proc.go", "runtime/proc.go", "runtime", Runtime),
            ("^home/alice/secret.py", "secret.py", "secret.py", Own),
            ("/srv/projects/profiles/sim.py", "projects/profiles/sim.py", "projects/profiles", Own),
            ("", "", "", Own),
            ("???", "", "", Own),
        ] {
            // Homes are spelled such that nobody's is meant.
            let raw = raw.replace('^', "/");
            assert_eq!(paths.place(&raw), place(file, module, origin), "{raw}");
        }
    }

    #[test]
    fn the_list_of_modules_is_sorted() {
        assert!(PYTHON.is_sorted());
    }

    #[test]
    fn any_text_is_no_trouble() {
        for raw in [
            "/",
            "//",
            "/home/",
            "C:",
            r"\\",
            "<",
            "<frozen ",
            "/python3",
            "/lib/python3.",
            "/rustc/",
            "@",
            "/pkg/mod/é@",
            "node_modules/@",
        ] {
            let _ = Paths::default().place(raw);
        }
    }
}
