//! Several rules in one module.

use std::sync::Arc;

use tollgate_compiler::emit::Selection;
use tollgate_model::instruction::{ContentDigest, InstructionId};

use crate::registry::BoundModule;

/// A module that answers for several rules, one bit each, as their own modules would. Rule sets that it fits share it.
#[derive(Debug)]
pub struct FusedBody {
    /// The rule of each bit, with the digest of its own module.
    pub members: Vec<FusedMember>,
    /// The module.
    pub bound: Arc<BoundModule>,
    /// A condition without which no member matches or fails.
    pub selection: Selection,
    /// Whether the body was split off because its rules exceeded the limits of one module; it accepts no more members.
    pub is_full: bool,
}

/// One rule of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FusedMember {
    /// The rule.
    pub id: InstructionId,
    /// Digest of its own module.
    pub digest: ContentDigest,
}
