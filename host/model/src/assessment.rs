//! The consolidation of all outcomes of a transaction into one verdict.

mod reasons;

use std::cmp::Reverse;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use tollgate_guest_abi::{RuleEntry, Semantics, Verdict, VerdictSeverity};
use utoipa::ToSchema;

use crate::hold::{HoldReason, HoldReasons};
use crate::instruction::InstructionId;
use crate::transaction::LeftOutFields;

/// The result for one transaction, returned and stored by the service. It never changes.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Assessment {
    /// Id of the transaction; generated if none was sent.
    #[schema(example = "txn_1")]
    pub transaction_id: String,
    /// Most severe verdict of the matched rules; at least `review` if a rule failed.
    #[schema(value_type = VerdictSeverity)]
    pub verdict: Verdict,
    /// Highest score of the matched rules; 0 if none matched.
    #[schema(minimum = 0, maximum = 1)]
    pub score: f64,
    /// Reasons of the severest 16 matched rules, then a note for each of the first 16 failed rules. If there are more,
    /// it ends with their number: `; and 384 more`.
    pub reason: String,
    /// Matched rules, severest first.
    pub triggered: Vec<Triggered>,
    /// Rules that failed, and reasons to hold every transaction.
    pub failures: Vec<FailedRule>,
    /// Version of the rule set that was evaluated.
    pub rule_set_version: u64,
    /// Time of the evaluation, RFC 3339.
    #[schema(value_type = DateTime<Utc>)]
    pub evaluated_at: String,
}

/// A rule that matched.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Triggered {
    /// Instruction of the rule.
    #[schema(value_type = i64)]
    pub instruction_id: InstructionId,
    /// Name of the rule. Only the severest 16 rules have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    /// Verdict of the rule.
    pub verdict: Verdict,
    /// Score of the rule.
    #[schema(minimum = 0, maximum = 1)]
    pub score: f64,
    /// Reason given by the rule. Only the severest 16 rules have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<String>,
}

/// A rule that failed, or a reason to hold every transaction. A failure never counts as approval.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct FailedRule {
    /// Instruction of the rule; 0 if the failure is not of a rule.
    #[schema(value_type = i64)]
    pub instruction_id: InstructionId,
    /// Name of the rule; of the readiness check with `not_ready` and `clock`. Only the first 16 rules have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    /// Cause of the failure.
    pub failure: RuleFailure,
}

/// The ways in which a rule can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema, thiserror::Error)]
#[schema(as = Failure)]
#[serde(rename_all = "snake_case")]
pub enum RuleFailure {
    /// The module executed an invalid operation.
    #[error("the module trapped")]
    Trap,
    /// The module used up its fuel.
    #[error("the module ran out of fuel")]
    Fuel,
    /// The rules of its owner used up their fuel.
    #[error("the rules of its owner used up their fuel")]
    Budget,
    /// The module exceeded its memory limit.
    #[error("the module went over its memory limit")]
    Memory,
    /// The module recursed too deeply.
    #[error("the module ran out of stack")]
    Stack,
    /// The module exceeded its time limit.
    #[error("the module ran out of time")]
    Timeout,
    /// The module made a host call that its manifest does not declare.
    #[error("the module made a call it may not make")]
    HostCall,
    /// The module made too many host calls.
    #[error("the module called the host too often")]
    HostCallLimit,
    /// The module returned an invalid answer.
    #[error("the module gave an invalid answer")]
    InvalidOutput,
    /// The history could not answer a lookup of the module.
    #[error("the history could not answer the module")]
    Lookup,
    /// The rule names a list that is not set.
    #[error("the rule names a list that is not set")]
    List,
    /// The host failed while the module ran.
    #[error("the host failed while the module ran")]
    Internal,
    /// The rule was not run: it failed too often, or its module is no longer permitted or admitted.
    #[error("the rule is in quarantine")]
    Quarantined,
    /// Every rule ran, but on a transaction of which a part was left out. `name` has the names of that part, and
    /// `instruction_id` is 0.
    #[error("a part of the transaction was left out")]
    LeftOut,
    /// No rule failed: the service was not ready, and a verdict could have lacked rules or lists.
    #[error("the service is not ready")]
    NotReady,
    /// No rule failed: the clock was set back, and windows of time could have missed transactions.
    #[error("the clock was set back")]
    Clock,
}

impl RuleFailure {
    /// All failures.
    pub const ALL: [RuleFailure; 16] = [
        RuleFailure::Trap,
        RuleFailure::Fuel,
        RuleFailure::Budget,
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
        RuleFailure::LeftOut,
        RuleFailure::NotReady,
        RuleFailure::Clock,
    ];

    /// Returns whether the rule alone caused the failure, not the machine or the host.
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
            RuleFailure::Budget
            | RuleFailure::Timeout
            | RuleFailure::Lookup
            | RuleFailure::List
            | RuleFailure::Internal
            | RuleFailure::Quarantined
            | RuleFailure::LeftOut
            | RuleFailure::NotReady
            | RuleFailure::Clock => false,
        }
    }

    /// Returns the name used on the wire and in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            RuleFailure::Trap => "trap",
            RuleFailure::Fuel => "fuel",
            RuleFailure::Budget => "budget",
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
            RuleFailure::LeftOut => "left_out",
            RuleFailure::NotReady => "not_ready",
            RuleFailure::Clock => "clock",
        }
    }
}

/// The outcome of one rule for one transaction.
#[derive(Debug, Clone, PartialEq)]
pub enum RuleOutcome {
    /// The condition holds.
    Matched,
    /// The condition holds, and the rule returned a score or reason for this transaction.
    MatchedSaying(Box<RuleStatement>),
    /// The condition does not hold.
    NotMatched,
    /// The rule failed, so its outcome is unknown.
    Failed(RuleFailure),
}

/// A score and reason for one transaction that replace those of the manifest.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RuleStatement {
    /// Score from 0 to 1.
    pub score: Option<f64>,
    /// Reason.
    pub reason: Option<String>,
}

/// The reason if no rule matched and none failed.
pub(crate) const NO_RULE_MATCHED: &str = "No rule matched";

impl Assessment {
    /// Consolidates outcomes into the severest verdict, the highest score and the reasons, by the semantics of the rule
    /// set. A failure raises the verdict to at least `review`. Adding a rule can never make the verdict milder.
    pub fn consolidate<'a>(
        transaction_id: &str,
        (rule_set_version, semantics): (u64, Semantics),
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
                    let name = Some(entry.name.clone());
                    failures.push(FailedRule { instruction_id, name, failure });
                }
            }
        }
        // Sorts by severity, score and name, so that the result does not depend on the order of the rules.
        triggered.sort_by(|left, right| {
            let weight = |rule: &Triggered| Reverse(rule.verdict.severity());
            weight(left)
                .cmp(&weight(right))
                .then(right.score.total_cmp(&left.score))
                .then_with(|| left.name.cmp(&right.name))
        });
        failures.sort_by(|left, right| left.name.cmp(&right.name));
        if semantics.bounds_reasons() {
            reasons::bound(&mut triggered, &mut failures);
        }
        Self {
            transaction_id: transaction_id.to_owned(),
            verdict: severest(&triggered, &failures).verdict(),
            score: triggered.iter().map(|rule| rule.score).fold(0.0, f64::max),
            reason: reasons::join(&triggered, &failures),
            triggered,
            failures,
            rule_set_version,
            evaluated_at: evaluated_at.to_rfc3339_opts(SecondsFormat::Micros, true),
        }
    }

    /// Holds the transaction for these reasons: each is a failure, and the verdict is at least `review`.
    #[must_use]
    pub fn held_for(mut self, reasons: HoldReasons) -> Self {
        for reason in reasons.iter() {
            let (failure, note) = match reason {
                HoldReason::Clock => (RuleFailure::Clock, "The clock was set back".to_owned()),
                _ => (RuleFailure::NotReady, format!("The service is not ready: check `{}`", reason.check())),
            };
            self.fail(failure, reason.check().to_owned(), note);
        }
        self
    }

    /// Adds a failure, and so at least `review`, if a part of the transaction was left out and the operator does not have
    /// such transactions judged like others.
    #[must_use]
    pub fn with_left_out(mut self, left_out: Option<&LeftOutFields>) -> Self {
        let Some(left_out) = left_out.filter(|left_out| left_out.is_reviewed()) else { return self };
        let names = left_out.names().join(", ");
        let note = format!("Left out of the transaction: {names}");
        self.fail(RuleFailure::LeftOut, names, note);
        self
    }

    /// Adds a failure that is not of a rule. The verdict is at least `review`.
    fn fail(&mut self, failure: RuleFailure, name: String, note: String) {
        self.reason = reasons::add(&self.reason, &note, &self.triggered, &self.failures);
        self.failures.push(FailedRule { instruction_id: NO_INSTRUCTION, name: Some(name), failure });
        if self.verdict.severity() < VerdictSeverity::Review {
            self.verdict = VerdictSeverity::Review.verdict();
        }
    }
}

/// The id of a failure that is not of a rule. Ids of instructions begin with 1.
const NO_INSTRUCTION: InstructionId = InstructionId(0);

fn matched(instruction_id: InstructionId, entry: &RuleEntry, said: RuleStatement) -> Triggered {
    Triggered {
        instruction_id,
        name: Some(entry.name.clone()),
        verdict: entry.verdict,
        score: said.score.unwrap_or(entry.score),
        reason: Some(said.reason.unwrap_or_else(|| entry.reason.clone())),
    }
}

fn severest(triggered: &[Triggered], failures: &[FailedRule]) -> VerdictSeverity {
    let matched =
        triggered.iter().map(|rule| rule.verdict.severity()).max().unwrap_or(VerdictSeverity::Approve);
    if failures.is_empty() { matched } else { matched.max(VerdictSeverity::Review) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURRENT: (u64, Semantics) = (1, Semantics::CURRENT);

    fn entry(name: &str, verdict: Verdict, score: f64) -> RuleEntry {
        RuleEntry { name: name.into(), description: None, verdict, score, reason: format!("because {name}") }
    }

    #[track_caller]
    fn check(outcomes: &[(RuleEntry, RuleOutcome)], verdict: Verdict, score: f64, reason: &str) {
        let rules = outcomes.iter().map(|(entry, outcome)| (InstructionId(1), entry, outcome.clone()));
        let assessment = Assessment::consolidate("t", CURRENT, DateTime::default(), rules);
        assert_eq!(
            (assessment.verdict, assessment.score, assessment.reason.as_str()),
            (verdict, score, reason)
        );
        let reversed =
            outcomes.iter().rev().map(|(entry, outcome)| (InstructionId(1), entry, outcome.clone()));
        assert_eq!(
            Assessment::consolidate("t", CURRENT, DateTime::default(), reversed),
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

    #[track_caller]
    fn check_held(rule: Option<Verdict>, reasons: &[HoldReason], verdict: Verdict, reason: &str) {
        let entry = entry("a", rule.unwrap_or(Verdict::Approve), 0.3);
        let outcomes = rule.iter().map(|_| (InstructionId(1), &entry, RuleOutcome::Matched));
        let assessment = Assessment::consolidate("t", CURRENT, DateTime::default(), outcomes);
        let held = assessment.held_for(reasons.to_vec().into());
        let names: Vec<&str> = held.failures.iter().filter_map(|failed| failed.name.as_deref()).collect();
        let checks: Vec<&str> = reasons.iter().map(|reason| reason.check()).collect();
        assert_eq!((held.verdict, held.reason.as_str(), names), (verdict, reason, checks));
    }

    #[test]
    fn a_reason_to_hold_means_at_least_review() {
        use HoldReason::{Clock, Rules};
        check_held(None, &[], Verdict::Approve, NO_RULE_MATCHED);
        check_held(None, &[Rules], Verdict::Review, "The service is not ready: check `rules`");
        check_held(Some(Verdict::Allow), &[Clock], Verdict::Review, "because a; The clock was set back");
        check_held(Some(Verdict::Deny), &[Clock], Verdict::Block, "because a; The clock was set back");
    }

    /// Consolidates rules that match, named `m00` and so on, and rules that fail, named `f00` and so on.
    fn of_many(semantics: Semantics, n_matched: usize, n_failed: usize) -> Assessment {
        let matched = (0..n_matched).map(|n| (format!("m{n:02}"), RuleOutcome::Matched));
        let failed = (0..n_failed).map(|n| (format!("f{n:02}"), RuleOutcome::Failed(RuleFailure::Trap)));
        let rules: Vec<(RuleEntry, RuleOutcome)> = matched
            .chain(failed)
            .map(|(name, outcome)| (entry(&name, Verdict::Alert, 0.5), outcome))
            .collect();
        let outcomes =
            rules.iter().zip(1..).map(|((entry, outcome), id)| (InstructionId(id), entry, outcome.clone()));
        Assessment::consolidate("t", (1, semantics), DateTime::default(), outcomes)
    }

    #[track_caller]
    fn check_many(
        semantics: Semantics,
        (n_matched, n_failed): (usize, usize),
        named: (usize, usize),
        end: &str,
    ) {
        let assessment = of_many(semantics, n_matched, n_failed);
        let (reasons, notes) = ((0..named.0), (0..named.1));
        let reasons = reasons.map(|n| format!("because m{n:02}"));
        let notes = notes.map(|n| format!("Rule `f{n:02}` could not be evaluated"));
        let said: Vec<String> = reasons.chain(notes).collect();
        assert_eq!(assessment.reason, said.join("; ") + end);
        let ids = assessment.triggered.iter().map(|rule| rule.instruction_id);
        let ids: Vec<i64> =
            ids.chain(assessment.failures.iter().map(|rule| rule.instruction_id)).map(|id| id.0).collect();
        assert_eq!(ids, (1..).take(n_matched + n_failed).collect::<Vec<_>>(), "the ids of all");
        let has_both = |rule: &&Triggered| rule.name.is_some() && rule.reason.is_some();
        let n_named = assessment.triggered.iter().take_while(has_both).count();
        assert_eq!((n_named, assessment.failures.iter().filter(|rule| rule.name.is_some()).count()), named);
        let held = assessment.held_for(vec![HoldReason::Clock].into());
        assert_eq!(held.reason, said.join("; ") + "; The clock was set back" + end);
    }

    #[test]
    fn only_the_first_rules_are_named_and_give_their_reasons() {
        use Semantics::{V4, V5};
        check_many(V5, (16, 16), (16, 16), "");
        check_many(V5, (17, 0), (16, 0), "; and 1 more");
        check_many(V5, (0, 17), (0, 16), "; and 1 more");
        check_many(V5, (20, 19), (16, 16), "; and 7 more");
        check_many(V4, (20, 19), (20, 19), "");
    }

    #[test]
    fn a_rule_without_a_name_is_an_object_without_it() {
        let assessment = of_many(Semantics::V5, 17, 17);
        let text = |value: Option<String>| value.unwrap_or_default();
        let last = assessment.triggered.last().map(|rule| serde_json::to_string(rule).unwrap());
        assert_eq!(text(last), r#"{"instruction_id":17,"verdict":"alert","score":0.5}"#);
        let last = assessment.failures.last().map(|rule| serde_json::to_string(rule).unwrap());
        assert_eq!(text(last), r#"{"instruction_id":34,"failure":"trap"}"#);
    }
}
