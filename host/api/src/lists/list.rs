//! `GET /lists`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};

use super::view::ListView;
use crate::ApiState;
use crate::error_code::ErrorCode;

pub(crate) const ERRORS: &[ErrorCode] = &[];

/// Lists the named lists in force, by name, without their entries.
#[utoipa::path(
    get, path = "/lists", tag = "Lists",
    responses((status = 200, description = "One entry for every list.", body = [ListView]))
)]
pub(crate) async fn list_lists(State(api): State<ApiState>) -> Response {
    let lists = api.intake.lists();
    let views: Vec<_> = lists.iter().map(|(name, list)| ListView::new(name, list, &api.intake)).collect();
    Json(views).into_response()
}
