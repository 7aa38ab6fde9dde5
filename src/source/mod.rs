//! The project that is measured: its commit, its configuration file, its outputs.

pub mod ancestry;
pub mod configuration;
pub mod environment;
pub mod files;
pub mod git;
pub mod program;
