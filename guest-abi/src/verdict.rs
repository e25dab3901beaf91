//! Verdicts of rules and of the service.

use core::fmt;

use serde::{Deserialize, Serialize};

/// The verdict of a rule, written after `then`: `allow` means `approve`, and `deny` means `block`.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Let the transaction through; same as [`Verdict::Approve`].
    Allow,
    /// Let the transaction through.
    Approve,
    /// Let the transaction through and send an alert.
    Alert,
    /// Hold the transaction for manual review.
    Review,
    /// Refuse the transaction; same as [`Verdict::Block`].
    Deny,
    /// Refuse the transaction.
    Block,
}

/// The verdict on a transaction, mildest first. It is also the severity of the verdict of a rule: `allow` counts as
/// `approve`, and `deny` as `block`.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = FinalVerdict, rename_all = "lowercase"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VerdictSeverity {
    /// `approve`, `allow`
    Approve,
    /// `alert`
    Alert,
    /// `review`
    Review,
    /// `block`, `deny`
    Block,
}

impl Verdict {
    /// Every verdict, in the order of the language reference.
    pub const ALL: [Verdict; 6] =
        [Verdict::Allow, Verdict::Block, Verdict::Review, Verdict::Approve, Verdict::Deny, Verdict::Alert];

    /// Returns the spelling used in scripts and responses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Allow => "allow",
            Verdict::Approve => "approve",
            Verdict::Alert => "alert",
            Verdict::Review => "review",
            Verdict::Deny => "deny",
            Verdict::Block => "block",
        }
    }

    /// Returns the severity, which ranks the verdicts of several matching rules.
    #[must_use]
    pub const fn severity(self) -> VerdictSeverity {
        match self {
            Verdict::Allow | Verdict::Approve => VerdictSeverity::Approve,
            Verdict::Alert => VerdictSeverity::Alert,
            Verdict::Review => VerdictSeverity::Review,
            Verdict::Deny | Verdict::Block => VerdictSeverity::Block,
        }
    }
}

impl VerdictSeverity {
    /// Returns the verdict that the service reports: `approve`, `alert`, `review` or `block`.
    #[must_use]
    pub const fn verdict(self) -> Verdict {
        match self {
            VerdictSeverity::Approve => Verdict::Approve,
            VerdictSeverity::Alert => Verdict::Alert,
            VerdictSeverity::Review => Verdict::Review,
            VerdictSeverity::Block => Verdict::Block,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_answers_in_four_words() {
        for verdict in Verdict::ALL {
            let answered = verdict.severity().verdict();
            assert_eq!(answered.severity(), verdict.severity());
            assert!(matches!(answered, Verdict::Approve | Verdict::Alert | Verdict::Review | Verdict::Block));
        }
    }

    #[test]
    fn block_outweighs_review_outweighs_alert_outweighs_approve() {
        assert!(VerdictSeverity::Block > VerdictSeverity::Review);
        assert!(VerdictSeverity::Review > VerdictSeverity::Alert);
        assert!(VerdictSeverity::Alert > VerdictSeverity::Approve);
    }
}
