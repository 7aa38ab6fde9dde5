//! `judging.json`: by which rules the runs of each project are judged, as the configuration of
//! whoever published last says. With it the landing page can be made anew by anybody.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::histories::Rules;
use super::verdict::Judging;
use crate::config::{History, MetricRule};

/// The file, at the results repository's root.
pub const JUDGING_FILE: &str = "judging.json";
/// A longer file is none of ours.
const BYTES_MAX: usize = 1 << 20;

/// What the file holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JudgingFile {
    /// By project, as index lines name it.
    #[serde(default)]
    projects: BTreeMap<String, Stored>,
}

/// The rules of one project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Stored {
    /// `[history] events`.
    events: Vec<String>,
    /// `[history] confirm_within`, in seconds.
    confirm_within: f64,
    /// `[triggers] skip_when_only`.
    #[serde(default)]
    quiet_paths: Vec<String>,
    /// `[metric]`.
    #[serde(default)]
    metrics: Vec<MetricRule>,
}

/// The file cannot be understood.
#[derive(Debug, thiserror::Error)]
pub enum JudgingError {
    /// It is longer than any of ours.
    #[error("judging.json has {bytes} bytes, and at most {BYTES_MAX} are read")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// It is no file of this form.
    #[error("judging.json cannot be read: {source}")]
    Form {
        /// What is wrong, and where.
        #[from]
        source: serde_json::Error,
    },
}

impl JudgingFile {
    /// Reads the file; an empty one has no rules.
    ///
    /// # Errors
    /// When it is no file of this form.
    pub fn parse(bytes: &[u8]) -> Result<Self, JudgingError> {
        match bytes.len() {
            0 => Ok(Self::default()),
            bytes if bytes > BYTES_MAX => Err(JudgingError::TooLong { bytes }),
            _ => Ok(serde_json::from_slice(bytes)?),
        }
    }

    /// How runs of `project` are judged: as usual where nothing is said about it.
    pub fn of(&self, project: &str) -> Judging {
        let Some(stored) = self.projects.get(project) else { return Judging::usual() };
        let seconds = stored.confirm_within;
        Judging {
            rules: Rules { events: stored.events.clone(), epochs: Vec::new() },
            metrics: stored.metrics.clone(),
            confirm_within: Duration::try_from_secs_f64(seconds).unwrap_or_default(),
            quiet_paths: stored.quiet_paths.clone(),
            given: true,
        }
    }

    /// Takes over how runs of `project` are judged.
    pub fn set(&mut self, project: &str, judging: &Judging) {
        let stored = Stored {
            events: judging.rules.events.clone(),
            confirm_within: judging.confirm_within.as_secs_f64(),
            quiet_paths: judging.quiet_paths.clone(),
            metrics: judging.metrics.clone(),
        };
        self.projects.insert(project.to_owned(), stored);
    }

    /// The file; equal rules give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}

impl Judging {
    /// How runs are judged where no configuration says otherwise.
    pub fn usual() -> Self {
        let History { events, confirm_within } = History::default();
        Self { rules: Rules { events, epochs: Vec::new() }, confirm_within, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn rules_come_back_as_they_were() {
        let text = "[history]\nevents = [\"schedule\"]\nconfirm_within = \"90s\"\n\
            [triggers]\nskip_when_only = [\"docs/**\"]\n\
            [metric.cpu_time]\nmin_effect = \"0.1%\"\nwarn = [\"3%\", \"2 s\"]\n\
            ignore = { until = \"2027-03-01\", because = \"known\" }\n";
        let config = config::parse("f", text).unwrap();
        let judging = Judging {
            rules: Rules { events: config.history.events.clone(), epochs: Vec::new() },
            metrics: config.metrics.clone(),
            confirm_within: config.history.confirm_within,
            quiet_paths: config.triggers.skip_when_only.clone(),
            given: true,
        };
        let mut file = JudgingFile::default();
        file.set("github.com/o/n", &judging);
        let read = JudgingFile::parse(&file.to_bytes()).unwrap();
        assert_eq!(read.of("github.com/o/n"), judging);
        assert_eq!(read.to_bytes(), file.to_bytes());
        assert_eq!(read.of("github.com/o/other"), Judging::usual());
        assert_eq!(JudgingFile::parse(b"").unwrap(), JudgingFile::default());
        assert!(JudgingFile::parse(b"{\"projects\": 3}").is_err());
        assert!(JudgingFile::parse(&vec![b' '; BYTES_MAX + 1]).is_err());
    }
}
