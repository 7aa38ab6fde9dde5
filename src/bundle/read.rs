//! Reads a bundle from disk, as hostile as if a stranger had sent it.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use crate::record::layout::RECORD_FILE;
use crate::record::read::{self, BYTES_MAX, ReadRecord, RecordError};

/// Most files of a bundle.
pub const FILES_MAX: usize = 20_000;
/// Deepest folder of a bundle.
const DEPTH_MAX: usize = 32;

/// A bundle on disk: its record, and its files to be read when they are wanted.
#[derive(Debug)]
pub struct Bundle {
    /// The bundle's folder.
    pub folder: PathBuf,
    /// The record, checked; its digest is that of its content.
    pub record: ReadRecord,
    /// Every plain file but the record, sorted by path.
    pub files: Vec<BundleFile>,
    /// What in the folder is no plain file, sorted by path.
    pub refused: Vec<Refused>,
}

/// A plain file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleFile {
    /// Its path in the bundle, parts joined by `/`.
    pub path: String,
    /// Its size in bytes when the folder was listed.
    pub bytes: u64,
    place: PathBuf,
}

/// Something that is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its path in the bundle, as far as it is text.
    pub path: String,
    /// Why it is not taken.
    pub why: WhyRefused,
}

/// Why something is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhyRefused {
    /// A link could lead to any file of the machine.
    #[error("it is a link")]
    Link,
    /// A pipe, a socket or a device.
    #[error("it is no plain file")]
    Special,
    /// A name that is not UTF-8.
    #[error("its name is not UTF-8 text")]
    Encoding,
    /// Folders too deep in each other.
    #[error("it lies too deep")]
    Deep,
    /// More files than any bundle has.
    #[error("the bundle has more than {FILES_MAX} files")]
    Many,
    /// The system does not let us look.
    #[error("it cannot be read")]
    Unreadable,
}

/// Why a folder is no bundle that can be used.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no bundle at the path or right below it.
    #[error("no bundle in {}: neither it nor a folder in it holds {RECORD_FILE}", path.display())]
    NoBundle {
        /// The path.
        path: PathBuf,
    },
    /// A file or folder cannot be read.
    #[error("read {}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The record is none that can be used.
    #[error("{}: {source}", path.display())]
    Record {
        /// The record's path.
        path: PathBuf,
        /// What is wrong with it.
        source: RecordError,
    },
    /// The record was changed after its run had finished it.
    #[error(
        "{}: the record says that its digest is {said}, and its content has {found}; it was changed after the run, and is not published; restore the file, or run the job again",
        path.display()
    )]
    Digest {
        /// The record's path.
        path: PathBuf,
        /// What the record says.
        said: String,
        /// What its content gives.
        found: String,
    },
    /// A finished record without a digest was not written by perftrail.
    #[error("{}: the record of a finished run has no digest: it was changed after the run, or something else wrote it; run the job again", path.display())]
    NoDigest {
        /// The record's path.
        path: PathBuf,
    },
}

/// The bundles at `path`: itself, or every folder in it that is one, by name.
///
/// # Errors
/// When there is none.
pub fn find(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    if is_bundle(path) {
        return Ok(vec![path.to_owned()]);
    }
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotADirectory) => {
            return Err(ReadError::NoBundle { path: path.to_owned() });
        }
        Err(source) => return Err(ReadError::Io { path: path.to_owned(), source }),
    };
    let mut bundles: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| is_bundle(path)).collect();
    bundles.sort();
    if bundles.is_empty() {
        return Err(ReadError::NoBundle { path: path.to_owned() });
    }
    Ok(bundles)
}

fn is_bundle(path: &Path) -> bool {
    fs::symlink_metadata(path.join(RECORD_FILE)).is_ok_and(|found| found.is_file())
}

/// Reads the bundle in `folder` and checks its digest.
///
/// # Errors
/// When the record is missing, unfit, or was changed. Files that cannot be taken are no error:
/// they are listed in [`Bundle::refused`].
pub fn read(folder: &Path) -> Result<Bundle, ReadError> {
    let path = folder.join(RECORD_FILE);
    let bytes = read_plain(&path, BYTES_MAX as u64)
        .map_err(|source| ReadError::Io { path: path.clone(), source })?;
    let record =
        read::read(&bytes).map_err(|source| ReadError::Record { path: path.clone(), source })?;
    check_digest(&record, path)?;
    let (files, refused) = list(folder);
    Ok(Bundle { folder: folder.to_owned(), record, files, refused })
}

fn check_digest(record: &ReadRecord, path: PathBuf) -> Result<(), ReadError> {
    let found = record.content_digest();
    match &record.record.run.digest {
        Some(said) if *said == found => Ok(()),
        Some(said) => {
            let said: String = said.chars().filter(|c| !c.is_control()).take(64).collect();
            Err(ReadError::Digest { path, said, found })
        }
        // It is written again and again while the job runs, and the last time may never come.
        None if record.record.run.status.is_replaceable() => Ok(()),
        None => Err(ReadError::NoDigest { path }),
    }
}

/// Lists the bundle without following links.
fn list(folder: &Path) -> (Vec<BundleFile>, Vec<Refused>) {
    let (mut files, mut refused) = (Vec::new(), Vec::new());
    let walk = WalkDir::new(folder).min_depth(1).max_depth(DEPTH_MAX).sort_by_file_name();
    for entry in walk {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let place = error.path().unwrap_or(folder);
                let path = lossy(folder, place);
                refused.push(Refused { path, why: WhyRefused::Unreadable });
                continue;
            }
        };
        if entry.file_type().is_dir() && entry.depth() < DEPTH_MAX {
            continue;
        }
        if is_our_own(&entry) {
            continue;
        }
        let place = entry.path();
        match take(folder, &entry) {
            Ok(_) if files.len() >= FILES_MAX => {
                refused.push(Refused { path: lossy(folder, place), why: WhyRefused::Many });
                break;
            }
            Ok(file) => files.push(file),
            Err(why) => refused.push(Refused { path: lossy(folder, place), why }),
        }
        if refused.len() >= FILES_MAX {
            break;
        }
    }
    (files, refused)
}

fn take(folder: &Path, entry: &DirEntry) -> Result<BundleFile, WhyRefused> {
    let kind = entry.file_type();
    if kind.is_symlink() {
        return Err(WhyRefused::Link);
    }
    if kind.is_dir() {
        return Err(WhyRefused::Deep);
    }
    if !kind.is_file() {
        return Err(WhyRefused::Special);
    }
    let bytes = entry.metadata().map_err(|_| WhyRefused::Unreadable)?.len();
    let parts: Option<Vec<&str>> =
        below(folder, entry.path()).iter().map(|part: &OsStr| part.to_str()).collect();
    let path = parts.ok_or(WhyRefused::Encoding)?.join("/");
    Ok(BundleFile { path, bytes, place: entry.path().to_owned() })
}

/// The record, which is read apart, and files that only stand there while a bundle is written.
fn is_our_own(entry: &DirEntry) -> bool {
    let name = entry.file_name().as_encoded_bytes();
    (entry.depth() == 1 && (name == RECORD_FILE.as_bytes() || name == b".reserve"))
        || name.starts_with(b".writing-")
}

fn below<'a>(folder: &Path, place: &'a Path) -> &'a Path {
    place.strip_prefix(folder).unwrap_or(place)
}

fn lossy(folder: &Path, place: &Path) -> String {
    below(folder, place).to_string_lossy().into_owned()
}

impl BundleFile {
    /// Its content.
    ///
    /// # Errors
    /// When it cannot be read, is no plain file any more, or has grown since it was listed.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        read_plain(&self.place, self.bytes)
    }
}

/// Reads a plain file of at most `max` bytes; what became a link or a pipe meanwhile is refused.
fn read_plain(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let file = open_plain(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file"));
    }
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than it may be"));
    }
    Ok(bytes)
}

#[cfg(unix)]
fn open_plain(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    // A pipe would wait for a writer for ever.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn open_plain(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &[u8] = include_bytes!("../../tests/fixtures/records/v1/succeeded.json");

    fn bundle(record: &[u8]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(RECORD_FILE), record).unwrap();
        folder
    }

    #[test]
    fn bundles_are_found_at_a_path_or_right_below() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(find(folder.path()), Err(ReadError::NoBundle { .. })));
        assert!(matches!(find(&folder.path().join("missing")), Err(ReadError::Io { .. })));
        for name in ["b", "a", "no"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        for name in ["b", "a"] {
            fs::write(folder.path().join(name).join(RECORD_FILE), RECORD).unwrap();
        }
        let found = find(folder.path()).unwrap();
        assert_eq!(found, [folder.path().join("a"), folder.path().join("b")]);
        assert_eq!(find(&found[0]).unwrap(), [found[0].clone()]);
        assert!(matches!(find(&found[0].join(RECORD_FILE)), Err(ReadError::NoBundle { .. })));
    }

    #[test]
    fn a_changed_record_is_refused() {
        let text = String::from_utf8_lossy(RECORD).replace("118.05", "11.05");
        let folder = bundle(text.as_bytes());
        assert!(matches!(read(folder.path()), Err(ReadError::Digest { .. })));
        let text = String::from_utf8_lossy(RECORD);
        let start = text.find("\"digest\": \"").unwrap() + 10;
        let without = format!("{}null{}", &text[..start], &text[start + 66..]);
        let folder = bundle(without.as_bytes());
        assert!(matches!(read(folder.path()), Err(ReadError::NoDigest { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn only_plain_files_are_taken() {
        use std::os::unix::ffi::OsStrExt;
        let folder = bundle(RECORD);
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("files/deep")).unwrap();
        fs::write(at("files/deep/a.csv"), "1\n").unwrap();
        fs::write(at(".reserve"), "x").unwrap();
        fs::write(at("files/.writing-abc"), "x").unwrap();
        fs::write(folder.path().join(OsStr::from_bytes(b"files/\xff")), "x").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", at("files/passwd")).unwrap();
        std::os::unix::fs::symlink("/etc", at("files/etc")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("files/pipe"), rustix::fs::Mode::RUSR).unwrap();
        let bundle = read(folder.path()).unwrap();
        let paths: Vec<_> = bundle.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["files/deep/a.csv"]);
        assert_eq!(bundle.files[0].read().unwrap(), b"1\n");
        let refused: Vec<_> =
            bundle.refused.iter().map(|refused| (refused.path.as_str(), refused.why)).collect();
        assert_eq!(
            refused,
            [
                ("files/etc", WhyRefused::Link),
                ("files/passwd", WhyRefused::Link),
                ("files/pipe", WhyRefused::Special),
                ("files/\u{fffd}", WhyRefused::Encoding),
            ]
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_changes_after_it_was_listed_is_refused() {
        let folder = bundle(RECORD);
        let path = folder.path().join("log.txt.gz");
        fs::write(&path, "12").unwrap();
        let bundle = read(folder.path()).unwrap();
        fs::write(&path, "123").unwrap();
        assert!(bundle.files[0].read().is_err());
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
        assert!(bundle.files[0].read().is_err());
    }
}
