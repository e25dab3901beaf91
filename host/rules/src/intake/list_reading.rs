//! How a text is read as a list: each line and its entry.

use std::borrow::Cow;

use tollgate_guest_abi::Semantics;
use tollgate_model::named_list::format;
use tollgate_model::named_list::text::{self, ReadLine};

use crate::intake::list_warnings::EntryWarnings;
use crate::intake::named_lists::{check_count, not_a_list};
use crate::intake::{Intake, IntakeError, off_the_executor};

/// Lines that are listed.
const LINES_MAX: usize = 100_000;

/// A line and the entry that it is read as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListLine {
    /// Number of the line, from 1.
    pub line: usize,
    /// The line as it was sent.
    pub text: String,
    /// The entry; `None` for a comment or an empty line.
    pub entry: Option<String>,
}

/// A text as a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListReading {
    /// Number of entries.
    pub count: usize,
    /// The first lines that are not empty, at most 100,000.
    pub lines: Vec<ListLine>,
    /// How many more there are.
    pub n_more: usize,
    /// Entries that may not be what their author meant.
    pub warnings: EntryWarnings,
}

impl Intake {
    /// Reads a text as a list, and changes nothing.
    ///
    /// # Errors
    /// [`IntakeError::InvalidList`].
    pub async fn read_list(&self, list: String) -> Result<ListReading, IntakeError> {
        off_the_executor(move || {
            format::check(&list).map_err(|why| not_a_list(&why))?;
            let count = text::entries(&list, Semantics::CURRENT).count();
            check_count(count)?;
            let mut lines = text::read_lines(&list).filter(|line| !line.text.trim().is_empty());
            let first = lines.by_ref().take(LINES_MAX).map(|ReadLine { number, text, entry }| ListLine {
                line: number,
                text: text.to_owned(),
                entry: entry.map(Cow::into_owned),
            });
            let first = first.collect();
            Ok(ListReading {
                count,
                lines: first,
                n_more: lines.count(),
                warnings: EntryWarnings::of_text(&list),
            })
        })
        .await
    }
}
