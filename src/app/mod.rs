//! The use cases: they join effects and pure stages, and have no effect of their own.

pub mod fsck;
pub mod hub;
mod index;
mod log;
pub mod publish;
pub mod run;
pub mod runs;
pub mod watch;
