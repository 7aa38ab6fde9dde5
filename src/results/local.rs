//! A results repository on this machine.

use std::fs;
use std::io;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use git2::{Repository, RepositoryInitOptions};

use super::error::ResultsError;

/// The folder that holds HEAD and objects; `None` where `path` is free for a new repository.
pub(super) fn find(path: &Path) -> Result<Option<PathBuf>, ResultsError> {
    let denied = |source| denied(path, source);
    match fs::metadata(path) {
        Ok(found) if !found.is_dir() => {
            return Err(ResultsError::IsAFile { path: path.to_owned() });
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        // A file stands where a folder above it has to be.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(ResultsError::IsAFile { path: path.parent().unwrap_or(path).to_owned() });
        }
        Err(error) => return Err(denied(error)),
    }
    let inner = path.join(".git");
    if inner.is_dir() {
        return Ok(Some(inner));
    }
    if inner.is_file() {
        return Err(ResultsError::LinkedWorkTree { path: path.to_owned() });
    }
    if path.join("HEAD").is_file() && path.join("objects").is_dir() {
        return Ok(Some(path.to_owned()));
    }
    match fs::read_dir(path).map_err(denied)?.next() {
        None => Ok(None),
        Some(_) => Err(ResultsError::NotARepository { path: path.to_owned() }),
    }
}

/// Begins the names of folders in which a repository is being made, and the file in each that its
/// maker holds locked for as long as it lives.
const MAKING: &str = ".perftrail-new-";
const OWNER: &str = "owner.lock";

/// Removes half repositories beside `path` whose makers are dead; gives how many.
pub(super) fn remove_unmade(path: &Path) -> usize {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let Ok(entries) = fs::read_dir(parent.unwrap_or(Path::new("."))) else { return 0 };
    let is_dead = |folder: &Path| match fs::File::open(folder.join(OWNER)) {
        Ok(owner) => owner.try_lock().is_ok(),
        // Its maker has not come to lock it, and a moment later it has or is dead.
        Err(_) => fs::metadata(folder)
            .and_then(|found| found.modified())
            .is_ok_and(|made| made.elapsed().is_ok_and(|age| age >= LOCK_AGE)),
    };
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(MAKING))
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter(|entry| is_dead(&entry.path()) && fs::remove_dir_all(entry.path()).is_ok())
        .count()
}

/// Makes a bare repository whose HEAD is `branch`.
///
/// It is made beside its place and then moved there, so a publisher that dies halfway leaves no
/// half repository, and of two that make it at once one finds the other's.
pub(super) fn create(path: &Path, branch: &str) -> Result<PathBuf, ResultsError> {
    let at = |source| denied(path, source);
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(at)?;
    let making = tempfile::Builder::new().prefix(MAKING).tempdir_in(parent).map_err(at)?;
    // Its name comes when it is locked: nobody may find it free meanwhile.
    let unlocked = making.path().join("owner");
    let owner = fs::File::create(&unlocked).map_err(at)?;
    owner.lock().map_err(at)?;
    fs::rename(&unlocked, making.path().join(OWNER)).map_err(at)?;
    // The temporary folder is for its maker alone; the repository is as open as any other folder.
    let folder = making.path().join("repository");
    let mut options = RepositoryInitOptions::new();
    options.bare(true).no_reinit(true).external_template(false).initial_head(branch);
    Repository::init_opts(&folder, &options)
        .map_err(|source| ResultsError::git("make the results repository", source))?;
    fs::write(folder.join(".gitignore"), "*\n").map_err(at)?;
    let moved = fs::rename(&folder, path);
    // The folder goes before its lock does: without it, it would look like one of the dead.
    drop(making);
    drop(owner);
    match moved {
        Ok(()) => Ok(path.to_owned()),
        Err(error) => match find(path)? {
            Some(git_dir) => Ok(git_dir),
            None => Err(at(error)),
        },
    }
}

/// Opens the repository in `git_dir`.
///
/// Opened as a bare one, also where it has a work tree, for no work tree is ever touched. That
/// way libgit2 does not ask whether the folder belongs to this user, which keeps a publisher that
/// runs as root in a container working. The question protects those who come upon a repository
/// unawares, whose configuration could then run programs; this one was named by the user, and
/// libgit2 runs no hooks, filters or other programs from here.
pub(super) fn open(place: &Path, git_dir: &Path) -> Result<Repository, ResultsError> {
    Repository::open_bare(git_dir).map_err(|source| match source.code() {
        git2::ErrorCode::NotFound => ResultsError::NotARepository { path: place.to_owned() },
        _ => ResultsError::git("open the results repository", source),
    })
}

/// A branch whose files lie in some work tree must not move beneath it.
pub(super) fn check_not_checked_out(
    repository: &Repository,
    place: &Path,
    branch: &str,
) -> Result<(), ResultsError> {
    let git_dir = repository.path();
    let is_bare = repository.config().and_then(|config| config.get_bool("core.bare"));
    let mut heads = Vec::new();
    if !is_bare.unwrap_or(false) {
        heads.push(git_dir.join("HEAD"));
    }
    for tree in fs::read_dir(git_dir.join("worktrees")).into_iter().flatten().flatten() {
        heads.push(tree.path().join("HEAD"));
    }
    let wanted = format!("ref: refs/heads/{branch}");
    let is_ours = |head: &PathBuf| fs::read_to_string(head).is_ok_and(|text| text.trim() == wanted);
    if heads.iter().any(is_ours) {
        return Err(ResultsError::CheckedOut { path: place.to_owned(), branch: branch.to_owned() });
    }
    Ok(())
}

/// Tries to write, for libgit2 would not tell a read-only disk from a full one.
pub(super) fn check_writable(repository: &Repository, place: &Path) -> Result<(), ResultsError> {
    // A file of this name that a killed publisher leaves is removed by git itself.
    tempfile::Builder::new()
        .prefix("tmp_obj_")
        .tempfile_in(repository.path().join("objects"))
        .map(drop)
        .map_err(|source| denied(place, source))
}

/// Git holds the lock of a branch for a moment only.
const LOCK_AGE: Duration = Duration::from_mins(1);

/// Removes the lock of a branch whose owner must be dead, for it is old; says so.
pub(super) fn remove_old_lock(repository: &Repository, reference: &str) -> Option<String> {
    let lock = repository.path().join(format!("{reference}.lock"));
    // The file system's own clock, which may be another machine's.
    let now = tempfile::Builder::new()
        .prefix("tmp_obj_")
        .tempfile_in(repository.path().join("objects"))
        .and_then(|file| file.as_file().metadata()?.modified())
        .ok()?;
    let made = fs::metadata(&lock).and_then(|found| found.modified()).ok()?;
    let is_old = now.duration_since(made).is_ok_and(|age| age >= LOCK_AGE);
    (is_old && fs::remove_file(&lock).is_ok())
        .then(|| format!("removed the lock {} of a publish that was killed", lock.display()))
}

fn denied(path: &Path, source: io::Error) -> ResultsError {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            ResultsError::Full { path: path.to_owned() }
        }
        _ => ResultsError::Denied { path: path.to_owned(), source },
    }
}

/// Root that publishes into another user's repository gives that user what it wrote, or the
/// owner could not write there any more. What cannot be given stays root's: the run is published.
#[cfg(unix)]
pub(super) fn give_back(repository: &Repository) {
    use std::os::unix::fs::MetadataExt;

    let git_dir = repository.path();
    let Ok(owner) = fs::metadata(git_dir) else { return };
    if owner.uid() == 0 || !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = rustix::fs::open(git_dir, FOLDER, rustix::fs::Mode::empty());
    if let Ok(folder) = folder {
        give(
            &folder,
            rustix::fs::Uid::from_raw(owner.uid()),
            rustix::fs::Gid::from_raw(owner.gid()),
        );
    }
}

#[cfg(unix)]
const FOLDER: rustix::fs::OFlags = rustix::fs::OFlags::RDONLY
    .union(rustix::fs::OFlags::DIRECTORY)
    .union(rustix::fs::OFlags::NOFOLLOW)
    .union(rustix::fs::OFlags::CLOEXEC);

/// Gives what is root's in a folder to its owner. The owner may move things about meanwhile, so no
/// path is followed: each name counts in the folder that is open, and a file with a second name,
/// which may lie anywhere, is left.
#[cfg(unix)]
fn give(folder: &OwnedFd, user: rustix::fs::Uid, group: rustix::fs::Gid) {
    use rustix::fs::{AtFlags, Dir, FileType, Mode, chownat, openat, statat};

    let Ok(entries) = Dir::read_from(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let Ok(found) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
        if found.st_uid == 0 && (is_folder || found.st_nlink == 1) {
            let _ = chownat(folder, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW);
        }
        if is_folder && let Ok(below) = openat(folder, name, FOLDER, Mode::empty()) {
            give(&below, user, group);
        }
    }
}

#[cfg(not(unix))]
pub(super) fn give_back(_repository: &Repository) {}
