//! Criminals: stories by typology, each hidden among the payments of honest customers.
//!
//! # What is claimed
//!
//! - Every kind follows a published typology, which the story names, or general knowledge, which it says.
//! - Of every kind there are stories of different size, pace and cunning, drawn by dice.
//! - `stop_by` says which payment a reasonable bank stops at the latest; the reason is in the code.
//! - Criminals pay through the same functions of [`context`](crate::context) as everybody else.
//! - Within 75 days every kind occurs at least twice, and its stories end within them.
//!
//! # The kinds
//!
//! | Typology | Kinds |
//! |---|---|
//! | `velocity` | emptied-account, patient-emptying, scripted-burst, |
//! | | many-payees, double-submitted, night-burst |
//! | `structuring` | cash-below-limit, branch-tour, small-and-patient, |
//! | | transfers-below-limit, many-payers, split-in-a-day |
//! | `account_takeover` | phished-email-change, sim-swap, device-through-accounts, |
//! | | guessing, payroll-mailbox, new-device-large |
//! | `card_testing` | enumeration, one-address-many-cards, charity, |
//! | | tiny-then-large, made-up-email, hammered-card |
//! | `mules` | fresh-funnel, student-pass-through, over-income, collector, slow-layering |
//! | `sanctions` | listed-party, listed-wallet, funded-by-listed, |
//! | | stripped-originator, high-risk-unchecked, hidden-bank |
//! | `geography` | two-countries, three-countries-by-proxy, foreign-address, reshipping, hidden-network |
//! | `dormant_accounts` | drained, probe-then-large, contact-change, never-used, warmed-up |
//! | `merchant_risk` | bust-out, refund-cash-out, stolen-terminal, |
//! | | chargebacks-before-payout, transaction-laundering |
//! | `kyc_limits` | tier-1-beyond, first-hours, expired-document, over-daily-limit, tier-2-beyond |
//! | `new_payee` | safe-account, police-or-grandchild, romance, changed-invoice, |
//! | | fake-shop, investment-weekend, customs-fee |
//!
//! # What is left out
//!
//! - Balances: criminals take sums in proportion to the income, because no account has a balance here.
//! - Fraud by the customer against the shop, such as disputes of goods that arrived.
//! - Credit, insurance, cheques, and trade-based laundering, which other systems see.
//! - Slow crimes: nothing lasts longer than [`DAYS_MAX`] days.
//! - Criminals that learn from what was blocked: the rest of a story is the same whatever the verdict.
//! - Shares of the kinds as in reality: every kind comes about as often as every other.

mod account_takeover;
mod card_testing;
mod dormant_accounts;
mod draft;
mod geography;
mod kind;
mod kyc_limits;
mod merchant_risk;
mod money;
mod mules;
mod new_payee;
mod past;
mod people;
mod sanctions;
mod scene;
mod session;
mod structuring;
#[cfg(test)]
mod tests;
mod velocity;

use chrono::{DateTime, Utc};

use crate::{Cast, Payment};

/// A story of one crime: its payments, and the claim when a bank should have stopped it.
#[derive(Debug, Clone)]
pub struct Story {
    /// Unique name: the typology, the kind of story, the day and a number.
    pub name: String,
    /// The typology, a folder of `rules/`.
    pub typology: &'static str,
    /// What happens, in a sentence or two.
    pub what: &'static str,
    /// Where the shape of the behaviour comes from: a published typology, by its name and publisher.
    pub source: &'static str,
    /// The payments of the criminal, in order of time, over at most [`DAYS_MAX`] days after the story begins.
    pub payments: Vec<Payment>,
    /// What has to be there before: older payments of the accounts involved, which may lie before day 0.
    pub past: Vec<Payment>,
    /// Index in `payments` of the last payment that may be the first to be held or blocked.
    pub stop_by: usize,
}

/// Days that a story lasts at most, without its past.
pub const DAYS_MAX: u32 = 14;

/// Returns the stories that begin on a day.
///
/// Within the days 0 to 74 every kind of story occurs at least twice. Later days go on in the same way.
#[must_use]
pub fn beginning_on(cast: &Cast, seed: u64, start: DateTime<Utc>, day: u32) -> Vec<Story> {
    kinds().filter_map(|kind| kind.beginning_on(cast, seed, start, day)).collect()
}

/// Returns every kind of story.
fn kinds() -> impl Iterator<Item = &'static kind::Kind> {
    let all: [&'static [kind::Kind]; 11] = [
        &velocity::KINDS,
        &structuring::KINDS,
        &account_takeover::KINDS,
        &card_testing::KINDS,
        &mules::KINDS,
        &sanctions::KINDS,
        &geography::KINDS,
        &dormant_accounts::KINDS,
        &merchant_risk::KINDS,
        &kyc_limits::KINDS,
        &new_payee::KINDS,
    ];
    all.into_iter().flatten()
}
