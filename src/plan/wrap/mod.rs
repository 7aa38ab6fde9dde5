//! Puts a profiler before the program of a step.
//!
//! A command stays what it is: words are put into it, at the place where Python starts its program,
//! so that launchers, variables, pipes and redirections work as before. What cannot be done is said
//! before anything runs.

mod locate;
mod words;

use serde::{Deserialize, Serialize};

use crate::config::quote::quote;
use crate::config::{Command, Profiler};
use locate::{Found, Kind, What, is_pytest, locate};

/// The program that runs another under cProfile and keeps its exit code.
const CPROFILE: &str = include_str!("cprofile.py");
/// Runs py-spy and gives the program's own exit code, which py-spy does not pass on.
const PY_SPY: &str = include_str!("py-spy.sh");

/// Why a profiler cannot be put before a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotWrap {
    /// It is too much of a shell script.
    #[error(
        "the command has loops, subshells or substitutions: give the program as a step of its own, or as a list of strings"
    )]
    Shell,
    /// Python runs several times.
    #[error("the command runs Python {count} times: make each a step of its own")]
    Several {
        /// How often.
        count: usize,
    },
    /// No Python to be seen.
    #[error(
        "the command runs no Python program that can be seen: write it as `python FILE`, `python -m MODULE` or `pytest`"
    )]
    Nothing,
    /// Python without a program.
    #[error("Python is started without a file or a module")]
    NoProgram,
    /// A program that is no script of Python's.
    #[error("`{program}` is no Python program: `perf` can follow any program")]
    NotPython {
        /// The program.
        program: String,
    },
    /// The profiler cannot run a text.
    #[error("{profiler} cannot follow `python -c`: put the code into a file")]
    Code {
        /// The profiler.
        profiler: &'static str,
    },
    /// The profiler takes no arguments.
    #[error("cprofile takes no arguments, and profiler_args are {args:?}")]
    Args {
        /// The arguments.
        args: Vec<String>,
    },
}

/// What to start, and where its files go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrapping<'a> {
    /// The profiler.
    pub profiler: Profiler,
    /// Its arguments.
    pub args: &'a [String],
    /// Its major version, where that matters and is known.
    pub major: Option<u32>,
    /// The file it writes.
    pub output: &'a str,
}

/// What a step's command runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Program {
    /// Python, to be seen in the command.
    Python,
    /// A program of this name, which may be a script of Python's: only the file can tell.
    Named(String),
    /// A program whose name only the shell knows.
    Unknown,
}

impl Profiler {
    /// Whether perftrail starts it.
    pub fn is_started(self) -> bool {
        !matches!(self, Self::None | Self::SelfMade)
    }

    /// The name of its Python package, for those that have one.
    pub fn package(self) -> Option<&'static str> {
        match self {
            Self::Pyinstrument => Some("pyinstrument"),
            Self::Scalene => Some("scalene"),
            Self::Memray => Some("memray"),
            Self::PySpy => Some("py-spy"),
            Self::None | Self::SelfMade | Self::Cprofile | Self::Perf => None,
        }
    }

    /// How its file ends.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Pyinstrument => "pyisession",
            Self::Cprofile => "pstats",
            Self::Scalene => "scalene.json",
            Self::PySpy => "speedscope.json",
            Self::Memray => "memray.bin",
            Self::Perf => "perf.data",
            Self::None | Self::SelfMade => "",
        }
    }
}

/// What the command runs.
///
/// # Errors
/// When no profiler of Python can be put before it.
pub fn program(command: &Command) -> Result<Program, CannotWrap> {
    let found = locate(command)?;
    Ok(match found.kind {
        Kind::Python { .. } | Kind::Pytest(_) => Program::Python,
        Kind::Other(at) => found.words[at].value.clone().map_or(Program::Unknown, Program::Named),
    })
}

/// The command with a script of Python's started by its interpreter: `pytest` becomes
/// `/v/bin/python /v/bin/pytest`.
///
/// # Errors
/// As [`program`].
pub fn with_interpreter(
    command: &Command,
    interpreter: &str,
    script: &str,
) -> Result<Command, CannotWrap> {
    let found = locate(command)?;
    let Kind::Other(at) = found.kind else { return Ok(command.clone()) };
    Ok(edit(command, &found, &[Edit::replace(at, &[interpreter, script])]))
}

/// The start of the command up to Python, to be asked something: `uv run python -c CODE`.
///
/// # Errors
/// As [`program`]; also when it runs no Python.
pub fn asking(command: &Command, code: &str) -> Result<Command, CannotWrap> {
    let found = locate(command)?;
    let (python, word) = match found.kind {
        Kind::Python { python, .. } => (python, None),
        Kind::Pytest(at) => (at, Some("python")),
        Kind::Other(_) => return Err(not_python(&found)),
    };
    Ok(match command {
        Command::Argv(argv) => {
            let mut argv: Vec<String> = argv[..python].to_vec();
            argv.push(word.map_or_else(
                || found.words[python].value.clone().unwrap_or_default(),
                str::to_owned,
            ));
            argv.extend(["-c".to_owned(), code.to_owned()]);
            Command::Argv(argv)
        }
        Command::Shell(text) => {
            // Earlier commands stay: they may go to another folder or set a variable.
            let place = &found.words[python].place;
            let start = word.map_or_else(
                || text[..place.end].to_owned(),
                |word| format!("{}{word}", &text[..place.start]),
            );
            Command::Shell(format!("{start} -c {}", quote(code)))
        }
    })
}

fn not_python(found: &Found) -> CannotWrap {
    let Kind::Other(at) = found.kind else { return CannotWrap::Nothing };
    match &found.words[at].value {
        Some(program) => CannotWrap::NotPython { program: program.clone() },
        None => CannotWrap::Nothing,
    }
}

/// The command under the profiler. A script of Python's was given its interpreter before.
///
/// # Errors
/// When the profiler cannot follow it.
pub fn wrap(command: &Command, wrapping: &Wrapping<'_>) -> Result<Command, CannotWrap> {
    let found = locate(command)?;
    let (python, what, shift) = match found.kind {
        Kind::Python { python, what } => (python, what, None),
        // `uv run pytest` becomes `uv run python … -m pytest`.
        Kind::Pytest(at) => (at, What::Module(at), Some(at)),
        Kind::Other(_) => return Err(not_python(&found)),
    };
    // Scalene takes the first argument that ends in `.py` for the program, whatever stands before.
    if let (Profiler::Scalene, What::File(at)) = (wrapping.profiler, what)
        && found.words[at].value.as_deref().is_some_and(is_pytest)
    {
        let words = before(wrapping, What::Module(at))?;
        let words = chain(&words, &["-m", "pytest"]);
        return Ok(edit(command, &found, &[Edit::replace(at, &words)]));
    }
    let before = before(wrapping, what)?;
    let mut edits = Vec::new();
    if wrapping.profiler == Profiler::PySpy {
        edits.push(match shift {
            Some(at) => Edit::replace(at, &chain(&before, &["python", "-m", "pytest"])),
            None => Edit::insert(python, &before),
        });
        return Ok(edit(command, &found, &edits));
    }
    match (shift, what) {
        (Some(at), _) => {
            let start = chain(&["python".to_owned()], &before);
            edits.push(Edit::replace(at, &chain(&start, &["-m", "pytest"])));
        }
        (None, What::File(at) | What::Module(at) | What::Code(at)) => {
            edits.push(Edit::insert(at, &before));
        }
    }
    if let (Profiler::Scalene, What::File(at)) = (wrapping.profiler, what) {
        edits.push(Edit::insert(at + 1, &["---"]));
    }
    Ok(edit(command, &found, &edits))
}

fn chain(one: &[impl AsRef<str>], other: &[impl AsRef<str>]) -> Vec<String> {
    let one = one.iter().map(|word| word.as_ref().to_owned());
    one.chain(other.iter().map(|word| word.as_ref().to_owned())).collect()
}

/// The words that go before the program, before `-m` or before `-c`; for py-spy before Python.
fn before(wrapping: &Wrapping<'_>, what: What) -> Result<Vec<String>, CannotWrap> {
    let Wrapping { profiler, args, output, .. } = *wrapping;
    let has = |names: &[&str]| {
        args.iter()
            .any(|arg| names.iter().any(|name| arg == name || arg.starts_with(&format!("{name}="))))
    };
    let is_code = matches!(what, What::Code(_));
    let is_module = matches!(what, What::Module(_));
    let start: Vec<&str> = match profiler {
        Profiler::Pyinstrument if has(&["-i", "--interval"]) => vec!["-m", "pyinstrument"],
        Profiler::Pyinstrument => vec!["-m", "pyinstrument", "-i", "0.01"],
        Profiler::Cprofile if !args.is_empty() => {
            return Err(CannotWrap::Args { args: args.to_vec() });
        }
        Profiler::Cprofile => return Ok(chain(&["-c", CPROFILE], &[output])),
        Profiler::Scalene if is_code => {
            return Err(CannotWrap::Code { profiler: profiler.as_str() });
        }
        Profiler::Scalene if wrapping.major == Some(1) => {
            let start = chain(&["-m", "scalene", "--cli", "--json"], args);
            let start = chain(&start, &["--outfile", output]);
            return Ok(if is_module { chain(&start, &["---"]) } else { start });
        }
        // It looks at code below the program alone, and that of a module lies anywhere.
        Profiler::Scalene if is_module && !has(&["--program-path"]) => {
            vec!["-m", "scalene", "run", "--program-path", "."]
        }
        Profiler::Scalene => vec!["-m", "scalene", "run"],
        Profiler::Memray => vec!["-m", "memray", "run", "-q"],
        Profiler::PySpy => {
            let start = chain(&["sh", "-c", PY_SPY, "py-spy"], &[output]);
            let rate: &[&str] = if has(&["-r", "--rate"]) { &[] } else { &["--rate", "100"] };
            return Ok(chain(&chain(&chain(&start, rate), args), &["--"]));
        }
        Profiler::None | Profiler::SelfMade | Profiler::Perf => Vec::new(),
    };
    let mut all = chain(&chain(&start, args), &["-o", output]);
    if profiler == Profiler::Scalene && is_module {
        all.push("---".to_owned());
    }
    Ok(all)
}

/// Words put into a command before the word `at`, in place of `taken` words.
struct Edit {
    at: usize,
    taken: usize,
    words: Vec<String>,
}

impl Edit {
    fn insert(at: usize, words: &[impl AsRef<str>]) -> Self {
        Self { at, taken: 0, words: words.iter().map(|word| word.as_ref().to_owned()).collect() }
    }

    fn replace(at: usize, words: &[impl AsRef<str>]) -> Self {
        Self { taken: 1, ..Self::insert(at, words) }
    }
}

/// The command with these edits, which stand in order.
fn edit(command: &Command, found: &Found, edits: &[Edit]) -> Command {
    match command {
        Command::Argv(argv) => {
            let mut argv = argv.clone();
            for Edit { at, taken, words } in edits.iter().rev() {
                argv.splice(at..&(at + taken), words.iter().cloned());
            }
            Command::Argv(argv)
        }
        Command::Shell(text) => {
            let mut text = text.clone();
            for Edit { at, taken, words } in edits.iter().rev() {
                let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
                let quoted = quoted.join(" ");
                match (found.words.get(*at), taken) {
                    (Some(word), 1) => text.replace_range(word.place.clone(), &quoted),
                    (Some(word), _) => text.insert_str(word.place.start, &format!("{quoted} ")),
                    (None, _) => {
                        let end = found.words.last().map_or(text.len(), |word| word.place.end);
                        text.insert_str(end, &format!(" {quoted}"));
                    }
                }
            }
            Command::Shell(text)
        }
    }
}

/// The argv under perf, which follows any program.
pub fn under_perf(argv: Vec<String>, args: &[String], output: &str) -> Vec<String> {
    let has_event = args.iter().any(|arg| arg == "-e" || arg.starts_with("--event"));
    let has_rate = args.iter().any(|arg| arg == "-F" || arg == "-c" || arg.starts_with("--freq"));
    let mut all = chain(&["perf", "record", "-q", "-g", "-o"], &[output]);
    if !has_rate {
        all.extend(["-F", "99"].map(str::to_owned));
    }
    if !has_event {
        // Virtual machines seldom have counters; the clock is everywhere.
        all.extend(["-e", "cpu-clock"].map(str::to_owned));
    }
    all.extend(args.iter().cloned());
    all.push("--".to_owned());
    all.extend(argv);
    all
}

#[cfg(test)]
mod tests;
