//! `init`: what a project needs to be measured, as files; and the first commit of its results
//! repository.

use crate::app::index::Index;
use crate::app::publish::Pages;
use crate::app::publish::compose::{add_house, put_landing};
use crate::app::publish::landing::{self, Anew};
use crate::results::change::Change;
use crate::results::{Patience, Proposal, Results, ResultsError, Target};
use jiff::Timestamp;

/// The owner's text of a new results repository: perftrail never changes it.
const README: &str = "\
# Results

Runs of a profiling job, one folder each under `runs/`, written by
perftrail.

**Protect this branch** (Settings, Rules): forbid force pushes and deletion, and let only the
credential of the publishing workflow push. Do not ask for pull requests: perftrail adds commits and
never rewrites one. Keep merge and squash off.

";

/// What can be seen of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Project {
    /// Files at its top, by name.
    pub files: Vec<String>,
    /// Python programs with a main part, by path.
    pub programs: Vec<String>,
}

/// How its environment is made on a runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surroundings {
    /// conda, from `environment.yml`.
    Conda,
    /// uv, from `uv.lock`.
    Uv,
    /// pip, from a Python project or `requirements.txt`.
    Pip {
        /// Whether the project itself is installed.
        is_package: bool,
    },
    /// Whatever the runner has.
    Bare,
}

impl Project {
    /// The environment that its files tell of.
    pub fn surroundings(&self) -> Surroundings {
        let has = |name: &str| self.files.iter().any(|file| file == name);
        if has("environment.yml") {
            Surroundings::Conda
        } else if has("uv.lock") {
            Surroundings::Uv
        } else if has("pyproject.toml") || has("setup.py") {
            Surroundings::Pip { is_package: true }
        } else if has("requirements.txt") {
            Surroundings::Pip { is_package: false }
        } else {
            Surroundings::Bare
        }
    }
}

/// Makes the first commit of a results repository; `None` where it has one already.
///
/// # Errors
/// When it cannot be written.
pub fn first_commit(
    to: &Target,
    branch: &str,
    now: Timestamp,
    patience: &mut Patience<'_>,
) -> Result<Option<String>, ResultsError> {
    Results::open_or_create(to, branch)?.commit(now, patience, |tip| {
        if tip.id().is_some() {
            return Ok(None);
        }
        let mut change = Change::default();
        add_house(tip, &mut change)?;
        // A page that cannot be made comes with the first run.
        if let Ok(mut landing) =
            landing::files(tip, &mut Index::new(tip)?, &Pages::default(), Anew::default())
        {
            if let Some((_, page)) = landing.made.first_mut() {
                *page = [README.as_bytes(), page.as_slice()].concat();
            }
            put_landing(tip, landing, &mut change)?;
        }
        Ok(Some(Proposal { change, message: "Begin a results repository\n".to_owned() }))
    })
}
