//! The first days of new customers.
//!
//! Surveys on switching accounts (EU Directive 2014/92/EU obliges banks to help with it) say that people move all their
//! payments at once; the rest is general knowledge. Customers of the lowest tier know their limits (Central Bank of
//! Nigeria, three-tiered know-your-customer requirements).

use super::book::{Book, Payee, buy};
use super::life::Kind;
use super::people::landlord;
use super::roll::{Roll, account};
use super::world::Person;
use crate::dice::{Dice, dice};

/// Days after the opening on which something special is paid.
pub(super) const DAYS: i64 = 5;

const ORDERS: [&str; 9] = [
    "electricity",
    "internet access",
    "mobile telephone",
    "newspaper",
    "liability insurance",
    "sports club",
    "donation",
    "car insurance",
    "allotment garden",
];

/// Writes the first days of somebody who opened an account on a local day.
pub(super) fn first_days<'w>(book: &mut Book<'w>, me: &Person<'w>) {
    let (Some(day), Some(opened)) = (me.life.opens, me.opens_at) else { return };
    let world = book.world;
    let mut dice = dice(world.seed, &format!("arrival {}", me.number), day);
    let hour = |minutes: u32| opened + chrono::TimeDelta::minutes(i64::from(minutes));
    let old = account(world.seed, &format!("old bank {}", me.who.account));
    let months = if me.life.tier == 1 { 0.05 } else { dice.between(0.3, 0.9) };
    let value = me.life.place.even(me.life.income * months / me.life.place.prices);
    let comes = hour(dice.count(15, 180));
    book.receive(&old, me, "transfer", &buy(comes, value, "first transfer from the old bank"));
    let first = comes + chrono::TimeDelta::minutes(i64::from(dice.count(5, 90)));
    let value = me.even(if me.life.tier == 1 { 3.0 } else { dice.between(10.0, 40.0) });
    let friend = Payee::new(account(world.seed, &format!("friend 0 {}", me.who.account)));
    book.transfer(me, &friend, &buy(first, value, "first payment from the new account"));
    if me.life.tier == 1 {
        small(book, me, day, &mut dice);
        return;
    }
    if me.life.kind != Kind::Student && me.who.daily_limit.is_none() && me.life.code.is_multiple_of(2) {
        large(book, me, day, &old, &mut dice);
    }
    if !me.life.code.is_multiple_of(3) && me.life.kind != Kind::Student {
        moved_orders(book, me, day, &mut dice);
    }
}

/// Writes the small payments with which a customer of the lowest tier begins.
fn small<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    for later in 1..=4 {
        let at = book.world.at(me.life.place, day + later, dice.between(8.0, 20.0));
        let value = me.even(dice.between(2.0, 9.0));
        let to = account(book.world.seed, &format!("airtime {}", me.life.place.country));
        let to = if later == 1 { Payee::new(to) } else { Payee::known(to) };
        book.transfer(me, &to, &buy(at, value, "small payment of a new customer"));
    }
}

/// Writes the first large payment: money from the old bank, and a deposit and the rent within hours or days.
fn large<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, old: &str, dice: &mut Dice) {
    let world = book.world;
    let rent = if me.life.rent > 0.0 { me.life.rent } else { me.even(650.0) };
    let later = i64::from(dice.count(0, 2));
    let start = if later == 0 { 18.2 } else { 9.0 };
    let at = world.at(me.life.place, day + later, start + dice.between(0.3, 1.5));
    book.receive(old, me, "transfer", &buy(at, rent * 4.0, "savings from the old bank"));
    let at = at + chrono::TimeDelta::minutes(i64::from(dice.count(20, 200)));
    let to = Payee::new(landlord(world.seed, me.life.household));
    book.transfer(me, &to, &buy(at, rent * 3.0, "deposit, first large payment"));
}

/// Writes the evening on which all standing orders are moved: many payees, one after the other.
fn moved_orders<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let world = book.world;
    let evening = day + i64::from(dice.count(1, 3));
    let mut hour = dice.between(18.5, 20.5);
    let many = usize::try_from(dice.count(6, 9)).unwrap_or(6);
    for what in ORDERS.iter().take(many) {
        hour += dice.between(0.03, 0.11);
        let country = me.life.place.country;
        let to = Payee::new(account(world.seed, &format!("{what} {country} {}", me.life.code % 3)));
        let value = me.price(dice.around(32.0, 0.9));
        let text = format!("{what}, order moved to the new bank");
        book.transfer(me, &to, &buy(world.at(me.life.place, evening, hour), value, &text));
    }
}
