//! Checks the estimated cost of a rule against a grant.

use std::fmt;

use tollgate_history::QueryEstimate;

use super::RuleGrant;

/// A rule that would cost more than its author may use, by an estimate against what is stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct TooExpensive {
    /// The estimate.
    pub estimate: QueryEstimate,
    /// The fuel that its author may use.
    fuel_max: u64,
    /// The memory that its author may use, in bytes.
    bytes_max: Option<u64>,
}

impl fmt::Display for TooExpensive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let QueryEstimate { n_stored, fuel, bytes, .. } = self.estimate;
        write!(f, "with the {n_stored} transactions stored")?;
        if fuel > self.fuel_max {
            write!(
                f,
                ", the rule would read the history for about {fuel} units of fuel on each transaction, and may use {}: compare a \
                 field for equality with `$current`, shorten the windows, or have `scans` granted",
                self.fuel_max
            )?;
        }
        if let Some(most) = self.bytes_max.filter(|most| bytes > *most) {
            write!(
                f,
                ", its history would take about {bytes} bytes of memory, and may take {most}: compare fewer fields, or have \
                 `history_bytes` granted"
            )?;
        }
        Ok(())
    }
}

impl RuleGrant {
    /// Checks the estimated cost of a new rule.
    ///
    /// # Errors
    /// When it exceeds this grant.
    pub fn check_estimate(&self, estimate: QueryEstimate) -> Result<(), TooExpensive> {
        let (fuel_max, bytes_max) = (self.scans, self.history_bytes);
        if estimate.fuel <= fuel_max && bytes_max.is_none_or(|most| estimate.bytes <= most) {
            return Ok(());
        }
        Err(TooExpensive { estimate, fuel_max, bytes_max })
    }
}
