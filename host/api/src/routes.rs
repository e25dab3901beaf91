//! The list of routes with their handlers and errors. Path and method of each stand above its handler.

use std::sync::LazyLock;

use axum::Router;
use utoipa_axum::routes;

use super::instructions::{
    check, compile_and_save, get as get_instruction, hits, list, module, release, remove, replace, summaries,
    upload,
};
use super::lists::{
    check as check_list, get as get_list, list as list_lists, put as put_list, remove as remove_list,
};
use super::route::Route;
use super::transactions::{
    batch, get as get_transaction, inject, replay as replay_transaction, status_updates,
};
use super::{ApiState, alerts, console, docs, events, git, health, ledger, openapi, stats, system, webhook};

pub(super) fn routes() -> Vec<Route> {
    let mut routes = of_transactions();
    routes.extend(of_rules());
    routes.extend(of_operation());
    routes
}

fn of_transactions() -> Vec<Route> {
    vec![
        Route::new(routes!(inject::inject), inject::ERRORS),
        Route::new(routes!(batch::inject_batch), batch::ERRORS).with_lines(),
        Route::new(routes!(get_transaction::get_transaction), get_transaction::ERRORS),
        Route::new(routes!(replay_transaction::replay_transaction), replay_transaction::ERRORS),
        Route::new(routes!(status_updates::get_status_updates), status_updates::ERRORS),
        Route::new(routes!(webhook::ledger_webhook), webhook::ERRORS),
        Route::new(routes!(webhook::blnk_webhook), webhook::ERRORS),
    ]
}

fn of_rules() -> Vec<Route> {
    vec![
        // Instructions.
        Route::new(routes!(compile_and_save::compile_and_save_instruction), compile_and_save::ERRORS),
        Route::new(routes!(check::check_script), check::ERRORS),
        Route::new(routes!(upload::upload_module), upload::ERRORS).with_bytes(),
        Route::new(routes!(list::list_instructions), list::ERRORS),
        Route::new(routes!(summaries::list_summaries), summaries::ERRORS),
        Route::new(routes!(get_instruction::get_instruction), get_instruction::ERRORS),
        Route::new(routes!(replace::replace_script), compile_and_save::ERRORS).also(replace::ERRORS),
        Route::new(routes!(hits::get_hits), hits::ERRORS),
        Route::new(routes!(module::get_module), module::ERRORS),
        Route::new(routes!(replace::replace_module), upload::ERRORS).with_bytes().also(replace::ERRORS),
        Route::new(routes!(release::release), release::ERRORS),
        Route::new(routes!(remove::remove_instruction), remove::ERRORS),
        // Lists.
        Route::new(routes!(list_lists::list_lists), list_lists::ERRORS),
        Route::new(routes!(get_list::get_list), get_list::ERRORS),
        Route::new(routes!(put_list::put_list), put_list::ERRORS),
        Route::new(routes!(remove_list::remove_list), remove_list::ERRORS),
        Route::new(routes!(check_list::check_list), check_list::ERRORS),
        // Git.
        Route::new(routes!(git::clone::clone_repository), git::clone::ERRORS).with_remote(),
        Route::new(routes!(git::sync::sync), git::sync::ERRORS).with_remote(),
        Route::new(routes!(git::pull::pull), git::pull::ERRORS).with_remote(),
        Route::new(routes!(git::push::push), git::push::ERRORS).with_remote(),
        Route::new(routes!(git::status::status), git::status::ERRORS),
    ]
}

fn of_operation() -> Vec<Route> {
    vec![
        Route::new(routes!(alerts::dead_letters::dead_letters), alerts::dead_letters::ERRORS),
        Route::new(routes!(alerts::replay::replay), alerts::replay::ERRORS),
        Route::new(routes!(ledger::dead_letters), ledger::ERRORS),
        Route::new(routes!(ledger::replay), ledger::REPLAY_ERRORS),
        Route::new(routes!(ledger::delete), ledger::DELETE_ERRORS),
        Route::new(routes!(health::healthz), &[]),
        Route::new(routes!(health::readyz), &[]),
        Route::new(routes!(health::metrics), &[]),
        Route::new(routes!(events::get_events), events::ERRORS),
        Route::new(routes!(stats::get_stats), stats::ERRORS),
        Route::new(routes!(system::get_system), system::ERRORS),
        // Documentation.
        Route::new(routes!(openapi::document), &[]),
        Route::new(routes!(console::console_from_root), console::ERRORS),
        Route::new(routes!(console::to_console), &[]),
        Route::new(routes!(console::console_page), &[]),
        Route::new(routes!(console::console_file), console::ERRORS),
        Route::new(routes!(docs::to_page), &[]),
        Route::new(routes!(docs::page), &[]),
        Route::new(routes!(docs::file), docs::ERRORS),
    ]
}

static PATHS: LazyLock<Vec<String>> =
    LazyLock::new(|| routes().into_iter().map(|route| route.path).collect());

/// Returns the route of a path, as it stands in the OpenAPI document; `None` if there is none.
pub(super) fn route_of(path: &str) -> Option<&'static str> {
    PATHS.iter().find(|route| is_of(route, path)).map(String::as_str)
}

fn is_of(route: &str, path: &str) -> bool {
    let (mut route, mut path) = (route.split('/'), path.split('/'));
    let fits =
        |(segment, given): (&str, &str)| segment == given || (segment.starts_with('{') && !given.is_empty());
    route.by_ref().zip(path.by_ref()).all(fits) && route.next().is_none() && path.next().is_none()
}

pub(super) fn router() -> Router<ApiState> {
    routes().into_iter().fold(Router::new(), |router, route| router.route(&route.path, route.handler))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_belongs_to_at_most_one_route() {
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
            assert_eq!(route_of(path), expected, "{path}");
        }
    }
}
