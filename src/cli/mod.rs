//! The edge: reads the command line, calls the use case, prints, and turns the outcome into an
//! exit code.

pub mod args;
pub mod failure;
pub mod screen;

mod destination;
mod fsck;
mod history;
mod import;
mod publish;
mod report;
mod run;
mod runs;

use std::io::{self, Write};
use std::process::ExitCode as ProcessExitCode;

use clap::{CommandFactory, Parser};

use crate::clock::Clock;
use crate::measure;
use crate::{config, record};
use args::{Cli, SchemaOf, Talk, Verb};
use failure::{ExitCode, Failure};
use screen::Volume;

/// What everything at the edge needs.
#[derive(Debug)]
struct Edge {
    /// The folder we were started in.
    folder: std::path::PathBuf,
    /// Our environment.
    variables: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    /// The process that started us.
    started_by: Option<u32>,
    /// How much to say.
    volume: Volume,
    /// The time of day.
    clock: Clock,
}

/// The whole program: reads the command line, does it, prints what went wrong, once.
pub fn main() -> ProcessExitCode {
    let started_by = measure::parent_now();
    let cli = Cli::parse();
    match dispatch(cli, started_by) {
        Ok(code) => ProcessExitCode::from(code),
        Err(failure) => {
            // A closed standard error is no reason to fail otherwise.
            let _ = io::stderr().lock().write_all(failure.text().as_bytes());
            ProcessExitCode::from(failure.code as u8)
        }
    }
}

fn dispatch(cli: Cli, started_by: Option<u32>) -> Result<u8, Failure> {
    let folder = std::env::current_dir().map_err(|error| {
        Failure::new(ExitCode::Internal, &error)
            .with_help("the folder you are in is gone: go to another one")
    })?;
    let edge = Edge {
        folder,
        variables: std::env::vars_os().collect(),
        started_by,
        volume: volume(cli.talk),
        clock: Clock::System,
    };
    match cli.verb {
        Verb::Run(args) => run::run(&edge, &args),
        Verb::Publish(args) => publish::publish(&edge, &args),
        Verb::Import(args) => import::import(&edge, &args.kind),
        Verb::Report(args) => report::report(&edge, &args),
        Verb::Runs(args) => runs::runs(&edge, &args),
        Verb::History(args) => history::history(&edge, &args),
        Verb::Fsck(args) => fsck::fsck(&edge, &args),
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
    print(&text)
}

/// Writes to standard output. A reader that has seen enough (`| head`) is no error.
fn print(bytes: &[u8]) -> Result<u8, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(ExitCode::Internal, &error)
                .with_help("standard output could not be written"))
        }
        _ => Ok(ExitCode::Done as u8),
    }
}
