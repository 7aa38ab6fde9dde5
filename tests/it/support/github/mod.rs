//! A GitHub on loopback that remembers: repositories, tokens, commits and dispatches that a test
//! puts in and looks at, a log of requests, and failures that happen in the order they were asked
//! for. It is hard on its callers: a request that GitHub would not understand fails the test.

mod app;
mod door;
mod openapi;
mod pulls;
mod tells;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request as HttpRequest, State};
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use jiff::Timestamp;
use perftrail::github::{Patience, Pause, Settings, Token};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

pub(crate) use app::{FakeApp, FakeInstallation, private_key};
use door::{Cut, Door};
pub(crate) use pulls::{BOT, FakePull};
pub(crate) use tells::{FakeCheck, FakeIssue};

/// What the fake's own clock shows, in each answer's `date`.
pub(crate) const NOW: &str = "2026-12-14T12:00:00Z";

/// A repository.
#[derive(Clone, Debug)]
pub(crate) struct FakeRepository {
    /// `public`, `internal` or `private`.
    pub(crate) visibility: &'static str,
    pub(crate) default_branch: &'static str,
    pub(crate) size_kib: u64,
    pub(crate) archived: bool,
    /// Each commit's parents.
    pub(crate) commits: BTreeMap<String, Vec<String>>,
    /// The files that a commit touches, with the name before a renaming.
    pub(crate) touched: BTreeMap<String, Vec<(&'static str, Option<&'static str>)>>,
    /// Branches that comparisons may name, and their commits.
    pub(crate) branches: BTreeMap<&'static str, String>,
    /// What came by `repository_dispatch`, oldest first.
    pub(crate) dispatches: Vec<Value>,
    /// The repository was renamed to this one.
    pub(crate) moved_to: Option<String>,
    /// What people may do, by login.
    pub(crate) people: BTreeMap<&'static str, &'static str>,
    pub(crate) pulls: BTreeMap<u64, FakePull>,
    /// The newest push to a branch: the commit, and when.
    pub(crate) pushes: BTreeMap<&'static str, (String, &'static str)>,
    /// What was said of commits, oldest first.
    pub(crate) statuses: Vec<(String, Value)>,
    /// Check runs, oldest first.
    pub(crate) checks: Vec<FakeCheck>,
    /// Issues, oldest first.
    pub(crate) issues: Vec<FakeIssue>,
    /// Files by commit and path.
    pub(crate) files: BTreeMap<(String, String), String>,
    /// The commits that branches and tags name.
    pub(crate) references: BTreeMap<&'static str, String>,
    /// The files that a comparison lists.
    pub(crate) compared: Vec<&'static str>,
}

impl FakeRepository {
    pub(crate) fn of(visibility: &'static str) -> Self {
        Self {
            visibility,
            default_branch: "main",
            size_kib: 1,
            archived: false,
            commits: BTreeMap::new(),
            touched: BTreeMap::new(),
            branches: BTreeMap::new(),
            dispatches: Vec::new(),
            moved_to: None,
            people: BTreeMap::new(),
            pulls: BTreeMap::new(),
            pushes: BTreeMap::new(),
            statuses: Vec::new(),
            checks: Vec::new(),
            issues: Vec::new(),
            files: BTreeMap::new(),
            references: BTreeMap::new(),
            compared: Vec::new(),
        }
    }

    /// Adds a commit.
    pub(crate) fn commit(mut self, sha: &str, parents: &[&str]) -> Self {
        self.commits.insert(sha.to_owned(), parents.iter().map(|&sha| sha.to_owned()).collect());
        self
    }

    /// Says which files a commit touches.
    pub(crate) fn touches(
        mut self,
        sha: &str,
        files: &[(&'static str, Option<&'static str>)],
    ) -> Self {
        self.touched.insert(sha.to_owned(), files.to_vec());
        self
    }

    /// Puts a branch there.
    pub(crate) fn branch(mut self, name: &'static str, sha: &str) -> Self {
        self.branches.insert(name, sha.to_owned());
        self
    }

    /// A commit and all before it.
    fn history(&self, sha: &str) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        let mut open = vec![sha.to_owned()];
        while let Some(sha) = open.pop() {
            open.extend(self.commits.get(&sha).into_iter().flatten().cloned());
            seen.insert(sha);
        }
        seen
    }
}

/// A token: what it may do, and when it ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct FakeToken {
    pub(crate) may_read: BTreeSet<&'static str>,
    pub(crate) may_write: BTreeSet<&'static str>,
    /// Where it may comment and set statuses.
    pub(crate) may_tell: BTreeSet<&'static str>,
    /// As the header says it.
    pub(crate) expires: Option<&'static str>,
    /// It has ended.
    pub(crate) ended: bool,
    /// Whose it is; `None`: an App's, which speaks as [`BOT`].
    pub(crate) user: Option<&'static str>,
}

impl FakeToken {
    pub(crate) fn reads(repository: &'static str) -> Self {
        Self { may_read: [repository].into(), ..Self::default() }
    }

    pub(crate) fn tells(repository: &'static str) -> Self {
        Self { may_tell: [repository].into(), ..Self::reads(repository) }
    }

    pub(crate) fn writes(repository: &'static str) -> Self {
        Self { may_write: [repository].into(), ..Self::reads(repository) }
    }
}

/// What happens instead of an answer, or as an answer.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// None: this one is answered.
    Spared,
    /// This answer, with nothing done.
    Answer { status: u16, headers: Vec<(&'static str, String)>, body: String },
    /// The request is read and carried out, then the connection is cut.
    CutBeforeAnswer,
    /// The connection is cut in the middle of the body.
    CutInAnswer,
    /// The request is read and carried out, and nothing is ever said.
    Silence,
}

impl Failure {
    pub(crate) fn status(status: u16) -> Self {
        Self::Answer { status, headers: Vec::new(), body: "<html>trouble</html>".to_owned() }
    }

    /// A refusal in GitHub's form.
    pub(crate) fn refusal(status: u16, message: &str) -> Self {
        let body = json!({"message": message, "documentation_url": "https://docs.github.com/rest"});
        Self::Answer { status, headers: Vec::new(), body: body.to_string() }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.push((name, value.into()));
        }
        self
    }

    /// The limit of the hour is used up until so many seconds after [`NOW`].
    pub(crate) fn used_up(seconds: i64) -> Self {
        Self::refusal(403, "API rate limit exceeded for installation ID 1.")
            .with("x-ratelimit-remaining", "0")
            .with("x-ratelimit-reset", (now().as_second() + seconds).to_string())
    }

    /// The secondary limit, which names the time to wait.
    pub(crate) fn too_fast(seconds: u64) -> Self {
        Self::refusal(429, "You have exceeded a secondary rate limit.")
            .with("retry-after", seconds.to_string())
    }
}

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Value>,
}

/// What the fake holds.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) repositories: BTreeMap<&'static str, FakeRepository>,
    pub(crate) tokens: BTreeMap<&'static str, FakeToken>,
    pub(crate) app: Option<FakeApp>,
    /// When the App's tokens end, instead of an hour from now.
    pub(crate) app_expires: Option<Timestamp>,
    failures: VecDeque<Failure>,
    seen: Vec<Seen>,
    /// What GitHub would not have understood.
    offences: Vec<String>,
    base: String,
    path: String,
}

/// The fake, until it is dropped: then no failure may be left, and no offence have been.
pub(crate) struct FakeGitHub {
    model: Arc<Mutex<Model>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

fn now() -> Timestamp {
    NOW.parse().expect("a time")
}

impl FakeGitHub {
    /// Like github.com: the API at the root of a host.
    pub(crate) fn start() -> Self {
        Self::start_below("")
    }

    /// Like Enterprise Server: the API below a path, such as `/api/v3`.
    pub(crate) fn start_below(path: &str) -> Self {
        let model = Arc::new(Mutex::new(Model::default()));
        let (stop, stopped) = oneshot::channel();
        let (ready, port) = mpsc::channel();
        let shared = model.clone();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async move {
                let door = Door::open().await;
                let app = Router::new().fallback(answer).with_state(shared);
                ready.send(door.port()).expect("the test waits");
                tokio::spawn(
                    axum::serve(door, app.into_make_service_with_connect_info::<Cut>())
                        .into_future(),
                );
                // The sender being dropped is as good as a word.
                stopped.await.ok();
            });
        });
        let port = port.recv().expect("the fake starts");
        {
            let mut model = lock(&model);
            model.base = format!("http://127.0.0.1:{port}");
            path.clone_into(&mut model.path);
        }
        Self { model, stop: Some(stop), thread: Some(thread) }
    }

    /// What it holds, to read and to change.
    pub(crate) fn model(&self) -> MutexGuard<'_, Model> {
        lock(&self.model)
    }

    pub(crate) fn repository(&self, name: &'static str, repository: FakeRepository) -> &Self {
        self.model().repositories.insert(name, repository);
        self
    }

    pub(crate) fn token(&self, text: &'static str, token: FakeToken) -> &Self {
        self.model().tokens.insert(text, token);
        self
    }

    /// The next requests fail like this, after those that were to fail already.
    pub(crate) fn fail(&self, failures: impl IntoIterator<Item = Failure>) -> &Self {
        self.model().failures.extend(failures);
        self
    }

    /// No more failures.
    pub(crate) fn recover(&self) {
        self.model().failures.clear();
    }

    /// The environment of a step that talks to it.
    pub(crate) fn variables(&self) -> BTreeMap<String, String> {
        let Model { base, path, .. } = &*self.model();
        let pairs = [
            ("GITHUB_API_URL", format!("{base}{path}")),
            ("GITHUB_SERVER_URL", base.clone()),
            ("GITHUB_GRAPHQL_URL", format!("{base}/graphql")),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// A client's settings: this GitHub, that token, and no real waiting for answers that never
    /// come.
    pub(crate) fn settings(&self, token: &str) -> Settings {
        let mut settings = Settings::from_variables(&self.variables()).expect("good addresses");
        settings.token = Some(Token::new(token).expect("a token"));
        settings.patience = Patience::default();
        settings
    }

    /// The requests so far, oldest first, as `METHOD /path?query`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen().iter().map(|seen| format!("{} {}", seen.method, seen.target)).collect()
    }

    /// The requests so far, oldest first.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.model().seen.clone()
    }
}

impl Drop for FakeGitHub {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
        if !thread::panicking() {
            let model = self.model();
            assert!(model.offences.is_empty(), "GitHub would not take: {:#?}", model.offences);
            assert!(model.failures.is_empty(), "never happened: {:?}", model.failures);
        }
    }
}

/// A test's time: it stands still but for the waits, which take no time and are kept.
#[derive(Clone)]
pub(crate) struct TestPause(Arc<Mutex<(Timestamp, Vec<Duration>)>>);

impl TestPause {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new((now(), Vec::new()))))
    }

    /// The waits so far, in seconds.
    pub(crate) fn waits(&self) -> Vec<f64> {
        lock(&self.0).1.iter().map(Duration::as_secs_f64).collect()
    }
}

impl Pause for TestPause {
    fn now(&self) -> Timestamp {
        lock(&self.0).0
    }

    fn sleep(&self, time: Duration) {
        let mut state = lock(&self.0);
        state.0 += time;
        state.1.push(time);
    }

    fn fraction(&self) -> f64 {
        0.5
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers one request, or fails it as asked.
async fn answer(
    ConnectInfo(cut): ConnectInfo<Cut>,
    State(shared): State<Arc<Mutex<Model>>>,
    request: HttpRequest,
) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, 1 << 20).await.expect("a body that fits");
    let seen = Seen {
        method: parts.method.to_string(),
        target: parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        headers: parts.headers,
        body: serde_json::from_slice(&bytes).ok(),
    };
    let (failure, reply) = {
        let mut model = lock(&shared);
        model.seen.push(seen.clone());
        let failure = model.failures.pop_front();
        if let Some(Failure::Answer { status, headers, body }) = failure {
            let reply = Reply { status, headers, body };
            (None, reply)
        } else {
            (failure, model.reply(&seen, &parts.method))
        }
    };
    match failure {
        Some(Failure::Silence) => std::future::pending().await,
        Some(Failure::CutBeforeAnswer) => {
            cut.at(0);
            reply.response()
        }
        Some(Failure::CutInAnswer) => {
            // Behind the head, which promises more than comes.
            let mut response = reply.response();
            let length = "1000000".parse().expect("a header");
            response.headers_mut().insert("content-length", length);
            *response.body_mut() = Body::from("{\"full_name\":".repeat(80_000));
            cut.at(2_000);
            response
        }
        _ => reply.response(),
    }
}

/// An answer on its way.
struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Reply {
    fn json(status: u16, body: &Value) -> Self {
        Self { status, headers: Vec::new(), body: body.to_string() }
    }

    fn refusal(status: u16, message: &str) -> Self {
        Self::json(status, &json!({"message": message, "status": status.to_string()}))
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    fn response(self) -> Response {
        let mut response = Response::builder()
            .status(self.status)
            .header("content-type", "application/json; charset=utf-8")
            .header("date", "Mon, 14 Dec 2026 12:00:00 GMT");
        for (name, value) in &self.headers {
            response = response.header(*name, value);
        }
        response.body(Body::from(self.body)).expect("an answer")
    }
}

impl Model {
    fn offence(&mut self, text: impl Into<String>) {
        self.offences.push(text.into());
    }

    /// What GitHub answers.
    fn reply(&mut self, seen: &Seen, method: &Method) -> Reply {
        self.check_headers(seen);
        let (path, query) = seen.target.split_once('?').unwrap_or((&seen.target, ""));
        let Some(path) = path.strip_prefix(&self.path) else {
            self.offence(format!("{} is not below {}", seen.target, self.path));
            return Reply::refusal(404, "Not Found");
        };
        if path == "/graphql" {
            return Reply::json(200, &json!({"data": {"viewer": {"login": BOT}}}));
        }
        for offence in openapi::offences(&seen.method, path, seen.body.as_ref()) {
            self.offence(offence);
        }
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        if let Some(reply) = self.as_app(&parts, method, seen) {
            return reply;
        }
        let bearer = seen.headers.get("authorization").and_then(|value| value.to_str().ok());
        let token = match bearer.map(|text| text.strip_prefix("Bearer ").unwrap_or(text)) {
            None => None,
            Some(text) => match self.tokens.get(text) {
                Some(token) if !token.ended => Some(token.clone()),
                _ => return Reply::refusal(401, "Bad credentials"),
            },
        };
        let token = token.unwrap_or_default();
        let reply = match parts.as_slice() {
            ["user"] => match token.user {
                Some(login) => Reply::json(200, &json!({"login": login})),
                None => Reply::refusal(403, "Resource not accessible by integration"),
            },
            ["rate_limit"] => Reply::json(200, &json!({"resources": {}, "rate": {"limit": 5000}})),
            ["repos", owner, name, rest @ ..] => {
                self.in_repository(&format!("{owner}/{name}"), rest, method, seen, &token, query)
            }
            ["repositories", id, rest @ ..] => match self.by_id(id) {
                Some(name) => self.in_repository(&name, rest, method, seen, &token, query),
                None => Reply::refusal(404, "Not Found"),
            },
            _ => self.no_route(seen),
        };
        match token.expires {
            Some(expires) => reply.with("github-authentication-token-expiration", expires),
            None => reply,
        }
    }

    fn check_headers(&mut self, seen: &Seen) {
        let ours = concat!("perftrail/", env!("CARGO_PKG_VERSION"));
        let accepted = if seen.target.contains("/contents/") {
            "application/vnd.github.raw+json"
        } else {
            "application/vnd.github+json"
        };
        for (name, wanted) in
            [("user-agent", ours), ("x-github-api-version", "2022-11-28"), ("accept", accepted)]
        {
            let all: Vec<_> = seen.headers.get_all(name).iter().collect();
            if all != [wanted] {
                self.offence(format!("{}: {name} is {all:?}", seen.target));
            }
        }
    }

    fn no_route(&mut self, seen: &Seen) -> Reply {
        self.offence(format!("there is no {} {}", seen.method, seen.target));
        Reply::refusal(404, "Not Found")
    }

    /// Ids are places in the list, from 1.
    fn by_id(&self, id: &str) -> Option<String> {
        let at = id.parse::<usize>().ok()?.checked_sub(1)?;
        self.repositories.keys().nth(at).map(|&name| name.to_owned())
    }

    fn in_repository(
        &mut self,
        name: &str,
        rest: &[&str],
        method: &Method,
        seen: &Seen,
        token: &FakeToken,
        query: &str,
    ) -> Reply {
        let Some(repository) = self.repositories.get(name) else {
            return Reply::refusal(404, "Not Found");
        };
        if repository.visibility != "public" && !token.may_read.contains(name) {
            return Reply::refusal(404, "Not Found");
        }
        if let Some(to) = &repository.moved_to {
            let id = 1 + self.repositories.keys().position(|name| name == to).expect("the target");
            let tail: String = rest.iter().flat_map(|part| ["/", part]).collect();
            let query = if query.is_empty() { String::new() } else { format!("?{query}") };
            let to = format!("{}{}/repositories/{id}{tail}{query}", self.base, self.path);
            let status = if method == Method::GET { 301 } else { 307 };
            return Reply::refusal(status, "Moved Permanently").with("location", to);
        }
        let may_write = token.may_write.contains(name);
        match (method.as_str(), rest) {
            ("GET", []) => Reply::json(200, &described(name, repository, may_write)),
            ("GET", ["compare", range]) => compared(repository, range),
            ("POST", ["dispatches"]) if !may_write => {
                Reply::refusal(403, "Resource not accessible by personal access token")
                    .with("x-accepted-github-permissions", "contents=write")
            }
            ("POST", ["dispatches"]) => self.dispatched(name, seen),
            _ => {
                let reply = self.repositories.get_mut(name).and_then(|repository| {
                    tells::reply(name, repository, rest, method, seen, token)
                        .or_else(|| pulls::reply(name, repository, rest, method, seen, token))
                });
                reply.unwrap_or_else(|| self.no_route(seen))
            }
        }
    }

    fn dispatched(&mut self, name: &str, seen: &Seen) -> Reply {
        let body = seen.body.clone().unwrap_or_default();
        let known = |key: &String| matches!(key.as_str(), "event_type" | "client_payload");
        let keys_known = body.as_object().is_some_and(|body| body.keys().all(known));
        let event = body["event_type"].as_str().unwrap_or_default().chars().count();
        let keys = body.get("client_payload").map(|payload| payload.as_object().map(Map::len));
        let keys_fit = keys.is_none_or(|keys| keys.is_some_and(|keys| keys <= 10));
        if !keys_known || !(1..=100).contains(&event) || !keys_fit {
            self.offence(format!("a dispatch of this shape: {body}"));
            return Reply::refusal(422, "Invalid request.");
        }
        if let Some(repository) = self.repositories.get_mut(name) {
            repository.dispatches.push(body);
        }
        Reply { status: 204, headers: Vec::new(), body: String::new() }
    }
}

fn described(name: &str, repository: &FakeRepository, may_write: bool) -> Value {
    json!({
        "full_name": name,
        "private": repository.visibility != "public",
        "visibility": repository.visibility,
        "default_branch": repository.default_branch,
        "size": repository.size_kib,
        "archived": repository.archived,
        "permissions": {"admin": false, "push": may_write, "pull": true},
    })
}

fn compared(repository: &FakeRepository, range: &str) -> Reply {
    let not_found = || Reply::refusal(404, "Not Found");
    let Some((base, head)) = range.split_once("...") else { return not_found() };
    let named = |name| repository.branches.get(name).map_or(name, String::as_str);
    let (base, head) = (named(base), named(head));
    if !repository.commits.contains_key(base) || !repository.commits.contains_key(head) {
        return not_found();
    }
    let (old, new) = (repository.history(base), repository.history(head));
    let common: BTreeSet<_> = old.intersection(&new).collect();
    // The newest common one is before no other.
    let newest = common.iter().find(|sha| {
        !common.iter().any(|other| other != *sha && repository.history(other).contains(**sha))
    });
    let Some(base) = newest else {
        return Reply::refusal(404, "No common ancestor");
    };
    let (ahead, behind) = (new.difference(&old).count(), old.difference(&new).count());
    let files = new.difference(&old).filter_map(|sha| repository.touched.get(sha)).flatten();
    let files = files.map(|(name, before)| match before {
        Some(before) => json!({"filename": name, "previous_filename": before}),
        None => json!({"filename": name}),
    });
    let more = repository.compared.iter().map(|path| json!({"filename": path}));
    let files: Vec<Value> = files.chain(more).collect();
    Reply::json(
        200,
        &json!({
            "status": "diverged",
            "ahead_by": ahead,
            "behind_by": behind,
            "total_commits": ahead,
            "merge_base_commit": {"sha": base},
            "commits": [],
            "files": files,
        }),
    )
}
