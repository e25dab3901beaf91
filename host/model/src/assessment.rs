//! All outcomes of a transaction brought to one verdict.

use std::cmp::Reverse;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use tollgate_guest_abi::{RuleEntry, Verdict, VerdictSeverity};

use crate::instruction::InstructionId;

/// What the service answers, stores and never changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assessment {
    /// Of which transaction.
    pub transaction_id: String,
    /// `approve`, `alert`, `review` or `block`.
    pub verdict: Verdict,
    /// 0 to 1: the highest score of the rules that matched.
    pub score: f64,
    /// Their reasons, severest rule first.
    pub reason: String,
    /// The rules that matched, severest first.
    pub triggered: Vec<Triggered>,
    /// The rules that could not answer.
    pub failures: Vec<FailedRule>,
    /// The rule set all of this was judged by.
    pub rule_set_version: u64,
    /// When, RFC 3339.
    pub evaluated_at: String,
}

/// A rule that matched.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Triggered {
    /// Its instruction.
    pub instruction_id: InstructionId,
    /// Its name.
    pub name: String,
    /// What it says.
    pub verdict: Verdict,
    /// How risky it finds that.
    pub score: f64,
    /// Why.
    pub reason: String,
}

/// A rule that could not answer. It never means allow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailedRule {
    /// Its instruction.
    pub instruction_id: InstructionId,
    /// Its name.
    pub name: String,
    /// What went wrong.
    pub failure: RuleFailure,
}

/// How a rule dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum RuleFailure {
    /// It executed what cannot be executed.
    #[error("the module trapped")]
    Trap,
    /// It used up its instructions.
    #[error("the module ran out of fuel")]
    Fuel,
    /// It asked for more memory than it may have.
    #[error("the module went over its memory limit")]
    Memory,
    /// It called itself too deep.
    #[error("the module ran out of stack")]
    Stack,
    /// It took too long by the clock.
    #[error("the module ran out of time")]
    Timeout,
    /// It asked the host for something its manifest does not name.
    #[error("the module made a call it may not make")]
    HostCall,
    /// It called the host more often than it may.
    #[error("the module called the host too often")]
    HostCallLimit,
    /// What it answered is no answer.
    #[error("the module gave an invalid answer")]
    InvalidOutput,
    /// What it asked of the history could not be told.
    #[error("the history could not answer the module")]
    Lookup,
    /// It names a list that nobody set.
    #[error("the rule names a list that is not set")]
    List,
    /// The host itself broke while it ran.
    #[error("the host failed while the module ran")]
    Internal,
    /// It was not run: it had failed too often, or may not or cannot be run any more.
    #[error("the rule is in quarantine")]
    Quarantined,
}

impl RuleFailure {
    /// Every way.
    pub const ALL: [RuleFailure; 12] = [
        RuleFailure::Trap,
        RuleFailure::Fuel,
        RuleFailure::Memory,
        RuleFailure::Stack,
        RuleFailure::Timeout,
        RuleFailure::HostCall,
        RuleFailure::HostCallLimit,
        RuleFailure::InvalidOutput,
        RuleFailure::Lookup,
        RuleFailure::List,
        RuleFailure::Internal,
        RuleFailure::Quarantined,
    ];

    /// Whether the rule alone is to blame, and not the machine or the host.
    #[must_use]
    pub const fn is_own_fault(self) -> bool {
        match self {
            RuleFailure::Trap
            | RuleFailure::Fuel
            | RuleFailure::Memory
            | RuleFailure::Stack
            | RuleFailure::HostCall
            | RuleFailure::HostCallLimit
            | RuleFailure::InvalidOutput => true,
            RuleFailure::Timeout
            | RuleFailure::Lookup
            | RuleFailure::List
            | RuleFailure::Internal
            | RuleFailure::Quarantined => false,
        }
    }

    /// The word on the wire and in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            RuleFailure::Trap => "trap",
            RuleFailure::Fuel => "fuel",
            RuleFailure::Memory => "memory",
            RuleFailure::Stack => "stack",
            RuleFailure::Timeout => "timeout",
            RuleFailure::HostCall => "host_call",
            RuleFailure::HostCallLimit => "host_call_limit",
            RuleFailure::InvalidOutput => "invalid_output",
            RuleFailure::Lookup => "lookup",
            RuleFailure::List => "list",
            RuleFailure::Internal => "internal",
            RuleFailure::Quarantined => "quarantined",
        }
    }
}

/// What one rule said of one transaction.
#[derive(Debug, Clone, PartialEq)]
pub enum RuleOutcome {
    /// Its condition holds.
    Matched,
    /// Its condition holds, and of this transaction it has more to say than of others.
    MatchedSaying(Box<RuleStatement>),
    /// It does not.
    NotMatched,
    /// Nobody knows.
    Failed(RuleFailure),
}

/// What a rule says of one transaction in place of what its manifest says of all.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RuleStatement {
    /// 0 to 1.
    pub score: Option<f64>,
    /// Why.
    pub reason: Option<String>,
}

/// Answered when no rule matched and none failed.
pub const NO_RULE_MATCHED: &str = "No rule matched";

impl Assessment {
    /// Consolidates: the severest verdict, the highest score, every reason. A failure lifts the verdict to at least
    /// `review`. Adding a rule can never make the verdict milder.
    pub fn consolidate<'a>(
        transaction_id: &str,
        rule_set_version: u64,
        evaluated_at: DateTime<Utc>,
        outcomes: impl Iterator<Item = (InstructionId, &'a RuleEntry, RuleOutcome)>,
    ) -> Self {
        let mut triggered = Vec::new();
        let mut failures = Vec::new();
        for (instruction_id, entry, outcome) in outcomes {
            match outcome {
                RuleOutcome::Matched => {
                    triggered.push(matched(instruction_id, entry, RuleStatement::default()))
                }
                RuleOutcome::MatchedSaying(said) => triggered.push(matched(instruction_id, entry, *said)),
                RuleOutcome::NotMatched => {}
                RuleOutcome::Failed(failure) => {
                    failures.push(FailedRule { instruction_id, name: entry.name.clone(), failure });
                }
            }
        }
        // Order must not depend on the order of the rules: severity, then score, then name.
        triggered.sort_by(|left, right| {
            let weight = |rule: &Triggered| Reverse(rule.verdict.severity());
            weight(left)
                .cmp(&weight(right))
                .then(right.score.total_cmp(&left.score))
                .then_with(|| left.name.cmp(&right.name))
        });
        failures.sort_by(|left, right| left.name.cmp(&right.name));
        Self {
            transaction_id: transaction_id.to_owned(),
            verdict: severest(&triggered, &failures).verdict(),
            score: triggered.iter().map(|rule| rule.score).fold(0.0, f64::max),
            reason: join_reasons(&triggered, &failures),
            triggered,
            failures,
            rule_set_version,
            evaluated_at: evaluated_at.to_rfc3339_opts(SecondsFormat::Micros, true),
        }
    }
}

fn matched(instruction_id: InstructionId, entry: &RuleEntry, said: RuleStatement) -> Triggered {
    Triggered {
        instruction_id,
        name: entry.name.clone(),
        verdict: entry.verdict,
        score: said.score.unwrap_or(entry.score),
        reason: said.reason.unwrap_or_else(|| entry.reason.clone()),
    }
}

fn severest(triggered: &[Triggered], failures: &[FailedRule]) -> VerdictSeverity {
    let matched =
        triggered.iter().map(|rule| rule.verdict.severity()).max().unwrap_or(VerdictSeverity::Approve);
    if failures.is_empty() { matched } else { matched.max(VerdictSeverity::Review) }
}

fn join_reasons(triggered: &[Triggered], failures: &[FailedRule]) -> String {
    let matched = triggered.iter().map(|rule| rule.reason.clone());
    let failed = failures.iter().map(|rule| format!("Rule `{}` could not be evaluated", rule.name));
    let reasons: Vec<String> = matched.chain(failed).collect();
    if reasons.is_empty() { NO_RULE_MATCHED.to_owned() } else { reasons.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, verdict: Verdict, score: f64) -> RuleEntry {
        RuleEntry { name: name.into(), description: None, verdict, score, reason: format!("because {name}") }
    }

    #[track_caller]
    fn check(outcomes: &[(RuleEntry, RuleOutcome)], verdict: Verdict, score: f64, reason: &str) {
        let rules = outcomes.iter().map(|(entry, outcome)| (InstructionId(1), entry, outcome.clone()));
        let assessment = Assessment::consolidate("t", 1, DateTime::default(), rules);
        assert_eq!(
            (assessment.verdict, assessment.score, assessment.reason.as_str()),
            (verdict, score, reason)
        );
        let reversed =
            outcomes.iter().rev().map(|(entry, outcome)| (InstructionId(1), entry, outcome.clone()));
        assert_eq!(
            Assessment::consolidate("t", 1, DateTime::default(), reversed),
            assessment,
            "order has no effect"
        );
    }

    #[test]
    fn without_a_match_a_transaction_is_approved() {
        check(&[], Verdict::Approve, 0.0, NO_RULE_MATCHED);
        check(
            &[(entry("a", Verdict::Block, 1.0), RuleOutcome::NotMatched)],
            Verdict::Approve,
            0.0,
            NO_RULE_MATCHED,
        );
    }

    #[test]
    fn the_severest_verdict_and_the_highest_score_win() {
        let rules = [
            (entry("a", Verdict::Alert, 0.9), RuleOutcome::Matched),
            (entry("b", Verdict::Deny, 0.3), RuleOutcome::Matched),
            (entry("c", Verdict::Allow, 0.1), RuleOutcome::Matched),
            (entry("d", Verdict::Block, 0.5), RuleOutcome::Matched),
        ];
        check(&rules, Verdict::Block, 0.9, "because d; because b; because a; because c");
    }

    #[test]
    fn a_rule_that_failed_means_at_least_review() {
        let failed = RuleOutcome::Failed(RuleFailure::Fuel);
        let lonely = [(entry("a", Verdict::Allow, 0.0), failed.clone())];
        check(&lonely, Verdict::Review, 0.0, "Rule `a` could not be evaluated");
        let beside_a_block = [
            (entry("a", Verdict::Allow, 0.0), failed),
            (entry("b", Verdict::Block, 0.7), RuleOutcome::Matched),
        ];
        check(&beside_a_block, Verdict::Block, 0.7, "because b; Rule `a` could not be evaluated");
    }
}
