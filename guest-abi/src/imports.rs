//! The import table: every host function that a module may call.
//!
//! The compiler writes the import section from it, the sandbox links from it, and admission checks against it. Order
//! and types are part of the ABI. Arguments named after a need are slots: indices into that vector of the module's
//! [`Needs`].
//!
//! [`Needs`]: crate::Needs

/// Module name of every import.
pub const MODULE: &str = "tollgate";

/// A WebAssembly value type of a parameter or result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// `i32`
    I32,
    /// `f64`
    F64,
}

/// One host function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Import {
    /// The name within [`MODULE`].
    pub name: &'static str,
    /// Parameter types.
    pub params: &'static [ValueType],
    /// Parameter names for bindings of other languages, one each. A `pointer` is an address in the module's memory.
    pub names: &'static [&'static str],
    /// Result type, if any.
    pub result: Option<ValueType>,
    /// Fuel charged per call, in addition to the calling instruction. What the call reads costs more, see
    /// [`prices`](crate::prices).
    pub fuel: u64,
    /// Fuel charged per call before [`Semantics::V4`](crate::Semantics::V4), to modules with loops alone.
    pub fuel_before_v4: u64,
    /// One-sentence description for those bindings. [`Call`] documents the details.
    pub about: &'static str,
}

/// Index of an import in [`IMPORTS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Call {
    /// `number(field) -> f64`: the nearest double of a number, or of a text that is entirely a plain decimal number.
    /// NaN for any other value and when the field is missing.
    Number,
    /// `symbol(field) -> i32`: the index of the module's text that equals the field exactly; booleans compare as `true`
    /// and `false`. Returns -1 when no text matches, and for a number, a date-time, a structure or a missing field.
    Symbol,
    /// `kind(field) -> i32`: the kind of the field's value, see [`kind`].
    Kind,
    /// `relate(field, field) -> i32`: the relations that hold between two fields, see [`relation`].
    Relate,
    /// `relate_text(field, text) -> i32`: the relations that hold between a field and a text.
    RelateText,
    /// `member(field, list) -> i32`: [`test::MISSING`], [`test::NO`] or [`test::YES`].
    Member,
    /// `member_number(f64, list) -> i32`: like `member`, for a computed number; NaN is missing.
    MemberNumber,
    /// `member_text(text, list) -> i32`: like `member`, for a text of the module.
    MemberText,
    /// `matches(field, pattern) -> i32`: [`test::MISSING`], [`test::NO`] or [`test::YES`].
    Matches,
    /// `matches_number(f64, pattern) -> i32`: like `matches`, for a computed number; NaN is missing.
    MatchesNumber,
    /// `aggregate(aggregate) -> f64`: the aggregate's value; never NaN.
    Aggregate,
    /// `previous(previous) -> i32`: 1 when such a transaction exists, else 0.
    Previous,
    /// `time_part(time) -> f64`: a part of a date-time; NaN when it is missing or not a date-time.
    TimePart,
    /// `text(field, pointer, capacity) -> i32`: writes the field in UTF-8 to the module's memory at `pointer`,
    /// truncated to whole characters within `capacity` bytes. Returns the length of the whole text in bytes. Returns -1
    /// and writes nothing when the field is not a text; booleans are the texts `true` and `false`.
    Text,
    /// `set_score(rule, score)`: sets the score of this match in place of the manifest's, clamped to 0 to 1. A NaN or
    /// an infinity ends the evaluation.
    SetScore,
    /// `set_reason(rule, pointer, length)`: sets the reason of this match in place of the manifest's. It is UTF-8 in
    /// the module's memory, at most [`REASON_BYTES_MAX`](crate::limits::REASON_BYTES_MAX) bytes; anything else ends the
    /// evaluation. Control characters become U+FFFD.
    SetReason,
    /// `comparable(field) -> f64`: the field as a double that orders exactly against every number of at most 15
    /// significant digits. It is the nearest double, unless the field has more digits and shares that double with such
    /// a number. Then it is the adjacent double on the field's side. NaN as for `number`.
    Comparable,
    /// `comparable_aggregate(aggregate) -> f64`: like `comparable`, for an aggregate. Its value is exact except for
    /// `avg` and `stddev`.
    ComparableAggregate,
    /// `relate_operands(operand, operand) -> i32`: the relations that hold between two operands, see [`relation`] and
    /// [`operand`]. Numbers compare exactly.
    RelateOperands,
    /// `member_operand(operand, list) -> i32`: like `member`, for a value that may be an aggregate.
    MemberOperand,
}

use ValueType::{F64, I32};

const fn row(
    name: &'static str,
    params: &'static [ValueType],
    names: &'static [&'static str],
    result: Option<ValueType>,
    (fuel, fuel_before_v4): (u64, u64),
    about: &'static str,
) -> Import {
    assert!(params.len() == names.len(), "one name per argument");
    Import { name, params, names, result, fuel, fuel_before_v4, about }
}

/// Every import, in the order of [`Call`].
#[rustfmt::skip]
pub const IMPORTS: [Import; 20] = [
    row("number", &[I32], &["field"], Some(F64), (50, 50),
        "the field as a number; NaN when it is missing or not a plain decimal number"),
    row("symbol", &[I32], &["field"], Some(I32), (50, 50),
        "the index of the manifest's text that equals the field exactly; -1 when there is none"),
    row("kind", &[I32], &["field"], Some(I32), (50, 50),
        "the kind of the field's value"),
    row("relate", &[I32, I32], &["field", "other"], Some(I32), (200, 200),
        "the relations that hold between two fields, as bits; 0 when either is missing"),
    row("relate_text", &[I32, I32], &["field", "text"], Some(I32), (200, 200),
        "the relations that hold between a field and a text of the manifest, as bits"),
    row("member", &[I32, I32], &["field", "list"], Some(I32), (300, 500),
        "whether the field is in the list: one of the tests"),
    row("member_number", &[F64, I32], &["number", "list"], Some(I32), (300, 500),
        "whether a computed number is in the list: one of the tests"),
    row("member_text", &[I32, I32], &["text", "list"], Some(I32), (300, 500),
        "whether a text of the manifest is in the list: one of the tests"),
    row("matches", &[I32, I32], &["field", "pattern"], Some(I32), (300, 500),
        "whether the pattern is found in the field: one of the tests"),
    row("matches_number", &[F64, I32], &["number", "pattern"], Some(I32), (300, 500),
        "whether the pattern is found in the plain decimal text of a number: one of the tests"),
    row("aggregate", &[I32], &["aggregate"], Some(F64), (1_500, 10_000),
        "the value of an aggregate over the history; never NaN"),
    row("previous", &[I32], &["previous"], Some(I32), (1_500, 10_000),
        "1 when a past transaction matches, else 0"),
    row("time_part", &[I32], &["time"], Some(F64), (200, 200),
        "that part of the date-time; NaN when it is missing or not a date-time"),
    row("text", &[I32, I32, I32], &["field", "pointer", "capacity"], Some(I32), (50, 50),
        "the length of the field's text in bytes, -1 when it is not a text; writes as many whole characters as fit, in UTF-8"),
    row("set_score", &[I32, F64], &["rule", "score"], None, (50, 50),
        "the score of this match, clamped to 0 to 1; a NaN or an infinity ends the evaluation"),
    row("set_reason", &[I32, I32, I32], &["rule", "pointer", "length"], None, (50, 50),
        "the reason of this match: UTF-8, at most REASON_BYTES_MAX bytes"),
    row("comparable", &[I32], &["field"], Some(F64), (50, 50),
        "the field as a double that compares exactly with the double of every number of at most 15 significant digits"),
    row("comparable_aggregate", &[I32], &["aggregate"], Some(F64), (1_500, 10_000),
        "the value of an aggregate as such a double; never NaN"),
    row("relate_operands", &[I32, I32], &["operand", "other"], Some(I32), (200, 200),
        "the relations that hold between two operands, as bits; numbers compare exactly"),
    row("member_operand", &[I32, I32], &["operand", "list"], Some(I32), (300, 500),
        "whether an operand is in the list: one of the tests"),
];

impl Call {
    /// Every call, in table order.
    pub const ALL: [Call; 20] = [
        Call::Number,
        Call::Symbol,
        Call::Kind,
        Call::Relate,
        Call::RelateText,
        Call::Member,
        Call::MemberNumber,
        Call::MemberText,
        Call::Matches,
        Call::MatchesNumber,
        Call::Aggregate,
        Call::Previous,
        Call::TimePart,
        Call::Text,
        Call::SetScore,
        Call::SetReason,
        Call::Comparable,
        Call::ComparableAggregate,
        Call::RelateOperands,
        Call::MemberOperand,
    ];

    /// Returns whether modules compiled from scripts use this call. The others serve modules written in other languages
    /// and modules compiled under the first [`Semantics`](crate::Semantics).
    #[must_use]
    pub const fn is_for_scripts(self) -> bool {
        !matches!(self, Call::Relate | Call::RelateText | Call::Text | Call::SetScore | Call::SetReason)
    }

    /// Returns the call's row of the table.
    #[must_use]
    pub const fn import(self) -> &'static Import {
        #[expect(clippy::indexing_slicing, reason = "a const block below ties every call to its row")]
        &IMPORTS[self as usize]
    }
}

const _: () = {
    assert!(Call::ALL.len() == IMPORTS.len(), "one row per call");
    let mut i = 0;
    while i < IMPORTS.len() {
        #[expect(clippy::indexing_slicing, reason = "i is below the length of both arrays")]
        let call = Call::ALL[i];
        assert!(call as usize == i, "calls in table order");
        i += 1;
    }
};

/// Results of `kind`.
pub mod kind {
    /// No value.
    pub const MISSING: i32 = 0;
    /// `true` or `false`.
    pub const BOOLEAN: i32 = 1;
    /// A JSON number.
    pub const NUMBER: i32 = 2;
    /// A text value.
    pub const TEXT: i32 = 3;
    /// A date-time field.
    pub const TIME: i32 = 4;
    /// An object or an array.
    pub const STRUCTURE: i32 = 5;
}

/// Operands of `relate_operands` and `member_operand`: a slot and its kind, encoded as `slot * 4 + kind`. For a slot of
/// the times the kind is 0 and [`TIME`](operand::TIME) is added.
pub mod operand {
    /// A slot of the fields.
    pub const FIELD: i32 = 0;
    /// A slot of the texts, as a text.
    pub const TEXT: i32 = 1;
    /// A slot of the texts, read as a plain decimal number.
    pub const NUMBER: i32 = 2;
    /// A slot of the aggregates.
    pub const AGGREGATE: i32 = 3;

    /// Added to four times a slot of the times. No other operand is this large.
    pub const TIME: i32 = 1 << 30;

    /// Encodes a slot as an operand.
    #[must_use]
    pub const fn of(kind: i32, slot: i32) -> i32 {
        slot * 4 + kind
    }

    /// Encodes a slot of the times as an operand.
    #[must_use]
    pub const fn of_time(slot: i32) -> i32 {
        TIME + slot * 4
    }

    /// Returns the slot of the times that an operand encodes, if it is one.
    #[must_use]
    pub const fn as_time(operand: u32) -> Option<u32> {
        match operand.checked_sub(TIME.cast_unsigned()) {
            Some(rest) => Some(rest / 4),
            None => None,
        }
    }
}

/// Result bits of `relate`, `relate_text` and `relate_operands`; 0 when either side is missing.
pub mod relation {
    /// `==` holds.
    pub const EQUAL: i32 = 1;
    /// `!=` holds.
    pub const NOT_EQUAL: i32 = 2;
    /// `<` and `<=` hold.
    pub const LESS: i32 = 4;
    /// `>` and `>=` hold.
    pub const GREATER: i32 = 8;
    /// `<=` and `>=` hold: the two are ordered and rank equal.
    pub const LEVEL: i32 = 16;
}

/// Results of `member` and `matches`.
pub mod test {
    /// The value or the list is missing: neither the test nor its opposite holds.
    pub const MISSING: i32 = 0;
    /// The opposite holds.
    pub const NO: i32 = 1;
    /// The test holds.
    pub const YES: i32 = 2;
}
