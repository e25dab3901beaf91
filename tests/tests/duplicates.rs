//! `SERVICE_DEDUPLICATE_BY_HASH`: of several transactions with one hash, exactly one is judged and stored.

use std::fs;
use std::thread;

use serde_json::{Value, json};
use tollgate_tests::{Answer, Client, Home, Service, audit, repository, sample};

const N_CLIENTS: usize = 8;
const N_ROUNDS: usize = 20;

fn home(window: Option<&str>) -> Home {
    let mut home = Home::new();
    if let Some(window) = window {
        home.set("SERVICE_DEDUPLICATE_BY_HASH", window);
    }
    home
}

fn inject(client: &Client, id: &str, hash: &str) -> Answer {
    client.inject(&sample::with(&sample::transaction(id), &json!({ "hash": hash })))
}

#[track_caller]
fn check_duplicate(answer: &Answer, first: &str) {
    assert_eq!((answer.status, answer.code().as_str()), (409, "duplicate_hash"), "{}", answer.text());
    assert_eq!(answer.at("/transaction_id"), first);
}

#[test]
fn a_hash_is_only_stored_unless_the_setting_says_otherwise() {
    let service = Service::start(&home(None));
    let client = service.client();
    for id in ["a", "b"] {
        assert_eq!(inject(&client, id, "h").status, 200);
    }
}

#[test]
fn a_second_transaction_with_a_hash_is_refused_and_a_retry_is_not() {
    let home = home(Some("P1D"));
    let service = Service::start(&home);
    let first = inject(&service.client(), "first", "h").expect(200);
    check_duplicate(&inject(&service.client(), "second", "h"), "first");
    assert_eq!(inject(&service.client(), "first", "h").expect(200), first, "a retry comes before the hash");
    assert_eq!(inject(&service.client(), "other", "g").status, 200);
    for id in ["without", "without too"] {
        assert_eq!(service.inject(&sample::transaction(id)).status, 200, "without a hash");
    }
    assert_eq!(service.client().transaction("second").status, 404, "nothing is stored");
    assert_eq!(inject(&service.client(), "second", "f").status, 200, "under its id, with another hash");

    service.kill();
    let service = Service::start(&home);
    check_duplicate(&inject(&service.client(), "third", "h"), "first");
    check_duplicate(&inject(&service.client(), "third", "f"), "second");
    assert_eq!(inject(&service.client(), "first", "h").expect(200), first);
    assert_eq!(service.stop().0.code(), Some(0));
    audit::replay(&home).all_follow();
}

#[test]
fn exactly_one_of_parallel_transactions_with_one_hash_is_judged() {
    let service = Service::start(&home(Some("P1D")));
    for round in 0..N_ROUNDS {
        let answers: Vec<(String, Answer)> = thread::scope(|scope| {
            let sending: Vec<_> = (0..N_CLIENTS)
                .map(|at| {
                    let client = service.client();
                    scope.spawn(move || {
                        let id = format!("{round}-{at}");
                        let answer = inject(&client, &id, &format!("hash of {round}"));
                        (id, answer)
                    })
                })
                .collect();
            sending.into_iter().map(|sent| sent.join().unwrap()).collect()
        });
        let (judged, refused): (Vec<_>, Vec<_>) =
            answers.iter().partition(|(_, answer)| answer.status == 200);
        assert_eq!(judged.len(), 1, "{round}");
        refused.iter().for_each(|(_, answer)| check_duplicate(answer, &judged[0].0));
    }
}

#[test]
fn a_hash_is_forgotten_after_its_window() {
    let service = Service::start(&home(Some("PT5S")));
    assert_eq!(inject(&service.client(), "first", "h").status, 200);
    check_duplicate(&inject(&service.client(), "second", "h"), "first");
    service.until("the hash is free again", || inject(&service.client(), "second", "h").status == 200);
    check_duplicate(&inject(&service.client(), "third", "h"), "second");
}

#[test]
fn a_rule_does_the_same_as_a_verdict() {
    let page = fs::read_to_string(repository::root().join("docs/api.md")).unwrap();
    let (_, rule) = page.split_once("```\nrule duplicate_hash").unwrap();
    let rule = format!("rule duplicate_hash{}", rule.split("```").next().unwrap());
    let service = Service::start(&Home::with_rules(&[("duplicate_hash.ws", rule)]));
    let verdict = |id: &str, hash: &str| -> Value { inject(&service.client(), id, hash).at("/verdict") };
    assert_eq!(verdict("first", "h"), "approve");
    assert_eq!(verdict("other", "g"), "approve");
    assert_eq!(verdict("second", "h"), "block");
    assert_eq!(service.inject(&sample::transaction("without")).at("/verdict"), "approve");
    assert_eq!(service.inject(&sample::transaction("without too")).at("/verdict"), "approve");
}
