//! The landing page and the drawings it shows, as files: a function of the index and of the
//! owner's own text, so that whoever makes them anew gets the same.

use super::pages::Pages;
use super::readme;
use crate::analysis::histories::Epoch;
use crate::analysis::judging::JudgingFile;
use crate::app::history::rules;
use crate::app::index::Index;
use crate::app::verdict::judging_file;
use crate::report::landing::{TRENDS_DIR, is_trend};
use crate::results::ResultsError;
use crate::results::tip::Tip;

/// What a commit brings that the landing page depends on.
#[derive(Debug, Default)]
pub(in crate::app) struct Anew {
    /// The accepted changes.
    pub(in crate::app) epochs: Option<Vec<Epoch>>,
    /// How runs are judged.
    pub(in crate::app) judging: Option<JudgingFile>,
}

/// What the landing page is made of.
#[derive(Debug)]
pub(in crate::app) struct LandingFiles {
    /// Path and content: the page first, then its drawings.
    pub(in crate::app) made: Vec<(String, Vec<u8>)>,
    /// Drawings of the tip that the page does not show any more.
    pub(in crate::app) stale: Vec<String>,
}

/// `anew` are the files of the owner that are not those of the tip.
///
/// Makes all of it before anything is put, so that no half landing page is published.
pub(in crate::app) fn files(
    tip: &Tip<'_>,
    index: &mut Index<'_, '_>,
    pages: &Pages,
    anew: Anew,
) -> Result<LandingFiles, String> {
    let told = |error: ResultsError| error.to_string();
    let lines = index.window().map_err(told)?;
    let epochs = match anew.epochs {
        Some(epochs) => epochs,
        None => rules(tip, &[]).map_err(told)?.0.epochs,
    };
    let judging = match anew.judging {
        Some(judging) => judging,
        None => judging_file(tip).map_err(told)?.0,
    };
    let landing = pages.landing(&lines, epochs, judging)?;
    let path = readme_path(tip).map_err(told)?;
    let old = tip.read(&path).map_err(told)?;
    let new = readme::splice(old.as_deref(), &landing.markdown).map_err(|e| e.to_string())?;
    let mut made = vec![(path, new)];
    made.extend(landing.files);
    made.extend(landing.badge);
    made.extend(landing.jobs);
    let stale = tip
        .list(TRENDS_DIR)
        .map_err(told)?
        .into_iter()
        .filter(|entry| !entry.is_folder && is_trend(&entry.name))
        .map(|entry| format!("{TRENDS_DIR}/{}", entry.name))
        .filter(|path| made.iter().all(|(other, _)| other != path))
        .collect();
    Ok(LandingFiles { made, stale })
}

/// `README.md`, in whatever case the owner wrote it.
pub(super) fn readme_path(tip: &Tip<'_>) -> Result<String, ResultsError> {
    let names = tip.list("")?.into_iter().map(|entry| entry.name);
    let mut readmes: Vec<String> =
        names.filter(|name| name.eq_ignore_ascii_case("README.md")).collect();
    // Upper case sorts first, and is what hosts show.
    readmes.sort();
    Ok(readmes.into_iter().next().unwrap_or_else(|| "README.md".to_owned()))
}
