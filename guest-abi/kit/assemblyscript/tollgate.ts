// What a rule module may ask of Tollgate, in AssemblyScript. A test writes this file from the table of imports;
// docs/abi.md explains it.

export const ABI_VERSION: i32 = 1;

/** Nothing is there. */
export const KIND_MISSING: i32 = 0;
/** `true` or `false`. */
export const KIND_BOOLEAN: i32 = 1;
/** A JSON number. */
export const KIND_NUMBER: i32 = 2;
/** A text. */
export const KIND_TEXT: i32 = 3;
/** A date-time field. */
export const KIND_TIME: i32 = 4;
/** An object or an array. */
export const KIND_STRUCTURE: i32 = 5;

/** `==`. */
export const RELATION_EQUAL: i32 = 1;
/** `!=`. */
export const RELATION_NOT_EQUAL: i32 = 2;
/** `<` and `<=`. */
export const RELATION_LESS: i32 = 4;
/** `>` and `>=`. */
export const RELATION_GREATER: i32 = 8;
/** `<=` and `>=`. */
export const RELATION_LEVEL: i32 = 16;

/** The value, or the list, is missing: neither the test nor its opposite holds. */
export const TEST_MISSING: i32 = 0;
/** The opposite holds. */
export const TEST_NO: i32 = 1;
/** The test holds. */
export const TEST_YES: i32 = 2;

/** Fuel of one call of `evaluate`. */
export const FUEL_PER_RUN: i32 = 1000000;
/** Fuel for each byte of a text that a call reads. */
export const FUEL_PER_TEXT_BYTE: i32 = 1;
/** Fuel for each byte of a text that a pattern is searched in. */
export const FUEL_PER_SEARCHED_BYTE: i32 = 16;
/** Calls to the host on one transaction. */
export const HOST_CALLS_MAX: i32 = 256;
/** Memory, in pages of 64 KiB. */
export const MEMORY_PAGES_MAX: i32 = 16;
/** Longest reason, in bytes. */
export const REASON_BYTES_MAX: i32 = 1024;

/** The field as a number; NaN when it is missing, or no plain decimal number. */
@external("tollgate", "number")
export declare function number(field: i32): f64;

/** Which of the manifest's texts the field is, to the letter; -1 when it is none of them. */
@external("tollgate", "symbol")
export declare function symbol(field: i32): i32;

/** What stands in the field: one of the kinds. */
@external("tollgate", "kind")
export declare function kind(field: i32): i32;

/** The relations that hold between two fields, as bits; 0 when either is missing. */
@external("tollgate", "relate")
export declare function relate(field: i32, other: i32): i32;

/** The relations that hold between a field and a text of the manifest, as bits. */
@external("tollgate", "relate_text")
export declare function relate_text(field: i32, text: i32): i32;

/** Whether the field is in the list: one of the tests. */
@external("tollgate", "member")
export declare function member(field: i32, list: i32): i32;

/** Whether a computed number is in the list: one of the tests. */
@external("tollgate", "member_number")
export declare function member_number(number: f64, list: i32): i32;

/** Whether a text of the manifest is in the list: one of the tests. */
@external("tollgate", "member_text")
export declare function member_text(text: i32, list: i32): i32;

/** Whether the pattern is found in the field: one of the tests. */
@external("tollgate", "matches")
export declare function matches(field: i32, pattern: i32): i32;

/** Whether the pattern is found in the plain decimal text of a number: one of the tests. */
@external("tollgate", "matches_number")
export declare function matches_number(number: f64, pattern: i32): i32;

/** The value of a question to the history; never NaN. */
@external("tollgate", "aggregate")
export declare function aggregate(aggregate: i32): f64;

/** 1 when there is such a past transaction, else 0. */
@external("tollgate", "previous")
export declare function previous(previous: i32): i32;

/** That part of the date-time; NaN when it is missing, or no date-time. */
@external("tollgate", "time_part")
export declare function time_part(time: i32): f64;

/** How many bytes the field's text has, -1 when it is no text; as many whole characters as fit are written, in UTF-8. */
@external("tollgate", "text")
export declare function text(field: i32, pointer: usize, capacity: i32): i32;

/** The score of this match, clamped to 0 to 1; a NaN or an infinity ends the evaluation. */
@external("tollgate", "set_score")
export declare function set_score(rule: i32, score: f64): void;

/** The reason of this match: UTF-8, at most REASON_BYTES_MAX bytes. */
@external("tollgate", "set_reason")
export declare function set_reason(rule: i32, pointer: usize, length: i32): void;

/** The field as a double that compares exactly with the double of every number of at most 15 significant digits. */
@external("tollgate", "comparable")
export declare function comparable(field: i32): f64;

/** The value of a question to the history as such a double; never NaN. */
@external("tollgate", "comparable_aggregate")
export declare function comparable_aggregate(aggregate: i32): f64;

/** The relations that hold between two operands, as bits; numbers compare exactly. */
@external("tollgate", "relate_operands")
export declare function relate_operands(operand: i32, other: i32): i32;

/** Whether an operand is in the list: one of the tests. */
@external("tollgate", "member_operand")
export declare function member_operand(operand: i32, list: i32): i32;
