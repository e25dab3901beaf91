//! Customers as the bank knows them, made from their lives.
//!
//! The levels of identification follow the three tiers of the Central Bank of Nigeria; in Europe, the lowest tier stands
//! for prepaid accounts under simplified due diligence. Shares of people with limits and VPNs are general knowledge.

use chrono::{Days, NaiveDate};

use super::life::{Kind, Life};
use super::roll::{Roll, account, code, hash};
use crate::dice::{Dice, dice};
use crate::{Card, Customer, Device};

/// Returns the customer of this number who leads this life.
pub(super) fn customer(seed: u64, number: usize, life: &Life, start: NaiveDate) -> Customer {
    let mut dice = dice(seed, &format!("customer {number}"), 0);
    let account = account(seed, &format!("customer {number}"));
    let on = |day: i64| date(start, day);
    let (first, last) = life.place.name(life.code, life.code / 1_000);
    let host = dice.pick(&["example.org", "example.com", "example.net"]).copied().unwrap_or("example.org");
    let opened = life.opens.unwrap_or_else(|| -i64::from(dice.count(320, 4_200)));
    // A password may be new since the account exists; a new customer sets the first one on the opening day.
    let password = life.opens.or(life.password.filter(|day| *day > opened));
    Customer {
        country: life.place.country,
        currency: life.place.currency,
        age: life.age,
        opened_on: on(opened),
        kyc_tier: life.tier,
        monthly_income: life.place.rounded(life.income),
        daily_limit: limit(life, &mut dice),
        email: format!("{first}.{last}{}@{host}", 100 + number),
        cards: cards(seed, number, life, &mut dice),
        devices: devices(seed, number, life, &mut dice),
        home_ip: home_ip(life.household),
        credentials_changed_on: password.map(on),
        contact_changed_on: life.moves.filter(|day| *day > opened).map(on),
        sim_swapped_on: life.sim.map(on),
        document_expires_on: on(life.document.max(opened + 200)),
        saved_beneficiaries: saved(seed, life, &account),
        account,
    }
}

/// Returns the date of a day, counted from day 0.
pub(super) fn date(start: NaiveDate, day: i64) -> NaiveDate {
    let days = Days::new(day.unsigned_abs());
    if day < 0 { start.checked_sub_days(days) } else { start.checked_add_days(days) }.unwrap_or(start)
}

/// Returns the address of a home, out of the range that RFC 2544 sets apart for tests.
fn home_ip(household: usize) -> String {
    format!("198.18.{}.{}", household / 250 % 256, 2 + household % 250)
}

fn limit(life: &Life, dice: &mut Dice) -> Option<f64> {
    let place = life.place;
    match (life.tier, place.country) {
        (1, "NG") => Some(50_000.0),
        (1, _) => Some(place.even(150.0)),
        _ if dice.chance(0.12) => Some(place.even(life.income / place.prices * dice.between(0.9, 1.8))),
        _ => None,
    }
}

fn cards(seed: u64, number: usize, life: &Life, dice: &mut Dice) -> Vec<Card> {
    let bins = match life.place.country {
        "NG" => ["506105", "539983"],
        "GB" => ["465858", "535522"],
        "JP" => ["498000", "521804"],
        "KW" => ["450605", "517793"],
        "US" => ["414720", "552433"],
        _ => ["431940", "525500"],
    };
    let n_cards = if dice.chance(0.3) { 2 } else { 1 };
    let card = |which: usize, bin: &&str| Card {
        fingerprint: format!("card-{}", code(seed, &format!("card {number} {which}"), 10)),
        bin: (*bin).to_owned(),
        country: life.place.country,
    };
    bins.iter().take(n_cards).enumerate().map(|(which, bin)| card(which, bin)).collect()
}

fn devices(seed: u64, number: usize, life: &Life, dice: &mut Dice) -> Vec<Device> {
    let device = |name: String, kind| Device { id: format!("dev-{}", code(seed, &name, 10)), kind };
    let mut devices =
        vec![device(format!("phone {number} old"), "phone"), device(format!("phone {number} new"), "phone")];
    if dice.chance(0.55) {
        devices.push(device(format!("browser {number}"), "browser"));
    }
    if life.kind == Kind::Parent || (life.kind == Kind::Student && life.household % 13 == 9) {
        devices.push(device(format!("tablet {}", life.household), "tablet"));
    }
    devices
}

fn saved(seed: u64, life: &Life, own: &str) -> Vec<String> {
    let mut saved = vec![account(seed, &format!("savings {own}"))];
    if life.rent > 0.0 && life.rank == 0 {
        saved.push(landlord(seed, life.household));
    }
    if hash(seed, own).is_multiple_of(3) {
        saved.push(account(seed, &format!("club {}", life.household / 4)));
    }
    saved
}

/// Returns the account of the landlord of a household, or of the bank that lent the money for the home.
pub(super) fn landlord(seed: u64, household: usize) -> String {
    account(seed, &format!("landlord {household}"))
}
