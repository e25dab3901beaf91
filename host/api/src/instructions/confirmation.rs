//! The parameter `confirm` of a save.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::error::ApiError;
use crate::error_code::ErrorCode;
use tollgate_rules::intake::Confirmation;

const CONFIRM: &str = "confirm";
const EXPECTED: &str = "`confirm` must be `true` or `false`";

/// Whether a save is confirmed, and the query without that parameter.
pub(crate) struct Confirmed {
    pub(super) confirmation: Confirmation,
    pub(super) query: Option<String>,
}

impl<S: Sync> FromRequestParts<S> for Confirmed {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Self::read(parts.uri.query())
            .ok_or_else(|| ApiError::new(ErrorCode::InvalidField, EXPECTED).at(CONFIRM))
    }
}

impl Confirmed {
    /// Returns `None` if the parameter is neither `true` nor `false`, or stands there twice.
    fn read(query: Option<&str>) -> Option<Self> {
        let Some(query) = query else {
            return Some(Self { confirmation: Confirmation::Missing, query: None });
        };
        let is_confirm = |parameter: &&str| parameter.split('=').next() == Some(CONFIRM);
        let (confirms, others): (Vec<&str>, Vec<&str>) = query.split('&').partition(is_confirm);
        let confirmation = match confirms[..] {
            [] | ["confirm=false"] => Confirmation::Missing,
            ["confirm=true"] => Confirmation::Given,
            _ => return None,
        };
        Some(Self { confirmation, query: (!others.is_empty()).then(|| others.join("&")) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: Option<&str>, confirmation: Confirmation, rest: Option<&str>) {
        let read = Confirmed::read(query).unwrap();
        assert_eq!((read.confirmation, read.query.as_deref()), (confirmation, rest), "{query:?}");
    }

    #[test]
    fn a_parameter_confirms_and_the_others_stay() {
        check(None, Confirmation::Missing, None);
        check(Some("confirm=true"), Confirmation::Given, None);
        check(Some("confirm=false"), Confirmation::Missing, None);
        check(Some("name=a&confirm=true&score=1"), Confirmation::Given, Some("name=a&score=1"));
        check(Some("confirmed=true"), Confirmation::Missing, Some("confirmed=true"));
    }

    #[test]
    fn any_other_value_is_refused() {
        for query in ["confirm", "confirm=", "confirm=null", "confirm=1", "confirm=true&confirm=true"] {
            assert!(Confirmed::read(Some(query)).is_none(), "{query}");
        }
    }
}
