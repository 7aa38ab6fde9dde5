//! The client of GitHub against a GitHub of our own: what it reads, what it sends, how often, and
//! what it says when it is refused.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use perftrail::github::{
    Client, Comparison, Error, NetworkKind, Settings, Token, Visibility, expiry_warning,
};
use serde_json::{Map, Value, json};

use crate::fake_github::{Failure, FakeGitHub, FakeRepository, FakeToken, NOW, TestPause};

/// The secret of these tests: it may be in headers, and nowhere else.
const TOKEN: &str = "github_pat_not_a_real_one";

fn client(settings: Settings) -> (Client, TestPause) {
    let pause = TestPause::new();
    (Client::new(settings, pause.clone()).expect("a client"), pause)
}

/// A GitHub with the results repository `lab/results`, which our token may write.
fn lab() -> (FakeGitHub, Client, TestPause) {
    let github = FakeGitHub::start();
    github
        .repository("lab/results", FakeRepository::of("private"))
        .token(TOKEN, FakeToken::writes("lab/results"));
    let (client, pause) = client(github.settings(TOKEN));
    (github, client, pause)
}

fn payload() -> Map<String, Value> {
    json!({"path": "runs/ab/abcd", "runs": 2}).as_object().expect("an object").clone()
}

/// Reads the repository and says what went wrong.
fn refused(client: &Client) -> Error {
    client.repository("lab", "results").expect_err("a refusal")
}

fn dispatch(client: &Client) -> Result<(), Error> {
    client.dispatch("lab", "results", "new-results", &payload())
}

#[test]
fn a_repository_is_read() {
    let (github, client, pause) = lab();
    {
        let model = &mut github.model();
        let repository = model.repositories.get_mut("lab/results").unwrap();
        (repository.size_kib, repository.archived) = (2048, true);
    }
    let repository = client.repository("lab", "results").unwrap();
    insta::assert_debug_snapshot!(repository, @r#"
    Repository {
        full_name: "lab/results",
        visibility: Private,
        default_branch: "main",
        size: Some(
            2097152,
        ),
        archived: true,
        may_push: Some(
            true,
        ),
    }
    "#);
    assert_eq!(github.requests(), ["GET /repos/lab/results"]);
    assert_eq!(pause.waits(), [0.0; 0]);
}

#[test]
fn everyone_s_own_view() {
    let (github, _, _) = lab();
    github
        .repository("lab/model", FakeRepository::of("public"))
        .repository("lab/house", FakeRepository::of("internal"))
        .token("house_token", FakeToken::reads("lab/house"));
    let (stranger, _) = client(Settings { token: None, ..github.settings(TOKEN) });
    assert_eq!(stranger.repository("lab", "model").unwrap().visibility, Visibility::Public);
    assert!(matches!(refused(&stranger), Error::NotFound { .. }));
    assert!(github.seen().iter().all(|seen| !seen.headers.contains_key("authorization")));
    let (housemate, _) = client(github.settings("house_token"));
    let house = housemate.repository("lab", "house").unwrap();
    assert_eq!((house.visibility, house.may_push), (Visibility::Internal, Some(false)));
}

#[test]
fn a_renamed_repository_is_followed() {
    let (github, client, _) = lab();
    let moved =
        FakeRepository { moved_to: Some("lab/results".to_owned()), ..FakeRepository::of("public") };
    github.repository("lab/old", moved);
    assert_eq!(client.repository("lab", "old").unwrap().full_name, "lab/results");
    client.dispatch("lab", "old", "new-results", &payload()).unwrap();
    assert_eq!(
        github.requests(),
        [
            "GET /repos/lab/old",
            "GET /repositories/2",
            "POST /repos/lab/old/dispatches",
            "POST /repositories/2/dispatches"
        ]
    );
    assert_eq!(github.model().repositories["lab/results"].dispatches.len(), 1);
}

#[test]
fn a_redirect_to_another_host_is_not_followed() {
    let (github, client, _) = lab();
    let elsewhere = FakeGitHub::start();
    let target = format!("{}/repos/lab/results", elsewhere.variables()["GITHUB_API_URL"]);
    github.fail([Failure::status(302).with("location", target)]);
    assert!(matches!(refused(&client), Error::Unexpected { .. }));
    assert_eq!(elsewhere.requests(), [""; 0]);
}

#[test]
fn a_redirect_in_circles_ends() {
    let (github, client, _) = lab();
    let target = format!("{}/repos/lab/results", github.variables()["GITHUB_API_URL"]);
    github.fail((0..4).map(|_| Failure::status(302).with("location", &target)));
    assert!(matches!(refused(&client), Error::Unexpected { .. }));
    assert_eq!(github.requests().len(), 4);
}

#[test]
fn enterprise_server_s_path_is_kept() {
    let github = FakeGitHub::start_below("/api/v3");
    github
        .repository("lab/results", FakeRepository::of("private"))
        .token(TOKEN, FakeToken::writes("lab/results"));
    let moved = FakeRepository {
        moved_to: Some("lab/results".to_owned()),
        ..FakeRepository::of("private")
    };
    github.repository("lab/old", moved);
    github.model().tokens.get_mut(TOKEN).unwrap().may_read.insert("lab/old");
    let (client, _) = client(github.settings(TOKEN));
    client.repository("lab", "old").unwrap();
    assert_eq!(github.requests(), ["GET /api/v3/repos/lab/old", "GET /api/v3/repositories/2"]);
}

#[test]
fn commits_are_compared() {
    let (github, client, _) = lab();
    // 0 - 1 - 2 on main, 1 - 3 - 4 - 5 on a branch.
    let repository = FakeRepository::of("private")
        .commit("0", &[])
        .commit("1", &["0"])
        .commit("2", &["1"])
        .commit("3", &["1"])
        .commit("4", &["3"])
        .commit("5", &["4"])
        .commit("apart", &[])
        .touches("5", &[("src/5", Some("src/old-5"))]);
    github.repository("lab/results", repository);
    assert_eq!(
        client.compare("lab", "results", "2", "5"),
        Ok(Comparison {
            ahead: 3,
            behind: 1,
            merge_base: "1".to_owned(),
            paths: vec!["src/5".to_owned(), "src/old-5".to_owned()],
        })
    );
    assert_eq!(github.requests(), ["GET /repos/lab/results/compare/2...5?per_page=1"]);
    for (base, head) in [("2", "unknown"), ("2", "apart")] {
        let error = client.compare("lab", "results", base, head).unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }), "{error}");
    }
    for (base, head) in [("", "5"), ("2", "a..b"), ("..", "5"), ("2", "a\nb")] {
        let error = client.compare("lab", "results", base, head).unwrap_err();
        assert!(matches!(error, Error::Name { .. }), "{error}");
    }
}

#[test]
fn a_dispatch_arrives_once() {
    let (github, client, _) = lab();
    dispatch(&client).unwrap();
    assert_eq!(github.requests(), ["POST /repos/lab/results/dispatches"]);
    assert_eq!(
        github.model().repositories["lab/results"].dispatches,
        [
            json!({"event_type": "new-results", "client_payload": {"path": "runs/ab/abcd", "runs": 2}})
        ]
    );
}

#[test]
fn what_is_beyond_the_limits_is_not_sent() {
    let (github, client, _) = lab();
    let error = client.dispatch("lab", "results", &"x".repeat(101), &payload()).unwrap_err();
    insta::assert_snapshot!(error, @"could not send the repository_dispatch: its event type has 101 characters; GitHub takes 1 to 100");
    let error = client.dispatch("lab", "../../user", "event", &payload()).unwrap_err();
    insta::assert_snapshot!(error, @r#""../../user" is no repository name that GitHub can have"#);
    assert_eq!(github.requests(), [""; 0]);
}

#[test]
fn the_token_s_end_is_told() {
    let (github, client, _) = lab();
    github.model().tokens.get_mut(TOKEN).unwrap().expires = Some("2026-12-20 12:00:00 +0200");
    let expires = client.token_expiry().unwrap().unwrap();
    assert_eq!(expires.to_string(), "2026-12-20T10:00:00Z");
    let warning = expiry_warning(expires, NOW.parse().unwrap()).unwrap();
    insta::assert_snapshot!(warning, @"the token expires in 5 days, on 2026-12-20 10:00 UTC; make a new one and store it in the secret");
    // What has been seen is not asked for again.
    client.token_expiry().unwrap();
    assert_eq!(github.requests(), ["GET /rate_limit"]);
}

#[test]
fn a_token_without_an_end_has_none() {
    let (github, client, _) = lab();
    client.repository("lab", "results").unwrap();
    assert_eq!(client.token_expiry(), Ok(None));
    assert_eq!(github.requests(), ["GET /repos/lab/results"]);
}

#[test]
fn a_server_that_has_no_rate_limits_tells_the_end_too() {
    let (github, client, _) = lab();
    let none = Failure::refusal(404, "Rate limiting is not enabled.");
    github.fail([none.with("github-authentication-token-expiration", "2027-01-01 00:00:00 UTC")]);
    assert_eq!(client.token_expiry().unwrap().unwrap().to_string(), "2027-01-01T00:00:00Z");
}

#[test]
fn a_token_that_has_ended_is_refused() {
    let (github, client, _) = lab();
    github.model().tokens.get_mut(TOKEN).unwrap().ended = true;
    assert!(matches!(client.token_expiry(), Err(Error::Unauthorized { token: true, .. })));
}

/// What went wrong, in words, with the fake's changing port taken out.
fn words(github: &FakeGitHub, error: &Error) -> String {
    let address = &github.variables()["GITHUB_API_URL"];
    error.to_string().replace(address.trim_start_matches("http://"), "HOST")
}

#[test]
fn every_refusal_says_what_to_do() {
    let (github, client, pause) = lab();
    let said = |failure: Failure| {
        github.fail([failure]);
        words(&github, &refused(&client))
    };
    insta::assert_snapshot!(said(Failure::refusal(401, "Bad credentials")), @"could not read the repository lab/results at HOST: GitHub does not accept the token: it is wrong, revoked or expired; make a new one and store it in the secret");
    insta::assert_snapshot!(said(Failure::refusal(404, "Not Found")), @"could not read the repository lab/results at HOST: GitHub does not know it, or the token may not see it; check the name, and that the token was given access to that repository");
    let forbidden = || Failure::refusal(403, "Resource not accessible by integration");
    insta::assert_snapshot!(said(forbidden()), @"could not read the repository lab/results at HOST: GitHub does not allow it: Resource not accessible by integration; give the token the permission it needs");
    insta::assert_snapshot!(said(forbidden().with("x-accepted-github-permissions", "contents=write")), @"could not read the repository lab/results at HOST: GitHub does not allow it: Resource not accessible by integration; the token needs the permission contents=write");
    insta::assert_snapshot!(said(forbidden().with("x-accepted-oauth-scopes", "repo")), @"could not read the repository lab/results at HOST: GitHub does not allow it: Resource not accessible by integration; the token needs the permission repo");
    insta::assert_snapshot!(said(forbidden().with("x-github-sso", "required; url=https://github.com/orgs/lab/sso?a=b")), @"could not read the repository lab/results at HOST: GitHub does not allow it: Resource not accessible by integration; let the token pass single sign-on at https://github.com/orgs/lab/sso?a=b");
    insta::assert_snapshot!(said(Failure::refusal(451, "Repository access blocked")), @"could not read the repository lab/results at HOST: GitHub refused it with 451: Repository access blocked");
    insta::assert_snapshot!(said(Failure::Answer {
        status: 422,
        headers: Vec::new(),
        body: json!({"message": "Validation Failed", "errors": [{"message": "too long\u{1b}[31m"}]}).to_string(),
    }), @"could not read the repository lab/results at HOST: GitHub refused it with 422: Validation Failed: too long [31m");
    insta::assert_snapshot!(said(Failure::used_up(3_600)), @"could not read the repository lab/results at HOST: GitHub asks to wait until 13:00 UTC on 2026-12-14, its rate limit is used up; try again after that, or with a token that has a limit of its own");
    insta::assert_snapshot!(said(Failure::status(501)), @"could not read the repository lab/results at HOST: the answer is not GitHub's (status 501 without GitHub's words); is a proxy or a login page in between, and is GITHUB_API_URL right?");
    insta::assert_snapshot!(said(Failure::status(200)), @"could not read the repository lab/results at HOST: the answer is not GitHub's (expected value at line 1 column 1); is a proxy or a login page in between, and is GITHUB_API_URL right?");
    insta::assert_snapshot!(said(Failure::status(403)), @"could not read the repository lab/results at HOST: the answer is not GitHub's (status 403 without GitHub's words); is a proxy or a login page in between, and is GITHUB_API_URL right?");
    assert_eq!(pause.waits(), [0.0; 0]);
}

#[test]
fn an_answer_without_an_end_is_not_read_to_it() {
    let (github, client, _) = lab();
    let body = " ".repeat((32 << 20) + 1);
    github.fail([Failure::Answer { status: 200, headers: Vec::new(), body: body.clone() }]);
    github.fail([Failure::Answer { status: 200, headers: Vec::new(), body }]);
    for (error, unsure) in [(refused(&client), false), (dispatch(&client).unwrap_err(), true)] {
        assert!(
            matches!(&error, Error::Unexpected { detail, .. } if detail == "it is too long"),
            "{error}"
        );
        assert_eq!(error.unsure(), unsure, "{error}");
    }
}

#[test]
fn without_a_token_a_refusal_asks_for_one() {
    let (github, _, _) = lab();
    let (client, _) = client(Settings { token: None, ..github.settings(TOKEN) });
    github.fail([Failure::refusal(401, "Requires authentication")]);
    insta::assert_snapshot!(words(&github, &refused(&client)), @"could not read the repository lab/results at HOST: GitHub wants a token and none was given; set one");
}

#[test]
fn a_dispatch_without_the_right_names_the_right() {
    let (github, _, _) = lab();
    github.token("reader_token", FakeToken::reads("lab/results"));
    let (client, _) = client(github.settings("reader_token"));
    insta::assert_snapshot!(words(&github, &dispatch(&client).unwrap_err()), @"could not send the repository_dispatch to lab/results at HOST: GitHub does not allow it: Resource not accessible by personal access token; the token needs the permission contents=write");
    assert_eq!(github.requests().len(), 1);
}

#[test]
fn reading_goes_on_after_trouble() {
    let (github, client, pause) = lab();
    github.fail([
        Failure::status(502),
        Failure::CutBeforeAnswer,
        Failure::CutInAnswer,
        Failure::status(503).with("retry-after", "9"),
    ]);
    client.repository("lab", "results").unwrap();
    assert_eq!(github.requests(), ["GET /repos/lab/results"; 5]);
    assert_eq!(pause.waits(), [0.5, 1.0, 2.0, 9.0]);
}

#[test]
fn reading_has_an_end() {
    let (github, client, pause) = lab();
    github.fail((0..6).map(|_| Failure::status(502)));
    insta::assert_snapshot!(words(&github, &refused(&client)), @"could not read the repository lab/results at HOST: GitHub is in trouble, it answered 502 (tried 6 times); try again later");
    assert_eq!(pause.waits().len(), 5);
    github.fail((0..6).map(|_| Failure::CutBeforeAnswer));
    let error = refused(&client);
    assert!(
        matches!(error, Error::Network { kind: NetworkKind::Cut, unsure: false, .. }),
        "{error}"
    );
}

#[test]
fn a_post_that_may_have_arrived_is_not_sent_again() {
    for failure in [
        Failure::status(500),
        Failure::status(502),
        Failure::status(503).with("retry-after", "1"),
        Failure::CutBeforeAnswer,
        Failure::CutInAnswer,
    ] {
        let (github, client, pause) = lab();
        github.fail([failure.clone()]);
        let error = dispatch(&client).unwrap_err();
        assert!(error.unsure(), "{failure:?}: {error}");
        assert!(error.to_string().ends_with("look before doing it again"), "{error}");
        assert_eq!(github.requests(), ["POST /repos/lab/results/dispatches"], "{failure:?}");
        assert_eq!(pause.waits(), [0.0; 0], "{failure:?}");
    }
}

#[test]
fn silence_is_not_waited_for_for_ever() {
    let (github, _, _) = lab();
    let mut settings = github.settings(TOKEN);
    settings.patience.attempt = Duration::from_millis(50);
    let (client, pause) = client(settings);
    github.fail([Failure::Silence]);
    insta::assert_snapshot!(words(&github, &dispatch(&client).unwrap_err()), @"could not send the repository_dispatch to lab/results at HOST: no answer came in time (after 0.05 s; tried once); try again later; it may have been done all the same: look before doing it again");
    assert_eq!(github.requests().len(), 1);
    // Reading may be done again.
    github.fail([Failure::Silence]);
    client.repository("lab", "results").unwrap();
    assert_eq!(pause.waits(), [0.5]);
}

#[test]
fn a_post_that_did_not_leave_is_sent_again() {
    let (client, pause) = client(at("http://127.0.0.1:1"));
    let error = dispatch(&client).unwrap_err();
    insta::assert_snapshot!(error, @"could not send the repository_dispatch to lab/results at 127.0.0.1:1: nothing listens at the server's address (Connection refused (os error 111); tried 6 times); check GITHUB_API_URL, and whether HTTPS_PROXY is needed here");
    assert!(!error.unsure());
    assert_eq!(pause.waits().len(), 5);
}

#[test]
fn a_connection_that_is_never_made_carries_no_post() {
    // The kernel takes the connection, nobody answers the greeting of TLS.
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let mut settings = at(&format!("https://{}", listener.local_addr().unwrap()));
    settings.patience.connect = Duration::from_millis(50);
    settings.patience.tries = 2;
    let (client, pause) = client(settings);
    let error = dispatch(&client).unwrap_err();
    assert!(
        matches!(error, Error::Network { kind: NetworkKind::Timeout, tries: 2, .. }),
        "{error}"
    );
    assert!(!error.unsure());
    assert_eq!(pause.waits(), [0.5]);
}

#[test]
fn rate_limits_are_waited_for() {
    let (github, client, pause) = lab();
    github.fail([Failure::used_up(40), Failure::too_fast(20)]);
    // The limit refused it before anything was done: a POST may be sent again.
    dispatch(&client).unwrap();
    assert_eq!(pause.waits(), [43.5, 22.5]);
    assert_eq!(github.model().repositories["lab/results"].dispatches.len(), 1);
}

#[test]
fn a_limit_that_names_no_time_is_waited_for_longer_and_longer() {
    let (github, client, pause) = lab();
    let limit = || Failure::refusal(403, "You have exceeded a secondary rate limit");
    github.fail([limit(), limit(), limit()]);
    let error = refused(&client);
    assert_eq!(pause.waits(), [62.5, 122.5]);
    // 12:00 + 62.5 s + 122.5 s + 242.5 s, of which the last does not fit into five minutes.
    assert!(error.to_string().contains("until 12:07 UTC"), "{error}");
}

/// The settings for an address, with our token.
fn at(api: &str) -> Settings {
    let variables = BTreeMap::from([("GITHUB_API_URL".to_owned(), api.to_owned())]);
    let mut settings = Settings::from_variables(&variables).expect("good addresses");
    settings.token = Some(Token::new(TOKEN).expect("a token"));
    settings
}

#[test]
fn a_name_that_nobody_has_is_told() {
    // A label of 64 letters is refused before any server is asked.
    let (client, pause) = client(at(&format!("http://{}.test", "a".repeat(64))));
    let error = refused(&client);
    assert!(matches!(error, Error::Network { kind: NetworkKind::Dns, tries: 6, .. }), "{error}");
    assert_eq!(pause.waits().len(), 5);
}

#[test]
fn a_server_without_tls_is_told_at_once() {
    let github = FakeGitHub::start();
    let api = github.variables()["GITHUB_API_URL"].replace("http://", "https://");
    let (client, pause) = client(at(&api));
    for error in [refused(&client), dispatch(&client).unwrap_err()] {
        assert!(
            matches!(error, Error::Network { kind: NetworkKind::Tls, unsure: false, .. }),
            "{error}"
        );
    }
    assert_eq!(pause.waits(), [0.0; 0]);
}

/// A proxy that answers everything itself, and keeps the first lines and credentials it saw.
struct Proxy {
    address: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn start(answer: &'static str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a connection");
        let address = listener.local_addr().expect("a connection").to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = seen.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                Self::answer(&stream.expect("a connection"), answer, &kept);
            }
        });
        Self { address, seen }
    }

    fn answer(mut stream: &TcpStream, answer: &str, kept: &Mutex<Vec<String>>) {
        let lines: Vec<String> = BufReader::new(stream)
            .lines()
            .map_while(Result::ok)
            .take_while(|line| !line.is_empty())
            .collect();
        let interesting = |line: &&String| line.to_lowercase().starts_with("proxy-authorization");
        let mut kept = kept.lock().expect("a connection");
        kept.extend(lines.iter().take(1).chain(lines.iter().filter(interesting)).cloned());
        write!(stream, "{answer}").expect("a connection");
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("a connection").clone()
    }
}

#[test]
fn a_proxy_is_used_where_the_environment_names_one() {
    let proxy = Proxy::start(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 72\r\n\r\n\
         {\"full_name\": \"lab/results\", \"private\": true, \"default_branch\": \"main\"}\n",
    );
    let github = FakeGitHub::start();
    github
        .repository("lab/results", FakeRepository::of("public"))
        .token(TOKEN, FakeToken::default());
    let mut variables = BTreeMap::from([
        ("GITHUB_API_URL".to_owned(), "http://api.example.test".to_owned()),
        ("HTTP_PROXY".to_owned(), format!("http://me:hunter2@{}", proxy.address)),
    ]);
    let settings = |variables: &BTreeMap<_, _>| Settings {
        token: Some(Token::new(TOKEN).unwrap()),
        ..Settings::from_variables(variables).unwrap()
    };
    let (client, _) = client(settings(&variables));
    assert_eq!(client.repository("lab", "results").unwrap().visibility, Visibility::Private);
    assert_eq!(
        proxy.seen(),
        [
            "GET http://api.example.test/repos/lab/results HTTP/1.1",
            "proxy-authorization: Basic bWU6aHVudGVyMg=="
        ]
    );
    // And not for what NO_PROXY names.
    variables.insert("NO_PROXY".to_owned(), "127.0.0.1".to_owned());
    variables.extend(github.variables());
    let (direct, _) = self::client(settings(&variables));
    assert_eq!(direct.repository("lab", "results").unwrap().visibility, Visibility::Public);
    assert_eq!((proxy.seen().len(), github.requests().len()), (2, 1));
}

#[test]
fn a_proxy_that_refuses_is_told() {
    let proxy =
        Proxy::start("HTTP/1.1 407 Proxy Authentication Required\r\nconnection: close\r\n\r\n");
    let mut variables = BTreeMap::from([("https_proxy".to_owned(), proxy.address.clone())]);
    variables.insert("GITHUB_API_URL".to_owned(), "https://api.example.test".to_owned());
    let (client, _) = client(Settings::from_variables(&variables).unwrap());
    let error = dispatch(&client).unwrap_err();
    insta::assert_snapshot!(error, @"could not send the repository_dispatch to lab/results at api.example.test: the proxy refused the connection (tunnel error: proxy authorization required; tried once); check HTTPS_PROXY, its user and password, and NO_PROXY");
    assert!(!error.unsure());
    assert!(proxy.seen().iter().all(|line| line == "CONNECT api.example.test:443 HTTP/1.1"));
}

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("the log").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_token_is_in_the_header_and_in_no_word_we_say() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let (github, client, _) = lab();
    let mut said = Vec::new();
    tracing::subscriber::with_default(subscriber, || {
        let echo = |status| Failure::refusal(status, &format!("what is Bearer {TOKEN}?"));
        github.fail([
            echo(403).with("x-accepted-github-permissions", TOKEN),
            echo(422),
            echo(404),
            Failure::status(302).with("location", TOKEN),
            Failure::Answer { status: 200, headers: Vec::new(), body: format!("\"{TOKEN}\"") },
            Failure::used_up(10),
            Failure::CutBeforeAnswer,
            echo(401),
        ]);
        for _ in 0..6 {
            said.push(refused(&client));
        }
        said.push(
            dispatch(&Client::new(at("http://127.0.0.1:1"), TestPause::new()).unwrap())
                .unwrap_err(),
        );
    });
    let settings = github.settings(TOKEN);
    let said = format!("{said:#?} {client:?} {settings:?}");
    let said = said + &String::from_utf8_lossy(&log.0.lock().unwrap());
    assert!(said.contains("GitHub asks to wait until 12:00 UTC"), "nothing was logged: {said}");
    assert!(!said.contains(TOKEN), "{said}");
    let bearer = format!("Bearer {TOKEN}");
    assert!(github.seen().iter().all(|seen| seen.headers["authorization"] == bearer.as_str()));
    assert!(github.requests().iter().all(|request| !request.contains(TOKEN)));
}
