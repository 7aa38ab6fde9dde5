//! The edge: reads the command line, calls the use case, prints, and turns the outcome into an
//! exit code.

pub mod args;
pub mod screen;
