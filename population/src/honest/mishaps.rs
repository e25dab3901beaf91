//! What goes wrong with honest payments: wrong PIN, no cover, a mistyped number, a machine that does not read the card.
//!
//! About 2 to 3 % of card payments in Europe are declined in shops, more online; half of the declines are for want of cover
//! (figures that acquirers publish on authorisation rates). People try again within seconds or minutes (general knowledge).

use chrono::{DateTime, Datelike, TimeDelta, Utc};

use super::book::{Book, Buy};
use super::place::place;
use super::roll::Roll;
use super::world::Person;
use crate::dice::Dice;
use crate::{Merchant, Outcome};

/// Writes a purchase in a shop, with what may go wrong before it succeeds.
pub(super) fn purchase<'w>(
    book: &mut Book<'w>,
    me: &Person<'w>,
    shop: &'w Merchant,
    buy: &Buy<'_>,
    dice: &mut Dice,
) {
    let (mishap, detail) = (dice.unit(), dice.unit());
    let short = short_of_money(me, buy.at);
    let machine = if buy.text.contains("ticket") || buy.text.contains("vending") { 0.012 } else { 0.0 };
    let mut again = |reason: &str, times: u32, outcome: Outcome| -> DateTime<Utc> {
        let text = format!("{}, {reason}", buy.text);
        for time in 0..times {
            let at = later(buy.at, f64::from(time) * (18.0 + 20.0 * detail));
            book.shop(me, shop, &Buy { at, text: &text, outcome, ..*buy });
        }
        later(buy.at, f64::from(times) * (20.0 + 22.0 * detail))
    };
    if mishap < 0.006 {
        let at = again("wrong PIN", 2, Outcome::Declined);
        book.shop(me, shop, &Buy { at, ..*buy });
    } else if mishap < 0.006 + short {
        let at = again("no cover", 1, Outcome::Declined);
        if detail < 0.6 {
            let value = place(shop.country).rounded(buy.value * (0.3 + 0.4 * detail));
            book.shop(me, shop, &Buy { at, value: value.min(buy.value), ..*buy });
        }
    } else if mishap < 0.009 + short {
        let at = again("gateway timeout", 1, Outcome::Failed);
        book.shop(me, shop, &Buy { at, ..*buy });
    } else if mishap < 0.009 + short + machine {
        let at = again("card not read by the machine", if detail < 0.5 { 2 } else { 3 }, Outcome::Declined);
        if detail < 0.8 {
            book.shop(me, shop, &Buy { at, ..*buy });
        }
    } else {
        book.shop(me, shop, buy);
    }
}

/// Writes an order over the internet, with what may go wrong before it succeeds.
pub(super) fn order<'w>(
    book: &mut Book<'w>,
    me: &Person<'w>,
    shop: &'w Merchant,
    goods: &'static str,
    buy: &Buy<'_>,
    dice: &mut Dice,
) {
    let (mishap, detail) = (dice.unit(), dice.unit());
    let short = short_of_money(me, buy.at);
    let (reason, times, outcome) = if mishap < 0.01 {
        ("mistyped card number", 3, Outcome::Declined)
    } else if mishap < 0.01 + short {
        ("no cover", 1, Outcome::Declined)
    } else if mishap < 0.016 + short {
        ("gateway timeout", 1, Outcome::Failed)
    } else {
        book.order(me, shop, goods, buy);
        return;
    };
    let text = format!("{}, {reason}", buy.text);
    for time in 0..times {
        let at = later(buy.at, f64::from(time) * (35.0 + 40.0 * detail));
        book.order(me, shop, goods, &Buy { at, text: &text, outcome, ..*buy });
    }
    let at = later(buy.at, f64::from(times) * (40.0 + 45.0 * detail));
    let value = if reason == "no cover" { place(shop.country).rounded(buy.value * 0.5) } else { buy.value };
    if detail < 0.8 {
        book.order(me, shop, goods, &Buy { at, value: value.min(buy.value), ..*buy });
    }
}

/// Returns the chance that there is no cover: higher for those with little, before the next salary.
fn short_of_money(me: &Person<'_>, at: DateTime<Utc>) -> f64 {
    let late = at.date_naive().day() >= 22;
    match (late, me.means() < 0.75) {
        (true, true) => 0.022,
        (false, true) => 0.01,
        (true, false) => 0.007,
        (false, false) => 0.004,
    }
}

/// Returns an instant some seconds later.
pub(super) fn later(at: DateTime<Utc>, seconds: f64) -> DateTime<Utc> {
    at + TimeDelta::milliseconds(super::roll::whole(seconds * 1_000.0))
}
