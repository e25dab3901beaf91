//! Rules and transactions for the measurements, generated from a fixed seed, so every run measures the same work.
//!
//! In ten rules, six compare numbers and texts, two search lists, one searches a pattern and one queries the history.
//! More rules query the history if the requested aggregates need it. As in production, few of the usual transactions
//! match: amounts follow a Pareto distribution, and the countries, words and accounts the rules look for are rare.

mod rules;
mod transactions;

pub(crate) use rules::can_ask;
pub use rules::{AGGREGATES_MAX, Script, WATCHED, scripts, usual_scripts, watched};
pub use transactions::{Customers, Requests, TransactionKind};

const SEED: u64 = 7;
const N_ACCOUNTS: u64 = 20_000;
const CURRENCIES: [&str; 8] = ["EUR", "USD", "GBP", "NGN", "KES", "GHS", "ZAR", "XOF"];
const STATUSES: [&str; 4] = ["applied", "pending", "applied", "failed"];
const COUNTRIES: [&str; 12] = ["DE", "FR", "NG", "KE", "US", "GB", "GH", "SN", "BR", "IN", "ZA", "SE"];
/// Countries of two transactions in a thousand.
const RARE_COUNTRIES: [&str; 12] = ["AF", "BY", "CF", "CU", "IR", "KP", "LY", "MM", "SD", "SO", "SY", "YE"];
const PHRASES: [&str; 8] =
    ["rent march", "salary", "invoice 4711", "groceries", "school fees", "tuition", "savings", "utilities"];
/// Words that occur in the description of one transaction in a thousand.
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
