//! The use cases: they join effects and pure stages, and have no effect of their own.

pub mod accept;
pub mod amend;
pub mod ancestry;
pub mod bring;
pub mod conversation;
pub mod doctor;
pub mod fsck;
pub mod gate;
pub mod history;
pub mod hub;
mod index;
pub mod init;
mod log;
pub mod publish;
pub mod run;
pub mod runs;
pub mod verdict;
pub mod watch;
