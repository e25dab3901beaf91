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
/// How long.
const LINGER: Duration = Duration::from_secs(1);

/// Drops at most this much of the rest of a body, beside the answer.
pub(super) fn linger(headers: &HeaderMap, body: Body, bytes_max: usize) {
    // Who asked before sending sends nothing once refused.
    if !body.is_end_stream() && !headers.contains_key(header::EXPECT) {
        tokio::spawn(timeout(LINGER, discard(body, bytes_max)));
    }
}

async fn discard(mut body: Body, bytes_max: usize) {
    let mut n_bytes = 0;
    while n_bytes <= bytes_max {
        match poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            Some(Ok(frame)) => n_bytes += frame.data_ref().map_or(0, |piece| piece.len()),
            Some(Err(_)) | None => break,
        }
    }
}
