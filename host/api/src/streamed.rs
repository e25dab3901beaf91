//! Bodies that are written while they are read, so that a slow reader holds a piece of a long answer and not all of it.

use std::future::ready;
use std::io::{self, Write};
use std::sync::Arc;

use axum::BoxError;
use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{self, Stream, StreamExt as _};
use tokio::task::yield_now;
use tollgate_store::StoreError;

use super::error::ApiError;

/// Largest piece that is written ahead, in bytes.
const PIECE_BYTES: usize = 64 * 1024;

/// Longest answer that is written before its first byte is sent, and is not compressed, in bytes.
pub(super) const SHORT_BYTES: usize = 32 * 1024;

/// The header by which nginx is told not to buffer a response.
pub(super) const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Writes an element.
pub(super) type WriteElement<T> = fn(&T, &mut dyn Write) -> serde_json::Result<()>;

/// Returns JSON that begins with `open`, goes on with these elements, separated by commas, and ends with `close`.
pub(super) async fn elements<T: Send + 'static>(
    open: Vec<u8>,
    elements: impl Iterator<Item = T> + Send + 'static,
    write: WriteElement<T>,
    close: &'static [u8],
) -> Response {
    json(in_turns(Pieces::new(open, elements, write, b",", close))).await
}

/// Returns a text of these lines, each with its end.
pub(super) async fn lines(lines: impl Iterator<Item = String> + Send + 'static) -> Response {
    let write: WriteElement<String> =
        |line, writer| writer.write_all(line.as_bytes()).map_err(serde_json::Error::io);
    let pieces = in_turns(Pieces::new(Vec::new(), lines, write, b"", b""));
    (PLAIN_TEXT, body_of(pieces).await).into_response()
}

const PLAIN_TEXT: [(HeaderName, HeaderValue); 1] =
    [(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"))];

/// Returns the pieces as they are asked for. After each, others have their turn on the thread.
fn in_turns(
    pieces: impl Iterator<Item = Piece> + Send + 'static,
) -> impl Stream<Item = Piece> + Send + 'static {
    stream::iter(pieces).then(async |piece| {
        yield_now().await;
        piece
    })
}

/// Returns the elements that `find` finds for these numbers, each after the one before it was read. One that is not there any
/// more is left out.
pub(super) fn found<N: Send + 'static, F>(
    numbers: Vec<N>,
    find: impl Fn(N) -> F + Send + 'static,
) -> impl Stream<Item = Result<Vec<u8>, BoxError>> + Send + 'static
where
    F: Future<Output = Result<Option<Vec<u8>>, BoxError>> + Send + 'static,
{
    stream::iter(numbers).then(find).filter_map(|element| ready(element.transpose()))
}

/// Returns the pieces of JSON that begins with `open`, goes on with these elements, separated by commas, and ends with
/// `close`. Each element is JSON, and is made after the one before it was read.
pub(super) fn awaited(
    open: impl Into<Bytes>,
    elements: impl Stream<Item = Result<Vec<u8>, BoxError>> + Send + 'static,
    close: impl Into<Bytes>,
) -> impl Stream<Item = Piece> + Send + 'static {
    let separated = elements.enumerate().map(|(i, element)| {
        let mut element = element?;
        if i > 0 {
            element.insert(0, b',');
        }
        Ok(Bytes::from(element))
    });
    let once = |bytes: Bytes| stream::iter([Ok(bytes)]);
    once(open.into()).chain(separated).chain(once(close.into()))
}

/// Returns a text of which no copy is made.
pub(super) fn shared_text(text: &Arc<str>) -> Response {
    struct SharedText(Arc<str>);
    impl AsRef<[u8]> for SharedText {
        fn as_ref(&self) -> &[u8] {
            self.0.as_bytes()
        }
    }
    (PLAIN_TEXT, Bytes::from_owner(SharedText(Arc::clone(text)))).into_response()
}

/// A piece of a body. After an error the connection is closed, so that the reader does not take the part for the whole.
pub(super) type Piece = Result<Bytes, BoxError>;

/// Returns an answer of these pieces of JSON.
pub(super) async fn json(pieces: impl Stream<Item = Piece> + Send + 'static) -> Response {
    const JSON: [(HeaderName, HeaderValue); 1] =
        [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (JSON, body_of(pieces).await).into_response()
}

/// Returns a body of these pieces. A short one is read to its end, so that it has a length, and an error is told.
async fn body_of(pieces: impl Stream<Item = Piece> + Send + 'static) -> Result<Body, ApiError> {
    let mut pieces = Box::pin(pieces);
    let mut begin = Vec::new();
    while begin.len() <= SHORT_BYTES {
        match pieces.next().await {
            Some(Ok(piece)) => begin.extend_from_slice(&piece),
            Some(Err(error)) => {
                return Err(match error.downcast::<StoreError>() {
                    Ok(error) => ApiError::from(*error),
                    Err(error) => ApiError::internal(&error.to_string()),
                });
            }
            None => return Ok(Body::from(begin)),
        }
    }
    let rest = pieces.inspect(|piece| {
        if let Err(error) = piece {
            tracing::error!(%error, "an answer cannot be written to its end");
        }
    });
    Ok(Body::from_stream(stream::iter([Ok(Bytes::from(begin))]).chain(rest)))
}

/// Elements in pieces. An element longer than a piece is written anew for each, since what is left of it would be as long
/// as the element.
struct Pieces<I: Iterator> {
    elements: I,
    write: WriteElement<I::Item>,
    separator: &'static [u8],
    close: &'static [u8],
    /// The element under way, and how much of it was written, in bytes.
    current: Option<(I::Item, usize)>,
    buffer: Vec<u8>,
    n_elements: usize,
    has_ended: bool,
}

impl<I: Iterator> Iterator for Pieces<I> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        if self.has_ended {
            return None;
        }
        while self.buffer.len() < PIECE_BYTES {
            let Some((element, n_written)) = self.current.take().or_else(|| self.begin_element()) else {
                self.has_ended = true;
                self.buffer.extend_from_slice(self.close);
                break;
            };
            let n_left = PIECE_BYTES.saturating_sub(self.buffer.len());
            let mut part = PartWriter { buffer: &mut self.buffer, n_skipped: n_written, n_left };
            let written = (self.write)(&element, &mut part);
            let is_full = part.n_left == 0;
            match written {
                Ok(()) => {}
                Err(_) if is_full => self.current = Some((element, n_written + n_left)),
                Err(error) => {
                    self.has_ended = true;
                    return Some(Err(error.into()));
                }
            }
        }
        Some(Ok(Bytes::from(std::mem::take(&mut self.buffer))))
    }
}

impl<I: Iterator> Pieces<I> {
    fn new(
        open: Vec<u8>,
        elements: I,
        write: WriteElement<I::Item>,
        separator: &'static [u8],
        close: &'static [u8],
    ) -> Self {
        Self {
            elements,
            write,
            separator,
            close,
            current: None,
            buffer: open,
            n_elements: 0,
            has_ended: false,
        }
    }

    fn begin_element(&mut self) -> Option<(I::Item, usize)> {
        let element = self.elements.next()?;
        if self.n_elements > 0 {
            self.buffer.extend_from_slice(self.separator);
        }
        self.n_elements += 1;
        Some((element, 0))
    }
}

/// Skips what was written before, and refuses what does not fit.
struct PartWriter<'b> {
    buffer: &'b mut Vec<u8>,
    n_skipped: usize,
    n_left: usize,
}

impl Write for PartWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let skipped = bytes.len().min(self.n_skipped);
        self.n_skipped -= skipped;
        let rest = bytes.get(skipped..).unwrap_or_default();
        let taken = rest.len().min(self.n_left);
        self.buffer.extend_from_slice(rest.get(..taken).unwrap_or_default());
        self.n_left -= taken;
        if taken < rest.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(text: &String, writer: &mut dyn Write) -> serde_json::Result<()> {
        serde_json::to_writer(writer, text)
    }

    #[track_caller]
    fn check(lengths: &[usize]) {
        let texts: Vec<String> = lengths.iter().map(|length| "ä".repeat(length / 2)).collect();
        let pieces = Pieces::new(b"[".to_vec(), texts.clone().into_iter(), write, b",", b"]");
        let pieces: Vec<Bytes> = pieces.map(Result::unwrap).collect();
        assert!(pieces.iter().all(|piece| piece.len() <= PIECE_BYTES + 1), "{lengths:?}");
        assert_eq!(pieces.concat(), serde_json::to_vec(&texts).unwrap(), "{lengths:?}");
    }

    #[test]
    fn pieces_are_the_whole_whatever_the_lengths() {
        check(&[]);
        check(&[0]);
        check(&[10, 0, 20]);
        for length in PIECE_BYTES - 6..PIECE_BYTES + 6 {
            check(&[length]);
            check(&[length, length, 4]);
        }
        check(&[10 * PIECE_BYTES + 8, 2, PIECE_BYTES]);
        check(&[30_000; 40]);
    }
}
