//! Steps that apply to every request and every response.
//!
//! They are one function around the router because a router clones each of its layers for every request.

use std::panic::AssertUnwindSafe;

use axum::Router;
use axum::body::HttpBody as _;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use tower::Service as _;

use super::{ApiState, finish, guard, routes};

/// The HTTP service. Cheap to clone; it is cloned for every request.
#[derive(Debug, Clone)]
pub(super) struct ApiService {
    routes: Router,
    state: ApiState,
}

impl ApiService {
    pub(super) fn of(state: ApiState) -> Self {
        Self::around(routes::router(), state)
    }

    pub(super) fn around(routes: Router<ApiState>, state: ApiState) -> Self {
        let routes = routes
            .fallback(finish::not_found)
            .method_not_allowed_fallback(finish::method_not_allowed)
            .with_state(state.clone());
        Self { routes, state }
    }

    /// Answers a request, even if its handler panics.
    pub(super) async fn answer(mut self, request: Request) -> Response {
        let has_body = !request.body().is_end_stream();
        // State that was in use during a panic is never used again.
        let answer = AssertUnwindSafe(self.pass(request)).catch_unwind().await;
        finish::finish(&self.state.metrics, has_body, answer.unwrap_or_else(finish::panicked))
    }

    async fn pass(&mut self, request: Request) -> Response {
        match guard::admit(&self.state.hosts, request) {
            Ok(request) => self.routes.call(request).await.into_response(),
            Err(refusal) => refusal.into_response(),
        }
    }
}
