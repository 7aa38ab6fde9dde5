//! Walks over all that the tip holds, whoever put it there.

use std::fmt;

use git2::{ObjectType, Oid, Tree};

use super::error::ResultsError;
use super::path::PARTS_MAX;
use super::tip::{ASKED_AT_ONCE, KIND_BITS, PLAIN_FILE, Tip};

/// Most entries of a walk: a tree may name one folder again and again, and grow without bound.
pub const ENTRIES_MAX: usize = 10_000_000;

/// The name of a file's content: equal contents have equal names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(Oid);

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Something that the tip holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path from the repository's root; of a name that is not UTF-8, as far as it is text.
    pub path: String,
    /// Its name is UTF-8 text.
    pub is_text: bool,
    /// What it is.
    pub kind: EntryKind,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A folder; what it holds follows.
    Folder,
    /// A folder that lies too deep to be looked into.
    DeepFolder,
    /// A folder that the repository names and does not hold.
    LostFolder(String),
    /// A plain file.
    File(ContentId),
    /// A symbolic link.
    Link,
    /// Another repository, or something else that has no content here.
    Other,
}

/// All that the tip holds.
#[derive(Debug, Default)]
pub struct Walk {
    /// Each folder is followed by what it holds; sorted as git sorts.
    pub entries: Vec<Entry>,
    /// There is more, and it was not looked at.
    pub is_cut: bool,
}

impl Tip<'_> {
    /// Everything that the tip holds.
    pub fn walk(&self) -> Walk {
        self.bring_folders();
        let mut walk = Walk::default();
        let root = self.tree().cloned();
        let mut open: Vec<Open<'_>> =
            root.into_iter().map(|tree| Open { tree, path: String::new(), next: 0 }).collect();
        while !open.is_empty() {
            let depth = open.len();
            let Some((entry, below)) = open.last_mut().and_then(|top| self.next_in(top, depth))
            else {
                open.pop();
                continue;
            };
            if walk.entries.len() == ENTRIES_MAX {
                walk.is_cut = true;
                break;
            }
            if let Some(tree) = below {
                open.push(Open { tree, path: entry.path.clone(), next: 0 });
            }
            walk.entries.push(entry);
        }
        walk
    }

    /// The next entry of a folder that lies at `depth`, and its own tree, if it is a folder.
    fn next_in(&self, open: &mut Open<'_>, depth: usize) -> Option<(Entry, Option<Tree<'_>>)> {
        let found = open.tree.get(open.next)?;
        open.next += 1;
        let name = String::from_utf8_lossy(found.name_bytes());
        let path =
            if open.path.is_empty() { name.into_owned() } else { format!("{}/{name}", open.path) };
        let mut below = None;
        let kind = match found.kind() {
            Some(ObjectType::Tree) if depth > PARTS_MAX => EntryKind::DeepFolder,
            Some(ObjectType::Tree) => match self.repository().find_tree(found.id()) {
                Ok(tree) => {
                    below = Some(tree);
                    EntryKind::Folder
                }
                Err(error) => EntryKind::LostFolder(error.message().to_owned()),
            },
            Some(ObjectType::Blob) if found.filemode() & KIND_BITS == PLAIN_FILE => {
                EntryKind::File(ContentId(found.id()))
            }
            Some(ObjectType::Blob) => EntryKind::Link,
            _ => EntryKind::Other,
        };
        let is_text = std::str::from_utf8(found.name_bytes()).is_ok();
        Some((Entry { path, is_text, kind }, below))
    }

    /// Brings contents that will be read, so that a server is asked for many of them at once. What
    /// does not come now is asked for again when it is read.
    pub fn bring(&self, contents: impl Iterator<Item = ContentId>) {
        let mut ids: Vec<Oid> = contents.map(|content| content.0).collect();
        ids.sort_unstable();
        ids.dedup();
        for some in ids.chunks(ASKED_AT_ONCE) {
            self.fetch(some);
        }
    }

    /// The content of a file that [`Self::walk`] found at `path`.
    ///
    /// # Errors
    /// When the repository does not hold it, or it is damaged.
    pub fn content(&self, id: ContentId, path: &str) -> Result<Vec<u8>, ResultsError> {
        Ok(self.blob(id.0, path)?.content().to_vec())
    }
}

/// A folder that is being walked through.
struct Open<'r> {
    tree: Tree<'r>,
    path: String,
    next: usize,
}
