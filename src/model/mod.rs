//! The words of perftrail as types: what the glossary names, nothing that does anything.

pub mod call;
pub mod metric;
pub mod names;
pub mod param;
pub mod quantity;
pub mod robust;
pub mod secret;
pub mod sequences;
pub mod status;
pub mod text;
pub mod units;
