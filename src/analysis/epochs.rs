//! `epochs.toml`: changes that people accepted, with their reasons.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::histories::Epoch;
use crate::model::names::CommitSha;

/// The file, at the results repository's root.
pub const EPOCHS_FILE: &str = "epochs.toml";

/// An accepted change as it stands in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The metric.
    pub metric: String,
    /// The job; without one, every job's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The measured project, `host/owner/name`; without one, every project's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The commit whose runs begin the new level, all of its digits; `None` for a pull request of
    /// which no measured commit is known to hold it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// When the first run of that commit was planned, where a pull request brought it: jobs that
    /// are measured at other commits begin with their first run after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<Timestamp>,
    /// The pull request that brings the new level: it begins when that is merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<u64>,
    /// Why.
    pub because: String,
    /// Who said so.
    pub author: String,
    /// When.
    pub date: Date,
}

/// What the file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epochs {
    /// The changes, in the order in which they were accepted.
    #[serde(default, rename = "epoch")]
    pub accepted: Vec<Accepted>,
}

/// The file cannot be understood.
#[derive(Debug, thiserror::Error)]
#[error("epochs.toml cannot be read: {source}")]
pub struct EpochsError {
    /// What is wrong, and where.
    source: toml::de::Error,
}

impl Epochs {
    /// Reads the file.
    ///
    /// # Errors
    /// When it is no file of this form.
    pub fn parse(text: &str) -> Result<Self, EpochsError> {
        toml::from_str(text).map_err(|source| EpochsError { source })
    }

    /// As histories take them.
    pub fn list(&self) -> Vec<Epoch> {
        let epoch = |accepted: &Accepted| Epoch {
            metric: accepted.metric.clone(),
            job: accepted.job.clone(),
            repository: accepted.repository.clone(),
            commit: accepted.commit.as_ref().map(|sha| sha.to_ascii_lowercase()),
            planned: accepted.planned,
            pull_request: accepted.pull_request,
            because: accepted.because.clone(),
        };
        self.accepted.iter().map(epoch).collect()
    }
}

/// The first run that holds a pull request, which begins its level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Its commit.
    pub commit: CommitSha,
    /// When it was planned.
    pub planned: Timestamp,
}

/// `text` with the runs that begin some of its changes, which are named by their places; all else
/// stays as it is.
///
/// # Errors
/// When it is no file of this form.
pub fn begun(text: &str, runs: &BTreeMap<usize, Begun>) -> Result<String, EpochsError> {
    let mut wanted = Epochs::parse(text)?;
    for (at, accepted) in wanted.accepted.iter_mut().enumerate() {
        if let Some(run) = runs.get(&at) {
            accepted.commit = Some(run.commit.to_string());
            accepted.planned = Some(run.planned);
        }
    }
    let edited = inserted(text, runs);
    if Epochs::parse(&edited).is_ok_and(|is| is == wanted) {
        return Ok(edited);
    }
    // The owner wrote it in another way, a table in one line for example.
    Ok(toml::to_string(&wanted).unwrap_or_default())
}

/// `text` with two lines more below the pull request of each change that begins.
fn inserted(text: &str, runs: &BTreeMap<usize, Begun>) -> String {
    let Ok(places) = toml::from_str::<Places>(text) else { return text.to_owned() };
    let mut edited = text.to_owned();
    let mut ends: Vec<(usize, &Begun)> = runs
        .iter()
        .filter_map(|(at, run)| Some((places.epochs.get(*at)?.pull_request.as_ref()?, run)))
        .map(|(number, run)| (number.span().end, run))
        .collect();
    // From behind, so that what comes before keeps its place.
    ends.sort_by_key(|(end, _)| std::cmp::Reverse(*end));
    for (end, run) in ends {
        let lines = format!("\ncommit = \"{}\"\nplanned = \"{}\"", run.commit, run.planned);
        edited.insert_str(end, &lines);
    }
    edited
}

/// Where the pull requests stand in the file.
#[derive(Deserialize)]
struct Places {
    #[serde(default, rename = "epoch")]
    epochs: Vec<PlaceOf>,
}

#[derive(Deserialize)]
struct PlaceOf {
    pull_request: Option<Spanned<u64>>,
}

/// `text` with one more change at its end; what was there stays as it is.
pub fn with(text: &str, accepted: &Accepted) -> String {
    let one = Epochs { accepted: vec![accepted.clone()] };
    // Every part is text or a date, which TOML can hold.
    let block = toml::to_string(&one).unwrap_or_default();
    match text.trim_end() {
        "" => block,
        before => format!("{before}\n\n{block}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted() -> Accepted {
        Accepted {
            metric: "cpu_time".to_owned(),
            job: Some("scale_run".to_owned()),
            repository: None,
            commit: Some("ABCDEF0123".to_owned()),
            planned: None,
            pull_request: None,
            because: "exact \"numbers\"\nat last [[epoch]]".to_owned(),
            author: "A. Person <a@example.org>".to_owned(),
            date: "2026-11-30".parse().unwrap(),
        }
    }

    #[test]
    fn one_more_at_the_end() {
        let accepted = accepted();
        let first = with("# ours\n", &accepted);
        assert!(first.starts_with("# ours\n\n[[epoch]]\n"), "{first}");
        let second = with(&first, &Accepted { job: None, ..accepted.clone() });
        let epochs = Epochs::parse(&second).unwrap();
        assert_eq!(epochs.accepted[0], accepted);
        assert_eq!(epochs.list()[1].job, None);
        assert_eq!(epochs.list()[1].commit.as_deref(), Some("abcdef0123"));
        let of_pull = Accepted { commit: None, pull_request: Some(7), ..accepted };
        let third = Epochs::parse(&with(&second, &of_pull)).unwrap();
        assert_eq!(third.list()[2].pull_request, Some(7));
        assert_eq!(Epochs::parse("").unwrap(), Epochs::default());
        assert!(Epochs::parse("epoch = 3").is_err());
    }

    #[test]
    fn the_run_that_begins_a_level_is_written_beside_its_pull_request() {
        let of = |number| Accepted { commit: None, pull_request: Some(number), ..accepted() };
        let text = with(&with("# ours\n", &of(7)), &of(8));
        let text = text.replace("pull_request = 7", "pull_request = 7 # soon");
        let run = Begun {
            commit: CommitSha::parse(&"a".repeat(40)).unwrap(),
            planned: "2026-11-30T02:00:00Z".parse().unwrap(),
        };
        let runs = BTreeMap::from([(0, run.clone())]);
        let edited = begun(&text, &runs).unwrap();
        let lines = format!(
            "pull_request = 7\ncommit = \"{}\"\nplanned = \"2026-11-30T02:00:00Z\" # soon\n",
            run.commit
        );
        assert_eq!(edited, text.replace("pull_request = 7 # soon\n", &lines));
        let in_one_line = "epoch = [{ metric = \"m\", pull_request = 7, because = \"b\", \
                           author = \"a\", date = \"2026-11-30\" }]";
        let edited = Epochs::parse(&begun(in_one_line, &runs).unwrap()).unwrap();
        assert_eq!(edited.accepted[0].commit.as_deref(), Some(run.commit.as_str()));
        assert_eq!(edited.accepted[0].planned, Some(run.planned));
        assert!(begun("epoch = 3", &runs).is_err());
    }
}
