//! The newest commit of the results branch, to read.

use git2::{Blob, Commit, ErrorCode, ObjectType, Oid, Repository, Tree};

use super::error::ResultsError;
use super::format::{self, Standing};
use super::remote::Remote;
use crate::record::shard::{self, Shard};

/// Largest file that is read. A month of a thousand runs a day has less.
const FILE_MAX: usize = 128 << 20;
/// Most files and folders, and the deepest, that are looked at where one run lies.
const FILES_MAX: usize = 100_000;
const DEPTH_MAX: usize = 64;

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
                remote.fetch_blobs(&[id])?;
            }
            (Err(source), _) => return Err(unreadable(path, source)),
        }
        self.check_size(id, path)?;
        self.repository.find_blob(id).map_err(|source| {
            // All of a newer tip came, and that no longer holds it.
            let moved = self.remote.is_some_and(Remote::is_whole);
            if moved { ResultsError::Moved } else { unreadable(path, source) }
        })
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

    /// Brings files that will be read, so that a server is asked once for all of them. What does
    /// not come now is asked for again when it is read.
    pub fn expect(&self, paths: &[String]) {
        let id = |path: &String| match self.find(path) {
            Ok(Found::File(id)) => Some(id),
            _ => None,
        };
        if self.remote.is_some() {
            self.fetch(&paths.iter().filter_map(id).collect::<Vec<_>>());
        }
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
            let _ = remote.fetch_blobs(&missing);
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
            Some(ObjectType::Tree) => self
                .repository
                .find_tree(entry.id())
                .map(Found::Folder)
                .map_err(|source| unreadable(path, source)),
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
