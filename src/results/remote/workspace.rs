//! The folder in which a publisher keeps its part of the repository, and its key.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tempfile::NamedTempFile;

const PREFIX: &str = "perftrail-publish-";
const LOCK: &str = ".lock";
/// So often, and so long after each other, a dead publisher's folder is tried to be removed.
const REMOVALS: u32 = 10;
const REMOVAL_PAUSE: Duration = Duration::from_millis(100);

/// A folder of this process alone, removed at its end.
///
/// Its lock, a file beside it, is there and held before the folder is made, so a folder whose lock
/// nobody holds is a dead owner's, whatever the moment it died in.
#[derive(Debug)]
pub(super) struct Workspace {
    folder: PathBuf,
    /// Held for as long as the owner lives; the system lets go of it whatever the owner dies of.
    _lock: NamedTempFile,
}

impl Workspace {
    /// Makes a folder in `scratch`.
    pub(super) fn new(scratch: &Path) -> io::Result<Self> {
        let lock = loop {
            let lock = tempfile::Builder::new().prefix(PREFIX).suffix(LOCK).tempfile_in(scratch)?;
            lock.as_file().lock()?;
            // Before it was held, somebody may have taken it for a dead owner's and removed it.
            if lock.path().exists() {
                break lock;
            }
        };
        let folder = lock.path().with_extension("");
        make_private(&folder)?;
        Ok(Self { folder, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.folder
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

impl Drop for Workspace {
    /// The folder goes before its lock: what cannot be removed is left to the next publisher. So does
    /// what a dead publisher's git has written since it was removed.
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
        if let Some(scratch) = self.folder.parent() {
            remove_orphans(scratch);
        }
    }
}

#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)
}

/// Removes folders in `scratch` whose owner is dead, keys and locks included; gives how many.
pub(super) fn remove_orphans(scratch: &Path) -> usize {
    let Ok(entries) = fs::read_dir(scratch) else {
        return 0;
    };
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)))
        .filter(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => remove_orphan(&entry.path()),
            Ok(kind) if kind.is_file() => {
                remove_lock(&entry.path());
                false
            }
            _ => false,
        })
        .count()
}

fn remove_orphan(folder: &Path) -> bool {
    let lock = folder.with_extension(&LOCK[1..]);
    match File::open(&lock) {
        // Held until both are gone.
        Ok(held) if held.try_lock().is_ok() => {
            let removed = remove_folder(folder);
            let _ = fs::remove_file(lock);
            removed
        }
        Ok(_) => false,
        Err(error) => error.kind() == io::ErrorKind::NotFound && remove_folder(folder),
    }
}

/// Removes a folder into which the git program of its dead owner may still write for a moment.
fn remove_folder(folder: &Path) -> bool {
    for turn in 0..REMOVALS {
        if turn > 0 {
            thread::sleep(REMOVAL_PAUSE);
        }
        match fs::remove_dir_all(folder) {
            Ok(()) => return true,
            // Somebody else has removed it.
            Err(_) if !folder.exists() => return true,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return false,
            Err(_) => {}
        }
    }
    false
}

/// A lock without a folder, whose owner died before it made one.
fn remove_lock(lock: &Path) {
    let is_lock = lock.to_str().is_some_and(|path| path.ends_with(LOCK));
    if !is_lock || lock.with_extension("").exists() {
        return;
    }
    let Ok(held) = File::open(lock) else { return };
    if held.try_lock().is_ok() {
        let _ = fs::remove_file(lock);
    }
    // Held until it is gone: let go of before, its maker could lock it, and then lose it.
    drop(held);
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
        fs::write(dead.join("key"), "secret").unwrap();
        fs::write(scratch.path().join("perftrail-publish-dead.lock"), "").unwrap();
        fs::create_dir(scratch.path().join("perftrail-publish-unlocked")).unwrap();
        fs::write(scratch.path().join("perftrail-publish-early.lock"), "").unwrap();
        fs::create_dir(scratch.path().join("other")).unwrap();
        assert_eq!(remove_orphans(scratch.path()), 2);
        assert!(alive.path().exists());
        let left = fs::read_dir(scratch.path()).unwrap().count();
        assert_eq!(left, 3, "the folder of the living, its lock, and what is not ours");
        let path = alive.path().to_owned();
        drop(alive);
        assert!(!path.exists());
    }

    #[test]
    fn the_living_are_never_taken_for_dead() {
        let scratch = tempfile::tempdir().unwrap();
        let publish = || {
            for _ in 0..200 {
                remove_orphans(scratch.path());
                let workspace = Workspace::new(scratch.path()).unwrap();
                remove_orphans(scratch.path());
                assert!(workspace.path().exists(), "its folder was removed");
                assert!(workspace.path().with_extension("lock").exists(), "its lock was removed");
            }
        };
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(publish);
            }
        });
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
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
