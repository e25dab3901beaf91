//! A route: its handler, its description, and the errors that it can return.

use std::collections::BTreeSet;

use axum::http::Method;
use axum::routing::MethodRouter;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::{RefOr, Schema};
use utoipa_axum::router::UtoipaMethodRouter;

use super::error_code::ErrorCode;
use super::{ApiState, body, git, guard, health};

/// One method of one path.
pub(super) struct Route {
    pub(super) method: Method,
    /// Path in the syntax of the router and the OpenAPI document.
    pub(super) path: String,
    pub(super) operation: Operation,
    /// Shapes of its bodies, by name.
    pub(super) schemas: Vec<(String, RefOr<Schema>)>,
    pub(super) handler: MethodRouter<ApiState>,
    own_errors: &'static [ErrorCode],
    body_errors: &'static [ErrorCode],
    more_errors: &'static [ErrorCode],
}

impl Route {
    /// Creates the route of one handler, as `routes!` reads it from its attribute. A route without a method, which the
    /// attribute does not allow, is a `GET` without a description.
    pub(super) fn new(
        (schemas, paths, handler): UtoipaMethodRouter<ApiState>,
        own_errors: &'static [ErrorCode],
    ) -> Self {
        let (path, item) = paths.paths.into_iter().next().unwrap_or_default();
        let (method, operation) = operation_of(item);
        let has_body = method == Method::POST || method == Method::PUT;
        let body_errors = if has_body { body::ERRORS } else { &[] };
        Self { method, path, operation, schemas, handler, own_errors, body_errors, more_errors: &[] }
    }

    /// Returns the route with a body that is not JSON.
    pub(super) fn with_bytes(self) -> Self {
        Self { body_errors: body::ERRORS_OF_BYTES, ..self }
    }

    /// Returns the route with a body of lines, each with an answer of its own.
    pub(super) fn with_lines(self) -> Self {
        Self { body_errors: body::ERRORS_OF_LINES, ..self }
    }

    /// Returns the route with the errors of remote operations.
    pub(super) fn with_remote(self) -> Self {
        self.also(git::ERRORS_OF_REMOTES)
    }

    /// Returns the route with further errors.
    pub(super) fn also(self, more_errors: &'static [ErrorCode]) -> Self {
        Self { more_errors, ..self }
    }

    /// Returns every error the route can return, including those of the steps before it, each once.
    pub(super) fn errors(&self) -> BTreeSet<ErrorCode> {
        let of_changes = if guard::changes_state(&self.method) { guard::ERRORS_OF_CHANGES } else { &[] };
        let of_work = if health::PATHS.contains(&&*self.path) { &[] } else { guard::ERRORS_OF_WORK };
        let own = [self.own_errors, self.more_errors];
        [self.body_errors, of_changes, of_work, guard::ERRORS, &[ErrorCode::InternalError]]
            .into_iter()
            .chain(own)
            .flatten()
            .copied()
            .collect()
    }
}

fn operation_of(item: PathItem) -> (Method, Operation) {
    let methods = [
        (Method::GET, item.get),
        (Method::POST, item.post),
        (Method::PUT, item.put),
        (Method::DELETE, item.delete),
    ];
    let found = methods.into_iter().find_map(|(method, operation)| Some((method, operation?)));
    found.unwrap_or_else(|| (Method::GET, Operation::default()))
}
