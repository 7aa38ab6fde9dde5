//! Imports go down only. Reads every path in `src` and holds it against the table of layers that
//! `docs/architecture.md` explains.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Layers from the ground up. A module may use those of earlier layers, never one of its own.
const LAYERS: &[&[&str]] = &[
    // Words.
    &["model"],
    // Pure stages, each a layer of its own.
    &["record"],
    &["config"],
    &["trigger"],
    &["plan"],
    &["profile"],
    &["analysis"],
    &["report"],
    // Effects: siblings.
    &["measure", "bundle", "source", "results", "github", "actions", "clock"],
    // Use cases.
    &["app"],
    // The edge.
    &["cli"],
    &["main"],
];

/// The layer of the first effect: all below are pure.
const FIRST_EFFECT: usize = 8;

/// What a pure module may not name: the doors to the outside.
const DOORS: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "Timestamp::now",
    "Zoned::now",
    "jiff::Timestamp::now",
    "jiff::Zoned::now",
    "fastrand",
    "git2",
    "indicatif",
    "libc",
    "octocrab",
    "reqwest",
    "rustix",
    "signal_hook",
    "sysinfo",
    "tempfile",
    "terminal_size",
    "tokio",
    "walkdir",
];

/// Names whose import whole would hide which door is used.
const TOO_WIDE: &[&str] = &["std", "std::time"];

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// A path such as `crate::model::metric::Unit`, and the line it stands on.
struct Named {
    path: String,
    line: usize,
}

/// Every path of two parts or more in `tokens`, groups of `use` spelled out.
fn paths(tokens: TokenStream) -> Vec<Named> {
    let mut found = Vec::new();
    scan(tokens, "", &mut found);
    found
}

/// Adds the paths in `tokens`. Inside a group of `use`, each begins with `prefix`.
fn scan(tokens: TokenStream, prefix: &str, found: &mut Vec<Named>) {
    let mut path = Named { path: String::new(), line: 0 };
    let mut colons = 0;
    for token in tokens {
        let line = token.span().start().line;
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            TokenTree::Ident(ident) if colons == 2 && !path.path.is_empty() => {
                path.path = format!("{}::{ident}", path.path);
                colons = 0;
            }
            TokenTree::Group(group) if colons == 2 && group.delimiter() == Delimiter::Brace => {
                let inner = std::mem::take(&mut path.path);
                scan(group.stream(), &inner, found);
                colons = 0;
            }
            other => {
                keep(&mut path, found);
                colons = 0;
                match other {
                    TokenTree::Ident(ident) => {
                        path = Named { path: begin(prefix, &ident.to_string()), line };
                    }
                    TokenTree::Group(group) => scan(group.stream(), "", found),
                    TokenTree::Punct(_) | TokenTree::Literal(_) => {}
                }
            }
        }
    }
    keep(&mut path, found);
}

fn begin(prefix: &str, name: &str) -> String {
    match (prefix, name) {
        ("", name) => name.to_owned(),
        (prefix, "self") => prefix.to_owned(),
        (prefix, name) => format!("{prefix}::{name}"),
    }
}

/// Keeps a path of two parts or more; a single name is a local one.
fn keep(path: &mut Named, found: &mut Vec<Named>) {
    let path = std::mem::replace(path, Named { path: String::new(), line: 0 });
    if path.path.contains("::") {
        found.push(path);
    }
}

/// `tokens` without items that stand behind `#[cfg(test)]`.
fn without_tests(tokens: TokenStream) -> TokenStream {
    let mut kept = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is_test = matches!((&token, tokens.peek()), (TokenTree::Punct(hash), Some(TokenTree::Group(attribute)))
            if hash.as_char() == '#' && attribute.stream().to_string().replace(' ', "") == "cfg(test)");
        if is_test {
            // The item ends with its first block or semicolon.
            tokens.by_ref().skip(1).find(|token| match token {
                TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                TokenTree::Punct(punct) => punct.as_char() == ';',
                _ => false,
            });
        } else {
            kept.push(token);
        }
    }
    kept.into_iter().collect()
}

/// The top-level module of the file at `place` under `src`, and how many `super` lead out of it.
fn module_of(place: &str) -> (&str, usize) {
    let parts: Vec<_> = place.trim_end_matches(".rs").split('/').collect();
    let depth = parts.len() - usize::from(parts.last() == Some(&"mod"));
    (parts[0], depth)
}

/// The top-level module that `path` names, seen from a file of `module`; `None` for other paths.
fn top_level<'a>(path: &'a str, module: &str, depth: usize) -> Option<&'a str> {
    let mut parts = path.split("::").skip_while(|part| *part == "super");
    let supers = path.split("::").take_while(|part| *part == "super").count();
    if supers > 0 {
        return parts.next().filter(|name| supers >= depth && layer(name).is_some());
    }
    match parts.next() {
        Some("crate") => parts.next(),
        // The binary sees the library under its name.
        Some("perftrail") if module == "main" => parts.next(),
        _ => None,
    }
}

/// What is wrong in `source`, the file at `place` under `src`.
fn violations(place: &str, source: &str) -> Vec<String> {
    let (module, depth) = module_of(place);
    let Some(own) = layer(module) else {
        return vec![format!("`{module}` stands in no layer: add it to the table")];
    };
    let tokens: TokenStream = source.parse().expect("the file is Rust");
    let mut wrong = Vec::new();
    for Named { path, line } in paths(tokens.clone()) {
        match top_level(&path, module, depth) {
            Some(used) if used != module => match layer(used) {
                None => wrong.push(format!("line {line}: `{path}` names no module of the table")),
                Some(theirs) if theirs >= own => {
                    wrong.push(format!("line {line}: `{module}` may not use `{used}`: {path}"));
                }
                Some(_) => {}
            },
            _ => {}
        }
    }
    if own < FIRST_EFFECT {
        for Named { path, line } in paths(without_tests(tokens)) {
            if is_door(&path) {
                wrong.push(format!("line {line}: `{module}` is pure and may not use {path}"));
            }
        }
    }
    wrong
}

fn is_door(path: &str) -> bool {
    let within = |door: &str| {
        path.strip_prefix(door).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    TOO_WIDE.contains(&path) || DOORS.iter().any(|door| within(door))
}

/// Every Rust file under `dir`.
fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn imports_go_down_only() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    files.sort();
    assert!(files.len() > 10, "the sources were not found under {}", src.display());
    let mut wrong = Vec::new();
    for file in files.iter().filter(|file| **file != src.join("lib.rs")) {
        let place = file.strip_prefix(&src).expect("a file under src").display().to_string();
        let source = fs::read_to_string(file).expect("a source file");
        // A file of tests may use the doors, as `mod tests { … }` may.
        let is_tests = file.file_stem().is_some_and(|stem| stem == "tests");
        let source =
            if is_tests { format!("#[cfg(test)] mod tests {{ {source} }}") } else { source };
        let found = violations(&place, &source);
        wrong.extend(found.into_iter().map(|what| format!("{place}: {what}")));
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn a_climbing_import_is_seen() {
    for (place, source, seen) in [
        ("model.rs", "use crate::record::Record;", 1),
        ("record.rs", "use crate::{model::metric::Unit, plan::Plan};", 1),
        ("plan.rs", "fn f() -> crate::report::View { todo!() }", 1),
        ("report.rs", "fn f() { let x = vec![crate::measure::now()]; }", 1),
        ("results.rs", "use crate::measure::Meter;", 1),
        ("results.rs", "use crate::{record::{Record, index::Line}, measure};", 1),
        ("app.rs", "#[cfg(test)] mod tests { use crate::cli::Args; }", 1),
        ("main.rs", "use perftrail::cli;", 0),
        ("cli.rs", "use crate::nowhere::X;", 1),
        ("stray.rs", "", 1),
        ("results/mod.rs", "use super::measure::Meter;", 1),
        ("results/tree.rs", "use super::super::measure::Meter;", 1),
        ("results/tree.rs", "use super::measure::Local;", 0),
        ("report.rs", "//! See [`crate::app`].\nuse crate::model::metric::Unit; // crate::cli", 0),
        ("report.rs", "const TEXT: &str = \"crate::cli::run\"; use crate::report::view::View;", 0),
        ("app.rs", "use crate::{measure::Meter, results::Results, report};", 0),
    ] {
        assert_eq!(violations(place, source).len(), seen, "{source}");
    }
}

#[test]
fn a_door_in_a_pure_module_is_seen() {
    for (source, seen) in [
        ("use std::fs;", 1),
        ("use std::{fmt, fs::File, env};", 2),
        ("fn f() { std::process::exit(1) }", 1),
        ("use std::time::{Duration, Instant};", 1),
        ("use std::time::{self, Duration};", 1),
        ("use std::time;", 1),
        ("fn now() -> Timestamp { Timestamp::now() }", 1),
        ("use rustix::process;", 1),
        ("#[cfg(test)] mod tests { use std::fs; } use std::env;", 1),
        ("use std::time::Duration; use std::fmt::{self, Write as _};", 0),
        ("#[cfg(test)] mod tests { use std::fs; }", 0),
        ("#[cfg(test)] use std::fs; fn f() {}", 0),
        ("fn f() { let stdx = std::iter::once(1); }", 0),
    ] {
        assert_eq!(violations("record/mod.rs", source).len(), seen, "{source}");
        assert!(violations("measure/mod.rs", source).is_empty(), "{source}");
    }
}
