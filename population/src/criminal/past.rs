//! What lies before a story: the ordinary use of an account, the ordinary sales of a shop.

use chrono::{DateTime, Days, TimeDelta, Utc};

use super::draft::{Payer, incoming, payout, sale_in_shop, sale_online, transfer};
use super::money::{level, neat};
use super::people::Profile;
use super::scene::Scene;
use super::session::{order, own};
use crate::{Customer, Merchant};

/// Adds the ordinary use of an account: a salary every month, shopping every week, a transfer now and then.
///
/// It lies between two numbers of days before the beginning, the earlier one first.
pub(super) fn ordinary_life(scene: &mut Scene<'_>, customer: &Customer, from: u32, until: u32) -> Option<()> {
    let employers = [scene.account(), scene.account()];
    let employer = scene.one_of(&employers)?;
    let grocer = scene.shop("5411", customer.country, 2_400, 32.0);
    let friend = scene.account();
    let card = customer.cards.first()?.clone();
    let mut ago = from;
    while ago > until {
        let at = ago_at(scene, customer.country, ago, (9, 20));
        if (from - ago) % 28 < 7 {
            let at = at.date_naive().and_hms_opt(5, 0, 0)?.and_utc();
            scene.before(incoming("salary", &employer, customer, at, customer.monthly_income, "salary"));
        }
        let value = scene.between(12.0, 75.0) * level(customer.currency);
        scene.before(sale_in_shop(customer, &card, &grocer, at, value));
        if scene.chance(0.3) {
            let value = neat(scene.between(10.0, 90.0) * level(customer.currency), customer.currency);
            let at = at + scene.minutes(10, 120);
            scene.before(transfer(customer, &own(customer)?, &friend, at, value, "thanks"));
        }
        ago = ago.saturating_sub(scene.count(5, 7));
    }
    Some(())
}

/// Adds the ordinary sales of a shop over the internet or over the counter, and a payout every week.
pub(super) fn ordinary_sales(
    scene: &mut Scene<'_>,
    merchant: &Merchant,
    days: u32,
    a_day: (u32, u32),
    over_the_counter: bool,
) -> Option<()> {
    let people: Vec<_> = (0..14).map(|_| customer_of(scene, merchant)).collect();
    let mut week = 0.0;
    for ago in (1..=days).rev() {
        for _ in 0..scene.count(a_day.0, a_day.1) {
            let buyer = scene.one_of(&people)?;
            let at = ago_at(scene, merchant.country, ago, (9, 20));
            let value = merchant.declared_average_ticket * scene.between(0.45, 1.6);
            let card = buyer.cards.first()?.clone();
            scene.before(if over_the_counter {
                sale_in_shop(&buyer, &card, merchant, at, value)
            } else {
                let payer = Payer { holder: Some(&buyer), account: buyer.account.clone(), card };
                sale_online(&payer, merchant, &order(&buyer, "clothing", 8), at, value)
            });
            week += value;
        }
        if ago % 7 == 1 && week > 0.0 {
            let at = ago_at(scene, merchant.country, ago, (21, 23));
            scene.before(payout(merchant, at, week * 0.97));
            week = 0.0;
        }
    }
    Some(())
}

/// Returns an ordinary customer of a shop.
pub(super) fn customer_of(scene: &mut Scene<'_>, merchant: &Merchant) -> Customer {
    let profile = Profile {
        country: merchant.country,
        age: scene.count(20, 70),
        open: scene.count(300, 3_000),
        tier: 3,
        income: scene.between(1_500.0, 4_000.0),
    };
    scene.person(&profile)
}

/// Returns an instant some days before the beginning, between two hours of local time.
pub(super) fn ago_at(scene: &mut Scene<'_>, country: &str, ago: u32, hours: (i64, i64)) -> DateTime<Utc> {
    let at = scene.at(country, 0, hours) - Days::new(u64::from(ago));
    // The local day may reach into the next one of UTC; the past ends before the story begins.
    at.min(scene.midnight - TimeDelta::minutes(1))
}
