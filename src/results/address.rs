//! What people name as the results repository: a path, an address, or `owner/name`.

use std::path::{Path, PathBuf};

/// A place that was named, before anything is looked up there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A path on this machine.
    Path(PathBuf),
    /// An address that the git program understands; it holds no secret.
    Url(String),
}

/// Why a text names no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Nothing.
    #[error("the results repository has no name: give owner/name, an address or a path")]
    Empty,
    /// Secrets in addresses end up in logs, process lists and configuration files.
    #[error(
        "the address of the results repository holds a password; give it as the results token instead, and make a new one, for this one may have been seen"
    )]
    Secret,
    /// A line break, a space, or an address that would be taken for an option.
    #[error("the address of the results repository holds a character that no address has")]
    Character,
    /// `ext::` and the like run programs, `ftp` is dead.
    #[error("{scheme:?} addresses are not used: give https, ssh or file")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
}

impl Address {
    /// Reads `text`. `owner/name` lies at `server` (`https://github.com`), unless there is a
    /// folder of that name; anything else without a scheme is a path.
    ///
    /// # Errors
    /// When it is no address that can be used.
    pub fn parse(text: &str, server: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(AddressError::Empty);
        }
        if let Some((scheme, rest)) = text.split_once("://") {
            return url(text, scheme, rest);
        }
        if text.contains("::") {
            let scheme = text.split("::").next().unwrap_or_default().to_owned();
            return Err(AddressError::Scheme { scheme });
        }
        if is_scp(text) {
            return plain(text).map(Self::Url);
        }
        if is_slug(text) && !Path::new(text).exists() {
            return Ok(Self::Url(format!("{}/{text}", server.trim_end_matches('/'))));
        }
        Ok(Self::Path(PathBuf::from(text)))
    }
}

fn url(text: &str, scheme: &str, rest: &str) -> Result<Address, AddressError> {
    let scheme = scheme.to_ascii_lowercase();
    if !matches!(scheme.as_str(), "https" | "http" | "ssh" | "file") {
        return Err(AddressError::Scheme { scheme: scheme.chars().take(20).collect() });
    }
    let authority = rest.split('/').next().unwrap_or_default();
    // `ssh://git@host` names a user; anything before the `@` of a web address is a secret.
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    if user.is_some_and(|user| user.contains(':') || scheme.starts_with("http")) {
        return Err(AddressError::Secret);
    }
    plain(text).map(Address::Url)
}

fn plain(text: &str) -> Result<String, AddressError> {
    if text.starts_with('-') || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(AddressError::Character);
    }
    Ok(text.to_owned())
}

/// `git@host:path`, as git has it: a colon before the first slash.
fn is_scp(text: &str) -> bool {
    let head = text.split('/').next().unwrap_or_default();
    head.split_once(':').is_some_and(|(host, _)| host.len() > 1)
}

fn is_slug(text: &str) -> bool {
    let is_name = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.bytes().all(|c| c.is_ascii_alphanumeric() || b"._-".contains(&c))
    };
    text.split_once('/').is_some_and(|(owner, name)| is_name(owner) && is_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths() {
        let server = "https://github.example.org/";
        let url = |text: &str| Ok(Address::Url(text.to_owned()));
        let path = |text: &str| Ok(Address::Path(PathBuf::from(text)));
        for (text, address) in [
            ("UCL/TLOmodel-profiling", url("https://github.example.org/UCL/TLOmodel-profiling")),
            ("https://github.com/a/b", url("https://github.com/a/b")),
            ("ssh://git@host:22/a/b.git", url("ssh://git@host:22/a/b.git")),
            ("git@github.com:a/b.git", url("git@github.com:a/b.git")),
            ("file:///srv/results.git", url("file:///srv/results.git")),
            ("./perftrail-results", path("./perftrail-results")),
            ("perftrail-results", path("perftrail-results")),
            ("src/results", path("src/results")),
            ("../a/b", path("../a/b")),
            ("a/b/c", path("a/b/c")),
            ("/srv/x", path("/srv/x")),
            ("", Err(AddressError::Empty)),
            ("https://x:secret@github.com/a/b", Err(AddressError::Secret)),
            ("https://ghp_secret@github.com/a/b", Err(AddressError::Secret)),
            ("ssh://git:secret@host/a", Err(AddressError::Secret)),
            ("https://host/a b", Err(AddressError::Character)),
            ("-x@host:path", Err(AddressError::Character)),
            ("ext::sh -c whoami", Err(AddressError::Scheme { scheme: "ext".into() })),
            ("ftp://host/a", Err(AddressError::Scheme { scheme: "ftp".into() })),
        ] {
            assert_eq!(Address::parse(text, server), address, "{text}");
        }
        assert!(!AddressError::Secret.to_string().contains("secret@"));
    }
}
