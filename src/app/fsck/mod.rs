//! `fsck`: holds a results repository against what publishing would have made of its runs, and
//! makes everything anew that can be made from them.
//!
//! Run folders are what counts: they alone hold what was measured, and nothing here ever changes
//! one but to add a page that is missing. Index, landing page and drawings are made of them.

mod files;
mod finding;
mod names;
mod rebuild;
mod runs;
mod shards;
mod surface;

use std::collections::BTreeMap;

pub use finding::{Fault, Finding, Mending};
pub use rebuild::{RebuildError, Rebuilt, rebuild};

use crate::app::publish::Pages;
use crate::results::format::{FORMAT_FILE, FormatError, Standing};
use crate::results::tip::Tip;
use crate::results::{Results, ResultsError};
use runs::{Care, Memory};

/// Findings that are told one by one; what is beyond is counted.
pub const FINDINGS_MAX: usize = 10_000;

/// What a check found.
#[derive(Debug, Default)]
pub struct Checked {
    /// What is wrong, the first [`FINDINGS_MAX`].
    pub findings: Vec<Finding>,
    /// How many more there are.
    pub more: usize,
    /// How many runs there are.
    pub runs: usize,
    /// How many months they lie in.
    pub months: usize,
    /// What people should know of the check itself, one sentence each.
    pub notices: Vec<String>,
}

impl Checked {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    fn add(&mut self, path: &str, fault: Fault) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding { path: finding::visible(path), fault });
        } else {
            self.more += 1;
        }
    }
}

/// Checks the branch's newest commit. Each file is read once.
///
/// # Errors
/// When the repository cannot be read at all, or its format is newer than this version's.
pub fn check(results: &Results, pages: &Pages) -> Result<Checked, ResultsError> {
    let tip = results.tip()?;
    let mut checked = Checked::default();
    let standing = standing(&tip, &mut checked)?;
    let walk = tip.walk();
    names::check(&walk, &mut checked);
    let survey = runs::survey(&tip, &walk, Care::Everything, &mut Memory::default(), &mut checked);
    checked.runs = survey.count();
    checked.months = survey.months.len();
    shards::check(&tip, &walk, &survey, standing, &mut checked);
    if standing == Standing::RunsOnly {
        checked.notices.push(
            "the repository has a newer format: its landing page and drawings are not checked"
                .to_owned(),
        );
    } else if survey.count() > 0 {
        // Months that cannot be read are told already.
        let shards = shards::as_it_should_be(&tip, &survey).unwrap_or_else(|_| survey.shards());
        surface::check(&tip, shards, pages, &mut checked);
    }
    Ok(checked)
}

/// A format that is not named does not keep the rest from being checked.
fn standing(tip: &Tip<'_>, checked: &mut Checked) -> Result<Standing, ResultsError> {
    match tip.standing() {
        Ok(standing) => return Ok(standing),
        Err(ResultsError::Format(FormatError::Unknown)) => {
            checked.add(FORMAT_FILE, Fault::FormatUnknown);
        }
        Err(error @ ResultsError::Unreadable { .. }) => {
            checked.add(FORMAT_FILE, Fault::Lost(finding::told(&error)));
        }
        Err(error) => return Err(error),
    }
    Ok(Standing::Whole)
}

/// Months of the index by their name, `YYYY-MM`.
type Shards = BTreeMap<String, Vec<u8>>;
