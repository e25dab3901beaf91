//! Limits of scripts and modules. Everything an author can make large is bounded here.

/// Longest script, in bytes.
pub const SCRIPT_BYTES_MAX: usize = 64 * 1024;
/// Most nodes of a parsed condition: tests, operators, operands and list items.
pub const NODES_MAX: usize = 4_096;
/// Deepest nesting of parentheses, `not` and signs in a condition.
pub const NESTING_MAX: usize = 64;
/// Deepest tree of a checked condition, filters included. A level takes at most two levels of JSON, and JSON readers
/// stop at 128.
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
/// Most distinct history lookups (aggregates and previous transactions) of one rule.
pub const HISTORY_LOOKUPS_MAX: usize = 16;
/// Most distinct patterns of one rule.
pub const PATTERNS_MAX: usize = 16;
/// Largest module, in bytes.
pub const MODULE_BYTES_MAX: usize = 64 * 1024;
/// Fuel of one module on one transaction, unless the policy grants another amount.
pub const FUEL_PER_RUN: u64 = 1_000_000;
/// Fuel of all rules of one owner on one transaction, unless the service is configured otherwise.
pub const FUEL_PER_OWNER: u64 = 5_000_000;
/// Fuel of all rules of an owner who is not trusted.
pub const FUEL_PER_UNTRUSTED_OWNER: u64 = 1_000_000;
/// Mean fuel of all rules of an owner who is not trusted, over the last transactions.
pub const SUSTAINED_FUEL: u64 = 100_000;
/// Memory of the new series of one rule of an owner who is not trusted, in bytes, by estimate.
pub const UNTRUSTED_HISTORY_BYTES: u64 = 128 << 20;

// Limits of modules that this compiler did not produce. Structure is bounded before compilation because compile time
// does not depend on size alone. The process that compiles a module is bounded as well.

/// Most functions of a module, imports excluded.
pub const FUNCTIONS_MAX: usize = 64;
/// Most function types.
pub const TYPES_MAX: usize = 64;
/// Most parameters of a function.
pub const PARAMS_MAX: usize = 16;
/// Most imports.
pub const IMPORTS_MAX: usize = 32;
/// Most globals.
pub const GLOBALS_MAX: usize = 64;
/// Most exports: `evaluate`, the memory if there is one, and those that linkers add.
pub const EXPORTS_MAX: usize = 16;
/// Longest body of one function, in bytes.
pub const BODY_BYTES_MAX: usize = 16 * 1024;
/// Most locals of one function, parameters included.
pub const LOCALS_MAX: u32 = 256;
/// Most blocks, loops and ifs of one function.
pub const BLOCKS_MAX: usize = 1_024;
/// Deepest nesting of blocks, loops and ifs.
pub const BLOCK_DEPTH_MAX: usize = 64;
/// Most targets of all `br_table` instructions of a module, in total.
pub const BRANCH_TARGETS_MAX: usize = 256;
/// Most data segments, and most element segments.
pub const SEGMENTS_MAX: usize = 16;
/// Most elements of a table.
pub const TABLE_ELEMENTS_MAX: u64 = 1_024;
/// Most memory of a module, unless the policy grants another amount, in pages of 64 KiB: 1 MiB.
pub const MEMORY_PAGES_MAX: u64 = 16;
/// Most memory that a service can be configured to grant, in pages: 16 MiB.
pub const MEMORY_PAGES_GRANTED_MAX: u64 = 256;
/// Most fuel that a service can be configured to grant.
pub const FUEL_GRANTED_MAX: u64 = 10_000_000;
/// Most host calls per transaction.
pub const HOST_CALLS_MAX: u32 = 256;
/// Fuel for each byte of a text that a host call reads, and for each key of the objects on the path to it; an array
/// element counts as 16 bytes.
pub const FUEL_PER_TEXT_BYTE: u64 = 1;
/// Fuel for each byte of a text that a pattern searches, before [`Semantics::V4`](crate::Semantics::V4).
pub const FUEL_PER_SEARCHED_BYTE: u64 = 16;
/// Fuel for each past transaction that a history lookup examines individually, before
/// [`Semantics::V4`](crate::Semantics::V4), times the number of filter parts that are not used to find it.
pub const FUEL_PER_ROW: u64 = 1;
/// Most fields, texts, lists and times of a manifest, each.
pub const NEEDS_MAX: usize = 256;
