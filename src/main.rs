//! The `perftrail` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    perftrail::cli::main()
}
