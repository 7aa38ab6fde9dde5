//! Picks paths by globs.

use globset::{GlobSet, GlobSetBuilder};

use crate::config::patterns;

/// Globs that have been compiled together.
#[derive(Clone, Debug)]
pub struct Selector(GlobSet);

impl Selector {
    /// Compiles globs: `*` and `?` stay within a folder, `**` crosses folders.
    ///
    /// # Errors
    /// When one does not compile, or all together are too large.
    pub fn new<T: AsRef<str>>(globs: &[T]) -> Result<Self, globset::Error> {
        let mut set = GlobSetBuilder::new();
        for glob in globs {
            set.add(patterns::glob(glob.as_ref())?);
        }
        Ok(Self(set.build()?))
    }

    /// Whether one of the globs matches the path, which is relative, with `/` between folders.
    pub fn matches(&self, path: &str) -> bool {
        self.0.is_match(path.strip_prefix("./").unwrap_or(path))
    }
}

/// The paths that one of the globs matches, in their order.
///
/// # Errors
/// As [`Selector::new`].
pub fn select<'a, T: AsRef<str>>(
    globs: &[T],
    paths: &'a [String],
) -> Result<Vec<&'a str>, globset::Error> {
    let selector = Selector::new(globs)?;
    Ok(paths.iter().map(String::as_str).filter(|path| selector.matches(path)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_folders() {
        let paths = ["a.csv", "out/b.csv", "out/deep/c.csv", "out/deep/d.json", ".github/x.yml"]
            .map(str::to_owned);
        for (glob, expected) in [
            ("*.csv", vec!["a.csv"]),
            ("**/*.csv", vec!["a.csv", "out/b.csv", "out/deep/c.csv"]),
            ("out/**", vec!["out/b.csv", "out/deep/c.csv", "out/deep/d.json"]),
            ("out/*", vec!["out/b.csv"]),
            ("./out/*.csv", vec!["out/b.csv"]),
            ("out/**/*.csv", vec!["out/b.csv", "out/deep/c.csv"]),
            ("out/deep/{c,d}.*", vec!["out/deep/c.csv", "out/deep/d.json"]),
            (".github/**", vec![".github/x.yml"]),
            ("nothing", vec![]),
        ] {
            assert_eq!(select(&[glob], &paths).expect("a glob"), expected, "{glob}");
        }
        assert!(select(&["a["], &paths).is_err());
        assert!(select::<&str>(&[], &paths).expect("no globs").is_empty());
    }
}
