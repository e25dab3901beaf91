//! Answers that no request leads to: to whom there is no place for, and to whom nobody waits for any longer.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::sync::LazyLock;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::api::error_code::ErrorCode;

/// What is read behind an answer, in bytes, so that it is not lost on a client that is still sending.
const LINGER_BYTES_MAX: usize = 64 * 1024;
/// For how long.
const LINGER: Duration = Duration::from_secs(1);

/// Said to whom there is no place for.
pub(in crate::api) const FULL_MESSAGE: &str = "as many connections are open as the service takes";

static FULL: LazyLock<String> = LazyLock::new(|| answer(ErrorCode::Overloaded, FULL_MESSAGE));
static LATE: LazyLock<String> =
    LazyLock::new(|| answer(ErrorCode::RequestTimeout, "the head of the request took too long"));

/// Refuses a client without waiting for anything.
pub(super) fn turn_away(stream: TcpStream) {
    let Ok(mut stream) = stream.into_std() else { return };
    // The socket does not block, and its buffer is empty: all of it is taken, or the client is gone.
    stream.write_all(FULL.as_bytes()).ok();
    stream.shutdown(Shutdown::Write).ok();
    // A socket that is closed on unread bytes takes back what was written to it.
    stream.read_exact(&mut [0; 4096]).ok();
}

/// Tells a client whose request does not come to its end; whether it hears is its business.
pub(super) fn give_up(stream: &TcpStream) {
    stream.try_write(LATE.as_bytes()).ok();
}

/// Drops what still comes for a while, so that the last answer arrives.
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

/// An answer as the router would give it; neither message needs escaping.
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
