//! The inputs of every variant except Tollgate itself: the fields of a transaction, and the results of the history
//! lookups.

use std::sync::Arc;

use regex::Regex;
use tollgate_benches::shape::{Shape, WINDOWS, WORDS};
use tollgate_benches::twins::{Context, counts_by_source, pattern};
use tollgate_history::{AggregateQuery, History};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

/// Variable names of the counts, by window.
pub(crate) const COUNTS: [&str; WINDOWS.len()] = ["count0", "count1", "count2", "count3"];
/// Variable names of the pattern results, by word.
pub(crate) const FOUND: [&str; WORDS.len()] = ["found0", "found1", "found2", "found3", "found4"];

/// The facts of one transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'t> {
    pub(crate) amount: f64,
    pub(crate) risk: f64,
    pub(crate) currency: &'t str,
    pub(crate) status: &'t str,
    pub(crate) description: &'t str,
    pub(crate) country: &'t str,
    /// Counts by window; 0 if no rule uses the window.
    pub(crate) counts: [f64; WINDOWS.len()],
}

impl<'t> Facts<'t> {
    /// Reads the fields and performs each lookup once.
    pub(crate) fn gather(transaction: &'t Transaction, as_of: Sequence, questions: &Questions) -> Self {
        let context = Context::new(transaction, as_of);
        let mut counts = [0.0; WINDOWS.len()];
        for ((window, question), count) in questions.0.iter().enumerate().zip(&mut counts) {
            if let Some(question) = question {
                *count = context.count(window, question);
            }
        }
        Self {
            amount: context.amount,
            risk: context.risk,
            currency: context.currency,
            status: context.status,
            description: context.description,
            country: context.country,
            counts,
        }
    }

    /// Returns the amount in hundredths, for engines without exact fractions. The transactions have no smaller parts.
    #[expect(clippy::cast_possible_truncation, reason = "amounts stay below 25,000")]
    pub(crate) fn hundredths(&self) -> i64 {
        (self.amount * 100.0).round() as i64
    }
}

/// The history lookups of some rules, by window.
pub(crate) struct Questions([Option<Arc<AggregateQuery>>; WINDOWS.len()]);

impl Questions {
    pub(crate) fn new(rules: &[Shape], history: &History) -> anyhow::Result<Self> {
        let mut questions = [const { None }; WINDOWS.len()];
        for (window, count) in counts_by_source(history)?.into_iter().enumerate() {
            let is_asked =
                |rule: &Shape| matches!(rule, Shape::Aggregate { window: asked, .. } if *asked == window);
            if let Some(question) = questions.get_mut(window).filter(|_| rules.iter().any(is_asked)) {
                *question = Some(count);
            }
        }
        Ok(Self(questions))
    }
}

/// The patterns of some rules, by word, for engines without patterns.
#[derive(Debug, Clone)]
pub(crate) struct Patterns([Option<Regex>; WORDS.len()]);

impl Patterns {
    pub(crate) fn new(rules: &[Shape]) -> anyhow::Result<Self> {
        let mut patterns = [const { None }; WORDS.len()];
        for (word, compiled) in patterns.iter_mut().enumerate() {
            let is_sought = |rule: &Shape| matches!(rule, Shape::Pattern { word: sought } if *sought == word);
            if rules.iter().any(is_sought) {
                *compiled = Some(Regex::new(&pattern(word))?);
            }
        }
        Ok(Self(patterns))
    }

    /// Returns for every word whether it is found; false if no rule searches for it.
    pub(crate) fn search(&self, text: &str) -> [bool; WORDS.len()] {
        self.0.each_ref().map(|pattern| pattern.as_ref().is_some_and(|pattern| pattern.is_match(text)))
    }
}
