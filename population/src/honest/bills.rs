//! Bills that come back: rent, energy, telephone, insurance, taxes, subscriptions, savings plans.
//!
//! Rent and mortgages are a quarter to two fifths of a median income (Eurostat, EU-SILC). Other bills are rounded from the
//! household budget survey. About one adult in twenty-five owns crypto-assets (ECB, SPACE 2022).

use chrono::{Datelike, NaiveDate};
use serde_json::json;

use super::book::{Book, Payee, buy};
use super::life::{Kind, Pay};
use super::people::landlord;
use super::roll::{Roll, account, code, hash};
use super::shops;
use super::world::{Person, due, working_day};
use crate::dice::Dice;
use crate::{Metadata, Outcome};

/// A bill that is collected by direct debit or paid by standing order.
struct Bill {
    text: &'static str,
    euros: f64,
    /// Months between two of them.
    every: u32,
    /// Share of households or people who get it, in percent.
    percent: u64,
    who: fn(&Person<'_>) -> bool,
}

const fn bill(
    text: &'static str,
    euros: f64,
    every: u32,
    percent: u64,
    who: fn(&Person<'_>) -> bool,
) -> Bill {
    Bill { text, euros, every, percent, who }
}

static BILLS: &[Bill] = &[
    bill("electricity", 75.0, 1, 95, leads),
    bill("heating", 85.0, 1, 70, heats),
    bill("internet access", 38.0, 1, 90, leads),
    bill("mobile telephone", 16.0, 1, 95, anybody),
    bill("broadcasting fee", 55.0, 3, 80, leads),
    bill("liability insurance", 95.0, 12, 75, leads),
    bill("car insurance", 520.0, 12, 95, drives),
    bill("vehicle tax", 170.0, 12, 90, drives),
    bill("health insurance supplement", 42.0, 1, 35, grown),
    bill("quarterly tax prepayment", 640.0, 3, 100, irregular),
    bill("club fee", 22.0, 1, 30, anybody),
    bill("donation", 15.0, 1, 15, grown),
    bill("kindergarten fee", 140.0, 1, 45, parent),
    bill("pocket money", 30.0, 1, 60, parent),
    bill("car loan instalment", 210.0, 1, 20, drives),
    bill("monthly transit pass", 52.0, 1, 30, anybody),
    bill("savings plan", 110.0, 1, 35, grown),
];

fn anybody(person: &Person<'_>) -> bool {
    person.life.tier > 1
}

fn leads(person: &Person<'_>) -> bool {
    person.life.rank == 0 && person.life.tier > 1
}

fn heats(person: &Person<'_>) -> bool {
    leads(person) && !matches!(person.life.place.country, "NG" | "KW")
}

fn drives(person: &Person<'_>) -> bool {
    person.life.drives && person.life.tier > 1
}

fn grown(person: &Person<'_>) -> bool {
    person.life.kind != Kind::Student && person.life.tier > 1
}

fn parent(person: &Person<'_>) -> bool {
    person.life.kind == Kind::Parent && person.life.rank == 0
}

fn irregular(person: &Person<'_>) -> bool {
    person.life.pay == Pay::Irregular && person.life.kind != Kind::Dormant
}

/// Writes the bills of a local day.
pub(super) fn bills<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let date = book.world.date(day);
    if working_day(date) && me.is_open_on(day) {
        rent(book, me, day, date, dice);
        for bill in BILLS {
            debit(book, me, bill, day, date, dice);
        }
        crypto(book, me, day, date, dice);
    }
}

/// Writes rent or mortgage; in a flat share, one pays the landlord and the others pay that one.
pub(super) fn rent<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, date: NaiveDate, dice: &mut Dice) {
    let on = 1 + u32::try_from(me.life.household % 3).unwrap_or_default();
    if me.life.rent <= 0.0 || !due(date, on) {
        return;
    }
    let world = book.world;
    let at = world.at(me.life.place, day, dice.between(5.0, 6.5));
    let moved = me.life.moves.is_some_and(|moves| moves <= day);
    if me.life.rank == 0 {
        let to = if moved { new_landlord(world.seed, me) } else { landlord(world.seed, me.life.household) };
        let text =
            if me.life.kind == Kind::Parent && me.life.code.is_multiple_of(2) { "mortgage" } else { "rent" };
        book.debit(me, &to, &buy(at, me.life.rent, text));
    } else if me.life.kind == Kind::Student && me.life.household % 13 == 2 {
        let share = me.life.place.even(me.life.rent / 3.0 / me.life.place.prices);
        let first = world.household(me).find(|other| other.life.rank == 0);
        if let Some(first) = first.filter(|first| first.is_open(at)) {
            book.debit(me, &first.who.account, &buy(at, share, "share of the rent"));
        }
    }
}

/// Returns the account of the landlord after a move.
pub(super) fn new_landlord(seed: u64, me: &Person<'_>) -> String {
    account(seed, &format!("landlord after the move {}", me.number))
}

fn debit<'w>(book: &mut Book<'w>, me: &Person<'w>, bill: &Bill, day: i64, date: NaiveDate, dice: &mut Dice) {
    let mine = hash(me.life.code, bill.text);
    let on = 1 + u32::try_from(mine % 27).unwrap_or_default();
    let month = (date.month() + u32::try_from(mine / 27 % 12).unwrap_or_default()).is_multiple_of(bill.every);
    if !month || mine / 1_000 % 100 >= bill.percent || !(bill.who)(me) || !due(date, on) {
        return;
    }
    let seed = book.world.seed;
    let country = me.life.place.country;
    let to = match bill.text {
        "savings plan" => account(seed, &format!("savings {}", me.who.account)),
        "pocket money" => account(seed, &format!("child of {}", me.life.household)),
        "club fee" => account(seed, &format!("club {}", me.life.household / 4)),
        text => account(seed, &format!("{text} {country} {}", mine % 3)),
    };
    let part = 0.75 + f64::from(u32::try_from(mine / 100_000 % 60).unwrap_or_default()) / 100.0;
    let value = me.price(bill.euros * part * me.means().clamp(0.3, 1.6));
    let at = book.world.at(me.life.place, day, dice.between(2.0, 6.0));
    book.debit(me, &to, &buy(at, value, bill.text));
}

/// Writes the monthly purchase of crypto-assets, to a wallet of one's own.
fn crypto<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, date: NaiveDate, dice: &mut Dice) {
    let mine = hash(me.life.code, "crypto");
    let on = 1 + u32::try_from(mine % 27).unwrap_or_default();
    if !(mine / 100).is_multiple_of(25) || me.life.age > 60 || !grown(me) || !due(date, on) {
        return;
    }
    let seed = book.world.seed;
    let hour = dice.between(9.0, 22.0);
    let at = book.world.at(me.life.place, day, hour);
    let value = me.even(dice.between(40.0, 150.0));
    let wallet = format!(
        "0x{:0>40}",
        code(seed, &format!("wallet {}", me.number), 10).replace(|c: char| c > 'f', "7")
    );
    let to = Payee::known(account(seed, "crypto exchange"));
    book.transfer_with(me, &to, &buy(at, value, "crypto savings plan"), None, || {
        Metadata::from_iter([("wallet".to_owned(), json!(wallet))])
    });
}

/// Writes what is collected from the card each month; where there is no cover, it is tried again for three days.
pub(super) fn subscriptions<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    for (ware, percent) in [(&shops::STREAMING, 60), (&shops::GYM, 20), (&shops::GAMES, 15)] {
        let mine = hash(me.life.code, ware.text);
        if mine / 100 % 100 >= percent || me.life.tier == 1 {
            continue;
        }
        let Some(shop) = super::roll::nth(book.world.shops(me.life.place.country, ware.mcc), mine).copied()
        else {
            continue;
        };
        let part = 0.8 + f64::from(u32::try_from(mine / 10_000 % 40).unwrap_or_default()) / 100.0;
        let value = me.price(ware.price * part);
        let on = 1 + u32::try_from(mine % 28).unwrap_or_default();
        for retry in 0..4_i64 {
            let first = book.world.date(day - retry);
            let dry = me.means() < 0.8
                && on > 20
                && hash(mine, &format!("dry {}", first.month())).is_multiple_of(4);
            if first.day() != on || (retry > 0 && !dry) || !me.is_open_on(day - retry) {
                continue;
            }
            let at = book.world.at(me.life.place, day, dice.between(5.0, 9.0));
            let fails = dry && retry < 3;
            let text = if fails { format!("{}, no cover", ware.text) } else { ware.text.to_owned() };
            let outcome = if fails { Outcome::Declined } else { Outcome::Applied };
            book.order(me, shop, ware.goods, &buy(at, value, &text).ending(outcome));
        }
    }
}
