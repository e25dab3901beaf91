//! A rule after checking: the last form before it becomes a module, and the form the API shows.

use std::ops::Range;

use serde::Serialize;
use tollgate_guest_abi::{Condition, RuleEntry};

/// A rule whose names are resolved and whose types are settled; nothing in it can still be wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckedRule {
    /// Name, description, verdict, score, reason.
    #[serde(flatten)]
    pub entry: RuleEntry,
    /// When it matches.
    pub when: Condition,
    /// Where each test of `when` stands in the script, in bytes, in the order in which they are made: whatever of `when` is not
    /// `all`, `any` or `not`. Both halves of a `between` stand in the same place. Empty when there is no script.
    #[serde(skip)]
    pub tests: Vec<Range<usize>>,
}
