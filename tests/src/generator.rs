//! Random scripts and transactions over few fields and few values, so that most conditions are close calls.
//!
//! Scripts are generated as text, which covers the whole compiler from the lexer on. Every script compiles. A seed
//! always gives the same batch.

mod condition;
pub mod dice;
mod filter;
mod operand;
mod script;
mod spelling;
mod transaction;
mod words;

use std::collections::BTreeMap;

use serde_json::Value as Json;

use dice::Dice;
use script::Author;

/// Maximum number of scripts in a batch.
const SCRIPTS_MAX: usize = 8;
/// Maximum number of transactions in a batch.
const TRANSACTIONS_MAX: usize = 32;

/// Rules and a stream of transactions. The history of each transaction consists of those before it.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Scripts of one rule each, with unique names.
    pub scripts: Vec<String>,
    /// Transactions in order of acceptance, not of event time.
    pub transactions: Vec<Json>,
}

impl Batch {
    /// Returns the batch of a seed.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        Self::of_chance(&mut Dice::of_seed(seed))
    }

    /// Returns the batch of a seed, with numbers that have more digits than a double can represent.
    #[must_use]
    pub fn with_long_numbers(seed: u64) -> Self {
        Self::of_chance(&mut Dice::of_seed(seed).with_long_numbers())
    }

    fn of_chance(dice: &mut Dice) -> Self {
        let n_scripts = 1 + dice.below(SCRIPTS_MAX);
        let scripts = (0..n_scripts).map(|n| Author::new(dice).script(n)).collect();
        let n_transactions =
            if dice.chance(60) { TRANSACTIONS_MAX } else { 1 + dice.below(TRANSACTIONS_MAX) };
        let transactions = (0..n_transactions).map(|n| transaction::transaction(dice, n)).collect();
        Self { scripts, transactions }
    }
}

/// Returns the named lists that generated scripts refer to.
#[must_use]
pub fn lists() -> BTreeMap<String, Vec<String>> {
    let owned = |entries: &[&str]| entries.iter().map(|entry| (*entry).to_owned()).collect();
    words::LISTS.iter().map(|(name, entries)| ((*name).to_owned(), owned(entries))).collect()
}
