//! `POST /git/push`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};

use super::view::PushView;
use super::{BODY_BYTES_MAX, BodyMembers};
use crate::api::body::JsonBody;
use crate::api::error::ApiError;
use crate::api::error_code::ErrorCode;
use crate::api::{ApiState, openapi::schema};

pub(in crate::api) const ERRORS: &[ErrorCode] = &[ErrorCode::GitPushRefused, ErrorCode::GitHistoryRewritten];

/// Commits the rule files that were changed locally and pushes them.
///
/// A push is never forced: if the remote has new commits, nothing changes on either side. Rules saved over the API are
/// files of the work tree and are shared by a push.
#[utoipa::path(
    post, path = "/git/push", tag = "Git", request_body = schema::GitPushRequest,
    responses((status = 200, description = "The changes are on the remote.", body = PushView))
)]
pub(in crate::api) async fn push(
    State(api): State<ApiState>,
    body: JsonBody<BODY_BYTES_MAX>,
) -> Result<Response, ApiError> {
    let message = BodyMembers::of(&body.0)?.required_text("message")?;
    let published = api.git.push(&message).await?;
    Ok(Json(PushView::from(published)).into_response())
}
