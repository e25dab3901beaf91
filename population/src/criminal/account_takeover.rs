//! Somebody else holds the keys of an account.

use chrono::{Datelike, NaiveDate};

use super::draft::{incoming, transfer};
use super::kind::{Kind, any_date, working_day};
use super::money::{level, neat};
use super::people::Profile;
use super::scene::Scene;
use super::session::{from, payee_added};
use crate::Customer;
use crate::context::Session;

const TYPOLOGY: &str = "account_takeover";

pub(super) static KINDS: [Kind; 6] = [
    Kind {
        typology: TYPOLOGY,
        name: "phished-email-change",
        what: "A phished login: the email address is changed, and within a day a new payee gets most \
            of the balance.",
        source: "UK Finance, Annual Fraud Report: unauthorised remote banking fraud",
        first: 14,
        days: 3,
        fits: any_date,
        tell: phished_email_change,
    },
    Kind {
        typology: TYPOLOGY,
        name: "sim-swap",
        what: "The SIM card is replaced by a stranger, who then pays by mobile telephone.",
        source: "ENISA, Countering SIM-Swapping",
        first: 14,
        days: 4,
        fits: any_date,
        tell: sim_swap,
    },
    Kind {
        typology: TYPOLOGY,
        name: "device-through-accounts",
        what: "One device works through a list of bought logins and sends something from each to the \
            same accounts.",
        source: "OWASP, Automated Threats to Web Applications: OAT-008 credential stuffing",
        first: 14,
        days: 2,
        fits: any_date,
        tell: device_through_accounts,
    },
    Kind {
        typology: TYPOLOGY,
        name: "guessing",
        what: "Somebody guesses a PIN or password, payment after payment declined, until one succeeds.",
        source: "OWASP, Automated Threats to Web Applications: OAT-007 credential cracking",
        first: 14,
        days: 2,
        fits: any_date,
        tell: guessing,
    },
    Kind {
        typology: TYPOLOGY,
        name: "payroll-mailbox",
        what: "With the mailbox of a payroll office, salaries go to new accounts in the middle of the month.",
        source: "FBI Internet Crime Complaint Center, public service announcements on payroll diversion",
        first: 0,
        days: 2,
        fits: mid_month,
        tell: payroll_mailbox,
    },
    Kind {
        typology: TYPOLOGY,
        name: "new-device-large",
        what: "A stolen session on a new device, from an address nearby, makes one large payment to a \
            new payee.",
        source: "Europol, Internet Organised Crime Threat Assessment (IOCTA): information stealers",
        first: 14,
        days: 2,
        fits: any_date,
        tell: new_device_large,
    },
];

/// Returns whether payrolls are far: they are paid in the last days or the first days of a month.
fn mid_month(date: NaiveDate) -> bool {
    (9..=18).contains(&date.day()) && working_day(date)
}

fn phished_email_change(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|_| true)?;
    let device = scene.device(if victim.age % 2 == 0 { "browser" } else { "phone" });
    let kind = scene.one_of(&["residential", "residential", "mobile", "vpn", "hosting"])?;
    // Phishing in real time takes the second factor along.
    let session = Session { mfa: scene.chance(0.4), ..from(&device, scene.ip(), victim.country, kind) };
    let changed = scene.at(victim.country, 0, (7, 21));
    let victim = Customer { credentials_changed_on: Some(changed.date_naive()), ..victim.clone() };
    let mut at = changed + scene.minutes(15, 20 * 60);
    let added = at - scene.minutes(2, 10);
    let to = scene.account();
    if scene.chance(0.4) {
        let probe = neat(scene.between(1.0, 9.0) * level(victim.currency), victim.currency);
        let draft = transfer(&victim, &payee_added(&session, added, at), &to, at, probe, "test");
        scene.pay(draft.credentials_changed(changed));
        at += scene.minutes(3, 25);
    }
    for number in 0..scene.count(1, 3) {
        let value = neat(victim.monthly_income * scene.between(0.45, 1.1), victim.currency);
        let draft = transfer(&victim, &payee_added(&session, added, at), &to, at, value, "savings");
        scene.pay(draft.credentials_changed(changed));
        // The first large one: new address, new device and new payee came together.
        if number == 0 {
            scene.stop_here();
        }
        at += scene.minutes(4, 50);
    }
    Some(())
}

fn sim_swap(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|_| true)?;
    let device = scene.device("phone");
    let session = from(&device, scene.ip(), victim.country, "mobile");
    let ussd = victim.country == "NG" && scene.chance(0.6);
    let session =
        if ussd { Session { channel: "ussd", ..session } } else { Session { mfa: true, ..session } };
    // The same day, or the day before.
    let ago = scene.count(0, 1);
    let swapped = scene.days_ago(ago);
    let victim = Customer { sim_swapped_on: Some(swapped), ..victim.clone() };
    let mut at = scene.at(victim.country, 0, (6, 22));
    let to = scene.accounts(1, 2);
    for number in 0..scene.count(3, 6) {
        let value = neat(victim.monthly_income * scene.between(0.12, 0.42), victim.currency);
        let to = scene.one_of(&to)?;
        scene.pay(transfer(&victim, &session, &to, at, value, "transfer"));
        // The second: one may be the customer with a new telephone.
        if number == 1 {
            scene.stop_here();
        }
        at += scene.minutes(3, 90);
    }
    Some(())
}

fn device_through_accounts(scene: &mut Scene<'_>) -> Option<()> {
    let victims = scene.victims(5, 9)?;
    let device = scene.device("browser");
    let mules = scene.accounts(1, 3);
    let country = victims.first()?.country;
    let kind = scene.one_of(&["residential", "vpn", "proxy", "mobile"])?;
    let rotating = scene.chance(0.5);
    let ip = scene.ip();
    let mut at = scene.at(country, 0, (8, 21));
    for (number, victim) in victims.into_iter().enumerate() {
        let ip = if rotating { scene.ip() } else { ip.clone() };
        let session = from(&device, ip, country, kind);
        let added = at - scene.minutes(1, 6);
        let value = neat(victim.monthly_income * scene.between(0.1, 0.45), victim.currency);
        let to = scene.one_of(&mules)?;
        scene.pay(transfer(victim, &payee_added(&session, added, at), &to, at, value, "invoice"));
        // The third account on one device that none of them used before; families share two or three.
        if number == 2 {
            scene.stop_here();
        }
        at += scene.minutes(5, 38);
    }
    Some(())
}

fn guessing(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|_| true)?;
    let device = scene.device("phone");
    let kind = scene.one_of(&["residential", "mobile", "hosting"])?;
    let session = from(&device, scene.ip(), victim.country, kind);
    let to = scene.account();
    let mut at = scene.at(victim.country, 0, (5, 23));
    let value = neat(victim.monthly_income * scene.between(0.2, 0.5), victim.currency);
    for _ in 0..scene.count(5, 12) {
        scene.pay(transfer(victim, &session, &to, at, value, "transfer").declined_if(true));
        at += scene.seconds(8, 240);
    }
    for number in 0..scene.count(1, 3) {
        let value = neat(value * scene.between(0.8, 1.5), victim.currency);
        scene.pay(transfer(victim, &session, &to, at, value, "transfer"));
        // The first that succeeds, after a row of wrong guesses.
        if number == 0 {
            scene.stop_here();
        }
        at += scene.minutes(2, 20);
    }
    Some(())
}

fn payroll_mailbox(scene: &mut Scene<'_>) -> Option<()> {
    let employers = scene.cast.employers.clone();
    let employer = scene.one_of(&employers)?;
    let mut at = scene.at("DE", 0, (8, 17));
    for number in 0..scene.count(3, 6) {
        let profile = Profile {
            country: scene.one_of(&["DE", "NL", "FR", "IE"])?,
            age: scene.count(20, 48),
            open: scene.count(5, 120),
            tier: 2,
            income: scene.between(1_300.0, 2_600.0),
        };
        let receiver = scene.person(&profile);
        let value = scene.between(1_650.0, 4_400.0);
        scene.pay(incoming("salary", &employer, &receiver, at, value, "salary"));
        // The second: one may be the first pay of a new employee.
        if number == 1 {
            scene.stop_here();
        }
        at += scene.seconds(20, 900);
    }
    Some(())
}

fn new_device_large(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|_| true)?;
    let device = scene.device("browser");
    let session = Session {
        mfa: scene.chance(0.5),
        ..from(&device, scene.ip(), victim.country, scene.one_of(&["residential", "residential", "vpn"])?)
    };
    let to = scene.account();
    let at = scene.at(victim.country, 0, (8, 23));
    let added = at - scene.minutes(2, 45);
    let value = neat(victim.monthly_income * scene.between(1.1, 2.8), victim.currency);
    scene.pay(transfer(victim, &payee_added(&session, added, at), &to, at, value, "purchase"));
    // There is only one: the money is gone with it.
    scene.stop_here();
    if scene.chance(0.3) {
        let again = at + scene.minutes(5, 60);
        let value = neat(value * scene.between(0.2, 0.6), victim.currency);
        scene.pay(transfer(victim, &payee_added(&session, added, again), &to, again, value, "purchase"));
    }
    Some(())
}
