//! Size of a series, extrapolated from a sample.

use std::collections::HashMap;
use std::sync::Arc;

use crate::key::Key;
use crate::key_table::KeyTable;
use crate::layout::{Layout, PreparedRow};
use crate::spill::Spill;

use super::sample::StoredSample;

/// Size of a series, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SeriesSize {
    pub(super) bytes: u64,
    /// The part that cannot leave memory.
    pub(super) kept_bytes: u64,
    /// Number of keys.
    pub(super) n_keys: u64,
}

impl SeriesSize {
    pub(super) const fn beyond(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(other.bytes),
            kept_bytes: self.kept_bytes.saturating_sub(other.kept_bytes),
            n_keys: self.n_keys.saturating_sub(other.n_keys),
        }
    }
}

impl StoredSample {
    /// Returns the size of a series of all stored transactions. A key has fewer entries in the sample than in the
    /// series, so as many rows of the sample as the series has entries for each key are put under one key.
    pub(super) fn size_of(&self, layout: &Arc<Layout>) -> SeriesSize {
        let rows: Vec<PreparedRow> = self
            .transactions
            .iter()
            .filter_map(|(sequence, transaction)| layout.prepare(*sequence, transaction))
            .collect();
        if rows.is_empty() {
            return SeriesSize::default();
        }
        let scale = self.scale();
        let n_keys_of_all = n_keys_of_all(&rows, scale);
        let n_keys = (n_keys_of_all / scale).round().clamp(1.0, rows.len() as f64) as usize;
        let keys: Vec<&Key> = rows.iter().map(|row| &row.key).collect();
        let spill = Arc::new(Spill::default());
        let mut table = KeyTable::new(Arc::clone(layout), &spill);
        for (row, key) in rows.iter().zip(keys.iter().take(n_keys).cycle()) {
            table.put(key, &row.entry);
        }
        let all = |bytes: usize| (bytes as f64 * scale) as u64;
        SeriesSize {
            bytes: all(spill.resident_bytes()),
            kept_bytes: all(spill.kept_bytes()),
            n_keys: n_keys_of_all as u64,
        }
    }
}

/// Estimates the number of different keys of all rows, as PostgreSQL's ANALYZE does, by the estimator Duj1 of Haas and
/// Stokes, "Estimating the Number of Classes in a Finite Population", 1998.
fn n_keys_of_all(rows: &[PreparedRow], scale: f64) -> f64 {
    let mut counts: HashMap<&[u8], usize> = HashMap::new();
    for row in rows {
        *counts.entry(row.key.bytes()).or_default() += 1;
    }
    let n_rows = rows.len() as f64;
    let n_once = counts.values().filter(|count| **count == 1).count() as f64;
    n_rows * counts.len() as f64 / (n_rows - n_once + n_once / scale)
}
