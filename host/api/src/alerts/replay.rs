//! `POST /alerts/dead-letters/{id}/replay`

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use serde::Serialize;
use utoipa::ToSchema;

use crate::ApiState;
use crate::body::MaybeJsonBody;
use crate::error::ApiError;
use crate::error_code::ErrorCode;

/// Maximum size of the body, in bytes. The body is ignored.
const REPLAY_BYTES_MAX: usize = 1024;

pub(crate) const ERRORS: &[ErrorCode] =
    &[ErrorCode::DeadLetterNotFound, ErrorCode::AlertsNotConfigured, ErrorCode::Unavailable];

/// An alert that is being delivered again.
#[derive(Serialize, ToSchema)]
pub(crate) struct Replayed {
    /// Unchanged id of the alert.
    #[schema(example = "alert_0198f3d2c1d47a3e9b1f2a6c5d4e3f21")]
    id: String,
    /// Always `pending`.
    #[schema(example = "pending")]
    status: &'static str,
}

/// Sends a dead letter again.
///
/// The alert keeps its id, and its attempts are counted from zero again. The response only confirms that delivery has
/// resumed. The result appears in `GET /alerts/dead-letters` and in the metrics.
#[utoipa::path(
    post, path = "/alerts/dead-letters/{id}/replay", tag = "Alerts", operation_id = "replay_alert_dead_letter",
    params(("id" = String, Path, description = "Id of the alert")),
    responses((status = 200, description = "Delivery has resumed.", body = Replayed))
)]
pub(crate) async fn replay(
    State(api): State<ApiState>,
    id: Result<Path<String>, PathRejection>,
    _: MaybeJsonBody<REPLAY_BYTES_MAX>,
) -> Result<Json<Replayed>, ApiError> {
    let unreadable = |_| ApiError::new(ErrorCode::DeadLetterNotFound, "there is no dead letter with this id");
    let Path(id) = id.map_err(unreadable)?;
    api.alerting.replay(&id).await?;
    Ok(Json(Replayed { id, status: "pending" }))
}
