//! What a server's refusal means, read from what the git program says.
//!
//! The program has one exit code for everything and no other words than these. They are taken in
//! English, and matched in the order of the table: the more telling first.

/// Why a server, or the way to it, did not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There was a credential, and it was not taken.
    CredentialRefused,
    /// There was none, and one is needed.
    CredentialMissing,
    /// The credential may read, not write.
    ReadOnly,
    /// There is no such repository, or the credential may not see it.
    NoRepository,
    /// The repository was archived.
    Archived,
    /// A rule protects the branch.
    Protected,
    /// A file is larger than the server takes.
    FileTooLarge,
    /// The server has no room left for this account or repository.
    Quota,
    /// A hook of the server said no.
    Hook,
    /// The server's key is not known.
    HostKey,
    /// The server's certificate is not trusted.
    Certificate,
    /// No secure connection comes about.
    Tls,
    /// The server asks to come back later.
    Busy,
    /// The server has trouble of its own.
    Server,
    /// An answer did not come in time.
    Timeout,
    /// The server cannot be reached.
    NoNetwork,
    /// The connection broke.
    CutOff,
    /// A disk of this machine is full.
    DiskFull,
    /// Something else.
    Other,
}

/// Words of git, of servers, and of what lies between, in lower case.
const WORDS: &[(Refusal, &[&str])] = &[
    (Refusal::DiskFull, &["no space left", "disk quota exceeded"]),
    (Refusal::HostKey, &["host key verification failed", "remote host identification has changed"]),
    (Refusal::Archived, &["repository was archived"]),
    (
        Refusal::FileTooLarge,
        &[
            "gh001",
            "large files detected",
            "file size limit",
            "exceeds maximum allowed size",
            "error: 413",
            "http 413",
        ],
    ),
    (
        Refusal::Quota,
        &["quota", "repository size limit", "over its size limit", "exceeded its size limit"],
    ),
    (
        Refusal::Protected,
        &[
            "gh006",
            "gh013",
            "protected branch",
            "repository rule violations",
            "not allowed to push code to protected",
        ],
    ),
    (
        Refusal::ReadOnly,
        &[
            "write access to repository not granted",
            "marked as read only",
            "denied to",
            "error: 403",
            "http 403",
            "read-only",
        ],
    ),
    (Refusal::Hook, &["hook declined"]),
    (Refusal::Busy, &["error: 429", "http 429", "rate limit"]),
    (
        Refusal::CredentialRefused,
        &[
            "authentication failed",
            "could not read username",
            "could not read password",
            "error: 401",
            "http 401",
            "bad credentials",
            "permission denied (",
            "invalid username or",
        ],
    ),
    (
        Refusal::NoRepository,
        &[
            "repository not found",
            "error: 404",
            "http 404",
            "does not appear to be a git repository",
            "repository does not exist",
            "' not found",
        ],
    ),
    (
        Refusal::Certificate,
        &[
            "ssl certificate",
            "certificate verif",
            "self-signed certificate",
            "self signed certificate",
            "unable to get local issuer",
        ],
    ),
    (
        Refusal::Tls,
        &[
            "ssl_connect",
            "ssl routines",
            "tls handshake",
            "gnutls_handshake",
            "gnutls, handshake failed",
            "tls connect error",
            "unexpected tls packet",
        ],
    ),
    (
        Refusal::Server,
        &[
            "error: 500",
            "error: 502",
            "error: 503",
            "error: 504",
            "http 50",
            "internal server error",
            "service unavailable",
        ],
    ),
    (Refusal::Timeout, &["timed out", "too slow", "timeout was reached"]),
    (
        Refusal::NoNetwork,
        &[
            "could not resolve",
            "couldn't connect",
            "failed to connect",
            "network is unreachable",
            "no route to host",
            "connection refused",
            "name or service not known",
            "temporary failure in name resolution",
        ],
    ),
    (
        Refusal::CutOff,
        &[
            "early eof",
            "failed to report status",
            "hung up unexpectedly",
            "unexpected disconnect",
            "connection reset",
            "broken pipe",
            "rpc failed",
            "empty reply",
            "connection closed",
            "unexpected eof",
            "transfer closed",
        ],
    ),
];

impl Refusal {
    /// What `said` means. Whether a credential was given tells a wrong one from none.
    pub fn read(said: &str, had_credential: bool) -> Self {
        let said = said.to_lowercase();
        let found = WORDS.iter().find(|(_, words)| words.iter().any(|word| said.contains(word)));
        match found.map_or(Self::Other, |(refusal, _)| *refusal) {
            Self::CredentialRefused if !had_credential => Self::CredentialMissing,
            refusal => refusal,
        }
    }

    /// Whether the same may go well a little later.
    pub const fn is_transient(self) -> bool {
        matches!(self, Self::Busy | Self::Server | Self::Timeout | Self::NoNetwork | Self::CutOff)
    }

    /// What happened and what to do, as a clause.
    pub const fn words(self) -> &'static str {
        match self {
            Self::CredentialRefused => {
                "the server did not take the credential: it is wrong, expired or revoked; store a new one in the secret"
            }
            Self::CredentialMissing => {
                "the server asks for a credential and none was given; is the secret set, and may this workflow read it?"
            }
            Self::ReadOnly => {
                "the credential may not write there; it needs `contents: write` on the results repository, or a deploy key with write access"
            }
            Self::NoRepository => {
                "there is no such repository, or the credential may not see it; check the name, and that the token covers this repository"
            }
            Self::Archived => {
                "the repository was archived and takes nothing any more; unarchive it, or name another"
            }
            Self::Protected => {
                "a rule protects the branch; let this credential push to it, or publish to another branch (--branch)"
            }
            Self::FileTooLarge => {
                "a file is larger than the server takes; lower `max_file` in [results] so that it is left out"
            }
            Self::Quota => {
                "the server has no room left for this repository; free some, or name another repository"
            }
            Self::Hook => "a hook of the server refused the push; its words are below",
            Self::HostKey => {
                "the server's host key is not one of the known ones; give its line of known_hosts, checked with the server's owner"
            }
            Self::Certificate => {
                "the server's certificate is not trusted here; install its authority's certificate, or name it in GIT_SSL_CAINFO"
            }
            Self::Tls => {
                "no secure connection comes about; check that the address is right and speaks https, and whether a proxy stands between"
            }
            Self::Busy => "the server asks to come back later; wait some minutes",
            Self::Server => "the server has trouble of its own; try again later",
            Self::Timeout => "the server did not answer in time; try again later",
            Self::NoNetwork => {
                "the server cannot be reached; check the address, the network and the proxy"
            }
            Self::CutOff => "the connection broke off; try again later",
            Self::DiskFull => "a disk is full; free some space",
            Self::Other => "the git program failed",
        }
    }
}

/// How a push ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    /// The branch is at the new commit.
    Done,
    /// Another publisher was faster.
    Lost,
    /// The server said no.
    Refused,
}

/// Words of a lost race.
///
/// Before the server is asked git sees that the branch has moved; after that the server sees
/// it, by the old commit it is told or by a lock that another push holds.
const LOST: &[&str] = &[
    "fetch first",
    "non-fast-forward",
    "stale info",
    "incorrect old value",
    "cannot lock ref",
    "unable to lock",
    "failed to lock",
    "failed to update ref",
    "reference already exists",
    "already exists",
    "remote ref updated since checkout",
];

/// Reads the lines of `git push --porcelain`: one a reference, a flag first.
pub(super) fn pushed(stdout: &str, is_success: bool) -> Pushed {
    let line = stdout.lines().find(|line| line.contains('\t')).unwrap_or_default();
    let Some(refused) = line.strip_prefix('!') else {
        return if is_success { Pushed::Done } else { Pushed::Refused };
    };
    let refused = refused.to_lowercase();
    if LOST.iter().any(|words| refused.contains(words)) { Pushed::Lost } else { Pushed::Refused }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As git and servers of several kinds said it.
    const SAID: &[(&str, Refusal)] = &[
        (
            "remote: Invalid username or token.\nfatal: Authentication failed for 'https://github.com/a/b/'",
            Refusal::CredentialRefused,
        ),
        (
            "fatal: could not read Username for 'https://github.com': terminal prompts disabled",
            Refusal::CredentialRefused,
        ),
        (
            "remote: Write access to repository not granted.\nfatal: unable to access 'https://github.com/a/b/': The requested URL returned error: 403",
            Refusal::ReadOnly,
        ),
        (
            "remote: Permission to a/b.git denied to bot.\nfatal: unable to access: The requested URL returned error: 403",
            Refusal::ReadOnly,
        ),
        (
            "ERROR: The key you are authenticating with has been marked as read only.\nfatal: Could not read from remote repository.",
            Refusal::ReadOnly,
        ),
        (
            "remote: Repository not found.\nfatal: repository 'https://github.com/a/b/' not found",
            Refusal::NoRepository,
        ),
        ("fatal: repository 'https://git.example.org/a/b/' not found", Refusal::NoRepository),
        ("fatal: '/srv/none' does not appear to be a git repository", Refusal::NoRepository),
        (
            "remote: This repository was archived so it is read-only.\nfatal: unable to access: The requested URL returned error: 403",
            Refusal::Archived,
        ),
        (
            "remote: error: GH006: Protected branch update failed for refs/heads/results.\n ! [remote rejected] (protected branch hook declined)",
            Refusal::Protected,
        ),
        (
            "remote: error: GH013: Repository rule violations found for refs/heads/results.\n ! [remote rejected] (push declined due to repository rule violations)",
            Refusal::Protected,
        ),
        (
            "remote: error: File a.bin is 123.00 MB; this exceeds GitHub's file size limit of 100.00 MB\nremote: error: GH001: Large files detected.\n (pre-receive hook declined)",
            Refusal::FileTooLarge,
        ),
        (
            "remote: no pushes on Sundays\n ! [remote rejected] (pre-receive hook declined)",
            Refusal::Hook,
        ),
        ("remote: fatal: pack exceeds maximum allowed size", Refusal::FileTooLarge),
        ("remote: Your repository is over its data quota", Refusal::Quota),
        (
            "No ED25519 host key is known for example.org and you have requested strict checking.\nHost key verification failed.",
            Refusal::HostKey,
        ),
        (
            "git@github.com: Permission denied (publickey).\nfatal: Could not read from remote repository.",
            Refusal::CredentialRefused,
        ),
        (
            "fatal: unable to access 'https://x/': SSL certificate problem: self-signed certificate",
            Refusal::Certificate,
        ),
        (
            "fatal: unable to access 'https://x/': error:0A00010B:SSL routines::wrong version number",
            Refusal::Tls,
        ),
        (
            "fatal: unable to access 'https://x/': GnuTLS, handshake failed: The TLS connection was non-properly terminated.",
            Refusal::Tls,
        ),
        (
            "error: RPC failed; HTTP 503 curl 22 The requested URL returned error: 503",
            Refusal::Server,
        ),
        (
            "fatal: unable to access 'https://x/': The requested URL returned error: 429",
            Refusal::Busy,
        ),
        ("fatal: unable to access 'https://x/': Could not resolve host: x", Refusal::NoNetwork),
        ("ssh: connect to host x port 22: Connection refused", Refusal::NoNetwork),
        (
            "fatal: unable to access 'https://x/': Failed to connect to x port 443 after 2 ms: Couldn't connect to server",
            Refusal::NoNetwork,
        ),
        (
            "error: RPC failed; curl 28 Operation too slow. Less than 1000 bytes/sec",
            Refusal::Timeout,
        ),
        (
            "error: RPC failed; curl 56 Recv failure: Connection reset by peer\nfatal: the remote end hung up unexpectedly",
            Refusal::CutOff,
        ),
        ("fatal: early EOF", Refusal::CutOff),
        ("error: file write error: No space left on device", Refusal::DiskFull),
        ("fatal: something new", Refusal::Other),
    ];

    #[test]
    fn what_servers_say() {
        for (said, refusal) in SAID.iter().copied() {
            assert_eq!(Refusal::read(said, true), refusal, "{said}");
            assert!(!refusal.words().is_empty());
        }
        let said =
            "fatal: could not read Username for 'https://github.com': terminal prompts disabled";
        assert_eq!(Refusal::read(said, false), Refusal::CredentialMissing);
    }

    #[test]
    fn how_a_push_ended() {
        let line =
            |flag: &str, why: &str| format!("To x\n{flag}\tabc:refs/heads/results\t{why}\nDone\n");
        assert_eq!(pushed(&line(" ", "1..2"), true), Pushed::Done);
        assert_eq!(pushed(&line("*", "[new branch]"), true), Pushed::Done);
        assert_eq!(pushed("", false), Pushed::Refused);
        for why in [
            "[rejected] (fetch first)",
            "[rejected] (non-fast-forward)",
            "[remote rejected] (incorrect old value provided)",
            "[remote rejected] (cannot lock ref 'refs/heads/results': is at 1 but expected 2)",
            "[remote rejected] (failed to update ref)",
            "[remote rejected] (reference already exists)",
        ] {
            assert_eq!(pushed(&line("!", why), false), Pushed::Lost, "{why}");
        }
        for why in [
            "[remote rejected] (pre-receive hook declined)",
            "[remote failure] (remote failed to report status)",
        ] {
            assert_eq!(pushed(&line("!", why), false), Pushed::Refused, "{why}");
        }
    }
}
