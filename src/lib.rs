//! perftrail runs a project's profiling job, keeps what it measured in a results repository that
//! anyone can browse, and says, with evidence, whether the project got slower.
//!
//! The flow, which is also the order of the modules below:
//!
//! ```text
//! trigger -> gate -> plan -> measure -> record (bundle on disk) -> publish -> compare -> report
//! ```
//!
//! Imports go down only: `cli` uses `app`, `app` joins the effects (`measure`, `results`, …) with
//! the pure stages (`config`, `plan`, `record`, `report`, …), and all of them speak the words of
//! `model`. A test reads the `use` lines and holds us to it.

pub mod model;

pub mod analysis;
pub mod config;
pub mod plan;
pub mod profile;
pub mod record;
pub mod report;
pub mod trigger;

pub mod actions;
pub mod bundle;
pub mod clock;
pub mod github;
pub mod measure;
pub mod results;
pub mod source;

pub mod app;

pub mod cli;
