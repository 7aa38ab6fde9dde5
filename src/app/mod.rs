//! The use cases: they join effects and pure stages, and have no effect of their own.

pub mod publish;
pub mod watch;
