//! The shapes in which lists are answered.

use std::borrow::Cow;

use serde::Serialize;
use tollgate_engine::registry::ListInForce;
use tollgate_model::instruction::InstructionSource;
use utoipa::ToSchema;

use crate::api::openapi::schema;

/// A named list, without its entries.
#[derive(Serialize, ToSchema)]
#[schema(as = List)]
pub(in crate::api) struct ListView<'a> {
    /// As scripts say it behind the `$`.
    #[schema(example = "high_risk_countries")]
    name: &'a str,
    /// How many entries it has.
    count: usize,
    /// Where it comes from; only what was set over the API can be changed over the API.
    #[schema(value_type = schema::InstructionSource)]
    source: &'a InstructionSource,
    /// Of its text, in lower-case hexadecimal digits.
    sha256: String,
}

/// A named list, whole.
#[derive(Serialize, ToSchema)]
#[schema(as = ListWithEntries)]
pub(in crate::api) struct EntriesView<'a> {
    #[serde(flatten)]
    list: ListView<'a>,
    /// In the order in which they were written.
    #[schema(value_type = Vec<String>)]
    entries: Vec<Cow<'a, str>>,
}

impl<'a> ListView<'a> {
    pub(in crate::api) fn new(name: &'a str, list: &'a ListInForce) -> Self {
        Self { name, count: list.members.len(), source: &list.source, sha256: list.digest.to_string() }
    }
}

impl<'a> EntriesView<'a> {
    pub(in crate::api) fn new(name: &'a str, list: &'a ListInForce) -> Self {
        Self { list: ListView::new(name, list), entries: list.entries().collect() }
    }
}
