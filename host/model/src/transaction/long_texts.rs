//! Numbers and digests of the long texts of a transaction. Each text is read once, however many rules and series ask.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};

use crate::decimal::Decimal;
use crate::transaction::{Json, Transaction};

/// Length up to which a text is not long, in bytes: it is read faster than it is looked up here.
pub const SHORT_TEXT_MAX: usize = 62;

/// The digest of a text, under the key of this process: half of an SHA-256 digest. Nobody who lacks the key can look for two
/// texts with the same one.
pub type TextDigest = [u8; 16];

/// The key of all digests, so that nobody outside can compute one.
static KEY: OnceLock<[u8; 32]> = OnceLock::new();

/// The long texts of one transaction, found when the first is asked for.
///
/// They are known by their addresses, which do not change while the transaction exists: no text of it is replaced in
/// place. A clone has texts of its own and begins anew.
#[derive(Debug, Default)]
pub struct LongTexts(OnceLock<Box<[LongText]>>);

#[derive(Debug)]
struct LongText {
    address: usize,
    n_bytes: usize,
    number: OnceLock<Option<Decimal>>,
    digest: OnceLock<TextDigest>,
}

/// Returns the key of the digests. It is chosen at random when it is first needed.
#[must_use]
pub fn digest_key() -> [u8; 32] {
    *KEY.get_or_init(random_key)
}

/// Makes this the key of the digests. Returns whether it is; it is not when digests were made with another one.
#[must_use]
pub fn adopt_digest_key(key: [u8; 32]) -> bool {
    *KEY.get_or_init(|| key) == key
}

/// Returns the digest of a text, whatever its length.
#[must_use]
pub fn digest_of(text: &str) -> TextDigest {
    let digest = Sha256::new_with_prefix(digest_key()).chain_update(text).finalize();
    let mut half = TextDigest::default();
    half.iter_mut().zip(digest).for_each(|(half, byte)| *half = byte);
    half
}

fn random_key() -> [u8; 32] {
    let mut key = [0; 32];
    for (n, part) in key.chunks_exact_mut(8).enumerate() {
        // The standard library supplies the randomness.
        part.copy_from_slice(&RandomState::new().hash_one(n).to_le_bytes());
    }
    key
}

impl Transaction {
    /// Returns the digest of a text of this transaction, or of any other text.
    #[must_use]
    pub fn digest_of(&self, text: &str) -> TextDigest {
        match self.long_text(text) {
            Some(long) => *long.digest.get_or_init(|| digest_of(text)),
            None => digest_of(text),
        }
    }

    /// Returns the value of a text that is a plain decimal number. The text may be of this transaction or not.
    #[must_use]
    #[inline]
    pub fn number_of(&self, text: &str) -> Option<Decimal> {
        if text.len() <= SHORT_TEXT_MAX {
            return Decimal::from_plain(text);
        }
        match self.long_text(text) {
            Some(long) => *long.number.get_or_init(|| Decimal::from_plain(text)),
            None => Decimal::from_plain(text),
        }
    }

    /// Reads all long texts and wide objects of the transaction now, so that nobody has to later.
    pub fn read_long_texts(&self) {
        if self.longest_reads.of_field as usize <= SHORT_TEXT_MAX {
            return;
        }
        self.find_wide_objects();
        self.each_text(&mut |text| {
            if let Some(long) = self.long_text(text) {
                long.number.get_or_init(|| Decimal::from_plain(text));
                long.digest.get_or_init(|| digest_of(text));
            }
        });
    }

    fn long_text(&self, text: &str) -> Option<&LongText> {
        if text.len() <= SHORT_TEXT_MAX {
            return None;
        }
        let known = self.long_texts.0.get_or_init(|| self.find_long_texts());
        let address = text.as_ptr().addr();
        let index = known.binary_search_by_key(&address, |long| long.address).ok()?;
        known.get(index).filter(|long| long.n_bytes == text.len())
    }

    fn find_long_texts(&self) -> Box<[LongText]> {
        let mut found = Vec::new();
        self.each_text(&mut |text| {
            if text.len() > SHORT_TEXT_MAX {
                found.push(LongText {
                    address: text.as_ptr().addr(),
                    n_bytes: text.len(),
                    number: OnceLock::new(),
                    digest: OnceLock::new(),
                });
            }
        });
        // Two fields may share one text.
        found.sort_unstable_by_key(|long| long.address);
        found.dedup_by_key(|long| long.address);
        found.into()
    }

    /// Shows every text that rules can read.
    fn each_text(&self, show: &mut dyn FnMut(&str)) {
        show(&self.transaction_id);
        show(&self.currency);
        show(&self.reference);
        let others = [&self.source, &self.destination, &self.description, &self.status, &self.hash];
        others.into_iter().flatten().for_each(|text| show(text));
        if let Some(metadata) = &self.metadata {
            each_text_in(metadata, show);
        }
    }
}

fn each_text_in(json: &Json, show: &mut dyn FnMut(&str)) {
    match json {
        Json::Text(text) => show(text),
        Json::Array(items) => items.iter().for_each(|item| each_text_in(item, show)),
        Json::Object(members) => members.iter().for_each(|(_, value)| each_text_in(value, show)),
        Json::Null | Json::Boolean(_) | Json::Number(_) | Json::WideNumber(_) => {}
    }
}

impl Clone for LongTexts {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// Derived from the transaction, so transactions are compared without it.
impl PartialEq for LongTexts {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use serde_json::json;

    use super::*;

    fn transaction(device: &str) -> Transaction {
        let body = json!({
            "transaction_id": "t", "amount": 1, "currency": "EUR", "reference": "r".repeat(70),
            "meta_data": {"device": device, "short": "s", "nested": [{"device": device}, 1, null]},
        });
        Transaction::parse(body.to_string().as_bytes(), DateTime::UNIX_EPOCH).unwrap().0
    }

    fn device(of: &Transaction) -> &str {
        let Some(Json::Object(members)) = &of.metadata else { panic!("{of:?}") };
        let Some((_, Json::Text(text))) = members.first() else { panic!("{of:?}") };
        text
    }

    #[test]
    fn a_text_is_read_once_and_gives_what_it_would_give_alone() {
        let zeros = format!("{}42.50", "0".repeat(5_000));
        for text in ["short", "42", &"d".repeat(63), &zeros] {
            let transaction = transaction(text);
            let text = device(&transaction);
            for _ in 0..2 {
                assert_eq!(transaction.number_of(text), Decimal::from_plain(text));
                assert_eq!(transaction.digest_of(text), digest_of(text));
                assert_eq!(transaction.digest_of("of no transaction"), digest_of("of no transaction"));
            }
            let known = transaction.long_text(text);
            assert_eq!(known.is_some(), text.len() > SHORT_TEXT_MAX);
            assert!(known.is_none_or(|long| long.number.get().is_some() && long.digest.get().is_some()));
        }
    }

    #[test]
    fn all_long_texts_are_read_in_advance() {
        let transaction = transaction(&"d".repeat(100));
        transaction.read_long_texts();
        let known = transaction.long_texts.0.get().unwrap();
        assert_eq!(known.iter().map(|long| long.n_bytes).collect::<Vec<_>>().len(), 3);
        assert!(known.iter().all(|long| long.digest.get().is_some() && long.number.get().is_some()));
    }

    #[test]
    fn a_copy_begins_empty() {
        let transaction = transaction(&"d".repeat(100));
        transaction.read_long_texts();
        let copy = transaction.with_status(Some(&"s".repeat(100)));
        assert!(copy.long_texts.0.get().is_none());
        assert_eq!(copy.digest_of(device(&copy)), transaction.digest_of(device(&transaction)));
        assert_ne!(copy.digest_of(copy.status.as_deref().unwrap()), copy.digest_of(device(&copy)));
    }

    #[test]
    fn the_key_of_the_digests_is_chosen_once() {
        assert!(adopt_digest_key(digest_key()));
        assert!(!adopt_digest_key([7; 32]));
    }
}
