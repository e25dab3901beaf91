//! Money between people who know each other: gifts, shared bills, the tablet of the family.
//!
//! A tenth of the payments between persons are gifts and allowances, most are shared costs (ECB, SPACE 2022, payments
//! from person to person). Sums of 5 to 50 are common.

use super::book::{Book, Payee, buy};
use super::mishaps::later;
use super::roll::{Roll, account};
use super::world::Person;
use crate::dice::Dice;

const REASONS: [&str; 7] = [
    "gift",
    "thanks for lunch",
    "pizza",
    "birthday present",
    "concert ticket",
    "petrol money",
    "shopping for you",
];

/// Writes the transfers to friends and family of a local day.
pub(super) fn transfers<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let chance = if me.life.age < 35 { 0.17 } else { 0.1 };
    if !dice.chance(chance) {
        return;
    }
    let world = book.world;
    let hour = if dice.chance(0.65) { dice.between(17.0, 23.3) } else { dice.between(8.5, 17.0) };
    let at = world.at(me.life.place, day, hour);
    let value = me.even(dice.around(18.0, 1.0).clamp(5.0, 50.0));
    let text = dice.pick(&REASONS).copied().unwrap_or("gift");
    let new = dice.chance(0.06);
    let friends = world.friends(me, 4);
    let payee = match dice.pick(&friends) {
        Some(friend) if dice.chance(0.6) => Payee::customer(friend, new),
        _ => {
            let name = format!("friend {} {}", dice.count(0, if new { 400 } else { 4 }), me.who.account);
            Payee { new, ..Payee::known(account(world.seed, &name)) }
        }
    };
    book.transfer(me, &payee, &buy(at, value, text));
}

/// Writes a dinner that one person pays for, and the shares of four friends within minutes.
pub(super) fn dinner<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let world = book.world;
    let at = world.at(me.life.place, day, dice.between(20.5, 22.6));
    let share = me.price(dice.around(31.0, 0.6));
    let Some(shop) = world.shop(me, &super::shops::RESTAURANT, dice) else { return };
    book.shop(me, shop, &buy(at, share * 5.0, "dinner for five"));
    let friends = world.friends(me, 4);
    for number in 0..4 {
        let at = later(at, 120.0 + dice.between(0.0, 1_500.0));
        if let Some(friend) = friends.get(number) {
            let to = Payee::customer(me, dice.chance(0.15));
            book.transfer(friend, &to, &buy(at, share, "my share of dinner"));
        } else {
            let from = account(world.seed, &format!("friend {number} {}", me.who.account));
            book.receive(&from, me, "transfer", &buy(at, share, "my share of dinner"));
        }
    }
}

/// Writes an evening on which a whole family pays from the same tablet, each from an own account.
pub(super) fn tablet<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let world = book.world;
    let start = dice.between(18.5, 20.0);
    let family: Vec<&Person<'w>> = world.household(me).collect();
    for (number, person) in std::iter::once(me).chain(family).enumerate() {
        let number = f64::from(u32::try_from(number).unwrap_or_default());
        let at = world.at(me.life.place, day, start + number * dice.between(0.1, 0.9));
        let to = Payee::known(account(world.seed, &format!("friend 0 {}", person.who.account)));
        let value = person.even(dice.around(24.0, 0.9));
        book.transfer_with(person, &to, &buy(at, value, "from the family tablet"), Some("tablet"), || {
            crate::Metadata::new()
        });
    }
}
