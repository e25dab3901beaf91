//! The parameter `confirm` of a save.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::intake::Confirmation;

const CONFIRM: &str = "confirm";
/// Values that confirm nothing.
const DENIALS: [&str; 3] = ["false", "0", "no"];

/// Whether a save is confirmed, and the query without that parameter.
pub(in crate::api) struct Confirmed {
    pub(super) confirmation: Confirmation,
    pub(super) query: Option<String>,
}

impl<S: Sync> FromRequestParts<S> for Confirmed {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::read(parts.uri.query()))
    }
}

impl Confirmed {
    fn read(query: Option<&str>) -> Self {
        let Some(query) = query else { return Self { confirmation: Confirmation::Missing, query: None } };
        let is_confirm = |parameter: &&str| parameter.split('=').next() == Some(CONFIRM);
        let (confirms, others): (Vec<&str>, Vec<&str>) = query.split('&').partition(is_confirm);
        let values =
            confirms.iter().map(|parameter| parameter.split_once('=').map_or("", |(_, value)| value));
        let is_given = !confirms.is_empty() && !values.into_iter().any(|value| DENIALS.contains(&value));
        let confirmation = if is_given { Confirmation::Given } else { Confirmation::Missing };
        Self { confirmation, query: (!others.is_empty()).then(|| others.join("&")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: Option<&str>, confirmation: Confirmation, rest: Option<&str>) {
        let read = Confirmed::read(query);
        assert_eq!((read.confirmation, read.query.as_deref()), (confirmation, rest), "{query:?}");
    }

    #[test]
    fn a_parameter_confirms_and_the_others_stay() {
        check(None, Confirmation::Missing, None);
        check(Some("confirm=true"), Confirmation::Given, None);
        check(Some("confirm="), Confirmation::Given, None);
        check(Some("confirm=false"), Confirmation::Missing, None);
        check(Some("name=a&confirm=true&score=1"), Confirmation::Given, Some("name=a&score=1"));
        check(Some("confirmed=true"), Confirmation::Missing, Some("confirmed=true"));
    }
}
