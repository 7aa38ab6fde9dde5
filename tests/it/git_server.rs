//! A git server over HTTP on this machine: tokens as GitHub has them, the git program behind it,
//! and troubles on demand.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use base64::Engine as _;
use tempfile::TempDir;

pub(crate) const WRITE_TOKEN: &str = "ghs_may_write";
pub(crate) const READ_TOKEN: &str = "ghs_may_read";

/// What goes wrong with one request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trouble {
    /// It is answered with this status.
    Status(u16),
    /// The connection ends before anything was done.
    CutBefore,
    /// It is done, and the connection ends before the answer.
    CutAfter,
    /// No answer comes.
    Silent,
    /// Nothing: trouble comes later.
    Nothing,
}

pub(crate) struct Server {
    folder: TempDir,
    address: String,
    state: Arc<State>,
}

struct State {
    root: PathBuf,
    pushes: Mutex<VecDeque<Trouble>>,
    fetches: Mutex<VecDeque<Trouble>>,
    requests: Mutex<Vec<String>>,
    stop: AtomicBool,
}

struct Request {
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Server {
    /// A server with the empty repository `lab/results`.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(State {
            root: folder.path().to_owned(),
            pushes: Mutex::default(),
            fetches: Mutex::default(),
            requests: Mutex::default(),
            stop: AtomicBool::new(false),
        });
        let server = Self { folder, address, state: Arc::clone(&state) };
        server.git(&["init", "-q", "--bare", "-b", "main", "."]);
        for key in ["http.receivepack", "uploadpack.allowFilter", "receive.fsckObjects"] {
            server.git(&["config", key, "true"]);
        }
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if state.stop.load(Ordering::Relaxed) {
                    break;
                }
                let state = Arc::clone(&state);
                thread::spawn(move || state.serve(&stream));
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("{}/lab/results", self.address)
    }

    /// The bare repository behind the address.
    pub(crate) fn repository(&self) -> PathBuf {
        let path = self.folder.path().join("lab/results.git");
        fs::create_dir_all(&path).expect("folders");
        path
    }

    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.repository(), args)
    }

    /// Troubles of the next pushes, in order.
    pub(crate) fn spoil_pushes(&self, troubles: &[Trouble]) {
        self.state.pushes.lock().expect("a lock").extend(troubles);
    }

    /// Troubles of the next fetches of objects, in order.
    pub(crate) fn spoil_fetches(&self, troubles: &[Trouble]) {
        self.state.fetches.lock().expect("a lock").extend(troubles);
    }

    /// Forgets the troubles that did not come to pass.
    pub(crate) fn take_troubles(&self) {
        self.state.pushes.lock().expect("a lock").clear();
        self.state.fetches.lock().expect("a lock").clear();
    }

    /// The requests so far, `POST /lab/results/git-upload-pack`, and forgets them.
    pub(crate) fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut *self.state.requests.lock().expect("a lock"))
    }

    /// A hook of the repository.
    pub(crate) fn hook(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.repository().join("hooks").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a hook");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a hook that runs");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address.trim_start_matches("http://"));
    }
}

/// Runs git away from the user's configuration.
#[track_caller]
pub(crate) fn git(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {told}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

impl State {
    fn serve(&self, stream: &TcpStream) {
        let Ok(request) = Request::read(stream) else {
            return;
        };
        let line = format!("{} {}", request.method, request.path);
        self.requests.lock().expect("a lock").push(line);
        let spoilt = match (request.method.as_str(), request.path.rsplit('/').next()) {
            ("POST", Some("git-receive-pack")) => self.pushes.lock().expect("a lock").pop_front(),
            ("POST", Some("git-upload-pack")) => self.fetches.lock().expect("a lock").pop_front(),
            _ => None,
        };
        match spoilt {
            Some(Trouble::Status(status)) => {
                let _ = answer(stream, &format!("{status} Trouble"), &[], b"on purpose\n");
            }
            Some(Trouble::CutBefore) => {}
            Some(Trouble::Silent) => {
                // Until the other side has enough.
                let mut stream = stream;
                let _ = stream.read(&mut [0]);
            }
            Some(Trouble::CutAfter) => {
                let _ = self.respond(&request);
            }
            None | Some(Trouble::Nothing) => {
                if let Ok((status, headers, body)) = self.respond(&request) {
                    let _ = answer(stream, &status, &headers, &body);
                }
            }
        }
    }

    /// As GitHub: without a token nobody writes, an unknown token is refused even for reading.
    fn respond(&self, request: &Request) -> io::Result<Response> {
        let is_write = format!("{}?{}", request.path, request.query).contains("git-receive-pack");
        let refuse = |status: &str, text: &str| {
            let ask = vec![("WWW-Authenticate".to_owned(), "Basic realm=\"git\"".to_owned())];
            Ok((status.to_owned(), ask, format!("{text}\n").into_bytes()))
        };
        let token = request.header("authorization").map(token_of);
        match token.as_deref() {
            None if is_write => return refuse("401 Unauthorized", "No anonymous write access."),
            Some(READ_TOKEN) if is_write => {
                return refuse("403 Forbidden", "Write access to repository not granted.");
            }
            Some(token) if token != READ_TOKEN && token != WRITE_TOKEN => {
                return refuse("401 Unauthorized", "Bad credentials");
            }
            _ => {}
        }
        let Some(rest) = request.path.strip_prefix("/lab/results/") else {
            return refuse("404 Not Found", "Repository not found.");
        };
        self.backend(request, &format!("/lab/results.git/{rest}"))
    }

    /// The git program's own server, as a CGI program.
    fn backend(&self, request: &Request, path: &str) -> io::Result<Response> {
        let mut child = Command::new("git")
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", &self.root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("REMOTE_USER", "tester")
            .env("REMOTE_ADDR", "127.0.0.1")
            .env("PATH_INFO", path)
            .env("QUERY_STRING", &request.query)
            .env("REQUEST_METHOD", &request.method)
            .env("CONTENT_TYPE", request.header("content-type").unwrap_or_default())
            .env("CONTENT_LENGTH", request.body.len().to_string())
            .env("HTTP_CONTENT_ENCODING", request.header("content-encoding").unwrap_or_default())
            .env("GIT_PROTOCOL", request.header("git-protocol").unwrap_or_default())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut stdin = child.stdin.take().expect("a pipe");
        let body = request.body.clone();
        let writer = thread::spawn(move || stdin.write_all(&body));
        let output = child.wait_with_output()?;
        let _ = writer.join();
        Ok(cgi(&output.stdout))
    }
}

type Response = (String, Vec<(String, String)>, Vec<u8>);

/// Takes the head of a CGI program's answer apart.
fn cgi(output: &[u8]) -> Response {
    let end = output.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(output.len());
    let (head, body) = (&output[..end], output.get(end + 4..).unwrap_or_default());
    let mut status = "200 OK".to_owned();
    let mut headers = Vec::new();
    for line in String::from_utf8_lossy(head).lines() {
        match line.split_once(": ") {
            Some(("Status", value)) => value.clone_into(&mut status),
            Some((name, value)) => headers.push((name.to_owned(), value.to_owned())),
            None => {}
        }
    }
    (status, headers, body.to_vec())
}

fn token_of(authorization: &str) -> String {
    let encoded = authorization.trim_start_matches("Basic ");
    let decoded = base64::engine::general_purpose::STANDARD.decode(encoded).unwrap_or_default();
    let text = String::from_utf8_lossy(&decoded).into_owned();
    text.split_once(':').map_or(String::new(), |(_, token)| token.to_owned())
}

fn answer(
    mut stream: &TcpStream,
    status: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(name);
        head.push_str(": ");
        head.push_str(value);
        head.push_str("\r\n");
    }
    let length = body.len();
    stream.write_all(format!("{head}Content-Length: {length}\r\n\r\n").as_bytes())?;
    stream.write_all(body)?;
    stream.flush()
}

impl Request {
    fn read(stream: &TcpStream) -> io::Result<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            headers.push((name.to_lowercase(), value.to_owned()));
        }
        let mut request = Self {
            method,
            path: path.to_owned(),
            query: query.to_owned(),
            headers,
            body: Vec::new(),
        };
        if request.header("expect").is_some() {
            let mut stream = stream;
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        request.body = if request.header("transfer-encoding") == Some("chunked") {
            read_chunks(&mut reader)?
        } else {
            let length = request.header("content-length").and_then(|text| text.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            reader.read_exact(&mut body)?;
            body
        };
        Ok(request)
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk)?;
        if size == 0 {
            return Ok(body);
        }
        body.extend_from_slice(&chunk[..size]);
    }
}
