//! What people look at: the heaviest functions, a smaller tree, a tree upside down, a difference.
//! All of it is derived; the numbers of what is shown are exact, whatever is left out.

pub mod charged;
pub mod difference;
pub mod difference_tree;
pub mod functions;
pub mod invert;
pub mod prune;
pub mod time;

#[cfg(test)]
mod tests;
