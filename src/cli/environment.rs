//! The command line with the environment behind it, as workflows write both: a variable set to
//! nothing is one that is not set.

use std::ffi::{OsStr, OsString};

use clap::{Arg, ArgAction, Command, CommandFactory, FromArgMatches};

use super::args::Cli;

/// Reads the command line.
///
/// # Errors
/// When it is not right, or when help is asked for.
pub(super) fn parse(
    variables: &[(OsString, OsString)],
    words: Vec<OsString>,
) -> Result<Cli, clap::Error> {
    let matches = fitted(Cli::command(), variables).try_get_matches_from(words)?;
    Cli::from_arg_matches(&matches)
}

/// The command without the variables that are set to nothing, and with every spelling of a truth
/// value that workflows use.
fn fitted(command: Command, variables: &[(OsString, OsString)]) -> Command {
    let is_empty = |name: &OsStr| {
        let value = variables.iter().find(|(other, _)| other == name).map(|(_, value)| value);
        value.and_then(|value| value.to_str()).is_some_and(|text| text.trim().is_empty())
    };
    command
        .mut_args(|arg| {
            let arg = match arg.get_env() {
                Some(name) if is_empty(name) => arg.env(None::<&'static str>),
                _ => arg,
            };
            with_truth(arg)
        })
        .mut_subcommands(|command| fitted(command, variables))
}

fn with_truth(arg: Arg) -> Arg {
    if matches!(arg.get_action(), ArgAction::SetTrue) && arg.get_env().is_some() {
        arg.value_parser(clap::builder::BoolishValueParser::new())
    } else {
        arg
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fitted_command_line_is_sound() {
        fitted(Cli::command(), &[]).debug_assert();
    }
}
