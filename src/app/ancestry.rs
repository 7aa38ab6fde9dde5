//! How the commit of a run lies to those that were measured before it: asked of a clone where one
//! is at hand, else of GitHub.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::analysis::histories::brought_by;
use crate::github::{Client, Error, RealPause, Settings};
use crate::model::names::CommitSha;
use crate::record::redact::Redactor;
use crate::record::{Against, Record};
use crate::source::{ancestry as clone, git};

/// More paths are not kept: they would tell nothing but that much changed.
const PATHS_MAX: usize = 50;
/// GitHub is asked about so many commits of a history, the newest.
const ASKED_MAX: usize = 4;
/// A longer list of files is cut by GitHub.
const FILES_MAX: usize = 300;

/// Tells how commits of the measured project lie to each other. What nobody knows is not said.
#[derive(Clone, Default)]
pub struct Ancestry {
    folder: Option<PathBuf>,
    hub: Option<Arc<Hub>>,
    redactor: Option<Redactor>,
}

/// GitHub, asked once about each pair.
struct Hub {
    settings: Settings,
    client: Mutex<Option<Client>>,
    known: Mutex<BTreeMap<(String, String), Option<Relation>>>,
    pulls: Mutex<BTreeMap<u64, Option<Merged>>>,
    trouble: Mutex<Option<String>>,
}

/// How a pull request came onto a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Merged {
    /// The commit that holds it.
    pub(super) commit: CommitSha,
    /// When, by the server's clock; `None` where a clone tells it.
    pub(super) at: Option<Timestamp>,
}

/// How one commit lies to another.
#[derive(Clone, Debug)]
struct Relation {
    ahead: u64,
    behind: u64,
    merge_base: Option<CommitSha>,
    paths: Option<Vec<String>>,
}

impl fmt::Debug for Ancestry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ancestry").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Ancestry {
    /// Asks the clone around `folder`, if it is one of the measured project, and GitHub by
    /// `settings`.
    pub fn new(folder: Option<PathBuf>, settings: Option<Settings>) -> Self {
        let hub = settings.map(|settings| {
            Arc::new(Hub {
                settings,
                client: Mutex::default(),
                known: Mutex::default(),
                pulls: Mutex::default(),
                trouble: Mutex::default(),
            })
        });
        Self { folder, hub, redactor: None }
    }

    /// Takes secrets out of the paths that it tells.
    #[must_use]
    pub fn cleaned_by(self, redactor: Redactor) -> Self {
        Self { redactor: Some(redactor), ..self }
    }

    /// How the commit of `record` lies to the newest of `measured` (newest first), to its nearest
    /// ancestor among them, and to where it left the default branch.
    pub(super) fn against(&self, record: &Record, measured: &[CommitSha]) -> Vec<Against> {
        let commit = &record.commit;
        let Some(head) = &commit.sha else { return Vec::new() };
        let mut others: Vec<CommitSha> = Vec::new();
        for sha in measured.iter().filter(|sha| *sha != head) {
            if !others.contains(sha) {
                others.push(sha.clone());
            }
        }
        let folder = self.folder.as_ref().filter(|folder| clone::knows(folder, head));
        let mut found = match (folder, self.hub_of(record)) {
            (Some(folder), _) => of_clone(folder, record, head, &others),
            (None, Some((hub, owner, name))) => hub.of(owner, name, record, head, &others),
            (None, None) => Vec::new(),
        };
        if let Some(redactor) = &self.redactor {
            for path in found.iter_mut().filter_map(|one| one.changed_paths.as_mut()).flatten() {
                *path = redactor.text(path);
            }
        }
        found.sort_by(|a, b| (a.behind, a.ahead, &a.sha).cmp(&(b.behind, b.ahead, &b.sha)));
        found
    }

    /// Where the commit left the default branch, if anybody knows.
    pub(super) fn merge_base(
        &self,
        record: &Record,
        default_branch: &str,
        head: &CommitSha,
    ) -> Option<CommitSha> {
        if let Some(folder) = self.folder.as_ref().filter(|folder| clone::knows(folder, head)) {
            return clone::merge_base(folder, default_branch, head);
        }
        let (hub, owner, name) = self.hub_of(record)?;
        hub.ask(owner, name, default_branch, head.as_str())?.merge_base
    }

    /// The commit by which pull request `number` came onto the line of `head`, and when, where that
    /// is known: by the clone's subjects, else by GitHub.
    pub(super) fn merged(&self, record: &Record, head: &CommitSha, number: u64) -> Option<Merged> {
        if let Some(folder) = self.folder.as_ref().filter(|folder| clone::knows(folder, head)) {
            let said = clone::saying(folder, head, &format!("#{number}"));
            let brought = |(_, subject): &(_, String)| brought_by(subject) == Some(number);
            if let Some((commit, _)) = said.into_iter().find(brought) {
                return Some(Merged { commit, at: None });
            }
        }
        let (hub, owner, name) = self.hub_of(record)?;
        hub.merged(owner, name, number)
    }

    /// Whether `head` is `older` or descends from it; `None` where nobody knows.
    pub(super) fn descends(
        &self,
        record: &Record,
        older: &CommitSha,
        head: &CommitSha,
    ) -> Option<bool> {
        if older == head {
            return Some(true);
        }
        let of_clone = self.folder.as_ref().and_then(|folder| clone::descends(folder, older, head));
        of_clone.or_else(|| {
            let (hub, owner, name) = self.hub_of(record)?;
            Some(hub.ask(owner, name, older.as_str(), head.as_str())?.behind == 0)
        })
    }

    /// What kept GitHub from answering, for people.
    pub(super) fn trouble(&self) -> Option<String> {
        let trouble = lock(&self.hub.as_ref()?.trouble).clone()?;
        Some(format!("how the commits lie to earlier ones is not known: {trouble}"))
    }

    /// The server, if the measured project lies there.
    fn hub_of<'a>(&'a self, record: &'a Record) -> Option<(&'a Hub, &'a str, &'a str)> {
        let hub = self.hub.as_deref()?;
        let repository = &record.repository;
        let (host, owner) = (repository.host.as_ref()?, repository.owner.as_ref()?);
        let server = hub.settings.hosts.server();
        let authority = server.split_once("://").map_or(server, |(_, rest)| rest);
        let authority = authority.trim_end_matches('/');
        let is_there = authority.eq_ignore_ascii_case(host)
            || authority.split(':').next().is_some_and(|name| name.eq_ignore_ascii_case(host));
        is_there.then_some((hub, owner.as_str(), repository.name.as_deref()?))
    }
}

/// What a thread that failed left is as good as ever.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn of_clone(
    folder: &Path,
    record: &Record,
    head: &CommitSha,
    others: &[CommitSha],
) -> Vec<Against> {
    let commit = &record.commit;
    let branch = commit.default_branch.as_deref();
    let base = commit
        .merge_base
        .clone()
        .or_else(|| branch.and_then(|branch| clone::merge_base(folder, branch, head)));
    let nearest = clone::nearest(folder, head, others);
    let mut wanted: Vec<CommitSha> = Vec::new();
    for sha in others.first().cloned().into_iter().chain(nearest).chain(base) {
        if sha != *head && !wanted.contains(&sha) {
            wanted.push(sha);
        }
    }
    let told = |sha: CommitSha| {
        let counts = clone::counts(folder, &sha, head)?;
        let is_ancestor = counts.behind == 0;
        let paths =
            is_ancestor.then(|| git::changed_between(folder, &sha, head)).flatten().and_then(few);
        Some(Against { ahead: counts.ahead, behind: counts.behind, changed_paths: paths, sha })
    };
    wanted.into_iter().filter_map(told).collect()
}

fn few(mut paths: Vec<String>) -> Option<Vec<String>> {
    paths.sort();
    (paths.len() <= PATHS_MAX).then_some(paths)
}

impl Hub {
    fn of(
        &self,
        owner: &str,
        name: &str,
        record: &Record,
        head: &CommitSha,
        others: &[CommitSha],
    ) -> Vec<Against> {
        let mut found: Vec<Against> = Vec::new();
        for sha in others.iter().take(ASKED_MAX) {
            let Some(relation) = self.ask(owner, name, sha.as_str(), head.as_str()) else {
                continue;
            };
            let is_ancestor = relation.behind == 0;
            found.push(relation.told(sha.clone()));
            if is_ancestor {
                break;
            }
        }
        let commit = &record.commit;
        let is_named = commit.default_branch.as_deref().is_some_and(|branch| {
            commit.reference.as_deref().and_then(|name| name.strip_prefix("refs/heads/"))
                == Some(branch)
        });
        let asked = || {
            let branch = commit.default_branch.as_deref().filter(|_| !is_named)?;
            self.ask(owner, name, branch, head.as_str())?.merge_base
        };
        let base = commit.merge_base.clone().or_else(asked).filter(|base| base != head);
        if let Some(base) = base.filter(|base| found.iter().all(|one| one.sha != *base))
            && let Some(relation) = self.ask(owner, name, base.as_str(), head.as_str())
        {
            found.push(relation.told(base));
        }
        found
    }

    fn ask(&self, owner: &str, name: &str, base: &str, head: &str) -> Option<Relation> {
        let pair = (base.to_owned(), head.to_owned());
        if let Some(known) = lock(&self.known).get(&pair) {
            return known.clone();
        }
        if lock(&self.trouble).is_some() {
            return None;
        }
        // A commit that was rebased away, or a repository that the token may not see, is not known.
        let relation = self.answered(|client| compare(client, owner, name, base, head));
        lock(&self.known).insert(pair, relation.clone());
        relation
    }

    fn merged(&self, owner: &str, name: &str, number: u64) -> Option<Merged> {
        if let Some(known) = lock(&self.pulls).get(&number) {
            return known.clone();
        }
        if lock(&self.trouble).is_some() {
            return None;
        }
        let pull = self.answered(|client| client.in_repository(owner, name)?.pull_request(number));
        let merged = pull.and_then(|pull| pull.merged);
        let merged = merged.map(|merged| Merged { commit: merged.commit, at: Some(merged.at) });
        lock(&self.pulls).insert(number, merged.clone());
        merged
    }

    /// What GitHub answers; `None` where it does not know. After any other error it is asked no
    /// more.
    fn answered<T>(&self, ask: impl FnOnce(&Client) -> Result<T, Error>) -> Option<T> {
        let mut client = lock(&self.client);
        let answer = match &mut *client {
            Some(client) => ask(client),
            none => Client::new(self.settings.clone(), RealPause::new())
                .and_then(|client| ask(none.insert(client))),
        };
        match answer {
            Ok(found) => Some(found),
            Err(Error::NotFound { .. } | Error::Name { .. }) => None,
            Err(error) => {
                *lock(&self.trouble) = Some(error.to_string());
                None
            }
        }
    }
}

fn compare(
    client: &Client,
    owner: &str,
    name: &str,
    base: &str,
    head: &str,
) -> Result<Relation, Error> {
    let found = client.compare(owner, name, base, head)?;
    let is_whole = found.ahead > 0 && !found.paths.is_empty() && found.paths.len() < FILES_MAX;
    Ok(Relation {
        ahead: found.ahead,
        behind: found.behind,
        merge_base: CommitSha::parse(&found.merge_base),
        paths: (is_whole && found.behind == 0).then_some(found.paths).and_then(few),
    })
}

impl Relation {
    fn told(self, sha: CommitSha) -> Against {
        Against { sha, ahead: self.ahead, behind: self.behind, changed_paths: self.paths }
    }
}
