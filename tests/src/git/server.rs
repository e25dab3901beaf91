//! An HTTP server for `git http-backend` that can also misbehave in several ways.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use openssl::ssl::SslAcceptor;

use super::upstream::command;
use crate::Identity;

/// Upper bound for any wait for bytes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Behaviour of the server.
#[derive(Debug, Clone)]
pub enum Mood {
    /// Serves Git correctly.
    Fine,
    /// Serves Git correctly to requests with this `Authorization` header.
    Asking(String),
    /// Rejects all credentials.
    Refusing,
    /// Closes every connection.
    Down,
    /// Redirects every request to this URL.
    Redirecting(String),
    /// Accepts requests and never responds.
    Silent,
    /// Responds with a body that is not Git.
    Babbling,
    /// Pauses in the middle of a pack until the mood changes.
    Stuck,
    /// Serves this pack with this commit on `main` for every request.
    Handing(String, Arc<Vec<u8>>),
    /// Serves it at one byte a second.
    Dripping(String, Arc<Vec<u8>>),
    /// Serves it, followed by endless bytes.
    Endless(String, Arc<Vec<u8>>),
    /// Responds with this status line and text.
    Saying(&'static str),
}

/// A duplex stream, with or without TLS.
trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// A received request.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Method, target and version.
    pub line: String,
    /// All headers, as received.
    pub headers: String,
}

/// Serves every repository below a folder. Stops when dropped.
pub struct GitServer {
    address: String,
    scheme: &'static str,
    shared: Arc<Shared>,
    serving: Option<JoinHandle<()>>,
}

struct Shared {
    root: PathBuf,
    /// TLS acceptor, if TLS is enabled.
    acceptor: Option<SslAcceptor>,
    mood: Mutex<Mood>,
    /// Signalled on every change of mood and at the end.
    changed: Condvar,
    asked: Mutex<Vec<Asked>>,
    is_over: AtomicBool,
}

impl GitServer {
    /// Starts a server on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// Panics if no port is free.
    #[must_use]
    pub fn start(root: &Path, mood: Mood) -> Self {
        Self::start_at(root, mood, 0)
    }

    /// Starts a server on this port.
    ///
    /// # Panics
    /// Panics if the port is in use.
    #[must_use]
    pub fn start_at(root: &Path, mood: Mood, port: u16) -> Self {
        Self::serve(root, mood, port, None)
    }

    /// Starts a TLS server with this identity.
    ///
    /// # Panics
    /// Panics if no port is free.
    #[must_use]
    pub fn start_tls(root: &Path, mood: Mood, identity: &Identity) -> Self {
        Self::serve(root, mood, 0, Some(identity.acceptor()))
    }

    fn serve(root: &Path, mood: Mood, port: u16, acceptor: Option<SslAcceptor>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
        let address = listener.local_addr().expect("a socket has an address").to_string();
        let scheme = if acceptor.is_some() { "https" } else { "http" };
        let shared = Arc::new(Shared {
            root: root.to_owned(),
            acceptor,
            mood: Mutex::new(mood),
            changed: Condvar::new(),
            asked: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        let serving = thread::spawn(move || serving.serve(&listener));
        Self { address, scheme, shared, serving: Some(serving) }
    }

    /// Returns the URL of the repository `rules.git`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}/rules.git", self.scheme, self.address)
    }

    /// Returns the URL with this text before the `@`.
    #[must_use]
    pub fn url_as(&self, user_info: &str) -> String {
        format!("{}://{user_info}@{}/rules.git", self.scheme, self.address)
    }

    /// Returns `127.0.0.1:port`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Changes the behaviour from now on.
    pub fn set_mood(&self, mood: Mood) {
        *self.shared.lock_mood() = mood;
        self.shared.changed.notify_all();
    }

    /// Returns all requests so far.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for GitServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitServer").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        {
            // Under the lock, so that no waiter misses the notification.
            let _mood = self.shared.lock_mood();
            self.shared.is_over.store(true, Ordering::Relaxed);
        }
        self.shared.changed.notify_all();
        // Wakes the accept loop.
        let _ = TcpStream::connect(&self.address);
        if let Some(serving) = self.serving.take() {
            let _ = serving.join();
        }
    }
}

/// A parsed request.
struct Request {
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Shared {
    fn serve(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            if self.is_over.load(Ordering::Relaxed) {
                break;
            }
            let (Ok(stream), shared) = (stream, Arc::clone(self)) else { continue };
            thread::spawn(move || {
                let _ = shared.take(&stream);
                let _ = stream.shutdown(Shutdown::Both);
            });
        }
    }

    fn mood(&self) -> Mood {
        self.lock_mood().clone()
    }

    fn lock_mood(&self) -> MutexGuard<'_, Mood> {
        self.mood.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, stream: &TcpStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        match &self.acceptor {
            None => self.answer(&mut &*stream),
            Some(acceptor) => {
                let mut secured = acceptor.accept(stream.try_clone()?).map_err(std::io::Error::other)?;
                self.answer(&mut secured)?;
                let _ = secured.shutdown();
                Ok(())
            }
        }
    }

    fn answer(&self, mut stream: &mut dyn Stream) -> std::io::Result<()> {
        let mood = self.mood();
        if matches!(mood, Mood::Down) {
            return Ok(());
        }
        let Some(request) = self.read(&mut stream)? else { return Ok(()) };
        let known = request.header("authorization").map(str::to_owned);
        let asking = b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        match mood {
            Mood::Asking(expected) if known.as_deref() != Some(&expected) => stream.write_all(asking),
            Mood::Refusing => stream.write_all(asking),
            Mood::Redirecting(target) => {
                let target = format!("{target}{}?{}", request.path, request.query);
                let head = format!(
                    "HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                );
                stream.write_all(head.as_bytes())
            }
            Mood::Babbling => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
            Mood::Saying(words) => stream.write_all(format!("HTTP/1.1 {words}").as_bytes()),
            Mood::Handing(head, pack) => stream.write_all(&handed(&request, &head, &pack, 0)),
            Mood::Dripping(head, pack) => self.drip(stream, &handed(&request, &head, &pack, 0)),
            Mood::Endless(head, pack) => {
                if request.method != "POST" {
                    return stream.write_all(&handed(&request, &head, &pack, 0));
                }
                stream.write_all(&handed(&request, &head, &pack, 1 << 40))?;
                loop {
                    stream.write_all(&[0; 64 * 1024])?;
                }
            }
            Mood::Silent => self.wait(),
            Mood::Stuck => {
                let answer = self.backend(&request)?;
                // The listing is sent in full, the pack only in part.
                let n_bytes = if request.method == "POST" { answer.len() / 2 } else { answer.len() };
                stream.write_all(answer.get(..n_bytes).unwrap_or_default())?;
                if request.method == "POST" { self.wait() } else { Ok(()) }
            }
            _ => stream.write_all(&self.backend(&request)?),
        }
    }

    /// Waits until the mood changes or the server stops.
    fn wait(&self) -> std::io::Result<()> {
        let is_waiting = |mood: &mut Mood| {
            matches!(mood, Mood::Silent | Mood::Stuck) && !self.is_over.load(Ordering::Relaxed)
        };
        drop(self.changed.wait_while(self.lock_mood(), is_waiting).unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }

    /// Sends the head at once and the body byte by byte.
    fn drip(&self, stream: &mut dyn Stream, answer: &[u8]) -> std::io::Result<()> {
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_default() + 4;
        let (head, body) = answer.split_at(end);
        stream.write_all(head)?;
        for byte in body {
            if !matches!(self.mood(), Mood::Dripping(..)) || self.is_over.load(Ordering::Relaxed) {
                break;
            }
            stream.write_all(&[*byte])?;
            thread::sleep(Duration::from_secs(1));
        }
        Ok(())
    }

    fn read(&self, stream: &mut dyn Stream) -> std::io::Result<Option<Request>> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut headers = Vec::new();
        let mut shown = String::new();
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header)? == 0 || header == "\r\n" {
                break;
            }
            shown.push_str(&header);
            if let Some((name, value)) = header.trim_end().split_once(':') {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
        let asked = Asked { line: line.trim_end().to_owned(), headers: shown };
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
        let mut words = line.split(' ');
        let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut request = Request {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            headers,
            body: Vec::new(),
        };
        if request.header("transfer-encoding").is_some() {
            request.body = read_chunks(&mut reader)?;
        } else {
            let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
            reader.take(length).read_to_end(&mut request.body)?;
        }
        Ok(Some(request))
    }

    /// Runs `git http-backend` and returns its output as an HTTP response.
    fn backend(&self, request: &Request) -> std::io::Result<Vec<u8>> {
        let mut child = command(self.root.clone(), &["http-backend"])
            .env("GIT_PROJECT_ROOT", &self.root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("REQUEST_METHOD", &request.method)
            .env("PATH_INFO", &request.path)
            .env("QUERY_STRING", &request.query)
            .env("CONTENT_TYPE", request.header("content-type").unwrap_or_default())
            .env("CONTENT_LENGTH", request.body.len().to_string())
            .env("REMOTE_ADDR", "127.0.0.1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut input = child.stdin.take().expect("the input is piped");
        let body = request.body.clone();
        let feeding = thread::spawn(move || drop(input.write_all(&body)));
        let output = child.wait_with_output()?.stdout;
        let _ = feeding.join();
        let end = output.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(output.len());
        let head = String::from_utf8_lossy(output.get(..end).unwrap_or_default()).into_owned();
        let body = output.get(end + 4..).unwrap_or_default();
        let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
        let mut answer = format!("HTTP/1.1 {status}\r\n").into_bytes();
        for line in head.lines().filter(|line| !line.starts_with("Status: ")) {
            answer.extend_from_slice(format!("{line}\r\n").as_bytes());
        }
        answer.extend_from_slice(
            format!("Content-Length: {}\r\nConnection: close\r\n\r\n", body.len()).as_bytes(),
        );
        answer.extend_from_slice(body);
        Ok(answer)
    }
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Returns a listing with one branch, or this pack.
fn handed(request: &Request, head: &str, pack: &[u8], n_more_bytes: usize) -> Vec<u8> {
    let line = |text: String| format!("{:04x}{text}", text.len() + 4);
    let (kind, body) = if request.method == "POST" {
        ("result", [line("NAK\n".to_owned()).as_bytes(), pack].concat())
    } else {
        let lines = [
            line("# service=git-upload-pack\n".to_owned()),
            "0000".to_owned(),
            line(format!("{head} HEAD\0symref=HEAD:refs/heads/main ofs-delta\n")),
            line(format!("{head} refs/heads/main\n")),
            "0000".to_owned(),
        ];
        ("advertisement", lines.concat().into_bytes())
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-{kind}\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len() + n_more_bytes,
    );
    [head.as_bytes(), &body].concat()
}

fn read_chunks(reader: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let length = u64::from_str_radix(line.trim(), 16).unwrap_or(0);
        reader.by_ref().take(length).read_to_end(&mut body)?;
        let mut end = String::new();
        reader.read_line(&mut end)?;
        if length == 0 {
            return Ok(body);
        }
    }
}
