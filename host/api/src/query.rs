//! Parameters of a query.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

use super::error::ApiError;
use super::error_code::ErrorCode;
use super::quoted::quoted;

/// The parameters of a query by their name.
#[derive(Debug, Default)]
pub(super) struct RequestQuery(BTreeMap<&'static str, String>);

impl RequestQuery {
    /// Reads a query that may have these parameters, each once.
    ///
    /// # Errors
    /// [`ErrorCode::InvalidField`] for any other query.
    pub(super) fn read(query: Option<&str>, known: &[&'static str]) -> Result<Self, ApiError> {
        let mut texts = BTreeMap::new();
        for parameter in query.unwrap_or_default().split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, text) = parameter.split_once('=').unwrap_or((parameter, ""));
            let (Some(name), Some(text)) = (decoded(name), decoded(text)) else {
                return Err(invalid("the query is not percent-encoded UTF-8".to_owned()));
            };
            let Some(known) = known.iter().find(|known| **known == name) else {
                return Err(invalid(format!("there is no parameter {}", quoted(&name))));
            };
            if texts.insert(*known, text).is_some() {
                return Err(invalid(format!("the parameter `{known}` occurs twice")).at(*known));
            }
        }
        Ok(Self(texts))
    }

    /// Returns a parameter; `None` without it.
    ///
    /// # Errors
    /// [`ErrorCode::InvalidField`] if `read` refuses its text. `allowed` tells what it accepts.
    pub(super) fn get<T>(
        &self,
        name: &'static str,
        allowed: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, ApiError> {
        let Some(text) = self.0.get(name) else { return Ok(None) };
        let refused = || invalid(format!("`{name}` must be {allowed}; it is {}", quoted(text))).at(name);
        read(text).map(Some).ok_or_else(refused)
    }
}

fn invalid(message: String) -> ApiError {
    ApiError::new(ErrorCode::InvalidField, message)
}

/// Decodes a form-encoded text, in which `+` is a space; `None` if it is not UTF-8.
pub(super) fn decoded(text: &str) -> Option<String> {
    let text = text.replace('+', " ");
    let is_whole = text
        .split('%')
        .skip(1)
        .all(|part| part.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)));
    let decoded = percent_decode_str(&text).decode_utf8().ok()?.into_owned();
    is_whole.then_some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_known_and_occur_once() {
        for (query, expected) in [
            (None, Ok(None)),
            (Some(""), Ok(None)),
            (Some("step=PT1M"), Ok(Some("PT1M".to_owned()))),
            (Some("step=a%20b+c"), Ok(Some("a b c".to_owned()))),
            (Some("other=1"), Err("there is no parameter `other`")),
            (Some("step=1&step=2"), Err("the parameter `step` occurs twice")),
            (Some("step=%ff"), Err("the query is not percent-encoded UTF-8")),
            (Some("step=x"), Err("`step` must be anything but x; it is `x`")),
        ] {
            let read = RequestQuery::read(query, &["step"]);
            let read = read.and_then(|query| {
                query.get("step", "anything but x", |text| (text != "x").then(|| text.to_owned()))
            });
            let expected = expected.map_err(|message| format!("invalid_field: {message}"));
            assert_eq!(read.map_err(|error| error.summary()), expected, "{query:?}");
        }
    }
}
