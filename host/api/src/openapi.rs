//! `GET /openapi.json`: the OpenAPI document, generated from the list of routes.

mod examples;
#[expect(dead_code, reason = "only their schemas are used")]
pub(super) mod schema;

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::{Method, header};
use axum::response::{IntoResponse, Response};
use utoipa::OpenApi;
use utoipa::openapi::path::Operation;
use utoipa::openapi::{ContentBuilder, HttpMethod, Ref, RefOr, ResponseBuilder};

use examples::Examples;

use super::ApiState;
use super::error::{ErrorBody, FailedCheck};
use super::error_code::ErrorCode;
use super::route::Route;

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
    components(schemas(ErrorBody, FailedCheck)),
    tags(
        (name = "Transactions", description = "Evaluation of transactions, and their stored verdicts."),
        (name = "Instructions", description = "The rules that evaluate transactions."),
        (name = "Lists", description = "The named lists that rules use."),
        (name = "Git", description = "The Git repository of the rules."),
        (name = "Alerts", description = "Alerts that could not be delivered to any webhook."),
        (name = "Operation", description = "Health, metrics and ledger dead letters, for operators."),
        (name = "Documentation", description = "This document, and a page that displays it.")
    )
)]
struct Interface;

/// Returns the document of these routes, as JSON.
pub(super) fn document_of(routes: Vec<Route>) -> String {
    let mut document = Interface::openapi();
    let mut examples = Examples::new();
    let mut schemas = BTreeMap::new();
    for mut route in routes {
        let errors = route.errors();
        describe(&mut route.operation, errors);
        examples.add_to(&mut route);
        schemas.extend(route.schemas);
        let methods = vec![http_method(&route.method)];
        document.paths.add_path_operation(route.path, methods, route.operation);
    }
    document.components.get_or_insert_default().schemas.extend(schemas);
    document.to_json().unwrap_or_default()
}

fn http_method(method: &Method) -> HttpMethod {
    match *method {
        Method::POST => HttpMethod::Post,
        Method::PUT => HttpMethod::Put,
        Method::DELETE => HttpMethod::Delete,
        _ => HttpMethod::Get,
    }
}

/// Returns this document.
#[utoipa::path(
    get, path = "/openapi.json", tag = "Documentation",
    responses((status = 200, description = "OpenAPI 3.1.", body = Object))
)]
pub(super) async fn document(State(api): State<ApiState>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], api.document()).into_response()
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
