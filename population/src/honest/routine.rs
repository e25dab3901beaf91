//! An ordinary day: the way to work, coffee, shopping, fuel, nights out.
//!
//! Number and places of purchases follow the ECB's SPACE study (1.5 to 2 payments a person and day, a third of them in
//! supermarkets) without most of the cash; online shopping follows Eurostat's survey on e-commerce. Hours are general
//! knowledge, after the time-use surveys of Eurostat (HETUS).

use chrono::{DateTime, Datelike, Utc, Weekday};

use super::book::{Book, buy};
use super::life::Kind;
use super::mishaps::{later, order, purchase};
use super::place::place;
use super::roll::Roll;
use super::shops::{self, Ware};
use super::world::Person;
use crate::dice::Dice;

/// A purchase that people make now and then.
struct Habit {
    ware: &'static Ware,
    /// Chance on a day from Monday to Friday, and at the weekend.
    chance: (f64, f64),
    hours: (f64, f64),
    /// Whether somebody has the habit.
    who: fn(&Person<'_>) -> bool,
}

const fn habit(
    ware: &'static Ware,
    chance: (f64, f64),
    hours: (f64, f64),
    who: fn(&Person<'_>) -> bool,
) -> Habit {
    Habit { ware, chance, hours, who }
}

static HABITS: &[Habit] = &[
    habit(&shops::COFFEE, (0.19, 0.15), (7.0, 16.5), anybody),
    habit(&shops::VENDING, (0.05, 0.02), (9.0, 19.0), not_old),
    habit(&shops::LUNCH, (0.24, 0.12), (11.7, 14.2), not_old),
    habit(&shops::GROCERY, (0.40, 0.48), (8.5, 20.8), anybody),
    habit(&shops::PHARMACY, (0.04, 0.02), (9.0, 18.5), anybody),
    habit(&shops::RESTAURANT, (0.06, 0.14), (18.5, 22.4), anybody),
    habit(&shops::PARKING, (0.06, 0.07), (8.0, 19.0), drives),
    habit(&shops::TOLL, (0.015, 0.03), (7.0, 20.0), drives),
    habit(&shops::CLOTHING, (0.02, 0.05), (10.0, 19.0), anybody),
    habit(&shops::HARDWARE, (0.02, 0.05), (9.0, 18.5), not_student),
    habit(&shops::HAIRDRESSER, (0.018, 0.01), (9.0, 18.0), anybody),
    habit(&shops::LOTTERY, (0.02, 0.02), (9.0, 18.0), not_student),
    habit(&shops::CINEMA, (0.01, 0.03), (17.0, 20.5), not_old),
    habit(&shops::TAXI, (0.015, 0.02), (7.0, 22.0), anybody),
    habit(&shops::RAIL, (0.015, 0.02), (6.5, 18.0), anybody),
    habit(&shops::BOOKS, (0.01, 0.02), (10.0, 18.5), anybody),
    habit(&shops::JEWELLER, (0.002, 0.004), (10.0, 18.5), not_student),
];

static ORDERS: &[(&Ware, f64)] = &[
    (&shops::MARKETPLACE, 0.42),
    (&shops::BOOKS, 0.1),
    (&shops::ELECTRONICS, 0.1),
    (&shops::GAMES, 0.14),
    (&shops::TOYS, 0.07),
    (&shops::CINEMA, 0.07),
    (&shops::PHARMACY, 0.1),
];

fn anybody(_: &Person<'_>) -> bool {
    true
}

fn not_old(person: &Person<'_>) -> bool {
    person.life.age < 66
}

fn not_student(person: &Person<'_>) -> bool {
    person.life.kind != Kind::Student
}

fn drives(person: &Person<'_>) -> bool {
    person.life.drives
}

/// Writes the purchases of a local day.
pub(super) fn purchases<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let weekend = is_weekend(book, day);
    let activity = if me.life.tier == 1 { 0.55 } else { (0.78 + 0.42 * me.means()).min(1.3) };
    commute(book, me, day, weekend, dice);
    for habit in HABITS {
        let chance = if weekend { habit.chance.1 } else { habit.chance.0 };
        if (habit.who)(me) && dice.chance(chance * activity) {
            let hour = own_hour(me, habit.ware, dice.between(habit.hours.0, habit.hours.1));
            bought(book, me, habit.ware, day, hour, dice);
        }
    }
    if me.life.drives && dice.chance(0.06) {
        fuel(book, me, day, dice);
    }
    if me.life.kind == Kind::Parent && dice.chance(0.02) {
        children(book, me, day, dice);
    }
    if me.life.tier > 1 && dice.chance(0.14 * activity) {
        online(book, me, day, dice);
    }
}

fn is_weekend(book: &Book<'_>, day: i64) -> bool {
    matches!(book.world.date(day).weekday(), Weekday::Sat | Weekday::Sun)
}

/// Returns the hour at which a person does this; who works at night eats and drinks coffee at night.
fn own_hour(me: &Person<'_>, ware: &Ware, hour: f64) -> f64 {
    let meal = ware.mcc == shops::COFFEE.mcc || ware.mcc == shops::VENDING.mcc;
    if me.life.kind != Kind::NightShift || !meal {
        return hour;
    }
    if hour >= 12.0 { hour - 12.0 } else { hour + 12.0 }
}

fn bought<'w>(book: &mut Book<'w>, me: &Person<'w>, ware: &Ware, day: i64, hour: f64, dice: &mut Dice) {
    let at = book.world.at(me.life.place, day, hour);
    // Who has little buys less of everything.
    let little = (0.35 + me.means()).min(1.0);
    let basket = if me.life.kind == Kind::Parent && ware.mcc == shops::GROCERY.mcc { 1.7 } else { 1.0 };
    let pleasure = if ware.price > 20.0 { me.means().clamp(0.6, 1.8) } else { me.means().clamp(0.8, 1.2) };
    let mut value = me.price(dice.around(ware.price, ware.spread) * basket * pleasure * little);
    if ware.mcc == shops::RESTAURANT.mcc && dice.chance(0.4) {
        value = me.life.place.even(value / me.life.place.prices * 1.08);
    }
    if let Some(shop) = book.world.shop(me, ware, dice) {
        let tipped = ware.mcc == shops::RESTAURANT.mcc;
        let text = if tipped { "restaurant with tip" } else { ware.text };
        purchase(book, me, shop, &buy(at, value, text), dice);
    }
}

/// Writes the tickets of the way to work: a tap at each change, and two tickets within minutes for two.
fn commute<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, weekend: bool, dice: &mut Dice) {
    let (daily, detail) = (me.life.taps && !weekend && me.life.kind != Kind::Retired, dice.unit());
    if !daily && detail >= 0.05 {
        return;
    }
    let Some(shop) = book.world.shop(me, &shops::TRANSIT, dice) else { return };
    let fare = me.price(shops::TRANSIT.price);
    if daily {
        let taps = if detail < 0.5 { 2 } else { 1 };
        for (from, to) in [(6.6, 8.9), (16.0, 18.6)] {
            let hour = dice.between(from, to);
            let gap = dice.between(0.12, 0.4);
            for tap in 0..taps {
                let at = book.world.at(me.life.place, day, hour + gap * f64::from(tap));
                purchase(book, me, shop, &buy(at, fare, "bus ticket"), dice);
            }
        }
    } else {
        let hour = dice.between(8.0, 20.0);
        let at = book.world.at(me.life.place, day, hour);
        purchase(book, me, shop, &buy(at, fare, "bus ticket"), dice);
        if detail < 0.02 {
            let at = later(at, dice.between(40.0, 200.0));
            book.shop(me, shop, &buy(at, fare, "second bus ticket"));
        }
    }
}

/// Writes a tank of fuel: the pump blocks 1.00, and some minutes later comes the true amount.
fn fuel<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let hour = dice.between(6.5, 21.5);
    let at = book.world.at(me.life.place, day, hour);
    let value = me.price(dice.around(shops::FUEL.price, shops::FUEL.spread));
    let Some(shop) = book.world.shop(me, &shops::FUEL, dice) else { return };
    if dice.chance(0.6) {
        book.shop(me, shop, &buy(at, me.token(), "fuel pre-authorisation"));
        book.shop(me, shop, &buy(later(at, dice.between(150.0, 420.0)), value, "fuel"));
    } else {
        purchase(book, me, shop, &buy(at, value, "fuel"), dice);
    }
}

/// Writes what children buy at one kiosk, one after the other, with the same card.
fn children<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let hour = dice.between(13.2, 18.0);
    let at = book.world.at(me.life.place, day, hour);
    let Some(shop) = book.world.shop(me, &shops::KIOSK, dice) else { return };
    for child in 0..dice.count(2, 4) {
        let at = later(at, f64::from(child) * dice.between(60.0, 220.0));
        let value = me.price(dice.around(shops::KIOSK.price, 0.6));
        book.shop(me, shop, &buy(at, value, "sweets for the children"));
    }
}

/// Writes an order; one in eight of the larger shops charges it in parts as it sends them.
fn online<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let mut share = dice.unit();
    let chosen = ORDERS.iter().find(|(_, part)| {
        share -= part;
        share < 0.0
    });
    let ware = chosen.map_or(&shops::MARKETPLACE, |(ware, _)| *ware);
    let hour = if dice.chance(0.6) { dice.between(18.0, 23.2) } else { dice.between(8.0, 18.0) };
    let at = book.world.at(me.life.place, day, hour);
    let value = me.price(dice.around(ware.price, ware.spread) * me.means().clamp(0.3, 1.7));
    if dice.chance(0.13) {
        abroad(book, me, ware, at, dice);
        return;
    }
    let parts = if dice.chance(0.12) { dice.count(2, 3) } else { 1 };
    let Some(shop) = book.world.shop(me, ware, dice) else { return };
    if parts == 1 {
        let text = format!("{} ordered online", ware.goods);
        order(book, me, shop, ware.goods, &buy(at, value, &text), dice);
        return;
    }
    for part in 0..parts {
        let at = later(at, f64::from(part) * dice.between(2.0, 900.0));
        let value = me.life.place.rounded(value / f64::from(parts) * dice.between(0.6, 1.4));
        book.order(me, shop, ware.goods, &buy(at, value, "order charged in parts"));
    }
}

/// Writes an order from a shop in another country, in the currency of that shop.
fn abroad<'w>(book: &mut Book<'w>, me: &Person<'w>, ware: &Ware, at: DateTime<Utc>, dice: &mut Dice) {
    let country =
        dice.pick(&["DE", "NL", "FR", "IE", "ES", "GB", "GB", "US", "US", "JP"]).copied().unwrap_or("GB");
    let Some(shop) = dice.pick(book.world.shops(country, ware.mcc)).copied() else { return };
    let euros = dice.around(ware.price, ware.spread) * me.means().clamp(0.3, 1.7);
    let text = if country == me.life.place.country { "ordered online" } else { "ordered abroad" };
    let text = format!("{} {text}", ware.goods);
    order(book, me, shop, ware.goods, &buy(at, place(country).price(euros), &text), dice);
}

/// Writes a night out at the weekend: a round at a time, then a taxi after midnight.
pub(super) fn night_out<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let place = me.life.place;
    let start = dice.between(20.5, 22.5);
    let Some(bar) = book.world.shop(me, &shops::BAR, dice) else { return };
    let rounds = dice.count(1, 4);
    for round in 0..rounds {
        let at = book.world.at(place, day, start + f64::from(round) * dice.between(0.5, 1.1));
        let value = me.price(dice.around(shops::BAR.price, 0.8) * me.means().clamp(0.7, 1.5));
        purchase(book, me, bar, &buy(at, value, "bar at night"), dice);
    }
    let home = book.world.at(place, day, start + f64::from(rounds) * 1.1 + dice.between(0.3, 1.2));
    if dice.chance(0.4)
        && let Some(taxi) = book.world.shop(me, &shops::TAXI, dice)
    {
        let value = me.price(dice.around(shops::TAXI.price, 0.6));
        book.shop(me, taxi, &buy(home, value, "taxi at night"));
    }
}
