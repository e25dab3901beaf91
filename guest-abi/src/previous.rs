//! A lookup: did one like this happen in the window?

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::{FieldPath, Item, Window};

/// True when one historical transaction of the window satisfies every pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PreviousSpec {
    /// How far back, both ends included.
    pub window: Window,
    /// What it must equal; never empty. A pair whose value is missing matches nothing.
    pub pairs: Vec<MatchPair>,
}

/// A field of the historical transaction and the value it must equal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatchPair {
    /// The field of the historical transaction.
    pub field: FieldPath,
    /// A literal, or a field of the transaction under evaluation.
    pub value: Item,
}
