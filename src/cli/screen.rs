//! What people see while a run goes on: a progress line on a terminal, plain lines elsewhere, and
//! the job's own output in between.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::actions::inert::{self, Inert};
use crate::app::watch::Watch;
use crate::model::text::visible;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Without a terminal, a line of progress comes no more often than this.
const PLAIN_EVERY: Duration = Duration::from_mins(1);

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volume {
    /// Only what was found and what went wrong.
    Quiet,
    /// The job's output and progress too.
    Normal,
    /// And what is done and why.
    Verbose,
}

/// Where the job's standard output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobOutput {
    /// Each stream to the same stream of ours.
    Same,
    /// Both to standard error: standard output is for JSON alone.
    Stderr,
    /// Nowhere; the log keeps it.
    Kept,
}

/// The screen of one command.
#[derive(Clone, Debug)]
pub struct Screen {
    volume: Volume,
    job_output: JobOutput,
    bar: Option<ProgressBar>,
    last_plain: Arc<Mutex<Duration>>,
    /// A runner reads along: nothing that others wrote may be a command to it.
    is_read_by_runner: bool,
}

impl Screen {
    /// A screen on standard error.
    pub fn new(volume: Volume, job_output: JobOutput) -> Self {
        let terminal = io::stderr().is_terminal() && volume != Volume::Quiet;
        let bar = terminal.then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(4));
            bar.set_style(
                ProgressStyle::with_template("{spinner} {elapsed_precise} {msg}")
                    .unwrap_or_else(|_| ProgressStyle::default_spinner()),
            );
            bar
        });
        Self {
            volume,
            job_output,
            bar,
            last_plain: Arc::new(Mutex::new(Duration::ZERO)),
            is_read_by_runner: false,
        }
    }

    /// The same for a step of a workflow, whose log a runner reads for commands.
    pub fn read_by_runner(self, yes: bool) -> Self {
        Self { is_read_by_runner: yes, ..self }
    }

    /// A closed standard error is no reason to stop.
    fn put(&self, line: &str) {
        let line = if self.is_read_by_runner { inert::line(line) } else { visible(line) };
        let write = || {
            let _ = writeln!(io::stderr().lock(), "perftrail: {line}");
        };
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

impl Watch for Screen {
    fn say(&self, line: &str) {
        if self.volume != Volume::Quiet {
            self.put(line);
        }
    }

    fn detail(&self, line: &str) {
        if self.volume == Volume::Verbose {
            self.put(line);
        }
    }

    fn warn(&self, line: &str) {
        self.put(&format!("warning: {line}"));
    }

    fn progress(&self, elapsed: Duration, line: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(visible(line));
            bar.tick();
        } else if self.volume != Volume::Quiet {
            let mut last = self.last_plain.lock().unwrap_or_else(PoisonError::into_inner);
            if elapsed < *last {
                *last = Duration::ZERO;
            }
            if elapsed.saturating_sub(*last) >= PLAIN_EVERY {
                *last = elapsed;
                self.put(line);
            }
        }
    }

    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn sinks(&self) -> (Box<dyn Write + Send>, Box<dyn Write + Send>) {
        let sink = |stream: Stream| -> Box<dyn Write + Send> {
            let sink = Sink { stream, bar: self.bar.clone() };
            if self.is_read_by_runner { Box::new(Inert::new(sink)) } else { Box::new(sink) }
        };
        match self.job_output {
            JobOutput::Same => (sink(Stream::Out), sink(Stream::Err)),
            JobOutput::Stderr => (sink(Stream::Err), sink(Stream::Err)),
            JobOutput::Kept => (Box::new(io::sink()), Box::new(io::sink())),
        }
    }
}

#[derive(Clone, Copy)]
enum Stream {
    Out,
    Err,
}

/// Passes the job's bytes on, between two drawings of the progress line.
struct Sink {
    stream: Stream,
    bar: Option<ProgressBar>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let stream = self.stream;
        let write = move || match stream {
            Stream::Out => io::stdout().lock().write_all(bytes).and_then(|()| io::stdout().flush()),
            Stream::Err => io::stderr().lock().write_all(bytes),
        };
        match &self.bar {
            Some(bar) => bar.suspend(write)?,
            None => write()?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.stream {
            Stream::Out => io::stdout().flush(),
            Stream::Err => io::stderr().flush(),
        }
    }
}
