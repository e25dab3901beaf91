//! Compression of long answers.

use std::io::Write as _;
use std::iter;
use std::sync::Arc;

use axum::BoxError;
use axum::body::{Body, BodyDataStream, Bytes, HttpBody as _};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream::{self, Stream, StreamExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::yield_now;

use super::streamed::SHORT_BYTES;

/// Answers that are compressed at the same time. Each takes 320 KiB; further ones are sent as they are.
const COMPRESSED_MAX: usize = 8;
/// Bytes that are compressed at once, before others have their turn on the thread.
const SLICE_BYTES: usize = 64 * 1024;

/// Compresses long answers for clients that accept it. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Compressor {
    permits: Arc<Semaphore>,
}

impl Compressor {
    pub(super) fn new() -> Self {
        Self { permits: Arc::new(Semaphore::new(COMPRESSED_MAX)) }
    }

    /// Compresses an answer if that is worth it.
    pub(super) fn compress(&self, takes_gzip: bool, mut answer: Response) -> Response {
        if !is_long_text(&answer) {
            return answer;
        }
        answer.headers_mut().append(header::VARY, HeaderValue::from_static("accept-encoding"));
        if !takes_gzip {
            return answer;
        }
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else { return answer };
        let (mut head, body) = answer.into_parts();
        head.headers.remove(header::CONTENT_LENGTH);
        head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        // The tag names the content, no longer the bytes.
        if let Some(tag) = head.headers.get_mut(header::ETAG)
            && let Ok(weak) = HeaderValue::try_from([b"W/", tag.as_bytes()].concat())
        {
            *tag = weak;
        }
        Response::from_parts(head, Body::from_stream(gzip(slices(body.into_data_stream()), permit)))
    }
}

/// Returns whether a client accepts answers that are compressed with gzip.
pub(super) fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().to_ascii_lowercase();
        let is_refused = weight.strip_prefix("q=").is_some_and(|weight| weight.parse() == Ok(0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !is_refused
    })
}

fn is_long_text(answer: &Response) -> bool {
    // First, because nearly all answers are short.
    if answer.body().size_hint().exact().is_some_and(|bytes| bytes <= SHORT_BYTES as u64) {
        return false;
    }
    let headers = answer.headers();
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    // A stream of events is read as it comes.
    let is_text =
        kind.starts_with("application/json") || (kind.starts_with("text/") && !kind.contains("event-stream"));
    answer.status() == StatusCode::OK && is_text && !headers.contains_key(header::CONTENT_ENCODING)
}

/// Cuts the pieces of a body, since a text of which no copy is made is one piece.
fn slices(pieces: BodyDataStream) -> impl Stream<Item = Result<Bytes, axum::Error>> + Send {
    pieces.flat_map(|piece| {
        let mut rest = piece.map(Some);
        stream::iter(iter::from_fn(move || match &mut rest {
            Ok(left) => {
                let mut bytes = left.take()?;
                let slice = bytes.split_to(bytes.len().min(SLICE_BYTES));
                *left = (!bytes.is_empty()).then_some(bytes);
                Some(Ok(slice))
            }
            Err(_) => std::mem::replace(&mut rest, Ok(None)).err().map(Err),
        }))
    })
}

fn gzip(
    slices: impl Stream<Item = Result<Bytes, axum::Error>> + Send,
    permit: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Bytes, BoxError>> + Send {
    let encoder = GzEncoder::new(Vec::new(), Compression::fast());
    stream::unfold(Some((Box::pin(slices), encoder, permit)), async |state| {
        let (mut slices, mut encoder, permit) = state?;
        let written = match slices.next().await {
            Some(Ok(slice)) => encoder.write_all(&slice),
            Some(Err(error)) => return Some((Err(error.into()), None)),
            None => return Some((encoder.finish().map(Bytes::from).map_err(Into::into), None)),
        };
        if let Err(error) = written {
            return Some((Err(error.into()), None));
        }
        yield_now().await;
        let compressed = std::mem::take(encoder.get_mut());
        Some((Ok(Bytes::from(compressed)), Some((slices, encoder, permit))))
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use axum::body::to_bytes;
    use axum::response::IntoResponse as _;
    use flate2::read::GzDecoder;

    use super::*;

    #[track_caller]
    fn check_accepted(accepted: &str, expected: bool) {
        let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, accepted.parse().unwrap())]);
        assert_eq!(takes_gzip(&headers), expected, "{accepted}");
    }

    #[test]
    fn gzip_is_accepted_as_http_writes_it() {
        check_accepted("gzip", true);
        check_accepted("deflate, GZIP;q=0.5, br", true);
        check_accepted("gzip;q=0", false);
        check_accepted("gzip; Q=0.000", false);
        check_accepted("br, zstd", false);
        check_accepted("", false);
    }

    async fn check(compressor: &Compressor, kind: &'static str, n_bytes: usize, is_compressed: bool) {
        let text = "0123456789abcdef".repeat(n_bytes / 16);
        let answer = ([(header::CONTENT_TYPE, kind), (header::ETAG, "\"a\"")], text.clone()).into_response();
        let answer = compressor.compress(true, answer);
        assert_eq!(
            answer.headers().contains_key(header::CONTENT_ENCODING),
            is_compressed,
            "{kind} {n_bytes}"
        );
        if !is_compressed {
            return;
        }
        assert_eq!(answer.headers()[header::ETAG], "W/\"a\"");
        let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        let mut read = String::new();
        GzDecoder::new(&*body).read_to_string(&mut read).unwrap();
        assert_eq!(read, text);
    }

    #[tokio::test]
    async fn long_texts_are_compressed() {
        let compressor = Compressor::new();
        check(&compressor, "application/json", SHORT_BYTES, false).await;
        check(&compressor, "application/json", SHORT_BYTES + 16, true).await;
        check(&compressor, "text/plain; charset=utf-8", 1 << 20, true).await;
        check(&compressor, "text/event-stream", 1 << 20, false).await;
        check(&compressor, "application/wasm", 1 << 20, false).await;
    }

    #[tokio::test]
    async fn answers_beyond_the_bound_are_not_compressed() {
        let compressor = Compressor::new();
        let long = || {
            let answer = ([(header::CONTENT_TYPE, "application/json")], " ".repeat(1 << 20)).into_response();
            compressor.compress(true, answer)
        };
        let held: Vec<Response> = (0..COMPRESSED_MAX).map(|_| long()).collect();
        assert!(held.iter().all(|answer| answer.headers().contains_key(header::CONTENT_ENCODING)));
        assert!(!long().headers().contains_key(header::CONTENT_ENCODING));
        drop(held);
        assert!(long().headers().contains_key(header::CONTENT_ENCODING));
    }
}
