//! Everybody with their lives, found by number, by country, and shops by kind.

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, Days, NaiveDate, TimeDelta, Utc, Weekday};

use super::life::{Kind, Life, life};
use super::people::date;
use super::place::Place;
use super::roll::{Roll, hash, nth, whole};
use super::shops::Ware;
use crate::dice::Dice;
use crate::{Cast, Customer, Merchant};

/// A customer together with a life.
#[derive(Debug)]
pub(super) struct Person<'w> {
    pub(super) number: usize,
    pub(super) who: &'w Customer,
    pub(super) life: Life,
    /// The instant at which the account is opened, if within the days of the population.
    pub(super) opens_at: Option<DateTime<Utc>>,
}

/// A cast with its lives.
#[derive(Debug)]
pub(super) struct World<'w> {
    pub(super) seed: u64,
    pub(super) start: DateTime<Utc>,
    pub(super) cast: &'w Cast,
    pub(super) people: Vec<Person<'w>>,
    shops: BTreeMap<&'w str, BTreeMap<&'w str, Vec<&'w Merchant>>>,
    towns: BTreeMap<&'static str, Vec<usize>>,
}

impl<'w> World<'w> {
    /// Returns the world of a cast.
    pub(super) fn of(cast: &'w Cast, seed: u64, start: DateTime<Utc>) -> Self {
        let person = |(number, who): (usize, &'w Customer)| {
            let life = life(seed, number);
            let hour = 9.0 + 8.0 * super::roll::spread(seed, "opening hours", number);
            let opens_at = life.opens.map(|day| at(start, life.place, day, hour));
            Person { number, who, life, opens_at }
        };
        let people: Vec<Person<'w>> = cast.customers.iter().enumerate().map(person).collect();
        let mut shops = BTreeMap::<_, BTreeMap<_, Vec<_>>>::new();
        for shop in &cast.merchants {
            shops.entry(shop.country).or_default().entry(shop.mcc).or_default().push(shop);
        }
        let mut towns = BTreeMap::<_, Vec<_>>::new();
        for person in &people {
            towns.entry(person.life.place.country).or_default().push(person.number);
        }
        Self { seed, start, cast, people, shops, towns }
    }

    /// Returns the instant of a local hour on a local day.
    pub(super) fn at(&self, place: &Place, day: i64, hour: f64) -> DateTime<Utc> {
        at(self.start, place, day, hour)
    }

    /// Returns the local day of an instant.
    pub(super) fn local_day(&self, place: &Place, at: DateTime<Utc>) -> i64 {
        let since = at.signed_duration_since(self.start) + hours(place.offset);
        since.num_milliseconds().div_euclid(86_400_000)
    }

    /// Returns the date of a day.
    pub(super) fn date(&self, day: i64) -> NaiveDate {
        date(self.start.date_naive(), day)
    }

    /// Returns shops of one code in a country.
    pub(super) fn shops(&self, country: &str, mcc: &str) -> &[&'w Merchant] {
        self.shops.get(country).and_then(|shops| shops.get(mcc)).map_or(&[], Vec::as_slice)
    }

    /// Returns a shop that somebody goes to: mostly the usual one.
    pub(super) fn shop(&self, me: &Person<'_>, ware: &Ware, dice: &mut Dice) -> Option<&'w Merchant> {
        let shops = self.shops(me.life.place.country, ware.mcc);
        let usual = nth(shops, me.life.code ^ hash(1, ware.text));
        if dice.chance(0.78) { usual.copied() } else { dice.pick(shops).copied() }
    }

    /// Returns the customer of this number.
    pub(super) fn person(&self, number: usize) -> Option<&Person<'w>> {
        self.people.get(number)
    }

    /// Returns up to so many customers of the same country who are known to somebody, the nearest first.
    pub(super) fn friends(&self, me: &Person<'_>, most: usize) -> Vec<&Person<'w>> {
        let town = self.towns.get(me.life.place.country).map_or(&[][..], Vec::as_slice);
        let here = town.iter().position(|number| *number == me.number).unwrap_or_default();
        let around = town.iter().cycle().skip(here + 1).take(town.len().saturating_sub(1));
        let known = around.filter_map(|number| self.person(*number));
        known.filter(|other| other.life.kind != Kind::Dormant).take(most).collect()
    }

    /// Returns the other customers of somebody's household.
    pub(super) fn household(&self, me: &Person<'_>) -> impl Iterator<Item = &Person<'w>> {
        let (household, number) = (me.life.household, me.number);
        let near = self.people.iter().skip(number.saturating_sub(3)).take(7);
        near.filter(move |other| other.life.household == household && other.number != number)
    }
}

fn hours(hours: f64) -> TimeDelta {
    TimeDelta::milliseconds(whole(hours * 3_600_000.0))
}

fn at(start: DateTime<Utc>, place: &Place, day: i64, hour: f64) -> DateTime<Utc> {
    start + TimeDelta::days(day) + hours(hour - place.offset)
}

/// Returns whether banks work on this date.
pub(super) fn working_day(date: NaiveDate) -> bool {
    !matches!(date.weekday(), Weekday::Sat | Weekday::Sun)
}

/// Returns whether a payment that falls on a day of the month is made on this date: on the next working day if need be.
///
/// 31 stands for the last working day of the month.
pub(super) fn due(date: NaiveDate, day_of_month: u32) -> bool {
    if !working_day(date) {
        return false;
    }
    let off = |days: u64| date.checked_add_days(Days::new(days)).unwrap_or(date);
    if day_of_month == 31 {
        let next = off(if date.weekday() == Weekday::Fri { 3 } else { 1 });
        return next.month() != date.month();
    }
    let back = |days: u64| date.checked_sub_days(Days::new(days)).unwrap_or(date).day() == day_of_month;
    date.day() == day_of_month || (date.weekday() == Weekday::Mon && (back(1) || back(2)))
}

impl Person<'_> {
    /// Returns whether the account is open at an instant.
    pub(super) fn is_open(&self, at: DateTime<Utc>) -> bool {
        self.opens_at.is_none_or(|opens| opens <= at)
    }

    /// Returns whether the account is open on a whole local day.
    pub(super) fn is_open_on(&self, day: i64) -> bool {
        self.life.opens.is_none_or(|opens| opens < day)
    }

    /// Returns how much this person can spend: the income in the prices of the country, relative to a German median.
    pub(super) fn means(&self) -> f64 {
        (self.life.income / self.life.place.prices / 2_500.0).clamp(0.25, 2.2)
    }

    /// Returns a round amount of money, given in euros.
    pub(super) fn even(&self, euros: f64) -> f64 {
        self.life.place.even(euros)
    }

    /// Returns a price here, given in euros.
    pub(super) fn price(&self, euros: f64) -> f64 {
        self.life.place.price(euros)
    }

    /// Returns the small sum that stands for 1.00 here: a pre-authorisation, the first month of a trial.
    pub(super) fn token(&self) -> f64 {
        let prices = self.life.place.prices;
        self.life.place.rounded(if prices > 10.0 { prices } else { 1.0 })
    }
}
