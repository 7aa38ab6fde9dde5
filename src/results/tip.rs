//! The newest commit of the results branch, to read.

use std::collections::BTreeSet;

use git2::{Blob, Commit, ErrorCode, ObjectType, Oid, Repository, Tree};

use super::error::ResultsError;
use super::format::{self, Standing};
use super::remote::{Below, Remote};
use crate::record::shard::{self, Shard};

/// Largest file that is read. A month of a thousand runs a day has less.
const FILE_MAX: usize = 128 << 20;
/// Most files and folders, and the deepest, that are looked at where one run lies.
const FILES_MAX: usize = 100_000;
const DEPTH_MAX: usize = 64;

/// So many objects are asked for in one command.
pub(super) const ASKED_AT_ONCE: usize = 4000;

/// The mode bits that tell a plain file from a link.
pub(super) const KIND_BITS: i32 = 0o170_000;
pub(super) const PLAIN_FILE: i32 = 0o100_000;

/// The newest commit of the results branch; without a branch, nothing at all.
///
/// What a tree names has to be there: an object that is missing or damaged is an error, never an
/// empty file.
pub struct Tip<'r> {
    repository: &'r Repository,
    /// Where the content of files is had from, when the repository does not hold it.
    remote: Option<&'r Remote>,
    commit: Option<Commit<'r>>,
    tree: Option<Tree<'r>>,
}

/// What stands in a folder of the tip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TipEntry {
    /// Its name.
    pub name: String,
    /// Whether it is a folder.
    pub is_folder: bool,
}

/// What a path leads to.
enum Found<'r> {
    Nothing,
    Folder(Tree<'r>),
    File(Oid),
    Other,
}

impl<'r> Tip<'r> {
    pub(super) fn new(
        repository: &'r Repository,
        remote: Option<&'r Remote>,
        commit: Option<Commit<'r>>,
    ) -> Result<Self, ResultsError> {
        let tree = commit
            .as_ref()
            .map(Commit::tree)
            .transpose()
            .map_err(|source| ResultsError::Unreadable { path: "/".to_owned(), source })?;
        Ok(Self { repository, remote, commit, tree })
    }

    pub(super) fn repository(&self) -> &'r Repository {
        self.repository
    }

    pub(super) fn commit(&self) -> Option<&Commit<'r>> {
        self.commit.as_ref()
    }

    pub(super) fn tree(&self) -> Option<&Tree<'r>> {
        self.tree.as_ref()
    }

    pub(super) fn tree_id(&self) -> Option<Oid> {
        self.tree.as_ref().map(Tree::id)
    }

    /// The commit's id; `None` where the branch is not there yet.
    pub fn id(&self) -> Option<String> {
        self.commit.as_ref().map(|commit| commit.id().to_string())
    }

    /// The content of a plain file; `None` where the tip has nothing of that path.
    ///
    /// # Errors
    /// When the content is missing from the repository, or something else stands there.
    pub fn read(&self, path: &str) -> Result<Option<Vec<u8>>, ResultsError> {
        match self.find(path)? {
            Found::Nothing => Ok(None),
            Found::File(id) => Ok(Some(self.blob(id, path)?.content().to_vec())),
            Found::Folder(_) | Found::Other => {
                Err(ResultsError::InTheWay { path: path.to_owned(), wanted: "file" })
            }
        }
    }

    pub(super) fn blob(&self, id: Oid, path: &str) -> Result<Blob<'r>, ResultsError> {
        self.check_size(id, path)?;
        match (self.repository.find_blob(id), self.remote) {
            (Ok(blob), _) => return Ok(blob),
            (Err(error), Some(remote)) if error.code() == ErrorCode::NotFound => {
                remote.fetch_objects(&[id], Below::Nothing)?;
            }
            (Err(source), _) => return Err(unreadable(path, source)),
        }
        self.check_size(id, path)?;
        self.repository.find_blob(id).map_err(|source| self.gone(path, source))
    }

    /// A folder, which a server may have kept back.
    fn folder(&self, id: Oid, path: &str) -> Result<Tree<'r>, ResultsError> {
        match (self.repository.find_tree(id), self.remote) {
            (Ok(tree), _) => return Ok(tree),
            (Err(error), Some(remote)) if error.code() == ErrorCode::NotFound => {
                remote.fetch_objects(&[id], Below::Nothing)?;
            }
            (Err(source), _) => return Err(unreadable(path, source)),
        }
        self.repository.find_tree(id).map_err(|source| self.gone(path, source))
    }

    /// What was asked for and did not come.
    fn gone(&self, path: &str, source: git2::Error) -> ResultsError {
        // All of a newer tip came, and that no longer holds it.
        let moved = self.remote.is_some_and(Remote::is_whole);
        if moved { ResultsError::Moved } else { unreadable(path, source) }
    }

    /// Whoever may write there may put a file of any size in the place of one of ours.
    fn check_size(&self, id: Oid, path: &str) -> Result<(), ResultsError> {
        let header = self.repository.odb().and_then(|odb| odb.read_header(id));
        match header {
            Ok((bytes, _)) if bytes > FILE_MAX => {
                Err(ResultsError::TooLarge { path: path.to_owned(), bytes })
            }
            _ => Ok(()),
        }
    }

    /// Brings files and folders that will be read, so that a server is asked for all of them at
    /// once, as often as folders lie in each other. What does not come now is asked for again when
    /// it is read.
    pub fn expect(&self, paths: &[String]) {
        let Some(remote) = self.remote else { return };
        let mut asked = BTreeSet::new();
        loop {
            let missing = paths.iter().filter_map(|path| self.first_missing(path));
            let missing: Vec<Oid> = missing.filter(|id| asked.insert(*id)).collect();
            if missing.is_empty() || remote.fetch_objects(&missing, Below::Nothing).is_err() {
                break;
            }
        }
    }

    /// The first on the way to a path that the repository does not hold.
    fn first_missing(&self, path: &str) -> Option<Oid> {
        let mut tree = self.tree.clone()?;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let (id, kind, mode) = {
                let entry = tree.get_name(part)?;
                (entry.id(), entry.kind(), entry.filemode())
            };
            if kind != Some(ObjectType::Tree) {
                let is_file = mode & KIND_BITS == PLAIN_FILE;
                return (is_file && self.repository.find_blob(id).is_err()).then_some(id);
            }
            tree = match self.repository.find_tree(id) {
                Ok(below) => below,
                Err(_) => return Some(id),
            };
        }
        None
    }

    /// Brings all folders, for those who walk through them.
    pub(super) fn bring_folders(&self) {
        let Some(remote) = self.remote else { return };
        let mut asked = BTreeSet::new();
        loop {
            let missing = self.missing_folders();
            let missing: Vec<Oid> = missing.into_iter().filter(|id| asked.insert(*id)).collect();
            let is_refused = |some: &[Oid]| remote.fetch_objects(some, Below::Folders).is_err();
            if missing.is_empty() || missing.chunks(ASKED_AT_ONCE).any(is_refused) {
                break;
            }
        }
    }

    /// The folders that others name and the repository does not hold.
    fn missing_folders(&self) -> BTreeSet<Oid> {
        let mut missing = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut open: Vec<Tree<'r>> = self.tree.iter().cloned().collect();
        while let Some(tree) = open.pop() {
            for entry in tree.iter().filter(|entry| entry.kind() == Some(ObjectType::Tree)) {
                if seen.insert(entry.id()) {
                    match self.repository.find_tree(entry.id()) {
                        Ok(below) => open.push(below),
                        Err(_) => _ = missing.insert(entry.id()),
                    }
                }
            }
        }
        missing
    }

    /// Fetches those of the contents that the repository does not hold, in one go.
    pub(super) fn fetch(&self, ids: &[Oid]) {
        let Some(remote) = self.remote else {
            return;
        };
        let mut missing: Vec<Oid> = ids.to_vec();
        missing.retain(|id| self.repository.find_blob(*id).is_err());
        missing.sort_unstable();
        missing.dedup();
        if !missing.is_empty() {
            // Reading it says what is wrong.
            let _ = remote.fetch_objects(&missing, Below::Nothing);
        }
    }

    /// What stands in a folder, by name; empty where the tip has nothing of that path. Names that
    /// are not UTF-8 are not ours and not listed.
    ///
    /// # Errors
    /// When a tree is missing from the repository, or something else stands there.
    pub fn list(&self, path: &str) -> Result<Vec<TipEntry>, ResultsError> {
        match self.find(path)? {
            Found::Nothing => Ok(Vec::new()),
            Found::Folder(tree) => Ok(tree
                .iter()
                .filter_map(|entry| {
                    let is_folder = entry.kind() == Some(ObjectType::Tree);
                    entry.name().ok().map(|name| TipEntry { name: name.to_owned(), is_folder })
                })
                .collect()),
            Found::File(_) | Found::Other => {
                Err(ResultsError::InTheWay { path: path.to_owned(), wanted: "folder" })
            }
        }
    }

    /// Every file under a folder, by its path from the root, whatever it is.
    ///
    /// # Errors
    /// As [`Self::list`].
    pub fn list_all(&self, path: &str) -> Result<Vec<String>, ResultsError> {
        let (mut files, mut open) = (Vec::new(), vec![path.to_owned()]);
        while let Some(folder) = open.pop() {
            for entry in self.list(&folder)? {
                let below = format!("{folder}/{}", entry.name);
                let place = if entry.is_folder { &mut open } else { &mut files };
                place.push(below);
            }
            // One folder may stand in itself again and again under other names.
            if files.len() + open.len() > FILES_MAX || folder.matches('/').count() > DEPTH_MAX {
                return Err(ResultsError::TooMany { path: path.to_owned() });
            }
        }
        Ok(files)
    }

    /// How this version may write here.
    ///
    /// # Errors
    /// When the repository's format is newer than this version's, or unknown.
    pub fn standing(&self) -> Result<Standing, ResultsError> {
        Ok(format::standing(self.read(format::FORMAT_FILE)?.as_deref())?)
    }

    /// The months that the index holds, newest first, as `YYYY-MM`.
    ///
    /// # Errors
    /// As [`Self::list`].
    pub fn months(&self) -> Result<Vec<String>, ResultsError> {
        let mut months: Vec<String> = self
            .list(shard::INDEX_DIR)?
            .iter()
            .filter_map(|entry| shard::month_of(&entry.name).map(str::to_owned))
            .collect();
        months.sort_unstable_by(|a, b| b.cmp(a));
        Ok(months)
    }

    /// A month of the index; empty where there is none.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn shard(&self, month: &str) -> Result<Shard, ResultsError> {
        let bytes = self.read(&shard::shard_path(month))?;
        Ok(Shard::parse(&bytes.unwrap_or_default()))
    }

    /// Follows a path by hand: git's own look-up answers "not found" for a missing object too.
    fn find(&self, path: &str) -> Result<Found<'r>, ResultsError> {
        let Some(root) = &self.tree else {
            return Ok(Found::Nothing);
        };
        let mut found = Found::Folder(root.clone());
        for part in path.split('/').filter(|part| !part.is_empty()) {
            found = match &found {
                Found::Folder(tree) => self.step(tree, part, path)?,
                // `a/b` where `a` is a file: there is something, and it is in the way.
                Found::File(_) | Found::Other => {
                    return Err(ResultsError::InTheWay { path: path.to_owned(), wanted: "folder" });
                }
                Found::Nothing => return Ok(Found::Nothing),
            };
        }
        Ok(found)
    }

    fn step(&self, tree: &Tree<'r>, part: &str, path: &str) -> Result<Found<'r>, ResultsError> {
        let Some(entry) = tree.get_name(part) else {
            return Ok(Found::Nothing);
        };
        match entry.kind() {
            Some(ObjectType::Tree) => self.folder(entry.id(), path).map(Found::Folder),
            Some(ObjectType::Blob) if entry.filemode() & KIND_BITS == PLAIN_FILE => {
                Ok(Found::File(entry.id()))
            }
            _ => Ok(Found::Other),
        }
    }
}

fn unreadable(path: &str, source: git2::Error) -> ResultsError {
    ResultsError::Unreadable { path: path.to_owned(), source }
}
