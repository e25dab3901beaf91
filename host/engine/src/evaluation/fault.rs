//! Rules that have to be quarantined, and why.

use tollgate_model::assessment::RuleFailure;
use tollgate_model::instruction::{ContentDigest, InstructionId};

/// A rule that keeps failing or costs too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailingRule {
    /// The rule.
    pub id: InstructionId,
    /// Digest of its module; a later module under the same id is not affected.
    pub digest: ContentDigest,
    /// The fault.
    pub fault: RuleFault,
}

/// Why a rule has to be quarantined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleFault {
    /// It keeps failing.
    Failures {
        /// The last failure.
        last: RuleFailure,
        /// How many of its last runs failed.
        n_failures: u64,
        /// The number of these runs.
        n_runs: u64,
    },
    /// The rules of its owner keep taking too long while other transactions wait.
    SustainedCost {
        /// Its mean cost over the last transactions, in fuel.
        mean_fuel: u64,
    },
    /// It did not run, because rules of its owner displaced it that are quarantined for their cost, and costs too much
    /// itself.
    DisplacedCost {
        /// Its cost on the transaction on which it was displaced, in fuel.
        fuel: u64,
    },
}
