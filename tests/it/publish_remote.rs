//! Publishing to a server by the git program: races, troubles, refusals, and what is left behind.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use perftrail::analysis::verdict::Judging;
use perftrail::app::publish::{Options, Outcome, PublishError, Published, publish};
use perftrail::app::runs::{Query, runs};
use perftrail::bundle::write::gzip;
use perftrail::model::secret::Secret;
use perftrail::results::remote::{Connection, Credential, Refusal};
use perftrail::results::{BRANCH, RemoteError, Results, ResultsError, Target};

use crate::desk::{Desk, numbered, record};
use crate::git_server::{READ_TOKEN, Server, Trouble, WRITE_TOKEN, git};

fn connection(desk: &Desk, url: String, token: &str) -> Connection {
    let credential = Credential::Token(Secret::new(token).expect("a token"));
    let scratch = desk.path("scratch");
    fs::create_dir_all(&scratch).expect("a folder");
    let variables = [
        (OsString::from("PATH"), std::env::var_os("PATH").unwrap_or_default()),
        (OsString::from("RUNNER_TEMP"), scratch.into_os_string()),
    ];
    Connection::new(url, credential, variables)
}

fn options(desk: &Desk, server: &Server) -> Options {
    let connection = connection(desk, server.url(), WRITE_TOKEN);
    Options { to: Target::Remote(connection), ..desk.options() }
}

fn tries(bundle: &Path, options: &Options, most: u32) -> Result<Published, PublishError> {
    publish(&[bundle.to_owned()], options, &mut |next| next <= most)
}

fn refusal(error: &PublishError) -> Option<Refusal> {
    match error {
        PublishError::Results(ResultsError::Remote(RemoteError::Refused { refusal, .. })) => {
            Some(*refusal)
        }
        _ => None,
    }
}

fn left_in(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect()
}

#[test]
fn an_empty_server_takes_the_first_run_and_a_second_costs_little() {
    let (desk, server) = (Desk::new(), Server::start());
    let options = options(&desk, &server);
    let first = tries(&desk.bundle("1", &numbered(1)), &options, 1).expect("published");
    assert_eq!(first.runs[0].outcome, Outcome::Added);
    assert_eq!(first.commit, Some(server.git(&["rev-parse", "results"])));
    server.take_requests();
    let bundle = desk.bundle("2", &numbered(2));
    fs::write(bundle.join("log.txt.gz"), gzip(b"hello\n").expect("gzip")).expect("a log");
    let second = tries(&bundle, &options, 1).expect("published");
    assert!(second.is_whole() && second.notices.is_empty(), "{second:?}");
    // The tip, then folders with the files beside them, then all files that are rewritten, then the
    // push.
    let posts: Vec<String> =
        server.take_requests().into_iter().filter(|line| line.starts_with("POST")).collect();
    let packs = posts.iter().filter(|line| line.ends_with("git-upload-pack")).count();
    // The first asks for the references, then for the objects.
    assert_eq!((packs, posts.len()), (4, 5), "{posts:?}");
    server.git(&["fsck", "--strict", "--full"]);
    assert_eq!(server.git(&["rev-list", "--count", "results"]), "2");
    assert_eq!(server.git(&["show", "results:index/2026-11.jsonl"]).lines().count(), 2);
    assert_eq!(tries(&bundle, &options, 1).expect("an answer").runs[0].outcome, Outcome::Unchanged);
    assert_eq!(left_in(&desk.path("scratch")), Vec::<PathBuf>::new());
    // Reading takes the same way.
    let results = Results::open(&options.to, BRANCH).expect("opened");
    assert_eq!(runs(&results, &Query::default()).expect("a listing").lines.len(), 2);
    let run =
        perftrail::app::runs::find("latest", Some(&results), &Judging::default()).expect("a run");
    assert_eq!(run.log_tail.as_deref(), Ok("hello\n"));
}

/// Of the same commit, so that the folders on the way to the second are there.
#[test]
fn folders_that_did_not_come_are_asked_for() {
    for trees in ["true", "false"] {
        let (desk, server) = (Desk::new(), Server::start());
        server.git(&["config", "uploadpackfilter.tree.allow", trees]);
        let options = options(&desk, &server);
        let first = record(|_| {});
        let second = record(|record| record.run.id = "schedule-7-1-simulation".to_owned());
        tries(&desk.bundle("1", &first), &options, 1).expect("published");
        let again = tries(&desk.bundle("2", &second), &options, 1).expect("published");
        assert_eq!(again.runs[0].outcome, Outcome::Added, "{again:?}");
        server.git(&["fsck", "--strict", "--full"]);
        let listed = server.git(&["ls-tree", "-r", "--name-only", "results", "runs"]);
        assert_eq!(listed.matches("/stats.json").count(), 2, "{listed}");
        // Who walks through all of it gets every folder.
        let results = Results::open(&options.to, BRANCH).expect("opened");
        let checked = perftrail::app::fsck::check(&results, &options.pages).expect("checked");
        assert!(checked.is_clean() && checked.runs == 2, "{checked:?}");
    }
}

#[test]
fn the_owners_branches_and_files_stay() {
    let (desk, server) = (Desk::new(), Server::start());
    let work = desk.path("work");
    fs::create_dir_all(&work).expect("a folder");
    git(&work, &["init", "-q", "-b", "main"]);
    fs::write(work.join("README.md"), "Mine\n").expect("a file");
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "-q", "-m", "Mine"]);
    let repository = server.repository();
    git(&work, &["push", "-q", &repository.to_string_lossy(), "main"]);
    let mut options = options(&desk, &server);
    tries(&desk.bundle("1", &numbered(1)), &options, 1).expect("published");
    assert_eq!(server.git(&["ls-tree", "--name-only", "main"]), "README.md");
    // Into the branch that has the owner's files, from a server that knows no filter.
    server.git(&["config", "uploadpack.allowFilter", "false"]);
    options.branch = "main".to_owned();
    tries(&desk.bundle("2", &numbered(2)), &options, 1).expect("published");
    assert!(server.git(&["show", "main:README.md"]).starts_with("Mine\n\n<!-- perftrail:begin"));
    server.git(&["fsck", "--strict", "--full"]);
}

#[test]
fn publishers_at_once_all_land_in_one_line() {
    const PUBLISHERS: i64 = 6;
    let (desk, server) = (Desk::new(), Server::start());
    std::thread::scope(|scope| {
        for n in 0..PUBLISHERS {
            let (desk, options) = (&desk, options(&desk, &server));
            scope.spawn(move || {
                let bundle = desk.bundle(&n.to_string(), &numbered(n));
                let published = tries(&bundle, &options, 100).expect("published");
                assert!(published.is_whole(), "{published:?}");
            });
        }
    });
    server.git(&["fsck", "--strict", "--full"]);
    assert_eq!(server.git(&["rev-list", "--count", "results"]), "6");
    assert_eq!(server.git(&["rev-list", "--merges", "results"]), "");
    assert_eq!(server.git(&["show", "results:index/2026-11.jsonl"]).lines().count(), 6);
    assert_eq!(left_in(&desk.path("scratch")), Vec::<PathBuf>::new());
}

#[test]
fn a_race_that_the_server_decides_is_tried_again() {
    let (desk, server) = (Desk::new(), Server::start());
    let options = options(&desk, &server);
    tries(&desk.bundle("1", &numbered(1)), &options, 1).expect("published");
    // Between the check of the old commit and the update another publisher moves the branch.
    server.hook(
        "pre-receive",
        r"if [ ! -e raced ]; then
             touch raced
             unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
             new=$(git -c user.name=T -c user.email=t@example.org commit-tree -p results -m Other 'results^{tree}')
             git update-ref refs/heads/results $new
           fi",
    );
    let bundle = desk.bundle("2", &numbered(2));
    tries(&bundle, &options, 2).expect("published");
    assert!(server.repository().join("raced").exists());
    assert_eq!(server.git(&["rev-list", "--count", "results"]), "3");
}

#[test]
fn troubles_that_pass_are_waited_for() {
    let (desk, server) = (Desk::new(), Server::start());
    let options = options(&desk, &server);
    tries(&desk.bundle("1", &numbered(1)), &options, 1).expect("published");
    for (n, trouble) in [(2, Trouble::Status(503)), (3, Trouble::CutBefore), (4, Trouble::CutAfter)]
    {
        server.spoil_pushes(&[trouble]);
        let bundle = desk.bundle(&n.to_string(), &numbered(n));
        let published = tries(&bundle, &options, 2).expect("published");
        // After the last the commit was there already: its own, and known as such.
        assert_eq!(published.commit, Some(server.git(&["rev-parse", "results"])), "{trouble:?}");
        assert_eq!(server.git(&["rev-list", "--count", "results"]), n.to_string(), "{trouble:?}");
    }
    server.spoil_fetches(&[Trouble::Status(502), Trouble::CutBefore]);
    tries(&desk.bundle("5", &numbered(5)), &options, 3).expect("published");
    server.spoil_pushes(&[Trouble::Status(503), Trouble::Status(503)]);
    let error = tries(&desk.bundle("6", &numbered(6)), &options, 2).expect_err("trouble");
    assert_eq!(refusal(&error), Some(Refusal::Server), "{error}");
}

#[test]
fn a_file_that_does_not_come_is_never_taken_for_an_empty_one() {
    let (desk, server) = (Desk::new(), Server::start());
    let options = options(&desk, &server);
    for n in 1..=2 {
        tries(&desk.bundle(&n.to_string(), &numbered(n)), &options, 1).expect("published");
    }
    for (trouble, why) in
        [(Trouble::Status(503), Refusal::Server), (Trouble::Status(403), Refusal::ReadOnly)]
    {
        let before = server.git(&["rev-parse", "results"]);
        let results = Results::open(&options.to, BRANCH).expect("opened");
        server.spoil_fetches(&[trouble; 8]);
        let error = results
            .tip()
            .and_then(|tip| tip.shard("2026-11").map(drop))
            .expect_err("the file does not come");
        assert!(
            matches!(&error, ResultsError::Remote(RemoteError::Refused { refusal, .. }) if *refusal == why),
            "{error}"
        );
        server.take_troubles();
        assert_eq!(server.git(&["rev-parse", "results"]), before);
    }
    tries(&desk.bundle("3", &numbered(3)), &options, 1).expect("published");
    assert_eq!(server.git(&["show", "results:index/2026-11.jsonl"]).lines().count(), 3);
}

#[test]
fn refusals_are_told_in_plain_words_and_without_secrets() {
    let (desk, server) = (Desk::new(), Server::start());
    let bundle = desk.bundle("1", &numbered(1));
    let refused = |url: String, token: &str| {
        let to = Target::Remote(connection(&desk, url, token));
        let error = tries(&bundle, &Options { to, ..desk.options() }, 1).expect_err("refused");
        let text = error.to_string();
        assert!(!text.contains(token) && !text.contains("Basic"), "{text}");
        (refusal(&error), text)
    };
    let (why, text) = refused(server.url(), "ghs_of_nobody");
    assert_eq!(why, Some(Refusal::CredentialRefused), "{text}");
    assert!(text.contains("wrong, expired or revoked"), "{text}");
    let (why, text) = refused(server.url(), READ_TOKEN);
    assert_eq!(why, Some(Refusal::ReadOnly), "{text}");
    let (why, text) = refused(server.url().replace("results", "nothing"), WRITE_TOKEN);
    assert_eq!(why, Some(Refusal::NoRepository), "{text}");
    let (why, text) = refused("http://127.0.0.1:9/lab/results".to_owned(), WRITE_TOKEN);
    assert_eq!(why, Some(Refusal::NoNetwork), "{text}");
    let (why, text) = refused("http://name.invalid/lab/results".to_owned(), WRITE_TOKEN);
    assert_eq!(why, Some(Refusal::NoNetwork), "{text}");
    server.hook("pre-receive", "echo 'no pushes on Sundays' >&2; exit 1");
    let (why, text) = refused(server.url(), WRITE_TOKEN);
    assert_eq!(why, Some(Refusal::Hook), "{text}");
    assert!(text.contains("no pushes on Sundays"), "{text}");
    server.hook(
        "pre-receive",
        "echo 'error: GH006: Protected branch update failed for refs/heads/results.' >&2; exit 1",
    );
    let (why, text) = refused(server.url(), WRITE_TOKEN);
    assert_eq!(why, Some(Refusal::Protected), "{text}");
    assert_eq!(left_in(&desk.path("scratch")), Vec::<PathBuf>::new());
    assert!(bundle.join("stats.json").exists());
}

#[test]
fn a_git_that_is_missing_old_or_hangs_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let (desk, server) = (Desk::new(), Server::start());
    let bundle = desk.bundle("1", &numbered(1));
    let program = |text: &str| {
        let path = desk.path("program");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("that runs");
        path
    };
    let error = |program: PathBuf| {
        let mut connection = connection(&desk, server.url(), WRITE_TOKEN);
        connection.program = program;
        connection.timeout = std::time::Duration::from_millis(300);
        let options = Options { to: Target::Remote(connection), ..desk.options() };
        tries(&bundle, &options, 1).expect_err("no git")
    };
    let missing = error(desk.path("nothing")).to_string();
    assert!(missing.contains("git program is not there"), "{missing}");
    let old = error(program("echo git version 2.25.1")).to_string();
    assert!(old.contains("git 2.25.1 is too old") && old.contains("2.31"), "{old}");
    // What it started holds its output open; all of it is ended.
    let hangs = error(program("sleep 1000 & sleep 1000"));
    assert_eq!(refusal(&hangs), Some(Refusal::Timeout), "{hangs}");
}

#[test]
fn secrets_are_in_the_environment_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (desk, server) = (Desk::new(), Server::start());
    let bundle = desk.bundle("1", &numbered(1));
    // A git that tells what it was started with, and what lies in its folder.
    let seen = desk.path("seen");
    let wrapper = desk.path("git-wrapper");
    fs::write(
        &wrapper,
        format!(
            "#!/bin/sh\n{{ echo \"$@\"; cat config; ls -R ..; }} >> {}\nexec git \"$@\"\n",
            seen.display()
        ),
    )
    .expect("a program");
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).expect("that runs");
    let mut connection = connection(&desk, server.url(), WRITE_TOKEN);
    connection.environment.push(("GIT_TRACE".into(), "1".into()));
    connection.program = wrapper;
    let debug = format!("{connection:?}");
    let options = Options { to: Target::Remote(connection), ..desk.options() };
    tries(&bundle, &options, 1).expect("published");
    let seen = fs::read_to_string(seen).expect("what was seen");
    assert!(seen.contains("push --porcelain"));
    for secret in [WRITE_TOKEN, "eC1hY2Nlc3MtdG9rZW4"] {
        assert!(!seen.contains(secret), "{seen}");
        assert!(!debug.contains(secret), "{debug}");
    }
}

#[test]
fn a_deploy_key_is_a_private_file_while_it_is_used() {
    use std::os::unix::fs::PermissionsExt;
    let (desk, server) = (Desk::new(), Server::start());
    // An ssh that checks how it is called, then serves the repository of this machine.
    let bin = desk.path("bin");
    fs::create_dir_all(&bin).expect("a folder");
    let said = desk.path("said");
    fs::write(
        bin.join("ssh"),
        format!(
            r#"#!/bin/sh
printf '%s\n' "$*" >> {said}
for word; do case "$word" in */key) stat -c %a "$word" >> {said}; cat "$word" >> {said};; esac; done
eval last=\"\${{$#}}\"
exec sh -c "$last"
"#,
            said = said.display()
        ),
    )
    .expect("a program");
    fs::set_permissions(bin.join("ssh"), fs::Permissions::from_mode(0o755)).expect("that runs");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = format!("{}:{}", bin.display(), path.to_string_lossy());
    fs::create_dir_all(desk.path("scratch")).expect("a folder");
    let connection = Connection::new(
        format!("git@example.org:{}", server.repository().display()),
        Credential::SshKey {
            key: Secret::new("-----BEGIN KEY-----\nabc\n-----END KEY-----").expect("a key"),
            known_hosts: Some("example.org ssh-ed25519 AAAA".to_owned()),
        },
        [
            (OsString::from("PATH"), OsString::from(path)),
            (OsString::from("RUNNER_TEMP"), desk.path("scratch").into_os_string()),
        ],
    );
    let options = Options { to: Target::Remote(connection), ..desk.options() };
    let published = tries(&desk.bundle("1", &numbered(1)), &options, 1).expect("published");
    assert!(published.is_whole());
    let said = fs::read_to_string(said).expect("what was said");
    for words in [
        "StrictHostKeyChecking=yes",
        "IdentitiesOnly=yes",
        "-F /dev/null",
        "\n600\n-----BEGIN KEY-----",
        "-----END KEY-----\n",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(left_in(&desk.path("scratch")), Vec::<PathBuf>::new());
}

#[test]
fn the_measured_projects_own_address_is_refused() {
    let desk = Desk::new();
    let bundle = desk.bundle("1", &numbered(1));
    for url in [
        "https://github.com/example/simulation",
        "https://GitHub.com/Example/Simulation.git",
        "git@github.com:example/simulation.git",
        "ssh://git@github.com/example/simulation/",
    ] {
        let to = Target::Remote(connection(&desk, url.to_owned(), WRITE_TOKEN));
        let options = Options { to, ..desk.options() };
        let error = tries(&bundle, &options, 1).expect_err("its own repository");
        assert!(matches!(error, PublishError::Source { .. }), "{error}");
    }
}

#[test]
fn an_index_of_many_small_months_costs_few_questions() {
    let (desk, server) = (Desk::new(), Server::start());
    let options = options(&desk, &server);
    for month in 0..30 {
        desk.bundle(&format!("{month:02}"), &numbered(month * 24 * 30));
    }
    let all = publish(&[desk.path("out")], &options, &mut |_| false).expect("published");
    assert_eq!(all.runs.len(), 30);
    server.take_requests();
    let last =
        tries(&desk.bundle("last", &numbered(30 * 24 * 30)), &options, 1).expect("published");
    assert!(last.months_read >= 30, "{}", last.months_read);
    let requests = server.take_requests();
    let fetches = requests.iter().filter(|line| line.starts_with("GET")).count();
    // The tip; then 2, 4, 8 and 16 months; the push and what git asks for it.
    assert!(fetches <= 8, "{requests:#?}");
}
