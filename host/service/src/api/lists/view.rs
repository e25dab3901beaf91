//! Response bodies of lists.

use std::borrow::Cow;

use serde::Serialize;
use tollgate_engine::registry::ListInForce;
use tollgate_model::instruction::InstructionSource;
use utoipa::ToSchema;

use crate::intake::{Intake, SavedList};

/// A named list without its entries.
#[derive(Serialize, ToSchema)]
#[schema(as = List)]
pub(in crate::api) struct ListView<'a> {
    /// Name of the list, as scripts write it after the `$`.
    #[schema(example = "high_risk_countries")]
    name: &'a str,
    /// Number of entries.
    count: usize,
    /// Origin of the list; only lists set over the API can be changed over the API.
    source: &'a InstructionSource,
    /// SHA-256 digest of its text, in lower-case hexadecimal digits.
    sha256: String,
    /// The rules in force that look into it.
    used_by: Vec<ListUser>,
}

/// A rule that looks into a list.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct ListUser {
    /// Id of the instruction.
    id: i64,
    /// Name of the rule.
    name: String,
}

/// A named list with its entries.
#[derive(Serialize, ToSchema)]
#[schema(as = ListWithEntries)]
pub(in crate::api) struct EntriesView<'a> {
    #[serde(flatten)]
    list: ListView<'a>,
    /// Entries in the order of the list.
    #[schema(value_type = Vec<String>)]
    entries: Vec<Cow<'a, str>>,
}

/// A named list that was set, without its entries.
#[derive(Serialize, ToSchema)]
#[schema(as = SavedList)]
pub(in crate::api) struct SavedListView<'a> {
    #[serde(flatten)]
    list: ListView<'a>,
    /// Warnings about entries that may not be what was meant; the list is in force all the same. Absent if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    warnings: Vec<ListWarningView>,
}

/// A warning about an entry of a list.
#[derive(Serialize, ToSchema)]
#[schema(as = ListWarning)]
pub(in crate::api) struct ListWarningView {
    /// Line of the text, from 1; for a JSON array, the number of the entry without repeated ones.
    line: usize,
    /// What may be wrong, and what to do.
    message: String,
}

impl<'a> SavedListView<'a> {
    pub(in crate::api) fn new(name: &'a str, saved: &'a SavedList, intake: &Intake) -> Self {
        let warnings = saved.warnings.iter();
        let warnings =
            warnings.map(|warning| ListWarningView { line: warning.line, message: warning.message.clone() });
        Self { list: ListView::new(name, &saved.list, intake), warnings: warnings.collect() }
    }
}

impl<'a> ListView<'a> {
    pub(in crate::api) fn new(name: &'a str, list: &'a ListInForce, intake: &Intake) -> Self {
        let used_by = intake.users_of_list(name).into_iter().map(|(id, name)| ListUser { id: id.0, name });
        Self {
            name,
            count: list.members.len(),
            source: &list.source,
            sha256: list.digest.to_string(),
            used_by: used_by.collect(),
        }
    }
}

impl<'a> EntriesView<'a> {
    pub(in crate::api) fn new(name: &'a str, list: &'a ListInForce, intake: &Intake) -> Self {
        Self { list: ListView::new(name, list, intake), entries: list.entries().collect() }
    }
}
