//! Orders with a sequel: clothes sent back, trials that become subscriptions, cancelled journeys, chargebacks.
//!
//! Shops for clothing get 20 to 40 % of their online sales back (EHI Retail Institute, study of returns). Trials that turn
//! into a subscription are described in the rules of Visa and Mastercard on free and low-cost trials.

use chrono::{DateTime, TimeDelta, Utc};

use super::book::{Book, buy};
use super::mishaps::{later, order};
use super::roll::{Roll, hash};
use super::shops::{self, Ware};
use super::world::Person;
use crate::dice::Dice;

fn evening(book: &Book<'_>, me: &Person<'_>, day: i64, dice: &mut Dice) -> DateTime<Utc> {
    book.world.at(me.life.place, day, dice.between(9.5, 23.0))
}

fn after(at: DateTime<Utc>, days: (u32, u32), dice: &mut Dice) -> DateTime<Utc> {
    let days = i64::from(dice.count(days.0, days.1));
    at + TimeDelta::days(days) + TimeDelta::seconds(i64::from(dice.count(0, 14_000)))
}

/// Name of the event that clothes are ordered.
pub(super) const CLOTHES: &str = "clothes ordered";

/// Returns the days after which somebody sends clothes back that were ordered on a day.
fn days_kept(seed: u64, number: usize, day: i64) -> i64 {
    let kept = hash(seed, &format!("kept {number} {day}")) % 13;
    i64::try_from(kept).unwrap_or_default() + 5
}

/// Returns whether an order of clothes can pay something around another day.
pub(super) fn pays(seed: u64, number: usize, ordered: i64, day: i64) -> bool {
    (ordered - day).abs() <= 1 || (ordered + days_kept(seed, number, ordered) - day).abs() <= 2
}

/// Writes an order of clothes; a third of them go back, in part or in full.
pub(super) fn clothes<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let at = evening(book, me, day, dice);
    let value = me.price(dice.around(shops::CLOTHING.price * 1.3, 1.0) * me.means().clamp(0.6, 1.8));
    let Some(shop) = book.world.shop(me, &shops::CLOTHING, dice) else { return };
    let (returns, part) = (dice.chance(0.32), dice.unit());
    let kept = days_kept(book.world.seed, me.number, day);
    let back_at = at + TimeDelta::days(kept) + TimeDelta::seconds(i64::from(dice.count(0, 14_000)));
    if !returns {
        order(book, me, shop, "clothing", &buy(at, value, "clothing ordered online"), dice);
        return;
    }
    book.order(me, shop, "clothing", &buy(at, value, "clothing ordered online"));
    let back = if part < 0.4 { value } else { me.life.place.rounded(value * part).min(value) };
    book.back(me, me.who.cards.first(), shop, "refund", &buy(back_at, back, "clothes sent back"));
}

/// Writes the first month of a subscription for 1.00, and its full price later.
pub(super) fn trial<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let ware: &Ware = if dice.chance(0.7) { &shops::STREAMING } else { &shops::GAMES };
    let at = evening(book, me, day, dice);
    let days = dice.pick(&[7, 14, 30]).copied().unwrap_or(14);
    let Some(shop) = book.world.shop(me, ware, dice) else { return };
    book.order(me, shop, "digital", &buy(at, me.token(), "trial subscription"));
    let at = later(at + TimeDelta::days(days), dice.between(0.0, 9_000.0));
    if dice.chance(0.65) {
        let value = me.price(dice.around(ware.price * 1.3, 0.4));
        book.order(me, shop, "digital", &buy(at, value, "full price after the trial"));
    }
}

/// Writes a ticket or room that is paid and given back some days later.
pub(super) fn cancelled<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let (ware, goods) =
        if dice.chance(0.5) { (&shops::RAIL, "tickets") } else { (&shops::AIRLINE, "tickets") };
    let at = evening(book, me, day, dice);
    let value = me.price(dice.around(ware.price * 1.5, 0.8));
    let Some(shop) = book.world.shop(me, ware, dice) else { return };
    book.order(me, shop, goods, &buy(at, value, "journey booked"));
    let back = after(at, (2, 18), dice);
    let part = if dice.chance(0.7) { 1.0 } else { 0.75 };
    let value = me.life.place.rounded(value * part).min(value);
    book.back(me, me.who.cards.first(), shop, "refund", &buy(back, value, "cancelled journey"));
}

/// Writes a refund to the person's other card, because the first one expired meanwhile.
pub(super) fn other_card<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let at = evening(book, me, day, dice);
    let value = me.price(dice.around(70.0, 0.9));
    let Some(shop) = book.world.shop(me, &shops::MARKETPLACE, dice) else { return };
    book.order(me, shop, "household", &buy(at, value, "order before the card expired"));
    let back = after(at, (6, 13), dice);
    book.back(me, me.who.cards.last(), shop, "refund", &buy(back, value, "refund to the new card"));
}

/// Writes an order that never arrives, and the chargeback.
pub(super) fn chargeback<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let at = evening(book, me, day, dice);
    let value = me.price(dice.around(55.0, 1.0));
    let Some(shop) = book.world.shop(me, &shops::MARKETPLACE, dice) else { return };
    book.order(me, shop, "household", &buy(at, value, "order that never arrived"));
    let back = after(at, (12, 23), dice);
    book.back(me, me.who.cards.first(), shop, "chargeback", &buy(back, value, "goods not received"));
}

/// Writes the weeks of somebody who does up a room: several visits to the same shop, one of them twice in an hour.
pub(super) fn home_improvement<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let Some(shop) = book.world.shop(me, &shops::HARDWARE, dice) else { return };
    for visit in 0..dice.count(3, 5) {
        let at = book.world.at(me.life.place, day + i64::from(visit) * 2, dice.between(9.0, 17.0));
        let value = me.price(dice.around(85.0, 1.3));
        book.shop(me, shop, &buy(at, value, "doing up a room"));
        if visit == 1 {
            let at = later(at, dice.between(1_500.0, 3_400.0));
            book.shop(me, shop, &buy(at, me.price(dice.around(12.0, 0.9)), "a forgotten tool"));
        }
    }
}
