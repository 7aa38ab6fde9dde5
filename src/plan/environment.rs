//! Which variables a job gets: all but those that carry secrets or steer the runner.

use std::ffi::{OsStr, OsString};

use crate::config::sections::is_pull_request;

/// Starts of names that the runner uses for inputs, credentials and state.
const STARTS: &[&str] = &["INPUT_", "ACTIONS_", "STATE_"];
/// Names that steer the runner, and names of our own that may hold credentials.
const NAMES: &[&str] = &[
    "GITHUB_TOKEN",
    "GITHUB_ENV",
    "GITHUB_OUTPUT",
    "GITHUB_PATH",
    "GITHUB_STATE",
    "GITHUB_STEP_SUMMARY",
    "PERFTRAIL_APP_ID",
    "PERFTRAIL_APP_PRIVATE_KEY",
    "PERFTRAIL_GITHUB_TOKEN",
    "PERFTRAIL_RESULTS_TOKEN",
    "PERFTRAIL_RESULTS_SSH_KEY",
    "PERFTRAIL_TO",
];
/// Ends of names that hold secrets, in any case.
const ENDS: &[&str] = &["TOKEN", "SECRET", "PASSWORD", "KEY"];

/// The variables of a job, and the names of those held back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filtered {
    /// What the job gets, in the order given.
    pub kept: Vec<(OsString, OsString)>,
    /// Names of what it does not get, sorted.
    pub held_back: Vec<String>,
}

/// Splits `all` into what the job gets and what is held back. `env_pass` lets single variables
/// through, but never when the event acts for a pull request.
pub fn filter(
    all: impl IntoIterator<Item = (OsString, OsString)>,
    env_pass: &[String],
    event: &str,
) -> Filtered {
    let may_pass = !is_pull_request(event);
    let mut out = Filtered::default();
    for (name, value) in all {
        let passed = may_pass && env_pass.iter().any(|pass| OsStr::new(pass) == name);
        if !is_secret(&name) || passed {
            out.kept.push((name, value));
        } else {
            out.held_back.push(name.to_string_lossy().into_owned());
        }
    }
    out.held_back.sort();
    out.held_back.dedup();
    out
}

/// Whether a variable of that name is held back.
pub fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let upper = name.to_uppercase();
    STARTS.iter().any(|start| name.starts_with(start))
        || NAMES.contains(&upper.as_str())
        || ENDS.iter().any(|end| upper.ends_with(end))
}

/// Inputs of our own action that are no secrets; a job's name among them must not be taken out.
const OPEN_INPUTS: &[&str] = &[
    "COMMAND",
    "REF",
    "VARIANT",
    "MACHINE",
    "JOB",
    "RUN",
    "SETUP",
    "PARAMS",
    "ADDITIONAL-STATS",
    "CONFIG",
    "PROFILER",
    "REPETITIONS",
    "TIMEOUT",
    "TO",
    "BRANCH",
    "BUNDLE",
    "PLAN",
    "COMMENT-COMMAND",
    "FAIL-ON",
    "APP-ID",
];

/// Whether the value of a held-back variable must not be shown. Much is held back only because it
/// steers the runner: paths, addresses, inputs that stand in the workflow.
pub fn holds_secret(name: &OsStr, value: &str) -> bool {
    let upper = name.to_string_lossy().to_uppercase();
    if ENDS.iter().any(|end| upper.ends_with(end)) {
        return true;
    }
    let open_input = upper
        .strip_prefix("INPUT_")
        .is_some_and(|input| OPEN_INPUTS.contains(&input.replace('_', "-").as_str()));
    let steers = NAMES.contains(&upper.as_str());
    let plain = value.starts_with('/') || value.starts_with("http") || is_plain_word(value);
    is_secret(name) && !open_input && !steers && !plain
}

/// Truth values and numbers.
fn is_plain_word(value: &str) -> bool {
    value.parse::<f64>().is_ok() || value.parse::<bool>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(kept: &[(OsString, OsString)]) -> Vec<&str> {
        kept.iter().filter_map(|(name, _)| name.to_str()).collect()
    }

    #[test]
    fn secrets_and_steering_are_held_back() {
        for (name, held_back) in [
            ("PATH", false),
            ("HOME", false),
            ("OMP_NUM_THREADS", false),
            ("GITHUB_SHA", false),
            ("GITHUB_ACTIONS", false),
            ("INPUTS", false),
            ("KEYBOARD", false),
            ("PERFTRAIL_OUTPUT", false),
            ("INPUT_GITHUB-TOKEN", true),
            ("INPUT_", true),
            ("ACTIONS_RUNTIME_URL", true),
            ("STATE_x", true),
            ("GITHUB_TOKEN", true),
            ("GITHUB_ENV", true),
            ("GITHUB_OUTPUT", true),
            ("GITHUB_PATH", true),
            ("GITHUB_STATE", true),
            ("GITHUB_STEP_SUMMARY", true),
            ("PERFTRAIL_APP_ID", true),
            ("PERFTRAIL_RESULTS_SSH_KEY", true),
            ("AWS_SESSION_TOKEN", true),
            ("db_password", true),
            ("Client_Secret", true),
            ("apikey", true),
            ("KEY", true),
        ] {
            assert_eq!(is_secret(OsStr::new(name)), held_back, "{name}");
        }
    }

    #[test]
    fn what_only_steers_the_runner_may_be_shown() {
        for (name, value, holds) in [
            ("API_TOKEN", "/a/path", true),
            ("GITHUB_TOKEN", "ghs_x", true),
            ("INPUT_RESULTS-TOKEN", "x", true),
            ("INPUT_RESULTS-SSH-KEY", "x", true),
            ("INPUT_WEBHOOK", "s3cret-words", true),
            ("STATE_x", "s3cret-words", true),
            ("PERFTRAIL_RESULTS_SSH_KEY", "x", true),
            ("INPUT_JOB", "scale_run", false),
            ("INPUT_ADDITIONAL-STATS", "a=b", false),
            ("INPUT_ADDITIONAL_STATS", "a=b", false),
            ("PERFTRAIL_TO", "owner/name", false),
            ("GITHUB_OUTPUT", "/github/file_commands/output", false),
            ("ACTIONS_RESULTS_URL", "https://results.example.org/", false),
            ("STATE_isPost", "true", false),
            ("HOME", "s3cret-words", false),
        ] {
            assert_eq!(holds_secret(OsStr::new(name), value), holds, "{name}");
        }
    }

    #[test]
    fn one_variable_passes_but_not_for_pull_requests() {
        let all = || ["A", "DATA_TOKEN", "B_KEY"].map(|name| (name.into(), "v".into()));
        let pass = vec!["DATA_TOKEN".to_owned()];
        for (event, kept) in [
            ("schedule", vec!["A", "DATA_TOKEN"]),
            ("local", vec!["A", "DATA_TOKEN"]),
            ("pull_request", vec!["A"]),
            ("pull_request_target", vec!["A"]),
            ("pull_request_review", vec!["A"]),
            ("issue_comment", vec!["A"]),
            ("comment", vec!["A"]),
            ("workflow_run", vec!["A"]),
        ] {
            let filtered = filter(all(), &pass, event);
            assert_eq!(names(&filtered.kept), kept, "{event}");
            assert_eq!(filtered.kept.len() + filtered.held_back.len(), 3);
        }
    }

    proptest! {
        #[test]
        fn no_ending_slips_through(start in "[A-Za-z0-9_]{0,10}", end in "[tT][oO][kK][eE][nN]|[sS]ecret|PassWord|[kK][eE][yY]") {
            let name = format!("{start}{end}");
            prop_assert!(is_secret(OsStr::new(&name)));
        }
    }
}
