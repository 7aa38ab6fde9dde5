//! What the workflow gives the Action: its inputs, each in a variable of the environment.
//!
//! A runner puts the input `results-token` into `INPUT_RESULTS-TOKEN`: capitals, blanks become
//! `_`, a dash stays. An input that nobody set is empty.

use std::collections::BTreeMap;

/// The inputs, trimmed; an empty one is as good as none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    values: BTreeMap<String, String>,
}

/// Every input of `action.yml`, in its order.
pub const INPUTS: &[&str] = &[
    "command",
    "ref",
    "variant",
    "machine",
    "job",
    "run",
    "setup",
    "params",
    "additional-stats",
    "config",
    "profiler",
    "repetitions",
    "timeout",
    "to",
    "branch",
    "bundle",
    "plan",
    "comment-command",
    "fail-on",
    "github-token",
    "results-token",
    "results-ssh-key",
    "app-id",
    "app-private-key",
];

/// Every output of `action.yml`, in its order.
pub const OUTPUTS: &[&str] = &[
    "action",
    "run",
    "reason",
    "plan",
    "commit",
    "key",
    "status",
    "job-exit-code",
    "bundle",
    "record",
    "run-path",
    "run-url",
    "verdict",
    "confirm",
];

impl Inputs {
    /// Reads the variables.
    pub fn from_variables(variables: &BTreeMap<String, String>) -> Self {
        let value = |name: &&str| {
            let text = variables.get(&variable(name))?.trim();
            (!text.is_empty()).then(|| ((*name).to_owned(), text.to_owned()))
        };
        Self { values: INPUTS.iter().filter_map(value).collect() }
    }

    /// An input; `None` where it is empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        debug_assert!(INPUTS.contains(&name), "{name}");
        self.values.get(name).map(String::as_str)
    }

    /// The lines of an input that are not empty, trimmed.
    pub fn lines(&self, name: &str) -> Vec<String> {
        let lines = self.get(name).unwrap_or_default().lines();
        lines.map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }
}

/// The variable that holds an input.
pub fn variable(name: &str) -> String {
    format!("INPUT_{}", name.replace(' ', "_").to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_stay_and_white_space_goes() {
        let variables = BTreeMap::from([
            ("INPUT_RESULTS-TOKEN".to_owned(), " t \n".to_owned()),
            ("INPUT_JOB".to_owned(), "  ".to_owned()),
            ("INPUT_PARAMS".to_owned(), "a=1\r\n\n  b = 2 \n".to_owned()),
        ]);
        let inputs = Inputs::from_variables(&variables);
        assert_eq!(inputs.get("results-token"), Some("t"));
        assert_eq!(inputs.get("job"), None);
        assert_eq!(inputs.lines("params"), ["a=1", "b = 2"]);
        assert_eq!(inputs.lines("additional-stats"), Vec::<String>::new());
    }
}
