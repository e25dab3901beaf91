//! Restores stored lists, and warns about the texts of lists.

use tollgate_engine::registry::{ListInForce, Lists};
use tollgate_model::instruction::InstructionSource;
use tollgate_model::named_list::oddities::ListWarning;
use tollgate_model::named_list::{format, text};
use tollgate_store::ListRecord;

/// Maximum number of lines of one list that are logged individually.
const LINES_SHOWN: usize = 20;

/// Restores the lists of an earlier run. Texts that only an earlier version accepted as lists are no longer in force.
pub(super) fn stored_lists(records: &[ListRecord], is_of_first_semantics: bool) -> Lists {
    let mut lists = Lists::default();
    for record in records {
        // Lists set under later semantics were checked when they were set.
        if is_of_first_semantics && let Some(why) = list_fault(record) {
            tracing::error!(
                list = record.name,
                source = %record.source,
                reason = why.code(),
                error = %why,
                "a text that an earlier version accepted is not a valid list; the list is missing until it is set again"
            );
            continue;
        }
        lists.insert(&record.name, ListInForce::new(&record.entries, record.source.clone()));
    }
    lists
}

fn list_fault(record: &ListRecord) -> Option<format::NotAList> {
    let why = format::check(&record.entries).err()?;
    (why.is_another_format() || record.source != InstructionSource::Api).then_some(why)
}

/// Warns of lines that the first semantics read differently.
pub(super) fn warn_of_other_readings(lists: &Lists) {
    for (name, list) in lists.iter() {
        let lines: Vec<usize> = text::lines_read_differently(&list.text).collect();
        for line in lines.iter().take(LINES_SHOWN) {
            tracing::warn!(
                list = name,
                source = %list.source,
                line,
                "a line of a list is read differently than by earlier versions: a comment begins at the start of a line, or with a `#` between blanks"
            );
        }
        if lines.len() > LINES_SHOWN {
            tracing::warn!(list = name, lines = lines.len(), "more lines of this list are read differently");
        }
    }
}

/// Warns of suspicious content in a list that comes into force.
pub(super) fn warn_of_oddities(name: &str, list: &ListInForce, warnings: &[ListWarning]) {
    let source = &list.source;
    for ListWarning { line, message } in warnings {
        tracing::warn!(list = name, %source, line, reason = message, "a list may not hold what its author meant");
    }
    for (line, character) in text::invisible_characters(&list.text).take(LINES_SHOWN) {
        let character = format!("U+{:04X}", u32::from(character));
        tracing::warn!(list = name, %source, line, character, "an entry of a list has an invisible character");
    }
    if let Some(separator) = text::separator_of_columns(&list.text) {
        tracing::warn!(
            list = name,
            %source,
            separator = %separator.escape_debug(),
            "every line of a list has the same number of separators: if it is a table, name the file `*.csv`"
        );
    }
}
