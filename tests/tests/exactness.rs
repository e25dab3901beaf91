//! Concurrent transactions see exactly those accepted before them, and each id is accepted once.

mod updates;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tollgate_tests::{Answer, Client, Home, Service, client, proof, sample};

const VELOCITY: &str = r#"count(when source == $current.source, "PT1H") >= 10"#;

#[test]
fn exactly_54_of_64_parallel_transactions_exceed_a_limit_of_10() {
    const N_PARALLEL: usize = 64;
    let rounds = proof::rounds(20, 200);
    let home = Home::with_rules(&[("velocity.ws", sample::rule("velocity", VELOCITY))]);
    let service = Service::start(&home);
    let mut deviations = Vec::new();
    let clients: Vec<Client> = (0..N_PARALLEL).map(|_| service.client()).collect();
    for round in 0..rounds {
        let answers = client::at_once(&clients, |i| {
            sample::with(
                &sample::transaction(&format!("r{round}-{i}")),
                &json!({"source": format!("source-{round}")}),
            )
        });
        let n_matched = answers.iter().filter(|answer| !answer.triggered().is_empty()).count();
        if n_matched != N_PARALLEL - 10 {
            deviations.push((round, n_matched));
        }
    }
    assert_eq!(deviations, [], "(round, matched) of {rounds} rounds");
    println!("{rounds} rounds, 0 deviations");
}

#[test]
fn parallel_transactions_see_every_count_from_none_to_all_but_one() {
    check_counts(&json!({}));
}

#[test]
fn parallel_transactions_of_one_moment_see_every_count_from_none_to_all_but_one() {
    check_counts(&json!({"created_at": "2026-01-01T00:00:00Z"}));
}

/// Uses a rule for every count, so that a response shows how many transactions its own one saw.
#[track_caller]
fn check_counts(fields: &Value) {
    const N_PARALLEL: usize = 16;
    let rules: Vec<(String, String)> = (1..N_PARALLEL)
        .map(|k| {
            let condition = format!(r#"count(when source == $current.source, "PT1H") >= {k}"#);
            (format!("at_least_{k}.ws"), sample::rule(&format!("at_least_{k}"), &condition))
        })
        .collect();
    let service = Service::start(&Home::with_rules(&rules));
    let clients: Vec<Client> = (0..N_PARALLEL).map(|_| service.client()).collect();
    for round in 0..proof::rounds(20, 200) {
        let answers = client::at_once(&clients, |i| {
            let transaction = sample::with(&sample::transaction(&format!("r{round}-{i}")), fields);
            sample::with(&transaction, &json!({"source": format!("s{round}")}))
        });
        let mut seen: Vec<usize> = answers.iter().map(|answer| answer.triggered().len()).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..N_PARALLEL).collect::<Vec<_>>(), "round {round}");
    }
}

#[test]
fn one_transaction_sent_100_times_at_once_is_one_record_with_one_verdict() {
    const N_PARALLEL: usize = 100;
    let rules = [
        ("velocity.ws", sample::rule("velocity", VELOCITY)),
        ("seen.ws", sample::rule("seen", r#"count(when source == $current.source, "PT1H") >= 1"#)),
        (
            "seen_twice.ws",
            sample::rule("seen_twice", r#"count(when source == $current.source, "PT1H") >= 2"#),
        ),
    ];
    let service = Service::start(&Home::with_rules(&rules));
    let clients: Vec<Client> = (0..N_PARALLEL).map(|_| service.client()).collect();
    for round in 0..proof::rounds(5, 50) {
        let id = format!("same-{round}");
        let transaction = sample::with(&sample::transaction(&id), &json!({"source": format!("s{round}")}));
        let answers = client::at_once(&clients, |_| transaction.clone());
        let bodies: BTreeSet<String> = answers.iter().map(|answer| answer.text()).collect();
        assert!(answers.iter().all(|answer| answer.status == 200), "round {round}: {bodies:?}");
        assert_eq!(bodies.len(), 1, "round {round}: the answers differ");
        assert_eq!(answers[0].triggered(), [""; 0], "the first of its source sees nobody, not even itself");

        let stored = service.transaction(&id).expect(200);
        let altered = service.inject(&sample::with(&transaction, &json!({"amount": 11})));
        assert_eq!((altered.status, altered.code().as_str()), (409, "transaction_conflict"));
        assert_eq!(service.transaction(&id).expect(200), stored, "the refused copy changed the original");
        assert_eq!(service.inject(&transaction), answers[0], "the refused copy changed the answer");

        let probe = sample::with(&transaction, &json!({"transaction_id": format!("probe-{round}")}));
        assert_eq!(service.inject(&probe).triggered(), ["seen"], "one record, counted once");
    }
}

#[test]
fn one_content_wins_among_64_parallel_posts_under_one_id() {
    const N_PARALLEL: usize = 64;
    let service = Service::start(&Home::with_rules(&[("velocity.ws", sample::rule("velocity", VELOCITY))]));
    let clients: Vec<Client> = (0..N_PARALLEL).map(|_| service.client()).collect();
    for round in 0..proof::rounds(10, 100) {
        let id = format!("contested-{round}");
        let amount = |i: usize| if i.is_multiple_of(2) { 10 } else { 20 };
        let answers = client::at_once(&clients, |i| {
            sample::with(&sample::transaction(&id), &json!({"amount": amount(i)}))
        });
        let stored = service.transaction(&id).expect(200);
        let winner = stored["amount"].as_i64().unwrap();
        let mut accepted = BTreeSet::new();
        for (i, answer) in answers.iter().enumerate() {
            if amount(i) == winner {
                assert_eq!(answer.status, 200, "round {round}, post {i}: {}", answer.text());
                accepted.insert(answer.text());
            } else {
                assert_eq!(
                    (answer.status, answer.code().as_str()),
                    (409, "transaction_conflict"),
                    "{round}, {i}"
                );
            }
        }
        assert_eq!(accepted.len(), 1, "round {round}: the accepted answers differ");
    }
}

#[test]
fn the_same_content_in_another_spelling_is_the_same_transaction() {
    let service = Service::start(&Home::new());
    let spellings = [
        r#"{"transaction_id":"t","amount":10,"currency":"EUR","reference":"r","meta_data":{"a":1,"b":[1.10]}}"#,
        r#"{ "meta_data" : {"b":[1.1], "a":1.0}, "reference":"\u0072", "currency":"EUR", "amount":10.00, "transaction_id":"t" }"#,
        r#"{"transaction_id":"t","amount":1e1,"currency":"EUR","reference":"r","meta_data":{"a":1,"b":[1.1]}}"#,
    ];
    let answers: Vec<Answer> =
        spellings.iter().map(|body| service.try_post("/inject", body.as_bytes()).unwrap()).collect();
    assert_eq!(answers[0].status, 200, "{}", answers[0].text());
    assert_eq!(answers[1], answers[0]);
    assert_eq!(answers[2], answers[0]);
}
