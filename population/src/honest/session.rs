//! What app, web site and shops see of the customer's side of the wire: device, address, second factor.
//!
//! When a second factor is asked for follows the exemptions of the European rules on strong authentication
//! (Delegated Regulation (EU) 2018/389). Roaming telephones mostly keep an address of their home network (GSMA).

use chrono::{DateTime, Datelike, Timelike, Utc, Weekday};

use super::journey::Trip;
use super::life::{Kind, Pay};
use super::place::Place;
use super::roll::{Roll, hash};
use super::world::{Person, World};
use crate::Device;
use crate::context::{Checkout, Session};
use crate::dice::Dice;

struct Address {
    ip: String,
    country: &'static str,
    kind: &'static str,
}

/// Returns the session of a transfer: the instant, whether the payee is new, and the kind of device if one is wanted.
pub(super) fn session<'p>(
    world: &World<'_>,
    me: &'p Person<'_>,
    trip: Option<&Trip>,
    (at, new, kind): (DateTime<Utc>, bool, Option<&str>),
    dice: &mut Dice,
) -> Option<Session<'p>> {
    let device = device(world, me, at, kind, dice)?;
    let address = address(world, me, trip, at, device.kind, dice);
    let day = world.local_day(me.life.place, at);
    let first_of_phone = device.kind == "phone" && day == me.life.phone;
    let by_ussd = me.life.tier == 1 && me.life.place.country == "NG" && device.kind == "phone";
    let channel = match device.kind {
        _ if by_ussd => "ussd",
        "browser" => "web",
        _ => "mobile_app",
    };
    let asked = if new || first_of_phone { 0.96 } else { 0.62 };
    Some(Session {
        device,
        ip: address.ip,
        ip_country: address.country,
        ip_type: address.kind,
        channel,
        mfa: dice.chance(asked),
        travel_notice: trip.is_some_and(|trip| trip.told),
        payee_added_minutes_ago: new.then(|| dice.count(1, 14)),
        remote_access: dice.chance(0.002),
        call_in_progress: dice.chance(if new { 0.03 } else { 0.01 }),
    })
}

/// Returns the checkout of an order over the internet.
pub(super) fn checkout<'p>(
    world: &World<'_>,
    me: &'p Person<'_>,
    trip: Option<&Trip>,
    goods: &'static str,
    at: DateTime<Utc>,
    dice: &mut Dice,
) -> Checkout<'p> {
    let device = device(world, me, at, None, dice);
    let address = address(world, me, trip, at, device.map_or("browser", |device| device.kind), dice);
    let home = me.life.place.country;
    let passed = if matches!(home, "US" | "NG" | "JP") { 0.35 } else { 0.72 };
    let ships = !matches!(goods, "digital" | "tickets" | "lodging" | "travel" | "sport" | "lottery" | "food");
    let score = if dice.chance(0.06) { dice.count(30, 68) } else { dice.count(1, 30) };
    Checkout {
        ip: address.ip,
        ip_country: address.country,
        ip_type: address.kind,
        device: device.filter(|_| dice.chance(0.85)),
        email: me.who.email.clone(),
        three_ds: if dice.chance(passed) { "passed" } else { "none" },
        risk_score: u8::try_from(score).unwrap_or_default(),
        travel_notice: trip.is_some_and(|trip| trip.told),
        goods,
        billing_country: home,
        shipping_country: ships.then_some(if dice.chance(0.01) { "IT" } else { home }),
    }
}

fn device<'p>(
    world: &World<'_>,
    me: &'p Person<'_>,
    at: DateTime<Utc>,
    kind: Option<&str>,
    dice: &mut Dice,
) -> Option<&'p Device> {
    let devices = &me.who.devices;
    let new_phone = world.local_day(me.life.place, at) >= me.life.phone;
    let share = dice.unit();
    let evening = hour(me.life.place, at) >= 17;
    let wanted = match kind {
        Some(kind) => kind,
        None if share < 0.22 => "browser",
        None if share < 0.32 && evening => "tablet",
        None => "phone",
    };
    let fitting = devices.iter().find(|device| device.kind == wanted && wanted != "phone");
    fitting.or_else(|| devices.iter().filter(|device| device.kind == "phone").nth(usize::from(new_phone)))
}

fn address(
    world: &World<'_>,
    me: &Person<'_>,
    trip: Option<&Trip>,
    at: DateTime<Utc>,
    device: &str,
    dice: &mut Dice,
) -> Address {
    let home = me.life.place.country;
    if me.life.vpn && dice.chance(0.7) {
        let country = dice.pick(&["NL", "DE", "GB", home]).copied().unwrap_or(home);
        return Address { ip: format!("203.0.113.{}", dice.count(10, 60)), country, kind: "vpn" };
    }
    if let Some(trip) = trip {
        if dice.chance(0.6) {
            return mobile(home, dice);
        }
        let country = trip.country_at(at);
        let ip = format!("198.19.{}.{}", 200 + hash(2, country) % 50, dice.count(2, 250));
        return Address { ip, country, kind: if dice.chance(0.5) { "business" } else { "residential" } };
    }
    let date = world.date(world.local_day(me.life.place, at));
    let at_work = (9..17).contains(&hour(me.life.place, at))
        && !matches!(date.weekday(), Weekday::Sat | Weekday::Sun)
        && (matches!(me.life.pay, Pay::Monthly(..)) || me.life.kind == Kind::Student);
    if at_work && dice.chance(0.5) {
        let network = super::roll::nth(&["192.0.2.10", "192.0.2.11", "198.51.100.77"], me.life.code);
        return Address {
            ip: (*network.unwrap_or(&"192.0.2.10")).to_owned(),
            country: home,
            kind: "business",
        };
    }
    if device == "phone" && dice.chance(0.4) {
        return mobile(home, dice);
    }
    let moved = me.life.moves.is_some_and(|day| day <= world.local_day(me.life.place, at));
    let ip = if moved {
        format!("198.18.{}.{}", 200 + me.number % 50, 2 + me.number / 50 % 250)
    } else {
        me.who.home_ip.clone()
    };
    Address { ip, country: home, kind: "residential" }
}

/// Returns an address of a mobile network, which many customers share.
fn mobile(country: &'static str, dice: &mut Dice) -> Address {
    let ip = format!("198.19.{}.{}", hash(1, country) % 200, dice.count(2, 120));
    Address { ip, country, kind: "mobile" }
}

/// Returns the local hour of an instant.
fn hour(place: &Place, at: DateTime<Utc>) -> u32 {
    let offset = super::roll::whole(place.offset);
    u32::try_from((i64::from(at.hour()) + offset).rem_euclid(24)).unwrap_or_default()
}

/// Returns whether the customer confirmed to the bank that the new SIM card is theirs; four in five do so at once.
pub(super) fn sim_confirmed(world: &World<'_>, me: &Person<'_>, at: DateTime<Utc>) -> bool {
    let Some(day) = me.life.sim else { return false };
    let since = world.local_day(me.life.place, at) - day;
    (0..=30).contains(&since) && (!me.life.code.is_multiple_of(5) || since > 3)
}
