//! Counts the tests of a rule that met a value they cannot compare, to reveal rules that can never match.
//!
//! Comparing a text with a number, or a time with a value that is not a time, is not an error: the test is false.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use tollgate_guest_abi::Semantics;

use tollgate_model::transaction::Value;

/// Upper bound of a count; this value means "at least".
pub(crate) const COUNT_MAX: u64 = 1_000;
/// The largest number of distinct counts per rule; further mismatches are not counted.
pub(crate) const COUNTS_MAX: usize = 64;

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MismatchKind {
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A text.
    Text,
    /// A date-time.
    Time,
    /// An array or an object.
    Structure,
}

impl MismatchKind {
    /// The name used in the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::Text => "text",
            Self::Time => "time",
            Self::Structure => "structure",
        }
    }
}

/// The kind of a value, and the kinds it can be compared as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComparedForm {
    /// The kind.
    pub kind: MismatchKind,
    /// Whether it is a text that is a plain decimal number.
    pub is_number: bool,
    /// Whether it is a text that is a valid time.
    pub is_time: bool,
    /// Whether it is the text `true` or `false`.
    pub is_boolean: bool,
}

impl ComparedForm {
    /// The form of a value that is not a text.
    #[must_use]
    pub const fn of_kind(kind: MismatchKind) -> Self {
        Self { kind, is_number: false, is_time: false, is_boolean: false }
    }

    /// Returns the form of a value; `None` when it is missing.
    #[must_use]
    pub fn of_value(value: &Value<'_>) -> Option<Self> {
        Some(match value {
            Value::Missing => return None,
            Value::Boolean(_) => Self::of_kind(MismatchKind::Boolean),
            Value::Number(_) => Self::of_kind(MismatchKind::Number),
            Value::Time(_) => Self::of_kind(MismatchKind::Time),
            Value::List(_) | Value::Object(_) => Self::of_kind(MismatchKind::Structure),
            Value::Text(text) => Self::of_text(value, matches!(*text, "true" | "false")),
            Value::Caseless(text) => {
                Self::of_text(value, matches!(&*text.in_small_letters(), "true" | "false"))
            }
        })
    }

    fn of_text(value: &Value<'_>, is_boolean: bool) -> Self {
        Self {
            kind: MismatchKind::Text,
            is_number: value.as_decimal().is_some(),
            is_time: value.as_time(Semantics::CURRENT).is_some(),
            is_boolean,
        }
    }

    /// Whether two such values can be equal or, with `ordered`, have an order. See the table in `docs/language.md`,
    /// "How values compare".
    #[must_use]
    pub(crate) const fn compares_with(self, other: Self, ordered: bool) -> bool {
        match (self.kind, other.kind) {
            (MismatchKind::Number, MismatchKind::Number) | (MismatchKind::Time, MismatchKind::Time) => true,
            (MismatchKind::Text, MismatchKind::Text) => !ordered || (self.is_number && other.is_number),
            (MismatchKind::Boolean, MismatchKind::Boolean) => !ordered,
            (MismatchKind::Number, MismatchKind::Text) => other.is_number,
            (MismatchKind::Text, MismatchKind::Number) => self.is_number,
            (MismatchKind::Time, MismatchKind::Text) => other.is_time,
            (MismatchKind::Text, MismatchKind::Time) => self.is_time,
            (MismatchKind::Boolean, MismatchKind::Text) => other.is_boolean && !ordered,
            (MismatchKind::Text, MismatchKind::Boolean) => self.is_boolean && !ordered,
            _ => false,
        }
    }
}

/// A test and the kinds that did not match. The value itself is never stored.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mismatch {
    /// Index of the test in [`CheckedRule::tests`](tollgate_compiler::CheckedRule::tests).
    pub test: usize,
    /// The field with the value, as scripts write it.
    pub field: String,
    /// The kind of the value.
    pub got: MismatchKind,
    /// The kind the test could have compared.
    pub wanted: MismatchKind,
}

/// Counts of mismatches since the rule came into force.
#[derive(Debug, Default)]
pub struct Mismatches {
    counts: Mutex<BTreeMap<Mismatch, u64>>,
}

impl Mismatches {
    /// Counts a mismatch. Returns whether it is the first of its kind.
    pub fn note(&self, mismatch: Mismatch) -> bool {
        let mut counts = self.counts.lock();
        let is_full = counts.len() >= COUNTS_MAX;
        match counts.get_mut(&mismatch) {
            Some(count) => {
                *count = (*count + 1).min(COUNT_MAX);
                false
            }
            None if is_full => false,
            None => {
                counts.insert(mismatch, 1);
                true
            }
        }
    }

    /// Returns all counts, ordered by test.
    #[must_use]
    pub fn counted(&self) -> Vec<(Mismatch, u64)> {
        self.counts.lock().iter().map(|(mismatch, &count)| (mismatch.clone(), count)).collect()
    }
}
