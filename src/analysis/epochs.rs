//! `epochs.toml`: changes that people accepted, with their reasons.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::histories::{Epoch, Since};

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
    /// The commit whose runs begin the new level, all of its digits; `None` where a pull request
    /// does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
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
        let epoch = |accepted: &Accepted, since| Epoch {
            metric: accepted.metric.clone(),
            job: accepted.job.clone(),
            since,
            because: accepted.because.clone(),
        };
        let both = |accepted: &Accepted| {
            let commit =
                accepted.commit.as_ref().map(|sha| Since::Commit(sha.to_ascii_lowercase()));
            let since = [commit, accepted.pull_request.map(Since::PullRequest)];
            since.map(|since| since.map(|since| epoch(accepted, since)))
        };
        self.accepted.iter().flat_map(both).flatten().collect()
    }
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

    #[test]
    fn one_more_at_the_end() {
        let accepted = Accepted {
            metric: "cpu_time".to_owned(),
            job: Some("scale_run".to_owned()),
            commit: Some("ABCDEF0123".to_owned()),
            pull_request: None,
            because: "exact \"numbers\"\nat last [[epoch]]".to_owned(),
            author: "A. Person <a@example.org>".to_owned(),
            date: "2026-11-30".parse().unwrap(),
        };
        let first = with("# ours\n", &accepted);
        assert!(first.starts_with("# ours\n\n[[epoch]]\n"), "{first}");
        let second = with(&first, &Accepted { job: None, ..accepted.clone() });
        let epochs = Epochs::parse(&second).unwrap();
        assert_eq!(epochs.accepted[0], accepted);
        assert_eq!(epochs.list()[1].job, None);
        assert_eq!(epochs.list()[1].since, Since::Commit("abcdef0123".to_owned()));
        let of_pull = Accepted { commit: None, pull_request: Some(7), ..accepted };
        let third = Epochs::parse(&with(&second, &of_pull)).unwrap();
        assert_eq!(third.list()[2].since, Since::PullRequest(7));
        assert_eq!(Epochs::parse("").unwrap(), Epochs::default());
        assert!(Epochs::parse("epoch = 3").is_err());
    }
}
