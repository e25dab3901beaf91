//! Parses HTTP/1.1 responses with a `Content-Length`, the only kind that answers these requests.

use std::ops::Range;

/// The empty line between the head and the body of a request or response.
pub(super) const HEAD_END: &[u8] = b"\r\n\r\n";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CompleteResponse {
    pub(super) status: u16,
    /// Range of the body within the bytes.
    pub(super) body: Range<usize>,
    /// `Retry-After` in seconds.
    pub(super) retry_after: Option<u32>,
    /// Whether the server closes the connection after it.
    pub(super) closes: bool,
}

/// Parses the response at the start of `bytes`; `None` while it is incomplete.
///
/// # Errors
/// A description of the malformed part.
pub(super) fn answer(bytes: &[u8]) -> Result<Option<CompleteResponse>, &'static str> {
    let Some(head_end) = position(bytes, HEAD_END) else { return Ok(None) };
    let head = bytes.get(..head_end).and_then(|head| std::str::from_utf8(head).ok());
    let mut lines = head.ok_or("the head of the response is not text")?.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.")?.get(2..5)?.parse().ok());
    let status = status.ok_or("the response has no status")?;
    let (mut length, mut retry_after, mut closes) = (None, None, false);
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("content-length") {
            length = value.trim().parse::<usize>().ok();
        } else if is("retry-after") {
            retry_after = value.trim().parse().ok();
        } else if is("connection") {
            closes = value.trim().eq_ignore_ascii_case("close");
        }
    }
    // A 204 response has no body and needs no length.
    let length = if status == 204 { Some(0) } else { length };
    let start = head_end + HEAD_END.len();
    let end = start.saturating_add(length.ok_or("the response has no length")?);
    Ok((end <= bytes.len()).then_some(CompleteResponse { status, body: start..end, retry_after, closes }))
}

/// The index of the first occurrence of `sought`.
pub(super) fn position(bytes: &[u8], sought: &[u8]) -> Option<usize> {
    bytes.windows(sought.len()).position(|window| window == sought)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_when_it_is_whole() {
        let bytes = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 2\r\n\r\n{}";
        for n_bytes in 0..bytes.len() {
            assert_eq!(answer(&bytes[..n_bytes]), Ok(None), "{n_bytes} bytes");
        }
        let whole = answer(bytes).unwrap().unwrap();
        let expected = CompleteResponse {
            status: 503,
            body: bytes.len() - 2..bytes.len(),
            retry_after: Some(1),
            closes: false,
        };
        assert_eq!(whole, expected);
    }

    #[test]
    fn a_response_of_unknown_length_is_refused() {
        assert!(answer(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").is_err());
        assert!(answer(b"SSH-2.0 something\r\n\r\n").is_err());
        let closing = answer(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").unwrap().unwrap();
        assert!(closing.closes && closing.body.is_empty());
    }
}
