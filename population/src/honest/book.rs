//! The book that the payments of one day (UTC) are written into.
//!
//! Habits think in local days and in episodes that last for weeks. They write everything; the book keeps what falls into its
//! day. What a payment draws of its own (device, address) follows from its id, so that what is left out changes nothing.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::journey::Trip;
use super::people::date;
use super::roll::code;
use super::world::{Person, World};
use crate::dice::{Dice, dice};
use crate::{Amount, Card, Customer, Merchant, Metadata, Outcome, Payment, context};

/// A span of time with its payments.
#[derive(Debug)]
pub(super) struct Book<'w> {
    pub(super) world: &'w World<'w>,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
    payments: Vec<Payment>,
    /// Turnover by merchant, if only that is wanted.
    turnover: Option<BTreeMap<&'w str, i64>>,
    spent: BTreeMap<usize, f64>,
    pub(super) trips: Vec<Trip>,
}

/// What is paid, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buy<'t> {
    pub(super) at: DateTime<Utc>,
    pub(super) value: f64,
    pub(super) text: &'t str,
    pub(super) outcome: Outcome,
}

/// The payee of a transfer.
#[derive(Debug, Clone)]
pub(super) struct Payee {
    pub(super) account: String,
    /// Number of the customer, if it is one.
    pub(super) number: Option<usize>,
    /// Whether the payee was entered minutes ago.
    pub(super) new: bool,
    /// Currency, if it is not that of the payer's account.
    pub(super) currency: Option<&'static str>,
}

impl Payee {
    /// Returns a payee at another bank who was paid before.
    pub(super) fn known(account: String) -> Self {
        Self { account, number: None, new: false, currency: None }
    }

    /// Returns a payee at another bank who is entered now.
    pub(super) fn new(account: String) -> Self {
        Self { account, number: None, new: true, currency: None }
    }

    /// Returns a customer as a payee.
    pub(super) fn customer(person: &Person<'_>, new: bool) -> Self {
        Self { account: person.who.account.clone(), number: Some(person.number), new, currency: None }
    }
}

/// Returns a purchase that succeeds.
pub(super) fn buy(at: DateTime<Utc>, value: f64, text: &str) -> Buy<'_> {
    Buy { at, value, text, outcome: Outcome::Applied }
}

impl Buy<'_> {
    /// Returns the same with another end.
    pub(super) fn ending(self, outcome: Outcome) -> Self {
        Self { outcome, ..self }
    }
}

impl<'w> Book<'w> {
    /// Returns an empty book of a span of time; with `only_turnover` it counts what merchants sell and keeps no payment.
    pub(super) fn new(
        world: &'w World<'w>,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
        only_turnover: bool,
    ) -> Self {
        let turnover = only_turnover.then(BTreeMap::new);
        Self { world, from, to, payments: Vec::new(), turnover, spent: BTreeMap::new(), trips: Vec::new() }
    }

    /// Forgets what was spent of the limits of a day.
    pub(super) fn new_day(&mut self) {
        self.spent.clear();
    }

    /// Returns the payments in order of time.
    pub(super) fn finish(mut self) -> Vec<Payment> {
        self.payments
            .sort_by(|one, other| one.created_at.cmp(&other.created_at).then_with(|| one.id.cmp(&other.id)));
        self.payments
    }

    /// Returns the turnover by merchant, in the smallest unit.
    pub(super) fn turnover(self) -> BTreeMap<&'w str, i64> {
        self.turnover.unwrap_or_default()
    }

    /// Returns whether only the turnover of merchants is wanted.
    pub(super) fn counts_only(&self) -> bool {
        self.turnover.is_some()
    }

    /// Returns whether an instant belongs to the book.
    pub(super) fn covers(&self, at: DateTime<Utc>) -> bool {
        (self.from..self.to).contains(&at)
    }

    fn wants(&self, me: &Person<'_>, at: DateTime<Utc>) -> bool {
        self.covers(at) && me.is_open(at)
    }

    /// Returns whether this still fits into the limit that somebody set for a day, and notes it.
    fn fits(&mut self, me: &Person<'_>, buy: &Buy<'_>) -> bool {
        let Some(limit) = me.who.daily_limit.filter(|_| buy.outcome == Outcome::Applied) else { return true };
        let spent = self.spent.entry(me.number).or_default();
        let fits = *spent + buy.value <= limit;
        if fits {
            *spent += buy.value;
        }
        fits
    }

    /// Writes a payment between two accounts. Its metadata may draw from [`Book::own`] dice by the id that is passed.
    pub(super) fn put(
        &mut self,
        (source, destination): (Option<&str>, Option<&str>),
        currency: &'static str,
        buy: &Buy<'_>,
        metadata: impl FnOnce(&str) -> Metadata,
    ) {
        if !self.covers(buy.at) || self.turnover.is_some() {
            return;
        }
        let amount = Amount::of(buy.value, currency);
        let millis = buy.at.timestamp_millis();
        let parties = (source.unwrap_or_default(), destination.unwrap_or_default());
        let name = format!("{}>{} {millis} {} {}", parties.0, parties.1, amount.units, buy.text);
        let id = format!("pay-{}", code(self.world.seed, &name, 12));
        let metadata = metadata(&id);
        self.payments.push(Payment {
            id,
            created_at: buy.at,
            amount,
            currency,
            source: source.map(str::to_owned),
            destination: destination.map(str::to_owned),
            description: buy.text.to_owned(),
            metadata,
            outcome: buy.outcome,
            story: None,
        });
    }

    /// Returns the dice of a payment, by its id.
    pub(super) fn own(world: &World<'_>, id: &str) -> Dice {
        dice(world.seed, id, 0)
    }

    /// Notes what a merchant sells or gives back; returns whether the payment itself is wanted too.
    pub(super) fn sold(&mut self, shop: &'w Merchant, buy: &Buy<'_>, back: bool) -> bool {
        if !self.covers(buy.at) {
            return false;
        }
        let Some(turnover) = &mut self.turnover else { return true };
        if buy.outcome == Outcome::Applied {
            let units = Amount::of(buy.value, shop.currency).units.cast_signed();
            *turnover.entry(&shop.id).or_default() += if back { -units } else { units };
        }
        false
    }

    /// Writes a sale by card in a shop.
    pub(super) fn shop(&mut self, me: &Person<'_>, shop: &'w Merchant, buy: &Buy<'_>) {
        let trip = self.trip_at(me, buy.at);
        let told = trip.is_some_and(|trip| trip.told);
        if trip.is_some_and(|trip| trip.country_at(buy.at) != shop.country) {
            // Nobody stands in a shop at home while being away.
            return;
        }
        let home = shop.currency == me.who.currency;
        if !self.wants(me, buy.at) || (home && !self.fits(me, buy)) || !self.sold(shop, buy, false) {
            return;
        }
        let Some(card) = me.who.cards.first() else { return };
        let parties = (Some(&*me.who.account), Some(&*shop.settlement_account));
        let start = self.world.start;
        self.put(parties, shop.currency, buy, |_| {
            let mut fields = context::card_present(me.who, card, shop, buy.at);
            if told {
                fields.insert("travel_notice".to_owned(), true.into());
            }
            renewed(me, start, buy.at, fields)
        });
    }

    /// Writes an order by card over the internet.
    pub(super) fn order(&mut self, me: &Person<'_>, shop: &'w Merchant, goods: &'static str, buy: &Buy<'_>) {
        let home = shop.currency == me.who.currency;
        if !self.wants(me, buy.at) || (home && !self.fits(me, buy)) || !self.sold(shop, buy, false) {
            return;
        }
        let Some(card) = me.who.cards.first() else { return };
        let trip = self.trip_at(me, buy.at).cloned();
        let world = self.world;
        let parties = (Some(&*me.who.account), Some(&*shop.settlement_account));
        self.put(parties, shop.currency, buy, |id| {
            let mut dice = Self::own(world, id);
            let checkout = super::session::checkout(world, me, trip.as_ref(), goods, buy.at, &mut dice);
            renewed(
                me,
                world.start,
                buy.at,
                context::card_online(Some(me.who), card, shop, &checkout, buy.at),
            )
        });
    }

    /// Writes money that goes back to a card.
    pub(super) fn back(
        &mut self,
        me: &Person<'_>,
        card: Option<&Card>,
        shop: &'w Merchant,
        kind: &'static str,
        buy: &Buy<'_>,
    ) {
        let Some(card) = card else { return };
        if self.wants(me, buy.at) && self.sold(shop, buy, true) {
            let parties = (Some(&*shop.settlement_account), Some(&*me.who.account));
            self.put(parties, shop.currency, buy, |_| context::reversal(kind, card, shop, buy.at));
        }
    }

    /// Writes a transfer that somebody orders in app or web site.
    pub(super) fn transfer(&mut self, me: &Person<'_>, to: &Payee, buy: &Buy<'_>) {
        self.transfer_with(me, to, buy, None, Metadata::new);
    }

    /// Writes a transfer with a device of one kind, if given, and further metadata.
    pub(super) fn transfer_with(
        &mut self,
        me: &Person<'_>,
        to: &Payee,
        buy: &Buy<'_>,
        kind: Option<&str>,
        more: impl FnOnce() -> Metadata,
    ) {
        let world = self.world;
        let receiver = to.number.and_then(|number| world.person(number));
        let open = receiver.is_none_or(|receiver| receiver.is_open(buy.at));
        if !self.wants(me, buy.at) || !open || to.account == me.who.account {
            return;
        }
        if to.currency.is_none() && !self.fits(me, buy) {
            return;
        }
        let trip = self.trip_at(me, buy.at).cloned();
        let currency = to.currency.unwrap_or(me.who.currency);
        self.put((Some(&me.who.account), Some(&to.account)), currency, buy, |id| {
            let mut dice = Self::own(world, id);
            let session =
                super::session::session(world, me, trip.as_ref(), (buy.at, to.new, kind), &mut dice);
            let Some(session) = session else { return Metadata::new() };
            let receiver = receiver.map(|receiver| receiver.who);
            let mut fields = context::transfer(me.who, &session, &to.account, receiver, buy.at);
            if super::session::sim_confirmed(world, me, buy.at) {
                fields.insert("sim_swap_confirmed".to_owned(), true.into());
            }
            fields.extend(more());
            renewed(me, world.start, buy.at, fields)
        });
    }

    /// Writes a standing order or direct debit.
    pub(super) fn debit(&mut self, me: &Person<'_>, to: &str, buy: &Buy<'_>) {
        if self.wants(me, buy.at) && to != me.who.account && self.fits(me, buy) {
            let start = self.world.start;
            self.put((Some(&me.who.account), Some(to)), me.who.currency, buy, |_| {
                renewed(me, start, buy.at, context::without_session(me.who, to, buy.at))
            });
        }
    }

    /// Writes a payment that arrives from another bank.
    pub(super) fn receive(&mut self, from: &str, me: &Person<'_>, kind: &'static str, buy: &Buy<'_>) {
        if self.wants(me, buy.at) {
            self.put((Some(from), Some(&me.who.account)), me.who.currency, buy, |_| {
                context::incoming(kind, from, me.who)
            });
        }
    }

    /// Writes a deposit of cash at a branch.
    pub(super) fn cash(&mut self, me: &Person<'_>, branch: &str, declared: Option<f64>, buy: &Buy<'_>) {
        if self.wants(me, buy.at) {
            self.put((None, Some(&me.who.account)), me.who.currency, buy, |_| {
                context::cash_deposit(me.who, branch, declared)
            });
        }
    }

    /// Writes a payment by somebody who is no customer of the cast.
    pub(super) fn guest_shop(&mut self, guest: &Customer, shop: &'w Merchant, buy: &Buy<'_>) {
        let Some(card) = guest.cards.first() else { return };
        if self.sold(shop, buy, false) {
            let parties = (Some(&*guest.account), Some(&*shop.settlement_account));
            self.put(parties, shop.currency, buy, |_| context::card_present(guest, card, shop, buy.at));
        }
    }

    fn trip_at(&self, me: &Person<'_>, at: DateTime<Utc>) -> Option<&Trip> {
        self.trips.iter().find(|trip| trip.number == me.number && trip.covers(at))
    }
}

/// Returns the metadata with the new identity document, once it is renewed.
fn renewed(me: &Person<'_>, start: DateTime<Utc>, at: DateTime<Utc>, mut fields: Metadata) -> Metadata {
    let start = start.date_naive();
    if at.date_naive() >= date(start, me.life.document + me.life.late)
        && at.date_naive() > me.who.document_expires_on
    {
        let expires = date(start, me.life.document + me.life.late + 3_652);
        fields.insert("identity".to_owned(), serde_json::json!({"document_expires_at": expires.to_string()}));
    }
    fields
}
