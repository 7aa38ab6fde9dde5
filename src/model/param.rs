//! The declared inputs of a job.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One declared input with its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Param {
    /// A string, number or truth value.
    pub value: Value,
    /// What it is without being set; `null` for a param the job reported itself.
    pub default: Option<Value>,
    /// Whether runs with other values belong to another history.
    pub identity: bool,
}
