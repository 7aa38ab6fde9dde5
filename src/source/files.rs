//! Finds the files that a job wrote, and reads them without following it astray.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use walkdir::{DirEntry, WalkDir};

/// A walk stops after so many entries: a job that writes millions of files must not hold the run up.
const ENTRIES_MAX: usize = 500_000;

/// Folders that are never a job's output.
const NEVER: [&str; 3] = [".git", "perftrail-out", "perftrail-results"];

/// Why files could not be looked for.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A pattern is none.
    #[error("read the pattern `{pattern}`: {source}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        source: globset::Error,
    },
    /// A file cannot be read.
    #[error("read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The path is a link, a folder, a pipe or a device.
    #[error("read {}: it is not a regular file", path.display())]
    NotRegular {
        /// The path.
        path: PathBuf,
    },
}

/// One regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// From the folder that was searched, with `/`.
    pub path: String,
    /// Where it is.
    pub absolute: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Device and inode: hard links of one file share them.
    pub id: (u64, u64),
    /// Last change, in nanoseconds.
    pub modified: i128,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Regular files, by path.
    pub files: Vec<FoundFile>,
    /// Other things that match, by kind (`symlink`, `pipe`, `socket`, `device`), and paths that
    /// are no text (`unreadable name`), with how many.
    pub passed_over: BTreeMap<&'static str, u64>,
    /// Whether the search stopped early.
    pub stopped_early: bool,
}

impl Found {
    /// Bytes of all files, a file with several names counted once.
    pub fn bytes(&self) -> u64 {
        let mut seen = BTreeSet::new();
        self.files.iter().filter(|file| seen.insert(file.id)).map(|file| file.bytes).sum()
    }

    /// The files that `earlier` does not hold as they are now.
    #[must_use]
    pub fn new_or_changed(mut self, earlier: &Self) -> Self {
        let before: HashMap<&str, &FoundFile> =
            earlier.files.iter().map(|file| (file.path.as_str(), file)).collect();
        self.files.retain(|file| before.get(file.path.as_str()).is_none_or(|old| *old != file));
        self
    }

    /// Adds what another search found; a path is kept once.
    pub fn join(&mut self, other: Self) {
        let here: BTreeSet<PathBuf> = self.files.iter().map(|file| file.absolute.clone()).collect();
        self.files.extend(other.files.into_iter().filter(|file| !here.contains(&file.absolute)));
        for (kind, count) in other.passed_over {
            *self.passed_over.entry(kind).or_default() += count;
        }
        self.stopped_early |= other.stopped_early;
    }
}

/// Regular files under `root` whose path matches one of `patterns`. Links are not followed.
///
/// # Errors
/// When a pattern is none. A missing folder has no files.
pub fn find(root: &Path, patterns: &[String]) -> Result<Found, FilesError> {
    if patterns.is_empty() {
        return Ok(Found::default());
    }
    let globs = compile(patterns)?;
    let mut found = Found::default();
    for start in starts(patterns) {
        walk(root, &start, &globs, &mut found);
    }
    found.files.sort_by(|a, b| a.path.cmp(&b.path));
    found.files.dedup_by(|a, b| a.path == b.path);
    Ok(found)
}

/// Everything in a folder that we made. A link that somebody has put in its place is not followed.
///
/// # Errors
/// Never for a folder that is there.
pub fn find_all(folder: &Path) -> Result<Found, FilesError> {
    if std::fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_symlink()) {
        return Ok(Found { passed_over: [("symlink", 1)].into(), ..Found::default() });
    }
    find(folder, &["**".to_owned()])
}

fn compile(patterns: &[String]) -> Result<GlobSet, FilesError> {
    let fail = |pattern: &str, source| FilesError::Pattern { pattern: pattern.to_owned(), source };
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let tidy = pattern.trim_start_matches("./");
        let glob = GlobBuilder::new(tidy)
            .literal_separator(true)
            .build()
            .map_err(|source| fail(pattern, source))?;
        set.add(glob);
    }
    set.build().map_err(|source| fail("", source))
}

/// The folders to search: the part of each pattern before its first wildcard, none inside another.
fn starts(patterns: &[String]) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    for pattern in patterns {
        let tidy = pattern.trim_start_matches("./");
        let literal = tidy.split(['*', '?', '[', '{']).next().unwrap_or_default();
        let folder = if literal.len() == tidy.len() {
            literal
        } else {
            literal.rsplit_once('/').map_or("", |(folder, _)| folder)
        };
        all.insert(PathBuf::from(folder));
    }
    let inside = |path: &PathBuf| all.iter().any(|other| other != path && path.starts_with(other));
    all.iter().filter(|path| !inside(path)).cloned().collect()
}

fn walk(root: &Path, start: &Path, globs: &GlobSet, found: &mut Found) {
    let skip = |entry: &DirEntry| {
        entry.depth() > 0
            && entry.file_type().is_dir()
            && entry.file_name().to_str().is_some_and(|name| NEVER.contains(&name))
    };
    let entries = WalkDir::new(root.join(start)).into_iter().filter_entry(|entry| !skip(entry));
    for (i, entry) in entries.enumerate() {
        if i >= ENTRIES_MAX {
            found.stopped_early = true;
            return;
        }
        // A folder that vanished or is closed to us has nothing to collect.
        let Ok(entry) = entry else { continue };
        if entry.file_type().is_dir() {
            continue;
        }
        let Ok(relative) = entry.path().strip_prefix(root) else { continue };
        if !globs.is_match(relative) {
            continue;
        }
        match describe(&entry, relative) {
            Ok(file) => found.files.push(file),
            Err(kind) => *found.passed_over.entry(kind).or_default() += 1,
        }
    }
}

fn describe(entry: &DirEntry, relative: &Path) -> Result<FoundFile, &'static str> {
    let kind = entry.file_type();
    if kind.is_symlink() {
        return Err("symlink");
    } else if kind.is_fifo() {
        return Err("pipe");
    } else if kind.is_socket() {
        return Err("socket");
    } else if !kind.is_file() {
        return Err("device");
    }
    let path = relative.to_str().ok_or("unreadable name")?.to_owned();
    let meta = entry.metadata().map_err(|_| "vanished")?;
    Ok(FoundFile {
        path,
        absolute: entry.path().to_owned(),
        bytes: meta.len(),
        id: (meta.dev(), meta.ino()),
        modified: i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec()),
    })
}

/// The first `limit` bytes of a regular file and whether there are more. A link or a pipe that has
/// taken the file's place is refused, not followed and not waited for.
///
/// # Errors
/// When it is no regular file or cannot be read.
pub fn read_head(path: &Path, limit: u64) -> Result<(Vec<u8>, bool), FilesError> {
    let fail = |source| FilesError::Read { path: path.to_owned(), source };
    let file = open_regular(path)?;
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(fail)?;
    let more = bytes.len() as u64 > limit;
    if more {
        bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    Ok((bytes, more))
}

/// Opens a regular file, to be read as a stream. A link or a pipe is refused, not followed and not
/// waited for.
///
/// # Errors
/// When it is no regular file or cannot be read.
pub fn open_regular(path: &Path) -> Result<File, FilesError> {
    let fail = |source| FilesError::Read { path: path.to_owned(), source };
    let file = open(path).map_err(fail)?;
    if !file.metadata().map_err(fail)?.is_file() {
        return Err(FilesError::NotRegular { path: path.to_owned() });
    }
    Ok(file)
}

fn open(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn searches_start_where_the_wildcards_do() {
        let all = starts(&patterns(&["out/a/*.csv", "out/**/*.json", "./log.txt", "x[12]/y"]));
        assert_eq!(
            all.into_iter().collect::<Vec<_>>(),
            [PathBuf::new()],
            "a pattern at the root takes all others in"
        );
        let some = starts(&patterns(&["out/a/*.csv", "out/**/*.json", "./log.txt"]));
        assert_eq!(
            some.into_iter().collect::<Vec<_>>(),
            [PathBuf::from("log.txt"), PathBuf::from("out")]
        );
    }

    #[test]
    fn only_regular_files_are_found_and_each_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "out/a.csv", "12");
        write(root, "out/deep/b.csv", "345");
        write(root, "out/.git/config", "secret");
        write(root, "other.csv", "no");
        std::os::unix::fs::symlink("/etc/passwd", root.join("out/link.csv")).unwrap();
        fs::hard_link(root.join("out/a.csv"), root.join("out/again.csv")).unwrap();
        let found = find(root, &patterns(&["out/**", "out/**/*.csv"])).unwrap();
        let paths: Vec<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["out/a.csv", "out/again.csv", "out/deep/b.csv"]);
        assert_eq!(found.bytes(), 5, "a file with two names counts once");
        assert_eq!(found.passed_over, BTreeMap::from([("symlink", 1)]));
    }

    #[test]
    fn what_was_there_before_is_no_output() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "old.csv", "1");
        write(folder.path(), "grows.csv", "1");
        let before = find(folder.path(), &patterns(&["*.csv"])).unwrap();
        write(folder.path(), "grows.csv", "12");
        write(folder.path(), "new.csv", "1");
        let after = find(folder.path(), &patterns(&["*.csv"])).unwrap().new_or_changed(&before);
        let paths: Vec<&str> = after.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["grows.csv", "new.csv"]);
    }

    #[test]
    fn a_link_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        assert!(read_head(&link, 10).is_err());
        assert!(matches!(read_head(folder.path(), 10), Err(FilesError::NotRegular { .. })));
        write(folder.path(), "file", "0123456789ab");
        assert_eq!(
            read_head(&folder.path().join("file"), 10).unwrap(),
            (b"0123456789".to_vec(), true)
        );
    }
}
