//! Steps that apply to every request and every response.
//!
//! They are one function around the router because a router clones each of its layers for every request.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use axum::Router;
use axum::body::HttpBody as _;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method};
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use tower::Service as _;

use super::compressed::{Compressor, takes_gzip};
use super::routes::{self, route_of};
use super::{ApiState, finish, guard, health, webhook};
use tollgate_telemetry::metrics::RequestKind;
use tollgate_telemetry::request_ids::RequestIds;

/// The header with the id of a request and of its answer.
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The HTTP service. Cheap to clone; it is cloned for every request.
#[derive(Debug, Clone)]
pub(super) struct ApiService {
    routes: Router,
    state: ApiState,
    compressor: Compressor,
}

impl ApiService {
    pub(super) fn new(state: ApiState) -> Self {
        Self::around(routes::router(), state)
    }

    pub(super) fn around(routes: Router<ApiState>, state: ApiState) -> Self {
        let routes = routes
            .fallback(finish::not_found)
            .method_not_allowed_fallback(finish::method_not_allowed)
            .with_state(state.clone());
        Self { routes, state, compressor: Compressor::new() }
    }

    /// Answers a request, even if its handler panics.
    pub(super) async fn answer(mut self, request: Request) -> Response {
        let (began, kind) = (Instant::now(), kind_of(&request));
        let has_body = !request.body().is_end_stream();
        let takes_gzip = takes_gzip(request.headers());
        let traces = self.state.traces.as_ref().filter(|_| kind != RequestKind::Health);
        let span = traces.map(|traces| traces.begin(&request, route_of(request.uri().path())));
        let ids = ids_of(&request).with_span(span.as_ref());
        let request_id = ids.request();
        // State that was in use during a panic is never used again.
        let answer = ids.within(AssertUnwindSafe(self.pass(request)).catch_unwind()).await;
        let answer = answer.unwrap_or_else(finish::panicked);
        let answer = finish::finish(&self.state.metrics, has_body, answer);
        let mut answer = self.compressor.compress(takes_gzip, answer);
        if let Some(span) = span {
            span.end(&request_id, answer.status().as_u16());
        }
        answer.headers_mut().extend(HeaderValue::from_str(&request_id).map(|id| (X_REQUEST_ID, id)));
        self.state.metrics.answered(kind, began.elapsed());
        answer
    }

    async fn pass(&mut self, request: Request) -> Response {
        let is_event = request.method() == Method::POST && kind_of(&request) == RequestKind::Event;
        match guard::admit(&self.state.hosts, request) {
            Ok(request) => self.routes.call(request).await.into_response(),
            Err(refusal) => {
                if is_event {
                    webhook::note_refusal(&self.state, &refusal);
                }
                refusal.into_response()
            }
        }
    }
}

fn ids_of(request: &Request) -> RequestIds {
    let header = |name| request.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    RequestIds::new(header(X_REQUEST_ID), header(TRACEPARENT))
}

fn kind_of(request: &Request) -> RequestKind {
    match request.uri().path() {
        "/inject" => RequestKind::Inject,
        "/ledgerwebhook" | "/blnkwebhook" => RequestKind::Event,
        path if health::PATHS.contains(&path) => RequestKind::Health,
        _ if guard::changes_state(request.method()) => RequestKind::Change,
        _ => RequestKind::Read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_one_kind_take_comparable_times() {
        for (method, path, kind) in [
            ("POST", "/inject", RequestKind::Inject),
            ("POST", "/blnkwebhook", RequestKind::Event),
            ("PUT", "/lists/a", RequestKind::Change),
            ("GET", "/lists/a", RequestKind::Read),
            ("GET", "/healthz", RequestKind::Health),
        ] {
            let request = Request::builder().method(method).uri(path).body(axum::body::Body::empty());
            assert_eq!(kind_of(&request.unwrap()), kind, "{method} {path}");
        }
    }
}
