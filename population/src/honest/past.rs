//! A thin history of the customers over the 300 days before day 0: salary, rent, usual shops, friends.

use chrono::Days;

use super::book::{Book, buy};
use super::mishaps;
use super::roll::Roll;
use super::shops;
use super::world::{Person, World};
use super::{bills, changes, family, income};
use crate::dice::{Dice, dice};

/// Days of history.
const DAYS: i64 = 300;

/// Returns the history as a book.
pub(super) fn history<'w>(world: &'w World<'w>) -> Book<'w> {
    let from = world.start - Days::new(DAYS.unsigned_abs());
    let mut book = Book::new(world, from, world.start, false);
    for me in world.people.iter().filter(|me| me.life.opens.is_none() && !changes::sleeps(me)) {
        let mut dice = dice(world.seed, &format!("past {}", me.number), 0);
        for day in -DAYS..0 {
            ordinary(&mut book, me, day, &mut dice);
        }
    }
    book
}

fn ordinary<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    book.new_day();
    income::arrivals(book, me, day, dice);
    bills::rent(book, me, day, book.world.date(day), dice);
    if dice.chance(0.4) {
        family::transfers(book, me, day, dice);
    }
    if dice.chance(0.09) {
        let ware = dice.pick(&[&shops::GROCERY, &shops::GROCERY, &shops::COFFEE, &shops::CLOTHING]).copied();
        let (Some(ware), at) = (ware, book.world.at(me.life.place, day, dice.between(9.0, 20.0))) else {
            return;
        };
        let value = me.price(dice.around(ware.price, ware.spread));
        if let Some(shop) = book.world.shop(me, ware, dice) {
            mishaps::purchase(book, me, shop, &buy(at, value, ware.text), dice);
        }
    }
    if me.life.tier > 1 && dice.chance(0.02) {
        let at = book.world.at(me.life.place, day, dice.between(9.0, 22.5));
        let value = me.price(dice.around(shops::MARKETPLACE.price, 1.0));
        if let Some(shop) = book.world.shop(me, &shops::MARKETPLACE, dice) {
            book.order(me, shop, "household", &buy(at, value, "household ordered online"));
        }
    }
}
