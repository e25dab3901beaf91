//! The `Accept` header (RFC 9110, section 12.5.1): which form of an answer a client asks for.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use tollgate_model::transaction::AmountForm;

/// The media ranges of a request.
pub(super) struct AcceptedTypes(Vec<MediaRange>);

struct MediaRange {
    /// In small letters, such as `text/plain`, `text/*` or `*/*`.
    essence: String,
    /// Names in small letters, and values without quotation marks.
    parameters: Vec<(String, String)>,
    /// From 0 to 1.
    weight: f32,
}

impl AcceptedTypes {
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let ranges = values.flat_map(|value| value.split(',')).filter(|range| !range.trim().is_empty());
        Self(ranges.map(MediaRange::parse).collect())
    }

    /// Returns whether this type is asked for rather than the other. The most specific range that covers a type decides.
    pub(super) fn prefers(&self, wanted: &str, other: &str) -> bool {
        self.weight_of(wanted) > self.weight_of(other)
    }

    /// Returns whether this type is asked for with a parameter of this value.
    fn has(&self, essence: &str, name: &str, value: &str) -> bool {
        let is_meant = |range: &MediaRange| {
            let mut parameters = range.parameters.iter();
            range.essence == essence
                && range.weight > 0.0
                && parameters.any(|(given, of_it)| given == name && of_it == value)
        };
        self.0.iter().any(is_meant)
    }

    fn weight_of(&self, essence: &str) -> f32 {
        let kind = essence.split('/').next().unwrap_or_default();
        let [of_kind, of_all] = [format!("{kind}/*"), "*/*".to_owned()];
        let weight_of = |pattern: &str| {
            let weights = self.0.iter().filter(|range| range.essence == pattern).map(|range| range.weight);
            weights.reduce(f32::max)
        };
        weight_of(essence).or_else(|| weight_of(&of_kind)).or_else(|| weight_of(&of_all)).unwrap_or(0.0)
    }
}

impl MediaRange {
    fn parse(range: &str) -> Self {
        let mut parts = range.split(';').map(str::trim);
        let essence = parts.next().unwrap_or_default().to_ascii_lowercase();
        let parameters: Vec<(String, String)> = parts
            .filter_map(|part| part.split_once('='))
            .map(|(name, value)| {
                (name.trim().to_ascii_lowercase(), value.trim().trim_matches('"').to_owned())
            })
            .collect();
        let weight =
            parameters.iter().find(|(name, _)| name == "q").and_then(|(_, value)| value.parse().ok());
        Self { essence, parameters, weight: weight.unwrap_or(1.0) }
    }
}

/// The form of amounts that a client asks for: texts with `Accept: application/json; decimals=string`.
pub(super) struct AcceptedAmounts(pub(super) AmountForm);

impl<S: Sync> FromRequestParts<S> for AcceptedAmounts {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let is_text =
            AcceptedTypes::from_headers(&parts.headers).has("application/json", "decimals", "string");
        Ok(Self(if is_text { AmountForm::Text } else { AmountForm::Number }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(value: &str) -> AcceptedTypes {
        AcceptedTypes::from_headers(&HeaderMap::from_iter([(header::ACCEPT, value.parse().unwrap())]))
    }

    #[track_caller]
    fn check(value: &str, prefers_text: bool, has_texts: bool) {
        let accepted = accepted(value);
        assert_eq!(accepted.prefers("text/plain", "application/openmetrics-text"), prefers_text, "{value}");
        assert_eq!(accepted.has("application/json", "decimals", "string"), has_texts, "{value}");
    }

    #[test]
    fn the_most_specific_range_decides_by_its_weight() {
        check("", false, false);
        check("*/*", false, false);
        check("text/plain", true, false);
        check("Text/Plain; version=0.0.4; charset=utf-8", true, false);
        check("text/*", true, false);
        check("text/plain, */*;q=0.1", true, false);
        check("application/openmetrics-text, text/plain", false, false);
        check(
            "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1",
            false,
            false,
        );
        check("application/openmetrics-text;q=0.2, text/plain;q=0.3", true, false);
        check("text/plain;q=0, */*", false, false);
        check("application/json", false, false);
        check("application/json; decimals=string", false, true);
        check("application/json;Decimals=\"string\";q=0.9, */*;q=0.1", false, true);
        check("text/html, application/json;decimals=string", false, true);
        check("application/json; decimals=number", false, false);
        check("application/json; decimals=string; q=0", false, false);
        check("text/plain; decimals=string", true, false);
    }
}
