//! The one table of what a module may call.
//!
//! `emit` writes the import section from it, the sandbox links from it, admission refuses by it. Order and types are
//! part of the ABI. Arguments named after a need are slots: indices into that vector of the module's [`Needs`].
//!
//! [`Needs`]: crate::Needs

/// Module name of every import.
pub const MODULE: &str = "tollgate";

/// A WebAssembly value type that crosses the border.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// `i32`
    I32,
    /// `f64`
    F64,
}

/// One function of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Import {
    /// Its name below [`MODULE`].
    pub name: &'static str,
    /// What it takes.
    pub params: &'static [ValueType],
    /// What those are called in bindings of other languages, one name for each. A `pointer` is an address in the module's
    /// memory.
    pub names: &'static [&'static str],
    /// What it gives, if anything.
    pub result: Option<ValueType>,
    /// Fuel that one call takes from a module that may loop, beside that of the calling instruction. Calls that read
    /// texts or arrays take more, by [`FUEL_PER_TEXT_BYTE`](crate::limits::FUEL_PER_TEXT_BYTE) and
    /// [`FUEL_PER_SEARCHED_BYTE`](crate::limits::FUEL_PER_SEARCHED_BYTE).
    pub fuel: u64,
    /// What it does, in one sentence for those bindings. [`Call`] says it in full.
    pub about: &'static str,
}

/// Index of an import in [`IMPORTS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Call {
    /// `number(field) -> f64`: the field as a number (a number, or a text that is wholly a plain decimal number); NaN
    /// when it is missing or anything else.
    Number,
    /// `symbol(field) -> i32`: which of the module's texts the field is, to the letter (`true` and `false` as their
    /// words); -1 when it is none of them, a number, a date-time, a structure, or missing.
    Symbol,
    /// `kind(field) -> i32`: see [`kind`].
    Kind,
    /// `relate(field, field) -> i32`: the relations that hold between the two, see [`relation`].
    Relate,
    /// `relate_text(field, text) -> i32`: the relations that hold between the field and the text.
    RelateText,
    /// `member(field, list) -> i32`: [`test::MISSING`], [`test::NO`] or [`test::YES`].
    Member,
    /// `member_number(f64, list) -> i32`: the same for a computed number; NaN is missing.
    MemberNumber,
    /// `member_text(text, list) -> i32`: the same for a text of the module.
    MemberText,
    /// `matches(field, pattern) -> i32`: [`test::MISSING`], [`test::NO`] or [`test::YES`].
    Matches,
    /// `matches_number(f64, pattern) -> i32`: the same for a computed number; NaN is missing.
    MatchesNumber,
    /// `aggregate(aggregate) -> f64`: its value; never NaN.
    Aggregate,
    /// `previous(previous) -> i32`: 1 when there is such a transaction, else 0.
    Previous,
    /// `time_part(time) -> f64`: the part of the date-time; NaN when it is missing or no date-time.
    TimePart,
    /// `text(field, pointer, capacity) -> i32`: writes the field, in UTF-8, into the module's memory at `pointer`: as many
    /// whole characters as `capacity` bytes hold. Answers how many bytes the whole text has; -1, and nothing is written,
    /// when the field is no text (`true` and `false` are their words).
    Text,
    /// `set_score(rule, score)`: the score of this match, in place of that in the manifest, clamped to 0 to 1. A NaN or an
    /// infinity ends the evaluation.
    SetScore,
    /// `set_reason(rule, pointer, length)`: the reason of this match, in place of that in the manifest: UTF-8 in the
    /// module's memory, at most [`REASON_BYTES_MAX`](crate::limits::REASON_BYTES_MAX) bytes. Anything else ends the
    /// evaluation. Control characters become U+FFFD.
    SetReason,
    /// `comparable(field) -> f64`: the field as a double that stands to the double of every number of at most 15 significant
    /// digits as the field itself stands to that number. It is the nearest double unless the field has more digits and shares
    /// its nearest double with such a number: then it is the next double on the field's side. NaN as for `number`.
    Comparable,
    /// `comparable_aggregate(aggregate) -> f64`: the same of an aggregate, whose value is exact but for `avg` and `stddev`.
    ComparableAggregate,
    /// `relate_operands(operand, operand) -> i32`: the relations that hold between the two, see [`relation`] and [`operand`].
    /// Numbers compare exactly.
    RelateOperands,
    /// `member_operand(operand, list) -> i32`: as `member`, for a value that may be an aggregate.
    MemberOperand,
}

use ValueType::{F64, I32};

const fn row(
    name: &'static str,
    params: &'static [ValueType],
    names: &'static [&'static str],
    result: Option<ValueType>,
    fuel: u64,
    about: &'static str,
) -> Import {
    assert!(params.len() == names.len(), "one name per argument");
    Import { name, params, names, result, fuel, about }
}

/// Every import, in the order of [`Call`].
#[rustfmt::skip]
pub const IMPORTS: [Import; 20] = [
    row("number", &[I32], &["field"], Some(F64), 50,
        "the field as a number; NaN when it is missing, or no plain decimal number"),
    row("symbol", &[I32], &["field"], Some(I32), 50,
        "which of the manifest's texts the field is, to the letter; -1 when it is none of them"),
    row("kind", &[I32], &["field"], Some(I32), 50,
        "what stands in the field: one of the kinds"),
    row("relate", &[I32, I32], &["field", "other"], Some(I32), 200,
        "the relations that hold between two fields, as bits; 0 when either is missing"),
    row("relate_text", &[I32, I32], &["field", "text"], Some(I32), 200,
        "the relations that hold between a field and a text of the manifest, as bits"),
    row("member", &[I32, I32], &["field", "list"], Some(I32), 500,
        "whether the field is in the list: one of the tests"),
    row("member_number", &[F64, I32], &["number", "list"], Some(I32), 500,
        "whether a computed number is in the list: one of the tests"),
    row("member_text", &[I32, I32], &["text", "list"], Some(I32), 500,
        "whether a text of the manifest is in the list: one of the tests"),
    row("matches", &[I32, I32], &["field", "pattern"], Some(I32), 500,
        "whether the pattern is found in the field: one of the tests"),
    row("matches_number", &[F64, I32], &["number", "pattern"], Some(I32), 500,
        "whether the pattern is found in the plain decimal text of a number: one of the tests"),
    row("aggregate", &[I32], &["aggregate"], Some(F64), 10_000,
        "the value of a question to the history; never NaN"),
    row("previous", &[I32], &["previous"], Some(I32), 10_000,
        "1 when there is such a past transaction, else 0"),
    row("time_part", &[I32], &["time"], Some(F64), 200,
        "that part of the date-time; NaN when it is missing, or no date-time"),
    row("text", &[I32, I32, I32], &["field", "pointer", "capacity"], Some(I32), 50,
        "how many bytes the field's text has, -1 when it is no text; as many whole characters as fit are written, in UTF-8"),
    row("set_score", &[I32, F64], &["rule", "score"], None, 50,
        "the score of this match, clamped to 0 to 1; a NaN or an infinity ends the evaluation"),
    row("set_reason", &[I32, I32, I32], &["rule", "pointer", "length"], None, 50,
        "the reason of this match: UTF-8, at most REASON_BYTES_MAX bytes"),
    row("comparable", &[I32], &["field"], Some(F64), 50,
        "the field as a double that compares exactly with the double of every number of at most 15 significant digits"),
    row("comparable_aggregate", &[I32], &["aggregate"], Some(F64), 10_000,
        "the value of a question to the history as such a double; never NaN"),
    row("relate_operands", &[I32, I32], &["operand", "other"], Some(I32), 200,
        "the relations that hold between two operands, as bits; numbers compare exactly"),
    row("member_operand", &[I32, I32], &["operand", "list"], Some(I32), 500,
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

    /// Whether modules of scripts call it. The others are for modules written in other languages, and for those that were
    /// compiled under the first [`Semantics`](crate::Semantics).
    #[must_use]
    pub const fn is_for_scripts(self) -> bool {
        !matches!(self, Call::Relate | Call::RelateText | Call::Text | Call::SetScore | Call::SetReason)
    }

    /// Its row in the table.
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

/// Answers of `kind`.
pub mod kind {
    /// Nothing is there.
    pub const MISSING: i32 = 0;
    /// `true` or `false`.
    pub const BOOLEAN: i32 = 1;
    /// A JSON number.
    pub const NUMBER: i32 = 2;
    /// A text.
    pub const TEXT: i32 = 3;
    /// A date-time field.
    pub const TIME: i32 = 4;
    /// An object or an array.
    pub const STRUCTURE: i32 = 5;
}

/// Operands of `relate_operands` and `member_operand`: a slot and what it counts, `slot * 4 + kind`, with [`TIME`](operand::TIME)
/// added for a slot of the times, whose kind is 0.
pub mod operand {
    /// A slot of the fields.
    pub const FIELD: i32 = 0;
    /// A slot of the texts, as a text.
    pub const TEXT: i32 = 1;
    /// A slot of the texts, as the plain decimal number that it is.
    pub const NUMBER: i32 = 2;
    /// A slot of the aggregates.
    pub const AGGREGATE: i32 = 3;

    /// Added to four times a slot of the times: that part of the date-time. No other operand reaches it.
    pub const TIME: i32 = 1 << 30;

    /// The operand of a slot.
    #[must_use]
    pub const fn of(kind: i32, slot: i32) -> i32 {
        slot * 4 + kind
    }

    /// The operand of a slot of the times.
    #[must_use]
    pub const fn of_time(slot: i32) -> i32 {
        TIME + slot * 4
    }

    /// The slot of the times that an operand stands for, if it is one.
    #[must_use]
    pub const fn as_time(operand: u32) -> Option<u32> {
        match operand.checked_sub(TIME.cast_unsigned()) {
            Some(rest) => Some(rest / 4),
            None => None,
        }
    }
}

/// Bits of what `relate`, `relate_text` and `relate_operands` answer; 0 when either side is missing.
pub mod relation {
    /// `==` holds.
    pub const EQUAL: i32 = 1;
    /// `!=` holds.
    pub const NOT_EQUAL: i32 = 2;
    /// `<` and `<=` hold.
    pub const LESS: i32 = 4;
    /// `>` and `>=` hold.
    pub const GREATER: i32 = 8;
    /// `<=` and `>=` hold: the two have an order, and are at the same place in it.
    pub const LEVEL: i32 = 16;
}

/// Answers of `member` and `matches`.
pub mod test {
    /// The value, or the list, is missing: neither the test nor its opposite holds.
    pub const MISSING: i32 = 0;
    /// The opposite holds.
    pub const NO: i32 = 1;
    /// The test holds.
    pub const YES: i32 = 2;
}
