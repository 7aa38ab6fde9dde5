//! Statistics over numbers and runs, pure: the same input always gives the same answer.

pub mod earlier;
pub mod history;
pub mod quartiles;
