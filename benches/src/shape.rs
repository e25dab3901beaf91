//! Random contents of the twin rules, independent of a language.
//!
//! INVARIANT: depends only on [`random`](crate::random), because a build script includes it.

use crate::random::Random;

/// Content of one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// More than `limit`, with at least this risk, in this currency.
    Comparison {
        /// Exclusive lower bound of the amount.
        limit: u32,
        /// Minimum risk.
        risk: u32,
        /// One of [`CURRENCIES`].
        currency: &'static str,
    },
    /// Any status except this one, in one of these countries.
    List {
        /// One of [`STATUSES`].
        status: &'static str,
        /// Five of [`COUNTRIES`], possibly with duplicates.
        countries: [&'static str; 5],
    },
    /// A word in the description, in any case.
    Pattern {
        /// Index into [`WORDS`].
        word: usize,
    },
    /// More than `limit` transactions of the same source.
    Aggregate {
        /// Index into [`WINDOWS`].
        window: usize,
        /// Exclusive lower bound of the count.
        limit: u32,
    },
}

/// Currencies of transactions and rules.
pub const CURRENCIES: [&str; 4] = ["EUR", "USD", "NGN", "KES"];
/// Statuses of transactions and rules.
pub const STATUSES: [&str; 4] = ["pending", "applied", "failed", "declined"];
/// Countries of transactions and rules.
pub const COUNTRIES: [&str; 12] = ["DE", "FR", "NG", "KE", "US", "GB", "IR", "KP", "BR", "IN", "ZA", "SE"];
/// Words that patterns search for.
pub const WORDS: [&str; 5] = ["gift ?card", "crypto", "loan", "casino|poker", "wire"];
/// Windows of the aggregates.
pub const WINDOWS: [&str; 4] = ["PT15M", "PT1H", "P1D", "P7D"];

/// Returns the first `n_rules` shapes. In ten, six compare numbers and texts, two search lists, one searches a pattern,
/// one uses the history.
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
