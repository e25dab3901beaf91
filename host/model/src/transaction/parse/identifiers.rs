//! Identifiers of a request that could be mistaken for others.

use crate::transaction::identifier::{is_control, unclear_character};
use crate::transaction::{Identifiers, InvalidTransaction, Transaction};

impl Transaction {
    /// Returns the reason why a new request must not contain these identifiers.
    pub(super) fn objection_to_identifiers(&self, allowed: Identifiers) -> Option<InvalidTransaction> {
        self.identifiers().find_map(|(field, text)| {
            let character = unclear_character(text)?;
            let is_refused = match allowed {
                Identifiers::Clear => true,
                Identifiers::AsSent => text.contains(is_control),
            };
            is_refused.then_some(InvalidTransaction::UnclearIdentifier { field, character })
        })
    }

    /// Returns whether an identifier has a character that makes it ambiguous to a reader.
    #[must_use]
    pub fn has_unclear_identifier(&self) -> bool {
        self.identifiers().any(|(_, text)| unclear_character(text).is_some())
    }

    fn identifiers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let named = [
            ("transaction_id", Some(&self.transaction_id)),
            ("currency", Some(&self.currency)),
            ("source", self.source.as_ref()),
            ("destination", self.destination.as_ref()),
        ];
        named.into_iter().filter_map(|(field, text)| Some((field, &**text?)))
    }
}
