//! One HTTP request and its response.

use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;

use super::head::{self, BodyFraming, RequestHead};
use super::pump::{LOOK_EVERY, PIECE_BYTES, is_nothing_yet};
use super::{RelayCut, RelayShared};

/// Longest size line of a chunk, in bytes.
const CHUNK_LINE_BYTES_MAX: u64 = 64;

pub(super) trait RemoteStream: Read + Write {}
impl<T: Read + Write> RemoteStream for T {}

/// Forwards the request and returns the response. It reads the response even if sending fails: the remote may have
/// refused before it read the whole request.
pub(super) fn exchange(
    way: &RelayShared,
    client: &TcpStream,
    remote: &mut dyn RemoteStream,
    request: RequestHead,
) -> io::Result<()> {
    client.set_read_timeout(Some(way.time_left().max(LOOK_EVERY)))?;
    let is_authorized = request.is_authorized;
    let sent = send(client, remote, request);
    if sent.as_ref().is_err_and(|error| error.kind() == ErrorKind::InvalidData) {
        return sent;
    }
    answer(way, client, remote, is_authorized)
}

fn send(client: &TcpStream, remote: &mut dyn RemoteStream, request: RequestHead) -> io::Result<()> {
    remote.write_all(&request.bytes)?;
    let mut body = BufReader::new(Cursor::new(request.rest).chain(client));
    match request.body {
        BodyFraming::Length(n_bytes) => copy(&mut body, remote, n_bytes)?,
        BodyFraming::Chunked => loop {
            let mut line = String::new();
            body.by_ref().take(CHUNK_LINE_BYTES_MAX).read_line(&mut line)?;
            let n_bytes = u64::from_str_radix(line.trim_end(), 16);
            let n_bytes = n_bytes.map_err(|_| io::Error::from(ErrorKind::InvalidData))?;
            remote.write_all(line.as_bytes())?;
            copy(&mut body, remote, n_bytes.saturating_add(2))?;
            if n_bytes == 0 {
                break;
            }
        },
    }
    remote.flush()
}

fn copy(from: &mut impl BufRead, to: &mut dyn RemoteStream, n_bytes: u64) -> io::Result<()> {
    io::copy(&mut from.take(n_bytes), to).map(drop)
}

fn answer(
    way: &RelayShared,
    mut client: &TcpStream,
    remote: &mut dyn RemoteStream,
    is_authorized: bool,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; PIECE_BYTES];
    let mut is_begun = false;
    loop {
        let read = remote.read(&mut piece);
        if way.time_left().is_zero() {
            way.cut(RelayCut::TooSlow);
            return Ok(());
        }
        let n_bytes = match read {
            Ok(0) => return Ok(()),
            Ok(n_bytes) => n_bytes,
            Err(error) if is_nothing_yet(&error) => continue,
            Err(error) => return Err(error),
        };
        let n_received = way.n_received_bytes.fetch_add(n_bytes as u64, Ordering::Relaxed) + n_bytes as u64;
        if n_received > way.route.bytes_max {
            way.cut(RelayCut::TooLarge);
            return Ok(());
        }
        let new = piece.get(..n_bytes).unwrap_or_default();
        if is_begun {
            client.write_all(new)?;
            continue;
        }
        bytes.extend_from_slice(new);
        if let Some((answered, rest)) = head::split(&mut bytes) {
            // Redirects are not followed.
            let Some(answered) = head::of_one_answer(&answered) else {
                way.cut(RelayCut::Elsewhere);
                return Ok(());
            };
            if head::is_question_for_credentials(&answered) {
                // A repeated challenge means that the credentials were wrong; retrying would not help.
                if is_authorized {
                    way.cut(RelayCut::Refused);
                    return Ok(());
                }
                way.is_asked.store(true, Ordering::Relaxed);
            }
            way.status.store(head::status_of(&answered), Ordering::Relaxed);
            way.is_git.store(head::is_of_git(&answered), Ordering::Relaxed);
            client.write_all(&answered)?;
            client.write_all(&rest)?;
            is_begun = true;
        } else if bytes.len() > head::HEAD_BYTES_MAX {
            way.cut(RelayCut::Elsewhere);
            return Ok(());
        }
    }
}
