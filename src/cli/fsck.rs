//! `perftrail fsck`.

use std::fmt::Write as _;

use serde_json::json;

use super::args::{FsckArgs, ListFormat};
use super::destination::{self, Found};
use super::failure::{ExitCode, Failure};
use super::screen::JobOutput;
use super::{Edge, print, print_json, publish};
use crate::app::fsck::{self as app, Checked, RebuildError, Rebuilt};
use crate::app::publish::Pages;
use crate::app::publish::retry::Retry;
use crate::app::watch::Watch;
use crate::github::RealPause;
use crate::record::canonical;
use crate::results::Results;

/// Findings that are listed for people; JSON has all.
const SHOWN_MAX: usize = 200;

/// Checks the results repository, after making anew what can be made, if that was asked for.
pub(super) fn fsck(edge: &Edge, args: &FsckArgs) -> Result<u8, Failure> {
    let screen = edge.screen(JobOutput::Kept);
    let config = publish::load(edge, args.config.as_deref())?;
    let to = match destination::find(edge, &args.target, &config)? {
        Found::There(to) => to,
        Found::Nowhere => {
            return Err(Failure::usage(
                "the results repository is `none`: there is nothing to check",
            ));
        }
        Found::NotNamed => return Err(publish::not_named()),
    };
    let failed = |error: &dyn std::error::Error| Failure::new(ExitCode::Usage, error);
    let results = Results::open(&to.to, &to.branch).map_err(|error| failed(&error))?;
    let pages = Pages::default();
    let rebuilt = if args.rebuild {
        let pause = RealPause::new();
        let mut retry = Retry::new(&pause, to.timeout, &to.to);
        Some(app::rebuild(&results, &pages, edge.clock.now(), &mut |next| retry.wait(next))?)
    } else {
        None
    };
    let checked = app::check(&results, &pages).map_err(|error| failed(&error))?;
    let notices = rebuilt.iter().flat_map(|rebuilt| &rebuilt.notices).chain(&checked.notices);
    notices.for_each(|notice| screen.warn(notice));
    match args.format {
        ListFormat::Text => print(text(&checked, rebuilt.as_ref()).as_bytes())?,
        ListFormat::Json => print_json(&as_json(&checked, rebuilt.as_ref())?)?,
    };
    Ok(if checked.is_clean() { ExitCode::Done } else { ExitCode::FAULTS_FOUND } as u8)
}

/// One line a finding, then how much was looked at.
fn text(checked: &Checked, rebuilt: Option<&Rebuilt>) -> String {
    let mut text = String::new();
    if let Some(rebuilt) = rebuilt {
        let _ = match &rebuilt.commit {
            Some(commit) => writeln!(text, "made anew: commit {commit}"),
            None => writeln!(text, "nothing had to be made anew"),
        };
    }
    let all = checked.findings.len() + checked.more;
    for finding in checked.findings.iter().take(SHOWN_MAX) {
        let _ = writeln!(text, "{finding}");
    }
    if all > SHOWN_MAX {
        let _ = writeln!(text, "and {} more", all - SHOWN_MAX);
    }
    let (runs, months) = (count(checked.runs, "run"), count(checked.months, "month"));
    let faults = if all == 0 { "no faults".to_owned() } else { count(all, "fault") };
    let _ = writeln!(text, "{runs} in {months}: {faults}");
    text
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn as_json(checked: &Checked, rebuilt: Option<&Rebuilt>) -> Result<Vec<u8>, Failure> {
    let findings: Vec<_> = checked
        .findings
        .iter()
        .map(|finding| {
            json!({
                "path": finding.path,
                "code": finding.fault.code(),
                "message": finding.fault.to_string(),
                "remedy": finding.fault.remedy(),
                "mended_by": finding.fault.mending(),
            })
        })
        .collect();
    let value = json!({
        "runs": checked.runs,
        "months": checked.months,
        "findings": findings,
        "more_findings": checked.more,
        "rebuilt": rebuilt.map(|rebuilt| json!({ "commit": rebuilt.commit })),
    });
    canonical::pretty(&value).map_err(|error| Failure::new(ExitCode::Internal, &error))
}

impl From<RebuildError> for Failure {
    fn from(error: RebuildError) -> Self {
        let code = match &error {
            RebuildError::NewerFormat => ExitCode::Usage,
            RebuildError::Damaged { .. } | RebuildError::Results(_) => ExitCode::NotPublished,
        };
        Self::new(code, &error)
    }
}
