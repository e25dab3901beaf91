//! `POST /git/push`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use utoipa::ToSchema;

use super::view::PushView;
use super::{BODY_BYTES_MAX, BodyMembers};
use crate::ApiState;
use crate::body::JsonBody;
use crate::error::ApiError;
use crate::error_code::ErrorCode;

pub(crate) const ERRORS: &[ErrorCode] =
    &[ErrorCode::GitPushRefused, ErrorCode::GitHistoryRewritten, ErrorCode::PolicyDenied];

/// Options of a push.
#[derive(ToSchema)]
struct GitPushRequest {
    /// The commit message.
    #[schema(
        min_length = 1,
        max_length = 4096,
        pattern = r"^[^\u0000-\u0008\u000b-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u0008\u000b-\u001f\u007f-\u009f]*$",
        example = "Raise the limit for cards"
    )]
    message: String,
}

impl GitPushRequest {
    fn read(body: &[u8]) -> Result<Self, ApiError> {
        Ok(Self { message: BodyMembers::parse(body)?.required_text("message")? })
    }
}

/// Commits the rule files that were changed locally and pushes them.
///
/// A push is never forced: if the remote has new commits, nothing changes on either side. Rules saved over the API are
/// files of the work tree and are shared by a push. Under a policy, this needs the grant `push`.
#[utoipa::path(
    post, path = "/git/push", tag = "Git", request_body = GitPushRequest,
    responses((status = 200, description = "The changes are on the remote.", body = PushView))
)]
pub(crate) async fn push(
    State(api): State<ApiState>,
    body: JsonBody<BODY_BYTES_MAX>,
) -> Result<Response, ApiError> {
    let GitPushRequest { message } = GitPushRequest::read(&body.0)?;
    let published = api.git.push(&message).await?;
    Ok(Json(PushView::from(published)).into_response())
}
