//! `POST /lists/{name}/check`

use axum::Json;
use axum::extract::State;
use tollgate_model::transaction::{Json as Value, JsonLimits};
use utoipa::ToSchema;

use super::view::ListReadingView;
use crate::ApiState;
use crate::body::JsonBody;
use crate::error::ApiError;
use crate::error_code::ErrorCode;

pub(crate) const ERRORS: &[ErrorCode] = &[ErrorCode::InvalidList, ErrorCode::Unavailable];

/// Maximum size of a body: a text of about a megabyte.
const BYTES_MAX: usize = 1024 * 1024;

/// A text to read as a list.
#[derive(ToSchema)]
pub(super) struct ListToCheck {
    /// The text, in the format of a list file.
    #[schema(value_type = String, example = "acc-1 # since May\nacc-2\n")]
    #[expect(dead_code, reason = "only its schema is used")]
    text: String,
}

/// Reads a text as a list, and tells the entry of each line. It changes nothing.
#[utoipa::path(
    post, path = "/lists/{name}/check", tag = "Lists", request_body = ListToCheck,
    params(("name" = String, Path, description = "The list's name, without the `$`")),
    responses((status = 200, description = "How the text is read.", body = ListReadingView))
)]
pub(crate) async fn check_list(
    State(api): State<ApiState>,
    body: JsonBody<BYTES_MAX>,
) -> Result<Json<ListReadingView>, ApiError> {
    let Value::Object(members) = Value::parse(&body.0, JsonLimits::REQUEST)? else {
        return Err(ApiError::new(ErrorCode::NotAnObject, "the body must be an object with a `text`"));
    };
    match members.into_iter().find(|(name, _)| &**name == "text").map(|(_, value)| value) {
        Some(Value::Text(text)) => Ok(Json(api.intake.read_list(text.into()).await?.into())),
        None | Some(Value::Null) => {
            Err(ApiError::new(ErrorCode::MissingField, "`text` is required").at("text"))
        }
        Some(_) => Err(ApiError::new(ErrorCode::InvalidField, "`text` must be a string").at("text")),
    }
}
