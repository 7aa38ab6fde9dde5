//! What git knows of the measured project, read by the git program.
//!
//! The program, not a library: only it applies the clean filters (LFS) that decide whether a file
//! differs from the commit, and it follows linked work trees, shallow and detached checkouts.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::model::names::CommitSha;
use crate::record::{Commit, Repository};

/// At most so many changed paths are kept.
const CHANGED_PATHS_MAX: usize = 300;

/// The project's repository as it stands.
#[derive(Clone, Debug)]
pub struct Source {
    /// The top of the work tree; `None` outside a repository.
    pub top: Option<PathBuf>,
    /// Host, owner and name.
    pub repository: Repository,
    /// The commit and how the work tree differs from it.
    pub commit: Commit,
    /// How the default branch was found, for people.
    pub default_branch_from: Option<&'static str>,
}

/// Reads the facts of the repository around `folder`. Never fails: what cannot be read is `None`
/// with its reason in `unknown`.
pub fn describe(folder: &Path) -> Source {
    let git = Git { folder };
    match git.lines(&["rev-parse", "--show-toplevel"]) {
        Ok(lines) => {
            let top = lines.first().map(PathBuf::from);
            let mut source = Source {
                top,
                repository: git.repository(),
                commit: Commit::default(),
                default_branch_from: None,
            };
            git.fill_commit(&mut source);
            source
        }
        Err(reason) => without_repository(folder, &reason),
    }
}

/// The commit that `name` stands for in the repository around `folder`: a branch, one of its
/// remote, a tag or the start of a commit; `None` when there is none.
pub fn resolve(folder: &Path, name: &str) -> Option<CommitSha> {
    if name.starts_with('-') {
        return None;
    }
    let git = Git { folder };
    let short = name.trim_start_matches("refs/heads/");
    let names = [name.to_owned(), format!("refs/remotes/origin/{short}")];
    names.iter().find_map(|name| {
        let commit = format!("{name}^{{commit}}");
        git.line(&["rev-parse", "-q", "--verify", "--end-of-options", &commit])
            .ok()
            .and_then(|text| CommitSha::parse(&text))
    })
}

/// The paths that differ between two commits; `None` when one of them is not in this clone.
pub fn changed_between(
    folder: &Path,
    before: &CommitSha,
    after: &CommitSha,
) -> Option<Vec<String>> {
    let range = [before.as_str(), after.as_str()];
    let args =
        ["diff", "--name-only", "-z", "--no-ext-diff", "--no-renames", range[0], range[1], "--"];
    Git { folder }.output(&args).ok().map(|bytes| split_nul(&bytes).collect())
}

/// The name of the default branch, as the clone around `folder` knows it.
pub fn default_branch(folder: &Path) -> Option<String> {
    let git = Git { folder };
    let current = git.line(&["symbolic-ref", "-q", "HEAD"]).ok();
    git.default_branch(current.as_deref()).map(|(name, _, _)| name)
}

/// What of the checkout is not there although the commit names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Files that are only pointers to where their content lies.
    pub lfs_pointers: Vec<String>,
    /// Submodules that were not fetched.
    pub submodules: Vec<String>,
}

/// Looks through the checkout around `folder`; outside a repository nothing is missing.
pub fn missing(folder: &Path) -> Missing {
    let git = Git { folder };
    let Ok(top) = git.line(&["rev-parse", "--show-toplevel"]).map(PathBuf::from) else {
        return Missing::default();
    };
    let listed = Git { folder: &top }.output(&["ls-files", "-z", "--stage"]).unwrap_or_default();
    let mut missing = Missing::default();
    for entry in split_nul(&listed) {
        let Some((head, path)) = entry.split_once('\t') else { continue };
        let place = top.join(path);
        if head.starts_with("160000 ") {
            let is_empty =
                std::fs::read_dir(&place).map_or(true, |mut inside| inside.next().is_none());
            if is_empty {
                missing.submodules.push(path.to_owned());
            }
        } else if is_lfs_pointer(&place) {
            missing.lfs_pointers.push(path.to_owned());
        }
    }
    missing
}

/// A pointer is a small text file that begins with the address of its format.
fn is_lfs_pointer(path: &Path) -> bool {
    const BEGIN: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";
    const LARGEST: u64 = 1024;
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() < LARGEST)
        && std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(BEGIN))
}

/// Who the user is, as git would write it into a commit: `Name <mail>`; `None` where git does not
/// know a name.
pub fn author(folder: &Path) -> Option<String> {
    let git = Git { folder };
    let setting = |name: &str| {
        let lines = git.lines(&["config", "--get", name]).ok()?;
        lines.into_iter().next().filter(|text| !text.trim().is_empty())
    };
    let name = setting("user.name")?;
    Some(setting("user.email").map_or(name.clone(), |mail| format!("{name} <{mail}>")))
}

fn without_repository(folder: &Path, reason: &str) -> Source {
    let mut commit = Commit::default();
    for part in [
        "sha",
        "tree",
        "parents",
        "committed",
        "ref",
        "default_branch",
        "merge_base",
        "changed_paths",
        "dirty",
    ] {
        commit.unknown.insert(part.to_owned(), reason.to_owned());
    }
    let mut repository = Repository { name: folder_name(folder), ..Repository::default() };
    for part in ["host", "owner"] {
        repository.unknown.insert(part.to_owned(), reason.to_owned());
    }
    Source { top: None, repository, commit, default_branch_from: None }
}

fn folder_name(folder: &Path) -> Option<String> {
    folder.file_name().map(|name| name.to_string_lossy().into_owned())
}

/// A repository says in its configuration what git runs. Root would run it for whoever may write
/// there, so git runs as the owner of the folder.
fn as_owner(command: &mut Command, folder: &Path) {
    if let Ok(found) = std::fs::metadata(folder)
        && found.uid() != 0
        && rustix::process::geteuid().is_root()
    {
        command.gid(found.gid()).uid(found.uid());
    }
}

pub(super) struct Git<'a> {
    pub(super) folder: &'a Path,
}

impl Git<'_> {
    /// Standard output of git with these arguments, or why there is none.
    pub(super) fn output<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, String> {
        let mut command = Command::new("git");
        as_owner(&mut command, self.folder);
        let result = command
            .arg("-C")
            .arg(self.folder)
            // The work tree may belong to another user (a container's root reads a runner's files);
            // we only read, and neither hooks nor monitors of the repository run.
            .args([
                "-c",
                "safe.directory=*",
                "-c",
                "core.fsmonitor=false",
                "-c",
                "core.quotePath=false",
            ])
            .args(args)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .env_remove("GIT_TRACE")
            .output();
        match result {
            Ok(output) if output.status.success() => Ok(output.stdout),
            Ok(output) => Err(reason(&output.stderr)),
            Err(error) => Err(format!("the git program did not start: {error}")),
        }
    }

    pub(super) fn lines<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<String>, String> {
        self.output(args)
            .map(|bytes| String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
    }

    pub(super) fn line<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, String> {
        self.lines(args)?.into_iter().next().ok_or_else(|| "git printed nothing".to_owned())
    }

    fn repository(&self) -> Repository {
        let remote = self.line(&["config", "--get", "remote.origin.url"]);
        match remote.as_deref().map(parse_remote) {
            Ok(Some(repository)) => repository,
            found => {
                let why = match found {
                    Ok(_) => "the remote `origin` is no URL of a host",
                    Err(_) => "the repository has no remote named `origin`",
                };
                let name = self
                    .line(&["rev-parse", "--show-toplevel"])
                    .ok()
                    .and_then(|top| folder_name(Path::new(&top)));
                let unknown =
                    ["host", "owner"].map(|part| (part.to_owned(), why.to_owned())).into();
                Repository { name, unknown, ..Repository::default() }
            }
        }
    }

    fn fill_commit(&self, source: &mut Source) {
        self.fill_head(&mut source.commit);
        self.fill_branches(source);
        self.fill_changes(&mut source.commit);
        self.fill_status(&mut source.commit);
    }

    fn fill_head(&self, commit: &mut Commit) {
        match self.lines(&[
            "log",
            "-1",
            "--no-show-signature",
            "--format=%H%n%T%n%P%n%cI%n%s",
            "HEAD",
            "--",
        ]) {
            Ok(lines) => {
                let field = |i: usize| lines.get(i).map(String::as_str).unwrap_or_default();
                commit.sha = CommitSha::parse(field(0));
                commit.tree = Some(field(1).to_owned());
                commit.parents =
                    Some(field(2).split_whitespace().filter_map(CommitSha::parse).collect());
                commit.committed = field(3).parse().ok();
                commit.subject = Some(field(4).chars().take(200).collect());
                if self
                    .line(&["rev-parse", "--is-shallow-repository"])
                    .is_ok_and(|text| text == "true")
                    && commit.parents.as_ref().is_some_and(Vec::is_empty)
                {
                    commit.parents = None;
                    unknown(
                        commit,
                        "parents",
                        "the clone is shallow: fetch more history to know them",
                    );
                }
            }
            Err(_) => {
                for part in ["sha", "tree", "parents", "committed"] {
                    unknown(commit, part, "the repository has no commit yet");
                }
            }
        }
        match self.line(&["symbolic-ref", "-q", "HEAD"]) {
            Ok(reference) => commit.reference = Some(reference),
            Err(_) => unknown(commit, "ref", "HEAD is detached: no branch is checked out"),
        }
    }

    /// The default branch: origin/HEAD, else main, master, else the current one.
    fn fill_branches(&self, source: &mut Source) {
        let found = self.default_branch(source.commit.reference.as_deref());
        let commit = &mut source.commit;
        let Some((name, reference, from)) = found else {
            let why = "neither origin/HEAD, main, master nor a current branch exists";
            unknown(commit, "default_branch", why);
            unknown(commit, "merge_base", why);
            return;
        };
        commit.default_branch = Some(name);
        source.default_branch_from = Some(from);
        match self.line(&["merge-base", "HEAD", &reference]) {
            Ok(sha) => commit.merge_base = CommitSha::parse(&sha),
            Err(_) => unknown(
                commit,
                "merge_base",
                "this clone holds no common commit with the default branch",
            ),
        }
    }

    fn default_branch(&self, current: Option<&str>) -> Option<(String, String, &'static str)> {
        if let Ok(reference) = self.line(&["symbolic-ref", "-q", "refs/remotes/origin/HEAD"]) {
            let name = reference.trim_start_matches("refs/remotes/origin/").to_owned();
            return Some((name, reference, "origin/HEAD"));
        }
        for (name, from) in [("main", "a branch named main"), ("master", "a branch named master")] {
            for reference in [format!("refs/remotes/origin/{name}"), format!("refs/heads/{name}")] {
                if self.output(&["rev-parse", "-q", "--verify", &reference]).is_ok() {
                    return Some((name.to_owned(), reference, from));
                }
            }
        }
        let reference = current?;
        let name = reference.trim_start_matches("refs/heads/").to_owned();
        Some((name, "HEAD".to_owned(), "the current branch"))
    }

    /// Paths that differ from the merge base, or on the default branch from the first parent.
    fn fill_changes(&self, commit: &mut Commit) {
        let Some(sha) = &commit.sha else {
            unknown(commit, "changed_paths", "the repository has no commit yet");
            return;
        };
        let base = commit
            .merge_base
            .as_ref()
            .filter(|base| *base != sha)
            .or_else(|| commit.parents.as_ref().and_then(|parents| parents.first()));
        let Some(base) = base else {
            unknown(commit, "changed_paths", "neither a merge base nor a parent is in this clone");
            return;
        };
        let range = [base.as_str(), sha.as_str()];
        match self.output(&["diff", "--name-only", "-z", "--no-ext-diff", range[0], range[1]]) {
            Ok(bytes) => {
                let mut paths: Vec<String> = split_nul(&bytes).collect();
                if paths.len() > CHANGED_PATHS_MAX {
                    let all = paths.len();
                    paths.truncate(CHANGED_PATHS_MAX);
                    unknown(
                        commit,
                        "changed_paths",
                        &format!("only {CHANGED_PATHS_MAX} of {all} changed paths are kept"),
                    );
                }
                commit.changed_paths = Some(paths);
            }
            Err(why) => unknown(commit, "changed_paths", &why),
        }
    }

    fn fill_status(&self, commit: &mut Commit) {
        match self.output(&["status", "--porcelain=v1", "-z", "--untracked-files=normal"]) {
            Ok(bytes) => {
                let (dirty, untracked) = parse_status(&bytes);
                commit.dirty = Some(dirty);
                commit.untracked_files = Some(untracked);
            }
            Err(why) => unknown(commit, "dirty", &why),
        }
    }
}

fn unknown(commit: &mut Commit, part: &str, why: &str) {
    commit.unknown.insert(part.to_owned(), why.to_owned());
}

fn reason(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("git gave no reason");
    if line.contains("not a git repository") {
        "this is not a git repository".to_owned()
    } else {
        line.trim_start_matches("fatal: ").chars().take(300).collect()
    }
}

fn split_nul(bytes: &[u8]) -> impl Iterator<Item = String> {
    bytes
        .split(|byte| *byte == 0)
        .filter(|part| !part.is_empty())
        .map(|part| String::from_utf8_lossy(part).into_owned())
}

/// Whether tracked files or the index differ, and how many entries are untracked.
fn parse_status(bytes: &[u8]) -> (bool, u64) {
    let mut dirty = false;
    let mut untracked = 0;
    let mut entries = bytes.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    while let Some(entry) = entries.next() {
        if entry.starts_with(b"?? ") {
            untracked += 1;
        } else {
            dirty = true;
            // A rename is followed by its old name as an entry of its own.
            if matches!(entry.first(), Some(b'R' | b'C'))
                || matches!(entry.get(1), Some(b'R' | b'C'))
            {
                entries.next();
            }
        }
    }
    (dirty, untracked)
}

/// Host, owner and name of a remote's URL, without whatever credentials it holds; `None` for a
/// local path.
fn parse_remote(url: &str) -> Option<Repository> {
    let rest = match url.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.to_owned(),
        // `git@host:owner/name`, git's short form of SSH.
        None => {
            let (host, path) = url.split_once(':')?;
            if host.contains('/') || host.len() < 2 {
                return None;
            }
            format!("{host}/{path}")
        }
    };
    let (authority, path) = rest.split_once('/')?;
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let host = host.split(':').next().unwrap_or(host);
    let path = path.trim_matches('/').trim_end_matches(".git");
    let (owner, name) = match path.rsplit_once('/') {
        Some((owner, name)) => (Some(owner.to_owned()), name),
        None => (None, path),
    };
    let mut unknown = BTreeMap::new();
    if owner.is_none() {
        unknown.insert("owner".to_owned(), "the remote's URL names none".to_owned());
    }
    (!host.is_empty() && !name.is_empty()).then(|| Repository {
        host: Some(host.to_ascii_lowercase()),
        owner,
        name: Some(name.to_owned()),
        unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(url: &str) -> Option<(String, Option<String>, String)> {
        parse_remote(url).and_then(|r| Some((r.host?, r.owner, r.name?)))
    }

    #[test]
    fn remotes_of_every_spelling() {
        let expected = Some(("github.com".to_owned(), Some("o".to_owned()), "n".to_owned()));
        for url in [
            "https://github.com/o/n.git",
            "https://x-access-token:secret@github.com/o/n",
            "git@github.com:o/n.git",
            "ssh://git@github.com:22/o/n.git",
            "https://GitHub.com/o/n/",
        ] {
            assert_eq!(remote(url), expected, "{url}");
        }
        for url in ["/srv/git/n.git", "../n", "file:///srv/n", "C:\\n"] {
            assert_eq!(remote(url), None, "{url}");
        }
    }

    #[test]
    fn untracked_files_make_nothing_dirty() {
        assert_eq!(parse_status(b"?? a\0?? b c\0"), (false, 2));
        assert_eq!(parse_status(b" M a\0?? b\0"), (true, 1));
        assert_eq!(parse_status(b"R  new\0?? old\0"), (true, 0));
        assert_eq!(parse_status(b""), (false, 0));
    }
}
