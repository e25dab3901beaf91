//! `Prefer: respond-async` (RFC 7240): the answer to a save does not wait until the rule is in force.

use std::convert::Infallible;

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use super::view::InstructionView;
use crate::preconditions::entity_tag;
use tollgate_rules::intake::{ListedInstruction, PutUntil, tag_of_instruction};

const PREFER: &str = "prefer";
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
const RESPOND_ASYNC: &str = "respond-async";

/// When the client prefers its answer.
pub(crate) struct RespondAsync(pub(super) PutUntil);

impl<S: Sync> FromRequestParts<S> for RespondAsync {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let values = parts.headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
        let mut preferences = values.flat_map(|value| value.split(','));
        let is_meant = |preference: &str| {
            let name = preference.split(';').next().unwrap_or_default();
            name.trim().eq_ignore_ascii_case(RESPOND_ASYNC)
        };
        Ok(Self(if preferences.any(is_meant) { PutUntil::Reserved } else { PutUntil::InForce }))
    }
}

/// Returns the answer to a change of an instruction.
pub(super) fn answer(status: StatusCode, instruction: &ListedInstruction, until: PutUntil) -> Response {
    let tag = entity_tag(&tag_of_instruction(&instruction.instruction));
    let body = Json(InstructionView::from(instruction));
    match until {
        PutUntil::InForce => (status, tag, body).into_response(),
        PutUntil::Reserved => {
            let applied = [(PREFERENCE_APPLIED, HeaderValue::from_static(RESPOND_ASYNC))];
            (status, tag, applied, body).into_response()
        }
    }
}
