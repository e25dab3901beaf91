//! A rule after checking: the last form before it becomes a module, and the form the API shows.

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
}
