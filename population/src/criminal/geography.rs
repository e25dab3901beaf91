//! Places that do not go together.

use super::draft::{Payer, sale_in_shop, sale_online, transfer};
use super::kind::{Kind, any_date};
use super::money::{level, neat};
use super::scene::Scene;
use super::session::{from, order, payee_added};
use crate::context::{Checkout, Session};

const TYPOLOGY: &str = "geography";

pub(super) static KINDS: [Kind; 5] = [
    Kind {
        typology: TYPOLOGY,
        name: "two-countries",
        what: "A counterfeit card is used on another continent within an hour of a purchase by its \
            holder at home.",
        source: "European Central Bank, Report on card fraud (counterfeit cards)",
        first: 14,
        days: 2,
        fits: any_date,
        tell: two_countries,
    },
    Kind {
        typology: TYPOLOGY,
        name: "three-countries-by-proxy",
        what: "A shared login is used from three or more countries within a day, through proxies.",
        source: "Europol, Internet Organised Crime Threat Assessment (IOCTA)",
        first: 14,
        days: 2,
        fits: any_date,
        tell: three_countries_by_proxy,
    },
    Kind {
        typology: TYPOLOGY,
        name: "foreign-address",
        what: "A stolen card is used from an address in another country, and the acquirer gives the \
            order a high risk.",
        source: "European Central Bank, Report on card fraud (card not present)",
        first: 0,
        days: 2,
        fits: any_date,
        tell: foreign_address,
    },
    Kind {
        typology: TYPOLOGY,
        name: "reshipping",
        what: "Goods bought with stolen cards are sent on to a country that shops do not deliver to.",
        source: "FBI Internet Crime Complaint Center, annual Internet Crime Report (reshipping)",
        first: 0,
        days: 5,
        fits: any_date,
        tell: reshipping,
    },
    Kind {
        typology: TYPOLOGY,
        name: "hidden-network",
        what: "Somebody behind Tor or a VPN, on a device never seen before, pays a new payee.",
        source: "FinCEN, Advisory FIN-2016-A005 (cyber-events and cyber-enabled crime)",
        first: 14,
        days: 2,
        fits: any_date,
        tell: hidden_network,
    },
];

fn two_countries(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|_| true)?;
    let card = victim.cards.first()?;
    let far: Vec<_> = ["US", "JP", "NG", "KW"].into_iter().filter(|far| *far != victim.country).collect();
    let far = scene.one_of(&far)?;
    let ours = scene.shop("5411", victim.country, 2_200, 30.0);
    let bought = scene.at(victim.country, 0, (10, 20));
    let value = scene.between(9.0, 70.0) * level(ours.currency);
    scene.before(sale_in_shop(victim, card, &ours, bought, value));
    let shops = [scene.shop("5732", far, 1_500, 230.0), scene.shop("5311", far, 3_000, 60.0)];
    let mut at = bought + scene.minutes(12, 58);
    for number in 0..scene.count(2, 4) {
        let shop = scene.one_of(&shops)?;
        let value = neat(scene.between(60.0, 750.0) * level(shop.currency), shop.currency);
        scene.pay(sale_in_shop(victim, card, &shop, at, value));
        // The second sale abroad: the card cannot have travelled.
        if number == 1 {
            scene.stop_here();
        }
        at += scene.minutes(4, 35);
    }
    Some(())
}

fn three_countries_by_proxy(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|_| true)?;
    let device = scene.device("browser");
    let to = scene.accounts(2, 3);
    let all = ["NL", "RO", "US", "BR", "SG", "PL", "GB", "TR"];
    let away: Vec<_> = all.into_iter().filter(|country| *country != victim.country).collect();
    let begin = scene.at(victim.country, 0, (6, 9));
    let mut at = begin + scene.minutes(2, 15);
    let first = scene.count(0, 3);
    let several = away.into_iter().skip(usize::try_from(first).ok()?).take(4);
    for (number, country) in several.enumerate() {
        let kind = scene.one_of(&["proxy", "vpn", "residential", "hosting"])?;
        let session = from(&device, scene.ip(), country, kind);
        let value = neat(scene.between(90.0, 480.0) * level(victim.currency), victim.currency);
        let to = scene.one_of(&to)?;
        scene.pay(transfer(victim, &payee_added(&session, begin, at), &to, at, value, "transfer"));
        // The third country of the day; two may be a journey.
        if number == 2 {
            scene.stop_here();
        }
        at += scene.minutes(50, 230);
    }
    Some(())
}

fn foreign_address(scene: &mut Scene<'_>) -> Option<()> {
    let country = scene.one_of(&["DE", "FR", "NL", "ES", "GB", "US"])?;
    let payer = scene.strangers_card(country);
    let merchant = scene
        .online_merchant(|merchant| merchant.declared_average_ticket > 8.0 * level(merchant.currency))?;
    let from = scene.one_of(&["VN", "BR", "RO", "ID", "NG", "UA"])?;
    let kind = scene.one_of(&["residential", "hosting", "proxy"])?;
    let goods = scene.one_of(&["electronics", "clothing", "phone", "gift_card"])?;
    let checkout = scene.strange_order(country, from, kind, goods, (72, 97));
    let device = scene.device("browser");
    let mut at = scene.at(merchant.country, 0, (0, 24));
    for number in 0..scene.count(2, 4) {
        let value = merchant.declared_average_ticket * scene.between(0.9, 3.5);
        let declined = number > 0 && scene.chance(0.25);
        scene.pay(sale_online(&payer, merchant, &checkout, at, value).on(&device).declined_if(declined));
        // The second order: the acquirer's score said so at the first.
        if number == 1 {
            scene.stop_here();
        }
        at += scene.minutes(2, 40);
    }
    Some(())
}

fn reshipping(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|_| true)?;
    let card = victim.cards.first()?.clone();
    let payer =
        Payer { holder: Some(victim).filter(|_| scene.chance(0.6)), account: victim.account.clone(), card };
    let shop = scene.shop("5732", victim.country, 1_600, 210.0);
    let to = scene.one_of(&["MM", "IR", "MM"])?;
    let kind = scene.one_of(&["residential", "vpn"])?;
    let risk = u8::try_from(scene.count(25, 80)).ok()?;
    let device = scene.device("browser");
    for number in 0..scene.count(2, 4) {
        let at = scene.at(victim.country, number, (9, 23));
        let goods = scene.one_of(&["electronics", "phone", "clothing", "jewellery"])?;
        let checkout = Checkout {
            ip: scene.ip(),
            ip_type: kind,
            device: None,
            email: scene.email(),
            three_ds: "none",
            shipping_country: Some(to),
            ..order(victim, goods, risk)
        };
        let value = neat(scene.between(140.0, 900.0) * level(shop.currency), shop.currency);
        scene.pay(sale_online(&payer, &shop, &checkout, at, value).on(&device));
        // The second parcel; each one names the country.
        if number == 1 {
            scene.stop_here();
        }
    }
    Some(())
}

fn hidden_network(scene: &mut Scene<'_>) -> Option<()> {
    let victim = scene.victim(|_| true)?;
    let device = scene.device("browser");
    let kind = scene.one_of(&["tor", "tor", "vpn", "proxy"])?;
    let country = if kind == "tor" { scene.one_of(&["NL", "RO", "SE"])? } else { victim.country };
    let session = Session { mfa: scene.chance(0.3), ..from(&device, scene.ip(), country, kind) };
    let to = scene.account();
    let begin = scene.at(victim.country, 0, (0, 24));
    let mut at = begin + scene.minutes(1, 12);
    for number in 0..scene.count(1, 3) {
        let value = neat(victim.monthly_income * scene.between(0.28, 0.8), victim.currency);
        scene.pay(transfer(victim, &payee_added(&session, begin, at), &to, at, value, "invoice"));
        // The first: network, device and payee are all new.
        if number == 0 {
            scene.stop_here();
        }
        at += scene.minutes(4, 90);
    }
    Some(())
}
