//! Tests of the honest population as a whole.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::{Outcome, decimals};

const SEED: u64 = 7;
const CUSTOMERS: usize = 150;
const DAYS: u32 = 75;

fn start() -> DateTime<Utc> {
    NaiveDate::from_ymd_opt(2026, 9, 14).unwrap().and_hms_opt(0, 0, 0).unwrap().and_utc()
}

fn people() -> Cast {
    cast(SEED, CUSTOMERS, start().date_naive())
}

fn all() -> Vec<Payment> {
    let cast = people();
    (0..DAYS).flat_map(|number| day(&cast, SEED, start(), number)).collect()
}

fn share(payments: &[Payment], some: impl Fn(&Payment) -> bool) -> f64 {
    let some = payments.iter().filter(|payment| some(payment)).count();
    f64::from(u32::try_from(some).unwrap()) / f64::from(u32::try_from(payments.len()).unwrap())
}

fn text<'p>(payment: &'p Payment, field: &str) -> &'p str {
    payment.metadata.get(field).and_then(|value| value.as_str()).unwrap_or_default()
}

fn sales() -> Vec<Payment> {
    all().into_iter().filter(|payment| text(payment, "type") == "sale").collect()
}

#[test]
fn the_same_seed_gives_the_same_day_whatever_else_was_made() {
    let cast = people();
    let _ = day(&cast, SEED, start(), 3);
    assert_eq!(day(&cast, SEED, start(), 40), day(&people(), SEED, start(), 40));
    assert_eq!(before(&cast, SEED, start()), before(&people(), SEED, start()));
    assert_ne!(day(&cast, SEED, start(), 40), day(&cast, SEED + 1, start(), 40));
}

#[test]
fn ids_are_unique_and_days_are_in_order() {
    let cast = people();
    let mut ids = BTreeSet::new();
    for payment in before(&cast, SEED, start()) {
        assert!(payment.created_at < start());
        assert!(ids.insert(payment.id));
    }
    for number in (0..DAYS).chain(200..205) {
        let payments = day(&cast, SEED, start(), number);
        let from = start() + TimeDelta::days(i64::from(number));
        assert!(payments.is_sorted_by_key(|payment| payment.created_at));
        for payment in payments {
            assert!(payment.created_at >= from && payment.created_at < from + TimeDelta::days(1));
            assert_eq!(payment.amount.decimals, decimals(payment.currency));
            assert!(ids.insert(payment.id.clone()), "{payment:?}");
        }
    }
}

#[test]
fn people_pay_about_three_times_a_day() {
    let payments = all();
    let rate = f64::from(u32::try_from(payments.len()).unwrap()) / 150.0 / 75.0;
    assert!((2.2..3.6).contains(&rate), "{rate}");
    let refused = share(&sales(), |payment| payment.outcome != Outcome::Applied);
    assert!((0.015..0.035).contains(&refused), "{refused}");
    let abroad = share(&sales(), |payment| {
        payment
            .metadata
            .get("terminal_country")
            .is_some_and(|country| *country != payment.metadata["card_country"])
    });
    assert!((0.015..0.07).contains(&abroad), "{abroad}");
}

#[test]
fn some_customers_are_new_and_pay_nothing_before_they_are() {
    let cast = people();
    let new = cast.customers.iter().filter(|customer| customer.opened_on >= start().date_naive());
    let new: BTreeMap<&str, NaiveDate> =
        new.map(|customer| (customer.account.as_str(), customer.opened_on)).collect();
    assert!((12..=15).contains(&new.len()), "{}", new.len());
    for payment in all() {
        for account in [payment.source, payment.destination].into_iter().flatten() {
            let opened = new.get(account.as_str());
            assert!(
                opened.is_none_or(|opened| payment.created_at.date_naive() >= *opened),
                "{}",
                payment.description
            );
        }
    }
}

#[test]
fn customers_spend_little_more_than_their_income_and_savings() {
    let cast = people();
    let payments = all();
    let mut over = Vec::new();
    for customer in &cast.customers {
        let own = |payment: &&Payment| {
            payment.source.as_ref() == Some(&customer.account)
                && payment.currency == customer.currency
                && payment.outcome == Outcome::Applied
        };
        let spent: f64 = payments.iter().filter(own).map(|payment| payment.amount.value()).sum();
        let received = payments.iter().filter(|payment| {
            payment.destination.as_ref() == Some(&customer.account) && payment.currency == customer.currency
        });
        let received: f64 = received.map(|payment| payment.amount.value()).sum();
        // What exceeds the money that came in is taken out of what the account held: some months of income.
        if spent > received + customer.monthly_income * 3.0 {
            over.push((&customer.account, customer.country, customer.monthly_income, spent, received));
        }
    }
    // Some have an older account full of savings, opened for one purchase.
    assert!(over.len() <= 2, "{over:#?}");
}

#[test]
fn every_habit_occurs() {
    let mut texts = BTreeSet::new();
    for payment in all() {
        texts.insert(payment.description);
    }
    let missing: Vec<&&str> =
        HABITS.iter().filter(|habit| !texts.iter().any(|text| text.contains(**habit))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn small_and_large_populations_work() {
    for n_customers in [20, 1_000] {
        let cast = cast(SEED, n_customers, start().date_naive());
        let n_payments = day(&cast, SEED, start(), 30).len();
        assert!(n_payments > n_customers && n_payments < n_customers * 7, "{n_customers}: {n_payments}");
    }
    assert!(cast(SEED, 1_000, start().date_naive()).merchants.len() > people().merchants.len());
}

const HABITS: &[&str] = &[
    "salary",
    "weekly wage",
    "pension",
    "monthly allowance",
    "child benefit",
    "rent",
    "share of the rent",
    "mortgage",
    "electricity",
    "quarterly tax prepayment",
    "liability insurance",
    "subscription",
    "subscription, no cover",
    "salary to the joint account",
    "savings on payday",
    "crypto savings plan",
    "groceries",
    "second bus ticket",
    "fuel pre-authorisation",
    "sweets for the children",
    "vending machine",
    "parking",
    "restaurant with tip",
    "order charged in parts",
    "bar at night",
    "taxi at night",
    "wrong PIN",
    "no cover",
    "mistyped card number",
    "gateway timeout",
    "card not read by the machine",
    "clothes sent back",
    "trial subscription",
    "full price after the trial",
    "cancelled journey",
    "refund to the new card",
    "goods not received",
    "gift",
    "my share of dinner",
    "from the family tablet",
    "collected money handed on",
    "charity run",
    "second-hand",
    "used car",
    "kitchen, deposit",
    "furniture",
    "wedding, caterer",
    "holiday",
    "tax bill",
    "bonus",
    "severance saved",
    "inheritance",
    "credit repaid",
    "invoice of the",
    "savings pulled together",
    "from pooled savings",
    "cash for a used car",
    "for your ",
    "deposit for a flat",
    "removal firm",
    "first payment from the new telephone",
    "payment after a new SIM card",
    "payment after a new password",
    "after a forgotten password",
    "yearly berth for the boat",
    "back from the year abroad",
    "car from old savings",
    "first transfer from the old bank",
    "deposit, first large payment",
    "order moved to the new bank",
    "small payment of a new customer",
    "coffee on the journey",
    "hotel deposit given back",
    "fuel across the border",
    "doing up a room",
    "invoice paid by a client",
    "supplier paid the same day",
    "cash takings",
    "wire to a partner abroad",
    "wire from a client abroad",
    "obligation in another currency",
    "help for the family abroad",
    "paid at the agent",
    "cosmetics of a young shop",
    "flowers in season",
    "software on launch day",
    "market stall",
    "payout",
];
