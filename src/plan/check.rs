//! Holds a plan that was read from a file to the rules of the configuration: somebody may have made
//! it by hand, or changed it.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::{Acceptance, Facts, JobSpec, Plan, PlannedRun, PullRequest, ReadError};
use crate::config::params::{TEXT_MAX, text_of};
use crate::config::problem::{nearest, shown, suggestion};
use crate::config::{Command, ReadRule, overrides, patterns, scalar};
use crate::model::names::{METRIC_NAME_MAX, is_job_name, is_metric_name};
use crate::model::param::Param;
use crate::record::reading::ReadAs;

/// More runs than any plan has.
const RUNS_MAX: usize = 1000;
/// How often a job is measured, or runs before, at most.
pub(super) const REPETITIONS_MAX: u32 = 10_000;

/// The longest reason for a change, in characters.
pub const REASON_MAX: usize = 1000;

const JOB_NAME: &str = "a name: a letter or `_`, then letters, digits, `_` or `-`, at most 40";
const METRIC_NAME: &str = "a name of letters, digits, `.`, `_` and `-`, at most 80 characters";
const GLOB: &str = "a relative glob that stays inside the project";

/// A value that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A value that no configuration could have given.
    #[error("`{place}` is `{found}`, expected {expected}")]
    Value {
        /// The way to it.
        place: String,
        /// The value, cut.
        found: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A key that no plan has.
    #[error("unknown key `{key}` in {place}: {}", suggestion(.nearest.as_deref(), .known))]
    UnknownKey {
        /// The way to it.
        place: String,
        /// The key, cut.
        key: String,
        /// The key that looks most like it.
        nearest: Option<String>,
        /// All keys there.
        known: Vec<String>,
    },
}

/// Checks every rule.
///
/// # Errors
/// The first that is broken.
pub(super) fn check(plan: &Plan, plain: &Value) -> Result<(), ReadError> {
    let known = serde_json::to_value(plan)?;
    unknown_key(plain, &known, "the plan")?;
    expect(plan.version >= 1, "version", &plan.version, "1 or more")?;
    facts(&plan.facts)?;
    plan.accept.as_ref().map_or(Ok(()), |one| accept(one, plan))?;
    let count = plan.runs.len();
    expect(count <= RUNS_MAX, "runs", &format!("{count} long"), "at most 1000 runs")?;
    for (i, run) in plan.runs.iter().enumerate() {
        one(run).map_err(|fault| match fault {
            Fault::Value { place, found, expected } => {
                Fault::Value { place: format!("runs[{i}].{place}"), found, expected }
            }
            other @ Fault::UnknownKey { .. } => other,
        })?;
    }
    Ok(())
}

fn expect(
    holds: bool,
    place: &str,
    found: &impl ToString,
    expected: &'static str,
) -> Result<(), Fault> {
    if holds {
        return Ok(());
    }
    let found = shown(&found.to_string());
    Err(Fault::Value { place: place.to_owned(), found, expected })
}

/// What is in `plain` and was not taken over is unknown.
fn unknown_key(plain: &Value, known: &Value, place: &str) -> Result<(), Fault> {
    match (plain, known) {
        (Value::Object(plain), Value::Object(known)) => {
            for (key, value) in plain {
                let Some(known_value) = known.get(key) else {
                    // What is nothing, and not written, is no news.
                    if value.is_null() {
                        continue;
                    }
                    return Err(Fault::UnknownKey {
                        place: place.to_owned(),
                        key: shown(key),
                        nearest: nearest(key, known.keys().map(String::as_str)).map(str::to_owned),
                        known: known.keys().take(30).map(|key| shown(key)).collect(),
                    });
                };
                unknown_key(value, known_value, &format!("`{}`", shown(key)))?;
            }
            Ok(())
        }
        (Value::Array(plain), Value::Array(known)) => {
            plain.iter().zip(known).try_for_each(|(plain, known)| unknown_key(plain, known, place))
        }
        _ => Ok(()),
    }
}

fn facts(facts: &Facts) -> Result<(), Fault> {
    expect(is_metric_name(&facts.event), "facts.event", &facts.event, "the name of an event")?;
    let variant = facts.variant.as_deref().unwrap_or("x");
    let fits = (1..=METRIC_NAME_MAX).contains(&variant.len()) && !has_control(variant);
    expect(fits, "facts.variant", &variant, "1 to 80 characters")?;
    let begin = Timestamp::UNIX_EPOCH;
    expect(facts.planned >= begin, "facts.planned", &facts.planned, "a time after 1970")?;
    facts.pull_request.as_ref().map_or(Ok(()), |pull| pull_request(pull, facts))
}

fn pull_request(pull: &PullRequest, facts: &Facts) -> Result<(), Fault> {
    let place = |key: &str| format!("facts.pull_request.{key}");
    expect(pull.number > 0, &place("number"), &pull.number, "1 or more")?;
    let is_head = facts.commit.as_ref() == Some(&pull.head);
    expect(is_head, &place("head"), &pull.head, "the commit of `facts.commit`")?;
    for (key, branch) in [("head_branch", &pull.head_branch), ("base_branch", &pull.base_branch)] {
        expect(is_reference(branch), &place(key), branch, "the name of a branch")?;
    }
    if let Some(name) = &pull.head_repository {
        let fits =
            name.split_once('/').is_some_and(|(owner, name)| is_login(owner) && is_login(name));
        expect(fits, &place("head_repository"), name, "`owner/name`")?;
    }
    if let Some(asking) = &pull.comment {
        expect(is_login(&asking.author), &place("comment.author"), &asking.author, "a login")?;
    }
    if let Some(against) = &pull.against {
        let fits = is_reference(&against.reference);
        expect(fits, &place("against.reference"), &against.reference, "a branch, tag or commit")?;
    }
    Ok(())
}

fn accept(accept: &Acceptance, plan: &Plan) -> Result<(), Fault> {
    expect(is_metric_name(&accept.metric), "accept.metric", &accept.metric, METRIC_NAME)?;
    expect(is_login(&accept.author), "accept.author", &accept.author, "a login")?;
    let fits = (1..=REASON_MAX).contains(&accept.because.chars().count());
    let fits = fits && !accept.because.trim().is_empty() && !has_control(&accept.because);
    expect(fits, "accept.because", &accept.because, "1 to 1000 characters")?;
    let fits = plan.runs.is_empty() && plan.facts.pull_request.is_some();
    expect(fits, "accept", &accept.metric, "a plan of a pull request without runs")
}

/// A login, or the name of a repository.
fn is_login(text: &str) -> bool {
    let known = |c: u8| c.is_ascii_alphanumeric() || b"-_.[]".contains(&c);
    (1..=100).contains(&text.len()) && text.bytes().all(known) && text.bytes().any(|c| c != b'.')
}

/// What git may take for a branch, a tag or a commit.
fn is_reference(text: &str) -> bool {
    (1..=255).contains(&text.len())
        && !text.starts_with(['-', '/'])
        && !text.contains("..")
        && !text.chars().any(|c| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c))
}

fn one(run: &PlannedRun) -> Result<(), Fault> {
    job(&run.job)?;
    for (name, param) in &run.params {
        expect(is_job_name(name), "params", name, JOB_NAME)?;
        self::param(param)?;
    }
    for (name, flag) in &run.job.flags {
        expect(run.params.contains_key(name), "job.flags", name, "the name of a param")?;
        let fits = !flag.trim().is_empty() && flag.len() <= 100 && !has_control(flag);
        expect(fits, "job.flags", flag, "a flag such as `--name`")?;
    }
    let fits = |tag: &str| {
        !tag.is_empty()
            && tag.len() <= super::render::TAG_MAX
            && !tag.starts_with(['.', '-'])
            && tag.bytes().all(|c| c.is_ascii_alphanumeric() || b"._-".contains(&c))
    };
    let tag = run.tag.as_deref().unwrap_or("x");
    expect(fits(tag), "tag", &tag, "letters, digits, `.`, `_` and `-`, at most 80")?;
    for (key, value) in &run.additional {
        let fits = overrides::additional_stat(&format!("{key}={value}")).is_ok();
        expect(fits, "additional", key, "a key and a value of at most 64 KiB")?;
    }
    Ok(())
}

fn param(param: &Param) -> Result<(), Fault> {
    for value in [Some(&param.value), param.default.as_ref()].into_iter().flatten() {
        let fits = match value {
            Value::String(text) => text.len() <= TEXT_MAX && !text.contains('\0'),
            Value::Bool(_) | Value::Number(_) => true,
            _ => false,
        };
        let expected = "a text of at most 4096 bytes, a number or a truth value";
        expect(fits, "params", &text_of(value), expected)?;
    }
    Ok(())
}

fn job(job: &JobSpec) -> Result<(), Fault> {
    expect(is_job_name(&job.name), "job.name", &job.name, JOB_NAME)?;
    expect(!job.steps.is_empty(), "job.steps", &"empty", "one step or more")?;
    let mut names = BTreeSet::new();
    for step in &job.steps {
        let fits = is_job_name(&step.name) && names.insert(step.name.to_ascii_lowercase());
        expect(fits, "job.steps.name", &step.name, "a name of its own, as a job's")?;
        command(&step.run, "job.steps.run")?;
    }
    for (place, one) in [("job.setup", &job.setup), ("job.prepare", &job.prepare)] {
        one.as_ref().map_or(Ok(()), |one| command(one, place))?;
    }
    let inside = patterns::stays_inside(&job.cwd);
    expect(inside, "job.cwd", &job.cwd, "a folder inside the project")?;
    for (name, value) in &job.env {
        let fits = !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0');
        expect(fits, "job.env", name, "names without `=`, and neither with the character NUL")?;
    }
    files(job)?;
    numbers(job)?;
    let machine = job.machine.as_deref().unwrap_or("x");
    expect(is_metric_name(machine), "job.machine", &machine, METRIC_NAME)?;
    for name in &job.judged {
        expect(is_metric_name(name), "job.judged", name, METRIC_NAME)?;
    }
    Ok(())
}

fn command(command: &Command, place: &'static str) -> Result<(), Fault> {
    let text = command.text();
    let fits = !command.is_empty() && !text.contains('\0');
    expect(fits, place, &text, "a command without the character NUL")
}

fn files(job: &JobSpec) -> Result<(), Fault> {
    let read = job.read.iter().map(|rule| &rule.path);
    let kept = job.keep.iter().map(|rule| &rule.path);
    for path in job.collect.iter().chain(kept).chain(read) {
        let fits = patterns::stays_inside(path) && patterns::glob(path).is_ok();
        expect(fits, "job.collect, keep or read", path, GLOB)?;
    }
    job.read.iter().try_for_each(read_rule)?;
    for rule in &job.count {
        expect(is_metric_name(&rule.name), "job.count.name", &rule.name, METRIC_NAME)?;
        let fits = patterns::fits_regex(&rule.pattern);
        let expected = "a regular expression of at most 1000 bytes";
        expect(fits, "job.count.pattern", &rule.pattern, expected)?;
    }
    Ok(())
}

fn read_rule(rule: &ReadRule) -> Result<(), Fault> {
    for name in rule.pick.keys().chain(rule.rename.values()) {
        expect(is_metric_name(name), "job.read", name, METRIC_NAME)?;
    }
    let fits = rule.x.is_none() || rule.as_what == ReadAs::Series;
    expect(fits, "job.read.as", &rule.as_what.word(), "`series`, because it has an `x`")
}

fn numbers(job: &JobSpec) -> Result<(), Fault> {
    let repetitions = (1..=REPETITIONS_MAX).contains(&job.repetitions);
    expect(repetitions, "job.repetitions", &job.repetitions, "1 to 10000")?;
    expect(job.warmups <= REPETITIONS_MAX, "job.warmups", &job.warmups, "0 to 10000")?;
    expect(job.workload >= 1, "job.workload", &job.workload, "1 or more")?;
    for limit in [job.timeout, job.total_timeout].into_iter().flatten() {
        let fits = limit > Duration::ZERO && limit <= scalar::LONGEST;
        expect(fits, "job.timeout", &limit.as_secs_f64(), "more than nothing, at most ten years")?;
    }
    Ok(())
}

fn has_control(text: &str) -> bool {
    text.chars().any(char::is_control)
}
