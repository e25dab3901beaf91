//! Days on which something about a customer changes: telephone, SIM card, password, home; and accounts that wake up.
//!
//! People keep a telephone for about three years (Bitkom); one in ten moves house in a year (Eurostat, EU-SILC). What
//! follows a new SIM card or a new password is general knowledge.

use chrono::DateTime;

use super::bills::new_landlord;
use super::book::{Book, Payee, buy};
use super::life::Kind;
use super::roll::{Roll, account, hash};
use super::shops;
use super::world::Person;
use crate::dice::Dice;

/// Writes what somebody pays because of a change on a local day.
pub(super) fn changes<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let life = &me.life;
    if life.phone == day {
        known(book, me, day, "first payment from the new telephone", dice);
    }
    if life.sim == Some(day) {
        known(book, me, day, "payment after a new SIM card", dice);
        known(book, me, day, "payment after a new SIM card", dice);
    }
    if life.password == Some(day) && life.opens.is_none() {
        known(book, me, day, "payment after a new password", dice);
    }
    if let Some(moves) = life.moves {
        moving(book, me, moves, day, dice);
    }
}

/// Writes a transfer to a payee paid before, in the afternoon or evening.
fn known<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, text: &str, dice: &mut Dice) {
    let at = book.world.at(me.life.place, day, dice.between(13.5, 22.0));
    let name = format!("friend {} {}", dice.count(0, 4), me.who.account);
    let value = me.even(dice.around(40.0, 1.4));
    book.transfer(me, &Payee::known(account(book.world.seed, &name)), &buy(at, value, text));
}

fn moving<'w>(book: &mut Book<'w>, me: &Person<'w>, moves: i64, day: i64, dice: &mut Dice) {
    let (world, place) = (book.world, me.life.place);
    let at = |hour: f64| world.at(place, day, hour);
    let rent = if me.life.rent > 0.0 { me.life.rent } else { place.even(place.income * 0.3 / place.prices) };
    match moves - day {
        20 => {
            let (comes, goes) = (at(dice.between(9.0, 12.0)), at(dice.between(12.5, 21.0)));
            let savings = account(world.seed, &format!("savings {}", me.who.account));
            book.receive(&savings, me, "transfer", &buy(comes, rent * 3.0, "from my savings"));
            let to = Payee::new(new_landlord(world.seed, me));
            book.transfer(me, &to, &buy(goes, rent * 3.0, "deposit for a flat"));
        }
        0 => {
            let to = Payee::new(account(world.seed, &format!("removers {}", me.who.account)));
            let value = me.price(dice.around(850.0, 0.7));
            book.transfer(me, &to, &buy(at(dice.between(16.0, 20.0)), value, "removal firm"));
        }
        -3 => {
            if let Some(shop) = world.shop(me, &shops::FURNITURE, dice) {
                let value = me.price(dice.around(700.0, 0.9));
                book.shop(me, shop, &buy(at(dice.between(10.0, 19.0)), value, "furniture for the new flat"));
            }
        }
        _ => {}
    }
}

/// Writes the day of somebody who forgot the password, got a new one, and pays a bill that was waiting.
pub(super) fn forgotten<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let hour = dice.between(9.0, 21.0);
    let at = book.world.at(me.life.place, day, hour);
    let mut fields = crate::Metadata::new();
    let hours = dice.count(0, 3);
    fields.insert("hours_since_credential_change".to_owned(), hours.into());
    let to = Payee::known(account(book.world.seed, &format!("friend 1 {}", me.who.account)));
    let value = me.even(dice.around(45.0, 1.2));
    book.transfer_with(me, &to, &buy(at, value, "after a forgotten password"), None, || fields);
}

/// Writes the life of an account that sleeps: a second account used once, a student abroad, savings kept for a car.
pub(super) fn sleeper<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) -> bool {
    let wakes = i64::try_from(hash(me.life.code, "wakes") % 68).unwrap_or_default() + 4;
    let world = book.world;
    let at = |hour: f64| -> DateTime<chrono::Utc> { world.at(me.life.place, day, hour) };
    let to = |who: &str| Payee::new(account(world.seed, &format!("{who} {}", me.who.account)));
    let today = day >= 0 && day.rem_euclid(365) == wakes;
    match me.number / 60 % 3 {
        0 if today => {
            let value = me.even(dice.between(200.0, 700.0));
            book.transfer(
                me,
                &to("boat club"),
                &buy(at(dice.between(9.0, 20.0)), value, "yearly berth for the boat"),
            );
        }
        1 => {
            if day == wakes {
                let value = me.even(dice.between(40.0, 90.0));
                let buy = buy(at(dice.between(12.0, 20.0)), value, "back from the year abroad");
                book.transfer(me, &to("flatmate"), &buy);
            }
            return day >= wakes;
        }
        2 if today => {
            let value = me.even(dice.between(6_000.0, 14_000.0));
            book.transfer(
                me,
                &to("car dealer"),
                &buy(at(dice.between(10.0, 18.0)), value, "car from old savings"),
            );
        }
        _ => {}
    }
    false
}

/// Returns whether an account sleeps.
pub(super) fn sleeps(me: &Person<'_>) -> bool {
    me.life.kind == Kind::Dormant
}
