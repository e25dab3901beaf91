//! Equality of values under `distinct`: same kind, and equal by the rules of that kind.

use std::borrow::Cow;

use tollgate_model::decimal::Decimal;
use tollgate_model::transaction::{StructureDigest, Value};

/// A present value, comparable with others.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) enum Distinct<'a> {
    Boolean(bool),
    /// Compared by value: `1.10` equals `1.1`.
    Number(Decimal),
    /// Compared exactly; caseless text is lowercased first.
    Text(Cow<'a, str>),
    /// Compared by instant.
    Instant(i64),
    /// An array or an object, compared by the digest of its canonical text.
    Structure(StructureDigest),
}

impl<'a> Distinct<'a> {
    /// Returns `None` for a missing value.
    pub(super) fn of(value: Value<'a>) -> Option<Self> {
        Some(match value {
            Value::Missing => return None,
            Value::Boolean(boolean) => Distinct::Boolean(boolean),
            Value::Number(number) => Distinct::Number(number),
            Value::Text(text) => Distinct::Text(Cow::Borrowed(text)),
            Value::Caseless(text) => Distinct::Text(text.in_small_letters()),
            Value::Time(time) => Distinct::Instant(time.micros()),
            Value::List(_) | Value::Object(_) => Distinct::Structure(value.structure_digest()?),
        })
    }
}

impl Distinct<'_> {
    /// Returns the length of a text, in bytes; 0 for other values.
    pub(super) fn text_bytes(&self) -> usize {
        match self {
            Distinct::Text(text) => text.len(),
            Distinct::Boolean(_) | Distinct::Number(_) | Distinct::Instant(_) | Distinct::Structure(_) => 0,
        }
    }

    pub(super) fn into_kept(self) -> Distinct<'static> {
        match self {
            Distinct::Boolean(boolean) => Distinct::Boolean(boolean),
            Distinct::Number(number) => Distinct::Number(number),
            Distinct::Text(text) => Distinct::Text(Cow::Owned(text.into_owned())),
            Distinct::Instant(micros) => Distinct::Instant(micros),
            Distinct::Structure(digest) => Distinct::Structure(digest),
        }
    }
}

#[cfg(test)]
mod tests {
    use tollgate_model::transaction::Json;

    use super::*;
    use crate::sample::number;

    fn object(entries: &[(&str, Json)]) -> Json {
        Json::Object(entries.iter().map(|(key, value)| ((*key).into(), value.clone())).collect())
    }

    #[track_caller]
    fn check(left: &Json, right: &Json, same: bool) {
        let distinct = |json| Distinct::of(Value::of_json(Some(json)));
        assert_eq!(distinct(left) == distinct(right), same, "{left:?} {right:?}");
    }

    #[test]
    fn structures_are_the_same_whatever_the_order_of_their_keys() {
        let one = Json::Number(number("1.0"));
        let text = Json::Text("1".into());
        check(
            &object(&[("a", one.clone()), ("b", text.clone())]),
            &object(&[("b", text.clone()), ("a", Json::Number(number("1")))]),
            true,
        );
        check(&object(&[("a", one.clone())]), &object(&[("a", text.clone())]), false);
        check(&object(&[]), &Json::Array(vec![]), false);
        check(&Json::Array(vec![one.clone(), text.clone()]), &Json::Array(vec![text, one]), false);
        check(
            &Json::Array(vec![Json::Text("a\",\"b".into())]),
            &Json::Array(vec![Json::Text("a".into()), Json::Text("b".into())]),
            false,
        );
    }

    #[test]
    fn scalars_are_told_apart_by_kind_and_value() {
        let (number_one, text_one) = (Json::Number(number("1")), Json::Text("1".into()));
        check(&number_one, &Json::Number(number("1.00")), true);
        check(&number_one, &text_one, false);
        check(&Json::Boolean(true), &Json::Text("true".into()), false);
        check(&Json::Text("a".into()), &Json::Text("A".into()), false);
        assert_eq!(Distinct::of(Value::Missing), None);
    }
}
