//! Finds the Python program in a command.

use super::CannotWrap;
use super::words::{Word, simple_commands};
use crate::config::Command;

/// Programs that start another one in an environment that they make.
const LAUNCHERS: &[&str] = &[
    "uv",
    "poetry",
    "pdm",
    "hatch",
    "rye",
    "pixi",
    "conda",
    "mamba",
    "micromamba",
    "pipenv",
    "nice",
    "ionice",
    "taskset",
    "numactl",
    "env",
    "stdbuf",
    "chrt",
    "xvfb-run",
    "time",
];
/// Options of Python that take the next word.
const WITH_VALUE: &[&str] = &["-W", "-X", "--check-hash-based-pycs"];
/// `pytest` is `python -m pytest`.
const PYTEST: &[&str] = &["pytest", "py.test"];

/// The program of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub words: Vec<Word>,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Python runs something; which word is `python`, which one begins what it runs.
    Python { python: usize, what: What },
    /// pytest behind a launcher: which word.
    Pytest(usize),
    /// Something else, perhaps a script of Python's: which word.
    Other(usize),
}

/// What Python runs, with the place of the file, of `-m` or of `-c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    File(usize),
    Module(usize),
    Code(usize),
}

/// The one program of the command that a profiler may follow.
pub(super) fn locate(command: &Command) -> Result<Found, CannotWrap> {
    let commands = match command {
        Command::Argv(argv) => vec![argv_words(argv)],
        Command::Shell(text) => simple_commands(text).ok_or(CannotWrap::Shell)?,
    };
    let found: Vec<Found> = commands.into_iter().filter_map(of_simple).collect::<Result<_, _>>()?;
    let is_python = |found: &&Found| !matches!(found.kind, Kind::Other(_));
    match (found.iter().filter(is_python).count(), found.len()) {
        (1, _) => found.iter().find(is_python).cloned().ok_or(CannotWrap::Nothing),
        (0, 1) => found.into_iter().next().ok_or(CannotWrap::Nothing),
        (0, _) => Err(CannotWrap::Nothing),
        (count, _) => Err(CannotWrap::Several { count }),
    }
}

fn argv_words(argv: &[String]) -> Vec<Word> {
    let word =
        |(at, value): (usize, &String)| Word { value: Some(value.clone()), place: at..at + 1 };
    argv.iter().enumerate().map(word).collect()
}

/// `None` for a command without a program.
fn of_simple(words: Vec<Word>) -> Option<Result<Found, CannotWrap>> {
    let text = |at: usize| words.get(at).and_then(|word| word.value.as_deref());
    let is_assignment = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        })
    };
    let first = (0..words.len()).find(|at| !text(*at).is_some_and(is_assignment))?;
    let kind = if text(first).is_some_and(is_python) {
        python(&words, first)
    } else if text(first).is_some_and(|word| LAUNCHERS.contains(&stem(word))) {
        let behind = (first + 1..words.len())
            .find(|at| text(*at).is_some_and(|word| is_python(word) || is_pytest(word)));
        match behind {
            Some(at) if text(at).is_some_and(is_python) => python(&words, at),
            Some(at) => Ok(Kind::Pytest(at)),
            None => Ok(Kind::Other(first)),
        }
    } else {
        Ok(Kind::Other(first))
    };
    Some(kind.map(|kind| Found { words, kind }))
}

fn python(words: &[Word], python: usize) -> Result<Kind, CannotWrap> {
    let mut at = python + 1;
    while let Some(word) = words.get(at) {
        let what = match word.value.as_deref() {
            Some("-m") if at + 1 < words.len() => What::Module(at),
            Some("-c") if at + 1 < words.len() => What::Code(at),
            Some("-") | None => break,
            Some(option) if WITH_VALUE.contains(&option) => {
                at += 2;
                continue;
            }
            Some(option) if option.starts_with("-m") || option.starts_with("-c") => break,
            Some(option) if option.starts_with('-') => {
                at += 1;
                continue;
            }
            Some(_) => What::File(at),
        };
        return Ok(Kind::Python { python, what });
    }
    // A variable may well be the script; a placeholder is one until it is filled.
    if words.get(at).is_some_and(|word| word.value.is_none()) {
        return Ok(Kind::Python { python, what: What::File(at) });
    }
    Err(CannotWrap::NoProgram)
}

/// Whether a word starts pytest.
pub(super) fn is_pytest(word: &str) -> bool {
    PYTEST.contains(&stem(word))
}

fn is_python(word: &str) -> bool {
    let stem = stem(word);
    // `python3.13t` has no global lock.
    let stem = stem
        .strip_suffix('t')
        .filter(|rest| rest.ends_with(|c: char| c.is_ascii_digit()))
        .unwrap_or(stem);
    let plain = stem.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(plain, "python" | "pypy")
}

/// The last part of a path.
fn stem(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found() {
        let python = |python, what| Ok(Kind::Python { python, what });
        for (text, kind) in [
            ("python sim.py --years 5", python(0, What::File(1))),
            ("A=1 python3.12 -u -X dev src/sim.py", python(1, What::File(5))),
            ("/v/bin/python -m pkg.mod x", python(0, What::Module(1))),
            ("python -c 'import x' y", python(0, What::Code(1))),
            ("uv run --with x python sim.py", python(4, What::File(5))),
            ("cd src && python sim.py | tee log", python(0, What::File(1))),
            ("python $SCRIPT x", python(0, What::File(1))),
            ("poetry run pytest -q", Ok(Kind::Pytest(2))),
            ("pytest -q", Ok(Kind::Other(0))),
            ("./build/sim --fast", Ok(Kind::Other(0))),
            ("python3.13t sim.py", python(0, What::File(1))),
            ("python", Err(CannotWrap::NoProgram)),
            ("python -", Err(CannotWrap::NoProgram)),
            ("python a.py; python b.py", Err(CannotWrap::Several { count: 2 })),
            ("make && ./sim", Err(CannotWrap::Nothing)),
            ("(python a.py)", Err(CannotWrap::Shell)),
        ] {
            let found = locate(&Command::Shell(text.to_owned()));
            assert_eq!(found.map(|found| found.kind), kind, "{text}");
        }
    }
}
