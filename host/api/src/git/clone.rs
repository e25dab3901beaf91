//! `POST /git/clone`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use tollgate_model::secret::Secret;
use utoipa::ToSchema;

use super::view::CloneView;
use super::{BODY_BYTES_MAX, BodyMembers};
use crate::ApiState;
use crate::body::JsonBody;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use tollgate_rules::git_sync::CloneRequest;

pub(crate) const ERRORS: &[ErrorCode] =
    &[ErrorCode::GitAddressInvalid, ErrorCode::PolicyDenied, ErrorCode::TooFewRules];

/// A repository to clone.
#[derive(ToSchema)]
struct GitCloneRequest {
    /// Address of the repository; it may contain a percent-encoded user and password. By default only HTTPS to public
    /// hosts is allowed.
    #[schema(value_type = String, max_length = 2048, example = "https://git.example/team/rules.git")]
    url: Secret,
    /// The branch to follow; the remote's default branch if absent.
    #[schema(example = "main")]
    branch: Option<String>,
    /// Access token for the remote.
    #[schema(value_type = Option<String>)]
    token: Option<Secret>,
}

impl GitCloneRequest {
    fn read(body: &[u8]) -> Result<Self, ApiError> {
        let mut members = BodyMembers::parse(body)?;
        Ok(Self {
            url: Secret::new(members.required_text("url")?),
            branch: members.text("branch")?,
            token: members.text("token")?.map(Secret::new),
        })
    }
}

/// Clones a repository and puts its rules in force.
///
/// The new repository replaces the previous one. When the response arrives, its rules are in force. `GET /git/status`
/// lists rules that do not compile. The token is kept in memory only: send it again after a restart, unless it is
/// configured. Under a policy, this needs the grant `change` for `git`.
#[utoipa::path(
    post, path = "/git/clone", tag = "Git", request_body = GitCloneRequest,
    responses((status = 200, description = "The repository is cloned and its rules are in force.", body = CloneView))
)]
pub(crate) async fn clone_repository(
    State(api): State<ApiState>,
    body: JsonBody<BODY_BYTES_MAX>,
) -> Result<Response, ApiError> {
    let GitCloneRequest { url, branch, token } = GitCloneRequest::read(&body.0)?;
    let cloned = api.git.clone_from(CloneRequest { url, branch, token }).await?;
    Ok(Json(CloneView::from(cloned)).into_response())
}
