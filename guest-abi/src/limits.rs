//! Named limits of scripts and modules. Everything an author can make large has one.

/// Longest script, in bytes.
pub const SCRIPT_BYTES_MAX: usize = 64 * 1024;
/// Most nodes of a parsed condition: tests, operators, operands, list items.
pub const NODES_MAX: usize = 4_096;
/// Deepest nesting of parentheses, `not` and signs in a condition.
pub const NESTING_MAX: usize = 64;
/// Deepest tree of a checked condition: conditions, operators and operands below one another, filters included. A level
/// takes at most two in JSON, and JSON readers stop at 128.
pub const CONDITION_DEPTH_MAX: usize = 56;
/// Most items of a list written in a script.
pub const LIST_ITEMS_MAX: usize = 1_000;
/// Longest pattern, in bytes.
pub const PATTERN_BYTES_MAX: usize = 1_024;
/// Largest compiled pattern, in bytes, as the regex engine counts them.
pub const PATTERN_COMPILED_BYTES_MAX: usize = 1024 * 1024;
/// Deepest nesting inside a pattern.
pub const PATTERN_NESTING_MAX: u32 = 64;
/// Longest text a pattern is searched in, in bytes; a longer text is searched up to this point.
pub const PATTERN_HAYSTACK_BYTES_MAX: usize = 4 * 1024;
/// Most digits of a number, in scripts and in transactions.
pub const NUMBER_DIGITS_MAX: usize = 38;
/// Longest rule name, in bytes.
pub const NAME_BYTES_MAX: usize = 128;
/// Longest description, in bytes.
pub const DESCRIPTION_BYTES_MAX: usize = 4 * 1024;
/// Longest reason, in bytes.
pub const REASON_BYTES_MAX: usize = 1024;
/// Most keys of a metadata path.
pub const PATH_KEYS_MAX: usize = 16;
/// Longest window, in seconds: 400 days.
pub const WINDOW_SECONDS_MAX: u32 = 400 * 86_400;
/// Most distinct history look-ups (aggregates and previous transactions) of one rule.
pub const HISTORY_LOOKUPS_MAX: usize = 16;
/// Most distinct patterns of one rule.
pub const PATTERNS_MAX: usize = 16;
/// Largest module, in bytes.
pub const MODULE_BYTES_MAX: usize = 64 * 1024;
/// Fuel of one rule on one transaction.
pub const FUEL_PER_RUN: u64 = 1_000_000;
