//! How commits of the measured project lie to each other, as a clone of it knows.

use std::collections::BTreeSet;
use std::path::Path;

use super::git::Git;
use crate::model::names::CommitSha;
use crate::record::Commit;

/// So many commits back a measured one is looked for.
const BACK_MAX: &str = "--max-count=20000";
/// At most so many changed paths are kept.
const PATHS_MAX: usize = 300;

/// Commits that only the second has, and that only the first has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Of the head alone.
    pub ahead: u64,
    /// Of the base alone.
    pub behind: u64,
}

/// Whether the repository around `folder` holds the commit and all before it: only then can it
/// tell how commits lie to each other.
pub fn knows(folder: &Path, commit: &CommitSha) -> bool {
    let git = Git { folder };
    let is_shallow = git.line(&["rev-parse", "--is-shallow-repository"]);
    is_shallow.is_ok_and(|text| text == "false") && holds(&git, commit)
}

/// How `head` lies to `base`; `None` when the clone lacks one of them, or they have nothing in
/// common.
pub fn counts(folder: &Path, base: &CommitSha, head: &CommitSha) -> Option<Counts> {
    let git = Git { folder };
    git.line(&["merge-base", base.as_str(), head.as_str()]).ok()?;
    let range = format!("{base}...{head}");
    let line = git.line(&["rev-list", "--left-right", "--count", &range, "--"]).ok()?;
    let (behind, ahead) = line.split_once('\t')?;
    Some(Counts { ahead: ahead.trim().parse().ok()?, behind: behind.trim().parse().ok()? })
}

/// The nearest ancestor of `head` among `measured`: one that no other of its measured ancestors
/// descends from.
pub fn nearest(folder: &Path, head: &CommitSha, measured: &[CommitSha]) -> Option<CommitSha> {
    let known: BTreeSet<&str> = measured.iter().map(CommitSha::as_str).collect();
    // No commit comes before all that descend from it have come.
    let args = ["rev-list", "--topo-order", BACK_MAX, head.as_str(), "--"];
    let lines = Git { folder }.lines(&args).ok()?;
    let found = lines.iter().skip(1).find(|line| known.contains(line.as_str()))?;
    CommitSha::parse(found)
}

/// Whether `head` is `older` or descends from it; `None` when the clone lacks one of them.
pub fn descends(folder: &Path, older: &CommitSha, head: &CommitSha) -> Option<bool> {
    let git = Git { folder };
    (holds(&git, older) && holds(&git, head)).then(|| {
        git.output(&["merge-base", "--is-ancestor", older.as_str(), head.as_str()]).is_ok()
    })
}

/// The commits up to `head` whose message holds `text`, the newest first, with their subjects.
pub fn saying(folder: &Path, head: &CommitSha, text: &str) -> Vec<(CommitSha, String)> {
    let grep = format!("--grep={text}");
    let args = ["log", "--no-show-signature", "--fixed-strings", &grep, BACK_MAX, "--format=%H %s"];
    let lines = Git { folder }.lines(&[&args[..], &[head.as_str(), "--"]].concat());
    let parts = |line: &String| {
        let (sha, subject) = line.split_once(' ')?;
        Some((CommitSha::parse(sha)?, subject.to_owned()))
    };
    lines.unwrap_or_default().iter().filter_map(parts).collect()
}

/// Where `head` left the branch `name`, in the clone's own or its remote's copy.
pub fn merge_base(folder: &Path, name: &str, head: &CommitSha) -> Option<CommitSha> {
    let branch = super::git::resolve(folder, &format!("refs/remotes/origin/{name}"))
        .or_else(|| super::git::resolve(folder, &format!("refs/heads/{name}")))?;
    let line = Git { folder }.line(&["merge-base", branch.as_str(), head.as_str()]).ok()?;
    CommitSha::parse(&line)
}

/// What the clone around `folder` knows of a commit; `None` where it does not hold it.
pub fn commit(folder: &Path, sha: &CommitSha) -> Option<Commit> {
    let git = Git { folder };
    let format = "--format=%T%n%P%n%cI%n%s";
    let lines =
        git.lines(&["log", "-1", "--no-show-signature", format, sha.as_str(), "--"]).ok()?;
    let field = |at: usize| lines.get(at).map(String::as_str).unwrap_or_default();
    let parents: Vec<CommitSha> =
        field(1).split_whitespace().filter_map(CommitSha::parse).collect();
    let base =
        super::git::default_branch(folder).and_then(|branch| merge_base(folder, &branch, sha));
    let from = base.as_ref().filter(|base| *base != sha).or_else(|| parents.first());
    let mut commit = Commit::known_by_id(Some(sha.clone()), "amended: not told by the clone");
    commit.changed_paths = from
        .and_then(|from| super::git::changed_between(folder, from, sha))
        .filter(|paths| paths.len() <= PATHS_MAX);
    commit.tree = Some(field(0).to_owned());
    commit.committed = field(2).parse().ok();
    commit.subject = Some(field(3).chars().take(200).collect());
    let is_whole = knows(folder, sha);
    commit.parents = Some(parents).filter(|_| is_whole);
    commit.merge_base = base.filter(|_| is_whole);
    for (part, is_known) in [
        ("tree", true),
        ("parents", commit.parents.is_some()),
        ("committed", commit.committed.is_some()),
        ("merge_base", commit.merge_base.is_some()),
        ("changed_paths", commit.changed_paths.is_some()),
    ] {
        if is_known {
            commit.unknown.remove(part);
        }
    }
    Some(commit)
}

fn holds(git: &Git<'_>, commit: &CommitSha) -> bool {
    git.output(&["cat-file", "-e", &format!("{commit}^{{commit}}")]).is_ok()
}
