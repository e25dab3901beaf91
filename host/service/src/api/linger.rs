//! Reading on a little behind a refusal, so that the refusal arrives.
//!
//! When a connection is closed on a client that is still sending, the client's system throws away what it received: the
//! answer is lost, and the client reports a broken connection. So what still comes is read and dropped for a while.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, header};
use tokio::time::timeout;

/// How much is read behind a refusal that no cap belongs to, in bytes.
pub(super) const LINGER_BYTES_MAX: usize = 64 * 1024;
/// How long the next so many bytes may take: whoever is slower is not sending a body, but holding a connection.
const STEP_BYTES: usize = 128 * 1024;
const STEP_TIME: Duration = Duration::from_secs(2);
/// How long they may take where the body is late already.
const LATE_TIME: Duration = Duration::from_millis(500);

/// Drops at most this much of the rest of a body, beside the answer.
pub(super) fn linger(headers: &HeaderMap, body: Body, bytes_max: usize) {
    // Who asked before sending sends nothing once refused.
    if !body.is_end_stream() && !headers.contains_key(header::EXPECT) {
        tokio::spawn(discard(body, bytes_max, STEP_TIME));
    }
}

/// Drops a little of the rest of a body that took too long.
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

/// Drops pieces until there were so many bytes in all; nothing if the body ends before.
async fn drop_until(body: &mut Body, mut n_bytes: usize, goal: usize) -> Option<usize> {
    while n_bytes < goal {
        let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await?.ok()?;
        n_bytes += frame.data_ref().map_or(0, |piece| piece.len());
    }
    Some(n_bytes)
}
