//! Stolen card numbers tried out.

use super::draft::{Payer, sale_online};
use super::kind::{Kind, any_date};
use super::money::{level, neat};
use super::scene::Scene;
use super::session::order;
use crate::Merchant;
use crate::context::Checkout;

const TYPOLOGY: &str = "card_testing";

pub(super) static KINDS: [Kind; 6] = [
    Kind {
        typology: TYPOLOGY,
        name: "enumeration",
        what: "A bot tries numbers of one BIN range at one merchant, seconds apart; nearly all are declined.",
        source: "Visa, Anti-Enumeration and Account Testing Best Practices for Merchants",
        first: 0,
        days: 2,
        fits: any_date,
        tell: enumeration,
    },
    Kind {
        typology: TYPOLOGY,
        name: "one-address-many-cards",
        what: "A person tries a bought list of cards by hand at two or three shops, from one address \
            on the internet.",
        source: "OWASP, Automated Threats to Web Applications: OAT-001 carding",
        first: 0,
        days: 2,
        fits: any_date,
        tell: one_address_many_cards,
    },
    Kind {
        typology: TYPOLOGY,
        name: "charity",
        what: "Small donations at a charity find out which stolen cards are alive; address and email \
            change each time.",
        source: "Visa, Anti-Enumeration and Account Testing Best Practices for Merchants",
        first: 0,
        days: 2,
        fits: any_date,
        tell: charity,
    },
    Kind {
        typology: TYPOLOGY,
        name: "tiny-then-large",
        what: "A card is tried with a charge of about one euro, then charged with something expensive.",
        source: "OWASP, Automated Threats to Web Applications: OAT-001 carding",
        first: 14,
        days: 3,
        fits: any_date,
        tell: tiny_then_large,
    },
    Kind {
        typology: TYPOLOGY,
        name: "made-up-email",
        what: "Many cards are charged in orders that all carry one made-up email address, from \
            changing addresses.",
        source: "Visa, Anti-Enumeration and Account Testing Best Practices for Merchants",
        first: 0,
        days: 2,
        fits: any_date,
        tell: made_up_email,
    },
    Kind {
        typology: TYPOLOGY,
        name: "hammered-card",
        what: "A bot charges one card again and again to guess its expiry date and security code.",
        source: "OWASP, Automated Threats to Web Applications: OAT-010 card cracking",
        first: 0,
        days: 2,
        fits: any_date,
        tell: hammered_card,
    },
];

const CARD_COUNTRIES: [&str; 8] = ["DE", "FR", "NL", "ES", "IE", "GB", "US", "BR"];

/// Returns a merchant that sells over the internet in an ordinary size.
fn target<'a>(scene: &mut Scene<'a>) -> Option<&'a Merchant> {
    scene.online_merchant(|merchant| merchant.declared_average_ticket < 150.0 * level(merchant.currency))
}

fn enumeration(scene: &mut Scene<'_>) -> Option<()> {
    let merchant = target(scene)?;
    let bin = scene.bin();
    let country = scene.one_of(&CARD_COUNTRIES)?;
    let (ip, rotating) = (scene.ip(), scene.chance(0.5));
    let mut at = scene.at(merchant.country, 0, (0, 24));
    for number in 0..scene.count(32, 60) {
        let card = scene.card_of(&bin, country);
        let payer = Payer { holder: None, account: scene.account(), card };
        let mut checkout = scene.strange_order(country, "US", "hosting", "digital", (30, 90));
        if !rotating {
            checkout.ip.clone_from(&ip);
        }
        let value = scene.between(0.5, 2.5) * level(merchant.currency);
        let declined = scene.chance(0.9);
        scene.pay(sale_online(&payer, merchant, &checkout, at, value).declined_if(declined));
        // The fifteenth number of one range within a minute or two.
        if number == 14 {
            scene.stop_here();
        }
        at += scene.seconds(1, 8);
    }
    Some(())
}

fn one_address_many_cards(scene: &mut Scene<'_>) -> Option<()> {
    let shops = [target(scene)?, target(scene)?, target(scene)?];
    let (ip, device) = (scene.ip(), scene.device("browser"));
    let kind = scene.one_of(&["residential", "residential", "vpn", "mobile"])?;
    let mut at = scene.at("DE", 0, (9, 23));
    for number in 0..scene.count(11, 22) {
        let merchant = scene.one_of(&shops)?;
        let country = scene.one_of(&CARD_COUNTRIES)?;
        let payer = scene.strangers_card(country);
        let order = scene.strange_order(country, merchant.country, kind, "digital", (15, 70));
        let checkout = Checkout { ip: ip.clone(), ..order };
        let value = merchant.declared_average_ticket * scene.between(0.1, 0.6);
        let declined = scene.chance(0.6);
        scene.pay(sale_online(&payer, merchant, &checkout, at, value).on(&device).declined_if(declined));
        // The sixth card from one address; a household has two or three.
        if number == 5 {
            scene.stop_here();
        }
        at += scene.seconds(40, 240);
    }
    Some(())
}

fn charity(scene: &mut Scene<'_>) -> Option<()> {
    let charity = match scene.merchant(|merchant| merchant.mcc == "8398") {
        Some(charity) => charity.clone(),
        None => scene.shop("8398", "DE", 1_800, 35.0),
    };
    let mut at = scene.at(charity.country, 0, (6, 20));
    for number in 0..scene.count(15, 28) {
        let country = scene.one_of(&CARD_COUNTRIES)?;
        let payer = scene.strangers_card(country);
        let kind = scene.one_of(&["residential", "proxy", "mobile"])?;
        let checkout = scene.strange_order(country, country, kind, "donation", (10, 60));
        let value = f64::from(scene.count(1, 5)) * neat(level(charity.currency), charity.currency);
        let declined = scene.chance(0.55);
        scene.pay(sale_online(&payer, &charity, &checkout, at, value).declined_if(declined));
        // The tenth tiny donation by a stranger, half of them declined.
        if number == 9 {
            scene.stop_here();
        }
        at += scene.seconds(45, 500);
    }
    Some(())
}

fn tiny_then_large(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|_| true)?;
    let payer =
        Payer { holder: Some(victim), account: victim.account.clone(), card: scene.one_of(&victim.cards)? };
    let ip_country =
        if scene.chance(0.6) { victim.country } else { scene.one_of(&["US", "GB", "RO", "VN"])? };
    let kind = scene.one_of(&["residential", "proxy", "vpn"])?;
    let first = scene.strange_order(victim.country, ip_country, kind, "digital", (10, 55));
    let trial = scene.shop("5816", victim.country, 1_100, 9.0);
    let mut at = scene.at(victim.country, 0, (0, 24));
    let tiny = scene.between(0.5, 1.6) * level(victim.currency);
    let device = scene.device("browser");
    scene.pay(sale_online(&payer, &trial, &first, at, tiny).on(&device));
    let shop = scene.shop("5732", victim.country, 1_300, 240.0);
    at += if scene.chance(0.6) { scene.minutes(6, 110) } else { scene.minutes(600, 1_300) };
    for number in 0..scene.count(1, 3) {
        let goods = scene.one_of(&["electronics", "phone", "jewellery"])?;
        let checkout = Checkout { goods, shipping_country: Some(victim.country), ..first.clone() };
        let value = neat(scene.between(380.0, 1_400.0) * level(victim.currency), victim.currency);
        scene.pay(sale_online(&payer, &shop, &checkout, at, value).on(&device));
        // The first large charge: the trial before it cost next to nothing.
        if number == 0 {
            scene.stop_here();
        }
        at += scene.minutes(3, 40);
    }
    Some(())
}

fn made_up_email(scene: &mut Scene<'_>) -> Option<()> {
    let merchant = target(scene)?;
    let email = scene.email();
    let mut at = scene.at(merchant.country, 0, (7, 20));
    for number in 0..scene.count(8, 15) {
        let country = scene.one_of(&CARD_COUNTRIES)?;
        let payer = scene.strangers_card(country);
        let kind = scene.one_of(&["residential", "proxy", "mobile"])?;
        let order = scene.strange_order(country, country, kind, "clothing", (15, 65));
        let checkout = Checkout { email: email.clone(), ..order };
        let value = merchant.declared_average_ticket * scene.between(0.2, 0.9);
        let declined = scene.chance(0.5);
        scene.pay(sale_online(&payer, merchant, &checkout, at, value).declined_if(declined));
        // The fifth card under one name.
        if number == 4 {
            scene.stop_here();
        }
        at += scene.minutes(4, 28);
    }
    Some(())
}

fn hammered_card(scene: &mut Scene<'_>) -> Option<()> {
    let merchant = target(scene)?;
    let victim = scene.victim(|_| true)?;
    let payer = Payer {
        holder: Some(victim).filter(|_| scene.chance(0.5)),
        account: victim.account.clone(),
        card: scene.one_of(&victim.cards)?,
    };
    let kind = scene.one_of(&["hosting", "residential", "proxy"])?;
    let checkout = Checkout {
        email: scene.email(),
        three_ds: "none",
        ip: scene.ip(),
        ip_type: kind,
        device: None,
        ..order(victim, "digital", 35)
    };
    let value = neat(merchant.declared_average_ticket * scene.between(0.2, 0.8), merchant.currency);
    let mut at = scene.at(victim.country, 0, (0, 24));
    let (least, most) = if scene.chance(0.6) { (3, 15) } else { (25, 110) };
    let attempts = scene.count(14, 34);
    for number in 0..attempts {
        let declined = number + 1 < attempts || scene.chance(0.5);
        scene.pay(sale_online(&payer, merchant, &checkout, at, value).declined_if(declined));
        // The seventh try: a person gives up after three or four mistakes.
        if number == 6 {
            scene.stop_here();
        }
        at += scene.seconds(least, most);
    }
    Some(())
}
