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
    /// What it gives.
    pub result: ValueType,
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
}

use ValueType::{F64, I32};

/// Every import, in the order of [`Call`].
pub const IMPORTS: [Import; 13] = [
    Import { name: "number", params: &[I32], result: F64 },
    Import { name: "symbol", params: &[I32], result: I32 },
    Import { name: "kind", params: &[I32], result: I32 },
    Import { name: "relate", params: &[I32, I32], result: I32 },
    Import { name: "relate_text", params: &[I32, I32], result: I32 },
    Import { name: "member", params: &[I32, I32], result: I32 },
    Import { name: "member_number", params: &[F64, I32], result: I32 },
    Import { name: "member_text", params: &[I32, I32], result: I32 },
    Import { name: "matches", params: &[I32, I32], result: I32 },
    Import { name: "matches_number", params: &[F64, I32], result: I32 },
    Import { name: "aggregate", params: &[I32], result: F64 },
    Import { name: "previous", params: &[I32], result: I32 },
    Import { name: "time_part", params: &[I32], result: F64 },
];

impl Call {
    /// Every call, in table order.
    pub const ALL: [Call; 13] = [
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
    ];

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

/// Bits of what `relate` and `relate_text` answer; 0 when either side is missing.
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
