//! Whether the programs that jobs start are there.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command as Process, Stdio};

use super::{Finding, Health};
use crate::config::{Command, Config, Job};

/// Whether the programs that the commands of each job begin with are found, in the environment that
/// we were started in. What a shell line starts after its first word is not looked at.
pub fn programs(config: &Config, variables: &[(OsString, OsString)], root: &Path) -> Vec<Finding> {
    let all = config.jobs.iter().flat_map(|job| missing(job, variables, root));
    let found: Vec<Finding> = all.collect();
    if found.is_empty() && !config.jobs.is_empty() {
        return vec![Finding::new("programs", Health::Good, "what the jobs start is there")];
    }
    found
}

fn missing(job: &Job, variables: &[(OsString, OsString)], root: &Path) -> Vec<Finding> {
    let folder = root.join(&job.cwd);
    // What the job sets up may bring the programs of its steps.
    let (health, help) = if job.setup.is_some() {
        (Health::Warning, "unless `setup` brings it, the job ends with 127")
    } else {
        (Health::Bad, "install it, or correct the command")
    };
    let own = job.setup.iter().map(|command| (command, Health::Bad));
    let others = job.prepare.iter().chain(job.steps.iter().map(|step| &step.run));
    let mut looked_at = BTreeSet::new();
    own.chain(others.map(|command| (command, health)))
        .filter_map(|(command, health)| Some((first_word(command)?, health)))
        .filter(|(word, _)| looked_at.insert((*word).to_owned()))
        .filter(|(word, _)| !is_there(word, job, variables, &folder))
        .map(|(word, health)| {
            let message = format!("job {}: `{word}` is not found: {help}", job.name);
            Finding::new("programs", health, message)
        })
        .collect()
}

/// The word that names the program of a command; `None` where only a run can tell it.
fn first_word(command: &Command) -> Option<&str> {
    let word = match command {
        Command::Argv(argv) => argv.first()?.as_str(),
        Command::Shell(text) => {
            let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
            line.split_whitespace().find(|word| !word.contains('='))?
        }
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./+".contains(&byte);
    (!word.is_empty() && word.bytes().all(is_plain)).then_some(word)
}

/// Whether a shell finds it, in the folder and with the variables of the job.
fn is_there(word: &str, job: &Job, variables: &[(OsString, OsString)], folder: &Path) -> bool {
    let ended = Process::new("sh")
        .args(["-c", "command -v -- \"$1\"", "sh", word])
        .current_dir(folder)
        .env_clear()
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .envs(job.env.iter().filter(|(_, value)| !value.contains('{')))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    // Without a shell or the folder nothing can be said, and others say so.
    ended.is_ok_and(|status| status.success()) || !folder.is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn the_first_word_names_the_program() {
        let of = |text: &str| first_word(&Command::Shell(text.to_owned())).map(str::to_owned);
        assert_eq!(of("python3 run.py").as_deref(), Some("python3"));
        assert_eq!(of("\n  A=1 B=2 ./run | tee x").as_deref(), Some("./run"));
        assert_eq!(of("{program} x"), None);
        assert_eq!(of("\"$BIN/x\" y"), None);
        assert_eq!(of(""), None);
        let list = Command::Argv(vec!["model".to_owned(), "x".to_owned()]);
        assert_eq!(first_word(&list), Some("model"));
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let variables = [(OsString::from("PATH"), path)];
        let of = |more: &str| {
            let text = format!("[[job]]\nname = \"a\"\n{more}\n");
            let config = config::parse("perftrail.toml", &text).unwrap();
            programs(&config, &variables, Path::new("/"))
        };
        assert_eq!(of("run = \"sh -c true\"")[0].health, Health::Good);
        assert_eq!(of("run = \"cd / && no-such\"")[0].health, Health::Good);
        let found = of("run = [\"no-such-program\", \"x\"]");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].health, Health::Bad);
        assert!(found[0].message.contains("`no-such-program` is not found"));
        let found = of("setup = \"sh install\"\nrun = \"no-such-program x\"");
        assert_eq!(found[0].health, Health::Warning);
    }
}
