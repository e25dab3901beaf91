//! Ledger events change the status of a transaction: any order, repetition or crash leads to the same final status.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use serde_json::{Value, json};
use tollgate_tests::{Answer, Client, Home, Service, proof, sample};

/// A life cycle and its final status.
const EVENTS: [&str; 6] = ["created", "queued", "scheduled", "inflight", "applied", "void"];
const STATUSES: [&str; 6] = ["pending", "queued", "scheduled", "inflight", "applied", "void"];
const N_CLIENTS: usize = 12;

/// A probe queries a chain of transactions without belonging to it, so it does not affect the next probe.
fn home() -> Home {
    let mut rules = vec![(
        "one.ws".to_owned(),
        sample::rule("one", r#"count(when meta_data.chain == $current.meta_data.asks, "PT1H") == 1"#),
    )];
    for status in STATUSES {
        let filter = format!(r#"meta_data.chain == $current.meta_data.asks and status == "{status}""#);
        let condition = format!(r#"sum(amount when {filter}, "PT1H") >= 10"#);
        rules.push((format!("{status}.ws"), sample::rule(status, &condition)));
    }
    Home::with_rules(&rules)
}

fn transaction(chain: &str) -> Value {
    let fields = json!({"created_at": "2026-01-01T00:00:00Z", "meta_data": {"chain": chain}});
    sample::with(&sample::transaction(chain), &fields)
}

/// Returns an event as a ledger sends it: the original transaction, with the new status in the event name.
fn event(chain: &str, word: &str) -> Value {
    let data = sample::with(&transaction(chain), &json!({"status": "pending"}));
    json!({"event": format!("transaction.{word}"), "data": data})
}

#[track_caller]
fn report(client: &Client, chain: &str, word: &str) {
    let answer = client.post("/ledgerwebhook", &event(chain, word)).expect(200);
    let said = answer.as_str().unwrap();
    assert!(
        said.starts_with(&format!("transaction {chain} from event transaction.{word} processed")),
        "{said}"
    );
}

/// Returns all permutations of `n` items.
fn orders(n: usize) -> Vec<Vec<usize>> {
    let Some(last) = n.checked_sub(1) else { return vec![Vec::new()] };
    let longer = orders(last).into_iter().flat_map(|order| {
        (0..n).map(move |index| {
            let mut order = order.clone();
            order.insert(index, last);
            order
        })
    });
    longer.collect()
}

/// Repeats some events of the order, at positions that vary.
fn with_duplicates(order: &[usize], n: usize) -> Vec<usize> {
    let mut events = order.to_vec();
    for round in 0..3 {
        let again = order[(n / (round + 1) + round) % order.len()];
        events.insert((n * (round + 7)) % (events.len() + 1), again);
    }
    events
}

/// Returns the rules that match a probe of the chain; `round` makes probe ids unique.
fn asked(client: &Client, chain: &str, round: &str) -> Vec<String> {
    let fields = json!({"created_at": "2026-01-01T00:00:01Z", "meta_data": {"asks": chain}});
    let probe = sample::with(&sample::transaction(&format!("probe-{round}-{chain}")), &fields);
    client.inject(&probe).triggered()
}

/// Returns the stored transaction without identifying fields and evaluation time.
fn stored(client: &Client, chain: &str) -> Value {
    let mut stored = client.transaction(chain).expect(200);
    for name in ["transaction_id", "reference", "meta_data", "evaluated_at"] {
        assert!(stored.as_object_mut().unwrap().remove(name).is_some(), "{name}");
    }
    // It depends on the order of the reports.
    stored.as_object_mut().unwrap().remove("without_effect");
    stored
}

#[track_caller]
fn check_end(client: &Client, chain: &str, round: &str) {
    let end = stored(client, chain);
    let expected = json!({
        "amount": 10, "currency": "EUR", "status": "void", "allow_overdraft": false, "inflight": false,
        "skip_queue": false, "atomic": false, "created_at": "2026-01-01T00:00:00Z", "verdict": "approve",
        "score": 0.0, "reason": end["reason"], "triggered": [], "failures": [], "rule_set_version": 1,
    });
    assert_eq!(end, expected, "{chain}");
    assert_eq!(asked(client, chain, round), ["one", "void"], "{chain}");
}

/// Distributes numbers among all clients concurrently.
fn share(service: &Service, n: usize, work: impl Fn(&Client, usize) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..N_CLIENTS {
            scope.spawn(|| {
                let client = service.client();
                while let Some(turn) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|turn| *turn < n) {
                    work(&client, turn);
                }
            });
        }
    });
}

#[test]
fn every_order_of_a_life_cycle_with_repetitions_ends_alike_also_after_a_restart() {
    let orders = orders(EVENTS.len());
    assert_eq!(orders.len(), 720);
    let home = home();
    let service = Service::start(&home);
    let n_deliveries = AtomicUsize::new(0);
    share(&service, orders.len(), |client, n| {
        let chain = format!("order-{n}");
        for event in with_duplicates(&orders[n], n) {
            report(client, &chain, EVENTS[event]);
            n_deliveries.fetch_add(1, Ordering::Relaxed);
        }
        check_end(client, &chain, "before");
    });
    service.stop();
    let service = Service::start(&home);
    share(&service, orders.len(), |client, n| check_end(client, &format!("order-{n}"), "stopped"));
    service.kill();
    let service = Service::start(&home);
    share(&service, orders.len(), |client, n| {
        let chain = format!("order-{n}");
        report(client, &chain, EVENTS[n % EVENTS.len()]);
        check_end(client, &chain, "killed");
    });
    println!("{} orders, {} deliveries, 0 different ends", orders.len(), n_deliveries.into_inner());
}

#[test]
fn a_life_cycle_delivered_twice_and_all_at_once_ends_alike() {
    let service = Service::start(&home());
    let clients: Vec<Client> = (0..2 * EVENTS.len()).map(|_| service.client()).collect();
    let rounds = proof::rounds(20, 400);
    for round in 0..rounds {
        let chain = format!("round-{round}");
        thread::scope(|scope| {
            for (index, client) in clients.iter().enumerate() {
                let chain = &chain;
                scope.spawn(move || report(client, chain, EVENTS[(index + round) % EVENTS.len()]));
            }
        });
        check_end(&service, &chain, "after");
    }
    println!("{rounds} rounds of {} deliveries at once, 0 different ends", clients.len());
}

#[test]
fn an_injected_transaction_keeps_its_verdict_and_its_repetition_its_answer() {
    let service = Service::start(&home());
    let chain = transaction("kept");
    let answer = service.inject(&chain);
    assert_eq!(asked(&service, "kept", "first"), ["one"]);
    let applied = json!({"event": "transaction.applied", "data": chain});
    assert_eq!(service.post("/ledgerwebhook", &applied).status, 200);
    assert_eq!(asked(&service, "kept", "second"), ["applied", "one"]);
    assert_eq!(service.inject(&chain), answer);
    let mut stored = service.transaction("kept").expect(200);
    assert_eq!(stored["status"].take(), "applied");
    for (name, value) in answer.expect(200).as_object().unwrap() {
        assert_eq!(&stored[name], value, "{name}");
    }

    let other = sample::with(&chain, &json!({"amount": 11}));
    let refused = service.post("/ledgerwebhook", &json!({"event": "transaction.void", "data": other}));
    assert_eq!((refused.status, refused.code().as_str()), (409, "transaction_conflict"));
    assert_eq!(asked(&service, "kept", "third"), ["applied", "one"]);
}

#[test]
fn an_inject_after_its_own_event_is_the_same_payment_whatever_status_it_states() {
    let home = home();
    let mut service = Service::start(&home);
    let mut with_status = transaction("status");
    with_status["status"] = json!("queued");
    for (chain, data, current) in
        [("none", transaction("none"), "applied"), ("status", with_status, "applied")]
    {
        let applied = json!({"event": "transaction.applied", "data": data});
        assert_eq!(service.post("/ledgerwebhook", &applied).status, 200);
        let judged = stored(&service, chain)["verdict"].clone();
        let mut answers = Vec::new();
        for status in [json!(null), json!("applied"), json!("pending"), json!("void"), json!("a word")] {
            let asked = sample::with(&transaction(chain), &json!({"status": status}));
            answers.push(service.inject(&asked));
            assert_eq!((answers[0].status, &answers[0].expect(200)["verdict"]), (200, &judged), "{status}");
            assert_eq!(answers[0], *answers.last().unwrap(), "{status}");
            service.kill();
            service = Service::start(&home);
        }
        // The ledger alone moves the status.
        assert_eq!(service.transaction(chain).expect(200)["status"], current);
        assert_eq!(asked(&service, chain, "one"), ["applied", "one"]);
        for (field, fields) in [
            ("amount", json!({"amount": 11})),
            ("description", json!({"description": "d"})),
            ("meta_data.k", json!({"meta_data": {"chain": chain, "k": 1}})),
            ("x", json!({"x": 1})),
            ("created_at", json!({"created_at": null})),
        ] {
            for status in ["applied", "pending"] {
                let other = sample::with(&transaction(chain), &fields);
                let refused = service.inject(&sample::with(&other, &json!({"status": status})));
                assert_eq!(
                    (refused.status, refused.code().as_str()),
                    (409, "transaction_conflict"),
                    "{field}"
                );
                assert_eq!(refused.at("/field"), field, "{status}");
            }
        }
    }
    // What was injected first is repeated with its own status only.
    assert_eq!(service.inject(&transaction("first")).status, 200);
    report(&service, "first", "applied");
    let other = sample::with(&transaction("first"), &json!({"status": "applied"}));
    let refused = service.inject(&other);
    assert_eq!((refused.status, refused.at("/field")), (409, json!("status")));
    drop(service.stop());
    tollgate_tests::audit::replay(&home).all_follow();
}

#[test]
fn an_inject_does_not_get_the_verdict_on_an_attempt_that_failed() {
    let service = Service::start(&home());
    for (chain, words) in
        [("at-first", &["failed"][..]), ("later", &["pending", "void"]), ("back", &["applied", "returned"])]
    {
        words.iter().for_each(|word| report(&service, chain, word));
        for status in [json!(null), json!("queued")] {
            let refused = service.inject(&sample::with(&transaction(chain), &json!({"status": status})));
            assert_eq!((refused.status, refused.code().as_str()), (409, "transaction_conflict"), "{chain}");
            assert_eq!(refused.at("/field"), "status", "{chain}");
        }
    }
}

#[test]
fn an_event_and_its_inject_at_once_are_one_payment() {
    let service = Service::start(&home());
    for round in 0..proof::rounds(50, 2_000) {
        let chain = format!("both-{round}");
        let (one, other) = (service.client(), service.client());
        thread::scope(|scope| {
            scope.spawn(|| report(&one, &chain, "applied"));
            scope.spawn(|| assert_eq!(other.inject(&transaction(&chain)).status, 200, "{chain}"));
        });
        assert_eq!(service.transaction(&chain).expect(200)["status"], "applied");
        assert_eq!(asked(&service, &chain, "both"), ["applied", "one"]);
    }
}

#[test]
fn an_event_about_something_else_is_acknowledged_and_counted() {
    let service = Service::start(&home());
    let monitor = json!({"event": "balance.monitor", "data": {"transaction_id": "t", "balance": 7}});
    let answer = service.post("/ledgerwebhook", &monitor).expect(200);
    let text = answer.as_str().unwrap();
    assert!(text.contains("balance.monitor") && text.contains("`t`"), "{text}");
    assert_eq!(service.transaction("t").status, 404);
    let page = service.get("/metrics").text();
    assert!(page.contains("tollgate_webhook_events_ignored_total 1"), "{page}");
}

#[test]
fn after_kill_9_under_load_every_answered_event_stands_and_is_counted() {
    let home = home();
    let cycles = proof::rounds(6, 200);
    let mut n_answered = 0;
    for cycle in 0..cycles {
        let service = Service::start(&home);
        let answered = load(service, cycle);
        let service = Service::start(&home);
        for (chain, index) in &answered {
            let status = service.transaction(chain).expect(200)["status"].as_str().unwrap().to_owned();
            let current = STATUSES.iter().position(|known| *known == status).unwrap();
            assert!(current >= *index, "{chain} was answered at {} and is {status}", STATUSES[*index]);
            let mut expected = vec!["one".to_owned(), status];
            expected.sort();
            assert_eq!(asked(&service, chain, &format!("cycle-{cycle}")), expected, "{chain}");
        }
        n_answered += answered.len();
        service.kill();
    }
    println!("{cycles} crashes, {n_answered} transactions with answered events, all as answered or further");
}

/// Sends life cycles until the service is killed under load. Returns the progress of each chain that was acknowledged.
fn load(service: Service, cycle: usize) -> BTreeMap<String, usize> {
    const N_BEFORE_THE_CRASH: usize = 150;
    let (tell, reported) = channel();
    thread::scope(|scope| {
        for number in 0..N_CLIENTS {
            let (client, tell) = (service.client(), tell.clone());
            scope.spawn(move || {
                for round in 0.. {
                    let chain = format!("c{cycle}-{number}-{round}");
                    for (index, word) in EVENTS.iter().enumerate() {
                        let body = event(&chain, word).to_string();
                        match client.try_post("/ledgerwebhook", body.as_bytes()) {
                            Ok(Answer { status: 200, .. }) => tell.send((chain.clone(), index)).unwrap(),
                            _ => return,
                        }
                    }
                }
            });
        }
        drop(tell);
        let mut answered: BTreeMap<String, usize> = reported.iter().take(N_BEFORE_THE_CRASH).collect();
        service.kill();
        answered.extend(reported);
        answered
    })
}
