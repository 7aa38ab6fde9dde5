//! Statistics over numbers and runs, pure: the same input always gives the same answer.

pub mod earlier;
pub mod epochs;
pub mod histories;
pub mod history;
pub mod judging;
pub mod quartiles;
pub mod verdict;
