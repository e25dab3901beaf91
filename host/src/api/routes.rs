//! The list of routes: what is served, by which handler, and which errors it can answer.

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodRouter, delete, get, post};

use super::error_code::ErrorCode;
use super::instructions::{compile_and_save, get as get_instruction, list, remove};
use super::transactions::{get as get_transaction, inject};
use super::{ApiState, body, docs, guard, health, openapi, webhook};

/// Everything that is served.
pub(super) fn routes() -> Vec<Route> {
    vec![
        // Transactions.
        Route::post("/inject", inject::inject, inject::ERRORS),
        Route::get(
            "/transactions/{transaction_id}",
            get_transaction::get_transaction,
            get_transaction::ERRORS,
        ),
        Route::post("/ledgerwebhook", webhook::ledger_webhook, webhook::ERRORS),
        // Instructions.
        Route::post(
            "/compile-and-save-instruction",
            compile_and_save::compile_and_save_instruction,
            compile_and_save::ERRORS,
        ),
        Route::get("/instructions", list::list_instructions, list::ERRORS),
        Route::get("/instructions/{id}", get_instruction::get_instruction, get_instruction::ERRORS),
        Route::delete("/instructions/{id}", remove::remove_instruction, remove::ERRORS),
        // Operation.
        Route::get("/healthz", health::healthz, &[]),
        Route::get("/readyz", health::readyz, &[]),
        Route::get("/metrics", health::metrics, &[]),
        // Documentation.
        Route::get("/openapi.json", openapi::document, &[]),
        Route::get("/docs", docs::to_page, &[]),
        Route::get("/docs/", docs::page, &[]),
        Route::get("/docs/{file}", docs::file, docs::ERRORS),
    ]
}

/// One method of one path.
pub(super) struct Route {
    pub(super) method: Method,
    /// As the router and the document write it.
    pub(super) path: &'static str,
    handler: MethodRouter<ApiState>,
    own_errors: &'static [ErrorCode],
}

impl Route {
    fn get<T: 'static>(
        path: &'static str,
        handler: impl Handler<T, ApiState>,
        own_errors: &'static [ErrorCode],
    ) -> Self {
        Self { method: Method::GET, path, handler: get(handler), own_errors }
    }

    fn post<T: 'static>(
        path: &'static str,
        handler: impl Handler<T, ApiState>,
        own_errors: &'static [ErrorCode],
    ) -> Self {
        Self { method: Method::POST, path, handler: post(handler), own_errors }
    }

    fn delete<T: 'static>(
        path: &'static str,
        handler: impl Handler<T, ApiState>,
        own_errors: &'static [ErrorCode],
    ) -> Self {
        Self { method: Method::DELETE, path, handler: delete(handler), own_errors }
    }

    /// Every error it can answer: its own, and those of what stands before it.
    pub(super) fn errors(&self) -> impl Iterator<Item = ErrorCode> {
        let of_bodies = if self.method == Method::POST { body::ERRORS } else { &[] };
        let of_changes = if guard::changes_state(&self.method) { guard::ERRORS_OF_CHANGES } else { &[] };
        [self.own_errors, of_bodies, of_changes, guard::ERRORS, &[ErrorCode::InternalError]]
            .into_iter()
            .flatten()
            .copied()
    }
}

pub(super) fn router() -> Router<ApiState> {
    routes().into_iter().fold(Router::new(), |router, route| router.route(route.path, route.handler))
}
