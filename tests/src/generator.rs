//! Random scripts and transactions that meet: few fields, few values, so that most conditions are decided by a nuance.
//!
//! Scripts are text, so the whole way from the lexer on is under test, and every one of them compiles. A seed always
//! gives the same batch.

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

/// Most scripts of a batch.
const SCRIPTS_MAX: usize = 8;
/// Most transactions of a batch.
const TRANSACTIONS_MAX: usize = 32;

/// Rules, and a stream of transactions: each is judged with those before it as its history.
#[derive(Debug, Clone)]
pub struct Batch {
    /// One rule each, every name once.
    pub scripts: Vec<String>,
    /// In order of acceptance; not in order of event time.
    pub transactions: Vec<Json>,
}

impl Batch {
    /// The batch of a seed.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        Self::of_chance(&mut Dice::of_seed(seed))
    }

    /// The batch of a seed whose numbers have more digits than doubles tell apart.
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

/// The named lists that generated scripts ask about.
#[must_use]
pub fn lists() -> BTreeMap<String, Vec<String>> {
    let owned = |entries: &[&str]| entries.iter().map(|entry| (*entry).to_owned()).collect();
    words::LISTS.iter().map(|(name, entries)| ((*name).to_owned(), owned(entries))).collect()
}
