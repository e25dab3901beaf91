//! Several rules in one module.

use std::sync::Arc;

use tollgate_compiler::emit::Selection;
use tollgate_model::instruction::{ContentDigest, InstructionId};

use crate::registry::BoundModule;

/// A module that answers for several rules as their own modules would, a bit for each. Shared by every rule set it fits.
#[derive(Debug)]
pub struct FusedBody {
    /// Whose bit is which, and of which module it is the answer.
    pub members: Vec<FusedMember>,
    /// What runs.
    pub bound: Arc<BoundModule>,
    /// Without which none of them matches, and none fails.
    pub selection: Selection,
    /// Whether these are a part of more that was too much for one module: nothing is added to them.
    pub is_full: bool,
}

/// One rule of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FusedMember {
    /// Which.
    pub id: InstructionId,
    /// Of its own module.
    pub digest: ContentDigest,
}
