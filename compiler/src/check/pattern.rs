//! Checks `regex` and `not_regex`. A pattern is refused exactly when the search engine would refuse it.

use regex::RegexBuilder;
use tollgate_guest_abi::Condition;
use tollgate_guest_abi::limits::{
    PATTERN_BYTES_MAX, PATTERN_COMPILED_BYTES_MAX, PATTERN_NESTING_MAX, PATTERNS_MAX,
};

use crate::ast::{NodeId, Spanned};
use crate::check::compare::is_literal;
use crate::check::value_kind::{self, ValueKind};
use crate::check::{Checker, ConditionPart, Lowered, PartialCondition};
use crate::codes::Code;
use crate::span::Span;

impl Checker<'_, '_> {
    pub(super) fn matches(
        &mut self,
        value: NodeId,
        pattern: Option<&Spanned<String>>,
        negated: bool,
        span: Span,
    ) -> Option<Lowered> {
        let value = self.take_value(value);
        let pattern = self.pattern(pattern?);
        let (value, pattern) = (value?, pattern?);
        if is_literal(&value.operand) {
            self.findings
                .report(Code::LiteralsCompared, span, || "both sides of this test are literals".to_owned())
                .help(|| "search a field of the transaction".to_owned());
            return None;
        }
        let nature = value_kind::kind_of_operand(&value.operand);
        if nature == ValueKind::Nothing || (nature == ValueKind::Object && !negated) {
            self.report_foregone(false, span, || "there is no text to search in".to_owned());
        } else if matches!(pattern.as_str(), "" | ".*") && nature != ValueKind::Unknown {
            self.report_foregone(!negated, span, || "the pattern matches every text".to_owned());
        }
        let depth = self.above(value.depth, span)?;
        let condition = Condition::Matches { value: value.operand, pattern, negated };
        Some(Lowered::Condition(PartialCondition::One(ConditionPart::test(condition, span, depth))))
    }

    /// Returns the pattern if the engine accepts it; `None` after reporting otherwise.
    fn pattern(&mut self, pattern: &Spanned<String>) -> Option<String> {
        if self.patterns.contains(&pattern.value) {
            return Some(pattern.value.clone());
        }
        if self.patterns.len() == PATTERNS_MAX {
            self.findings
                .report(Code::TooManyPatterns, pattern.span, || {
                    format!("a rule has at most {PATTERNS_MAX} different patterns")
                })
                .help(|| "join some of them: `\"gift|voucher\"`, or split the rule".to_owned());
            return None;
        }
        // Counted before compilation: a refused pattern costs as much work.
        self.patterns.push(pattern.value.clone());
        match refusal(&pattern.value) {
            None => Some(pattern.value.clone()),
            Some((message, help)) => {
                self.findings.report(Code::PatternRefused, pattern.span, || message).help_if(|| help);
                None
            }
        }
    }
}

/// Returns the message and the help for a pattern that the engine refuses.
fn refusal(pattern: &str) -> Option<(String, Option<String>)> {
    if pattern.len() > PATTERN_BYTES_MAX {
        let message = format!(
            "the pattern is too long: it has {} bytes, at most {PATTERN_BYTES_MAX} are allowed",
            pattern.len()
        );
        return Some((message, None));
    }
    let built = RegexBuilder::new(pattern)
        .size_limit(PATTERN_COMPILED_BYTES_MAX)
        .nest_limit(PATTERN_NESTING_MAX)
        .build();
    match built {
        Ok(_) => None,
        Err(regex::Error::CompiledTooBig(_)) => Some((
            "the pattern is too large once it is compiled".to_owned(),
            Some("use smaller repetition counts: a count such as `{1000}` multiplies the size".to_owned()),
        )),
        Err(error) => {
            let words = error.to_string();
            // The engine's message ends with the reason, after a drawing of the pattern.
            let reason = words.lines().last().unwrap_or_default();
            let reason = reason.strip_prefix("error: ").unwrap_or(reason);
            let help = reason.contains("look-around").then(|| {
                "patterns are searched in linear time, which rules out look-ahead and look-behind: combine two tests \
                 with `and` and `not_regex`"
                    .to_owned()
            });
            Some((format!("the pattern is refused: {reason}"), help))
        }
    }
}
