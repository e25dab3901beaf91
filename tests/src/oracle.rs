//! A second opinion: the language, read to the letter and interpreted as plainly as possible.
//!
//! ```text
//!  generator ──scripts, transactions──┬──▶ oracle  ──▶ answers ─┐
//!                                     └──▶ subject ──▶ answers ─┴─▶ differences
//! ```
//!
//! It takes conditions after checking and transactions as JSON, keeps the past in a `Vec` and scans all of it for every
//! question. It shares the nouns of the contract with the service, and no line of its code: equality, exact arithmetic,
//! calendar, windows and patterns are written a second time here.

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

/// Whoever judges transactions by rules: the oracle, and what is compared with it.
pub trait Subject {
    /// What the rules say of each transaction of a stream, in their order. The stream is in order of acceptance: each
    /// transaction is judged with those before it as its history.
    ///
    /// # Errors
    /// When it cannot say; the comparison ends there.
    fn judge(&mut self, rules: &[CheckedRule], stream: &[Json]) -> anyhow::Result<Vec<Vec<bool>>>;
}

/// The plain interpreter.
#[derive(Debug, Default)]
pub struct Oracle {
    lists: BTreeMap<String, Vec<String>>,
    /// Compiling a pattern takes longer than all else together.
    patterns: RefCell<HashMap<String, Regex>>,
    /// Whether the history of a transaction includes itself, as in Watch.
    counts_itself: bool,
}

impl Oracle {
    /// An oracle that knows these named lists.
    #[must_use]
    pub fn new(lists: BTreeMap<String, Vec<String>>) -> Self {
        Self { lists, ..Self::default() }
    }

    /// An oracle to which each transaction is part of its own history.
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
