//! Rules and transactions to measure with: seeded, so everybody measures the same.
//!
//! Of ten rules six compare numbers and texts, two look into lists, one searches a pattern, one asks the history; where more
//! aggregates are wanted than a tenth of the rules can ask, more rules ask. As in life few transactions match anything:
//! amounts have a long tail (Pareto's), of which rules ask, and countries, words and accounts that they look for are rare.

mod rules;
mod transactions;

pub use rules::{AGGREGATES_MAX, Script, WATCHED, can_ask, scripts, watched};
pub(super) use transactions::Requests;

/// Everything is drawn from here.
const SEED: u64 = 7;
const N_ACCOUNTS: u64 = 20_000;
const CURRENCIES: [&str; 8] = ["EUR", "USD", "GBP", "NGN", "KES", "GHS", "ZAR", "XOF"];
const STATUSES: [&str; 4] = ["applied", "pending", "applied", "failed"];
const COUNTRIES: [&str; 12] = ["DE", "FR", "NG", "KE", "US", "GB", "GH", "SN", "BR", "IN", "ZA", "SE"];
/// Where two in a thousand come from.
const RARE_COUNTRIES: [&str; 12] = ["AF", "BY", "CF", "CU", "IR", "KP", "LY", "MM", "SD", "SO", "SY", "YE"];
const PHRASES: [&str; 8] =
    ["rent march", "salary", "invoice 4711", "groceries", "school fees", "tuition", "savings", "utilities"];
/// One of these stands in the description of one in a thousand.
const WORDS: [&str; 12] = [
    "gift card",
    "crypto",
    "casino",
    "poker",
    "loan shark",
    "voucher",
    "escrow",
    "bullion",
    "lottery",
    "ransom",
    "mixer",
    "prepaid",
];

fn pick(random: &mut fastrand::Rng, things: &[&'static str]) -> &'static str {
    things.get(random.usize(..things.len())).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
