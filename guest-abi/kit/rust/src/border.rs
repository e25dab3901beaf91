//! The border as it is: functions of the host, and their answers. A test writes this file from the table of imports;
//! `docs/abi.md` explains it.

/// The version of the contract that these are of.
pub const ABI_VERSION: u32 = 1;

/// Nothing is there.
pub const KIND_MISSING: i32 = 0;
/// `true` or `false`.
pub const KIND_BOOLEAN: i32 = 1;
/// A JSON number.
pub const KIND_NUMBER: i32 = 2;
/// A text.
pub const KIND_TEXT: i32 = 3;
/// A date-time field.
pub const KIND_TIME: i32 = 4;
/// An object or an array.
pub const KIND_STRUCTURE: i32 = 5;
/// `==`.
pub const RELATION_EQUAL: i32 = 1;
/// `!=`.
pub const RELATION_NOT_EQUAL: i32 = 2;
/// `<` and `<=`.
pub const RELATION_LESS: i32 = 4;
/// `>` and `>=`.
pub const RELATION_GREATER: i32 = 8;
/// `<=` and `>=`.
pub const RELATION_LEVEL: i32 = 16;
/// The value, or the list, is missing: neither the test nor its opposite holds.
pub const TEST_MISSING: i32 = 0;
/// The opposite holds.
pub const TEST_NO: i32 = 1;
/// The test holds.
pub const TEST_YES: i32 = 2;

/// Fuel of one call of `evaluate`.
pub const FUEL_PER_RUN: usize = 1000000;
/// Fuel for each byte of a text that a call reads.
pub const FUEL_PER_TEXT_BYTE: usize = 1;
/// Fuel for each byte of a text that a pattern is searched in.
pub const FUEL_PER_SEARCHED_BYTE: usize = 16;
/// Calls to the host on one transaction.
pub const HOST_CALLS_MAX: usize = 256;
/// Memory, in pages of 64 KiB.
pub const MEMORY_PAGES_MAX: usize = 16;
/// Longest reason, in bytes.
pub const REASON_BYTES_MAX: usize = 1024;

#[cfg_attr(target_arch = "wasm32", link(wasm_import_module = "tollgate"))]
extern "C" {
    /// The field as a number; NaN when it is missing, or no plain decimal number.
    pub fn number(field: i32) -> f64;
    /// Which of the manifest's texts the field is, to the letter; -1 when it is none of them.
    pub fn symbol(field: i32) -> i32;
    /// What stands in the field: one of the kinds.
    pub fn kind(field: i32) -> i32;
    /// The relations that hold between two fields, as bits; 0 when either is missing.
    pub fn relate(field: i32, other: i32) -> i32;
    /// The relations that hold between a field and a text of the manifest, as bits.
    pub fn relate_text(field: i32, text: i32) -> i32;
    /// Whether the field is in the list: one of the tests.
    pub fn member(field: i32, list: i32) -> i32;
    /// Whether a computed number is in the list: one of the tests.
    pub fn member_number(number: f64, list: i32) -> i32;
    /// Whether a text of the manifest is in the list: one of the tests.
    pub fn member_text(text: i32, list: i32) -> i32;
    /// Whether the pattern is found in the field: one of the tests.
    pub fn matches(field: i32, pattern: i32) -> i32;
    /// Whether the pattern is found in the plain decimal text of a number: one of the tests.
    pub fn matches_number(number: f64, pattern: i32) -> i32;
    /// The value of a question to the history; never NaN.
    pub fn aggregate(aggregate: i32) -> f64;
    /// 1 when there is such a past transaction, else 0.
    pub fn previous(previous: i32) -> i32;
    /// That part of the date-time; NaN when it is missing, or no date-time.
    pub fn time_part(time: i32) -> f64;
    /// How many bytes the field's text has, -1 when it is no text; as many whole characters as fit are written, in UTF-8.
    pub fn text(field: i32, pointer: *mut u8, capacity: i32) -> i32;
    /// The score of this match, clamped to 0 to 1; a NaN or an infinity ends the evaluation.
    pub fn set_score(rule: i32, score: f64);
    /// The reason of this match: UTF-8, at most REASON_BYTES_MAX bytes.
    pub fn set_reason(rule: i32, pointer: *const u8, length: i32);
    /// The field as a double that compares exactly with the double of every number of at most 15 significant digits.
    pub fn comparable(field: i32) -> f64;
    /// The value of a question to the history as such a double; never NaN.
    pub fn comparable_aggregate(aggregate: i32) -> f64;
    /// The relations that hold between two operands, as bits; numbers compare exactly.
    pub fn relate_operands(operand: i32, other: i32) -> i32;
    /// Whether an operand is in the list: one of the tests.
    pub fn member_operand(operand: i32, list: i32) -> i32;
}
