//! Tests of the stories, with a small cast of their own.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Days, NaiveDate, Utc};

use super::{DAYS_MAX, Story, beginning_on, kinds};
use crate::{Card, Cast, Customer, Device, Merchant, decimals};

const DAYS: u32 = 75;

fn start() -> DateTime<Utc> {
    NaiveDate::from_ymd_opt(2026, 3, 3).unwrap().and_hms_opt(0, 0, 0).unwrap().and_utc()
}

fn customer(number: u32) -> Customer {
    let (country, currency, income) =
        [("DE", "EUR", 2_600.0), ("FR", "EUR", 2_200.0), ("NG", "NGN", 420_000.0), ("JP", "JPY", 280_000.0)]
            [if number < 18 { (number % 2) as usize } else { 2 + (number % 2) as usize }];
    Customer {
        account: format!("acct-test{number:04}"),
        country,
        currency,
        age: 19 + number * 3,
        opened_on: start().date_naive() - Days::new(400),
        kyc_tier: 3,
        monthly_income: income,
        daily_limit: number.is_multiple_of(5).then_some(income / 2.0),
        email: format!("person{number}@example.com"),
        cards: vec![Card { fingerprint: format!("card-test{number}"), bin: "431940".to_owned(), country }],
        devices: vec![Device { id: format!("dev-test{number}"), kind: "phone" }],
        home_ip: format!("198.18.0.{number}"),
        credentials_changed_on: None,
        contact_changed_on: None,
        sim_swapped_on: None,
        document_expires_on: start().date_naive() + Days::new(900),
        saved_beneficiaries: Vec::new(),
    }
}

fn cast() -> Cast {
    let merchant = |number: u32| Merchant {
        id: format!("mer-test{number}"),
        settlement_account: "settlement-eu-1".to_owned(),
        account: format!("acct-shop{number:04}"),
        mcc: ["5411", "5651", "5732", "5816"][(number % 4) as usize],
        country: "DE",
        currency: "EUR",
        declared_average_ticket: 12.0 + 9.0 * f64::from(number),
        boarded_on: start().date_naive() - Days::new(800),
    };
    Cast {
        customers: (0..22).map(customer).collect(),
        merchants: (0..10).map(merchant).collect(),
        employers: vec!["payroll-northwind".to_owned(), "payroll-meridian".to_owned()],
    }
}

fn stories(seed: u64, days: std::ops::Range<u32>) -> Vec<(u32, Story)> {
    let cast = cast();
    days.flat_map(|day| beginning_on(&cast, seed, start(), day).into_iter().map(move |story| (day, story)))
        .collect()
}

fn kind_of(story: &Story) -> String {
    story.name.split('/').take(2).collect::<Vec<_>>().join("/")
}

#[test]
fn the_same_seed_gives_the_same_stories() {
    let (one, other) = (stories(1, 0..DAYS), stories(1, 0..DAYS));
    assert_eq!(one.len(), other.len());
    for ((_, one), (_, other)) in one.iter().zip(&other) {
        assert_eq!((&one.name, &one.payments, &one.past), (&other.name, &other.payments, &other.past));
    }
    let third = stories(2, 0..DAYS);
    assert_ne!(one[0].1.payments, third[0].1.payments);
}

#[test]
fn names_and_ids_are_unique() {
    let (mut names, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for (_, story) in stories(3, 0..200) {
        assert!(names.insert(story.name.clone()), "{}", story.name);
        for payment in story.payments.iter().chain(&story.past) {
            assert!(ids.insert(payment.id.clone()), "{} of {}", payment.id, story.name);
        }
    }
}

#[test]
fn payments_are_in_order_and_within_two_weeks_and_the_past_lies_before() {
    for (day, story) in stories(4, 0..DAYS) {
        let begin = start() + Days::new(u64::from(day));
        let times: Vec<_> = story.payments.iter().map(|payment| payment.created_at).collect();
        assert!(times.is_sorted() && times[0] >= begin, "{}", story.name);
        assert!(times[times.len() - 1] < begin + Days::new(u64::from(DAYS_MAX)), "{}", story.name);
        assert!(story.past.iter().all(|payment| payment.created_at < times[0]), "{}", story.name);
        assert!(story.past.is_sorted_by_key(|payment| payment.created_at), "{}", story.name);
        assert!(story.stop_by < story.payments.len(), "{}", story.name);
    }
}

#[test]
fn payments_carry_their_story_and_whole_units_of_their_currency() {
    for (_, story) in stories(5, 0..DAYS) {
        for payment in &story.payments {
            assert_eq!(payment.story.as_ref(), Some(&story.name));
        }
        for payment in story.payments.iter().chain(&story.past) {
            assert_eq!(payment.amount.decimals, decimals(payment.currency), "{}", story.name);
            assert_ne!(payment.source, payment.destination, "{}", story.name);
        }
        assert!(story.past.iter().all(|payment| payment.story.is_none()), "{}", story.name);
    }
}

#[test]
fn every_typology_has_at_least_three_kinds() {
    let mut by_typology = BTreeMap::<_, BTreeSet<_>>::new();
    for kind in kinds() {
        assert!(by_typology.entry(kind.typology).or_default().insert(kind.name), "{}", kind.name);
    }
    assert_eq!(by_typology.len(), 11);
    assert!(by_typology.values().all(|names| names.len() >= 3), "{by_typology:?}");
}

#[test]
fn every_kind_occurs_twice_and_ends_within_75_days_and_goes_on_later() {
    let end = start() + Days::new(u64::from(DAYS));
    for seed in 1..=5 {
        let (mut early, mut late) = (BTreeMap::<_, u32>::new(), BTreeMap::<_, u32>::new());
        for (day, story) in stories(seed, 0..2 * DAYS) {
            let ended = story.payments.iter().all(|payment| payment.created_at < end);
            let times = if day >= DAYS { &mut late } else { &mut early };
            *times.entry(kind_of(&story)).or_default() += u32::from(ended || day >= DAYS);
        }
        for kind in kinds() {
            let name = format!("{}/{}", kind.typology, kind.name);
            assert!(early.get(&name).is_some_and(|times| *times >= 2), "seed {seed}: {name} {early:?}");
            assert!(late.contains_key(&name), "seed {seed}: {name} later");
        }
    }
}

#[test]
fn a_cast_of_nobody_gives_only_stories_that_need_nobody() {
    let nobody = Cast::default();
    let stories: Vec<_> = (0..DAYS).flat_map(|day| beginning_on(&nobody, 1, start(), day)).collect();
    assert!(stories.iter().all(|story| story.typology != "velocity" && story.typology != "new_payee"));
    assert!(stories.iter().any(|story| story.typology == "merchant_risk"));
}
