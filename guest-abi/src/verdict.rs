//! What a rule, and in the end the service, says of a transaction.

use core::fmt;

use serde::{Deserialize, Serialize};

/// The word after `then`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Let it through; the same as [`Verdict::Approve`].
    Allow,
    /// Let it through.
    Approve,
    /// Let it through and tell someone.
    Alert,
    /// Hold it for a person.
    Review,
    /// Refuse it; the same as [`Verdict::Block`].
    Deny,
    /// Refuse it.
    Block,
}

/// How much a verdict weighs: `block = deny > review > alert > approve = allow`.
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
    /// Every word, in the order in which the language lists them.
    pub const ALL: [Verdict; 6] =
        [Verdict::Allow, Verdict::Block, Verdict::Review, Verdict::Approve, Verdict::Deny, Verdict::Alert];

    /// The word as scripts and answers write it.
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

    /// How much it weighs when several rules matched.
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
    /// The word in which the service answers: `approve`, `alert`, `review` or `block`.
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
