//! `GET /openapi.json`: the OpenAPI document, generated from the same route list as the router.

mod examples;
#[expect(dead_code, reason = "only their schemas are used")]
pub(super) mod schema;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::http::{Method, header};
use axum::response::{IntoResponse, Response};
use utoipa::openapi::path::Operation;
use utoipa::openapi::{ContentBuilder, OpenApi as Document, PathItem, Ref, RefOr, ResponseBuilder};
use utoipa::{Modify, OpenApi};

use examples::Examples;

use super::error::{ErrorBody, FailedCheck};
use super::error_code::ErrorCode;
use super::{
    alerts, console, docs, events, git, health, instructions, ledger, lists, routes, stats, system,
    transactions, webhook,
};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Tollgate",
        version = "1.0.0",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
        description = "Real-time transaction monitoring: sandboxed rules evaluate each transaction and return a verdict.\n\n\
            Bodies are JSON in UTF-8. Times are RFC 3339; times the service writes are UTC with microseconds. Amounts \
            are in the unit of their currency, exact in decimal, with at most 38 digits. Scores run from 0 (low risk) \
            to 1 (high). Windows in rule scripts are ISO 8601 durations of days, hours, minutes and seconds. Sizes are \
            in bytes.\n\nEvery error has the body `Error`; its `code` is stable.",
    ),
    servers(
        (url = "/", description = "The service that serves this document."),
        (url = "http://localhost:8081", description = "A service with the default settings, on this machine.")
    ),
    paths(
        transactions::inject::inject,
        transactions::get::get_transaction,
        transactions::replay::replay_transaction,
        transactions::status_updates::get_status_updates,
        webhook::ledger_webhook,
        webhook::blnk_webhook,
        instructions::compile_and_save::compile_and_save_instruction,
        instructions::check::check_script,
        instructions::upload::upload_module,
        instructions::list::list_instructions,
        instructions::summaries::list_summaries,
        instructions::get::get_instruction,
        instructions::hits::get_hits,
        instructions::module::get_module,
        instructions::replace::replace_script,
        instructions::replace::replace_module,
        instructions::release::release,
        instructions::remove::remove_instruction,
        lists::list::list_lists,
        lists::get::get_list,
        lists::put::put_list,
        lists::remove::remove_list,
        lists::check::check_list,
        git::clone::clone_repository,
        git::sync::sync,
        git::pull::pull,
        git::push::push,
        git::status::status,
        alerts::dead_letters::dead_letters,
        alerts::replay::replay,
        ledger::dead_letters,
        ledger::replay,
        ledger::delete,
        health::healthz,
        health::readyz,
        health::metrics,
        events::get_events,
        stats::get_stats,
        system::get_system,
        document,
        console::console_from_root,
        console::to_console,
        console::console_page,
        console::console_file,
        docs::to_page,
        docs::page,
        docs::file,
    ),
    components(schemas(ErrorBody, FailedCheck)),
    tags(
        (name = "Transactions", description = "Evaluation of transactions, and their stored verdicts."),
        (name = "Instructions", description = "The rules that evaluate transactions."),
        (name = "Lists", description = "The named lists that rules use."),
        (name = "Git", description = "The Git repository of the rules."),
        (name = "Alerts", description = "Alerts that could not be delivered to any webhook."),
        (name = "Operation", description = "Health, metrics and ledger dead letters, for operators."),
        (name = "Documentation", description = "This document, and a page that displays it.")
    ),
    modifiers(&Errors, &Examples)
)]
struct Interface;

/// Serialised once: the document does not change while the service runs.
static DOCUMENT: LazyLock<String> = LazyLock::new(|| Interface::openapi().to_json().unwrap_or_default());

/// Returns this document.
#[utoipa::path(
    get, path = "/openapi.json", tag = "Documentation",
    responses((status = 200, description = "OpenAPI 3.1.", body = Object))
)]
pub(super) async fn document() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.as_str()).into_response()
}

/// Adds the errors of each route to its operation.
struct Errors;

impl Modify for Errors {
    fn modify(&self, document: &mut Document) {
        for route in routes::routes() {
            let item = document.paths.paths.get_mut(route.path);
            if let Some(operation) = item.and_then(|item| operation_of(item, &route.method)) {
                describe(operation, route.errors());
            }
        }
    }
}

fn operation_of<'d>(item: &'d mut PathItem, method: &Method) -> Option<&'d mut Operation> {
    match *method {
        Method::GET => item.get.as_mut(),
        Method::POST => item.post.as_mut(),
        Method::PUT => item.put.as_mut(),
        Method::DELETE => item.delete.as_mut(),
        _ => None,
    }
}

/// Adds one response per status; its description lists the codes.
fn describe(operation: &mut Operation, errors: impl IntoIterator<Item = ErrorCode>) {
    let mut by_status: BTreeMap<String, String> = BTreeMap::new();
    for code in errors {
        let line = format!("`{}`: {}\n\n", code.as_str(), code.meaning());
        by_status.entry(code.status().as_str().to_owned()).or_default().push_str(&line);
    }
    for (status, codes) in by_status {
        let body = ContentBuilder::new().schema(Some(Ref::from_schema_name("Error"))).build();
        let response =
            ResponseBuilder::new().description(codes.trim_end()).content("application/json", body).build();
        operation.responses.responses.insert(status, RefOr::T(response));
    }
}
