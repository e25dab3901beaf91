//! What the rules of the corpus ask, drawn by chance, in no language yet.
//!
//! Knows nothing but [`random`](crate::random): a build script reads it too.

use crate::random::Random;

/// What one rule asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// More than `limit`, at least of this risk, in this currency.
    Comparison {
        /// Of the amount.
        limit: u32,
        /// At least.
        risk: u32,
        /// One of [`CURRENCIES`].
        currency: &'static str,
    },
    /// Any status but this, from one of these countries.
    List {
        /// One of [`STATUSES`].
        status: &'static str,
        /// Of [`COUNTRIES`], some perhaps twice.
        countries: [&'static str; 5],
    },
    /// A word in the description, in any case.
    Pattern {
        /// Which of [`WORDS`].
        word: usize,
    },
    /// More than `limit` transactions of the same source.
    Aggregate {
        /// In which of [`WINDOWS`].
        window: usize,
        /// Of their number.
        limit: u32,
    },
}

/// Currencies of transactions and rules.
pub const CURRENCIES: [&str; 4] = ["EUR", "USD", "NGN", "KES"];
/// Their statuses.
pub const STATUSES: [&str; 4] = ["pending", "applied", "failed", "declined"];
/// Their countries.
pub const COUNTRIES: [&str; 12] = ["DE", "FR", "NG", "KE", "US", "GB", "IR", "KP", "BR", "IN", "ZA", "SE"];
/// What patterns look for.
pub const WORDS: [&str; 5] = ["gift ?card", "crypto", "loan", "casino|poker", "wire"];
/// What counts look back over.
pub const WINDOWS: [&str; 4] = ["PT15M", "PT1H", "P1D", "P7D"];

/// Of `n_rules` rules, always the same: of ten, six compare numbers and texts, two look into lists, one searches a pattern,
/// one asks the history.
#[must_use]
pub fn shapes(n_rules: usize) -> Vec<Shape> {
    let mut random = Random::seeded(7);
    (0..n_rules).map(|number| Shape::draw(number, &mut random)).collect()
}

impl Shape {
    fn draw(number: usize, random: &mut Random) -> Self {
        match number % 10 {
            0..6 => Self::Comparison {
                limit: 100 + below(random, 20_000),
                risk: below(random, 100),
                currency: random.pick(&CURRENCIES),
            },
            6..8 => {
                let countries = [(); 5].map(|()| random.pick(&COUNTRIES));
                Self::List { countries, status: random.pick(&STATUSES) }
            }
            8 => Self::Pattern { word: random.below(WORDS.len()) },
            _ => Self::Aggregate { window: random.below(WINDOWS.len()), limit: 1 + below(random, 20) },
        }
    }
}

fn below(random: &mut Random, bound: usize) -> u32 {
    u32::try_from(random.below(bound)).unwrap_or(u32::MAX)
}
