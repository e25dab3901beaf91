//! Detection of misspelled fields in a body.
//!
//! `transactionId` instead of `transaction_id` would be stored as an unknown field, and the transaction would get a
//! generated id. The sender therefore gets an error.

use crate::transaction::wire_fields::FIELDS;

/// Maximum length of a name that is checked, in bytes. The longest field has 20.
const NAME_BYTES_MAX: usize = 64;

/// Returns the field of which a name is another spelling. Returns `None` for an exact field name and for other names.
///
/// Case, `_`, `-`, `.` and spaces are ignored, so `TransactionId`, `transaction-id` and `metaData` are spellings.
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
