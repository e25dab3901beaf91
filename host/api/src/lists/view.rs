//! Response bodies of lists.

use serde::Serialize;
use tollgate_engine::registry::ListInForce;
use tollgate_model::instruction::InstructionSource;
use utoipa::ToSchema;

use tollgate_rules::intake::{EntryWarning, EntryWarnings, Intake, ListLine, ListReading};

/// A named list without its entries.
#[derive(Serialize, ToSchema)]
#[schema(as = List)]
pub(crate) struct ListView<'a> {
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
pub(crate) struct ListUser {
    /// Id of the instruction.
    id: i64,
    /// Name of the rule.
    name: String,
}

/// A named list with its entries.
#[derive(Serialize, ToSchema)]
#[schema(as = ListWithEntries)]
pub(crate) struct EntriesView<'a> {
    #[serde(flatten)]
    list: ListView<'a>,
    /// Entries in the order of the list.
    entries: Vec<String>,
}

/// A named list as a save brought it into force.
#[derive(Serialize, ToSchema)]
#[schema(as = SavedList)]
pub(crate) struct SavedListView<'a> {
    #[serde(flatten)]
    list: ListView<'a>,
    /// Entries that may not be what was meant, the first 100.
    warnings: Vec<ListWarningView>,
    /// How many more warnings there are.
    n_more_warnings: usize,
}

/// An entry of a list that may not be what was meant.
#[derive(Serialize, ToSchema)]
#[schema(as = ListWarning)]
pub(crate) struct ListWarningView {
    /// Its number, from 1: the position in an array, the line of a text.
    position: usize,
    /// The entry as it is in force.
    entry: String,
    /// Message for people.
    message: String,
}

/// How a text is read as a list.
#[derive(Serialize, ToSchema)]
#[schema(as = ListReading)]
pub(crate) struct ListReadingView {
    /// Number of entries.
    count: usize,
    /// The first 100,000 lines that are not empty.
    lines: Vec<ListLineView>,
    /// How many more lines there are.
    n_more_lines: usize,
    /// Entries that may not be what was meant, the first 100.
    warnings: Vec<ListWarningView>,
    /// How many more warnings there are.
    n_more_warnings: usize,
}

/// A line of a list.
#[derive(Serialize, ToSchema)]
#[schema(as = ListLine)]
pub(crate) struct ListLineView {
    /// Number of the line, from 1.
    line: usize,
    /// The line as it was sent.
    #[schema(example = "acc-1 # since May")]
    text: String,
    /// The entry that it is read as; null for a comment.
    #[schema(required = true, example = "acc-1")]
    entry: Option<String>,
}

impl<'a> SavedListView<'a> {
    pub(crate) fn new(list: ListView<'a>, warnings: EntryWarnings) -> Self {
        let EntryWarnings { listed, n_more } = warnings;
        Self { list, warnings: views_of(listed), n_more_warnings: n_more }
    }
}

impl From<ListReading> for ListReadingView {
    fn from(reading: ListReading) -> Self {
        let ListReading { count, lines, n_more, warnings } = reading;
        let line = |ListLine { line, text, entry }| ListLineView { line, text, entry };
        Self {
            count,
            lines: lines.into_iter().map(line).collect(),
            n_more_lines: n_more,
            warnings: views_of(warnings.listed),
            n_more_warnings: warnings.n_more,
        }
    }
}

fn views_of(warnings: Vec<EntryWarning>) -> Vec<ListWarningView> {
    let view = |EntryWarning { position, entry, message }| ListWarningView { position, entry, message };
    warnings.into_iter().map(view).collect()
}

impl<'a> ListView<'a> {
    pub(crate) fn new(name: &'a str, list: &'a ListInForce, intake: &Intake) -> Self {
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
