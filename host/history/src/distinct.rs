//! Equality of values under `distinct`: same kind, and equal by the rules of that kind.

use std::borrow::Cow;

use ahash::RandomState;
use hashbrown::HashSet;
use tollgate_guest_abi::Semantics;
use tollgate_model::decimal::Decimal;
use tollgate_model::transaction::{StructureDigest, Value};

use crate::key::seeded;

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

/// The different values so far.
#[derive(Debug)]
pub(super) struct DistinctTally {
    values: HashSet<Distinct<'static>, RandomState>,
    /// Numbers that texts among the values state; `None` under semantics by which no text is a number.
    stated: Option<HashSet<Decimal, RandomState>>,
    /// Numbers among the values that some text states. Each counts as one with that text.
    n_merged: u64,
}

impl DistinctTally {
    pub(super) fn new(semantics: Semantics) -> Self {
        let stated = semantics.merges_in_distinct().then(|| HashSet::with_hasher(seeded()));
        Self { values: HashSet::with_hasher(seeded()), stated, n_merged: 0 }
    }

    pub(super) fn has(&self, value: &Distinct<'_>) -> bool {
        self.values.contains(value)
    }

    /// Adds a value that it does not have.
    pub(super) fn add_new(&mut self, value: Distinct<'static>) {
        if let Some(stated) = &mut self.stated {
            let is_merged = match &value {
                Distinct::Number(number) => stated.contains(number),
                Distinct::Text(text) => Decimal::from_plain(text).is_some_and(|number| {
                    stated.insert(number) && self.values.contains(&Distinct::Number(number))
                }),
                Distinct::Boolean(_) | Distinct::Instant(_) | Distinct::Structure(_) => false,
            };
            self.n_merged += u64::from(is_merged);
        }
        self.values.insert(value);
    }

    /// Returns the number of different values: a text and a number that it equals are one, different texts are not.
    pub(super) fn n_distinct(&self) -> u64 {
        self.values.len() as u64 - self.n_merged
    }
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

    #[track_caller]
    fn check_counted(values: &[Json], before: u64, since: u64) {
        for (semantics, expected) in [(Semantics::V4, before), (Semantics::V5, since)] {
            for values in [values.to_vec(), values.iter().rev().cloned().collect()] {
                let mut tally = DistinctTally::new(semantics);
                for value in values.iter().filter_map(|json| Distinct::of(Value::of_json(Some(json)))) {
                    if !tally.has(&value) {
                        tally.add_new(value.into_kept());
                    }
                }
                assert_eq!(tally.n_distinct(), expected, "{values:?}");
            }
        }
    }

    #[test]
    fn a_text_is_one_with_the_number_it_equals_and_texts_stay_apart() {
        let (number, text) =
            (|digits: &str| Json::Number(number(digits)), |text: &str| Json::Text(text.into()));
        check_counted(&[number("4111"), text("4111")], 2, 1);
        check_counted(&[text("4111"), text("04111")], 2, 2);
        check_counted(&[number("4111"), text("4111"), text("04111"), number("4111.0")], 3, 2);
        check_counted(&[number("4111"), number("4112"), text("4112"), text("x")], 4, 3);
        check_counted(&[Json::Boolean(true), text("true")], 2, 2);
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
