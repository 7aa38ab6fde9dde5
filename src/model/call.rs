//! Words for what a profile says of functions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a weight was come by. Numbers of different kinds are never laid on each other.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// Counted without a gap: instructions, allocations.
    Exact,
    /// Read at the begin and end of every call; the reading itself costs time.
    Traced,
    /// Seen at ticks: right in the long run, noisy for what is rare.
    Sampled,
    /// Derived from a sample by assumptions of the tool or of the reader.
    Estimated,
}

impl Measured {
    /// The word for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Traced => "traced",
            Self::Sampled => "sampled",
            Self::Estimated => "estimated",
        }
    }
}

/// Whose code a function is.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The project's, as far as the path tells.
    #[default]
    Own,
    /// An installed package's.
    Library,
    /// The language's own: interpreter, standard library, runtime.
    Runtime,
    /// The system's: kernel, C library.
    System,
    /// Nobody's: threads, idle time.
    None,
}
