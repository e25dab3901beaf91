//! `POST /git/sync`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use utoipa::ToSchema;

use super::view::SyncView;
use super::{BODY_BYTES_MAX, BodyMembers};
use crate::ApiState;
use crate::body::MaybeJsonBody;
use crate::error::ApiError;
use crate::error_code::ErrorCode;

pub(crate) const ERRORS: &[ErrorCode] = &[
    ErrorCode::GitHistoryRewritten,
    ErrorCode::GitBranchMoved,
    ErrorCode::PolicyDenied,
    ErrorCode::TooFewRules,
    ErrorCode::ListsRefused,
];

/// Options of a sync.
#[derive(ToSchema)]
struct GitSyncRequest {
    /// Whether to accept a branch with rewritten history, and a commit in which a list is refused; false if absent.
    #[schema(value_type = Option<bool>)]
    force: bool,
}

impl GitSyncRequest {
    fn read(body: &[u8]) -> Result<Self, ApiError> {
        Ok(Self { force: BodyMembers::parse(body)?.flag("force")? })
    }
}

/// Fetches from the remote now instead of at the next poll.
///
/// All files of a commit come into force at once. The body is optional. With `force`, a branch with rewritten history
/// is accepted, and so is the usable part of a commit in which a list is refused. Under a policy, `force` needs the grant
/// `change` for `git`.
#[utoipa::path(
    post, path = "/git/sync", tag = "Git", request_body(content = Option<GitSyncRequest>),
    responses((status = 200, description = "The rules of the remote branch are in force.", body = SyncView))
)]
pub(crate) async fn sync(
    State(api): State<ApiState>,
    body: MaybeJsonBody<BODY_BYTES_MAX>,
) -> Result<Response, ApiError> {
    let GitSyncRequest { force } = GitSyncRequest::read(&body.0)?;
    let synced = api.git.sync(force).await?;
    Ok(Json(SyncView::from(synced)).into_response())
}
