//! What the client asks about pull requests and people, and what it tells them.

use perftrail::github::{Client, Error, Reaction, Status, StatusState};
use perftrail::model::names::CommitSha;
use perftrail::trigger::approve::Permission;

use crate::fake_github::{
    BOT, Failure, FakeGitHub, FakePull, FakeRepository, FakeToken, TestPause,
};

const TOKEN: &str = "github_pat_not_a_real_one";
const HEAD: &str = "1111111111111111111111111111111111111111";

fn sha(text: &str) -> CommitSha {
    CommitSha::parse(text).expect("a commit")
}

/// A GitHub with the public repository `lab/model` and pull request 7 of the fork `eve/model`.
fn lab(pull: FakePull) -> (FakeGitHub, Client) {
    let github = FakeGitHub::start();
    let mut repository = FakeRepository::of("public");
    repository.people = [("ada", "admin"), ("wim", "write"), ("rita", "read")].into();
    repository.pulls.insert(7, pull);
    github.repository("lab/model", repository).token(TOKEN, FakeToken::tells("lab/model"));
    let client = Client::new(github.settings(TOKEN), TestPause::new()).expect("a client");
    (github, client)
}

fn pull() -> FakePull {
    FakePull::from("eve/model", HEAD)
}

#[test]
fn what_people_may_do() {
    let (github, client) = lab(pull());
    github.model().repositories.get_mut("lab/model").unwrap().people.insert("odd", "owner");
    let here = client.in_repository("lab", "model").unwrap();
    for (login, may) in [
        ("ada", Permission::Admin),
        ("wim", Permission::Write),
        ("rita", Permission::Read),
        ("stranger", Permission::Read),
        ("odd", Permission::Unknown),
    ] {
        assert_eq!(here.permission(login), Ok(may), "{login}");
    }
    let asked = github.requests().len();
    for login in ["", "..", "a/b", "a?b", "a b", &"a".repeat(101)] {
        assert!(matches!(here.permission(login), Err(Error::Name { .. })), "{login:?}");
    }
    assert_eq!(github.requests().len(), asked);
}

#[test]
fn where_a_pull_request_stands() {
    let (github, client) = lab(FakePull {
        draft: true,
        head_pushed: Some("2026-12-14T11:00:00Z"),
        labels: vec!["run-profiler"],
        ..pull()
    });
    let here = client.in_repository("lab", "model").unwrap();
    let seen = here.pull_request(7).unwrap();
    assert_eq!((seen.head.as_str(), seen.open, seen.draft), (HEAD, true, true));
    assert_eq!(seen.head_repository.as_deref(), Some("eve/model"));
    assert_eq!(seen.head_pushed.unwrap().to_string(), "2026-12-14T11:00:00Z");
    assert_eq!(seen.labels, ["run-profiler"]);
    {
        let model = &mut github.model();
        let pulls = &mut model.repositories.get_mut("lab/model").unwrap().pulls;
        let pull = pulls.get_mut(&7).unwrap();
        (pull.open, pull.head_repository) = (false, None);
    }
    let gone = here.pull_request(7).unwrap();
    assert_eq!((gone.open, gone.head_repository, gone.head_pushed), (false, None, None));
    assert!(matches!(here.pull_request(8), Err(Error::NotFound { .. })));
}

#[test]
fn the_server_says_when_a_branch_was_pushed() {
    let (github, client) = lab(pull());
    let mut fork = FakeRepository::of("public");
    fork.pushes.insert("a/b", (HEAD.to_owned(), "2026-12-14T11:30:00Z"));
    github.repository("eve/model", fork);
    let fork = client.in_repository("eve", "model").unwrap();
    let pushed = fork.pushed("a/b", &sha(HEAD)).unwrap();
    assert_eq!(pushed.unwrap().to_string(), "2026-12-14T11:30:00Z");
    // The newest entry is about another commit: nobody knows about this one.
    assert_eq!(fork.pushed("a/b", &sha(&"2".repeat(40))), Ok(None));
    assert_eq!(fork.pushed("other", &sha(HEAD)), Ok(None));
}

#[test]
fn all_files_and_both_names_of_a_renamed_one() {
    let files = |count: usize| {
        let plain = (1..count).map(|at| (format!("docs/{at}.md"), None));
        plain.chain([("src/new.py".to_owned(), Some("src/old.py".to_owned()))]).collect()
    };
    for (count, listed, complete, requests) in
        [(1, 2, true, 1), (100, 101, true, 2), (250, 251, true, 3), (3000, 3001, false, 30)]
    {
        let (github, client) = lab(FakePull { files: files(count), ..pull() });
        let here = client.in_repository("lab", "model").unwrap();
        let changed = here.changed_files(7).unwrap();
        assert_eq!((changed.paths.len(), changed.complete), (listed, complete), "{count}");
        assert!(changed.paths.contains(&"src/old.py".to_owned()));
        assert_eq!(github.requests().len(), requests, "{count}");
    }
}

#[test]
fn a_comment_is_found_written_and_edited() {
    let mut talk = pull();
    for at in 0..150 {
        talk = talk.said("rita", &format!("comment {at}"));
    }
    let (github, client) = lab(talk.said("eve", "<!-- mark -->"));
    let here = client.in_repository("lab", "model").unwrap();
    let ours = |comment: &perftrail::github::Comment| {
        comment.author.as_deref() == Some(BOT) && comment.body.contains("<!-- mark -->")
    };
    assert_eq!(here.find_comments(7, ours), Ok(Vec::new()));
    let written = here.write_comment(7, "<!-- mark --> running").unwrap();
    assert_eq!(here.find_comments(7, ours), Ok(vec![written.clone()]));
    here.edit_comment(written.id, "<!-- mark --> done").unwrap();
    for _ in 0..2 {
        here.react(1000, Reaction::Eyes).unwrap();
    }
    assert!(matches!(here.edit_comment(1000, "mine"), Err(Error::Forbidden { .. })));
    assert!(matches!(here.edit_comment(9999, "gone"), Err(Error::NotFound { .. })));
    let model = github.model();
    let comments = &model.repositories["lab/model"].pulls[&7].comments;
    assert_eq!(comments.len(), 152);
    assert_eq!(comments[151].body, "<!-- mark --> done");
    assert_eq!(comments[0].reactions, [(BOT.to_owned(), "eyes".to_owned())]);
}

#[test]
fn no_comment_is_written_twice() {
    let (github, client) = lab(pull());
    let here = client.in_repository("lab", "model").unwrap();
    github.fail([Failure::CutBeforeAnswer]);
    let error = here.write_comment(7, "running").unwrap_err();
    assert!(error.unsure(), "{error}");
    assert_eq!(github.requests(), ["POST /repos/lab/model/issues/7/comments"]);
    assert!(!here.find_comments(7, |comment| comment.body == "running").unwrap().is_empty());
    // What may be sent again is.
    github.fail([Failure::status(502), Failure::CutBeforeAnswer]);
    here.react(1000, Reaction::Rocket).unwrap();
    let model = github.model();
    assert_eq!(model.repositories["lab/model"].pulls[&7].comments.len(), 1);
}

#[test]
fn a_status_is_set_within_github_s_limits() {
    let (github, client) = lab(pull());
    let here = client.in_repository("lab", "model").unwrap();
    let status = |description| Status {
        state: StatusState::Success,
        context: "perftrail/sim",
        description,
        url: Some("https://github.example/run"),
    };
    let long = "long ".repeat(60);
    here.set_status(&sha(HEAD), &status(&long)).unwrap();
    let refused = FakeToken::reads("lab/model");
    github.token(TOKEN, refused);
    let error = here.set_status(&sha(HEAD), &status("x")).unwrap_err();
    assert!(matches!(error, Error::Forbidden { .. }), "{error}");
    let statuses = &github.model().repositories["lab/model"].statuses;
    assert_eq!(statuses.len(), 1);
    assert_eq!(statuses[0].1["context"], "perftrail/sim");
}
