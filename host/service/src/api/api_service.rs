//! What every request passes on its way in, and every answer on its way out.
//!
//! One function around the router, and not layers of it: a router makes each of its layers anew for every request.

use std::panic::AssertUnwindSafe;

use axum::Router;
use axum::body::HttpBody as _;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use tower::Service as _;

use super::{ApiState, finish, guard, routes};

/// Everything that is served over HTTP. Cheap to clone, and cloned for every request.
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

    /// The answer to a request, whatever becomes of it.
    pub(super) async fn answer(mut self, request: Request) -> Response {
        let has_body = !request.body().is_end_stream();
        // Nothing of what was under way when it panicked is used again.
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
