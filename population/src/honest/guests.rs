//! People outside the cast: holders of foreign cards, walk-in customers of an agent, visitors of a market.

use chrono::NaiveDate;

use super::people::date;
use super::place::Place;
use super::roll::{Roll, account, code};
use crate::dice::dice;
use crate::{Card, Customer};

/// Returns a customer of the bank who does not belong to the cast, by a name.
pub(super) fn guest(seed: u64, name: &str, place: &'static Place, start: NaiveDate) -> Customer {
    let mut dice = dice(seed, name, 0);
    let tier = if place.country == "NG" { dice.count(1, 2) } else { dice.count(2, 3) };
    let (first, last) = place.name(dice.count(0, 900).into(), dice.count(0, 900).into());
    let bin = if dice.chance(0.5) { "431940" } else { "525500" };
    Customer {
        account: account(seed, name),
        country: place.country,
        currency: place.currency,
        age: dice.count(18, 75),
        opened_on: date(start, -i64::from(dice.count(90, 2_500))),
        kyc_tier: u8::try_from(tier).unwrap_or(2),
        monthly_income: place.rounded(place.income * dice.around(0.8, 0.5)),
        daily_limit: (tier == 1).then_some(50_000.0),
        email: format!("{first}.{last}{}@example.com", dice.count(1, 99)),
        cards: vec![Card {
            fingerprint: format!("card-{}", code(seed, &format!("card of {name}"), 10)),
            bin: bin.to_owned(),
            country: place.country,
        }],
        devices: Vec::new(),
        home_ip: format!("198.18.{}.{}", dice.count(100, 199), dice.count(2, 250)),
        credentials_changed_on: None,
        contact_changed_on: None,
        sim_swapped_on: None,
        document_expires_on: date(start, i64::from(dice.count(200, 3_000))),
        saved_beneficiaries: Vec::new(),
    }
}
