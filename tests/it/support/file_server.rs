//! A web server on this machine that gives files away, as the pages of releases do.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tempfile::TempDir;

/// The server, until it is dropped.
pub(crate) struct FileServer {
    folder: TempDir,
    address: String,
    stop: Arc<AtomicBool>,
}

impl FileServer {
    /// A server without files.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let stop = Arc::new(AtomicBool::new(false));
        let (root, is_over) = (folder.path().to_owned(), Arc::clone(&stop));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                // A client that hangs up is no trouble of ours.
                let _ = answer(&stream, &root);
            }
        });
        Self { folder, address, stop }
    }

    /// Where it is, without a slash at the end.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Where the file of a path lies.
    pub(crate) fn file(&self, path: &str) -> PathBuf {
        let file = self.folder.path().join(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
        file
    }
}

impl Drop for FileServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address.trim_start_matches("http://"));
    }
}

fn answer(mut stream: &TcpStream, root: &Path) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = request.split_whitespace().nth(1).unwrap_or("/");
    let path = path.split('?').next().unwrap_or_default().trim_start_matches('/');
    let (status, body) = match fs::read(root.join(path)) {
        Ok(bytes) => ("200 OK", bytes),
        Err(_) => ("404 Not Found", b"not here".to_vec()),
    };
    let length = body.len();
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n")?;
    stream.write_all(&body)
}
