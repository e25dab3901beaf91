//! Checked rules: the input of emission, and the form shown by the API.

use std::ops::Range;

use serde::Serialize;
use tollgate_guest_abi::{Condition, RuleEntry};

/// A valid rule: its names are resolved and its types are settled.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckedRule {
    /// Name, description, verdict, score and reason.
    #[serde(flatten)]
    pub entry: RuleEntry,
    /// The condition.
    pub when: Condition,
    /// Byte range of each test of `when` in the script, in evaluation order. A test is any condition other than `all`,
    /// `any` and `not`. Both halves of a `between` share one range. Empty when there is no script.
    #[serde(skip)]
    pub tests: Vec<Range<usize>>,
}
