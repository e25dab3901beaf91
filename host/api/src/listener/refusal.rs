//! Responses without a request: for clients without a slot, and for clients that exceeded a time limit.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::sync::LazyLock;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::error_code::ErrorCode;
use crate::request_limits::FULL_MESSAGE;

/// Bytes to discard after a response, so that a client that is still sending receives it.
const LINGER_BYTES_MAX: usize = 64 * 1024;
/// Maximum time for discarding them.
const LINGER: Duration = Duration::from_secs(1);

static FULL: LazyLock<String> = LazyLock::new(|| answer(ErrorCode::Overloaded, FULL_MESSAGE));
static LATE: LazyLock<String> =
    LazyLock::new(|| answer(ErrorCode::RequestTimeout, "the head of the request took too long"));

/// Refuses a client without waiting.
pub(super) fn turn_away(stream: TcpStream) {
    let Ok(mut stream) = stream.into_std() else { return };
    // The socket is non-blocking with an empty buffer: the write completes, or the client is gone.
    stream.write_all(FULL.as_bytes()).ok();
    stream.shutdown(Shutdown::Write).ok();
    // Closing a socket with unread input would discard the response.
    stream.read_exact(&mut [0; 4096]).ok();
}

/// Sends a 408 to a client whose request is incomplete; delivery is not checked.
pub(super) fn give_up(stream: &TcpStream) {
    stream.try_write(LATE.as_bytes()).ok();
}

/// Discards input for a while so that the last response arrives.
pub(super) async fn linger(stream: &TcpStream) {
    let rest = async {
        let mut piece = vec![0; 4096];
        let mut n_bytes = 0;
        while n_bytes < LINGER_BYTES_MAX && stream.readable().await.is_ok() {
            match stream.try_read(&mut piece) {
                Ok(0) => break,
                Ok(n_read) => n_bytes += n_read,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
    };
    timeout(LINGER, rest).await.ok();
}

/// Builds a response in the router's format; the messages need no escaping.
fn answer(code: ErrorCode, message: &str) -> String {
    let status = code.status();
    let body = format!(r#"{{"error":"{message}","code":"{}"}}"#, code.as_str());
    let retry_after = if status.is_server_error() { "retry-after: 1\r\n" } else { "" };
    format!(
        "HTTP/1.1 {} {}\r\ncontent-type: application/json\r\nx-content-type-options: nosniff\r\n\
         cache-control: no-store\r\n{retry_after}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        status.as_u16(),
        status.canonical_reason().unwrap_or_default(),
        body.len(),
    )
}
