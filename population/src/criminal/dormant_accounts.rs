//! Accounts that slept for months and wake.

use super::draft::{cash, incoming, sale_in_shop, transfer};
use super::kind::{Kind, any_date};
use super::money::{level, neat};
use super::past::{ago_at, ordinary_life};
use super::people::Profile;
use super::scene::Scene;
use super::session::{from, own, payee_added};
use crate::Customer;
use crate::context::Session;

const TYPOLOGY: &str = "dormant_accounts";

pub(super) static KINDS: [Kind; 5] = [
    Kind {
        typology: TYPOLOGY,
        name: "drained",
        what: "Somebody takes over an account that was silent for months and empties it in a few transfers.",
        source: "FFIEC, BSA/AML Examination Manual, Appendix F: Money Laundering and Terrorist Financing \
            Red Flags",
        first: 7,
        days: 2,
        fits: any_date,
        tell: drained,
    },
    Kind {
        typology: TYPOLOGY,
        name: "probe-then-large",
        what: "A transfer of about one euro finds out whether a silent account still works; days later \
            most of it goes.",
        source: "general knowledge: insider and takeover fraud on dormant accounts",
        first: 7,
        days: 6,
        fits: any_date,
        tell: probe_then_large,
    },
    Kind {
        typology: TYPOLOGY,
        name: "contact-change",
        what: "The postal address of a silent account is changed; days later a large sum goes to a new \
            payee.",
        source: "Central Bank of Nigeria, Guidelines on Management of Dormant Accounts, Unclaimed Balances",
        first: 7,
        days: 2,
        fits: any_date,
        tell: contact_change,
    },
    Kind {
        typology: TYPOLOGY,
        name: "never-used",
        what: "An account opened long ago and never used takes in a large sum and sends it on.",
        source: "FATF, Professional Money Laundering",
        first: 7,
        days: 4,
        fits: any_date,
        tell: never_used,
    },
    Kind {
        typology: TYPOLOGY,
        name: "warmed-up",
        what: "A silent account first makes small purchases for a week, so that it looks alive, then \
            it is drained.",
        source: "general knowledge: bought accounts that are used a little before they are misused",
        first: 7,
        days: 13,
        fits: any_date,
        tell: warmed_up,
    },
];

/// Returns a customer who used the account for months and then no more, since half a year or longer.
fn sleeper(scene: &mut Scene<'_>) -> Option<Customer> {
    let silent = scene.count(185, 420);
    let used = scene.count(70, 160);
    let profile = Profile {
        country: scene.one_of(&["DE", "FR", "NL", "IE", "ES", "GB", "NG"])?,
        age: scene.count(33, 84),
        open: silent + used + scene.count(10, 900),
        tier: 3,
        income: scene.between(1_400.0, 3_200.0),
    };
    let sleeper = scene.person(&profile);
    ordinary_life(scene, &sleeper, silent + used, silent)?;
    Some(sleeper)
}

fn drained(scene: &mut Scene<'_>) -> Option<()> {
    let sleeper = sleeper(scene)?;
    let device = scene.device("browser");
    let kind = scene.one_of(&["residential", "residential", "vpn"])?;
    let session = Session { mfa: scene.chance(0.4), ..from(&device, scene.ip(), sleeper.country, kind) };
    let to = scene.accounts(1, 2);
    let begin = scene.at(sleeper.country, 0, (7, 22));
    let mut at = begin + scene.minutes(3, 40);
    for number in 0..scene.count(2, 5) {
        let value = neat(sleeper.monthly_income * scene.between(0.4, 1.3), sleeper.currency);
        let to = scene.one_of(&to)?;
        scene.pay(transfer(&sleeper, &payee_added(&session, begin, at), &to, at, value, "transfer"));
        // The first large payment after half a year of silence.
        if number == 0 {
            scene.stop_here();
        }
        at += scene.minutes(4, 70);
    }
    Some(())
}

fn probe_then_large(scene: &mut Scene<'_>) -> Option<()> {
    let sleeper = sleeper(scene)?;
    let device = scene.device("phone");
    let session = from(&device, scene.ip(), sleeper.country, scene.one_of(&["residential", "mobile"])?);
    let to = scene.account();
    let first = scene.at(sleeper.country, 0, (8, 22));
    let probe = scene.between(0.5, 2.0) * level(sleeper.currency);
    let added = first - scene.minutes(2, 10);
    scene.pay(transfer(&sleeper, &payee_added(&session, added, first), &to, first, probe, "test"));
    let day = scene.count(1, 4);
    let at = scene.at(sleeper.country, day, (8, 22));
    let value = neat(sleeper.monthly_income * scene.between(1.2, 3.5), sleeper.currency);
    scene.pay(transfer(&sleeper, &payee_added(&session, added, at), &to, at, value, "savings"));
    // The large one: nothing but the probe came before it in months.
    scene.stop_here();
    Some(())
}

fn contact_change(scene: &mut Scene<'_>) -> Option<()> {
    let sleeper = sleeper(scene)?;
    let ago = scene.count(1, 6);
    let sleeper = Customer { contact_changed_on: Some(scene.days_ago(ago)), ..sleeper };
    let device = scene.device("browser");
    let network = scene.ip();
    let session = Session { mfa: true, ..from(&device, network, sleeper.country, "residential") };
    let to = scene.account();
    let mut at = scene.at(sleeper.country, 0, (9, 18));
    let added = at - scene.minutes(3, 60);
    for number in 0..scene.count(1, 2) {
        let value = neat(sleeper.monthly_income * scene.between(1.0, 3.0), sleeper.currency);
        scene.pay(transfer(&sleeper, &payee_added(&session, added, at), &to, at, value, "house"));
        // The first: silence, a change of address and a new payee came together.
        if number == 0 {
            scene.stop_here();
        }
        at += scene.minutes(20, 200);
    }
    Some(())
}

fn never_used(scene: &mut Scene<'_>) -> Option<()> {
    let open = scene.count(260, 900);
    let country = scene.one_of(&["DE", "FR", "NL", "IE", "ES"])?;
    let profile = Profile { country, age: scene.count(22, 58), open, tier: 2, income: 1_900.0 };
    let owner = scene.person(&profile);
    let branch = format!("branch-{}-{}", country.to_lowercase(), scene.count(1, 4));
    let at = ago_at(scene, country, open, (10, 16));
    scene.before(cash(&owner, &branch, None, at, 50.0));
    let sender = scene.account();
    let mut at = scene.at(country, 0, (9, 13));
    let total = neat(scene.between(6_000.0, 28_000.0), owner.currency);
    scene.pay(incoming("transfer", &sender, &owner, at, total, "contract"));
    let parts = scene.count(1, 3);
    for number in 0..parts {
        at += scene.minutes(30, 600);
        let value = neat(total * 0.96 / f64::from(parts), owner.currency);
        let to = scene.account();
        let session = payee_added(&own(&owner)?, at - scene.minutes(1, 25), at);
        scene.pay(transfer(&owner, &session, &to, at, value, "contract"));
        // The first payment out: until then the money is at the bank.
        if number == 0 {
            scene.stop_here();
        }
    }
    Some(())
}

fn warmed_up(scene: &mut Scene<'_>) -> Option<()> {
    let sleeper = sleeper(scene)?;
    let card = sleeper.cards.first()?.clone();
    let shop = scene.shop("5411", sleeper.country, 2_000, 28.0);
    let mut day = 0;
    for _ in 0..scene.count(3, 4) {
        let at = scene.at(sleeper.country, day, (9, 20));
        let value = scene.between(6.0, 48.0) * level(sleeper.currency);
        scene.pay(sale_in_shop(&sleeper, &card, &shop, at, value));
        day += scene.count(1, 3);
    }
    let device = scene.device("phone");
    let session = from(&device, scene.ip(), sleeper.country, "mobile");
    let to = scene.account();
    let mut at = scene.at(sleeper.country, day.min(11), (8, 20));
    let added = at - scene.minutes(5, 50);
    for number in 0..scene.count(2, 3) {
        let value = neat(sleeper.monthly_income * scene.between(0.6, 1.5), sleeper.currency);
        scene.pay(transfer(&sleeper, &payee_added(&session, added, at), &to, at, value, "car"));
        // The second transfer: the purchases before made the first one look less sudden.
        if number == 1 {
            scene.stop_here();
        }
        at += scene.minutes(15, 240);
    }
    Some(())
}
