//! What commands run into, seen from their words and from what they say.

use std::sync::LazyLock;

use regex::Regex;

use crate::config::Command;
use crate::model::text::{shown_up_to, without_sequences};

/// Files in which tox is told what to do.
pub const TOX_FILES: [&str; 4] = ["tox.ini", "tox.toml", "pyproject.toml", "setup.cfg"];
/// What to do where tox hands none of our variables on.
pub const TOX_ADVICE: &str = "tox hands on no variable of perftrail's, so nothing that the job tells through \
    PERFTRAIL_STATS arrives: add `pass_env = PERFTRAIL_*` to its environment";
/// A line that a message repeats is cut after so many characters.
const LINE_MAX: usize = 120;
/// The words of a command among which a program that starts others may name tox.
const WORDS_MAX: usize = 4;

/// Where systems keep what only root may write.
const ROOTS: &str = r"/(?:usr|var|etc|opt|root|lib|s?bin)\b";

static WANTS_ROOT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = r"are you root|(?:must|need|has to|have to) (?:be|be run as|run as) (?:root|superuser)|superuser|root privileges|^sudo: ";
    Regex::new(&format!(
        "(?im){words}|{ROOTS}.*permission denied|permission denied.*{ROOTS}|{ROOTS}.*operation not permitted"
    ))
    .ok()
});
static PASSED_ON: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?m)PERFTRAIL_|(?:^|[\s"'=\[,])\*(?:$|[\s"',\]])"#).ok());

/// The line by which a command says that it was refused what only root may do; `None` where none
/// says so.
pub fn wants_root(said: &str) -> Option<String> {
    let plain: String = without_sequences(said).collect();
    let line =
        plain.lines().find(|line| WANTS_ROOT.as_ref().is_some_and(|one| one.is_match(line)))?;
    Some(shown_up_to(line.trim(), LINE_MAX))
}

/// Whether a command starts tox, by itself or through a program that starts others.
pub fn starts_tox(command: &Command) -> bool {
    let is_tox = |word: &str| word == "tox" || word.ends_with("/tox");
    let among = |words: &mut dyn Iterator<Item = &str>| words.take(WORDS_MAX).any(is_tox);
    match command {
        Command::Argv(argv) => among(&mut argv.iter().map(String::as_str)),
        Command::Shell(text) => {
            text.split(['\n', ';', '&', '|']).any(|part| among(&mut part.split_whitespace()))
        }
    }
}

/// Whether a file of tox lets our variables through to what it starts.
pub fn tox_passes(file: &str) -> bool {
    PASSED_ON.as_ref().is_none_or(|one| one.is_match(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_root_s_rights_is_known_by_its_words() {
        for said in [
            "E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)",
            "Reading…\nE: Unable to acquire the dpkg frontend lock (/x), are you root?",
            "error: [Errno 13] Permission denied: '/usr/lib/python3/dist-packages/x'",
            "sudo: The \"no new privileges\" flag is set",
            "\u{1b}[31mThis script must be run as root\u{1b}[0m",
            "mkdir: cannot create directory '/opt/x': Permission denied",
            "Error: this command has to be run as superuser",
        ] {
            let line = wants_root(said).unwrap_or_else(|| panic!("{said}"));
            assert!(!line.contains(['\n', '\u{1b}']), "{line}");
        }
        for said in [
            "",
            "bash: ./setup.sh: Permission denied",
            "fatal: could not read from remote: Permission denied (publickey).",
            "no module named sudo",
            "root of the tree not found",
        ] {
            assert_eq!(wants_root(said), None, "{said}");
        }
        let long = format!("are you root? {}", "x".repeat(1000));
        assert!(wants_root(&long).is_some_and(|line| line.chars().count() <= LINE_MAX + 1));
    }

    #[test]
    fn tox_is_seen_where_it_starts() {
        let shell = |text: &str| starts_tox(&Command::Shell(text.to_owned()));
        for text in
            ["tox -e profile", "cd x && tox", "uv run tox -e a", "python3 -m tox", ".venv/bin/tox"]
        {
            assert!(shell(text), "{text}");
        }
        for text in ["python3 sim.py tox.ini", "./toxic", "", "python a b c d tox"] {
            assert!(!shell(text), "{text}");
        }
        assert!(starts_tox(&Command::Argv(vec!["tox".to_owned()])));
    }

    #[test]
    fn what_tox_passes_on() {
        for text in [
            "[testenv]\npass_env = PERFTRAIL_*\n",
            "passenv =\n    *\n",
            "pass_env = [\"*\"]",
            "passenv=HOME,*",
        ] {
            assert!(tox_passes(text), "{text}");
        }
        for text in ["", "[testenv]\ncommands = pytest tests/*.py\n", "passenv = HOME_*"] {
            assert!(!tox_passes(text), "{text}");
        }
    }
}
