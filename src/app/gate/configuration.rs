//! The configuration at a commit, without a checkout.

use super::GateError;
use crate::config::{self, Config};
use crate::github::InRepository;
use crate::model::names::CommitSha;

/// A configuration, and whether there is a file of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Configured {
    /// What it says; the default where there is no file.
    pub config: Config,
    /// What is to be known of it; `None` where the file was read.
    pub missing: Option<String>,
}

/// Reads the configuration in the file `path` at `commit`.
///
/// # Errors
/// When GitHub does not answer, or the file is not right.
pub fn configuration(
    here: &InRepository<'_>,
    path: &str,
    commit: &CommitSha,
) -> Result<Configured, GateError> {
    let Some(bytes) = here.file_at(path, commit)? else {
        let short = commit.short();
        let missing =
            format!("there is no {path} at {short}, or the token may not read it (contents: read)");
        return Ok(Configured { config: Config::default(), missing: Some(missing) });
    };
    let text = String::from_utf8_lossy(&bytes);
    let config = config::parse(&format!("{path} at {}", commit.short()), &text)?;
    Ok(Configured { config, missing: None })
}
