//! Writes a bundle, file by file, each of them whole or not at all.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::GzBuilder;
use sha2::{Digest, Sha256};

use crate::record::layout::RECORD_FILE;
use crate::record::redact::Redactor;
use crate::record::series::SeriesFile;
use crate::record::{Record, canonical};

/// Kept free on the bundle's disk while the job runs, so that the last record still fits when the
/// job fills the disk.
const RESERVE_BYTES: usize = 4 << 20;
const RESERVE_FILE: &str = ".reserve";

/// Why a bundle could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The folder for all bundles cannot be had.
    #[error("make the output folder {}: {source}; choose another with --output", path.display())]
    Output {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A folder of this run's name is there already.
    #[error("make the bundle {}: it is there already, and a bundle is never written over", path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// A file of the bundle cannot be written.
    #[error("write {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The record is no JSON, which is a fault of perftrail.
    #[error("write the record as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// A bundle that is being written. Whatever of a job goes through it is without secrets.
#[derive(Debug)]
pub struct BundleWriter {
    folder: PathBuf,
    redactor: Redactor,
}

impl BundleWriter {
    /// Makes the folder `output/id` for a new run, and `output` itself where it is missing, with a
    /// `.gitignore` that keeps both out of the project's repository. A folder that was there before
    /// may hold other things, and stays as it is.
    ///
    /// # Errors
    /// When the folder cannot be made or is there already.
    pub fn create(output: &Path, id: &str, redactor: Redactor) -> Result<Self, WriteError> {
        let at_output = |source| WriteError::Output { path: output.to_owned(), source };
        let is_new = !output.exists();
        fs::create_dir_all(output).map_err(at_output)?;
        if is_new {
            keep_out_of_git(output).map_err(at_output)?;
        }
        let folder = output.join(id);
        match fs::create_dir(&folder) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(WriteError::Exists { path: folder });
            }
            Err(source) => return Err(WriteError::Output { path: folder, source }),
        }
        let bundle = Self { folder, redactor };
        // The reserve is only a help: where it does not fit, the record still may.
        if fs::write(bundle.folder.join(RESERVE_FILE), vec![1_u8; RESERVE_BYTES]).is_err() {
            bundle.release_reserve();
        }
        Ok(bundle)
    }

    /// The same bundle in a new folder of `place`, or where the system keeps temporary files: for
    /// when the first folder takes no more. It is never removed.
    ///
    /// # Errors
    /// When that cannot be written either.
    pub fn elsewhere(&self, place: Option<&Path>) -> Result<Self, WriteError> {
        let place = place.map_or_else(std::env::temp_dir, Path::to_owned);
        let at = |source| WriteError::Output { path: place.clone(), source };
        let folder = tempfile::Builder::new()
            .prefix("perftrail-saved-")
            .tempdir_in(&place)
            .map_err(at)?
            .keep()
            .join(self.folder.file_name().unwrap_or_default());
        fs::create_dir(&folder).map_err(at)?;
        Ok(Self { folder, redactor: self.redactor.clone() })
    }

    /// Takes the bundle away again: its run has not begun.
    pub fn discard(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Where the bundle lies.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Gives the reserved space back: the job has ended, the last files are to be written.
    pub fn release_reserve(&self) {
        let _ = fs::remove_file(self.folder.join(RESERVE_FILE));
    }

    /// What takes secrets out of texts.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Writes the record without secrets. A reader sees the older record or this one, never a part.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_record(&self, record: &Record) -> Result<(), WriteError> {
        let mut clean = record.clone();
        self.redactor.clean(&mut clean);
        self.write(RECORD_FILE, &canonical::pretty(&clean)?)
    }

    /// Takes secrets out of the record of an ended run, signs it with its digest and writes it.
    /// What is given back is what was written.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn seal(&self, mut record: Record) -> Result<Record, WriteError> {
        self.redactor.clean(&mut record);
        record.run.digest = Some(canonical::record_digest(&record)?);
        self.write(RECORD_FILE, &canonical::pretty(&record)?)?;
        Ok(record)
    }

    /// The log as it is kept.
    pub fn clean_log(&self, log: &[u8]) -> Vec<u8> {
        self.redactor.bytes(log)
    }

    /// The series as they are kept.
    pub fn clean_series(&self, mut series: SeriesFile) -> SeriesFile {
        self.redactor.clean_series(&mut series);
        series
    }

    /// Writes one file of the bundle; `name` may hold folders.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), WriteError> {
        let path = self.folder.join(name);
        replace(&path, bytes).map_err(|source| WriteError::File { path, source })
    }

    /// Copies a stream into the bundle; gives its length and its sha256.
    ///
    /// # Errors
    /// When the stream cannot be read or the file cannot be written.
    pub fn copy(&self, name: &str, source: &mut dyn Read) -> Result<(u64, String), WriteError> {
        let path = self.folder.join(name);
        copy(&path, source).map_err(|source| WriteError::File { path, source })
    }

    /// Writes `bytes` gzipped. The same bytes give the same file: no time, no name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_gz(&self, name: &str, bytes: &[u8]) -> Result<(), WriteError> {
        let path = self.folder.join(name);
        let packed = gzip(bytes).map_err(|source| WriteError::File { path, source })?;
        self.write(name, &packed)
    }
}

/// `bytes` as a gzip file without time or name.
///
/// # Errors
/// None in practice: the sink is memory.
pub fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// A `.gitignore` of `*` in a new `folder`.
fn keep_out_of_git(folder: &Path) -> io::Result<()> {
    match File::create_new(folder.join(".gitignore")) {
        Ok(mut file) => file.write_all(b"*\n"),
        // Another run may have made both a moment ago.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn copy(path: &Path, source: &mut dyn Read) -> io::Result<(u64, String)> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().prefix(".writing-").tempfile_in(folder)?;
    let (mut hash, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 64 << 10]);
    loop {
        let read = match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        file.write_all(&buffer[..read])?;
        hash.update(&buffer[..read]);
        bytes += read as u64;
    }
    file.as_file().sync_data()?;
    readable_by_all(&file.persist(path).map_err(|error| error.error)?)?;
    Ok((bytes, canonical::hex(&hash.finalize())))
}

/// Puts `bytes` at `path` in one step: a temporary file beside it, flushed to disk, then renamed.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().prefix(".writing-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_data()?;
    let file = file.persist(path).map_err(|error| error.error)?;
    readable_by_all(&file)
}

#[cfg(unix)]
fn readable_by_all(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable_by_all(_file: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_is_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out");
        let create = || BundleWriter::create(&output, "run", Redactor::new([]));
        let first = create().unwrap();
        first.write("files/deep/a.csv", b"1").unwrap();
        assert!(matches!(create(), Err(WriteError::Exists { .. })));
        assert_eq!(fs::read(first.folder().join("files/deep/a.csv")).unwrap(), b"1");
        assert_eq!(fs::read(output.join(".gitignore")).unwrap(), b"*\n");
    }

    #[test]
    fn a_folder_that_was_there_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        BundleWriter::create(folder.path(), "run", Redactor::new([])).unwrap();
        assert!(!folder.path().join(".gitignore").exists());
    }

    #[test]
    fn an_output_folder_that_is_a_file_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "x").unwrap();
        let error = BundleWriter::create(&path, "run", Redactor::new([])).unwrap_err();
        assert!(error.to_string().contains("--output"), "{error}");
    }

    #[test]
    fn equal_bytes_give_equal_files() {
        assert_eq!(gzip(b"log").unwrap(), gzip(b"log").unwrap());
    }
}
