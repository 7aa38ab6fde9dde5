//! Runs steps under a profiler that perftrail starts.
//!
//! Before anything is measured the profiler is asked for its version by the very Python that will
//! run the job: one that is missing is found before the job, not after eight hours.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::RunError;
use super::execute::Execution;
use super::profiles::{Role, Trace};
use crate::config::{Command, Profiler};
use crate::measure::{LogBudget, Sinks, StepCommand};
use crate::model::status::Status;
use crate::plan::wrap::{self, CannotWrap, Program, Wrapping};
use crate::record::Level;
use crate::source::{files, program};

/// What a version is told behind.
const VERSION_MARK: &str = "perftrail-version ";

/// The profiler at work.
#[derive(Clone, Debug)]
pub(super) struct Profiling {
    /// Where its files go.
    folder: PathBuf,
    major: Option<u32>,
}

/// Why a step does not run under the profiler.
enum Unwrapped {
    /// The profiler cannot follow it.
    Cannot(CannotWrap),
    /// The profiler is not there.
    Missing(String),
}

impl Execution<'_> {
    /// Makes the profiler ready. `false` when it is not there, which is told.
    pub(super) fn prepare_profiler(&mut self) -> Result<bool, RunError> {
        let profiler = self.planned.job.profiler;
        if !profiler.is_started() {
            return Ok(true);
        }
        let folder = self.scratch.output("profiler")?;
        self.profiling = Some(Profiling { folder, major: None });
        let mut wrapped = 0;
        for (name, command) in self.commands("")? {
            match self.ask_version(&command) {
                Ok(version) => {
                    wrapped += 1;
                    let major = version.split('.').next().and_then(|part| part.parse().ok());
                    self.profiling.iter_mut().for_each(|profiling| profiling.major = major);
                    self.record.tool.profiler.version = Some(version);
                }
                Err(Unwrapped::Cannot(why)) => {
                    let message =
                        format!("step `{name}` does not run under {}: {why}", profiler.as_str());
                    self.note(Level::Warning, "not_profiled", &message);
                }
                Err(Unwrapped::Missing(why)) => {
                    self.note(Level::Error, "profiler_missing", &why);
                    return Ok(false);
                }
            }
        }
        if wrapped > 0 {
            self.tell_cost();
        } else {
            let message = format!("no step of the job can run under {}", profiler.as_str());
            self.note(Level::Error, "not_profiled", &message);
        }
        Ok(wrapped > 0)
    }

    /// A profiler costs time and memory of its own: whether that is in the numbers.
    fn tell_cost(&mut self) {
        let job = &self.planned.job;
        let name = job.profiler.as_str();
        let (code, message) = if job.repetitions > 1 {
            let number = job.repetitions;
            (
                "profiled_apart",
                format!(
                    "repetition {number} of {number} ran under {name} and does not count for the numbers"
                ),
            )
        } else {
            (
                "profiled",
                format!(
                    "the numbers include what {name} costs; with two repetitions or more only the last runs under it, and does not count"
                ),
            )
        };
        self.note(Level::Info, code, &message);
    }

    /// Asks the profiler that would follow this command for its version.
    fn ask_version(&self, command: &Command) -> Result<String, Unwrapped> {
        let profiler = self.planned.job.profiler;
        let by_itself =
            |program: &str| Command::Argv(vec![program.to_owned(), "--version".to_owned()]);
        if profiler == Profiler::Perf {
            return self.version_in(
                &by_itself("perf"),
                "perf",
                "install the package of your kernel (linux-perf)",
            );
        }
        let command = self.with_interpreter(command).map_err(Unwrapped::Cannot)?;
        self.wrapped("version", &command).map_err(Unwrapped::Cannot)?;
        if profiler == Profiler::PySpy {
            return self.version_in(
                &by_itself("py-spy"),
                "py-spy",
                "`pip install py-spy` in `setup`",
            );
        }
        let what = match profiler.package() {
            Some(package) => format!("importlib.metadata.version('{package}')"),
            None => "platform.python_version()".to_owned(),
        };
        let code = format!("import importlib.metadata, platform; print('{VERSION_MARK}' + {what})");
        let asking = wrap::asking(&command, &code).map_err(Unwrapped::Cannot)?;
        let how = profiler.package().map_or_else(
            || "Python cannot be started".to_owned(),
            |package| format!("`python -m pip install {package}` in `setup`, into the environment that runs the job"),
        );
        self.version_in(&asking, profiler.as_str(), &how)
    }

    fn version_in(&self, asking: &Command, name: &str, how: &str) -> Result<String, Unwrapped> {
        let missing = |said: &str| {
            Unwrapped::Missing(format!(
                "{name} is not there: `{}` says: {said}. To have it: {how}",
                shortened(&asking.text())
            ))
        };
        let (succeeded, said) =
            self.quietly(asking).map_err(|error| missing(&error.to_string()))?;
        let last = said.trim_end().lines().last().unwrap_or("nothing").to_owned();
        if !succeeded {
            return Err(missing(&last));
        }
        let told = said.lines().find_map(|line| line.strip_prefix(VERSION_MARK));
        let version = told.or_else(|| last.split_whitespace().last());
        let fits = |version: &&str| {
            version.starts_with(|c: char| c.is_ascii_digit()) && version.len() < 60
        };
        version.filter(fits).map(str::to_owned).ok_or_else(|| missing(&last))
    }

    /// Runs a short command of ours where and how the job runs; whether it succeeded, and what it
    /// said.
    fn quietly(&self, command: &Command) -> Result<(bool, String), RunError> {
        let argv = command.argv(self.shop.shell).into_iter().map(OsString::from).collect();
        let command = StepCommand {
            argv,
            cwd: self.shop.root.join(&self.planned.job.cwd),
            env: self.env.clone(),
            stats_file: None,
            timeout: self.time_left(None, self.since),
            log: LogBudget::default(),
            counters: Vec::new(),
        };
        let sinks = Sinks { stdout: None, stderr: None };
        let measurement = self.shop.meter.run(&command, self.shop.stop, sinks, &mut |_| ())?;
        let said = String::from_utf8_lossy(&measurement.output.log.to_bytes()).into_owned();
        Ok((measurement.ending.status == Status::Succeeded, said))
    }

    /// The command with a script of Python's started by its interpreter.
    fn with_interpreter(&self, command: &Command) -> Result<Command, CannotWrap> {
        let Program::Named(name) = wrap::program(command)? else { return Ok(command.clone()) };
        let path =
            self.env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
        let folder = self.shop.root.join(&self.planned.job.cwd);
        match program::python_script(&name, &folder, path) {
            Some(script) => {
                wrap::with_interpreter(command, &script.interpreter, &script.file.to_string_lossy())
            }
            None => Err(CannotWrap::NotPython { program: name }),
        }
    }

    fn raw_file(&self, step: &str) -> PathBuf {
        let folder = self.profiling.as_ref().map_or_else(PathBuf::new, |one| one.folder.clone());
        folder.join(format!("{step}.{}", self.planned.job.profiler.ending()))
    }

    fn wrapped(&self, step: &str, command: &Command) -> Result<Command, CannotWrap> {
        let job = &self.planned.job;
        let output = self.raw_file(step).to_string_lossy().into_owned();
        if job.profiler == Profiler::Perf {
            let argv = command.argv(self.shop.shell);
            return Ok(Command::Argv(wrap::under_perf(argv, &job.profiler_args, &output)));
        }
        let wrapping = Wrapping {
            profiler: job.profiler,
            args: &job.profiler_args,
            major: self.profiling.as_ref().and_then(|profiling| profiling.major),
            output: &output,
        };
        wrap::wrap(command, &wrapping)
    }

    /// The step's command under the profiler; as it is where the profiler cannot follow it, which
    /// was told before.
    pub(super) fn under_profiler(&self, step: &str, command: Command) -> Command {
        let wrapped = match self.planned.job.profiler {
            Profiler::Perf => self.wrapped(step, &command),
            _ => self.with_interpreter(&command).and_then(|command| self.wrapped(step, &command)),
        };
        wrapped.unwrap_or(command)
    }

    /// Has the profiler's own tool turn what only it can read into something else.
    pub(super) fn convert(&mut self, step: &str, command: &Command) -> Result<(), RunError> {
        let raw = self.raw_file(step);
        if !raw.is_file() {
            return Ok(());
        }
        for command in
            conversions(self.planned.job.profiler, &raw, || self.with_interpreter(command))
        {
            let (succeeded, said) = self.quietly(&command)?;
            if !succeeded {
                let last = said.trim_end().lines().last().unwrap_or("nothing").to_owned();
                let what = shortened(&command.text());
                let message = format!("step `{step}`: `{what}` failed and says: {last}");
                self.note(Level::Warning, "profile_not_converted", &message);
            }
        }
        Ok(())
    }

    /// The files that the profiler has written.
    pub(super) fn traces(&self) -> Result<Vec<Trace>, RunError> {
        let Some(profiling) = &self.profiling else { return Ok(Vec::new()) };
        let found = files::find(&profiling.folder, &["**".to_owned()])?;
        let of_file = |file: files::FoundFile| {
            let step = file.path.split('.').next().map(str::to_owned);
            let private = file.path.contains(".memray.bin") || file.path.ends_with(".perf.data");
            let role = if private { Role::RawOnly } else { Role::Ordered };
            Trace { file, step, role }
        };
        Ok(found.files.into_iter().map(of_file).collect())
    }
}

/// The commands that turn a raw file into files that are read.
fn conversions(
    profiler: Profiler,
    raw: &Path,
    command: impl Fn() -> Result<Command, CannotWrap>,
) -> Vec<Command> {
    let raw_text = raw.to_string_lossy().into_owned();
    match profiler {
        Profiler::Perf => {
            let words = ["sh", "-c", "perf script -i \"$1\" >\"$2\" 2>/dev/null", "sh"];
            let out = raw.with_extension("script").to_string_lossy().into_owned();
            let words = words.map(str::to_owned).into_iter().chain([raw_text, out]);
            vec![Command::Argv(words.collect())]
        }
        Profiler::Memray => {
            let out = raw.with_extension("speedscope.json").to_string_lossy().into_owned();
            let words = ["memray", "transform", "speedscope", "-f", "-o", &out, &raw_text];
            // A list of texts in JSON is one in Python too.
            let list = serde_json::json!(words);
            let code = format!(
                "import runpy, sys; sys.argv = {list}; runpy.run_module('memray', run_name='__main__')"
            );
            command().and_then(|command| wrap::asking(&command, &code)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// A command as a message shows it.
fn shortened(text: &str) -> String {
    let line: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect();
    if line.chars().count() < text.chars().count() { format!("{line}…") } else { line }
}
