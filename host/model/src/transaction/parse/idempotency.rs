//! The `Idempotency-Key` header, which supplies a missing `transaction_id`.
//!
//! A client library that retries requests may send the header even if the body has an id. The id in the body is more
//! specific, so it takes precedence and the header is ignored.

use crate::transaction::left_out::{self, leaves_out};
use crate::transaction::{InvalidTransaction, Json};

const FIELD: &str = "transaction_id";
const KEY_BYTES_MAX: usize = 255;

/// Sets a missing id to the key, and in a batch to `KEY:LINE`.
pub(super) fn fill_in(
    entries: &mut Vec<(Box<str>, Json)>,
    key: &[u8],
    line: Option<u64>,
) -> Result<(), InvalidTransaction> {
    if !leaves_out(entries, FIELD) {
        return Ok(());
    }
    let refusal = InvalidTransaction::InvalidField {
        field: "Idempotency-Key",
        expected: "a text of at most 255 bytes, bare or in quotation marks",
    };
    let Some(mut key) = std::str::from_utf8(key).ok().and_then(text_of) else { return Err(refusal) };
    if let Some(line) = line.filter(|_| !key.is_empty()) {
        key.push_str(&format!(":{line}"));
    }
    if key.len() > KEY_BYTES_MAX {
        return Err(refusal);
    }
    if !key.is_empty() {
        left_out::fill_in(entries, FIELD, &key);
    }
    Ok(())
}

/// Returns the text of a key: bare, or between quotation marks as in a structured field (RFC 8941). Returns `None` for
/// an unbalanced quotation mark.
fn text_of(header: &str) -> Option<String> {
    let header = header.trim_matches([' ', '\t']);
    let Some(quoted) = header.strip_prefix('"') else { return Some(header.to_owned()) };
    let (mut text, mut characters) = (String::new(), quoted.chars());
    loop {
        match characters.next()? {
            '"' => return characters.next().is_none().then_some(text),
            '\\' => text.push(characters.next()?),
            character => text.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::transaction::{InjectRequest, RequestOptions};

    fn read(id: &str, key: &[u8]) -> Result<InjectRequest, InvalidTransaction> {
        let body = format!(r#"{{"amount": 1, "currency": "EUR", "reference": "r"{id}}}"#);
        let terms = RequestOptions { idempotency_key: Some(key), ..RequestOptions::default() };
        InjectRequest::read(body.as_bytes(), &terms, DateTime::UNIX_EPOCH)
    }

    #[test]
    fn the_key_is_the_id_that_a_body_leaves_out() {
        let in_body = read(r#", "transaction_id": "k-1""#, b"").unwrap();
        for id in ["", r#", "transaction_id": null"#, r#", "transaction_id": """#] {
            for key in [&b"k-1"[..], b"\"k-1\"", b" \"k\\-1\" "] {
                let request = read(id, key).unwrap();
                assert_eq!(&*request.transaction.transaction_id, "k-1");
                assert_eq!(request.fingerprint, in_body.fingerprint);
            }
        }
        assert_eq!(read("", b"").unwrap().transaction.transaction_id.len(), 36);
    }

    #[test]
    fn an_id_in_the_body_counts_and_the_key_is_not_looked_at() {
        for key in [&b"k-1"[..], b"\"", b"\xff", &[b'x'; 300]] {
            let request = read(r#", "transaction_id": "t""#, key).unwrap();
            assert_eq!(&*request.transaction.transaction_id, "t");
        }
    }

    #[test]
    fn in_a_batch_the_number_of_the_line_follows_the_key() {
        let read = |key: &[u8], line| {
            let terms =
                RequestOptions { idempotency_key: Some(key), line: Some(line), ..RequestOptions::default() };
            let body = br#"{"amount": 1, "currency": "EUR", "reference": "r"}"#;
            InjectRequest::read(body, &terms, DateTime::UNIX_EPOCH)
        };
        assert_eq!(&*read(b"\"file 7\"", 12).unwrap().transaction.transaction_id, "file 7:12");
        assert!(read(b"", 12).unwrap().has_generated_id);
        assert!(read(&[b'x'; 253], 9).is_ok());
        assert_eq!(read(&[b'x'; 253], 10).unwrap_err().field(), Some("Idempotency-Key"));
    }

    #[test]
    fn a_key_that_is_no_id_is_refused() {
        for key in [&b"\"k"[..], b"\"k\"x", b"\xff", &[b'x'; 256]] {
            let error = read("", key).unwrap_err();
            assert_eq!((error.code(), error.field()), ("invalid_field", Some("Idempotency-Key")));
        }
        assert!(read("", "k\u{200b}".as_bytes()).unwrap().objection.is_some());
    }
}
