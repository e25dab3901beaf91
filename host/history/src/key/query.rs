//! Keys to look up. Most are a single text, which is compared unwritten: writing it would take as long as the rest of
//! the lookup.

use tollgate_model::transaction::{SHORT_TEXT_MAX, is_same_bytes};

use super::{Key, StoredKey, hash_of_text, head_of, is_number};

#[derive(Debug)]
pub(crate) enum KeyQuery<'k> {
    Text(OnlyText<'k>),
    Written(&'k Key),
}

/// A single text as a key that is not written.
#[derive(Debug)]
pub(crate) struct OnlyText<'k> {
    text: &'k str,
    head: u8,
    is_spelled: bool,
    hash: u32,
}

impl<'k> OnlyText<'k> {
    /// Returns `None` when the text is long.
    #[inline]
    pub(crate) fn of(text: &'k str) -> Option<Self> {
        if text.len() > SHORT_TEXT_MAX {
            return None;
        }
        let is_spelled = is_number(text);
        let head = head_of(text, is_spelled);
        Some(Self { text, head, is_spelled, hash: hash_of_text(text.as_bytes()) })
    }

    /// See [`Key::hash`].
    #[inline]
    pub(crate) const fn hash(&self) -> u32 {
        self.hash
    }

    /// Returns whether the text is a number, so that numbers may equal it too.
    #[inline]
    pub(crate) const fn is_spelled(&self) -> bool {
        self.is_spelled
    }

    #[inline]
    pub(crate) fn is(&self, kept: &StoredKey) -> bool {
        let text = self.text.as_bytes();
        match kept.bytes().split_first() {
            Some((head, rest)) => *head == self.head && is_same_bytes(rest, text),
            None => false,
        }
    }

    #[cold]
    pub(crate) fn to_key(&self) -> Key {
        let mut key = Key::default();
        key.fill(&[self.text], |key, text| {
            key.add_short(text, self.is_spelled);
            Some(())
        });
        key
    }
}

#[cfg(test)]
mod tests {
    use tollgate_guest_abi::Semantics;

    use super::super::hash_of;
    use super::*;
    use crate::sample::Sample;
    use tollgate_model::transaction::Value;

    fn written(text: &str) -> Key {
        let mut key = Key::default();
        let of = Sample::default().build();
        key.fill(&[Value::Text(text)], |key, value| key.add(value, Semantics::CURRENT, &of)).unwrap();
        key
    }

    #[test]
    fn a_text_finds_what_it_would_find_written() {
        let letters =
            (0..90).map(|length| "abcdefghijklmnopqrstuvwxyz".chars().cycle().take(length).collect());
        let digits = (1..40).map(|length| "4711".chars().cycle().take(length).collect());
        let others = ["abcdefghijkl_", "_bcdefghijklm", "-1.5", "true"].map(String::from);
        let texts: Vec<String> = letters.chain(digits).chain(others).collect();
        for text in &texts {
            let key = written(text);
            let Some(wanted) = OnlyText::of(text) else {
                assert!(text.len() > 62, "{text}");
                continue;
            };
            assert_eq!(
                (wanted.hash(), wanted.is_spelled()),
                (key.hash(), key.has_related_classes()),
                "{text}"
            );
            assert_eq!(wanted.hash(), hash_of(key.bytes()), "{text}");
            assert_eq!(wanted.to_key().bytes(), key.bytes());
            for other in &texts {
                let kept = StoredKey::of(written(other).bytes());
                assert_eq!(wanted.is(&kept), text == other, "{text} {other}");
            }
        }
    }

    #[test]
    fn a_text_is_no_other_key_of_the_same_bytes() {
        let mut number = Key::default();
        number.fill(&[42.0], |key, number| key.add_number(*number)).unwrap();
        let mut two = Key::default();
        let of = Sample::default().build();
        let values = [Value::Text("ab"), Value::Text("c")];
        two.fill(&values, |key, value| key.add(value, Semantics::CURRENT, &of)).unwrap();
        for key in [number, two, Key::default()] {
            let kept = StoredKey::of(key.bytes());
            for text in ["42", "abc", "ab", ""] {
                assert!(!OnlyText::of(text).unwrap().is(&kept), "{text} {key:?}");
            }
        }
    }
}
