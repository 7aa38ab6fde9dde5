//! `perftrail compare`: two stored runs laid on each other, as `report --against` does it.

use jiff::tz::TimeZone;

use super::args::{CompareArgs, Format};
use super::failure::Failure;
use super::report::{internal, not_found, open, tell_corrupt};
use super::{Edge, print, print_json, publish};
use crate::app::runs::{self, FoundRun};
use crate::app::verdict;
use crate::config::Config;
use crate::plan::Against;
use crate::record::index::key_of;
use crate::report::against::{self, Findings, FunctionRules, Side};
use crate::report::terminal::TerminalOptions;
use crate::results::Results;

/// Compares two runs.
pub(super) fn compare(edge: &Edge, args: &CompareArgs) -> Result<u8, Failure> {
    let config = publish::load(edge, args.config.as_deref())?;
    let results = open(edge, &args.target, &config, &args.before)?;
    let judging = verdict::judging(&config);
    let find =
        |name| runs::find(name, results.as_ref(), &judging).map_err(|error| not_found(&error));
    let (before, after) = (find(&args.before)?, find(&args.after)?);
    tell_corrupt(edge, &after);
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

/// What changed from one run to another, by the rules of the configuration.
pub(super) fn findings(before: &FoundRun, after: &FoundRun, config: &Config) -> Findings {
    // Reasons hold or not on the day of the second run, whenever somebody looks at it.
    let day = TimeZone::UTC.to_datetime(after.record.record.run.planned).date();
    let rules = FunctionRules::new(&config.functions, Some(day));
    against::findings(side(before), side(after), &rules)
}

/// The same from the stored run of its history that somebody asked to compare with; `None` where
/// nothing of it is stored.
///
/// # Errors
/// When one of them cannot be read, in words.
pub(super) fn with_stored(
    against: &Against,
    after: &FoundRun,
    results: &Results,
    config: &Config,
) -> Result<Option<Findings>, String> {
    let told = |error: &dyn std::error::Error| error.to_string();
    let key = key_of(&after.record.record);
    let line = runs::newest_of(results, &key, against).map_err(|error| told(&error))?;
    let Some(line) = line else { return Ok(None) };
    let before = runs::find(&line.path, Some(results), &verdict::judging(config));
    before.map(|before| Some(findings(&before, after, config))).map_err(|error| told(&error))
}

fn side(run: &FoundRun) -> Side<'_> {
    Side { record: &run.record.record, profiles: &run.profiles }
}

/// Lays a run on another one, and prints what changed.
pub(super) fn lay(
    before: &FoundRun,
    after: &FoundRun,
    config: &Config,
    format: Format,
) -> Result<u8, Failure> {
    let findings = findings(before, after, config);
    let text = match format {
        Format::Text => {
            let TerminalOptions { width, .. } = super::report::terminal_options();
            against::render(&findings, width)
        }
        Format::Md => against::markdown(&findings).map_err(|error| internal(&error))?,
        Format::Html => {
            against::page(&findings, side(before), side(after)).map_err(|error| internal(&error))?
        }
        Format::Json => {
            let text = serde_json::to_string_pretty(&findings).map_err(|error| internal(&error))?;
            return print_json(format!("{text}\n").as_bytes());
        }
    };
    print(text.as_bytes())
}
