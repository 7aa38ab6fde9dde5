//! Commands: a string for a shell, or a list of strings that is executed directly.

use serde::{Deserialize, Serialize};

/// A command as the file writes it, placeholders not yet filled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Command {
    /// Given to a shell.
    Shell(String),
    /// Executed directly: the program and its arguments.
    Argv(Vec<String>),
}

/// The shell that runs string commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellKind {
    /// `bash -eo pipefail -c`
    Bash,
    /// `sh -e -c`, where there is no bash.
    Sh,
}

impl Command {
    /// Whether there is nothing to run.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Shell(text) => text.trim().is_empty(),
            Self::Argv(argv) => argv.first().is_none_or(String::is_empty),
        }
    }

    /// The program and its arguments.
    pub fn argv(&self, shell: ShellKind) -> Vec<String> {
        let (start, text): (&[&str], _) = match (self, shell) {
            (Self::Argv(argv), _) => return argv.clone(),
            (Self::Shell(text), ShellKind::Bash) => (&["bash", "-eo", "pipefail", "-c"], text),
            (Self::Shell(text), ShellKind::Sh) => (&["sh", "-e", "-c"], text),
        };
        start.iter().map(|word| (*word).to_owned()).chain([text.clone()]).collect()
    }

    /// The command as people would type it.
    pub fn text(&self) -> String {
        match self {
            Self::Shell(text) => text.clone(),
            Self::Argv(argv) => {
                argv.iter().map(|word| super::quote::quote(word)).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_stop_at_the_first_failure() {
        let command = Command::Shell("a | b".to_owned());
        assert_eq!(command.argv(ShellKind::Bash), ["bash", "-eo", "pipefail", "-c", "a | b"]);
        assert_eq!(command.argv(ShellKind::Sh), ["sh", "-e", "-c", "a | b"]);
        let list = Command::Argv(vec!["echo".to_owned(), "$HOME; x".to_owned()]);
        assert_eq!(list.argv(ShellKind::Bash), ["echo", "$HOME; x"]);
        assert_eq!(list.text(), "echo '$HOME; x'");
    }
}
