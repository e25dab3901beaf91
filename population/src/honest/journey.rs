//! Journeys: by train through several countries in a day, flights, business, a day across the border.
//!
//! Residents of the EU make about one journey abroad a year with a night away (Eurostat, tourism demand).
//! Hotels block a deposit on arrival and give it back later (Visa and Mastercard rules for lodging). About half of the
//! travellers tell their bank (general knowledge). Where people shop across a border is general knowledge.

use chrono::{DateTime, Utc};

use super::book::{Book, buy};
use super::place::place;
use super::roll::Roll;
use super::shops::{self, Ware};
use super::world::{Person, World};
use crate::Merchant;
use crate::dice::{Dice, dice};

/// The time that somebody is away from home.
#[derive(Debug, Clone)]
pub(super) struct Trip {
    pub(super) number: usize,
    /// Countries with the instant of arrival; the first is the place of departure, the last is home again.
    stops: Vec<(DateTime<Utc>, &'static str)>,
    /// Whether the bank knows.
    pub(super) told: bool,
    /// Nights at the farthest place.
    nights: u32,
}

impl Trip {
    /// Returns whether the traveller is away at an instant.
    pub(super) fn covers(&self, at: DateTime<Utc>) -> bool {
        let (first, last) = (self.stops.first(), self.stops.last());
        first.is_some_and(|stop| stop.0 <= at) && last.is_some_and(|stop| at < stop.0)
    }

    /// Returns the country that the traveller is in.
    pub(super) fn country_at(&self, at: DateTime<Utc>) -> &'static str {
        let reached = self.stops.iter().rev().find(|stop| stop.0 <= at);
        reached.or(self.stops.first()).map_or("DE", |stop| stop.1)
    }
}

/// Returns the journey of this name that somebody begins on a day; nothing if the name is of something else.
pub(super) fn trip(world: &World<'_>, name: &str, me: &Person<'_>, day: i64) -> Option<Trip> {
    let mut dice = dice(world.seed, &format!("trip {}", me.number), day);
    let home = me.life.place;
    let at = |later: u32, hour: f64| world.at(home, day + i64::from(later), hour);
    let told = dice.chance(0.5);
    let (nights, stops) = match name {
        "journey by train" => {
            let nights = dice.count(1, 4);
            let through = rail(home.country, &mut dice);
            let hours = [6.3, 9.0, 13.2, 17.5];
            let mut stops: Vec<_> =
                through.iter().zip(hours).map(|(country, hour)| (at(0, hour), *country)).collect();
            stops.push((at(nights, 17.0), home.country));
            (nights, stops)
        }
        "journey by air" | "business journey" => {
            let nights = if name == "business journey" { dice.count(1, 2) } else { dice.count(2, 9) };
            let far = destination(home.country, name == "business journey", &mut dice);
            let hours = match far {
                "US" => 10.0,
                "JP" => 13.0,
                "NG" | "KW" => 7.0,
                _ => 3.5,
            };
            let leaves = dice.between(6.0, 11.0);
            let back = at(nights, dice.between(16.0, 20.0) + hours);
            (nights, vec![(at(0, leaves), home.country), (at(0, leaves + hours), far), (back, home.country)])
        }
        "day across the border" => {
            let over = rail(home.country, &mut dice).get(1).copied().unwrap_or("DE");
            (0, vec![(at(0, 9.0), home.country), (at(0, 10.0), over), (at(0, 17.0), home.country)])
        }
        _ => return None,
    };
    Some(Trip { number: me.number, stops, told, nights })
}

fn rail(home: &str, dice: &mut Dice) -> &'static [&'static str] {
    let routes: &[&'static [&'static str]] = match home {
        "FR" => &[&["FR", "BE", "DE", "AT"], &["FR", "BE", "NL"]],
        "NL" => &[&["NL", "DE", "AT"], &["NL", "BE", "FR", "ES"]],
        "ES" => &[&["ES", "FR", "IT"], &["ES", "FR", "BE"]],
        "GB" => &[&["GB", "FR", "BE", "NL"], &["GB", "BE", "DE"]],
        "IE" => &[&["IE", "GB", "FR"]],
        _ => &[&["DE", "AT", "IT"], &["DE", "BE", "FR"], &["DE", "NL", "BE"]],
    };
    dice.pick(routes).copied().unwrap_or(&["DE", "FR"])
}

fn destination(home: &str, business: bool, dice: &mut Dice) -> &'static str {
    let far: &[&'static str] = match home {
        "NG" => &["GB", "US", "GB", "NL", "FR"],
        "JP" | "KW" | "US" => &["GB", "FR", "IT", "US", "JP", "ES"],
        _ if business => &["GB", "NL", "DE", "FR", "US", "IE", "KW", "JP"],
        _ => &["ES", "IT", "ES", "GB", "US", "FR", "JP", "AT", "NG"],
    };
    let other: Vec<&'static str> = far.iter().copied().filter(|country| *country != home).collect();
    dice.pick(&other).copied().unwrap_or("FR")
}

/// Writes what is paid on a journey.
pub(super) fn travel<'w>(book: &mut Book<'w>, me: &Person<'w>, day: i64, dice: &mut Dice) {
    let Some(trip) = book.trips.iter().find(|trip| trip.number == me.number && on(book.world, me, trip, day))
    else {
        return;
    };
    let trip = trip.clone();
    let minutes =
        |at: DateTime<Utc>, minutes: f64| at + chrono::TimeDelta::seconds(super::roll::whole(minutes * 60.0));
    for (stop, next) in trip.stops.iter().zip(trip.stops.iter().skip(1)) {
        let text =
            if stop.1 == me.life.place.country { "coffee before departure" } else { "coffee on the journey" };
        let long = (next.0 - stop.0).num_minutes() > 120;
        let at = minutes(stop.0, dice.between(8.0, if long { 90.0 } else { 40.0 }));
        spend(book, me, stop.1, (&shops::COFFEE, text), at, dice);
        if long && dice.chance(0.5) {
            let at = minutes(stop.0, dice.between(50.0, 115.0));
            spend(book, me, stop.1, (&shops::TRANSIT, "local ticket on the journey"), at, dice);
        }
    }
    if trip.nights == 0 {
        if let Some(over) = trip.stops.get(1) {
            let at = minutes(over.0, dice.between(30.0, 120.0));
            spend(book, me, over.1, (&shops::GROCERY, "groceries across the border"), at, dice);
            let at = minutes(over.0, dice.between(150.0, 330.0));
            spend(book, me, over.1, (&shops::FUEL, "fuel across the border"), at, dice);
        }
        return;
    }
    away(book, me, &trip, day, dice);
}

fn on(world: &World<'_>, me: &Person<'_>, trip: &Trip, day: i64) -> bool {
    trip.stops.first().is_some_and(|stop| world.local_day(me.life.place, stop.0) == day)
}

/// Writes the days at the farthest place: hotel with its deposit, meals, shopping.
fn away<'w>(book: &mut Book<'w>, me: &Person<'w>, trip: &Trip, day: i64, dice: &mut Dice) {
    let stops = trip.stops.len();
    let Some((arrival, country)) = stops.checked_sub(2).and_then(|last| trip.stops.get(last)).copied() else {
        return;
    };
    let there = place(country);
    let world = book.world;
    let at = |later: u32, hour: f64| world.at(there, day + i64::from(later), hour);
    let in_hotel = dice.chance(0.75);
    let hotel = dice.pick(world.shops(country, shops::HOTEL.mcc)).copied();
    if let Some(hotel) = hotel.filter(|_| in_hotel) {
        let check_in = arrival + chrono::TimeDelta::minutes(i64::from(dice.count(60, 150)));
        let deposit = there.price(f64::from(dice.count(5, 15)) * 10.0);
        let nights = there.price(dice.around(95.0, 0.6) * f64::from(trip.nights) * me.means().max(0.7));
        book.shop(me, hotel, &buy(check_in, deposit, "hotel deposit"));
        let leaves = at(trip.nights, dice.between(8.0, 10.5));
        book.shop(me, hotel, &buy(leaves, nights, "hotel bill"));
        let back = leaves + chrono::TimeDelta::hours(i64::from(dice.count(20, 80)));
        book.back(me, me.who.cards.first(), hotel, "refund", &buy(back, deposit, "hotel deposit given back"));
    }
    for later in 0..=trip.nights {
        let habits: [(&Ware, &str, f64, f64, f64); 6] = [
            (&shops::COFFEE, "breakfast on the journey", 8.0, 9.5, 0.4),
            (&shops::TRANSIT, "local ticket on the journey", 9.5, 11.0, 0.45),
            (&shops::LUNCH, "lunch on the journey", 12.0, 14.0, 0.6),
            (&shops::CLOTHING, "shopping on the journey", 14.5, 18.0, 0.2),
            (&shops::RESTAURANT, "dinner on the journey", 19.0, 21.5, 0.65),
            (&shops::TAXI, "taxi on the journey", 21.6, 23.5, 0.15),
        ];
        for (ware, text, from, to, share) in habits {
            let hour = dice.between(from, to);
            if dice.chance(share) {
                spend(book, me, country, (ware, text), at(later, hour), dice);
            }
        }
    }
}

fn spend<'w>(
    book: &mut Book<'w>,
    me: &Person<'w>,
    country: &'static str,
    (ware, text): (&Ware, &str),
    at: DateTime<Utc>,
    dice: &mut Dice,
) {
    let shop: Option<&'w Merchant> = dice.pick(book.world.shops(country, ware.mcc)).copied();
    let value = place(country).price(dice.around(ware.price, ware.spread) * me.means().clamp(0.7, 1.5));
    if let Some(shop) = shop {
        book.shop(me, shop, &buy(at, value, text));
    }
}
