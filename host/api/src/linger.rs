//! Reads and discards part of a refused body so that the client receives the refusal.
//!
//! If a connection is closed while the client is still sending, the client's system discards the response and reports a
//! broken connection. The rest of the body is therefore read and dropped for a while.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, header};
use tokio::time::timeout;

/// Maximum bytes to discard after a refusal without a body cap of its own.
pub(super) const LINGER_BYTES_MAX: usize = 64 * 1024;
/// Maximum bytes to discard of a body that announces more than its cap, such as a module built without optimisation:
/// most clients write all of a body before they read.
pub(super) const ANNOUNCED_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Maximum bytes to discard of a body that is read while it is answered: what the buffers of both systems hold.
const STREAMED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes that must arrive within each `STEP_TIME`. A slower client is holding a connection rather than sending a body.
const STEP_BYTES: usize = 128 * 1024;
const STEP_TIME: Duration = Duration::from_secs(2);
/// Time allowed per step after a body timeout.
const LATE_TIME: Duration = Duration::from_millis(500);

/// Discards at most `bytes_max` bytes of the rest of a body, in the background.
pub(super) fn linger(headers: &HeaderMap, body: Body, bytes_max: usize) {
    // A client that sent `Expect` does not send the body once it is refused.
    if !body.is_end_stream() && !headers.contains_key(header::EXPECT) {
        tokio::spawn(discard(body, bytes_max, STEP_TIME));
    }
}

/// Discards what a client goes on to send until it has read the last line of a streamed response.
pub(super) fn linger_while_answered(body: Body) {
    tokio::spawn(discard(body, STREAMED_BYTES_MAX, STEP_TIME));
}

/// Discards a small part of a body that timed out.
pub(super) fn linger_for_late(body: Body) {
    tokio::spawn(discard(body, LINGER_BYTES_MAX, LATE_TIME));
}

async fn discard(mut body: Body, bytes_max: usize, step_time: Duration) {
    let mut n_bytes = 0;
    while n_bytes <= bytes_max {
        let goal = (n_bytes + STEP_BYTES).min(bytes_max + 1);
        match timeout(step_time, drop_until(&mut body, n_bytes, goal)).await {
            Ok(Some(n_dropped)) => n_bytes = n_dropped,
            Ok(None) | Err(_) => break,
        }
    }
}

/// Drops frames until `goal` bytes have been read in total; returns `None` if the body ends first.
async fn drop_until(body: &mut Body, mut n_bytes: usize, goal: usize) -> Option<usize> {
    while n_bytes < goal {
        let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await?.ok()?;
        n_bytes += frame.data_ref().map_or(0, |piece| piece.len());
    }
    Some(n_bytes)
}
