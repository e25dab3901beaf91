//! Rows from the ledger are part of the history, exactly and across restarts, and can still get a verdict.

use serde_json::{Value, json};
use tollgate_tests::{Answer, Client, Home, Service, audit, needs, sample};

use crate::ledger::bank::{Bank, caught_up, number};

const N_MAX: usize = 8;

/// A home that follows the bank, with rules that show how many transactions of its source one saw.
fn home(bank: &Bank) -> Home {
    let rules: Vec<(String, String)> = (1..N_MAX)
        .map(|k| {
            let condition = format!(r#"count(when source == $current.source, "P2D") >= {k}"#);
            (format!("at_least_{k}.ws"), sample::rule(&format!("at_least_{k}"), &condition))
        })
        .collect();
    let mut home = Home::with_rules(&rules);
    bank.feeds(&mut home);
    home
}

/// Returns rows of one account at intervals of one second, the last of them one minute old.
fn rows(account: &str, n: usize) -> String {
    format!(
        "INSERT INTO transactions SELECT '{account}-' || n, now() - interval '1 minute' - ({n} - n) * interval '1 second', \
         10, 'EUR', '{account}', NULL, '{account}-' || n, NULL, 'applied', '{{\"n\": 1}}' \
         FROM generate_series(1, {n}) n;"
    )
}

fn seen(answer: &Answer) -> usize {
    answer.triggered().len()
}

fn probe(client: &Client, id: &str, account: &str) -> Answer {
    client.inject(&sample::with(&sample::transaction(id), &json!({"source": account})))
}

#[test]
fn rules_count_what_the_ledger_fed_also_after_every_kind_of_restart() {
    needs!(PostgreSql);
    let bank = Bank::open();
    bank.sql(&rows("acc", 5));
    let home = home(&bank);
    let service = Service::start(&home);
    caught_up(&service);
    assert_eq!(seen(&probe(&service, "first", "acc")), 5);
    // From a snapshot.
    service.stop();
    let service = Service::start(&home);
    assert_eq!(seen(&probe(&service, "second", "acc")), 6);
    // From the store.
    service.kill();
    assert!(home.remove_history());
    let service = Service::start(&home);
    assert_eq!(seen(&probe(&service, "third", "acc")), 7);
    caught_up(&service);
    assert_eq!(number(&service, r#"tollgate_ledger_rows_total{result="taken"}"#), 0, "all were known");
    let fed = service.transaction("acc-3").expect(200);
    assert_eq!((fed["status"].as_str(), fed.get("verdict")), (Some("applied"), None));
    assert_eq!(fed["meta_data"], json!({"n": 1}));
}

#[test]
fn a_verdict_on_what_was_fed_counts_what_came_before_it_and_stays() {
    needs!(PostgreSql);
    let bank = Bank::open();
    bank.sql(&rows("acc", 4));
    let home = home(&bank);
    let service = Service::start(&home);
    caught_up(&service);
    let request = |n: usize| {
        let fields = json!({"source": "acc", "meta_data": {"more": "than the ledger says"}});
        sample::with(&sample::transaction(&format!("acc-{n}")), &fields)
    };
    let answers: Vec<Answer> = [4, 2, 1, 3].into_iter().map(|n| service.inject(&request(n))).collect();
    assert_eq!(
        answers.iter().map(seen).collect::<Vec<_>>(),
        [3, 1, 0, 2],
        "each sees those before its place"
    );
    assert_eq!(seen(&probe(&service, "probe", "acc")), 4, "none counts twice");

    let other = sample::with(&request(2), &json!({"amount": 11}));
    assert_eq!(service.inject(&other).code(), "transaction_conflict");
    let stored = |client: &Client| client.transaction("acc-2").expect(200);
    let before = stored(&service);
    assert_eq!(before["meta_data"], json!({"more": "than the ledger says"}));
    assert_eq!(before["status"], "applied", "what the ledger said of it stands");
    for (name, value) in answers[1].expect(200).as_object().unwrap() {
        assert_eq!(&before[name], value, "{name}");
    }
    service.kill();
    let service = Service::start(&home);
    assert_eq!(stored(&service), before);
    assert_eq!(service.inject(&request(2)), answers[1]);
    assert_eq!(seen(&probe(&service, "probe-2", "acc")), 5);
    let replayed = audit::replay(&home);
    assert_eq!((replayed.all_follow(), replayed.number("unjudged")), (6, 4), "late ones as of their place");
    assert_eq!(service.get("/transactions/acc-2/replay").at("/outcome"), "equal");
    bank.sql(&rows("unasked", 1));
    service.until("the row is taken", || service.transaction("unasked-1").status == 200);
    assert_eq!(service.get("/transactions/unasked-1/replay").code(), "not_judged");
}

#[test]
fn rows_are_judged_where_that_is_asked_for() {
    needs!(PostgreSql);
    let bank = Bank::open();
    bank.sql(&rows("acc", 40));
    let mut home = home(&bank);
    home.set("LEDGER_EVALUATE", "true");
    let service = Service::start(&home);
    caught_up(&service);
    let stored: Vec<Value> = (1..=40).map(|n| service.transaction(&format!("acc-{n}")).expect(200)).collect();
    for (n, stored) in stored.iter().enumerate() {
        assert_eq!(stored["triggered"].as_array().unwrap().len(), n.min(N_MAX - 1), "{stored}");
    }
    check_asked(&service, &stored[7]);
    service.kill();
    let service = Service::start(&home);
    caught_up(&service);
    for (n, before) in stored.iter().enumerate() {
        assert_eq!(service.transaction(&format!("acc-{}", n + 1)).expect(200), *before);
    }
}

#[test]
fn a_deferred_verdict_is_repeated_for_its_own_request_only() {
    needs!(PostgreSql);
    let bank = Bank::open();
    bank.sql(&rows("acc", 1));
    let home = home(&bank);
    let service = Service::start(&home);
    caught_up(&service);
    let request = sample::with(&sample::transaction("acc-1"), &json!({"source": "acc"}));
    let first = service.inject(&request);
    assert_eq!(first.status, 200, "{}", first.text());
    for status in ["pending", "applied"] {
        let other = service.inject(&sample::with(&request, &json!({"status": status})));
        assert_eq!((other.status, other.at("/field")), (409, json!("status")), "{status}");
    }
    assert_eq!(service.inject(&request), first);
}

/// Checks that a caller gets the verdict on a row whatever the status it states, and that nothing else may differ.
fn check_asked(client: &Client, stored: &Value) {
    let asked = json!({
        "transaction_id": stored["transaction_id"], "created_at": stored["created_at"], "amount": 10, "currency": "EUR",
        "source": "acc", "reference": stored["reference"], "meta_data": {"n": 1},
    });
    for status in [json!(null), json!("applied"), json!("pending")] {
        let asked = sample::with(&asked, &json!({"status": status}));
        let answer = client.inject(&asked).expect(200);
        assert_eq!((&answer["verdict"], &answer["triggered"]), (&stored["verdict"], &stored["triggered"]));
        let other = client.inject(&sample::with(&asked, &json!({"amount": 11})));
        assert_eq!((other.status, other.at("/field")), (409, json!("amount")));
    }
}

#[test]
fn rows_that_are_judged_are_held_while_the_service_is_not_ready() {
    needs!(PostgreSql);
    let bank = Bank::open();
    bank.sql(&rows("acc", 3));
    let mut home = home(&bank);
    home.set("LEDGER_EVALUATE", "true");
    home.set("SERVICE_RULES_REQUIRED", "9");
    let service = Service::listen(&home);
    service.until("the rows are taken", || service.transaction("acc-3").status == 200);
    let stored = service.transaction("acc-1").expect(200);
    let held = json!([{"instruction_id": 0, "name": "rules", "failure": "not_ready"}]);
    assert_eq!((&stored["verdict"], &stored["failures"]), (&json!("review"), &held), "{stored}");
    assert_eq!(audit::replay(&home).all_follow(), 3);
}
