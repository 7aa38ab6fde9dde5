//! What a record tells of profiles: each in short, and the functions that matter most.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::call::{Measured, Origin};
use crate::model::metric::Unit;

/// The file beside the record that holds the profiles.
pub const PROFILE_FILE: &str = "profile.json.gz";
/// Most functions of a record.
pub const FUNCTIONS_MAX: usize = 60;

/// One profile in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileSummary {
    /// The file that holds it, beside the record.
    pub file: String,
    /// Its place among the profiles of that file, from 0.
    pub place: u32,
    /// What tells it from the other profiles of its source (`Memory`); empty without.
    pub name: String,
    /// The step it belongs to; `null` for the whole job.
    pub step: Option<String>,
    /// The file it was read from, as the job named it.
    pub source: String,
    /// The format of that file.
    pub format: String,
    /// The profiler, where the file names it; `null` where it does not.
    pub tool: Option<String>,
    /// Whether it is a call tree or a table of functions.
    pub shape: Shape,
    /// What was weighed, each with the sum over everything.
    pub weights: Vec<WeightSum>,
    /// How many functions it has.
    pub functions: u64,
    /// How many nodes or rows it has.
    pub nodes: u64,
    /// How many of these are kept in the file, when it had to be made smaller; what is left out is
    /// put together, so that sums stay. `null` when all are kept.
    pub kept: Option<u64>,
    /// How many samples were taken; `null` for a profiler that takes none or does not say.
    pub samples: Option<u64>,
    /// Seconds between samples as asked for; `null` where it is not in the source.
    pub interval: Option<f64>,
    /// Seconds of wall clock the profiler was on; `null` where it is not in the source.
    pub duration: Option<f64>,
}

/// What a profile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Who called whom is known for every bit of weight.
    Tree,
    /// Weights by function.
    Table,
}

/// A weight and its sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WeightSum {
    /// What is weighed.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// How it was come by.
    pub measured: Measured,
    /// The sum over everything.
    pub sum: f64,
}

/// A function as the record keeps it, so that its history can be drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TopFunction {
    /// The profile it stands in, by its place in `profiles`.
    pub profile: u32,
    /// The step it ran in; `null` for a profile of the whole job.
    pub step: Option<String>,
    /// Its name.
    pub function: String,
    /// Its file; empty where it is not known.
    pub file: String,
    /// What it belongs to.
    pub module: String,
    /// Whose code it is.
    pub origin: Origin,
    /// The line it is defined on; 0 where it is not known.
    pub line: u32,
    /// What is weighed.
    pub weight: String,
    /// Its unit.
    pub unit: Unit,
    /// How it was come by.
    pub measured: Measured,
    /// What the function spent itself.
    #[serde(rename = "self")]
    pub own: f64,
    /// What it spent with all it called, recursion counted once; `null` where it is not known.
    pub total: Option<f64>,
    /// Its own share of what all spent, from 0 to 1.
    pub share: f64,
    /// How often it was called; `null` where calls are not counted.
    pub calls: Option<u64>,
}
