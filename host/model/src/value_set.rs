//! Sets of values, for `in` with many elements.
//!
//! Equality in the language (see [`relate`](crate::transaction::relate)) is not transitive: the number 42 equals the
//! texts `42` and `0042`, but these texts differ from each other. Each kind of element is therefore hashed in every way
//! in which a value may match it. A set supports all [`Semantics`]; each lookup names one.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::OnceLock;

use tollgate_guest_abi::{Number, Semantics};

use crate::decimal::Decimal;
use crate::transaction::{CaselessText, EventTime, StatedTime, Transaction, Value, in_small_letters};

const DAY_MICROS: i64 = 86_400_000_000;
/// Length of the longest word of a boolean.
const LONGEST_WORD: usize = "false".len();

/// A set of values with lookup by hash, whatever its size.
#[derive(Debug, Clone, Default)]
pub struct ValueSet {
    /// Texts, matched exactly by texts.
    texts: HashSet<Box<str>>,
    /// The same texts in lower case, matched by caseless texts. Built on the first such lookup, which is rare.
    small_texts: OnceLock<HashSet<Box<str>>>,
    /// Caseless texts, in lower case.
    caseless: HashSet<Box<str>>,
    /// Numbers stated by texts, matched by numbers.
    text_numbers: NumberSet,
    /// Times stated by texts, matched by date-times: in RFC 3339, and in shorter forms, which only the second and later
    /// semantics accept.
    text_instants: HashSet<i64>,
    short_instants: HashSet<i64>,
    /// Days stated by texts, as their first microsecond.
    text_days: HashSet<i64>,
    /// Numbers, matched by numbers and by texts that are numbers.
    numbers: NumberSet,
    /// Date-times, matched by date-times and by texts that are date-times.
    instants: HashSet<i64>,
    has_true: bool,
    has_false: bool,
    /// Length of the longest text, in bytes.
    longest_text: usize,
}

/// Numbers, matched exactly or by their nearest doubles.
#[derive(Debug, Clone, Default)]
struct NumberSet {
    /// Doubles of short numbers, each of which belongs to only one short number.
    short: HashSet<HashedDouble>,
    /// Other numbers, and their doubles.
    long: HashSet<Decimal>,
    doubles_of_long: HashSet<HashedDouble>,
}

impl NumberSet {
    fn insert(&mut self, number: Decimal) {
        let double = HashedDouble::new(number.to_f64());
        if number.is_short() {
            self.short.insert(double);
        } else {
            self.long.insert(number);
            self.doubles_of_long.insert(double);
        }
    }

    fn contains(&self, number: Decimal, semantics: Semantics) -> bool {
        if !semantics.is_exact() {
            self.contains_double(number.to_f64())
        } else if number.is_short() {
            self.short.contains(&HashedDouble::new(number.to_f64()))
        } else {
            self.long.contains(&number)
        }
    }

    fn contains_double(&self, number: f64) -> bool {
        let double = HashedDouble::new(number);
        self.short.contains(&double) || self.doubles_of_long.contains(&double)
    }

    fn is_empty(&self) -> bool {
        self.short.is_empty() && self.long.is_empty()
    }
}

/// A double that is not NaN, hashed by value; both zeros are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HashedDouble(u64);

impl HashedDouble {
    /// Returns the key of a number.
    pub fn new(number: f64) -> Self {
        // Adding zero normalizes negative zero.
        Self((number + 0.0).to_bits())
    }

    /// Restores a key from [`HashedDouble::bits`].
    pub const fn of_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the bits of the double.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Returns whether the bits are a normalized number.
    pub fn is_sound(self) -> bool {
        let number = f64::from_bits(self.0);
        !number.is_nan() && Self::new(number) == self
    }
}

impl ValueSet {
    /// Adds a value. A missing value, an object or an array equals nothing and is not stored.
    pub fn insert(&mut self, value: Value<'_>) {
        match value {
            Value::Missing | Value::List(_) | Value::Object(_) => {}
            Value::Boolean(true) => self.has_true = true,
            Value::Boolean(false) => self.has_false = true,
            Value::Number(decimal) => self.numbers.insert(decimal),
            Value::Time(time) => {
                self.instants.insert(time.micros());
            }
            Value::Text(text) => {
                self.longest_text = self.longest_text.max(text.len());
                self.insert_number_and_time_of(text);
                self.small_texts.take();
                self.texts.insert(text.into());
            }
            Value::Caseless(text) => {
                self.longest_text = self.longest_text.max(text.compared.len());
                self.insert_number_and_time_of(text.compared);
                self.caseless.insert(text.in_small_letters().into());
            }
        }
    }

    fn insert_number_and_time_of(&mut self, text: &str) {
        Decimal::from_plain(text).into_iter().for_each(|number| self.text_numbers.insert(number));
        self.insert_time_of(text);
    }

    fn insert_time_of(&mut self, text: &str) {
        let Some(time) = StatedTime::read(text, Semantics::CURRENT) else { return };
        if EventTime::micros_of(text).is_some() {
            self.text_instants.insert(time.start());
        } else if time.is_day() {
            self.text_days.insert(time.start());
        } else {
            self.short_instants.insert(time.start());
        }
    }

    /// Adds a literal.
    pub fn insert_number(&mut self, number: &Number) {
        match Decimal::from_plain(number.as_str()) {
            Some(decimal) => self.numbers.insert(decimal),
            // Only a manifest of the first semantics can contain such a double.
            None => _ = self.numbers.short.insert(HashedDouble::new(number.to_f64())),
        }
    }

    /// Returns whether an element equals the value.
    #[must_use]
    pub fn contains(&self, value: Value<'_>, semantics: Semantics) -> bool {
        self.contains_by(value, semantics, Decimal::from_plain)
    }

    /// Returns whether an element equals the value, which may be a text of this transaction.
    #[must_use]
    pub fn contains_in(&self, transaction: &Transaction, value: Value<'_>, semantics: Semantics) -> bool {
        self.contains_by(value, semantics, |text| transaction.number_of(text))
    }

    fn contains_by(
        &self,
        value: Value<'_>,
        semantics: Semantics,
        number_of: impl Fn(&str) -> Option<Decimal>,
    ) -> bool {
        match value {
            Value::Missing | Value::List(_) | Value::Object(_) => false,
            Value::Boolean(true) => self.has_true || self.has_word("true"),
            Value::Boolean(false) => self.has_false || self.has_word("false"),
            Value::Number(decimal) => {
                self.numbers.contains(decimal, semantics) || self.text_numbers.contains(decimal, semantics)
            }
            Value::Time(time) => {
                self.instants.contains(&time.micros()) || self.states(time.micros(), semantics)
            }
            // A text of many bytes is not hashed in vain.
            Value::Text(text) | Value::Caseless(CaselessText { compared: text, .. })
                if text.len() > self.longest_text.max(LONGEST_WORD) =>
            {
                self.states_what(text, text, semantics, number_of)
            }
            Value::Text(text) => {
                self.texts.contains(text)
                    || (!self.caseless.is_empty() && self.caseless.contains(&*in_small_letters(text)))
                    || self.states_what(text, text, semantics, number_of)
            }
            Value::Caseless(text) => {
                let small = text.in_small_letters();
                self.caseless.contains(&*small)
                    || self.small_texts().contains(&*small)
                    || self.states_what(text.compared, &small, semantics, number_of)
            }
        }
    }

    fn has_word(&self, word: &str) -> bool {
        self.texts.contains(word) || self.caseless.contains(word)
    }

    fn small_texts(&self) -> &HashSet<Box<str>> {
        let small = || self.texts.iter().map(|text| in_small_letters(text).into()).collect();
        self.small_texts.get_or_init(small)
    }

    /// Returns whether an element equals the computed number. None equals NaN.
    #[must_use]
    pub fn contains_number(&self, number: f64) -> bool {
        self.numbers.contains_double(number) || self.text_numbers.contains_double(number)
    }

    /// Returns whether a text states this instant or its day.
    fn states(&self, micros: i64, semantics: Semantics) -> bool {
        let day = micros - micros.rem_euclid(DAY_MICROS);
        self.text_instants.contains(&micros)
            || (!semantics.is_first()
                && (self.short_instants.contains(&micros) || self.text_days.contains(&day)))
    }

    /// Returns whether an element that is not a text matches the boolean, number or time that the text states.
    fn states_what(
        &self,
        text: &str,
        word: &str,
        semantics: Semantics,
        number_of: impl Fn(&str) -> Option<Decimal>,
    ) -> bool {
        let is_number = || number_of(text).is_some_and(|it| self.numbers.contains(it, semantics));
        let is_instant = || {
            let time = StatedTime::read(text, semantics);
            let is_in = |time: StatedTime| {
                self.instants.iter().any(|&instant| time.order(StatedTime::at(instant)) == Ordering::Equal)
            };
            time.is_some_and(is_in)
        };
        (self.has_true && word == "true")
            || (self.has_false && word == "false")
            || (!self.numbers.is_empty() && is_number())
            || (!self.instants.is_empty() && is_instant())
    }
}

impl<'a> Extend<Value<'a>> for ValueSet {
    fn extend<I: IntoIterator<Item = Value<'a>>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.insert(value));
    }
}

impl<'a> FromIterator<Value<'a>> for ValueSet {
    fn from_iter<I: IntoIterator<Item = Value<'a>>>(values: I) -> Self {
        let mut set = Self::default();
        set.extend(values);
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transaction::{TextComparison, relate};

    const ALL: [Semantics; 4] = [Semantics::V1, Semantics::V2, Semantics::V3, Semantics::V5];

    #[test]
    fn membership_is_the_equality_of_the_language_for_every_pair_of_values() {
        let noon = EventTime::parse("2026-01-01T12:00:00Z").unwrap();
        let number = |text| Value::Number(Decimal::from_json(text).unwrap());
        let values = [
            Value::Missing,
            Value::Boolean(true),
            Value::Boolean(false),
            number("42"),
            number("42.5"),
            number("0"),
            number("9007199254740993"),
            number("9007199254740992"),
            Value::Text("42"),
            Value::Text("0042"),
            Value::Text("42.50"),
            Value::Text("-0"),
            Value::Text("true"),
            Value::Text("True"),
            Value::Text("false"),
            Value::Text("9007199254740993"),
            Value::Text(""),
            Value::Text("2026-01-01T12:00:00Z"),
            Value::Text("2026-01-01T13:00:00+01:00"),
            Value::Text("2026-01-01T12:00"),
            Value::Text("2026-01-01"),
            Value::Text("2026-01-02"),
            Value::Text("42").caseless(),
            Value::Text("True").caseless(),
            Value::Text("2026-01-01t12:00:00z").caseless(),
            Value::Text("Applied"),
            Value::Text("applied"),
            Value::Text("applied").caseless(),
            Value::Text("APPLIED").caseless(),
            Value::Text(" Applied\u{a0}").compared(TextComparison::CaselessTrimmed),
            Value::Text(" 42 ").compared(TextComparison::CaselessTrimmed),
            Value::Time(&noon),
            Value::List(&[]),
        ];
        for element in values {
            let set: ValueSet = [element].into_iter().collect();
            for (value, semantics) in values.iter().flat_map(|value| ALL.map(|semantics| (*value, semantics)))
            {
                let equal = relate(value, element, semantics).equal();
                assert_eq!(
                    set.contains(value, semantics),
                    equal,
                    "{value:?} in ({element:?}), {semantics:?}"
                );
            }
        }
    }

    #[test]
    fn a_text_that_is_added_after_a_caseless_one_was_looked_for_is_found() {
        let mut set: ValueSet = [Value::Text("VOID")].into_iter().collect();
        let applied = Value::Text("applied").caseless();
        assert!(!set.contains(applied, Semantics::V3));
        set.insert(Value::Text("APPLIED"));
        assert!(set.contains(applied, Semantics::V3));
        assert!(!set.contains(Value::Text("applied"), Semantics::V3));
    }

    #[test]
    fn a_computed_number_is_found_by_its_value_and_nan_is_in_no_set() {
        let mut set: ValueSet = [Value::Text("0042")].into_iter().collect();
        set.insert_number(&Number::from_plain("-0").unwrap());
        assert!(set.contains_number(42.0));
        assert!(set.contains_number(0.0));
        assert!(!set.contains_number(f64::NAN));
        assert!(!set.contains_number(41.0));
    }
}
