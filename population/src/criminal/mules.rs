//! Accounts lent for passing money on.

use chrono::{DateTime, Utc};

use super::draft::{incoming, transfer};
use super::kind::{Kind, any_date};
use super::money::{level, neat};
use super::past::ordinary_life;
use super::people::Profile;
use super::scene::Scene;
use super::session::{own, payee_added};
use crate::Customer;

const TYPOLOGY: &str = "mules";

pub(super) static KINDS: [Kind; 5] = [
    Kind {
        typology: TYPOLOGY,
        name: "fresh-funnel",
        what: "An account a few days old takes in money from many victims and pays it out to several others.",
        source: "Europol, European Money Mule Action (EMMA)",
        first: 0,
        days: 3,
        fits: any_date,
        tell: fresh_funnel,
    },
    Kind {
        typology: TYPOLOGY,
        name: "student-pass-through",
        what: "A recruited student passes on what comes in within minutes and keeps a commission.",
        source: "Cifas, Fraudscape: misuse of facility by young account holders",
        first: 7,
        days: 7,
        fits: any_date,
        tell: student_pass_through,
    },
    Kind {
        typology: TYPOLOGY,
        name: "over-income",
        what: "Somebody with a small declared income takes in many times of it within a week and sends \
            it on.",
        source: "FFIEC, BSA/AML Examination Manual, Appendix F: Money Laundering and Terrorist Financing \
            Red Flags",
        first: 0,
        days: 10,
        fits: any_date,
        tell: over_income,
    },
    Kind {
        typology: TYPOLOGY,
        name: "collector",
        what: "Several young accounts pay one collector, who sends the sum on in one or two payments.",
        source: "FATF and Egmont Group, Illicit Financial Flows from Cyber-Enabled Fraud",
        first: 0,
        days: 4,
        fits: any_date,
        tell: collector,
    },
    Kind {
        typology: TYPOLOGY,
        name: "slow-layering",
        what: "Day by day a sum comes in and nearly the same sum leaves some hours later; nothing stays.",
        source: "FATF, Professional Money Laundering",
        first: 0,
        days: 12,
        fits: any_date,
        tell: slow_layering,
    },
];

const COUNTRIES: [&str; 6] = ["DE", "FR", "NL", "IE", "ES", "DE"];

/// Returns a transfer out of the mule's own telephone to a payee entered shortly before.
fn send_on(scene: &mut Scene<'_>, mule: &Customer, to: &str, at: DateTime<Utc>, value: f64) -> Option<()> {
    let added = at - scene.minutes(1, 30);
    let text = scene.one_of(&["transfer", "as agreed", "invoice", "thanks"])?;
    let session = payee_added(&own(mule)?, added, at);
    scene.pay(transfer(mule, &session, to, at, neat(value, mule.currency), text));
    Some(())
}

fn fresh_funnel(scene: &mut Scene<'_>) -> Option<()> {
    let victims = scene.victims(5, 8)?;
    let country = victims.first()?.country;
    let profile =
        Profile { country, age: scene.count(19, 44), open: scene.count(2, 12), tier: 2, income: 1_500.0 };
    let mule = scene.person(&profile);
    let out = scene.accounts(3, 4);
    let (mut at, mut held, mut payouts) = (scene.at(country, 0, (9, 13)), 0.0, 0);
    for (number, victim) in victims.iter().enumerate() {
        let value = neat(scene.between(350.0, 2_300.0) * level(victim.currency), victim.currency);
        let session = payee_added(&own(victim)?, at - scene.minutes(2, 40), at);
        scene.pay(transfer(victim, &session, &mule, at, value, "order"));
        held += value;
        if number % 2 == 1 || number + 1 == victims.len() {
            at += scene.minutes(6, 70);
            let to = scene.one_of(&out)?;
            send_on(scene, &mule, &to, at, held * 0.94)?;
            held = 0.0;
            payouts += 1;
            // The second payout: four strangers paid in, and nothing stayed.
            if payouts == 2 {
                scene.stop_here();
            }
        }
        at += scene.minutes(15, 110);
    }
    Some(())
}

fn student_pass_through(scene: &mut Scene<'_>) -> Option<()> {
    let country = scene.one_of(&COUNTRIES)?;
    let profile =
        Profile { country, age: scene.count(18, 23), open: scene.count(120, 700), tier: 2, income: 780.0 };
    let mule = scene.person(&profile);
    ordinary_life(scene, &mule, 90, 1)?;
    let mut day = 0;
    for number in 0..scene.count(2, 3) {
        let sender = scene.account();
        let at = scene.at(country, day, (10, 20));
        let value = neat(scene.between(1_200.0, 4_200.0) * level(mule.currency), mule.currency);
        scene.pay(incoming("transfer", &sender, &mule, at, value, "payment"));
        let to = scene.account();
        let out = at + scene.minutes(4, 35);
        let rest = value * scene.between(0.89, 0.95);
        send_on(scene, &mule, &to, out, rest)?;
        // The second time that a month's income leaves within the hour.
        if number == 1 {
            scene.stop_here();
        }
        day += scene.count(1, 2);
    }
    Some(())
}

fn over_income(scene: &mut Scene<'_>) -> Option<()> {
    let country = scene.one_of(&COUNTRIES)?;
    let income = scene.between(900.0, 1_500.0);
    let profile = Profile { country, age: scene.count(23, 60), open: scene.count(90, 900), tier: 2, income };
    let mule = scene.person(&profile);
    let to = scene.accounts(2, 3);
    let (mut total, mut stopped) = (0.0, false);
    for day in 0..8 {
        let sender = scene.account();
        let at = scene.at(country, day, (8, 14));
        let value = neat(scene.between(900.0, 2_100.0), mule.currency);
        scene.pay(incoming("transfer", &sender, &mule, at, value, "services"));
        total += value;
        if scene.chance(0.7) {
            let later = at + scene.minutes(120, 500);
            let to = scene.one_of(&to)?;
            send_on(scene, &mule, &to, later, value * 0.93)?;
        }
        // Four months of declared income came in within a week.
        if !stopped && (total > mule.monthly_income * 4.0 || day == 7) {
            scene.stop_here();
            stopped = true;
        }
    }
    Some(())
}

fn collector(scene: &mut Scene<'_>) -> Option<()> {
    let country = scene.one_of(&COUNTRIES)?;
    let profile =
        Profile { country, age: scene.count(22, 50), open: scene.count(40, 400), tier: 2, income: 1_700.0 };
    let collector = scene.person(&profile);
    let (mut at, mut total) = (scene.at(country, 0, (9, 12)), 0.0);
    for number in 0..scene.count(4, 7) {
        let young = Profile { age: 18 + number, open: scene.count(6, 50), income: 700.0, ..profile };
        let young = scene.person(&young);
        let value = neat(scene.between(600.0, 1_900.0), young.currency);
        scene.pay(transfer(&young, &own(&young)?, &collector, at, value, "for you"));
        total += value;
        at += scene.minutes(20, 140);
    }
    let abroad = scene.account();
    send_on(scene, &collector, &abroad, at, total * 0.6)?;
    // The money leaves with this payment; before it lies at the bank.
    scene.stop_here();
    at += scene.minutes(10, 200);
    send_on(scene, &collector, &abroad, at, total * 0.35)
}

fn slow_layering(scene: &mut Scene<'_>) -> Option<()> {
    let country = scene.one_of(&COUNTRIES)?;
    let profile = Profile {
        country,
        age: scene.count(27, 55),
        open: scene.count(200, 1_400),
        tier: 3,
        income: 2_900.0,
    };
    let mule = scene.person(&profile);
    ordinary_life(scene, &mule, 60, 1)?;
    let senders = scene.accounts(1, 3);
    let to = scene.accounts(2, 3);
    let mut pairs = 0;
    for day in 0..10 {
        if day > 0 && scene.chance(0.2) {
            continue;
        }
        let at = scene.at(country, day, (8, 12));
        let value = (scene.between(1_300.0, 3_600.0) * 100.0).round() / 100.0;
        let sender = scene.one_of(&senders)?;
        scene.pay(incoming("transfer", &sender, &mule, at, value, "consulting"));
        let later = at + scene.minutes(300, 660);
        let to = scene.one_of(&to)?;
        let value = value * scene.between(0.95, 0.995);
        scene.pay(transfer(&mule, &own(&mule)?, &to, later, value, "subcontract"));
        pairs += 1;
        // The fifth pair: twice the month's income went through.
        if pairs <= 5 {
            scene.stop_here();
        }
    }
    Some(())
}
