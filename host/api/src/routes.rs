//! The list of routes with their handlers and errors.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodRouter, delete, get, post, put};

use super::error_code::ErrorCode;
use super::instructions::{
    check, compile_and_save, get as get_instruction, hits, list, module, release, remove, replace, summaries,
    upload,
};
use super::lists::{
    check as check_list, get as get_list, list as list_lists, put as put_list, remove as remove_list,
};
use super::transactions::{get as get_transaction, inject, replay as replay_transaction, status_updates};
use super::{
    ApiState, alerts, body, console, docs, events, git, guard, health, ledger, openapi, stats, system,
    webhook,
};

pub(super) fn routes() -> Vec<Route> {
    let mut routes = of_transactions();
    routes.extend(of_rules());
    routes.extend(of_operation());
    routes
}

fn of_transactions() -> Vec<Route> {
    vec![
        Route::post("/inject", inject::inject, inject::ERRORS),
        Route::get(
            "/transactions/{transaction_id}",
            get_transaction::get_transaction,
            get_transaction::ERRORS,
        ),
        Route::get(
            "/transactions/{transaction_id}/replay",
            replay_transaction::replay_transaction,
            replay_transaction::ERRORS,
        ),
        Route::get(
            "/transactions/{transaction_id}/status-updates",
            status_updates::get_status_updates,
            status_updates::ERRORS,
        ),
        Route::post("/ledgerwebhook", webhook::ledger_webhook, webhook::ERRORS),
        Route::post("/blnkwebhook", webhook::blnk_webhook, webhook::ERRORS),
    ]
}

fn of_rules() -> Vec<Route> {
    vec![
        // Instructions.
        Route::post(
            "/compile-and-save-instruction",
            compile_and_save::compile_and_save_instruction,
            compile_and_save::ERRORS,
        ),
        Route::post("/instructions/check", check::check_script, check::ERRORS),
        Route::post("/instructions/wasm", upload::upload_module, upload::ERRORS).with_bytes(),
        Route::get("/instructions", list::list_instructions, list::ERRORS),
        Route::get("/instructions/summaries", summaries::list_summaries, summaries::ERRORS),
        Route::get("/instructions/{id}", get_instruction::get_instruction, get_instruction::ERRORS),
        Route::put("/instructions/{id}", replace::replace_script, compile_and_save::ERRORS)
            .also(replace::ERRORS),
        Route::get("/instructions/{id}/hits", hits::get_hits, hits::ERRORS),
        Route::get("/instructions/{id}/module", module::get_module, module::ERRORS),
        Route::put("/instructions/{id}/module", replace::replace_module, upload::ERRORS)
            .with_bytes()
            .also(replace::ERRORS),
        Route::post("/instructions/{id}/release", release::release, release::ERRORS),
        Route::delete("/instructions/{id}", remove::remove_instruction, remove::ERRORS),
        // Lists.
        Route::get("/lists", list_lists::list_lists, list_lists::ERRORS),
        Route::get("/lists/{name}", get_list::get_list, get_list::ERRORS),
        Route::put("/lists/{name}", put_list::put_list, put_list::ERRORS),
        Route::delete("/lists/{name}", remove_list::remove_list, remove_list::ERRORS),
        Route::post("/lists/{name}/check", check_list::check_list, check_list::ERRORS),
        // Git.
        Route::post("/git/clone", git::clone::clone_repository, git::clone::ERRORS).with_remote(),
        Route::post("/git/sync", git::sync::sync, git::sync::ERRORS).with_remote(),
        Route::post("/git/pull", git::pull::pull, git::pull::ERRORS).with_remote(),
        Route::post("/git/push", git::push::push, git::push::ERRORS).with_remote(),
        Route::get("/git/status", git::status::status, git::status::ERRORS),
    ]
}

fn of_operation() -> Vec<Route> {
    vec![
        Route::get("/alerts/dead-letters", alerts::dead_letters::dead_letters, alerts::dead_letters::ERRORS),
        Route::post("/alerts/dead-letters/{id}/replay", alerts::replay::replay, alerts::replay::ERRORS),
        Route::get("/ledger/dead-letters", ledger::dead_letters, ledger::ERRORS),
        Route::post("/ledger/dead-letters/{id}/replay", ledger::replay, ledger::REPLAY_ERRORS),
        Route::delete("/ledger/dead-letters/{id}", ledger::delete, ledger::DELETE_ERRORS),
        Route::get("/healthz", health::healthz, &[]),
        Route::get("/readyz", health::readyz, &[]),
        Route::get("/metrics", health::metrics, &[]),
        Route::get("/events", events::get_events, events::ERRORS),
        Route::get("/stats", stats::get_stats, stats::ERRORS),
        Route::get("/system", system::get_system, system::ERRORS),
        // Documentation.
        Route::get("/openapi.json", openapi::document, &[]),
        Route::get("/", console::console_from_root, console::ERRORS),
        Route::get("/console", console::to_console, &[]),
        Route::get("/console/", console::console_page, &[]),
        Route::get("/console/{file}", console::console_file, console::ERRORS),
        Route::get("/docs", docs::to_page, &[]),
        Route::get("/docs/", docs::page, &[]),
        Route::get("/docs/{file}", docs::file, docs::ERRORS),
    ]
}

/// One method of one path.
pub(super) struct Route {
    pub(super) method: Method,
    /// Path in the syntax of the router and the OpenAPI document.
    pub(super) path: &'static str,
    handler: MethodRouter<ApiState>,
    own_errors: &'static [ErrorCode],
    body_errors: &'static [ErrorCode],
    more_errors: &'static [ErrorCode],
}

impl Route {
    fn get<T: 'static>(
        path: &'static str,
        handler: impl Handler<T, ApiState>,
        own_errors: &'static [ErrorCode],
    ) -> Self {
        Self::of(Method::GET, path, get(handler), own_errors, &[])
    }

    fn post<T: 'static>(
        path: &'static str,
        handler: impl Handler<T, ApiState>,
        own_errors: &'static [ErrorCode],
    ) -> Self {
        Self::of(Method::POST, path, post(handler), own_errors, body::ERRORS)
    }

    fn put<T: 'static>(
        path: &'static str,
        handler: impl Handler<T, ApiState>,
        own_errors: &'static [ErrorCode],
    ) -> Self {
        Self::of(Method::PUT, path, put(handler), own_errors, body::ERRORS)
    }

    fn delete<T: 'static>(
        path: &'static str,
        handler: impl Handler<T, ApiState>,
        own_errors: &'static [ErrorCode],
    ) -> Self {
        Self::of(Method::DELETE, path, delete(handler), own_errors, &[])
    }

    fn of(
        method: Method,
        path: &'static str,
        handler: MethodRouter<ApiState>,
        own_errors: &'static [ErrorCode],
        body_errors: &'static [ErrorCode],
    ) -> Self {
        Self { method, path, handler, own_errors, body_errors, more_errors: &[] }
    }

    /// Returns the route with a body that is not JSON.
    fn with_bytes(self) -> Self {
        Self { body_errors: body::ERRORS_OF_BYTES, ..self }
    }

    /// Returns the route with the errors of remote operations.
    fn with_remote(self) -> Self {
        self.also(git::ERRORS_OF_REMOTES)
    }

    /// Returns the route with further errors.
    fn also(self, more_errors: &'static [ErrorCode]) -> Self {
        Self { more_errors, ..self }
    }

    /// Returns every error the route can return, including those of the steps before it, each once.
    pub(super) fn errors(&self) -> BTreeSet<ErrorCode> {
        let of_changes = if guard::changes_state(&self.method) { guard::ERRORS_OF_CHANGES } else { &[] };
        let of_work = if health::PATHS.contains(&self.path) { &[] } else { guard::ERRORS_OF_WORK };
        let own = [self.own_errors, self.more_errors];
        [self.body_errors, of_changes, of_work, guard::ERRORS, &[ErrorCode::InternalError]]
            .into_iter()
            .chain(own)
            .flatten()
            .copied()
            .collect()
    }
}

/// The paths of all routes, to name requests by.
#[derive(Debug, Clone)]
pub(super) struct RoutePaths(Arc<[&'static str]>);

impl RoutePaths {
    pub(super) fn all() -> Self {
        Self(routes().into_iter().map(|route| route.path).collect())
    }

    /// Returns the route of a path, as it stands in the OpenAPI document; `None` if there is none.
    pub(super) fn find(&self, path: &str) -> Option<&'static str> {
        self.0.iter().find(|route| is_of(route, path)).copied()
    }
}

fn is_of(route: &str, path: &str) -> bool {
    let (mut route, mut path) = (route.split('/'), path.split('/'));
    let fits =
        |(segment, given): (&str, &str)| segment == given || (segment.starts_with('{') && !given.is_empty());
    route.by_ref().zip(path.by_ref()).all(fits) && route.next().is_none() && path.next().is_none()
}

pub(super) fn router() -> Router<ApiState> {
    routes().into_iter().fold(Router::new(), |router, route| router.route(route.path, route.handler))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_belongs_to_at_most_one_route() {
        let paths = RoutePaths::all();
        for (path, expected) in [
            ("/inject", Some("/inject")),
            ("/transactions/t-1/replay", Some("/transactions/{transaction_id}/replay")),
            ("/instructions/wasm", Some("/instructions/wasm")),
            ("/instructions/7", Some("/instructions/{id}")),
            ("/instructions/", None),
            ("/inject/", None),
            ("/", Some("/")),
            ("*", None),
            ("/wp-login.php", None),
        ] {
            assert_eq!(paths.find(path), expected, "{path}");
        }
    }
}
