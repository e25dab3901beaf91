//! One account that many people pay: a school trip collected by one parent, second-hand sales, a charity run.
//!
//! General knowledge; the sizes of school classes are those of the OECD's "Education at a Glance".

use super::book::{Book, Payee, buy};
use super::roll::{Roll, account};
use super::world::Person;
use crate::dice::Dice;

/// Writes a collection: 12 to 25 families pay the same sum to one parent within two days, who pays the club or school.
pub(super) fn collection<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let world = book.world;
    let text = dice.pick(&["school trip", "club fee for the season", "present for the teacher"]);
    let text = text.copied().unwrap_or("school trip");
    let euros =
        if text == "present for the teacher" { dice.between(10.0, 20.0) } else { dice.between(25.0, 85.0) };
    let (share, families) = (me.even(euros), dice.count(12, 25));
    let friends = world.friends(me, 9);
    for family in 0..families {
        let later = dice.unit() * dice.unit() * 2.0;
        let night = later.fract() * 14.0 + 8.5;
        let at = world.at(me.life.place, day + super::roll::whole(later), night);
        let known = usize::try_from(family).ok().and_then(|family| friends.get(family));
        if let Some(parent) = known {
            let to = Payee::customer(me, dice.chance(0.7));
            book.transfer(parent, &to, &buy(at, share, text));
        } else {
            let from = account(world.seed, &format!("family {family} {} {day}", me.who.account));
            book.receive(&from, me, "transfer", &buy(at, share, text));
        }
    }
    let at = world.at(me.life.place, day + 3, dice.between(9.0, 21.0));
    let to = Payee::new(account(world.seed, &format!("school {}", me.life.household)));
    let whole = share * f64::from(families) * 0.97;
    book.transfer(me, &to, &buy(at, me.life.place.rounded(whole), "collected money handed on"));
}

/// Writes what a private seller of second-hand things gets from several strangers within a week.
pub(super) fn second_hand<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let world = book.world;
    for sale in 0..dice.count(2, 6) {
        let at = world.at(me.life.place, day + i64::from(dice.count(0, 7)), dice.between(9.0, 22.5));
        let value = me.even(dice.around(32.0, 1.4));
        let text = dice.pick(&[
            "used pram",
            "second-hand bicycle",
            "used books",
            "old telephone",
            "second-hand lamp",
        ]);
        let text = text.copied().unwrap_or("second-hand lamp");
        let buyer = world.friends(me, 40).into_iter().nth(usize::try_from(sale * 7 + 5).unwrap_or_default());
        if let Some(buyer) = buyer {
            book.transfer(buyer, &Payee::customer(me, true), &buy(at, value, text));
        } else {
            let from = account(world.seed, &format!("buyer {sale} {} {day}", me.who.account));
            book.receive(&from, me, "transfer", &buy(at, value, text));
        }
    }
}

/// Writes the gifts for a charity run, which many people send to one account on the same day.
pub(super) fn charity_run<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let world = book.world;
    let charity = account(world.seed, &format!("charity {}", me.life.place.country));
    let friends = world.friends(me, 14);
    for person in std::iter::once(me).chain(friends) {
        let hour = dice.between(9.0, 22.0);
        let at = world.at(me.life.place, day + i64::from(dice.chance(0.3)), hour);
        let value = me.even(dice.pick(&[5.0, 10.0, 10.0, 20.0, 25.0, 50.0]).copied().unwrap_or(10.0));
        if dice.chance(0.7) {
            book.transfer(person, &Payee::new(charity.clone()), &buy(at, value, "charity run"));
        }
    }
}
