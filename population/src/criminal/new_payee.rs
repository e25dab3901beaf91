//! Customers who are talked into paying a stranger.

use chrono::{DateTime, Datelike, NaiveDate, Utc, Weekday};

use super::draft::transfer;
use super::kind::{Kind, any_date};
use super::money::{level, neat};
use super::people::Profile;
use super::scene::Scene;
use super::session::{own, payee_added};
use crate::Customer;
use crate::context::Session;

const TYPOLOGY: &str = "new_payee";

pub(super) static KINDS: [Kind; 7] = [
    Kind {
        typology: TYPOLOGY,
        name: "safe-account",
        what: "A caller from the \"bank\" has the customer move the savings to a safe account, mostly \
            with remote access.",
        source: "UK Finance, Annual Fraud Report: bank impersonation",
        first: 14,
        days: 2,
        fits: any_date,
        tell: safe_account,
    },
    Kind {
        typology: TYPOLOGY,
        name: "police-or-grandchild",
        what: "A \"police officer\" or a \"grandchild\" in need keeps an elderly customer on the \
            telephone until they pay.",
        source: "UK Finance, Annual Fraud Report: police impersonation",
        first: 14,
        days: 2,
        fits: any_date,
        tell: police_or_grandchild,
    },
    Kind {
        typology: TYPOLOGY,
        name: "romance",
        what: "Instalments to a beloved person whom the customer never met; they grow.",
        source: "UK Finance, Annual Fraud Report: romance scams",
        first: 14,
        days: 14,
        fits: any_date,
        tell: romance,
    },
    Kind {
        typology: TYPOLOGY,
        name: "changed-invoice",
        what: "An intercepted email carries new bank details: the customer pays a real invoice to the \
            wrong account.",
        source: "UK Finance, Annual Fraud Report: invoice and mandate scams",
        first: 14,
        days: 2,
        fits: any_date,
        tell: changed_invoice,
    },
    Kind {
        typology: TYPOLOGY,
        name: "fake-shop",
        what: "A shop that does not exist takes prepayments by transfer from many customers within a day.",
        source: "UK Finance, Annual Fraud Report: purchase scams",
        first: 7,
        days: 3,
        fits: any_date,
        tell: fake_shop,
    },
    Kind {
        typology: TYPOLOGY,
        name: "investment-weekend",
        what: "An \"adviser\" shows made-up gains over a weekend: a trial sum, a larger one, then the \
            savings.",
        source: "UK Finance, Annual Fraud Report: investment scams",
        first: 14,
        days: 5,
        fits: friday,
        tell: investment_weekend,
    },
    Kind {
        typology: TYPOLOGY,
        name: "customs-fee",
        what: "A message asks for a small customs fee on a parcel; then a release fee follows, and an \
            insurance.",
        source: "Federal Trade Commission, consumer alerts on package delivery scams",
        first: 14,
        days: 4,
        fits: any_date,
        tell: customs_fee,
    },
];

fn friday(date: NaiveDate) -> bool {
    date.weekday() == Weekday::Fri
}

/// Adds a payment of the customer's own to a payee entered at an instant.
fn talked_into(
    scene: &mut Scene<'_>,
    victim: &Customer,
    session: &Session<'_>,
    (to, added): (&str, DateTime<Utc>),
    at: DateTime<Utc>,
    (value, text): (f64, &str),
) {
    let session = payee_added(session, added, at);
    scene.pay(transfer(victim, &session, to, at, neat(value, victim.currency), text));
}

fn safe_account(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|_| true)?;
    let remote = scene.chance(0.7);
    let session =
        Session { remote_access: remote, call_in_progress: !remote || scene.chance(0.8), ..own(victim)? };
    let to = scene.account();
    let mut at = scene.at(victim.country, 0, (9, 20));
    let added = at - scene.minutes(2, 9);
    let text = scene.one_of(&["safe account", "savings", "my account", "transfer"])?;
    for number in 0..scene.count(1, 3) {
        let value = victim.monthly_income * scene.between(0.6, 2.1);
        talked_into(scene, victim, &session, (&to, added), at, (value, text));
        // The first: most of the savings go with it.
        if number == 0 {
            scene.stop_here();
        }
        at += scene.minutes(3, 25);
    }
    Some(())
}

fn police_or_grandchild(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|customer| customer.age >= 65)?;
    let on_the_phone = scene.chance(0.8);
    let session = Session { call_in_progress: on_the_phone, ..own(victim)? };
    let to = scene.account();
    let at = scene.at(victim.country, 0, (9, 18));
    let added = at - scene.minutes(3, 30);
    let value = victim.monthly_income * scene.between(1.2, 4.0);
    let text = scene.one_of(&["bail", "for Lukas", "car accident", "security deposit", ""])?;
    talked_into(scene, victim, &session, (&to, added), at, (value, text));
    // There is mostly one payment only.
    scene.stop_here();
    if scene.chance(0.35) {
        let again = at + scene.minutes(30, 300);
        talked_into(scene, victim, &session, (&to, added), again, (value * 0.6, text));
    }
    Some(())
}

fn romance(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|customer| customer.age >= 30)?;
    let session = own(victim)?;
    let to = scene.account();
    let first = scene.at(victim.country, 0, (18, 22));
    let added = first - scene.minutes(3, 20);
    let mut share = scene.between(0.03, 0.08);
    let mut at = first;
    let mut day = 0;
    for number in 0..scene.count(5, 7) {
        let text = scene.one_of(&["for you", "hospital", "ticket", "visa", "with love"])?;
        talked_into(scene, victim, &session, (&to, added), at, (victim.monthly_income * share, text));
        // The fourth: they have grown several times, and two thirds of the loss are still to come.
        if number == 3 {
            scene.stop_here();
        }
        share *= scene.between(1.35, 1.8);
        day += scene.count(1, 2);
        at = scene.at(victim.country, day, (17, 22));
    }
    Some(())
}

fn changed_invoice(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|customer| customer.age >= 25)?;
    let session = own(victim)?;
    let to = scene.account();
    let at = scene.at(victim.country, 0, (8, 19));
    let added = at - scene.minutes(2, 40);
    let text = format!(
        "invoice {}, {}",
        scene.count(2_000, 9_900),
        scene.one_of(&["roof", "kitchen", "car", "garden"])?
    );
    let value =
        victim.monthly_income * scene.between(0.7, 2.6) + scene.between(0.0, 9.0) * level(victim.currency);
    let session = payee_added(&session, added, at);
    // An invoice is not a round sum.
    scene.pay(transfer(victim, &session, &to, at, value, &text));
    // There is one payment only.
    scene.stop_here();
    Some(())
}

fn fake_shop(scene: &mut Scene<'_>) -> Option<()> {
    let victims = scene.victims(7, 13)?;
    let country = victims.first()?.country;
    let profile =
        Profile { country, age: scene.count(20, 48), open: scene.count(3, 16), tier: 2, income: 1_400.0 };
    let shop = scene.person(&profile);
    let base = scene.between(60.0, 380.0);
    let mut at = scene.at(country, 0, (8, 12));
    for (number, victim) in victims.into_iter().enumerate() {
        let session = payee_added(&own(victim)?, at - scene.minutes(1, 8), at);
        let value =
            (base * scene.between(0.7, 1.3) * level(victim.currency)).round() - 0.1 * level(victim.currency);
        let text = format!("order {}", scene.count(10_000, 99_999));
        scene.pay(transfer(victim, &session, &shop, at, value, &text));
        // The sixth customer who pays an account that is days old.
        if number == 5 {
            scene.stop_here();
        }
        at += scene.minutes(6, 65);
    }
    Some(())
}

fn investment_weekend(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|customer| customer.age >= 25)?;
    let own = own(victim)?;
    let session = Session { remote_access: scene.chance(0.35), ..own };
    let to = scene.accounts(1, 1);
    let to = to.first()?;
    let first = scene.at(victim.country, 0, (16, 22));
    let added = first - scene.minutes(3, 25);
    let trial = scene.between(0.07, 0.14);
    talked_into(scene, victim, &session, (to, added), first, (victim.monthly_income * trial, "trading"));
    let second = scene.at(victim.country, 1, (11, 21));
    let more = scene.between(0.35, 0.6);
    talked_into(scene, victim, &session, (to, added), second, (victim.monthly_income * more, "trading"));
    let third = scene.at(victim.country, 2, (11, 22));
    let savings = victim.monthly_income * scene.between(1.3, 3.6);
    talked_into(scene, victim, &session, (to, added), third, (savings, "investment"));
    // The third: the savings; what went before is bearable.
    scene.stop_here();
    Some(())
}

fn customs_fee(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|_| true)?;
    let session = own(victim)?;
    let to = scene.account();
    let first = scene.at(victim.country, 0, (8, 22));
    let added = first - scene.minutes(1, 6);
    let steps = [
        (scene.between(1.9, 4.2), "customs fee parcel"),
        (scene.between(65.0, 160.0), "customs release fee"),
        (scene.between(190.0, 620.0), "customs insurance, refundable"),
    ];
    for (day, (euros, text)) in (0_u32..).zip(steps) {
        let at = if day == 0 { first } else { scene.at(victim.country, day, (8, 22)) };
        let value = euros * level(victim.currency);
        let session = payee_added(&session, added, at);
        scene.pay(transfer(victim, &session, &to, at, value, text));
        // The second: the parcel costs again; the largest sum is still to come.
        if day == 1 {
            scene.stop_here();
        }
    }
    Some(())
}
