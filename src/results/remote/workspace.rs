//! The folder in which a publisher keeps its part of the repository, and its key.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

const PREFIX: &str = "perftrail-publish-";
const LOCK: &str = "owner.lock";

/// A folder of this process alone, removed at its end.
#[derive(Debug)]
pub(super) struct Workspace {
    folder: TempDir,
    /// Held for as long as the owner lives; the system lets go of it whatever the owner dies of.
    _lock: File,
}

impl Workspace {
    /// Makes a folder in `scratch`.
    pub(super) fn new(scratch: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(scratch)?;
        // It bears its name only once it is locked: a name without a lock is a dead owner's.
        let taking = folder.path().join("taking.lock");
        let lock = File::create(&taking)?;
        lock.lock()?;
        fs::rename(taking, folder.path().join(LOCK))?;
        Ok(Self { folder, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file that only this user can read.
    pub(super) fn write_private(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.path().join(name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        options.open(&path)?.write_all(text.as_bytes())?;
        Ok(path)
    }
}

/// Removes folders in `scratch` whose owner is dead, keys included; gives how many.
pub(super) fn remove_orphans(scratch: &Path) -> usize {
    let Ok(entries) = fs::read_dir(scratch) else {
        return 0;
    };
    let is_ours = |name: &str| name.starts_with(PREFIX);
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_ours))
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter(|entry| is_orphan(&entry.path()) && fs::remove_dir_all(entry.path()).is_ok())
        .count()
}

/// A folder without a lock file is one whose owner has only just made it, or could not.
fn is_orphan(folder: &Path) -> bool {
    let Ok(lock) = File::open(folder.join(LOCK)) else {
        return false;
    };
    match lock.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_the_dead_are_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let alive = Workspace::new(scratch.path()).unwrap();
        let dead = scratch.path().join("perftrail-publish-dead");
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join(LOCK), "").unwrap();
        fs::write(dead.join("key"), "secret").unwrap();
        fs::create_dir(scratch.path().join("perftrail-publish-new")).unwrap();
        fs::create_dir(scratch.path().join("other")).unwrap();
        assert_eq!(remove_orphans(scratch.path()), 1);
        assert!(!dead.exists() && alive.path().exists());
        assert!(scratch.path().join("other").exists());
        let path = alive.path().to_owned();
        drop(alive);
        assert!(!path.exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_key_is_its_users_alone() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(scratch.path()).unwrap();
        let path = workspace.write_private("key", "secret\n").unwrap();
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
