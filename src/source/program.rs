//! Finds the file behind a program's name, and the interpreter that runs it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::files;

/// How much of a script is looked at.
const HEAD: u64 = 4096;

/// A script of Python's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonScript {
    /// Its file.
    pub file: PathBuf,
    /// What its first line names.
    pub interpreter: String,
}

/// The script of Python's that `name` starts, as a shell in `folder` with this `PATH` finds it;
/// `None` for another program, and for none.
pub fn python_script(name: &str, folder: &Path, path: Option<&OsStr>) -> Option<PythonScript> {
    let file = if name.contains('/') {
        folder.join(name)
    } else {
        let path = path?;
        let places = std::env::split_paths(path).map(|place| folder.join(place).join(name));
        places.into_iter().find(|file| file.is_file())?
    };
    // Links are how programs are installed; what is behind them is read and not kept.
    let real = file.canonicalize().ok()?;
    let (head, _) = files::read_head(&real, HEAD).ok()?;
    let interpreter = interpreter(&String::from_utf8_lossy(&head))?;
    Some(PythonScript { file, interpreter })
}

/// The Python of a script's first line; for long paths installers write a line for `sh` that hands
/// over to Python in the second.
fn interpreter(head: &str) -> Option<String> {
    let mut lines = head.lines();
    let first = lines.next()?.strip_prefix("#!")?.trim();
    let mut words = first.split_whitespace();
    let program = words.next()?;
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    if name(program) == "env" {
        let python = words.find(|word| !word.starts_with('-'))?;
        return name(python).starts_with("python").then(|| python.to_owned());
    }
    if name(program).starts_with("python") || name(program).starts_with("pypy") {
        return Some(program.to_owned());
    }
    if name(program) != "sh" {
        return None;
    }
    let second = lines.next()?.trim_start_matches("''':'").trim();
    let rest = second.strip_prefix("'''exec'")?.trim_start();
    let python = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => rest.split_whitespace().next()?,
    };
    name(python).starts_with("python").then(|| python.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines_of_scripts() {
        for (head, python) in [
            ("#!/v/bin/python3\nimport x", Some("/v/bin/python3")),
            ("#!/usr/bin/env python3\n", Some("python3")),
            ("#!/usr/bin/env -S python3 -u\n", Some("python3")),
            (
                "#!/bin/sh\n'''exec' \"/long path/bin/python\" \"$0\" \"$@\"\n' '''\n",
                Some("/long path/bin/python"),
            ),
            ("#!/bin/sh\n'''exec' /v/bin/python \"$0\" \"$@\"\n", Some("/v/bin/python")),
            ("#!/bin/bash\necho", None),
            ("\u{7f}ELF", None),
            ("", None),
        ] {
            assert_eq!(interpreter(head).as_deref(), python, "{head}");
        }
    }

    #[test]
    fn programs_are_looked_for_on_the_path() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        std::fs::write(folder.path().join("bin/tool"), "#!/v/bin/python\n").unwrap();
        let path = std::ffi::OsString::from("/nowhere:bin");
        let found = python_script("tool", folder.path(), Some(&path)).unwrap();
        assert_eq!(found.interpreter, "/v/bin/python");
        assert_eq!(found.file, folder.path().join("bin/tool"));
        assert_eq!(
            python_script("bin/tool", folder.path(), None).map(|s| s.interpreter),
            Some(found.interpreter)
        );
        assert_eq!(python_script("other", folder.path(), Some(&path)), None);
    }
}
