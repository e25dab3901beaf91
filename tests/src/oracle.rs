//! A reference interpreter of the rule language, written as plainly as possible.
//!
//! ```text
//!  generator ──scripts, transactions──┬──▶ oracle  ──▶ answers ─┐
//!                                     └──▶ subject ──▶ answers ─┴─▶ differences
//! ```
//!
//! The oracle takes checked conditions and transactions as JSON. It keeps the past in a `Vec` and scans all of it for
//! every lookup. It shares only the types of the contract with the service. Equality, exact arithmetic, calendar,
//! windows and patterns are implemented independently here.

mod calendar;
mod condition;
mod differential;
mod exact;
mod missing;
mod past;
mod relation;
mod summary;
#[cfg(test)]
mod tests;
mod value;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use regex::Regex;
use serde_json::Value as Json;
use tollgate_compiler::CheckedRule;

pub use differential::{Report, run};

use condition::Scene;
use past::Past;

/// An evaluator of rules: the oracle, or an implementation compared with it.
pub trait Subject {
    /// Returns which rules match each transaction of a stream. The stream is in order of acceptance, and the history of
    /// each transaction consists of those before it.
    ///
    /// # Errors
    /// Returns an error if evaluation is impossible, which ends the comparison.
    fn judge(&mut self, rules: &[CheckedRule], stream: &[Json]) -> anyhow::Result<Vec<Vec<bool>>>;
}

/// The reference interpreter.
#[derive(Debug, Default)]
pub struct Oracle {
    lists: BTreeMap<String, Vec<String>>,
    /// Cache of compiled patterns, because compilation dominates the run time.
    patterns: RefCell<HashMap<String, Regex>>,
    /// Whether the history of a transaction includes itself, as in Watch.
    counts_itself: bool,
}

impl Oracle {
    /// Creates an oracle with these named lists.
    #[must_use]
    pub fn new(lists: BTreeMap<String, Vec<String>>) -> Self {
        Self { lists, ..Self::default() }
    }

    /// Creates an oracle whose history includes the current transaction.
    #[must_use]
    pub fn counting_itself(lists: BTreeMap<String, Vec<String>>) -> Self {
        Self { counts_itself: true, ..Self::new(lists) }
    }
}

impl Subject for Oracle {
    fn judge(&mut self, rules: &[CheckedRule], stream: &[Json]) -> anyhow::Result<Vec<Vec<bool>>> {
        let mut past = Past::default();
        let mut answers = Vec::with_capacity(stream.len());
        for transaction in stream {
            if self.counts_itself {
                past.accept(transaction)?;
            }
            let scene = Scene { oracle: self, past: &past, about: transaction, current: transaction };
            answers.push(rules.iter().map(|rule| scene.holds(&rule.when)).collect());
            if !self.counts_itself {
                past.accept(transaction)?;
            }
        }
        Ok(answers)
    }
}
