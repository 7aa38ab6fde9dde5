//! Files that live as long as a run and are not part of its bundle.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Why there is no place for temporary files.
#[derive(Debug, thiserror::Error)]
#[error("make a folder for temporary files in {}: {source}; set TMPDIR to another place", place.display())]
pub struct ScratchError {
    place: PathBuf,
    source: io::Error,
}

/// A folder outside the work tree, removed when it is dropped.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
}

impl Scratch {
    /// A new one in `place`, or where the system keeps such files.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(place: Option<&Path>) -> Result<Self, ScratchError> {
        let place = place.map_or_else(std::env::temp_dir, Path::to_owned);
        let folder = tempfile::Builder::new().prefix("perftrail-").tempdir_in(&place);
        folder.map(|folder| Self { folder }).map_err(|source| ScratchError { place, source })
    }

    /// The empty folder for the output of one repetition; what was in it is gone.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn output(&self, name: &str) -> Result<PathBuf, ScratchError> {
        let place = self.folder.path().join(name);
        self.restore().map_err(|source| ScratchError { place: place.clone(), source })?;
        let _ = fs::remove_dir_all(&place);
        match fs::create_dir(&place) {
            Ok(()) => Ok(place),
            Err(source) => Err(ScratchError { place, source }),
        }
    }

    /// A job that tidies up the place for temporary files takes ours as well: makes it again, unless
    /// something else stands there now.
    fn restore(&self) -> io::Result<()> {
        let place = self.folder.path();
        match fs::symlink_metadata(place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().mode(0o700).create(place)
            }
            _ => Ok(()),
        }
    }

    /// Removes the output of a repetition that is not wanted any more. What cannot be removed goes
    /// with the whole folder at the end.
    pub fn forget(&self, output: &Path) {
        if output.starts_with(self.folder.path()) {
            let _ = fs::remove_dir_all(output);
        }
    }

    /// An empty file for the lines that a job tells.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn stats_file(&self) -> Result<PathBuf, ScratchError> {
        let place = self.folder.path().join("stats.jsonl");
        self.restore().map_err(|source| ScratchError { place: place.clone(), source })?;
        // A job may have left a pipe or a link there.
        let _ = fs::remove_file(&place);
        match fs::File::create_new(&place) {
            Ok(_) => Ok(place),
            Err(source) => Err(ScratchError { place, source }),
        }
    }
}
