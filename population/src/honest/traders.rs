//! People who live on their own business, and money across borders.
//!
//! Fields of wires follow Recommendation 16 of the FATF and Regulation (EU) 2023/1113. Shops bring cash to the bank on most
//! days (Deutsche Bundesbank, cost of cash in retail). Remittances of 100 to 300 a month are common (World Bank, Migration
//! and Development Brief).

use chrono::{Datelike, Weekday};

use super::book::{Book, Payee, buy};
use super::life::Kind;
use super::roll::{Roll, account, hash};
use super::world::{Person, due};
use crate::context::{self, Wire};
use crate::dice::Dice;

/// Writes the business of a local day: invoices paid by clients, suppliers, cash takings, obligations abroad.
pub(super) fn business<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let weekday = book.world.date(day).weekday();
    let works = !matches!(weekday, Weekday::Sat | Weekday::Sun);
    match me.life.kind {
        Kind::Freelancer if works && dice.chance(0.2) => invoices(book, me, day, dice),
        Kind::Shopkeeper if weekday != Weekday::Sun && dice.chance(0.85) => takings(book, me, day, dice),
        Kind::Expat => home_abroad(book, me, day, dice),
        _ => {}
    }
    if me.number % 67 == 10 {
        family_at_risk(book, me, day, dice);
    }
}

/// Writes an invoice that a client pays, and a supplier who is paid out of it on the same day.
fn invoices<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let world = book.world;
    let client = account(world.seed, &format!("client {} {}", dice.count(0, 6), me.who.account));
    let value = me.life.place.rounded(me.life.income * dice.around(0.28, 0.9));
    let at = world.at(me.life.place, day, dice.between(6.0, 14.0));
    book.receive(&client, me, "transfer", &buy(at, value, "invoice paid by a client"));
    if dice.chance(0.45) {
        let supplier = account(world.seed, &format!("supplier {} {}", dice.count(0, 4), me.who.account));
        let at = at + chrono::TimeDelta::minutes(i64::from(dice.count(30, 420)));
        let value = me.life.place.rounded(value * dice.between(0.2, 0.5));
        book.transfer(me, &Payee::known(supplier), &buy(at, value, "supplier paid the same day"));
    }
}

/// Writes the takings of a small shop, brought to one of two branches, and what goes to suppliers.
fn takings<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let world = book.world;
    let country = me.life.place.country.to_lowercase();
    let which = if dice.chance(0.85) { me.life.code % 4 } else { (me.life.code + 1) % 4 };
    let branch = format!("branch-{country}-{}", which + 1);
    let declared = me.life.place.even(me.life.income * 2.0 / me.life.place.prices);
    let value = me.life.place.even(declared / 24.0 * dice.around(1.0, 0.35) / me.life.place.prices);
    let at = world.at(me.life.place, day, dice.between(16.0, 18.4));
    book.cash(me, &branch, Some(declared), &buy(at, value, "cash takings"));
    if dice.chance(0.2) {
        let supplier = account(world.seed, &format!("supplier {} {}", dice.count(0, 4), me.who.account));
        let at = world.at(me.life.place, day, dice.between(18.6, 21.0));
        let value = me.life.place.rounded(declared * dice.between(0.06, 0.14));
        book.transfer(me, &Payee::known(supplier), &buy(at, value, "wholesaler"));
    }
}

/// Writes a purchase for the business from a supplier, sometimes a new one.
pub(super) fn supplies<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let world = book.world;
    let new = dice.chance(0.3);
    let name = format!("supplier {} {}", dice.count(0, if new { 300 } else { 4 }), me.who.account);
    let at = world.at(me.life.place, day, dice.between(8.0, 20.0));
    let value = me.life.place.rounded(me.life.income * dice.around(0.25, 0.8));
    let to = Payee { new, ..Payee::known(account(world.seed, &name)) };
    book.transfer(me, &to, &buy(at, value, "business purchase"));
}

fn name(me: &Person<'_>) -> String {
    let (first, last) = me.life.place.name(me.life.code, me.life.code / 1_000);
    format!("{} {}", capital(first), capital(last))
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Writes a wire to or from an ordinary foreign country: a client, a supplier, a holiday home.
pub(super) fn wire<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let home = me.life.place.country;
    let partners: Vec<&'static str> =
        ["US", "GB", "DE", "FR", "NL", "ES", "JP"].into_iter().filter(|country| *country != home).collect();
    let abroad = dice.pick(&partners).copied().unwrap_or("GB");
    let at = book.world.at(me.life.place, day, dice.between(8.5, 17.5));
    let value = me.life.place.rounded(me.life.income * dice.around(0.5, 0.8));
    let other = account(book.world.seed, &format!("partner {abroad} {}", me.who.account));
    if dice.chance(0.5) {
        sent(book, me, (&other, abroad, None), &buy(at, value, "wire to a partner abroad"));
        return;
    }
    let (first, last) = super::place::place(abroad).name(dice.count(0, 90).into(), dice.count(0, 90).into());
    let originator = format!("{} {}", capital(first), capital(last));
    let bank = bank(abroad);
    let wire = Wire {
        originator_name: &originator,
        originator_country: abroad,
        counterparty_country: abroad,
        bank_identifier: &bank,
        enhanced_checks_done: false,
    };
    if me.is_open(at) {
        let parties = (Some(&*other), Some(&*me.who.account));
        book.put(parties, me.who.currency, &buy(at, value, "wire from a client abroad"), |_| {
            let mut fields = context::incoming("wire", &other, me.who);
            fields.extend(context::wire(&wire));
            fields
        });
    }
}

/// Returns the identifier of a made-up bank's head office, by ISO 9362: four letters, the country, place and branch.
fn bank(country: &str) -> String {
    format!("LIND{country}2XXXX")
}

/// Writes a wire that somebody orders to an account abroad, in another currency if one is given.
fn sent<'w>(
    book: &mut Book<'w>,
    me: &Person<'w>,
    (account, country, currency): (&str, &'static str, Option<&'static str>),
    buy: &super::book::Buy<'_>,
) {
    let (name, bank) = (name(me), bank(country));
    let wire = Wire {
        originator_name: &name,
        originator_country: me.life.place.country,
        counterparty_country: country,
        bank_identifier: &bank,
        enhanced_checks_done: matches!(country, "MM" | "IR"),
    };
    let to = Payee { currency, ..Payee::known(account.to_owned()) };
    book.transfer_with(me, &to, buy, None, || context::wire(&wire));
}

/// Writes the obligation that an expatriate has at home, monthly and in the currency of that country.
fn home_abroad<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let on = 2 + u32::try_from(me.life.code % 24).unwrap_or_default();
    if !due(book.world.date(day), on) {
        return;
    }
    let others: Vec<&super::place::Place> = super::place::PLACES
        .iter()
        .filter(|place| place.share > 0.0 && place.currency != me.who.currency && place.country != "KW")
        .collect();
    let Some(home) = super::roll::nth(&others, me.life.code / 100) else { return };
    let to = account(book.world.seed, &format!("home of {}", me.who.account));
    let at = book.world.at(me.life.place, day, dice.between(8.0, 20.0));
    let value = home.even(420.0 + f64::from(u32::try_from(me.life.code % 9).unwrap_or_default()) * 40.0);
    sent(
        book,
        me,
        (&to, home.country, Some(home.currency)),
        &buy(at, value, "obligation in another currency"),
    );
}

/// Writes the monthly help for a family in a country of high risk, which compliance has looked at.
fn family_at_risk<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let mine = hash(me.life.code, "family abroad");
    let on = 3 + u32::try_from(mine % 20).unwrap_or_default();
    if me.life.tier < 2 || !due(book.world.date(day), on) {
        return;
    }
    let country = if (mine / 100).is_multiple_of(2) { "MM" } else { "IR" };
    let to = account(book.world.seed, &format!("family of {}", me.who.account));
    let at = book.world.at(me.life.place, day, dice.between(10.0, 20.0));
    let value = me.even(dice.between(100.0, 250.0));
    sent(book, me, (&to, country, None), &buy(at, value, "help for the family abroad"));
}
