//! Large sums cut into pieces below reporting limits.

use super::draft::{cash, incoming, transfer, wire};
use super::kind::{Kind, any_date, working_day};
use super::money::{level, neat, reporting_limit};
use super::people::Profile;
use super::scene::Scene;
use super::session::{own, payee_added};
use crate::Customer;
use crate::context::Wire;

const TYPOLOGY: &str = "structuring";

pub(super) static KINDS: [Kind; 6] = [
    Kind {
        typology: TYPOLOGY,
        name: "cash-below-limit",
        what: "Cash just below the reporting limit is paid into one account every day or two.",
        source: "FFIEC, BSA/AML Examination Manual, Appendix G: Structuring",
        first: 0,
        days: 14,
        fits: any_date,
        tell: cash_below_limit,
    },
    Kind {
        typology: TYPOLOGY,
        name: "branch-tour",
        what: "Cash is paid into one account at several branches within a day, together well over the limit.",
        source: "FFIEC, BSA/AML Examination Manual, Appendix F: Money Laundering and Terrorist Financing \
            Red Flags",
        first: 0,
        days: 2,
        fits: working_day,
        tell: branch_tour,
    },
    Kind {
        typology: TYPOLOGY,
        name: "small-and-patient",
        what: "A small shop pays in cash far beyond what it declared, in irregular pieces over two weeks.",
        source: "FATF, Money Laundering through the Physical Transportation of Cash",
        first: 0,
        days: 14,
        fits: any_date,
        tell: small_and_patient,
    },
    Kind {
        typology: TYPOLOGY,
        name: "transfers-below-limit",
        what: "An account sends a bank abroad sum after sum, each a little below the reporting limit.",
        source: "FFIEC, BSA/AML Examination Manual, Appendix F: Money Laundering and Terrorist Financing \
            Red Flags",
        first: 0,
        days: 10,
        fits: any_date,
        tell: transfers_below_limit,
    },
    Kind {
        typology: TYPOLOGY,
        name: "many-payers",
        what: "Many people pay middling sums into one account within two days, which then goes abroad.",
        source: "FinCEN, Advisory FIN-2014-A005 (funnel accounts)",
        first: 0,
        days: 4,
        fits: any_date,
        tell: many_payers,
    },
    Kind {
        typology: TYPOLOGY,
        name: "split-in-a-day",
        what: "One large payment to one payee is cut into unequal parts below the limit, within a day.",
        source: "FFIEC, BSA/AML Examination Manual, Appendix G: Structuring",
        first: 0,
        days: 2,
        fits: any_date,
        tell: split_in_a_day,
    },
];

/// Returns somebody in a country with a limit that criminals know, and that limit.
fn launderer(scene: &mut Scene<'_>) -> Option<(Customer, f64)> {
    let country = scene.one_of(&["DE", "FR", "NL", "ES", "IE", "US", "US", "NG"])?;
    let profile = Profile {
        country,
        age: scene.count(24, 61),
        open: scene.count(90, 1_500),
        tier: 3,
        income: scene.between(1_600.0, 3_800.0),
    };
    let person = scene.person(&profile);
    let limit = reporting_limit(person.currency)?;
    Some((person, limit))
}

fn branch(scene: &mut Scene<'_>, country: &str) -> String {
    format!("branch-{}-{}", country.to_lowercase(), scene.count(1, 9))
}

fn cash_below_limit(scene: &mut Scene<'_>) -> Option<()> {
    let (person, limit) = launderer(scene)?;
    let usual = branch(scene, person.country);
    let mut day = 0;
    for number in 0..scene.count(4, 7) {
        if !working_day(scene.date(day)) {
            day += 2;
        }
        let at = scene.at(person.country, day, (9, 16));
        let value = neat(limit * scene.between(0.86, 0.995), person.currency).min(limit * 0.995);
        scene.pay(cash(&person, &usual, None, at, value));
        // The third in a few days: one may be chance, three are a pattern.
        if number == 2 {
            scene.stop_here();
        }
        day += if number < 3 { scene.count(1, 2) } else { 1 };
    }
    Some(())
}

fn branch_tour(scene: &mut Scene<'_>) -> Option<()> {
    let (person, limit) = launderer(scene)?;
    let mut at = scene.at(person.country, 0, (9, 11));
    let (mut total, mut stopped) = (0.0, false);
    for _ in 0..scene.count(4, 6) {
        let branch = branch(scene, person.country);
        let value = neat(limit * scene.between(0.28, 0.72), person.currency);
        scene.pay(cash(&person, &branch, None, at, value));
        total += value;
        // The deposit that takes the day's total half over the limit.
        if !stopped && total > limit * 1.5 {
            scene.stop_here();
            stopped = true;
        }
        at += scene.minutes(25, 75);
    }
    if !stopped {
        scene.stop_here();
    }
    Some(())
}

fn small_and_patient(scene: &mut Scene<'_>) -> Option<()> {
    let (person, limit) = launderer(scene)?;
    let declared = neat(limit * scene.between(0.25, 0.6), person.currency);
    let branches = [branch(scene, person.country), branch(scene, person.country)];
    let (mut total, mut stopped) = (0.0, false);
    for day in 0..12 {
        if !working_day(scene.date(day)) || (day > 0 && scene.chance(0.2)) {
            continue;
        }
        let at = scene.at(person.country, day, (9, 16));
        let value = neat(limit * scene.between(0.24, 0.52), person.currency);
        let branch = scene.one_of(&branches)?;
        scene.pay(cash(&person, &branch, Some(declared), at, value));
        total += value;
        // Within two weeks three times the cash that the shop declared for a month.
        if !stopped && total > declared * 3.0 {
            scene.stop_here();
            stopped = true;
        }
    }
    if !stopped {
        scene.stop_here();
    }
    Some(())
}

fn transfers_below_limit(scene: &mut Scene<'_>) -> Option<()> {
    let (person, limit) = launderer(scene)?;
    let session = own(&person)?;
    let to = scene.account();
    let country = scene.one_of(&["AE", "TR", "HK", "CY", "PA"])?;
    let bank = scene.bank(country);
    let message = Wire {
        originator_name: "Kessler Import",
        originator_country: person.country,
        counterparty_country: country,
        bank_identifier: &bank,
        enhanced_checks_done: false,
    };
    let added = scene.at(person.country, 0, (8, 9));
    let mut number = 0;
    for day in 0..scene.count(4, 7) {
        for _ in 0..scene.count(1, 2) {
            let at = scene.at(person.country, day, (10, 17));
            let value = neat(limit * scene.between(0.9, 0.995), person.currency).min(limit * 0.995);
            let session = payee_added(&session, added, at);
            scene.pay(wire(&person, &session, &message, &to, at, value));
            number += 1;
            // The fourth: close to four times the limit went to one payee.
            if number == 4 {
                scene.stop_here();
            }
        }
    }
    Some(())
}

fn many_payers(scene: &mut Scene<'_>) -> Option<()> {
    let (collector, limit) = launderer(scene)?;
    let mut at = scene.at(collector.country, 0, (9, 12));
    let payers = scene.count(8, 14);
    let from_other_banks = scene.chance(0.5);
    for number in 0..payers {
        let profile = Profile {
            country: collector.country,
            age: scene.count(19, 58),
            open: scene.count(20, 900),
            tier: 2,
            income: scene.between(900.0, 2_200.0),
        };
        let payer = scene.person(&profile);
        let session = own(&payer)?;
        let value = neat(limit * scene.between(0.09, 0.29), payer.currency);
        let text = scene.one_of(&["for you", "as agreed", "car", "loan back", "deposit"])?;
        scene.pay(if from_other_banks {
            incoming("transfer", &payer.account, &collector, at, value, text)
        } else {
            transfer(&payer, &session, &collector, at, value, text)
        });
        // The seventh stranger who pays in.
        if number == 6 {
            scene.stop_here();
        }
        at += scene.minutes(12, 75);
    }
    let to = scene.account();
    let total = limit * 0.19 * f64::from(payers);
    for share in [0.4, 0.45] {
        at += scene.minutes(60, 300);
        let value = neat(total * share, collector.currency);
        scene.pay(transfer(&collector, &own(&collector)?, &to, at, value, "goods"));
    }
    Some(())
}

fn split_in_a_day(scene: &mut Scene<'_>) -> Option<()> {
    let (person, limit) = launderer(scene)?;
    let to = scene.account();
    let begin = scene.at(person.country, 0, (8, 12));
    let session = own(&person)?;
    let mut at = begin + scene.minutes(2, 20);
    for number in 0..scene.count(3, 5) {
        let odd = scene.between(0.0, 1.0) * level(person.currency);
        let value = neat(limit * scene.between(0.58, 0.97), person.currency) + odd;
        let text = scene.one_of(&["part payment", "purchase contract", "boat", "contract 2"])?;
        scene.pay(transfer(&person, &payee_added(&session, begin, at), &to, at, value, text));
        // The third part: twice the limit went to one payee within hours.
        if number == 2 {
            scene.stop_here();
        }
        at += scene.minutes(8, 110);
    }
    Some(())
}
