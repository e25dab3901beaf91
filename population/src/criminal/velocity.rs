//! Too much, too fast, too far from the usual.

use super::draft::{Payer, sale_online, transfer};
use super::kind::{Kind, any_date};
use super::money::{level, neat};
use super::scene::Scene;
use super::session::{from, order, own, payee_added};

const TYPOLOGY: &str = "velocity";

pub(super) static KINDS: [Kind; 6] = [
    Kind {
        typology: TYPOLOGY,
        name: "emptied-account",
        what: "Somebody with stolen credentials empties an account in many transfers to a few \
            accounts, within hours.",
        source: "UK Finance, Annual Fraud Report: unauthorised remote banking fraud",
        first: 14,
        days: 2,
        fits: any_date,
        tell: emptied_account,
    },
    Kind {
        typology: TYPOLOGY,
        name: "patient-emptying",
        what: "The same thief takes days: three or four transfers a day, none of them striking by itself.",
        source: "Europol, Internet Organised Crime Threat Assessment (IOCTA)",
        first: 14,
        days: 6,
        fits: any_date,
        tell: patient_emptying,
    },
    Kind {
        typology: TYPOLOGY,
        name: "scripted-burst",
        what: "A program with a stolen session posts dozens of small transfers, seconds apart.",
        source: "OWASP, Automated Threats to Web Applications: OAT-012 cashing out",
        first: 14,
        days: 2,
        fits: any_date,
        tell: scripted_burst,
    },
    Kind {
        typology: TYPOLOGY,
        name: "many-payees",
        what: "Malware on the customer's own telephone enters payee after payee and pays each of them \
            within minutes.",
        source: "ENISA, Threat Landscape: Finance Sector (banking trojans)",
        first: 14,
        days: 2,
        fits: any_date,
        tell: many_payees,
    },
    Kind {
        typology: TYPOLOGY,
        name: "double-submitted",
        what: "A broken client posts the same payment again and again under new ids; the customer is \
            charged each time.",
        source: "general knowledge: payments sent again after a timeout without an idempotency key",
        first: 0,
        days: 2,
        fits: any_date,
        tell: double_submitted,
    },
    Kind {
        typology: TYPOLOGY,
        name: "night-burst",
        what: "While the holder sleeps, somebody buys gift cards and electronics with the card stored \
            in the holder's account.",
        source: "European Central Bank, Report on card fraud (card not present)",
        first: 14,
        days: 2,
        fits: any_date,
        tell: night_burst,
    },
];

fn emptied_account(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|_| true)?;
    let device = scene.device("browser");
    let kind = scene.one_of(&["residential", "residential", "vpn", "mobile"])?;
    let session = from(&device, scene.ip(), victim.country, kind);
    let mules = scene.accounts(2, 5);
    let mut left = victim.monthly_income * scene.between(1.0, 2.4);
    let payments = scene.count(9, 18);
    let begin = scene.at(victim.country, 0, (8, 22));
    let mut at = begin + scene.minutes(4, 15);
    for number in 0..payments {
        let share = left / f64::from(payments - number);
        let value = neat(share * scene.between(0.5, 1.4), victim.currency);
        let to = scene.one_of(&mules)?;
        scene.pay(transfer(victim, &payee_added(&session, begin, at), &to, at, value, "transfer"));
        left = (left - value).max(share);
        // The fifth payment in a row from a new device: most of the money is still there.
        if number == 4 {
            scene.stop_here();
        }
        at += scene.seconds(30, 420);
    }
    Some(())
}

fn patient_emptying(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|_| true)?;
    let device = scene.device("phone");
    let session = from(&device, scene.ip(), victim.country, "residential");
    let mules = scene.accounts(2, 3);
    let begin = scene.at(victim.country, 0, (8, 11));
    for day in 0..scene.count(3, 4) {
        let mut at = scene.at(victim.country, day, (12, 14));
        for _ in 0..scene.count(3, 4) {
            let value = neat(victim.monthly_income * scene.between(0.08, 0.2), victim.currency);
            let to = scene.one_of(&mules)?;
            scene.pay(transfer(victim, &payee_added(&session, begin, at), &to, at, value, "thanks"));
            at += scene.minutes(20, 170);
        }
        // The end of the second day: half of the money is gone, and the pace is plain.
        if day == 1 {
            scene.stop_here();
        }
    }
    Some(())
}

fn scripted_burst(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|_| true)?;
    let device = scene.device("browser");
    let kind = scene.one_of(&["hosting", "hosting", "proxy"])?;
    let session = from(&device, scene.ip(), victim.country, kind);
    let mules = scene.accounts(1, 2);
    let base = scene.between(15.0, 60.0) * level(victim.currency);
    let begin = scene.at(victim.country, 0, (0, 24));
    let mut at = begin;
    for number in 0..scene.count(22, 48) {
        let value = neat(base * scene.between(0.9, 1.1), victim.currency);
        let to = scene.one_of(&mules)?;
        scene.pay(transfer(victim, &payee_added(&session, begin, at), &to, at, value, "top up"));
        // The tenth within a minute or so: no human types as fast.
        if number == 9 {
            scene.stop_here();
        }
        at += scene.seconds(1, 9);
    }
    Some(())
}

fn many_payees(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|_| true)?;
    let session = own(victim)?;
    let mut at = scene.at(victim.country, 0, (7, 23));
    for number in 0..scene.count(7, 13) {
        let added = at;
        at += scene.seconds(25, 150);
        let value = neat(victim.monthly_income * scene.between(0.05, 0.16), victim.currency);
        let to = scene.account();
        scene.pay(transfer(victim, &payee_added(&session, added, at), &to, at, value, "payment"));
        // The fourth new payee within ten minutes.
        if number == 3 {
            scene.stop_here();
        }
    }
    Some(())
}

fn double_submitted(scene: &mut Scene<'_>) -> Option<()> {
    let customer = scene.victim(|_| true)?;
    let merchant = scene.online_merchant(|merchant| merchant.currency == customer.currency);
    let mut at = scene.at(customer.country, 0, (8, 22));
    let to = scene.account();
    let session = own(customer)?;
    let risk = scene.count(2, 20);
    let checkout = order(customer, "clothing", u8::try_from(risk).ok()?);
    let card = customer.cards.first()?.clone();
    let payer = Payer { holder: Some(customer), account: customer.account.clone(), card };
    let by_card = scene.chance(0.6);
    let euros = scene.between(18.0, 240.0);
    // A client that gives up after seconds, or a queue that is worked off a second time after minutes.
    let (least, most) = if scene.chance(0.6) { (2, 30) } else { (100, 400) };
    for number in 0..scene.count(2, 4) {
        if let Some(merchant) = merchant.filter(|_| by_card) {
            let value = euros / 150.0 * merchant.declared_average_ticket;
            scene.pay(sale_online(&payer, merchant, &checkout, at, value));
        } else {
            let value = neat(euros * level(customer.currency), customer.currency);
            scene.pay(transfer(customer, &session, &to, at, value, "order"));
        }
        // The second submission is already a charge too many.
        if number == 1 {
            scene.stop_here();
        }
        at += scene.seconds(least, most);
    }
    Some(())
}

fn night_burst(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|_| true)?;
    let card = victim.cards.first()?.clone();
    let payer = Payer { holder: Some(victim), account: victim.account.clone(), card };
    let shops = [
        scene.shop("5732", victim.country, 900, 160.0),
        scene.shop("5947", victim.country, 1_400, 45.0),
        scene.shop("5816", victim.country, 700, 30.0),
    ];
    let device = scene.device("browser");
    let kind = scene.one_of(&["residential", "vpn", "mobile"])?;
    let checkout = scene.strange_order(victim.country, victim.country, kind, "gift_card", (30, 75));
    let checkout = crate::context::Checkout { email: victim.email.clone(), ..checkout };
    let mut at = scene.at(victim.country, 0, (1, 4));
    for number in 0..scene.count(6, 11) {
        let merchant = scene.one_of(&shops)?;
        let value = neat(scene.between(50.0, 260.0) * level(victim.currency), victim.currency);
        let declined = number > 5 && scene.chance(0.4);
        scene.pay(sale_online(&payer, &merchant, &checkout, at, value).on(&device).declined_if(declined));
        // The fourth order of the night, by somebody who never orders at night.
        if number == 3 {
            scene.stop_here();
        }
        at += scene.seconds(60, 700);
    }
    Some(())
}
