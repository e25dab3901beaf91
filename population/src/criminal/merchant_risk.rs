//! Shops that are not what they say.

use super::draft::{Payer, payout, reversal, sale_online};
use super::kind::{Kind, any_date};
use super::money::{level, neat};
use super::past::{customer_of, ordinary_sales};
use super::scene::Scene;
use super::session::order;
use crate::Merchant;

const TYPOLOGY: &str = "merchant_risk";

pub(super) static KINDS: [Kind; 5] = [
    Kind {
        typology: TYPOLOGY,
        name: "bust-out",
        what: "A young shop sells as declared for weeks, then charges many large sums within two days \
            and asks for its payout.",
        source: "Mastercard, Security Rules and Procedures: merchant monitoring",
        first: 7,
        days: 4,
        fits: any_date,
        tell: bust_out,
    },
    Kind {
        typology: TYPOLOGY,
        name: "refund-cash-out",
        what: "A shop refunds to cards that never bought anything there.",
        source: "Association of Certified Fraud Examiners, Fraud Examiners Manual (false refunds)",
        first: 7,
        days: 4,
        fits: any_date,
        tell: refund_cash_out,
    },
    Kind {
        typology: TYPOLOGY,
        name: "stolen-terminal",
        what: "Somebody with a stolen terminal makes large refunds to a card or two, at night.",
        source: "general knowledge: refunds made with stolen or cloned terminals",
        first: 7,
        days: 2,
        fits: any_date,
        tell: stolen_terminal,
    },
    Kind {
        typology: TYPOLOGY,
        name: "chargebacks-before-payout",
        what: "Customers dispute more and more sales of a shop that does not deliver; then it asks for \
            a large payout.",
        source: "Visa, Acquirer Monitoring Program; Mastercard, Excessive Chargeback Program",
        first: 7,
        days: 12,
        fits: any_date,
        tell: chargebacks_before_payout,
    },
    Kind {
        typology: TYPOLOGY,
        name: "transaction-laundering",
        what: "A florist's account takes the money of another business: tickets many times as large as \
            declared.",
        source: "Mastercard, Business Risk Assessment and Mitigation (BRAM) Program",
        first: 7,
        days: 8,
        fits: any_date,
        tell: transaction_laundering,
    },
];

fn bust_out(scene: &mut Scene<'_>) -> Option<()> {
    let country = scene.one_of(&["DE", "FR", "NL", "ES", "GB"])?;
    let open = scene.count(22, 55);
    let merchant = scene.shop("5732", country, open, 48.0);
    ordinary_sales(scene, &merchant, open - 1, (1, 3), false)?;
    let (mut total, mut at) = (0.0, scene.at(country, 0, (8, 12)));
    for _ in 0..scene.count(18, 32) {
        let bin_country = scene.one_of(&["DE", "FR", "US", "GB", "ES"])?;
        let payer = scene.strangers_card(bin_country);
        let kind = scene.one_of(&["residential", "proxy", "hosting"])?;
        let checkout = scene.strange_order(bin_country, country, kind, "electronics", (20, 80));
        let value = merchant.declared_average_ticket * scene.between(4.0, 9.0);
        scene.pay(sale_online(&payer, &merchant, &checkout, at, value));
        total += value;
        at += scene.minutes(8, 75);
    }
    at += scene.minutes(60, 400);
    scene.pay(payout(&merchant, at, total * 0.97));
    // The payout: until then the acquirer holds the money.
    scene.stop_here();
    Some(())
}

fn refund_cash_out(scene: &mut Scene<'_>) -> Option<()> {
    let country = scene.one_of(&["DE", "FR", "NL", "IE"])?;
    let merchant = scene.shop("5651", country, 400, 55.0);
    ordinary_sales(scene, &merchant, 24, (1, 4), false)?;
    let cards = [scene.strangers_card(country), scene.strangers_card(country), scene.strangers_card("RO")];
    let mut number = 0;
    for day in 0..scene.count(1, 3) {
        let mut at = scene.at(country, day, (10, 17));
        for _ in 0..scene.count(3, 4) {
            let payer = scene.one_of(&cards)?;
            let value = neat(merchant.declared_average_ticket * scene.between(2.5, 9.0), merchant.currency);
            scene.pay(reversal("refund", &payer, &merchant, at, value));
            number += 1;
            // The third refund without a sale; one may be for a purchase long ago.
            if number == 3 {
                scene.stop_here();
            }
            at += scene.minutes(6, 80);
        }
    }
    Some(())
}

fn stolen_terminal(scene: &mut Scene<'_>) -> Option<()> {
    let country = scene.one_of(&["DE", "FR", "ES", "GB", "IE"])?;
    let merchant = scene.shop("5812", country, 900, 32.0);
    ordinary_sales(scene, &merchant, 21, (2, 4), true)?;
    let cards = [scene.strangers_card(country), scene.strangers_card(country)];
    let single = scene.chance(0.6);
    let hours = if scene.chance(0.7) { (0, 5) } else { (15, 17) };
    let mut at = scene.at(country, 0, hours);
    for number in 0..scene.count(3, 6) {
        let payer = if single { cards.first()?.clone() } else { scene.one_of(&cards)? };
        let value = neat(scene.between(450.0, 2_000.0) * level(merchant.currency), merchant.currency);
        scene.pay(reversal("refund", &payer, &merchant, at, value));
        // The second refund of many times the usual ticket.
        if number == 1 {
            scene.stop_here();
        }
        at += scene.minutes(1, 9);
    }
    Some(())
}

fn chargebacks_before_payout(scene: &mut Scene<'_>) -> Option<()> {
    let country = scene.one_of(&["DE", "FR", "NL", "ES"])?;
    let open = scene.count(60, 200);
    let merchant = scene.shop("5691", country, open, 70.0);
    ordinary_sales(scene, &merchant, 30, (1, 3), false)?;
    let mut total = 0.0;
    for day in 0..9 {
        for _ in 0..scene.count(0, 2) {
            let buyer = customer_of(scene, &merchant);
            let payer = Payer {
                holder: Some(&buyer),
                account: buyer.account.clone(),
                card: buyer.cards.first()?.clone(),
            };
            let at = scene.at(country, day, (9, 20));
            let value = merchant.declared_average_ticket * scene.between(0.7, 2.0);
            scene.pay(sale_online(&payer, &merchant, &order(&buyer, "clothing", 12), at, value));
            total += value;
        }
        // The disputes come faster and faster.
        for _ in 0..scene.count(u32::from(day > 3), 1 + u32::from(day > 5)) {
            dispute(scene, &merchant, day);
        }
    }
    let at = scene.at(country, 10, (9, 15));
    let value = total.max(merchant.declared_average_ticket * 8.0) * scene.between(1.1, 2.4);
    scene.pay(payout(&merchant, at, value));
    // The payout: afterwards nobody is left who could pay the disputes.
    scene.stop_here();
    Some(())
}

fn dispute(scene: &mut Scene<'_>, merchant: &Merchant, day: u32) {
    let payer = scene.strangers_card(merchant.country);
    let at = scene.at(merchant.country, day, (6, 20));
    let value = merchant.declared_average_ticket * scene.between(0.7, 1.9);
    scene.pay(reversal("chargeback", &payer, merchant, at, value));
}

fn transaction_laundering(scene: &mut Scene<'_>) -> Option<()> {
    let country = scene.one_of(&["DE", "FR", "NL", "IE", "ES"])?;
    let open = scene.count(40, 160);
    let merchant = scene.shop("5992", country, open, 27.0);
    ordinary_sales(scene, &merchant, 20, (1, 3), false)?;
    let mut number = 0;
    for day in 0..scene.count(5, 6) {
        for _ in 0..scene.count(4, 7) {
            let bin_country = scene.one_of(&["DE", "FR", "NL", "US", "GB"])?;
            let payer = scene.strangers_card(bin_country);
            let checkout = scene.strange_order(bin_country, bin_country, "residential", "digital", (5, 45));
            let at = scene.at(country, day, (10, 24));
            let value = (scene.between(140.0, 430.0) * level(merchant.currency)).round();
            scene.pay(sale_online(&payer, &merchant, &checkout, at, value));
            number += 1;
        }
        // The end of the second day: a dozen tickets of ten times the declared size.
        if day == 1 && number > 0 {
            scene.stop_here();
        }
    }
    Some(())
}
