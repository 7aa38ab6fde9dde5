//! A results repository on a server.
//!
//! The git program carries the traffic: it fetches the tip of the branch with its root folder alone
//! (`--depth 1 --filter=tree:1`), later the few folders on the way to what is added and the few files
//! that are rewritten, and pushes what libgit2 wrote into the repository of a [`Workspace`]. So a
//! publish costs what it changes, not what there is. From a server that refuses this filter all
//! folders come (`--filter=blob:none`); one that knows no filter sends all of the tip, which works too.

mod program;
mod refusal;
mod workspace;

use std::cell::Cell;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use git2::{Oid, Repository, RepositoryInitOptions};

pub use refusal::Refusal;

use super::error::{RemoteError, ResultsError};
use crate::model::secret::Secret;
use program::{Answer, Git, NoAnswer};
use refusal::Pushed;
use workspace::Workspace;

/// Where the tip is kept in the workspace.
pub(super) const TIP: &str = "refs/perftrail/tip";
/// Has git fetch what it is asked for, whatever the workspace holds already.
const ANEW: &[&str] = &["-c", "fetch.negotiationAlgorithm=noop"];
/// How every fetch is done.
const FETCH: &[&str] =
    &["--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no"];
/// The oldest git that takes configuration from the environment.
const GIT_MIN: (u32, u32) = (2, 31);
/// Host keys of github.com, as its documentation names them. Others are given by the user.
const KNOWN_HOSTS: &str = include_str!("known_hosts");

/// Names of variables that the git program may see: programs, proxies, certificates, agents.
const PASSED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK",
    "GIT_SSH_COMMAND",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
];

/// How to reach a results repository on a server.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Its address, without any secret.
    pub url: String,
    /// What opens it.
    pub credential: Credential,
    /// The folder in which the workspace is made: the runner's temporary one.
    pub scratch: PathBuf,
    /// The git program.
    pub program: PathBuf,
    /// What the program may see of the environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The longest that one call of the program may take.
    pub timeout: Duration,
}

/// What opens a repository on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// Whatever git finds by itself: helpers, agents, keys of the user. For laptops.
    Own,
    /// A token, for `https`.
    Token(Secret),
    /// A key, for `ssh`.
    SshKey {
        /// The private key, as its file holds it.
        key: Secret,
        /// More lines of `known_hosts`; github.com's are known.
        known_hosts: Option<String>,
    },
}

impl PartialEq for Connection {
    fn eq(&self, other: &Self) -> bool {
        self.url == other.url && self.credential == other.credential
    }
}

impl Eq for Connection {}

impl Connection {
    /// A connection to `url` with the git program of the path; `variables` is the environment, of
    /// which only what the program needs is kept.
    pub fn new(
        url: String,
        credential: Credential,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        let variables: Vec<(OsString, OsString)> = variables.into_iter().collect();
        let runner_temp = variables.iter().find(|(name, _)| name == "RUNNER_TEMP");
        let scratch = runner_temp
            .map(|(_, value)| PathBuf::from(value))
            .filter(|path| path.is_dir())
            .unwrap_or_else(std::env::temp_dir);
        let is_passed = |name: &OsString| name.to_str().is_some_and(|name| PASSED.contains(&name));
        let environment = variables.into_iter().filter(|(name, _)| is_passed(name)).collect();
        Self {
            url,
            credential,
            scratch,
            program: PathBuf::from("git"),
            environment,
            timeout: Duration::from_mins(5),
        }
    }
}

/// The far side of a results repository.
#[derive(Debug)]
pub(super) struct Remote {
    git: Git,
    url: String,
    branch: String,
    comes: Cell<Comes>,
    /// Dropped last: it holds the repository.
    workspace: Workspace,
}

/// What of a tip comes with its commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comes {
    /// The root folder; everything below is asked for.
    Root,
    /// All folders, for the server refuses to leave them out; files are asked for.
    Folders,
    /// Everything, for the server lets nobody ask for single files.
    Everything,
}

/// What comes with a folder that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Below {
    /// Nothing.
    Nothing,
    /// All folders below it.
    Folders,
}

/// How a push ended that was not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Push {
    /// The branch is at the new commit.
    Done,
    /// Another publisher was faster.
    Lost,
}

impl Remote {
    /// Makes a workspace with an empty repository. Nothing is asked of the server yet.
    /// Tells in `notices` what it found left over from others.
    pub(super) fn prepare(
        connection: &Connection,
        branch: &str,
        notices: &mut Vec<String>,
    ) -> Result<Self, ResultsError> {
        let orphans = workspace::remove_orphans(&connection.scratch);
        if orphans > 0 {
            notices.push(format!(
                "removed the leftovers of {orphans} earlier publish that was killed"
            ));
        }
        let at = |source| ResultsError::Denied { path: connection.scratch.clone(), source };
        let workspace = Workspace::new(&connection.scratch).map_err(at)?;
        let folder = workspace.path().join("repository");
        init(&folder, &connection.url)
            .map_err(|source| ResultsError::git("make the publisher's workspace", source))?;
        let git = Git::new(connection, &workspace, folder).map_err(at)?;
        let (url, branch) = (connection.url.clone(), branch.to_owned());
        let remote = Self { git, url, branch, comes: Cell::new(Comes::Root), workspace };
        remote.check_version()?;
        Ok(remote)
    }

    /// Opens the workspace's repository.
    pub(super) fn repository(&self) -> Result<Repository, ResultsError> {
        Repository::open_bare(self.workspace.path().join("repository"))
            .map_err(|source| ResultsError::git("open the publisher's workspace", source))
    }

    /// The server's address.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Whether all of the tip is fetched, for the server gives no single files.
    pub(super) fn is_whole(&self) -> bool {
        self.comes.get() == Comes::Everything
    }

    fn check_version(&self) -> Result<(), ResultsError> {
        let answer = self.run(&["version"])?;
        if !answer.is_success {
            let source = io::Error::other(format!("`git version` fails: {}", answer.said.trim()));
            return Err(RemoteError::Program { source }.into());
        }
        let found = answer.stdout.trim().trim_start_matches("git version ").to_owned();
        let mut numbers = found.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if version < GIT_MIN {
            return Err(RemoteError::GitTooOld { found, wanted: GIT_MIN }.into());
        }
        Ok(())
    }

    /// Brings the newest commit of the branch, with its root folder and without files.
    pub(super) fn refresh(&self, repository: &Repository) -> Result<(), ResultsError> {
        let mut answer = self.fetch_tip(&[])?;
        let is_refused = !answer.is_success && answer.said.contains("filter");
        if is_refused && self.comes.get() == Comes::Root {
            self.comes.set(Comes::Folders);
            answer = self.fetch_tip(&[])?;
        }
        if answer.is_success {
            return Ok(());
        }
        if answer.said.contains("couldn't find remote ref") {
            // No branch yet, or no more: an older tip must not be taken for it.
            return match repository.find_reference(TIP).and_then(|mut tip| tip.delete()) {
                Ok(()) => Ok(()),
                Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(()),
                Err(source) => Err(ResultsError::git("forget the branch", source)),
            };
        }
        Err(self.refused("fetch the branch", &answer))
    }

    fn fetch_tip(&self, config: &[&str]) -> Result<Answer, ResultsError> {
        let spec = format!("+refs/heads/{}:{TIP}", self.branch);
        let filter = match self.comes.get() {
            Comes::Root => "--filter=tree:1",
            Comes::Folders => "--filter=blob:none",
            Comes::Everything => "--no-filter",
        };
        let options = [&["--depth=1", filter], FETCH, &["origin", &spec]].concat();
        self.run(&[config, &["fetch"], &options].concat())
    }

    /// Brings the content of files, and folders, in one go.
    ///
    /// Servers of the older protocol may filter and yet refuse to be asked for single files, as
    /// over SSH where nobody lets the newer one through: from them all of the tip is fetched, once.
    pub(super) fn fetch_objects(&self, ids: &[Oid], below: Below) -> Result<(), ResultsError> {
        let ids: Vec<String> = ids.iter().map(Oid::to_string).collect();
        let wanted: Vec<&str> = ids.iter().map(String::as_str).collect();
        let filter = match (below, self.comes.get()) {
            // What is named comes whatever the filter says.
            (Below::Nothing, Comes::Root) => "--filter=tree:0",
            _ => "--filter=blob:none",
        };
        let options = [&[filter], FETCH, &["origin"], &wanted].concat();
        let mut answer = self.run(&[ANEW, &["fetch"], &options].concat())?;
        let is_forbidden = answer.said.contains("unadvertised object");
        if !answer.is_success && is_forbidden {
            if self.comes.replace(Comes::Everything) == Comes::Everything {
                return Err(ResultsError::Moved);
            }
            answer = self.fetch_tip(ANEW)?;
        }
        if answer.is_success {
            Ok(())
        } else {
            Err(self.refused("fetch files of the branch", &answer))
        }
    }

    /// Moves the branch to `commit`, whose parent is the tip; never by force.
    pub(super) fn push(&self, commit: Oid) -> Result<Push, ResultsError> {
        self.push_with(commit, &[])
    }

    /// Does all of a push but the change: whether the server lets us.
    pub(super) fn try_push(&self, commit: Oid) -> Result<Push, ResultsError> {
        self.push_with(commit, &["--dry-run"])
    }

    fn push_with(&self, commit: Oid, more: &[&str]) -> Result<Push, ResultsError> {
        let spec = format!("{commit}:refs/heads/{}", self.branch);
        let usual = ["push", "--porcelain", "--no-verify", "--recurse-submodules=no"];
        let answer = self.run(&[&usual[..], more, &["origin", &spec]].concat())?;
        match refusal::pushed(&answer.stdout, answer.is_success) {
            Pushed::Done => Ok(Push::Done),
            Pushed::Lost => Ok(Push::Lost),
            Pushed::Refused => Err(self.refused("push to the branch", &answer)),
        }
    }

    fn run(&self, args: &[&str]) -> Result<Answer, ResultsError> {
        self.git.run(args).map_err(|error| match error {
            NoAnswer::Missing => RemoteError::GitMissing.into(),
            NoAnswer::Io(source) => RemoteError::Program { source }.into(),
            NoAnswer::Timeout => RemoteError::Refused {
                doing: "wait for the git program",
                url: self.url.clone(),
                refusal: Refusal::Timeout,
                said: String::new(),
            }
            .into(),
        })
    }

    fn refused(&self, doing: &'static str, answer: &Answer) -> ResultsError {
        let said = format!("{}\n{}", answer.said, answer.stdout);
        let refusal = Refusal::read(&said, self.git.has_credential());
        RemoteError::Refused { doing, url: self.url.clone(), refusal, said: told(&answer.said) }
            .into()
    }
}

/// The repository of a workspace, whose missing objects are promised by the server.
fn init(folder: &std::path::Path, url: &str) -> Result<(), git2::Error> {
    let mut options = RepositoryInitOptions::new();
    options.bare(true).no_reinit(true).external_template(false);
    let repository = Repository::init_opts(folder, &options)?;
    let mut config = repository.config()?;
    config.set_str("remote.origin.url", url)?;
    config.set_bool("remote.origin.promisor", true)?;
    config.set_str("remote.origin.partialclonefilter", "blob:none")
}

/// The last lines of what the program said, for people.
fn told(said: &str) -> String {
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty() && !line.starts_with("hint:"))
        .collect();
    let last = lines.len().saturating_sub(8);
    lines[last..]
        .iter()
        .map(|line| line.chars().take(300).collect::<String>())
        .collect::<Vec<_>>()
        .join("\n")
}
