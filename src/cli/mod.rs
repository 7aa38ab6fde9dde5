//! The edge: reads the command line, calls the use case, prints, and turns the outcome into an
//! exit code.

mod action;
pub mod args;
pub mod failure;
pub mod screen;

mod accept;
mod access;
mod amend;
mod bring;
mod compare;
mod destination;
mod doctor;
mod environment;
mod fsck;
mod gate;
mod history;
mod import;
mod init;
mod publish;
mod report;
mod run;
mod runs;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode as ProcessExitCode;

use clap::CommandFactory;

use crate::actions::inert;
use crate::app::run::redactor;
use crate::clock::Clock;
use crate::measure;
use crate::{config, record};
use args::{Cli, SchemaOf, Talk, Verb};
use failure::{ExitCode, Failure};
use screen::Volume;

/// The program's other name, for the end of the Action's step.
const POST_NAME: &str = "perftrail-post";

/// What everything at the edge needs.
#[derive(Clone, Debug)]
struct Edge {
    /// The folder we were started in.
    folder: std::path::PathBuf,
    /// Our environment.
    variables: Vec<(OsString, OsString)>,
    /// The process that started us.
    started_by: Option<u32>,
    /// How much to say.
    volume: Volume,
    /// The time of day.
    clock: Clock,
    /// Standard output reaches the runner as it is: secrets can be masked there.
    masks: bool,
}

impl Edge {
    /// Whether a step of a workflow started us, so that a runner reads what we print.
    fn is_in_actions(&self) -> bool {
        is_in_actions(&self.variables)
    }

    /// What people see.
    fn screen(&self, job_output: screen::JobOutput) -> screen::Screen {
        screen::Screen::new(self.volume, job_output).read_by_runner(self.is_in_actions())
    }
}

fn is_in_actions(variables: &[(OsString, OsString)]) -> bool {
    variables.iter().any(|(name, value)| name == "GITHUB_ACTIONS" && value == "true")
}

/// The whole program: reads the command line, does it, prints what went wrong, once.
pub fn main() -> ProcessExitCode {
    let started_by = measure::parent_now();
    measure::outlive_file_limits();
    let variables: Vec<_> = std::env::vars_os().collect();
    let redactor = redactor(&variables);
    let in_actions = is_in_actions(&variables);
    if in_actions {
        // A fault of ours may repeat what others wrote.
        std::panic::set_hook(Box::new(|fault| tell_error(&inert::page(&format!("{fault}\n")))));
    }
    let cli = match environment::parse(&variables, words(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) if in_actions && error.use_stderr() => {
            tell_error(&inert::page(&error.render().to_string()));
            return ProcessExitCode::from(ExitCode::Usage as u8);
        }
        Err(error) => error.exit(),
    };
    match dispatch(cli, started_by, variables) {
        Ok(code) => ProcessExitCode::from(code),
        Err(failure) => {
            failure.print(&redactor, in_actions);
            ProcessExitCode::from(failure.code as u8)
        }
    }
}

/// Says what is wrong. A closed standard error is no reason to fail otherwise.
fn tell_error(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// The command line. A container is started at the end of a job by one name alone, without
/// arguments of its own: under that name the program is the end of the Action's step.
fn words(given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let given: Vec<OsString> = given.collect();
    let name = given.first().map(Path::new).and_then(Path::file_name);
    if name.is_some_and(|name| name == POST_NAME) {
        return [POST_NAME, "action", "post"].map(OsString::from).to_vec();
    }
    given
}

fn dispatch(
    cli: Cli,
    started_by: Option<u32>,
    variables: Vec<(OsString, OsString)>,
) -> Result<u8, Failure> {
    let folder = std::env::current_dir().map_err(|error| {
        Failure::new(ExitCode::Internal, &error)
            .with_help("the folder you are in is gone: go to another one")
    })?;
    let edge = Edge {
        folder,
        variables,
        started_by,
        volume: volume(cli.talk),
        clock: Clock::System,
        masks: false,
    };
    match cli.verb {
        Verb::Run(args) => run::run(&edge, &args),
        Verb::Publish(args) => publish::publish(&edge, &args),
        Verb::Import(args) => import::import(&edge, &args.kind),
        Verb::Report(args) => report::report(&edge, &args),
        Verb::Compare(args) => compare::compare(&edge, &args),
        Verb::Runs(args) => runs::runs(&edge, &args),
        Verb::History(args) => history::history(&edge, &args),
        Verb::Accept(args) => accept::accept(&edge, &args),
        Verb::Amend(args) => amend::amend(&edge, &args),
        Verb::Fsck(args) => fsck::fsck(&edge, &args),
        Verb::Gate(args) => gate::gate(&edge, &args),
        Verb::Action(args) => action::action(&edge, args),
        Verb::Init(args) => init::init(&edge, &args),
        Verb::Doctor(args) => doctor::doctor(&edge, &args),
        Verb::Schema(args) => schema(args.of),
        Verb::Completions(args) => {
            let mut script = Vec::new();
            clap_complete::generate(args.shell, &mut Cli::command(), "perftrail", &mut script);
            print(&script)
        }
    }
}

fn volume(talk: Talk) -> Volume {
    match talk {
        Talk { quiet: true, .. } => Volume::Quiet,
        Talk { verbose: true, .. } => Volume::Verbose,
        Talk { .. } => Volume::Normal,
    }
}

fn schema(of: SchemaOf) -> Result<u8, Failure> {
    let schema = match of {
        SchemaOf::Config => config::schema::schema(),
        SchemaOf::Record => record::schema(),
    };
    let text = record::canonical::pretty(&schema)
        .map_err(|error| Failure::new(ExitCode::Internal, &error))?;
    print_json(&text)
}

/// Says a command to the runner.
fn command(line: &str) {
    // A closed log is no reason to stop.
    let _ = writeln!(io::stdout().lock(), "{line}");
    let _ = io::stdout().flush();
}

/// Writes a page to standard output.
fn print(page: &[u8]) -> Result<u8, Failure> {
    write_out(page, inert::page)
}

/// Writes JSON to standard output.
fn print_json(json: &[u8]) -> Result<u8, Failure> {
    write_out(json, inert::json)
}

/// Writes to standard output; where a runner reads it, without commands to it. A reader that has
/// seen enough (`| head`) is no error.
fn write_out(bytes: &[u8], inert: fn(&str) -> String) -> Result<u8, Failure> {
    let is_read = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
    let inert = is_read.then(|| inert(&String::from_utf8_lossy(bytes)));
    let bytes = inert.as_deref().map_or(bytes, str::as_bytes);
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(ExitCode::Internal, &error)
                .with_help("standard output could not be written"))
        }
        _ => Ok(ExitCode::Done as u8),
    }
}
