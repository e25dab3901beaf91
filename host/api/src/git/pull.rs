//! `POST /git/pull`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};

use super::view::SyncView;
use super::{BODY_BYTES_MAX, BodyMembers};
use crate::ApiState;
use crate::body::MaybeJsonBody;
use crate::error::ApiError;
use crate::error_code::ErrorCode;

pub(crate) const ERRORS: &[ErrorCode] = &[
    ErrorCode::GitDirty,
    ErrorCode::GitDiverged,
    ErrorCode::GitHistoryRewritten,
    ErrorCode::GitBranchMoved,
    ErrorCode::TooFewRules,
    ErrorCode::ListsRefused,
];

/// Pulls by fast-forward only, and only if the work tree has no changes.
#[utoipa::path(
    post, path = "/git/pull", tag = "Git",
    responses((status = 200, description = "The rules of the remote branch are in force.", body = SyncView))
)]
pub(crate) async fn pull(
    State(api): State<ApiState>,
    body: MaybeJsonBody<BODY_BYTES_MAX>,
) -> Result<Response, ApiError> {
    BodyMembers::parse(&body.0)?;
    let synced = api.git.pull().await?;
    Ok(Json(SyncView::from(synced)).into_response())
}
