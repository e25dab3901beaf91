//! Names of transaction events in the spellings of ledgers.

use std::borrow::Cow;

use super::WORDS_WITHOUT_STATUS;
use crate::transaction::StatusWords;

/// The first part of the name of a transaction event, in any case.
const SUBJECT: &str = "transaction";
/// Separators between that part and the word. `transaction.word` is the usual spelling.
const SEPARATORS: [char; 5] = ['.', '_', '-', ':', '/'];

/// Returns the word of an event: `applied` in `transaction.applied`. After `transaction.` any word is accepted. Other
/// spellings, such as `Transaction.Applied` or `transaction_applied`, require a known word, because
/// `transaction_limits.changed` is a different subject.
pub(super) fn word_of<'e>(event: &'e str, words: &StatusWords) -> Option<Cow<'e, str>> {
    let (subject, rest) = event.split_at_checked(SUBJECT.len())?;
    if !subject.eq_ignore_ascii_case(SUBJECT) {
        return None;
    }
    if subject == SUBJECT
        && let Some(word) = rest.strip_prefix('.')
    {
        // A known word may have any case.
        return Some(known(word, words).map_or(Cow::Borrowed(word), Cow::Owned));
    }
    let word = match rest.strip_prefix(SEPARATORS) {
        Some(word) => word,
        None if rest.starts_with(|first: char| first.is_ascii_uppercase()) => rest,
        None => return None,
    };
    known(word, words).map(Cow::Owned)
}

/// Returns the word in lower case if it is a known status or a known word without a status.
fn known(word: &str, words: &StatusWords) -> Option<String> {
    let word = word.to_ascii_lowercase();
    (words.has(&word) || WORDS_WITHOUT_STATUS.contains(&&*word)).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_about_a_transaction_by_its_name() {
        for (event, expected) in [
            ("transaction.applied", Some("applied")),
            ("transaction.APPLIED", Some("applied")),
            ("transaction.Created", Some("created")),
            ("transaction.shelved.again", Some("shelved.again")),
            ("transaction.Shelved", Some("Shelved")),
            ("transaction.", Some("")),
            ("Transaction.Applied", Some("applied")),
            ("TRANSACTION.VOID", Some("void")),
            ("transaction_applied", Some("applied")),
            ("transaction-updated", Some("updated")),
            ("transaction:in_flight", Some("in_flight")),
            ("transaction/charged_back", Some("charged_back")),
            ("TransactionApplied", Some("applied")),
            ("transactionApplied", Some("applied")),
            ("TRANSACTION_APPLIED", Some("applied")),
            ("transactionapplied", None),
            ("Transaction.Shelved", None),
            ("transaction_limits.changed", None),
            ("transactions.applied", None),
            ("transaction", None),
            ("balance.applied", None),
            ("", None),
            ("transactio\u{301}n.applied", None),
        ] {
            assert_eq!(word_of(event, &StatusWords::built_in()).as_deref(), expected, "{event}");
        }
    }
}
