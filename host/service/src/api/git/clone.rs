//! `POST /git/clone`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use tollgate_model::secret::Secret;

use super::view::CloneView;
use super::{BODY_BYTES_MAX, BodyMembers};
use crate::api::body::JsonBody;
use crate::api::error::ApiError;
use crate::api::error_code::ErrorCode;
use crate::api::{ApiState, openapi::schema};
use crate::git_sync::CloneRequest;

pub(in crate::api) const ERRORS: &[ErrorCode] = &[ErrorCode::GitAddressInvalid, ErrorCode::TooFewRules];

/// Clones a repository and puts its rules in force.
///
/// The new repository replaces the previous one. When the response arrives, its rules are in force. `GET /git/status`
/// lists rules that do not compile. The token is kept in memory only: send it again after a restart, unless it is
/// configured.
#[utoipa::path(
    post, path = "/git/clone", tag = "Git", request_body = schema::GitCloneRequest,
    responses((status = 200, description = "The repository is cloned and its rules are in force.", body = CloneView))
)]
pub(in crate::api) async fn clone_repository(
    State(api): State<ApiState>,
    body: JsonBody<BODY_BYTES_MAX>,
) -> Result<Response, ApiError> {
    let mut members = BodyMembers::of(&body.0)?;
    let request = CloneRequest {
        url: Secret::new(members.required_text("url")?),
        branch: members.text("branch")?,
        token: members.text("token")?.map(Secret::new),
    };
    let cloned = api.git.clone_from(request).await?;
    Ok(Json(CloneView::from(cloned)).into_response())
}
