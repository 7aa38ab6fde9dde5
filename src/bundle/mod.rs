//! Bundles on disk: the folder a run leaves behind.

pub mod read;
pub mod scratch;
pub mod write;
