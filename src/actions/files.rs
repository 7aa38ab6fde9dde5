//! Files through which a step speaks to the runner: outputs, state for the step's end, the
//! summary. The runner reads them when the step has ended.
//!
//! A job that runs as the same user as the runner can write to them too. So they are looked at
//! before it starts, and set back to that afterwards.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;

/// Variables that name such a file.
const VARIABLES: [&str; 5] =
    ["GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"];
/// The runner throws a larger summary away, all of it; the margin is for its own masking.
pub const SUMMARY_MAX: usize = 1_000_000;

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The system refuses.
    #[error("write the runner's file {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The text holds the random word that ends it, which is no accident.
    #[error("the value of `{name}` holds the word that ends it")]
    Clash {
        /// The value's name.
        name: String,
    },
    /// No such word can be had.
    #[error("no random word for the runner's files: {source}")]
    Random {
        /// What the system said.
        source: io::Error,
    },
}

/// The files that the environment names.
#[derive(Clone, Debug, Default)]
pub struct Files {
    paths: BTreeMap<&'static str, PathBuf>,
}

/// What the files held at some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held(BTreeMap<&'static str, Option<Vec<u8>>>);

impl Files {
    /// Those that are named; outside Actions there are none, and nothing is written.
    pub fn from_variables(variables: &BTreeMap<String, String>) -> Self {
        let named = VARIABLES.iter().filter_map(|name| {
            let path = variables.get(*name).filter(|path| !path.is_empty())?;
            Some((*name, PathBuf::from(path)))
        });
        Self { paths: named.collect() }
    }

    /// Sets outputs of the step.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn outputs(&self, outputs: &[(&str, String)]) -> Result<(), FilesError> {
        self.values("GITHUB_OUTPUT", outputs)
    }

    /// Keeps values for the step's end, which finds them in `STATE_` and the name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn state(&self, values: &[(&str, String)]) -> Result<(), FilesError> {
        self.values("GITHUB_STATE", values)
    }

    fn values(&self, file: &str, values: &[(&str, String)]) -> Result<(), FilesError> {
        let mut text = String::new();
        for (name, value) in values {
            let word = random_word()?;
            if value.contains(&word) || name.contains(['\n', '\r', '=', '<']) {
                return Err(FilesError::Clash { name: (*name).to_owned() });
            }
            let value = value.replace('\r', "");
            let _ = write!(text, "{name}<<{word}\n{value}\n{word}\n");
        }
        self.append(file, text.as_bytes())
    }

    /// Adds to the step's summary, at most [`SUMMARY_MAX`] bytes in all; `false` when it does not
    /// fit and nothing was added.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn summary(&self, markdown: &str) -> Result<bool, FilesError> {
        let there = self.paths.get("GITHUB_STEP_SUMMARY").and_then(|path| fs::metadata(path).ok());
        let there = there.map_or(0, |found| usize::try_from(found.len()).unwrap_or(usize::MAX));
        if there.saturating_add(markdown.len()) > SUMMARY_MAX {
            return Ok(false);
        }
        self.append("GITHUB_STEP_SUMMARY", markdown.as_bytes()).map(|()| true)
    }

    fn append(&self, file: &str, bytes: &[u8]) -> Result<(), FilesError> {
        let Some(path) = self.paths.get(file) else { return Ok(()) };
        OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .and_then(|mut file| file.write_all(bytes))
            .map_err(|source| FilesError::Write { path: path.clone(), source })
    }

    /// What the files hold now. What is there and no file, such as `/dev/null`, is left alone: it
    /// tells no runner anything.
    pub fn held(&self) -> Held {
        let is_file_or_none =
            |path: &PathBuf| fs::symlink_metadata(path).map_or(true, |found| found.is_file());
        let files = self.paths.iter().filter(|(_, path)| is_file_or_none(path));
        Held(files.map(|(name, path)| (*name, fs::read(path).ok())).collect())
    }

    /// Sets the files back to what they held; gives the names of those that had changed.
    ///
    /// # Errors
    /// When one cannot be written.
    pub fn set_back(&self, held: &Held) -> Result<Vec<&'static str>, FilesError> {
        let mut changed = Vec::new();
        for (name, bytes) in &held.0 {
            let Some(path) = self.paths.get(name) else { continue };
            let is_plain = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
            if is_plain && fs::read(path).ok() == *bytes {
                continue;
            }
            if !is_plain && bytes.is_none() {
                continue;
            }
            changed.push(*name);
            let write = || {
                // A link in its place would lead the writing elsewhere.
                if !is_plain && fs::symlink_metadata(path).is_ok() {
                    fs::remove_file(path)?;
                }
                fs::write(path, bytes.as_deref().unwrap_or_default())
            };
            write().map_err(|source| FilesError::Write { path: path.clone(), source })?;
        }
        Ok(changed)
    }
}

/// A word that nobody can guess.
///
/// # Errors
/// When the system has no random numbers.
pub fn random_word() -> Result<String, FilesError> {
    let mut bytes = [0_u8; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        let flags = rustix::rand::GetRandomFlags::empty();
        filled += rustix::rand::getrandom(&mut bytes[filled..], flags)
            .map_err(|source| FilesError::Random { source: source.into() })?;
    }
    let mut word = "perftrail_".to_owned();
    for byte in bytes {
        let _ = write!(word, "{byte:02x}");
    }
    Ok(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &tempfile::TempDir) -> Files {
        let path = |name: &str| folder.path().join(name).display().to_string();
        Files::from_variables(&VARIABLES.map(|name| (name.to_owned(), path(name))).into())
    }

    fn text(folder: &tempfile::TempDir, name: &str) -> String {
        fs::read_to_string(folder.path().join(name)).unwrap_or_default()
    }

    #[test]
    fn outputs_cannot_end_themselves() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(&folder);
        let hostile = "1\nperftrail_\nEOF\nstatus<<x\r\n";
        files.outputs(&[("status", hostile.to_owned()), ("run", "true".to_owned())]).unwrap();
        let text = text(&folder, "GITHUB_OUTPUT");
        let (name, rest) = text.split_once("<<").unwrap();
        let (word, rest) = rest.split_once('\n').unwrap();
        let (value, rest) = rest.split_once(&format!("\n{word}\n")).unwrap();
        assert_eq!((name, value), ("status", hostile.replace('\r', "").as_str()));
        assert!(word.len() > 40 && rest.starts_with("run<<"), "{text}");
        assert_ne!(random_word().unwrap(), random_word().unwrap());
        assert!(files.outputs(&[("a<<b\nc", String::new())]).is_err());
    }

    #[test]
    fn a_summary_that_the_runner_would_drop_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(&folder);
        assert!(files.summary("# One\n").unwrap());
        assert!(!files.summary(&"x".repeat(SUMMARY_MAX)).unwrap());
        assert_eq!(text(&folder, "GITHUB_STEP_SUMMARY"), "# One\n");
    }

    #[test]
    fn what_a_job_wrote_is_taken_out() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(&folder);
        files.state(&[("a", "b".to_owned())]).unwrap();
        fs::write(folder.path().join("GITHUB_PATH"), "/x\n").unwrap();
        let held = files.held();
        assert_eq!(files.set_back(&held).unwrap(), Vec::<&str>::new());
        fs::write(folder.path().join("GITHUB_ENV"), "LD_PRELOAD=evil.so\n").unwrap();
        let path = folder.path().join("GITHUB_PATH");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        assert_eq!(files.set_back(&held).unwrap(), ["GITHUB_ENV", "GITHUB_PATH"]);
        assert_eq!(text(&folder, "GITHUB_ENV"), "");
        assert_eq!(text(&folder, "GITHUB_PATH"), "/x\n");
        assert!(!folder.path().join("elsewhere").exists());
    }

    #[test]
    fn what_is_no_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(&folder);
        let path = folder.path().join("GITHUB_OUTPUT");
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        let held = files.held();
        files.outputs(&[("a", "b".to_owned())]).unwrap();
        assert_eq!(files.set_back(&held).unwrap(), Vec::<&str>::new());
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    }

    #[test]
    fn outside_actions_nothing_is_written() {
        let files = Files::default();
        files.outputs(&[("a", "b".to_owned())]).unwrap();
        assert!(files.summary("x").unwrap());
    }
}
