//! The `perftrail` program.

fn main() {}
