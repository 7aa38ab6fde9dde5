//! What started us: the event of a workflow, read into what it asks for, and whether anything is
//! to be done at all.
//!
//! One step does everything only on events that build what people with write access committed
//! ([`read`]). A gate decides on more of them ([`payload`]): a comment under a pull request is read
//! ([`comment`]) and decided on ([`approve`]) apart from the code that it is about, and what
//! happens to a pull request is held against `[triggers]` ([`pull_request`]).

pub mod approve;
pub mod comment;
mod decide;
mod event;
pub mod payload;
pub mod pull_request;

pub use decide::{Decision, decide};
pub use event::{Asked, Push, Trigger, TriggerError, read};
