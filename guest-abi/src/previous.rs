//! Previous-transaction lookups: whether a similar transaction occurred within a window.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::{FieldPath, Item, Window};

/// A lookup that is true when one historical transaction of the window satisfies every pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PreviousSpec {
    /// Time range before the transaction, both ends included.
    pub window: Window,
    /// The required values; never empty. A pair whose value is missing matches nothing.
    pub pairs: Vec<MatchPair>,
}

/// A field of the historical transaction and its required value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatchPair {
    /// The field of the historical transaction.
    pub field: FieldPath,
    /// A literal, or a field of the transaction under evaluation.
    pub value: Item,
}
