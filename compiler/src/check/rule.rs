//! Checks the rule around the condition: name, description, verdict, score, reason.

use tollgate_guest_abi::RuleEntry;
use tollgate_guest_abi::limits::{DESCRIPTION_BYTES_MAX, NAME_BYTES_MAX, REASON_BYTES_MAX};

use crate::ast::{Rule, Spanned};
use crate::check::{Checker, ConditionPart};
use crate::checked::CheckedRule;
use crate::codes::Code;

/// The reason of a rule that states none.
const NO_REASON: &str = "No reason provided";

impl Checker<'_, '_> {
    /// Assembles the rule after every node is lowered.
    pub(super) fn rule(mut self, rule: &Rule) -> Option<CheckedRule> {
        let when = rule.when.and_then(|when| self.take_condition(when)).map(|draft| self.finish(draft));
        self.report_unknown_fields();
        self.bound("name", rule.name.as_ref(), NAME_BYTES_MAX);
        self.bound("description", rule.description.as_ref(), DESCRIPTION_BYTES_MAX);
        self.bound("reason", rule.then.reason.as_ref(), REASON_BYTES_MAX);
        self.check_score(rule.then.score.as_ref());
        if self.findings.has_error() {
            return None;
        }
        let entry = RuleEntry {
            name: rule.name.as_ref()?.value.clone(),
            description: rule.description.as_ref().map(|description| description.value.clone()),
            verdict: rule.then.verdict?,
            score: rule.then.score.as_ref().map_or(0.0, |score| score.value),
            reason: rule
                .then
                .reason
                .as_ref()
                .map_or_else(|| NO_REASON.to_owned(), |reason| reason.value.clone()),
        };
        let ConditionPart { condition, tests, .. } = when??;
        let tests = tests.into_iter().map(|span| span.start..span.end).collect();
        Some(CheckedRule { entry, when: condition, tests })
    }

    fn bound(&mut self, what: &str, text: Option<&Spanned<String>>, n_bytes_max: usize) {
        if let Some(text) = text
            && text.value.len() > n_bytes_max
        {
            let n_bytes = text.value.len();
            self.findings.report(Code::TextTooLong, text.span, || {
                format!("the {what} is too long: it has {n_bytes} bytes, at most {n_bytes_max} are allowed")
            });
        }
    }

    fn check_score(&mut self, score: Option<&Spanned<f64>>) {
        if let Some(score) = score
            && !(0.0..=1.0).contains(&score.value)
        {
            self.findings
                .report(Code::ScoreOutOfRange, score.span, || "a score is between 0 and 1".to_owned())
                .help(|| "0 is the lowest risk, 1 the highest; 70 percent is written `score 0.7`".to_owned());
        }
    }
}
