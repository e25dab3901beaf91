//! Which entries a set of equalities can reach.
//!
//! A series is keyed by the values of some fields. Equality is not transitive (the number 42 equals the texts `42` and
//! `0042`, which differ), so a key is a pair: the *class*, in which everything that may be equal meets, and the
//! *spelling*, which tells apart the texts of one number. Two keys are equal exactly when every one of their values is,
//! by [`relate`](crate::transaction::relate); date-times, which also equal texts, and structures, which equal nothing,
//! have no key.
//!
//! A [`Key`] borrows from the transaction it is of; only what a series keeps is copied.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};

use crate::decimal::Decimal;
use crate::history::filter::Reading;
use crate::transaction::Value;
use crate::value_set::Double;

/// Most fields of a key; equalities beyond are tested row by row.
pub(super) const KEY_FIELDS_MAX: usize = 8;

/// The values of some fields of one transaction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key<'a> {
    parts: [Part<'a>; KEY_FIELDS_MAX],
    n_parts: usize,
}

/// One value.
#[derive(Debug, Clone, Copy)]
struct Part<'a> {
    class: ClassPart<'a>,
    /// The text, when the value is a text that is a number.
    spelling: Option<&'a str>,
}

/// What a value has in common with all that may equal it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum ClassPart<'a> {
    /// A number, or a text that is one.
    Number(Double),
    /// Any other text, or the word of a boolean: these are equal to the letter, or not at all.
    Text(&'a str),
}

/// What may be equal, together: one part per field.
#[derive(Debug, Clone)]
pub(super) struct Class(Box<[KeptPart]>);

#[derive(Debug, Clone)]
enum KeptPart {
    Number(Double),
    Text(Box<str>),
}

/// Per field: the text, when the value is a text that is a number.
pub(super) type Spelling = Box<[Option<Box<str>>]>;

/// A class, kept or borrowed: a map of the former is asked for the latter.
pub(super) trait Classified {
    /// How many fields.
    fn n_parts(&self) -> usize;
    /// Part of one field.
    #[expect(private_interfaces, reason = "only this file compares parts")]
    fn part(&self, field: usize) -> Option<ClassPart<'_>>;
}

impl<'a> Key<'a> {
    /// Of these values, at most [`KEY_FIELDS_MAX`]; `None` when one of them equals nothing.
    pub(super) fn of(values: impl Iterator<Item = Reading<'a>>) -> Option<Self> {
        let nothing = Part { class: ClassPart::Text(""), spelling: None };
        let mut key = Self { parts: [nothing; KEY_FIELDS_MAX], n_parts: 0 };
        for value in values {
            *key.parts.get_mut(key.n_parts)? = Part::of(value)?;
            key.n_parts += 1;
        }
        Some(key)
    }

    fn parts(&self) -> impl Iterator<Item = &Part<'a>> {
        self.parts.iter().take(self.n_parts)
    }

    /// Its class, to keep.
    pub(super) fn class(&self) -> Class {
        Class(self.parts().map(|part| part.class.keep()).collect())
    }

    /// Its spelling, to keep; `None` when no value is the text of a number.
    pub(super) fn spelling(&self) -> Option<Spelling> {
        self.is_spelled().then(|| self.parts().map(|part| part.spelling.map(Box::from)).collect())
    }

    /// Whether some value is the text of a number.
    pub(super) fn is_spelled(&self) -> bool {
        self.parts().any(|part| part.spelling.is_some())
    }

    /// Whether this and a spelling of its class are equal: where both are texts, to the letter.
    pub(super) fn agrees_with(&self, spelling: &Spelling) -> bool {
        self.parts().zip(spelling).all(|pair| match pair {
            (Part { spelling: Some(one), .. }, Some(other)) => **one == **other,
            (Part { spelling: None, .. }, _) | (_, None) => true,
        })
    }

    /// Whether every key of its class and of a spelling that agrees has the same spelling: so with one field.
    pub(super) const fn has_one_field(&self) -> bool {
        self.n_parts == 1
    }
}

impl<'a> Part<'a> {
    fn of(value: Reading<'a>) -> Option<Self> {
        let number = |number: f64| ClassPart::Number(Double::of(number));
        let plain = |class| Part { class, spelling: None };
        match value {
            Reading::Number(double) => (!double.is_nan()).then(|| plain(number(double))),
            Reading::Value(Value::Number(decimal)) => Some(plain(number(decimal.to_f64()))),
            Reading::Value(Value::Boolean(boolean)) => {
                Some(plain(ClassPart::Text(if boolean { "true" } else { "false" })))
            }
            Reading::Value(Value::Text(text)) => Some(match Decimal::from_plain(text) {
                Some(decimal) => Part { class: number(decimal.to_f64()), spelling: Some(text) },
                None => plain(ClassPart::Text(text)),
            }),
            Reading::Value(Value::Missing | Value::Time(_) | Value::List(_) | Value::Object(_)) => None,
        }
    }
}

impl ClassPart<'_> {
    fn keep(self) -> KeptPart {
        match self {
            ClassPart::Number(number) => KeptPart::Number(number),
            ClassPart::Text(text) => KeptPart::Text(text.into()),
        }
    }
}

impl Classified for Key<'_> {
    fn n_parts(&self) -> usize {
        self.n_parts
    }

    #[expect(private_interfaces, reason = "only this file compares parts")]
    fn part(&self, field: usize) -> Option<ClassPart<'_>> {
        self.parts.get(field).map(|part| part.class)
    }
}

impl Classified for Class {
    fn n_parts(&self) -> usize {
        self.0.len()
    }

    #[expect(private_interfaces, reason = "only this file compares parts")]
    fn part(&self, field: usize) -> Option<ClassPart<'_>> {
        self.0.get(field).map(|part| match part {
            KeptPart::Number(number) => ClassPart::Number(*number),
            KeptPart::Text(text) => ClassPart::Text(text),
        })
    }
}

impl Hash for dyn Classified + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Every class of one series has as many parts as the others.
        for field in 0..self.n_parts() {
            self.part(field).hash(state);
        }
    }
}

impl PartialEq for dyn Classified + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.n_parts() == other.n_parts()
            && (0..self.n_parts()).all(|field| self.part(field) == other.part(field))
    }
}

impl Eq for dyn Classified + '_ {}

impl Hash for Class {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let classified: &dyn Classified = self;
        classified.hash(state);
    }
}

impl PartialEq for Class {
    fn eq(&self, other: &Self) -> bool {
        let (one, other): (&dyn Classified, &dyn Classified) = (self, other);
        one == other
    }
}

impl Eq for Class {}

impl<'a> Borrow<dyn Classified + 'a> for Class {
    fn borrow(&self) -> &(dyn Classified + 'a) {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transaction::relate;

    fn key<'a>(values: &[Value<'a>]) -> Option<Key<'a>> {
        Key::of(values.iter().copied().map(Reading::Value))
    }

    #[test]
    fn keys_are_equal_exactly_when_their_values_are() {
        let number = |text| Value::Number(Decimal::from_json(text).unwrap());
        let values = [
            number("42"),
            number("42.0"),
            number("0"),
            number("9007199254740992"),
            number("9007199254740993"),
            Value::Text("42"),
            Value::Text("0042"),
            Value::Text("42.0"),
            Value::Text("-0"),
            Value::Text("9007199254740993"),
            Value::Text("abc"),
            Value::Text("true"),
            Value::Boolean(true),
            Value::Boolean(false),
            Value::Text(""),
        ];
        for left in values {
            for right in values {
                let (one, other) = (key(&[left]).unwrap(), key(&[right]).unwrap());
                let spelled_alike = other.spelling().is_none_or(|spelling| one.agrees_with(&spelling));
                let equal = one.class() == other.class() && spelled_alike;
                assert_eq!(equal, relate(left, right).equal(), "{left:?} {right:?}");
            }
        }
    }

    #[test]
    fn a_kept_class_is_found_by_the_key_it_is_of() {
        let keys: Vec<Key<'_>> = [
            [Value::Text("a"), Value::Text("b")],
            [Value::Text("ab"), Value::Text("")],
            [Value::Text("42"), Value::Boolean(true)],
        ]
        .iter()
        .map(|values| key(values).unwrap())
        .collect();
        let map: std::collections::HashMap<Class, usize> = keys.iter().map(Key::class).zip(0..).collect();
        assert_eq!(map.len(), keys.len());
        for (number, key) in keys.iter().enumerate() {
            assert_eq!(map.get(key as &dyn Classified), Some(&number));
        }
    }

    #[test]
    fn what_equals_nothing_has_no_key() {
        for value in [Value::Missing, Value::List(&[])] {
            assert!(key(&[Value::Text("a"), value]).is_none());
        }
    }
}
