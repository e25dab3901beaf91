//! `limit` and `cursor`: a long answer in pages.

use std::num::NonZeroUsize;

use axum::http::{HeaderName, HeaderValue, header};
use utoipa::IntoParams;

use super::error::ApiError;
use super::error_code::ErrorCode;
use super::query::decoded;
use super::quoted::quoted;

/// Largest page.
const LIMIT_MAX: usize = 10_000;

/// Schema for the OpenAPI document only.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct PageParameters {
    /// Returns at most so many elements. If others follow, the header `Link` has the address of the next page with
    /// `rel="next"`.
    #[param(minimum = 1, maximum = 10000, example = 100)]
    limit: Option<u32>,
    /// Where the page begins: the cursor in the `Link` of the page before.
    #[param(pattern = "^[0-9]{1,18}$", example = "412")]
    cursor: Option<String>,
}

/// The part of a long answer that is asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// At most so many elements; without a limit all, or the usual number.
    pub(super) limit: Option<NonZeroUsize>,
    cursor: Option<String>,
}

impl Page {
    /// Reads `limit` and `cursor`. Other parameters have no effect, as on every address that has none.
    ///
    /// # Errors
    /// [`ErrorCode::InvalidField`] for another limit than 1 to 10,000, and a cursor that is not text.
    pub(super) fn read(query: Option<&str>) -> Result<Self, ApiError> {
        let mut page = Self::default();
        for parameter in query.unwrap_or_default().split('&') {
            let (name, text) = parameter.split_once('=').unwrap_or((parameter, ""));
            match name {
                "limit" => page.limit = Some(limit_of(text)?),
                "cursor" => page.cursor = Some(decoded(text).ok_or_else(|| no_cursor(text))?),
                _ => {}
            }
        }
        Ok(page)
    }

    /// Returns the cursor as `read` reads it; `None` without one.
    ///
    /// # Errors
    /// [`ErrorCode::InvalidField`] if `read` refuses it.
    pub(super) fn cursor<T>(&self, read: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, ApiError> {
        self.cursor.as_deref().map(|cursor| read(cursor).ok_or_else(|| no_cursor(cursor))).transpose()
    }

    /// Returns the header with the address of the next page, which begins at this cursor.
    pub(super) fn link_to_next(&self, path: &str, cursor: &str) -> Option<(HeaderName, HeaderValue)> {
        let limit = self.limit?;
        let link = format!("<{path}?limit={limit}&cursor={cursor}>; rel=\"next\"");
        Some((header::LINK, HeaderValue::from_str(&link).ok()?))
    }
}

fn limit_of(text: &str) -> Result<NonZeroUsize, ApiError> {
    let limit = text.parse().ok().filter(|limit: &NonZeroUsize| limit.get() <= LIMIT_MAX);
    limit.ok_or_else(|| {
        let message = format!("`limit` must be a number from 1 to {LIMIT_MAX}; it is {}", quoted(text));
        ApiError::new(ErrorCode::InvalidField, message).at("limit")
    })
}

fn no_cursor(cursor: &str) -> ApiError {
    let message = format!(
        "`cursor` must be the one in the header `Link` of the page before; it is {}. Begin again without it",
        quoted(cursor)
    );
    ApiError::new(ErrorCode::InvalidField, message).at("cursor")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, expected: Result<(Option<usize>, Option<i64>), &str>) {
        let read = Page::read(Some(query));
        let read = read.and_then(|page| {
            let cursor = page.cursor(|text| text.parse().ok())?;
            Ok((page.limit.map(NonZeroUsize::get), cursor))
        });
        let read = read.map_err(|error| error.summary());
        match (read, expected) {
            (Ok(read), Ok(expected)) => assert_eq!(read, expected, "{query}"),
            (Err(message), Err(expected)) => assert!(message.contains(expected), "{query}: {message}"),
            (read, expected) => panic!("{query}: {read:?}, not {expected:?}"),
        }
    }

    #[test]
    fn a_page_has_a_limit_and_a_cursor() {
        check("", Ok((None, None)));
        check("other=1&limit=10", Ok((Some(10), None)));
        check("limit=10000&cursor=7", Ok((Some(10_000), Some(7))));
        for limit in ["limit", "limit=", "limit=0", "limit=-1", "limit=10001", "limit=1e3", "limit=%31"] {
            check(limit, Err("`limit` must be a number from 1 to 10000"));
        }
        for cursor in ["cursor=", "cursor=a", "cursor=%ff", "cursor=%"] {
            check(cursor, Err("`cursor` must be the one in the header `Link` of the page before"));
        }
    }

    #[test]
    fn the_next_page_has_the_same_limit() {
        let page = Page::read(Some("limit=5")).unwrap();
        let (name, value) = page.link_to_next("/instructions", "12").unwrap();
        assert_eq!(
            (name.as_str(), value.to_str().unwrap()),
            ("link", "</instructions?limit=5&cursor=12>; rel=\"next\"")
        );
    }
}
