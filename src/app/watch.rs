//! What a use case tells whoever watches it.

use std::io::{self, Write};
use std::time::Duration;

/// Somebody who watches a use case at work: the terminal, or nobody.
pub trait Watch {
    /// One line on what is done, for everybody.
    fn say(&self, line: &str);
    /// One line on what is done and why, for those who asked.
    fn detail(&self, line: &str);
    /// Something people must hear.
    fn warn(&self, line: &str);
    /// How far the job is, several times a second.
    fn progress(&self, elapsed: Duration, line: &str);
    /// Nothing goes on any more.
    fn clear(&self);
    /// Where the job's standard output and standard error go.
    fn sinks(&self) -> (Box<dyn Write + Send>, Box<dyn Write + Send>);
}

/// Nobody watches.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Watch for Nobody {
    fn say(&self, _line: &str) {}
    fn detail(&self, _line: &str) {}
    fn warn(&self, _line: &str) {}
    fn progress(&self, _elapsed: Duration, _line: &str) {}
    fn clear(&self) {}
    fn sinks(&self) -> (Box<dyn Write + Send>, Box<dyn Write + Send>) {
        (Box::new(io::sink()), Box::new(io::sink()))
    }
}
