//! Turns what any profiler wrote into one model, checks that nothing got lost, and lays two
//! profiles on each other.
//!
//! ```text
//! bytes -> input (gzip, caps) -> sniff (which format) -> read::* -> Reading { profiles, metrics, series }
//!                                                      profile -> view::* (top functions, pruned, inverted, difference)
//! ```
//!
//! Formats are told by content, never by the name of a file. What a job writes is hostile:
//! every reader is bounded in time and memory by [`Limits`] and ends with a [`ReadError`] of one
//! line. Readers work on a stream, so that a big file is never held whole.

mod build;
mod check;
pub mod error;
mod input;
mod json;
mod lines;
pub mod model;
pub mod names;
mod pairs;
pub mod paths;
pub mod read;
pub mod reading;
pub mod sniff;
pub mod stored;
pub mod view;

pub use error::ReadError;
pub use read::{Options, read, read_as, read_bytes};
pub use reading::Reading;
pub use sniff::{Kind, sniff};

/// How much of a file is read, and how much of it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes read, after gzip was undone. A file beyond ends with an error.
    pub bytes: u64,
    /// Bytes of a file that has to be held whole to be understood (small formats).
    pub whole: u64,
    /// Nodes of a call tree; what lies deeper counts where the tree was cut.
    pub nodes: usize,
    /// Different functions, and bytes of their names; later ones are put together.
    pub frames: usize,
    /// Values of a series or of a benchmark; later ones are counted and left out.
    pub values: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 4 << 30,
            whole: 256 << 20,
            nodes: 1_000_000,
            frames: 200_000,
            values: 100_000,
        }
    }
}
