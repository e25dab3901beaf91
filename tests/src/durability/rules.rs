//! The rules of the traffic, as scripts and as numbers. A response shows how much of the past its verdict included.

use crate::sample;

/// An aggregate over the past of a source within [`WINDOW_MICROS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// Number of transactions.
    Count,
    /// Number of transactions whose status is `applied`.
    Applied,
    /// Sum of the amounts, in eighths.
    Eighths,
}

/// A rule that matches from a threshold on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Threshold {
    pub(super) question: Question,
    pub(super) at_least: i64,
}

/// `PT1H`, both ends included.
pub(super) const WINDOW_MICROS: i64 = 3_600 * 1_000_000;

const fn rule(question: Question, at_least: i64) -> Threshold {
    Threshold { question, at_least }
}

/// Rules in force from the first start.
pub(super) const THRESHOLDS: [Threshold; 14] = [
    rule(Question::Count, 1),
    rule(Question::Count, 2),
    rule(Question::Count, 3),
    rule(Question::Count, 4),
    rule(Question::Count, 5),
    rule(Question::Count, 7),
    rule(Question::Count, 10),
    rule(Question::Count, 14),
    rule(Question::Applied, 1),
    rule(Question::Applied, 2),
    rule(Question::Applied, 4),
    rule(Question::Eighths, 60),
    rule(Question::Eighths, 200),
    rule(Question::Eighths, 500),
];

impl Threshold {
    pub(super) fn name(self) -> String {
        let question = match self.question {
            Question::Count => "count",
            Question::Applied => "applied",
            Question::Eighths => "eighths",
        };
        format!("{question}_{}", self.at_least)
    }

    fn script(self) -> String {
        let of_source = "source == $current.source";
        let n = self.at_least;
        let condition = match self.question {
            Question::Count => format!(r#"count(when {of_source}, "PT1H") >= {n}"#),
            Question::Applied => {
                format!(r#"count(when {of_source} and status == "applied", "PT1H") >= {n}"#)
            }
            Question::Eighths => format!(r#"sum(when {of_source}, "PT1H") * 8 >= {n}"#),
        };
        sample::rule(&self.name(), &condition)
    }
}

/// Returns the files of the rules directory: path and text.
pub(super) fn files() -> Vec<(String, String)> {
    THRESHOLDS.iter().map(|rule| (format!("{}.ws", rule.name()), rule.script())).collect()
}

/// Returns a rule that always matches. It marks every assessment by a version that contains it.
pub(super) fn marker(name: &str) -> String {
    format!("rule {name} {{\n  when amount > 0\n  then alert score 0.3 reason \"{name}\"\n}}\n")
}

/// Whether this is the name of such a rule.
pub(super) fn is_marker(name: &str) -> bool {
    name.starts_with("marker_")
}
