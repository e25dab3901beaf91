//! Examples of requests and answers, one for each body that is JSON or text. A test compares them with the schemas.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::{Content, RefOr};

use crate::route::Route;

/// The examples, by method and path.
const EXAMPLES: &str = include_str!("examples.json");

/// The examples of an operation, by media type.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct OperationExamples {
    #[serde(default)]
    request: BTreeMap<String, Value>,
    #[serde(default)]
    answer: BTreeMap<String, Value>,
}

/// The examples that are not yet added.
pub(super) struct Examples(BTreeMap<String, OperationExamples>);

impl Examples {
    pub(super) fn new() -> Self {
        Self(serde_json::from_str(EXAMPLES).unwrap_or_default())
    }

    /// Adds an example to each body and each parameter of the path.
    pub(super) fn add_to(&mut self, route: &mut Route) {
        let key = format!("{} {}", route.method, route.path);
        add(&mut route.operation, &self.0.remove(&key).unwrap_or_default());
        for parameter in route.operation.parameters.iter_mut().flatten() {
            if let RefOr::T(of_path) = parameter
                && of_path.parameter_in == ParameterIn::Path
            {
                let example = example_of(&of_path.name, &route.path);
                let with_example = ParameterBuilder::from(of_path.clone()).example(Some(example)).build();
                *parameter = RefOr::T(with_example);
            }
        }
    }
}

fn add(operation: &mut Operation, examples: &OperationExamples) {
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        set_all(&mut body.content, &examples.request);
    }
    for (status, response) in &mut operation.responses.responses {
        if let RefOr::T(response) = response
            && status.starts_with('2')
        {
            set_all(&mut response.content, &examples.answer);
        }
    }
}

fn set_all<'c>(
    contents: impl IntoIterator<Item = (&'c String, &'c mut RefOr<Content>)>,
    examples: &BTreeMap<String, Value>,
) {
    for (kind, content) in contents {
        if let (RefOr::T(content), Some(example)) = (content, examples.get(kind)) {
            content.example = Some(example.clone());
        }
    }
}

/// Returns an example for a parameter of this path.
fn example_of(parameter: &str, path: &str) -> Value {
    match (parameter, path) {
        ("transaction_id", _) => json!("txn-2"),
        ("name", _) => json!("friends"),
        ("file", _) => json!("index.js"),
        ("id", path) if path.starts_with("/alerts") => json!("alert_0198f3d2c1d47a3e9b1f2a6c5d4e3f21"),
        ("id", path) if path.starts_with("/ledger") => json!(7),
        _ => json!(3),
    }
}
