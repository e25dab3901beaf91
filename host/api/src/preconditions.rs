//! Conditional changes: `ETag`, `If-Match` and `If-None-Match` (RFC 9110).

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header::{IF_MATCH, IF_NONE_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use tollgate_rules::intake::Precondition;

/// The condition of a request: `If-Match`, or else `If-None-Match: *`. Without either, there is none.
pub(super) struct Conditional(pub(super) Precondition);

impl<S: Sync> FromRequestParts<S> for Conditional {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(condition_of(&parts.headers)))
    }
}

fn condition_of(headers: &HeaderMap) -> Precondition {
    if headers.contains_key(IF_MATCH) {
        let tags: Vec<String> = tags_of(headers, &IF_MATCH).collect();
        return if tags.iter().any(|tag| tag == "*") {
            Precondition::Present
        } else {
            Precondition::OneOf(tags)
        };
    }
    if tags_of(headers, &IF_NONE_MATCH).any(|tag| tag == "*") {
        return Precondition::Absent;
    }
    Precondition::None
}

/// Returns the tags of a header without their quotation marks. A proxy that compresses makes a tag weak; it still names the
/// same content.
fn tags_of(headers: &HeaderMap, name: &HeaderName) -> impl Iterator<Item = String> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(|tag| {
        let tag = tag.trim();
        tag.strip_prefix("W/").unwrap_or(tag).trim_matches('"').to_owned()
    })
}

/// Returns the header `ETag` of a tag.
pub(super) fn entity_tag(tag: &str) -> [(HeaderName, HeaderValue); 1] {
    let value =
        HeaderValue::from_str(&format!("\"{tag}\"")).unwrap_or_else(|_| HeaderValue::from_static("\"\""));
    [(header::ETAG, value)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(headers: &[(&str, &str)], expected: &Precondition) {
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        assert_eq!(condition_of(&headers.collect()), *expected);
    }

    #[test]
    fn a_condition_is_read_as_http_writes_it() {
        let one_of = |tags: &[&str]| Precondition::OneOf(tags.iter().map(|tag| (*tag).to_owned()).collect());
        check(&[], &Precondition::None);
        check(&[("if-match", "\"a\"")], &one_of(&["a"]));
        check(&[("if-match", "W/\"a\", \"b\"")], &one_of(&["a", "b"]));
        check(&[("if-match", "*")], &Precondition::Present);
        check(&[("if-match", "")], &one_of(&[""]));
        check(&[("if-none-match", "*")], &Precondition::Absent);
        check(&[("if-none-match", "\"a\"")], &Precondition::None);
        check(&[("if-match", "\"a\""), ("if-none-match", "*")], &one_of(&["a"]));
    }
}
