//! Members of a body that are a known field in another spelling.
//!
//! `transactionId` in place of `transaction_id` would be kept as a field that nobody named, and the transaction would get an
//! id of its own: so whoever spells fields otherwise is told.

use crate::transaction::parse::FIELDS;

/// Longest name that is looked at, in bytes: the longest field has 20.
const NAME_BYTES_MAX: usize = 64;

/// The field of the interface that a name spells in another way; `None` for a field itself, and for anything else.
///
/// Case and `_`, `-`, `.` and blanks do not count, so `TransactionId`, `transaction-id` and `metaData` are spellings.
pub(in crate::transaction) fn meant_by(name: &str) -> Option<&'static str> {
    if name.len() > NAME_BYTES_MAX || FIELDS.contains(&name) {
        return None;
    }
    FIELDS.into_iter().find(|field| letters(field).eq(letters(name)))
}

fn letters(name: &str) -> impl Iterator<Item = u8> {
    name.bytes()
        .filter(|byte| !matches!(byte, b'_' | b'-' | b'.' | b' '))
        .map(|byte| byte.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_known_in_the_spellings_of_other_languages() {
        for field in FIELDS {
            assert_eq!(meant_by(field), None);
            for spelling in
                [field.to_uppercase(), field.replace('_', "-"), field.replace('_', ""), format!("{field}_")]
            {
                let expected = (spelling != field).then_some(field);
                assert_eq!(meant_by(&spelling), expected, "{spelling}");
            }
        }
        for (name, expected) in [
            ("transactionId", Some("transaction_id")),
            ("TransactionID", Some("transaction_id")),
            ("Meta-Data", Some("meta_data")),
            ("metadata", Some("meta_data")),
            ("id", None),
            ("amounts", None),
            ("transaction", None),
            ("", None),
            ("_", None),
            ("montant", None),
        ] {
            assert_eq!(meant_by(name), expected, "{name}");
        }
        assert_eq!(meant_by(&format!("amount{}", "_".repeat(100))), None);
    }
}
