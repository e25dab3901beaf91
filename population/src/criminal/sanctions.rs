//! Listed parties, wallets and countries, and messages that hide them.

use super::draft::{crypto, crypto_in, incoming, transfer, wire, wire_in};
use super::kind::{Kind, any_date};
use super::money::{level, neat};
use super::people::Profile;
use super::scene::Scene;
use super::session::{own, payee_added};
use crate::Customer;
use crate::context::Wire;

const TYPOLOGY: &str = "sanctions";

pub(super) static KINDS: [Kind; 6] = [
    Kind {
        typology: TYPOLOGY,
        name: "listed-party",
        what: "A customer pays a listed party, or is paid by one.",
        source: "European Union, Best Practices for the effective implementation of restrictive measures",
        first: 7,
        days: 3,
        fits: any_date,
        tell: listed_party,
    },
    Kind {
        typology: TYPOLOGY,
        name: "listed-wallet",
        what: "A payment in crypto assets goes to a listed wallet, at once or after payments to a clean one.",
        source: "OFAC, Sanctions Compliance Guidance for the Virtual Currency Industry",
        first: 7,
        days: 5,
        fits: any_date,
        tell: listed_wallet,
    },
    Kind {
        typology: TYPOLOGY,
        name: "funded-by-listed",
        what: "Crypto assets come from, or go to, a clean wallet that a listed one filled.",
        source: "FATF, Virtual Assets: Red Flag Indicators of Money Laundering and Terrorist Financing",
        first: 7,
        days: 3,
        fits: any_date,
        tell: funded_by_listed,
    },
    Kind {
        typology: TYPOLOGY,
        name: "stripped-originator",
        what: "A wire arrives whose originator was taken out of the message.",
        source: "Wolfsberg Group, Payment Transparency Standards",
        first: 7,
        days: 3,
        fits: any_date,
        tell: stripped_originator,
    },
    Kind {
        typology: TYPOLOGY,
        name: "high-risk-unchecked",
        what: "Money goes to a country of the FATF's list of high risk without the enhanced checks.",
        source: "FATF, High-Risk Jurisdictions subject to a Call for Action",
        first: 7,
        days: 6,
        fits: any_date,
        tell: high_risk_unchecked,
    },
    Kind {
        typology: TYPOLOGY,
        name: "hidden-bank",
        what: "An arriving wire names its bank by an identifier that is none, and leaves out or blurs \
            who pays.",
        source: "Wolfsberg Group, Payment Transparency Standards",
        first: 7,
        days: 3,
        fits: any_date,
        tell: hidden_bank,
    },
];

const LISTED_ACCOUNTS: [&str; 3] = ["acct-sanctioned-001", "acct-sanctioned-002", "acct-sanctioned-003"];
const LISTED_WALLETS: [&str; 2] =
    ["0x00000000000000000000000000000000deadbeef", "0x00000000000000000000000000000000feedface"];
const HIGH_RISK: [&str; 4] = ["IR", "MM", "MM", "KP"];

/// Returns a trader, whose payments are larger than those of a household.
fn trader(scene: &mut Scene<'_>) -> Option<Customer> {
    let profile = Profile {
        country: scene.one_of(&["DE", "FR", "NL", "ES", "IE", "GB"])?,
        age: scene.count(28, 64),
        open: scene.count(150, 2_500),
        tier: 3,
        income: scene.between(2_500.0, 9_000.0),
    };
    Some(scene.person(&profile))
}

fn listed_party(scene: &mut Scene<'_>) -> Option<()> {
    let customer = match scene.victim(|_| true).cloned().filter(|_| scene.chance(0.5)) {
        Some(customer) => customer,
        None => trader(scene)?,
    };
    let listed = scene.one_of(&LISTED_ACCOUNTS)?;
    let arrives = scene.chance(0.35);
    let text = scene.one_of(&["invoice", "freight", "family support", "spare parts"])?;
    for number in 0..scene.count(1, 2) {
        let at = scene.at(customer.country, number, (8, 19));
        let value = neat(scene.between(80.0, 6_500.0) * level(customer.currency), customer.currency);
        if arrives {
            scene.pay(incoming("transfer", listed, &customer, at, value, text));
        } else {
            let session = payee_added(&own(&customer)?, at - scene.minutes(3, 900), at);
            scene.pay(transfer(&customer, &session, listed, at, value, text));
        }
        // The law knows no tolerance: the first payment.
        if number == 0 {
            scene.stop_here();
        }
    }
    Some(())
}

fn wallet(scene: &mut Scene<'_>) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digits: String = (0..40).filter_map(|_| scene.one_of(&DIGITS)).collect();
    format!("0x{digits}")
}

fn listed_wallet(scene: &mut Scene<'_>) -> Option<()> {
    let customer = trader(scene)?;
    let exchange = scene.account();
    let clean = wallet(scene);
    let before = scene.count(0, 2);
    for day in 0..before {
        let at = scene.at(customer.country, day, (9, 22));
        let value = neat(scene.between(60.0, 700.0) * level(customer.currency), customer.currency);
        scene.pay(crypto(&customer, &own(&customer)?, &exchange, (&clean, None), at, value));
    }
    let listed = scene.one_of(&LISTED_WALLETS)?;
    let at = scene.at(customer.country, before, (9, 22));
    let value = neat(scene.between(150.0, 4_800.0) * level(customer.currency), customer.currency);
    scene.pay(crypto(&customer, &own(&customer)?, &exchange, (listed, None), at, value));
    // The payment to the listed wallet itself; those before it were clean.
    scene.stop_here();
    Some(())
}

fn funded_by_listed(scene: &mut Scene<'_>) -> Option<()> {
    let customer = trader(scene)?;
    let (wallet, exchange) = (wallet(scene), scene.account());
    let listed = scene.one_of(&LISTED_WALLETS)?;
    let arrives = scene.chance(0.5);
    for number in 0..scene.count(1, 2) {
        let at = scene.at(customer.country, number, (8, 23));
        let value = neat(scene.between(200.0, 7_500.0) * level(customer.currency), customer.currency);
        let wallets = (wallet.as_str(), Some(listed));
        scene.pay(if arrives {
            crypto_in(wallets, &exchange, &customer, at, value)
        } else {
            crypto(&customer, &own(&customer)?, &exchange, wallets, at, value)
        });
        // The first payment: where the wallet was filled from is known at once.
        if number == 0 {
            scene.stop_here();
        }
    }
    Some(())
}

/// Adds one or two wires that arrive for a trader, the first of which should be stopped.
fn wires(scene: &mut Scene<'_>, message: &Wire<'_>, sums: (f64, f64)) -> Option<()> {
    let receiver = trader(scene)?;
    let from = scene.account();
    let text = scene.one_of(&["invoice", "services", "goods", "contract"])?;
    for number in 0..scene.count(1, 2) {
        let at = scene.at(receiver.country, number, (8, 17));
        let value = neat(scene.between(sums.0, sums.1) * level(receiver.currency), receiver.currency);
        scene.pay(wire_in(message, &from, &receiver, at, value, text));
        // The first wire: what is missing in the message is missing from the start.
        if number == 0 {
            scene.stop_here();
        }
    }
    Some(())
}

fn stripped_originator(scene: &mut Scene<'_>) -> Option<()> {
    let country = scene.one_of(&["AE", "TR", "HK", "CY", "DE"])?;
    let message = Wire {
        originator_name: scene.one_of(&["", "ONE OF OUR CLIENTS", "OUR CUSTOMER", "-", "UNKNOWN", "N/A"])?,
        originator_country: scene.one_of(&["AE", "TR", "CY", "GB"])?,
        counterparty_country: country,
        bank_identifier: &scene.bank(country),
        enhanced_checks_done: false,
    };
    wires(scene, &message, (3_000.0, 42_000.0))
}

fn high_risk_unchecked(scene: &mut Scene<'_>) -> Option<()> {
    let customer = match scene.victim(|_| true).cloned().filter(|_| scene.chance(0.3)) {
        Some(customer) => customer,
        None => trader(scene)?,
    };
    let country = scene.one_of(&HIGH_RISK)?;
    let message = Wire {
        originator_name: scene.one_of(&["A. Lindner", "M. Haddad", "S. Okafor", "Brandt Trading"])?,
        originator_country: customer.country,
        counterparty_country: country,
        bank_identifier: &scene.bank(country),
        enhanced_checks_done: false,
    };
    let to = scene.account();
    for number in 0..scene.count(1, 3) {
        let at = scene.at(customer.country, number, (8, 18));
        let value = neat(scene.between(300.0, 8_500.0) * level(customer.currency), customer.currency);
        scene.pay(wire(&customer, &own(&customer)?, &message, &to, at, value));
        // The first: enhanced checks come before the first payment.
        if number == 0 {
            scene.stop_here();
        }
    }
    Some(())
}

fn hidden_bank(scene: &mut Scene<'_>) -> Option<()> {
    let (hides, name) = (scene.one_of(&HIGH_RISK)?, scene.token(3).to_uppercase());
    // Too short, the country left out, a number instead of letters, or lower case.
    let bank = match scene.count(0, 3) {
        0 => format!("{name}{hides}"),
        1 => format!("{name}X0022"),
        2 => format!("{name}7{hides}22XX"),
        _ => format!("{}{}22", name.to_lowercase(), hides.to_lowercase()),
    };
    let blurred = scene.chance(0.6);
    let message = Wire {
        originator_name: if blurred {
            scene.one_of(&["", "CLIENT", "OUR CUSTOMER"])?
        } else {
            "Arvand General"
        },
        originator_country: if blurred { "AE" } else { hides },
        counterparty_country: scene.one_of(&["AE", "TR", "DE"])?,
        bank_identifier: &bank,
        enhanced_checks_done: false,
    };
    wires(scene, &message, (2_500.0, 28_000.0))
}
