//! Finds and reads the project's configuration and plans.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::config::{self, Config, Problems};
use crate::plan::{self, Plan};

/// Largest configuration or plan, in bytes.
const BYTES_MAX: u64 = 4 << 20;

/// Why a configuration or plan cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// The file cannot be read.
    #[error("read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The configuration is not right.
    #[error("{0}")]
    Config(#[from] Problems),
    /// The plan is not right.
    #[error("read the plan {}: {source}", path.display())]
    Plan {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: plan::ReadError,
    },
}

/// A project's configuration and what its paths are relative to.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// What it says; the default where there is no file.
    pub config: Config,
    /// The file; `None` where there is none.
    pub file: Option<PathBuf>,
    /// The folder that paths in it are relative to.
    pub root: PathBuf,
}

/// Reads the named file, else `perftrail.toml` in `folder`, else in the work tree's top, else
/// nothing: a project without a configuration has the default one.
///
/// # Errors
/// When a file that is there, or that was named, cannot be read or is not right.
pub fn load(
    named: Option<&Path>,
    folder: &Path,
    top: Option<&Path>,
) -> Result<Configuration, ConfigurationError> {
    let candidates = match named {
        Some(path) => vec![folder.join(path)],
        None => std::iter::once(folder).chain(top).map(|place| place.join(config::FILE)).collect(),
    };
    let optional = named.is_none();
    for file in candidates {
        match read_text(&file) {
            Ok(text) => {
                let config = config::parse(&file.display().to_string(), &text)?;
                let root = file.parent().unwrap_or(folder).to_owned();
                return Ok(Configuration { config, file: Some(file), root });
            }
            Err(error) if optional && error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(ConfigurationError::Read { path: file, source }),
        }
    }
    Ok(Configuration { config: Config::default(), file: None, root: folder.to_owned() })
}

/// Reads a plan.
///
/// # Errors
/// When it cannot be read or is not right.
pub fn load_plan(path: &Path) -> Result<Plan, ConfigurationError> {
    let text = read_text(path)
        .map_err(|source| ConfigurationError::Read { path: path.to_owned(), source })?;
    Plan::from_json(&text)
        .map_err(|source| ConfigurationError::Plan { path: path.to_owned(), source })
}

/// A regular file of text, of a size that people write. A pipe would wait for ever, and a device
/// never ends. Links are followed: the user named the file.
fn read_text(path: &Path) -> io::Result<String> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let meta = file.metadata()?;
    if meta.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !meta.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 4 MiB"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = memchr::memchr_iter(b'\n', &error.as_bytes()[..valid]).count() + 1;
        let why = format!("line {line} is not UTF-8 text: save the file as UTF-8");
        io::Error::new(io::ErrorKind::InvalidData, why)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_nearest_configuration_counts() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let found = load(None, &inner, Some(folder.path())).unwrap();
        assert_eq!((found.file, found.root), (None, inner.clone()));
        fs::write(folder.path().join("perftrail.toml"), "").unwrap();
        assert_eq!(load(None, &inner, Some(folder.path())).unwrap().root, folder.path());
        fs::write(inner.join("perftrail.toml"), "").unwrap();
        assert_eq!(load(None, &inner, Some(folder.path())).unwrap().root, inner);
    }

    #[test]
    fn a_named_file_must_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let error = load(Some(Path::new("no.toml")), folder.path(), None).unwrap_err();
        assert!(error.to_string().contains("no.toml"), "{error}");
    }
}
