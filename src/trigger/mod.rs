//! What started us: the event of a workflow, read into what it asks for, and whether anything is
//! to be done at all.
//!
//! Only events that build what people with write access committed are read here. On every other
//! event somebody else's code would run beside the secrets of the step.

mod decide;
mod event;

pub use decide::{Decision, decide};
pub use event::{Asked, Push, Trigger, TriggerError, read};
