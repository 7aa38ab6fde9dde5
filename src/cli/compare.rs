//! `perftrail compare`: two stored runs laid on each other, as `report --against` does it.

use jiff::tz::TimeZone;

use super::args::{CompareArgs, Format};
use super::failure::Failure;
use super::report::{internal, not_found, open};
use super::{Edge, print, print_json, publish};
use crate::app::runs::{self, FoundRun};
use crate::app::verdict;
use crate::config::Config;
use crate::report::against::{self, FunctionRules, Side};
use crate::report::terminal::TerminalOptions;

/// Compares two runs.
pub(super) fn compare(edge: &Edge, args: &CompareArgs) -> Result<u8, Failure> {
    let config = publish::load(edge, args.config.as_deref())?;
    let results = open(edge, &args.target, &config, &args.before)?;
    let judging = verdict::judging(&config);
    let find =
        |name| runs::find(name, results.as_ref(), &judging).map_err(|error| not_found(&error));
    let (before, after) = (find(&args.before)?, find(&args.after)?);
    let (one, other) = (&before.record.record, &after.record.record);
    if !args.other_machines && !against::same_machines(one, other) {
        let message = format!(
            "{} ran on `{}`, {} on `{}`: numbers of different machines do not compare",
            args.before, one.machine.group, args.after, other.machine.group
        );
        return Err(Failure::usage(message)
            .with_help("--other-machines lays them on each other all the same, and says so"));
    }
    lay(&before, &after, &config, args.format)
}

/// One run laid on another, in one sentence.
pub(super) fn sentence(before: &FoundRun, after: &FoundRun, config: &Config) -> String {
    let one = Side { record: &before.record.record, profiles: &before.profiles };
    let other = Side { record: &after.record.record, profiles: &after.profiles };
    let day = TimeZone::UTC.to_datetime(other.record.run.planned).date();
    against::findings(one, other, &FunctionRules::new(&config.functions, Some(day))).sentence
}

/// Lays a run on another one, and prints what changed.
pub(super) fn lay(
    before: &FoundRun,
    after: &FoundRun,
    config: &Config,
    format: Format,
) -> Result<u8, Failure> {
    let one = Side { record: &before.record.record, profiles: &before.profiles };
    let other = Side { record: &after.record.record, profiles: &after.profiles };
    // Reasons hold or not on the day of the second run, whenever somebody looks at it.
    let day = TimeZone::UTC.to_datetime(other.record.run.planned).date();
    let rules = FunctionRules::new(&config.functions, Some(day));
    let findings = against::findings(one, other, &rules);
    let text = match format {
        Format::Text => {
            let TerminalOptions { width, .. } = super::report::terminal_options();
            against::render(&findings, width)
        }
        Format::Md => against::markdown(&findings).map_err(|error| internal(&error))?,
        Format::Html => against::page(&findings, one, other).map_err(|error| internal(&error))?,
        Format::Json => {
            let text = serde_json::to_string_pretty(&findings).map_err(|error| internal(&error))?;
            return print_json(format!("{text}\n").as_bytes());
        }
    };
    print(text.as_bytes())
}
