//! Files that a commit adds, rewrites or drops.

use std::collections::{BTreeMap, BTreeSet};

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, Oid};

use super::error::ResultsError;
use super::path::RepoPath;
use super::tip::Tip;

/// Files that a commit adds, rewrites or drops. Everything else of the tip stays as it is.
///
/// Contents are written into the repository at once, so that not all of them have to be held in
/// memory; without a commit that names them, git drops them some day.
#[derive(Debug, Default)]
pub struct Change {
    files: BTreeMap<RepoPath, Content>,
}

#[derive(Clone, Copy, Debug)]
enum Content {
    Blob(Oid),
    Dropped,
}

impl Change {
    /// Puts a file into the commit.
    ///
    /// # Errors
    /// When the content cannot be written.
    pub fn put(&mut self, tip: &Tip<'_>, path: RepoPath, bytes: &[u8]) -> Result<(), ResultsError> {
        let id = tip
            .repository()
            .blob(bytes)
            .map_err(|source| ResultsError::git("write a file into the repository", source))?;
        self.files.insert(path, Content::Blob(id));
        Ok(())
    }

    /// Drops what the tip holds in `folder` and this change does not put there anew.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn drop_others(&mut self, tip: &Tip<'_>, folder: &RepoPath) -> Result<(), ResultsError> {
        for path in tip.list_all(folder.as_str())? {
            let path =
                RepoPath::ours(&path).map_err(|source| ResultsError::Path { path, source })?;
            self.files.entry(path).or_insert(Content::Dropped);
        }
        Ok(())
    }

    /// Drops a file, if the tip holds it.
    ///
    /// # Errors
    /// When its folder cannot be read.
    pub fn drop_file(&mut self, tip: &Tip<'_>, path: RepoPath) -> Result<(), ResultsError> {
        let (folder, name) = path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()));
        if tip.list(folder)?.iter().any(|entry| !entry.is_folder && entry.name == name) {
            self.files.insert(path, Content::Dropped);
        }
        Ok(())
    }

    /// Whether there is anything to do.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The folders in which something changes.
    fn folders(&self) -> Vec<String> {
        let folder =
            |path: &RepoPath| path.as_str().rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let folders: BTreeSet<String> = self.files.keys().filter_map(folder).collect();
        folders.into_iter().collect()
    }

    /// Writes the trees of the changed paths, and no others; gives the root's.
    pub(super) fn tree(&self, tip: &Tip<'_>) -> Result<Oid, ResultsError> {
        let failed = |source| ResultsError::git("write the folders of the commit", source);
        let repository = tip.repository();
        // libgit2 reads them, and cannot ask a server.
        tip.expect(&self.folders());
        let empty;
        let base = if let Some(tree) = tip.tree() {
            tree
        } else {
            let id = repository.treebuilder(None).and_then(|builder| builder.write());
            empty = repository.find_tree(id.map_err(failed)?).map_err(failed)?;
            &empty
        };
        let mut update = TreeUpdateBuilder::new();
        for (path, content) in &self.files {
            match content {
                Content::Blob(id) => update.upsert(path.as_str(), *id, FileMode::Blob),
                Content::Dropped => update.remove(path.as_str()),
            };
        }
        update.create_updated(repository, base).map_err(failed)
    }
}
