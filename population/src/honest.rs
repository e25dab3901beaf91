//! Honest customers, shops and employers, and what they do on a day.
//!
//! People live in the streets of `life`; what they do each day is in `routine`, `income`, `bills` and `family`, what happens to
//! them now and then is in `agenda`. Each file names the publication that its shape comes from.
//!
//! | claim | about | where from |
//! |---|---|---|
//! | payments of all kinds, for a customer and day | 2.5 | ECB SPACE: 1.5 to 2 purchases with cash, plus bills |
//! | declined or failed, of card payments | 2 to 3 % | published authorisation rates of acquirers |
//! | cards abroad, of card payments | 2 to 6 % | ECB payment statistics, cross-border cards |
//! | refunds, of clothes ordered online | 20 to 40 % | EHI Retail Institute |
//! | chargebacks, of card payments | below 0.1 % | monitoring programmes of Visa and Mastercard |
//! | new accounts within 75 days | 9 % of customers | general knowledge |
//! | buyers of a used car, a year | 6 to 7 % of adults | Kraftfahrt-Bundesamt |
//! | kitchens, a year | 2 to 4 % of households | AMK |
//! | journeys abroad with a night, a year | about 1 | Eurostat, tourism demand |
//! | moves, a year | 5 to 10 % | Eurostat, EU-SILC |
//! | owners of crypto-assets | 4 % | ECB, SPACE 2022 |
//! | rent or mortgage, of a median income | 26 to 40 % | Eurostat, EU-SILC |
//! | salary saved at once on payday | a quarter of earners | general knowledge |

mod agenda;
mod agents;
mod arrival;
mod big;
mod bills;
mod book;
mod changes;
mod family;
mod giving;
mod guests;
mod income;
mod journey;
mod life;
mod merchants;
mod mishaps;
mod online;
mod past;
mod people;
mod place;
mod roll;
mod routine;
mod session;
mod shops;
#[cfg(test)]
mod tests;
mod traders;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Datelike, NaiveDate, TimeDelta, Utc, Weekday};

use crate::dice::dice;
use crate::{Cast, Payment};
use book::Book;
use life::{Kind, Pay};
use world::{Person, World};

/// Returns everybody of the population, by a seed.
///
/// `start` is day 0; some customers open their account later, on a day of the first 75.
#[must_use]
pub fn cast(seed: u64, n_customers: usize, start: NaiveDate) -> Cast {
    let lives: Vec<life::Life> = (0..n_customers).map(|number| life::life(seed, number)).collect();
    let customers =
        lives.iter().enumerate().map(|(number, life)| people::customer(seed, number, life, start)).collect();
    let listed = ["payroll-northwind", "payroll-meridian", "payroll-harbour-foods"].map(str::to_owned);
    let small: BTreeSet<String> = lives.into_iter().filter_map(|life| employer(life.pay)).collect();
    let small = small.into_iter().filter(|employer| !listed.contains(employer));
    let employers = listed.iter().cloned().chain(small).collect();
    Cast { customers, merchants: shops::all(seed, n_customers, start), employers }
}

fn employer(pay: Pay) -> Option<String> {
    match pay {
        Pay::Monthly(employer, _) | Pay::Weekly(employer) => Some(employer),
        _ => None,
    }
}

/// Returns the payments of honest customers, shops and employers on one day, in order of time.
///
/// A day follows from the seed and its number alone; numbers go on beyond the past, for as long as the demo plays.
#[must_use]
pub fn day(cast: &Cast, seed: u64, start: DateTime<Utc>, day: u32) -> Vec<Payment> {
    let world = World::of(cast, seed, start);
    let day = i64::from(day);
    let monday = (start.date_naive() + TimeDelta::days(day)).weekday() == Weekday::Mon;
    let week = if monday { turnover(&world, day - 7, day - 1) } else { BTreeMap::new() };
    let mut counter = Book::new(&world, at(&world, day - 1), at(&world, day), true);
    if day > 0 {
        strangers(&mut counter, day - 1);
    }
    let yesterday = counter.turnover();
    let mut book = book_of(&world, day, false);
    merchants::payouts(&mut book, day, &yesterday, &week);
    book.finish()
}

/// Returns the payments of the 300 days before day 0 that make people and payees known to the bank: a thin history.
#[must_use]
pub fn before(cast: &Cast, seed: u64, start: DateTime<Utc>) -> Vec<Payment> {
    past::history(&World::of(cast, seed, start)).finish()
}

/// Returns what merchants sold from one day to another, both included; nothing was sold before day 0.
fn turnover<'w>(world: &'w World<'w>, first: i64, last: i64) -> BTreeMap<&'w str, i64> {
    let mut sales = BTreeMap::new();
    for day in first.max(0)..=last {
        for (shop, units) in book_of(world, day, true).turnover() {
            *sales.entry(shop).or_default() += units;
        }
    }
    sales
}

/// Returns the instant at which a day (UTC) begins.
fn at(world: &World<'_>, day: i64) -> DateTime<Utc> {
    world.start + TimeDelta::days(day)
}

/// Returns the book of one day (UTC), without payouts.
fn book_of<'w>(world: &'w World<'w>, day: i64, only_turnover: bool) -> Book<'w> {
    let mut book = Book::new(world, at(world, day), at(world, day + 1), only_turnover);
    let happenings = agenda::around(world, day);
    agenda::pack(&mut book, &happenings);
    agenda::play(&mut book, &happenings);
    for me in &world.people {
        lived(&mut book, me, day);
    }
    strangers(&mut book, day);
    book
}

/// Writes what people outside the cast pay on the local days around a day (UTC).
fn strangers(book: &mut Book<'_>, day: i64) {
    for local in day - 1..=day + 1 {
        merchants::sales(book, local);
        agents::counters(book, local);
    }
}

/// Writes what a person does on the local days that overlap a day (UTC).
fn lived<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64) {
    let life = &me.life;
    // Who sleeps at night pays nothing in the first hour of a local day.
    let wakes = if life.kind == Kind::NightShift { 0.0 } else { 1.0 };
    for local in day - 1..=day + 1 {
        let later = f64::from(i32::try_from(local - day).unwrap_or_default()) * 24.0 - life.place.offset;
        if life.opens.is_some_and(|opens| opens > local) {
            continue;
        }
        if later + wakes < 24.0 && later + 24.0 > 0.0 {
            local_day(book, me, local);
        }
        let weekend = matches!(book.world.date(local).weekday(), Weekday::Fri | Weekday::Sat);
        if weekend && life.age < 45 && life.tier > 1 && life.kind != Kind::Dormant {
            let name = format!("night {} {local}", me.number);
            let one_in = if life.age < 30 { 5 } else { 10 };
            if roll::hash(book.world.seed, &name).is_multiple_of(one_in) {
                let mut dice = dice(book.world.seed, &name, local);
                routine::night_out(book, me, local, &mut dice);
            }
        }
    }
    if life.opens.is_some_and(|opens| (opens - 1..=opens + arrival::DAYS).contains(&day)) {
        arrival::first_days(book, me);
    }
}

fn local_day<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64) {
    let mut dice = dice(book.world.seed, &format!("day {}", me.number), day);
    if changes::sleeps(me) {
        if changes::sleeper(book, me, day, &mut dice) {
            routine::purchases(book, me, day, &mut dice);
        }
        return;
    }
    routine::purchases(book, me, day, &mut dice);
    bills::subscriptions(book, me, day, &mut dice);
    changes::changes(book, me, day, &mut dice);
    if !book.counts_only() {
        income::arrivals(book, me, day, &mut dice);
        bills::bills(book, me, day, &mut dice);
        traders::business(book, me, day, &mut dice);
        family::transfers(book, me, day, &mut dice);
    }
}
