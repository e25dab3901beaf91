//! Shops that stand out: a young one that grows, one with a season, a launch day, a market stall; and payouts to all.
//!
//! Acquirers pay out daily or weekly, less their fee (general knowledge; the fee is within what the European Commission's
//! study on card fees gives). That a young shop grows over weeks, and a launch sells in a day, is general knowledge.

use std::collections::BTreeMap;

use chrono::{Datelike, Weekday};

use super::book::{Book, Buy, buy};
use super::guests::guest;
use super::place::{Place, place};
use super::roll::Roll;
use super::shops;
use crate::context::{self, Checkout};
use crate::dice::{Dice, dice};
use crate::{Amount, Merchant, Outcome};

/// Writes what strangers buy from young, seasonal and launching shops and from stalls on a local day.
pub(super) fn sales(book: &mut Book<'_>, day: i64) {
    let world = book.world;
    for shop in &world.cast.merchants {
        let there = place(shop.country);
        let weekday = world.date(day).weekday();
        let (usual, text, goods, spread) = match shop.mcc {
            shops::YOUNG => (growth(day), "cosmetics of a young shop", "cosmetics", 0.5),
            shops::SEASONAL => (season(day), "flowers in season", "flowers", 0.6),
            shops::LAUNCH => (launch(day), "software on launch day", "digital", 0.15),
            shops::STALL if matches!(weekday, Weekday::Wed | Weekday::Sat) => (14.0, "market stall", "", 0.9),
            _ => continue,
        };
        if !book.covers(world.at(there, day, 7.0)) && !book.covers(world.at(there, day, 23.5)) {
            continue;
        }
        let mut dice = dice(world.seed, &shop.id, day);
        let number = super::roll::whole(dice.around(usual, 0.4) + dice.unit());
        for sale in 0..u32::try_from(number).unwrap_or_default() {
            let value = there.price(dice.around(shop.declared_average_ticket / there.prices, spread));
            if shop.mcc == shops::STALL {
                stall(book, shop, there, day, (sale, value, text), &mut dice);
            } else {
                let rush = if shop.mcc == shops::LAUNCH { dice.unit() * dice.unit() } else { dice.unit() };
                let hour = if shop.mcc == shops::LAUNCH { 9.0 + 14.0 * rush } else { 7.5 + 15.5 * rush };
                let at = world.at(there, day, hour);
                online(book, shop, there, goods, &buy(at, value, text), &mut dice);
            }
        }
    }
}

/// Returns the sales a day of a shop that opened shortly before day 0.
fn growth(day: i64) -> f64 {
    f64::from(i32::try_from(day.clamp(0, 90)).unwrap_or_default()).mul_add(0.16, 0.8)
}

/// Returns the sales a day of a shop whose season lasts ten days of each 75.
fn season(day: i64) -> f64 {
    if (38..48).contains(&day.rem_euclid(75)) { 14.0 } else { 2.0 }
}

/// Returns the sales a day of a maker of software who launches something each 75 days.
fn launch(day: i64) -> f64 {
    match day.rem_euclid(75) {
        29 => 60.0,
        30..=32 => 10.0,
        _ => 0.7,
    }
}

/// Writes a sale at a stall to a passer-by, who may come each week.
fn stall<'w>(
    book: &mut Book<'w>,
    shop: &'w Merchant,
    there: &'static Place,
    day: i64,
    (sale, value, text): (u32, f64, &str),
    dice: &mut Dice,
) {
    let world = book.world;
    let at = world.at(there, day, dice.between(8.0, 13.8));
    let visitor = dice.count(0, 40);
    if book.covers(at) {
        let guest =
            guest(world.seed, &format!("visitor {visitor} {}", shop.id), there, world.start.date_naive());
        let value = if sale == 0 { there.even(value / there.prices) } else { value };
        book.guest_shop(&guest, shop, &buy(at, value, text));
    }
}

/// Writes an online sale to the holder of a card of another bank; a few are declined.
fn online<'w>(
    book: &mut Book<'w>,
    shop: &'w Merchant,
    there: &'static Place,
    goods: &'static str,
    buy: &Buy<'_>,
    dice: &mut Dice,
) {
    let world = book.world;
    let (visitor, fails) = (dice.count(0, 4_000), dice.chance(0.025));
    if !book.covers(buy.at) {
        return;
    }
    let outcome = if fails { Outcome::Declined } else { Outcome::Applied };
    let buy = buy.ending(outcome);
    if !book.sold(shop, &buy, false) {
        return;
    }
    let guest = guest(world.seed, &format!("buyer {visitor} {}", shop.id), there, world.start.date_naive());
    let Some(card) = guest.cards.first() else { return };
    let parties = (Some(&*guest.account), Some(&*shop.settlement_account));
    book.put(parties, shop.currency, &buy, |id| {
        let mut dice = Book::own(world, id);
        let score = if dice.chance(0.05) { dice.count(30, 65) } else { dice.count(1, 30) };
        let checkout = Checkout {
            ip: guest.home_ip.clone(),
            ip_country: guest.country,
            ip_type: "residential",
            device: None,
            email: guest.email.clone(),
            three_ds: if dice.chance(0.7) { "passed" } else { "none" },
            risk_score: u8::try_from(score).unwrap_or_default(),
            travel_notice: false,
            goods,
            billing_country: guest.country,
            shipping_country: (goods != "digital").then_some(guest.country),
        };
        context::card_online(None, card, shop, &checkout, buy.at)
    });
}

/// Returns whether a merchant is paid daily, as young ones and stalls are; the others are paid on Mondays.
fn paid_daily(shop: &Merchant) -> bool {
    matches!(shop.mcc, shops::YOUNG | shops::SEASONAL | shops::LAUNCH | shops::STALL)
}

/// Writes the payouts of a day, out of the turnover by merchant of the day before, and of the week before on Mondays.
pub(super) fn payouts(
    book: &mut Book<'_>,
    day: i64,
    yesterday: &BTreeMap<&str, i64>,
    week: &BTreeMap<&str, i64>,
) {
    let world = book.world;
    for shop in &world.cast.merchants {
        let turnover = if paid_daily(shop) { yesterday } else { week };
        let Some(units) = turnover.get(shop.id.as_str()).copied().filter(|units| *units > 0) else {
            continue;
        };
        let units = units.unsigned_abs();
        let value = Amount { units, decimals: crate::decimals(shop.currency) }.value() * 0.986;
        let hour = 4.0 + 2.0 * super::roll::spread(world.seed, &shop.id, 0);
        let seconds = super::roll::whole(hour * 3_600.0);
        let at = world.start + chrono::TimeDelta::days(day) + chrono::TimeDelta::seconds(seconds);
        let parties = (Some(&*shop.settlement_account), Some(&*shop.account));
        book.put(parties, shop.currency, &buy(at, value, "payout"), |_| context::payout(shop, at));
    }
}
