//! Paths that may enter the results repository.
//!
//! libgit2 refuses `.git`, `..` and empty parts, but takes backslashes, `.gitmodules` and device
//! names, and git itself takes everything that one system can write and another cannot check
//! out. What a job names becomes a path only here.

use std::collections::BTreeMap;
use std::fmt;

/// Longest path, in bytes.
pub const PATH_MAX: usize = 1024;
/// Longest part of a path, in bytes.
pub const PART_MAX: usize = 240;
/// Most parts of a path.
pub const PARTS_MAX: usize = 32;

/// A path from the root of the results repository that is safe on every system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(String);

/// Why a path may not enter the repository.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It has no name at all, or an empty part: `/a`, `a//b`, `a/`.
    #[error("the path has an empty part")]
    Empty,
    /// `.` or `..`.
    #[error("the path has a part that leads elsewhere")]
    Climbs,
    /// It does not fit.
    #[error("the path is too long or too deep")]
    TooLong,
    /// A character that some system or reader takes for something else.
    #[error("the path holds a character that cannot be shown or stored everywhere")]
    Character,
    /// A name that git, a site or a system gives a meaning.
    #[error("the name {0} is reserved")]
    Reserved(String),
    /// A name that ends in a dot or a space, which one system drops.
    #[error("a part of the path ends in a dot or a space")]
    Ending,
    /// It is not UTF-8.
    #[error("the path is not UTF-8 text")]
    Encoding,
    /// On systems that do not tell case apart it is another path's name.
    #[error("the path differs from {0} only in case")]
    CaseClash(String),
}

impl RepoPath {
    /// Checks a path that a job or a bundle named.
    ///
    /// # Errors
    /// Says which rule it breaks.
    pub fn hostile(text: &str) -> Result<Self, PathError> {
        let path = Self::ours(text)?;
        match text.split('/').find(|part| is_reserved(part)) {
            Some(part) => Err(PathError::Reserved(part.to_owned())),
            None => Ok(path),
        }
    }

    /// Checks a path of our own making, which may bear reserved names such as `.nojekyll`.
    ///
    /// # Errors
    /// Says which rule it breaks.
    pub fn ours(text: &str) -> Result<Self, PathError> {
        if text.len() > PATH_MAX || text.split('/').count() > PARTS_MAX {
            return Err(PathError::TooLong);
        }
        text.split('/').try_for_each(check_part)?;
        Ok(Self(text.to_owned()))
    }

    /// The path as text, parts joined by `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path of `below` in this folder.
    ///
    /// # Errors
    /// When the whole is too long.
    pub fn join(&self, below: &Self) -> Result<Self, PathError> {
        Self::ours(&format!("{self}/{below}"))
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn check_part(part: &str) -> Result<(), PathError> {
    if part.is_empty() {
        return Err(PathError::Empty);
    }
    if part == "." || part == ".." {
        return Err(PathError::Climbs);
    }
    if part.len() > PART_MAX {
        return Err(PathError::TooLong);
    }
    if part.chars().any(is_unfit) {
        return Err(PathError::Character);
    }
    if part.ends_with(['.', ' ']) {
        return Err(PathError::Ending);
    }
    Ok(())
}

/// Control characters, the other system's separator, and characters that are not seen: they
/// reverse text, or make one name look like another (`.g\u{200c}it` is `.git` on some systems).
fn is_unfit(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\\' | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Names with a meaning to git (`.git…`, `git~1`), to the site of a repository, or to a system.
fn is_reserved(part: &str) -> bool {
    let lower = part.to_lowercase();
    let stem = lower.split('.').next().unwrap_or_default();
    lower.starts_with(".git")
        || lower
            .strip_prefix("git~")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        || matches!(
            lower.as_str(),
            "cname"
                | "_config.yml"
                | "_config.yaml"
                | "_config.toml"
                | ".nojekyll"
                | "_redirects"
                | "_headers"
        )
        || matches!(stem, "con" | "prn" | "aux" | "nul")
        || (stem.len() == 4
            && (stem.starts_with("com") || stem.starts_with("lpt"))
            && stem.ends_with(|c: char| c.is_ascii_digit()))
}

/// Paths of one bundle, of which none may differ from another, or from another's folder, only in case.
#[derive(Debug, Default)]
pub struct Siblings {
    /// Every path and folder in lower case, as it was first written.
    spelled: BTreeMap<String, String>,
}

impl Siblings {
    /// Adds a path.
    ///
    /// # Errors
    /// When it clashes with one that was added before; then it is not added.
    pub fn add(&mut self, path: &RepoPath) -> Result<(), PathError> {
        let text = path.as_str();
        let ends = text.match_indices('/').map(|(index, _)| index).chain([text.len()]);
        let prefixes: Vec<&str> = ends.map(|end| &text[..end]).collect();
        for prefix in &prefixes {
            match self.spelled.get(&prefix.to_lowercase()) {
                Some(other) if other != prefix => return Err(PathError::CaseClash(other.clone())),
                _ => {}
            }
        }
        for prefix in prefixes {
            self.spelled.insert(prefix.to_lowercase(), prefix.to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_job_may_not_name() {
        for (text, error) in [
            ("", PathError::Empty),
            ("/etc/passwd", PathError::Empty),
            ("a//b", PathError::Empty),
            ("a/", PathError::Empty),
            ("../../x", PathError::Climbs),
            ("a/./b", PathError::Climbs),
            ("a\\b", PathError::Character),
            ("a\nb", PathError::Character),
            ("files/\u{202e}fdp.exe", PathError::Character),
            (".g\u{200c}it/config", PathError::Character),
            ("trailing.", PathError::Ending),
            (".git /config", PathError::Ending),
            (".git/hooks/post-merge", PathError::Reserved(".git".into())),
            ("x/.GitModules", PathError::Reserved(".GitModules".into())),
            (".github/workflows/x.yml", PathError::Reserved(".github".into())),
            ("GIT~1/config", PathError::Reserved("GIT~1".into())),
            ("CNAME", PathError::Reserved("CNAME".into())),
            ("_config.yml", PathError::Reserved("_config.yml".into())),
            ("a/.nojekyll", PathError::Reserved(".nojekyll".into())),
            ("aux.csv", PathError::Reserved("aux.csv".into())),
            ("COM1", PathError::Reserved("COM1".into())),
        ] {
            assert_eq!(RepoPath::hostile(text), Err(error), "{text:?}");
        }
        assert_eq!(RepoPath::hostile(&"x".repeat(241)), Err(PathError::TooLong));
        assert_eq!(RepoPath::hostile(&vec!["x"; 33].join("/")), Err(PathError::TooLong));
    }

    #[test]
    fn what_a_job_may_name() {
        for text in [
            "a",
            "files/out 1/états.csv",
            "files/2010-01-01T10:00.csv",
            ".hidden",
            "git",
            "comet",
            "a..b",
            "console",
        ] {
            assert!(RepoPath::hostile(text).is_ok(), "{text}");
        }
        assert!(RepoPath::ours(".nojekyll").is_ok());
    }

    #[test]
    fn names_that_differ_in_case_clash() {
        let mut siblings = Siblings::default();
        let mut add = |text: &str| siblings.add(&RepoPath::hostile(text).unwrap());
        assert_eq!(add("files/Out/a.csv"), Ok(()));
        assert_eq!(add("files/Out/b.csv"), Ok(()));
        assert_eq!(add("files/Out/A.csv"), Err(PathError::CaseClash("files/Out/a.csv".into())));
        assert_eq!(add("files/out/c.csv"), Err(PathError::CaseClash("files/Out".into())));
        assert_eq!(add("FILES"), Err(PathError::CaseClash("files".into())));
        assert_eq!(add("files/Out/a.csv"), Ok(()));
    }

    proptest! {
        #[test]
        fn a_path_never_leaves_the_folder(text in "[a./\\\\G~1git]{0,20}") {
            if let Ok(path) = RepoPath::hostile(&text) {
                let parts: Vec<&str> = path.as_str().split('/').collect();
                prop_assert!(parts.iter().all(|part| !part.is_empty() && *part != ".." && *part != "."));
                prop_assert!(parts.iter().all(|part| !part.to_lowercase().starts_with(".git")));
                prop_assert!(!path.as_str().contains('\\'));
            }
        }
    }
}
