//! What a customer may do at their level of identification, and more than that.

use chrono::Days;

use super::draft::{incoming, transfer};
use super::kind::{Kind, any_date};
use super::money::{level, neat};
use super::past::ordinary_life;
use super::people::Profile;
use super::scene::Scene;
use super::session::{own, payee_added};
use crate::Customer;
use crate::context::Session;

const TYPOLOGY: &str = "kyc_limits";

pub(super) static KINDS: [Kind; 5] = [
    Kind {
        typology: TYPOLOGY,
        name: "tier-1-beyond",
        what: "An account known by its telephone number only moves more in a day than that level allows.",
        source: "Central Bank of Nigeria, circular FPR/DIR/CIR/GEN/06/002 (tiered KYC); Directive (EU) \
            2018/843, article 12",
        first: 7,
        days: 2,
        fits: any_date,
        tell: tier_1_beyond,
    },
    Kind {
        typology: TYPOLOGY,
        name: "first-hours",
        what: "An account opened the same day takes in a large sum and passes it on within hours.",
        source: "Financial Conduct Authority, Proceeds of fraud: detecting and preventing money mules",
        first: 7,
        days: 2,
        fits: any_date,
        tell: first_hours,
    },
    Kind {
        typology: TYPOLOGY,
        name: "expired-document",
        what: "A customer whose identity document expired long ago makes a payment of several months' \
            income.",
        source: "European Banking Authority, Guidelines on ML/TF risk factors (EBA/GL/2021/02)",
        first: 7,
        days: 2,
        fits: any_date,
        tell: expired_document,
    },
    Kind {
        typology: TYPOLOGY,
        name: "over-daily-limit",
        what: "Several payments within a day add up to two or three times the limit that the customer set.",
        source: "Directive (EU) 2015/2366 (PSD2), article 68: spending limits",
        first: 7,
        days: 2,
        fits: any_date,
        tell: over_daily_limit,
    },
    Kind {
        typology: TYPOLOGY,
        name: "tier-2-beyond",
        what: "An account at the middle level of identification moves in one day what only a full one may.",
        source: "Central Bank of Nigeria, circular FPR/DIR/CIR/GEN/06/002 (tiered KYC)",
        first: 7,
        days: 2,
        fits: any_date,
        tell: tier_2_beyond,
    },
];

/// Adds payments of a day to some accounts until `total` is reached; the stop is where `stop` is passed.
fn spread(scene: &mut Scene<'_>, payer: &Customer, session: &Session<'_>, plan: &Plan) -> Option<()> {
    let to = scene.accounts(1, 3);
    let mut at = scene.at(payer.country, 0, (7, 15));
    let (mut sum, mut stopped) = (0.0, false);
    while sum < plan.total {
        let value = neat(scene.between(plan.pieces.0, plan.pieces.1), payer.currency);
        let to = scene.one_of(&to)?;
        let text = scene.one_of(&["transfer", "rent", "goods", "for school", "thanks"])?;
        scene.pay(transfer(payer, session, &to, at, value, text));
        sum += value;
        if !stopped && sum > plan.stop {
            scene.stop_here();
            stopped = true;
        }
        at += scene.minutes(8, 90);
    }
    Some(())
}

/// Sums of a day.
struct Plan {
    /// Smallest and largest piece.
    pieces: (f64, f64),
    /// Where it ends.
    total: f64,
    /// The sum that no reasonable bank lets pass.
    stop: f64,
}

/// Pieces as a share of the limit, and the total, for a limit a day.
fn beyond(scene: &mut Scene<'_>, limit: f64, slack: f64) -> Plan {
    let pieces = if scene.chance(0.5) { (limit * 0.45, limit * 0.95) } else { (limit * 1.2, limit * 2.6) };
    Plan { pieces, total: limit * scene.between(slack + 1.0, slack + 3.0), stop: limit * slack }
}

fn tier_1_beyond(scene: &mut Scene<'_>) -> Option<()> {
    let country = scene.one_of(&["NG", "NG", "NG", "DE", "FR"])?;
    let open = scene.count(15, 300);
    let profile = Profile { country, age: scene.count(18, 52), open, tier: 1, income: 250.0 };
    let person = scene.person(&profile);
    ordinary_life(scene, &person, open.min(45), 1)?;
    let session = own(&person)?;
    let ussd = country == "NG" && scene.chance(0.5);
    let session = Session { channel: if ussd { "ussd" } else { session.channel }, ..session };
    // Naira: the single deposit of tier 1. Euro: the month of an unverified prepaid account.
    let limit = if country == "NG" { 50_000.0 } else { 150.0 };
    // Twice the limit within a day: the first excess may be an oversight of the product, the second is not.
    let plan = beyond(scene, limit, 2.0);
    spread(scene, &person, &session, &plan)
}

fn tier_2_beyond(scene: &mut Scene<'_>) -> Option<()> {
    let country = scene.one_of(&["NG", "NG", "DE", "FR", "NL"])?;
    let open = scene.count(60, 900);
    let profile = Profile { country, age: scene.count(21, 60), open, tier: 2, income: 800.0 };
    let person = scene.person(&profile);
    ordinary_life(scene, &person, open.min(50), 1)?;
    // Naira: what the banks allow at tier 2 in a day. Euro: where simplified due diligence ends, 10,000 or
    // so.
    let limit = if country == "NG" { 200_000.0 } else { 5_000.0 };
    // Three times the limit (naira), 10,000 euros: a full identification is due by then.
    let plan = beyond(scene, limit, if country == "NG" { 3.0 } else { 2.0 });
    spread(scene, &person, &own(&person)?, &plan)
}

fn first_hours(scene: &mut Scene<'_>) -> Option<()> {
    let country = scene.one_of(&["DE", "FR", "NL", "IE", "ES", "GB"])?;
    let profile = Profile { country, age: scene.count(19, 45), open: 0, tier: 2, income: 1_800.0 };
    let mule = scene.person(&profile);
    let sender = scene.account();
    let mut at = scene.at(country, 0, (9, 14));
    let total = neat(scene.between(2_800.0, 12_500.0) * level(mule.currency), mule.currency);
    scene.pay(incoming("transfer", &sender, &mule, at, total, "deposit"));
    let parts = scene.count(1, 3);
    for number in 0..parts {
        at += scene.minutes(8, 110);
        let value = neat(total * 0.97 / f64::from(parts), mule.currency);
        let to = scene.account();
        let session = payee_added(&own(&mule)?, at - scene.minutes(1, 6), at);
        scene.pay(transfer(&mule, &session, &to, at, value, "transfer"));
        // The first payment out of an account that is hours old.
        if number == 0 {
            scene.stop_here();
        }
    }
    Some(())
}

fn expired_document(scene: &mut Scene<'_>) -> Option<()> {
    let country = scene.one_of(&["DE", "FR", "NL", "IE", "ES", "GB", "NG"])?;
    let open = scene.count(700, 3_500);
    let profile = Profile { country, age: scene.count(25, 75), open, tier: 3, income: 1_900.0 };
    let ago = scene.count(25, 420);
    let person = scene.person(&profile);
    let expired = scene.midnight.date_naive().checked_sub_days(Days::new(u64::from(ago)))?;
    let person = Customer { document_expires_on: expired, ..person };
    ordinary_life(scene, &person, 60, 1)?;
    let to = scene.account();
    let mut at = scene.at(country, 0, (8, 20));
    for number in 0..scene.count(1, 2) {
        let value = neat(person.monthly_income * scene.between(1.6, 4.5), person.currency);
        scene.pay(transfer(&person, &own(&person)?, &to, at, value, "contract"));
        // The first: who the customer is has to be checked again before such a sum leaves.
        if number == 0 {
            scene.stop_here();
        }
        at += scene.minutes(20, 240);
    }
    Some(())
}

fn over_daily_limit(scene: &mut Scene<'_>) -> Option<()> {
    let known = scene.victim(|customer| customer.daily_limit.is_some()).filter(|_| scene.chance(0.6));
    let person = if let Some(customer) = known {
        customer.clone()
    } else {
        let country = scene.one_of(&["DE", "FR", "NL", "IE", "ES"])?;
        let profile = Profile { country, age: scene.count(20, 70), open: 900, tier: 3, income: 2_100.0 };
        let limit = scene.one_of(&[500.0, 1_000.0, 1_500.0])?;
        let person = Customer { daily_limit: Some(limit), ..scene.person(&profile) };
        ordinary_life(scene, &person, 45, 1)?;
        person
    };
    let limit = person.daily_limit?;
    let pieces = if scene.chance(0.7) { (limit * 0.3, limit * 0.8) } else { (limit * 1.1, limit * 1.7) };
    // The payment that passes the limit.
    let plan = Plan { pieces, total: limit * scene.between(1.8, 3.0), stop: limit };
    spread(scene, &person, &own(&person)?, &plan)
}
