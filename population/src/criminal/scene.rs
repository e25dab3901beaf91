//! A story while it is being told: who takes part, what time it is, what was paid.

use chrono::{DateTime, Days, NaiveDate, TimeDelta, Utc};
use rand::Rng;
use rand::seq::{IndexedRandom, SliceRandom};

use super::Story;
use super::draft::Draft;
use super::kind::Kind;
use crate::dice::{Dice, dice};
use crate::{Cast, Customer, Merchant, Payment};

/// A story while it is being told.
pub(super) struct Scene<'a> {
    pub(super) cast: &'a Cast,
    pub(super) dice: Dice,
    /// The midnight (UTC) at which the day of its beginning starts.
    pub(super) midnight: DateTime<Utc>,
    seed: u64,
    name: String,
    payments: Vec<Payment>,
    past: Vec<Payment>,
    stop: Option<String>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(cast: &'a Cast, seed: u64, midnight: DateTime<Utc>, day: u32, name: String) -> Self {
        let dice = dice(seed, &name, i64::from(day));
        Self { cast, dice, midnight, seed, name, payments: Vec::new(), past: Vec::new(), stop: None }
    }

    /// Adds a payment of the criminal.
    pub(super) fn pay(&mut self, draft: Draft) {
        let id = self.id("payment", self.payments.len());
        let payment = draft.payment(id, Some(self.name.clone()));
        self.payments.push(payment);
    }

    /// Adds an older payment, which was ordinary.
    pub(super) fn before(&mut self, draft: Draft) {
        let id = self.id("past", self.past.len());
        self.past.push(draft.payment(id, None));
    }

    /// Makes the payment added last the latest one at which a reasonable bank still stops the story.
    pub(super) fn stop_here(&mut self) {
        self.stop = self.payments.last().map(|payment| payment.id.clone());
    }

    /// Returns the story, its payments in order of time; `None` if nothing was paid.
    pub(super) fn finish(mut self, kind: &Kind) -> Option<Story> {
        self.payments.sort_by_key(|payment| payment.created_at);
        let first = self.payments.first()?.created_at;
        self.past.retain(|payment| payment.created_at < first);
        self.past.sort_by_key(|payment| payment.created_at);
        let stop = self.stop?;
        Some(Story {
            name: self.name,
            typology: kind.typology,
            what: kind.what,
            source: kind.source,
            stop_by: self.payments.iter().position(|payment| payment.id == stop)?,
            payments: self.payments,
            past: self.past,
        })
    }

    /// Returns a customer who has been known well to the bank for two months, chosen by dice.
    pub(super) fn victim(&mut self, fit: impl Fn(&Customer) -> bool) -> Option<&'a Customer> {
        let fit: Vec<_> = self.settled().into_iter().filter(|customer| fit(customer)).collect();
        fit.choose(&mut self.dice).copied()
    }

    /// Returns several customers of one currency, chosen by dice; `None` if there are fewer than `least`.
    pub(super) fn victims(&mut self, least: usize, most: usize) -> Option<Vec<&'a Customer>> {
        let mut all = self.settled();
        all.shuffle(&mut self.dice);
        let alike = |one: &Customer| -> Vec<_> {
            all.iter().copied().filter(|other| other.currency == one.currency).take(most).collect()
        };
        all.iter().map(|one| alike(one)).find(|group| group.len() >= least)
    }

    fn settled(&self) -> Vec<&'a Customer> {
        let since = self.days_ago(60);
        let settled = |customer: &&Customer| {
            let person = customer.devices.iter().any(|device| device.kind != "agent_terminal");
            customer.opened_on <= since && customer.kyc_tier > 1 && person && !customer.cards.is_empty()
        };
        self.cast.customers.iter().filter(settled).collect()
    }

    /// Returns a merchant of the cast, chosen by dice.
    pub(super) fn merchant(&mut self, fit: impl Fn(&Merchant) -> bool) -> Option<&'a Merchant> {
        let fit: Vec<_> = self.cast.merchants.iter().filter(|merchant| fit(merchant)).collect();
        fit.choose(&mut self.dice).copied()
    }

    /// Returns a merchant of the cast that sells over the internet, if there is one, or else any.
    pub(super) fn online_merchant(&mut self, fit: impl Fn(&Merchant) -> bool) -> Option<&'a Merchant> {
        const ONLINE: [&str; 9] = ["5651", "5942", "5732", "5712", "5815", "5816", "5399", "5945", "5734"];
        let online = self.merchant(|merchant| ONLINE.contains(&merchant.mcc) && fit(merchant));
        online.or_else(|| self.merchant(fit))
    }

    /// Returns an instant some days after the beginning, between two hours of the local time of a country.
    pub(super) fn at(&mut self, country: &str, day: u32, hours: (i64, i64)) -> DateTime<Utc> {
        let local = self.dice.random_range(hours.0 * 3_600_000..hours.1 * 3_600_000);
        let utc = (local - offset(country) * 3_600_000).rem_euclid(86_400_000);
        self.midnight + Days::new(u64::from(day)) + TimeDelta::milliseconds(utc)
    }

    /// Returns the date some days before the beginning.
    pub(super) fn days_ago(&self, days: u32) -> NaiveDate {
        (self.midnight - Days::new(u64::from(days))).date_naive()
    }

    /// Returns the date some days after the beginning.
    pub(super) fn date(&self, day: u32) -> NaiveDate {
        (self.midnight + Days::new(u64::from(day))).date_naive()
    }

    pub(super) fn seconds(&mut self, from: u32, to: u32) -> TimeDelta {
        TimeDelta::milliseconds(self.dice.random_range(i64::from(from) * 1_000..=i64::from(to) * 1_000))
    }

    pub(super) fn minutes(&mut self, from: u32, to: u32) -> TimeDelta {
        self.seconds(from * 60, to * 60)
    }

    pub(super) fn count(&mut self, from: u32, to: u32) -> u32 {
        self.dice.random_range(from..=to)
    }

    pub(super) fn between(&mut self, from: f64, to: f64) -> f64 {
        self.dice.random_range(from..to)
    }

    pub(super) fn chance(&mut self, share: f64) -> bool {
        self.dice.random_bool(share)
    }

    pub(super) fn one_of<T: Clone>(&mut self, things: &[T]) -> Option<T> {
        things.choose(&mut self.dice).cloned()
    }

    /// Returns this many lower-case letters and digits.
    pub(super) fn token(&mut self, length: usize) -> String {
        token(&mut self.dice, length)
    }

    fn id(&self, part: &str, number: usize) -> String {
        let mut dice = dice(self.seed, &format!("{}/{part}/{number}", self.name), 0);
        format!("pay-{}", token(&mut dice, 12))
    }
}

fn token(dice: &mut Dice, length: usize) -> String {
    const SIGNS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    (0..length).filter_map(|_| SIGNS.choose(dice).map(|sign| char::from(*sign))).collect()
}

/// Returns the hours by which the clocks of a country are ahead of UTC.
fn offset(country: &str) -> i64 {
    match country {
        "GB" | "IE" => 0,
        "KW" => 3,
        "JP" => 9,
        "US" => -5,
        _ => 1,
    }
}
