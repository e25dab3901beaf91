//! The only request of a connection: it must contain the key and match the operation.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::Duration;

use openssl::memcmp;
use tollgate_model::secret::Secret;

use super::{GitService, RelayShared};

/// Maximum size of a head, in bytes, and time limit for it; clients are local.
pub(super) const HEAD_BYTES_MAX: usize = 16 * 1024;
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// A request as forwarded to the remote.
pub(super) struct RequestHead {
    pub(super) bytes: Vec<u8>,
    pub(super) body: BodyFraming,
    /// Whether it contains credentials.
    pub(super) is_authorized: bool,
    /// Bytes of the body that were already read.
    pub(super) rest: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyFraming {
    /// Length in bytes; 0 without a body.
    Length(u64),
    /// Chunks, terminated by an empty one.
    Chunked,
}

/// Reads the head of a request and rewrites it for the remote. Fails if the request does not come from the worker.
pub(super) fn take(client: &TcpStream, way: &RelayShared) -> io::Result<RequestHead> {
    let (head, rest) = read(client)?;
    let text = String::from_utf8(head).map_err(|_| untrusted())?;
    let authorization = way.route.authorization.as_ref().filter(|_| way.is_asked.load(Ordering::Relaxed));
    let is_authorized = authorization.is_some();
    let bytes =
        addressed_to(way, &text, authorization.map(Secret::expose)).ok_or_else(untrusted)?.into_bytes();
    let field = |name: &str| {
        let of_name = |line: &str| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        };
        text.split("\r\n").find_map(of_name)
    };
    let body = match (field("transfer-encoding"), field("content-length")) {
        (Some(_), _) => BodyFraming::Chunked,
        (None, length) => BodyFraming::Length(length.and_then(|length| length.parse().ok()).unwrap_or(0)),
    };
    Ok(RequestHead { bytes, body, is_authorized, rest })
}

/// Responds that the remote cannot be reached.
pub(super) fn refuse(mut client: &TcpStream) {
    client.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").ok();
}

/// Reads the head including its empty line, and the bytes of the body read with it.
fn read(mut client: &TcpStream) -> io::Result<(Vec<u8>, Vec<u8>)> {
    client.set_read_timeout(Some(HEAD_TIMEOUT))?;
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        if let Some(parts) = split(&mut bytes) {
            return Ok(parts);
        }
        let n_bytes = client.read(&mut piece)?;
        if n_bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if bytes.len() + n_bytes > HEAD_BYTES_MAX {
            return Err(untrusted());
        }
        bytes.extend_from_slice(piece.get(..n_bytes).unwrap_or_default());
    }
}

/// Splits off the head once it is complete.
pub(super) fn split(bytes: &mut Vec<u8>) -> Option<(Vec<u8>, Vec<u8>)> {
    let end = bytes.windows(END_OF_HEAD.len()).position(|four| four == END_OF_HEAD)?;
    let rest = bytes.split_off(end + END_OF_HEAD.len());
    Some((std::mem::take(bytes), rest))
}

/// Rewrites a response head so that the connection closes afterwards. `None` for a redirect, an interim response, or
/// invalid data.
pub(super) fn of_one_answer(head: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(head).ok()?;
    let (line, fields) = text.split_once("\r\n")?;
    let status = line.strip_prefix("HTTP/1.")?.split(' ').nth(1)?;
    if !status.starts_with(['2', '4', '5']) {
        return None;
    }
    Some(with_fields(line, &["Connection: close"], fields, &["connection", "keep-alive"]).into_bytes())
}

/// Returns the status of a response; 0 if it has none.
pub(super) fn status_of(answer: &[u8]) -> u16 {
    let digits = answer.split(|byte| *byte == b' ').nth(1).and_then(|word| std::str::from_utf8(word).ok());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// Returns whether a response has a content type of the smart HTTP protocol, such as
/// `application/x-git-upload-pack-advertisement`.
pub(super) fn is_of_git(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer).to_ascii_lowercase();
    text.split("\r\n").any(|field| {
        let value = field.strip_prefix("content-type:").map(str::trim_start);
        value.is_some_and(|value| value.starts_with("application/x-git-"))
    })
}

/// Builds a head from a first line, our fields, and the given fields except those in `without`.
fn with_fields(line: &str, ours: &[&str], fields: &str, without: &[&str]) -> String {
    let is_kept = |field: &&str| {
        let name = field.split(':').next().unwrap_or_default();
        !field.is_empty() && !without.iter().any(|other| name.eq_ignore_ascii_case(other))
    };
    let mut head = format!("{line}\r\n");
    for field in ours.iter().copied().chain(fields.split("\r\n").filter(is_kept)) {
        head.push_str(field);
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    head
}

/// Rewrites a request for the remote, with credentials if the remote asked for them. It closes the connection after one
/// response, so that every request passes through here.
fn addressed_to(way: &RelayShared, head: &str, authorization: Option<&str>) -> Option<String> {
    let (line, fields) = head.split_once("\r\n")?;
    let (method, target) = line.strip_suffix(" HTTP/1.1")?.split_once(' ')?;
    let target = target.strip_prefix('/')?;
    let (key, wanted) = target.split_at_checked(way.key.len())?;
    let service = match way.route.service {
        GitService::Fetch => "git-upload-pack",
        GitService::Push => "git-receive-pack",
    };
    let is_listing = method == "GET" && wanted.strip_prefix("/info/refs?service=") == Some(service);
    let is_transfer = method == "POST" && wanted.strip_prefix('/') == Some(service);
    if !memcmp::eq(key.as_bytes(), way.key.as_bytes()) || !(is_listing || is_transfer) {
        return None;
    }
    let line = format!("{method} {}{wanted} HTTP/1.1", way.route.path.trim_end_matches('/'));
    let mut ours = vec![format!("Host: {}", way.route.authority), "Connection: close".to_owned()];
    ours.extend(authorization.map(|value| format!("Authorization: {value}")));
    let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
    Some(with_fields(&line, &ours, fields, &["connection", "host", "authorization"]))
}

fn untrusted() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "the request does not come from the worker")
}

/// Returns whether the response asks for credentials (status 401).
pub(super) fn is_question_for_credentials(answer: &[u8]) -> bool {
    const STATUS: &[u8] = b" 401 ";
    answer.get(b"HTTP/1.1".len()..).is_some_and(|rest| rest.starts_with(STATUS))
}
