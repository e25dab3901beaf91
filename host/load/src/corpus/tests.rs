//! The corpus has the documented mix and is reproducible.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde_json::Value as Json;
use tollgate_compiler::{CompileOptions, compile};

use super::*;

#[test]
fn every_rule_compiles_without_a_word_and_so_many_aggregates_are_asked() {
    for (n_rules, n_aggregates) in
        [(10, 0), (10, 10), (10, 50), (100, 10), (1_000, 50), (1_000, AGGREGATES_MAX)]
    {
        let named_lists = BTreeSet::from([WATCHED.to_owned()]);
        let options = CompileOptions { named_lists: Some(&named_lists), ..CompileOptions::default() };
        let mut asked = BTreeSet::new();
        let scripts = scripts(n_rules, n_aggregates);
        assert_eq!(scripts.len(), n_rules);
        for Script { text, .. } in &scripts {
            let compiled = compile(text, &options);
            assert!(compiled.rule.is_some(), "{text}: {:?}", compiled.diagnostics);
            asked.extend(
                text.lines()
                    .filter(|line| line.contains("$current."))
                    .map(|line| line.trim_start_matches([' ', 'w', 'h', 'e', 'n', 'o', 'r']).to_owned()),
            );
        }
        assert_eq!(asked.len(), n_aggregates, "{n_rules} rules: {asked:#?}");
    }
}

#[test]
fn the_corpus_has_the_mix_it_says() {
    let scripts = scripts(1_000, 50);
    let n_with = |part: &str| scripts.iter().filter(|script| script.text.contains(part)).count();
    assert_eq!((n_with("regex"), n_with("$current.")), (100, 100));
    assert!(n_with(" in (") + n_with(&format!(" in ${WATCHED}")) == 200, "{}", n_with(" in ("));
}

#[test]
fn the_same_is_asked_for_only_where_rules_are_enough_for_it() {
    assert!(can_ask(0, 0) && can_ask(10, 50) && can_ask(7, 50));
    assert!(!can_ask(0, 1) && !can_ask(6, 50) && !can_ask(1_000, AGGREGATES_MAX + 1));
}

/// Returns the heads and bodies of the first requests of this kind.
fn requests(kind: TransactionKind, n_requests: usize) -> Vec<(String, Json)> {
    let (requests, mut buffer) = (Requests::to("127.0.0.1:1", kind), Vec::new());
    let next = |_| {
        requests.write(&mut buffer);
        let text = String::from_utf8(buffer.clone()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{head}");
        (head.to_owned(), serde_json::from_str(body).unwrap())
    };
    (0..n_requests).map(next).collect()
}

#[test]
fn requests_differ_in_their_ids_and_in_nothing_that_has_a_length() {
    for kind in [TransactionKind::Usual, TransactionKind::Suspicious] {
        let mut ids = BTreeSet::new();
        for (head, body) in requests(kind, 10_000) {
            assert!(head.starts_with("POST /inject "), "{head}");
            assert!(ids.insert(body["transaction_id"].as_str().unwrap().to_owned()), "{body}");
        }
    }
}

#[test]
fn payments_of_customers_are_spread_as_asked() {
    for (is_zipf, share_of_first_tenth) in [(false, 0.1), (true, 0.83)] {
        let kind = TransactionKind::OfCustomers(Customers { n_customers: 1_000_000, is_zipf });
        let bodies = requests(kind, 10_000);
        let mut n_first = 0.0;
        for (_, body) in &bodies {
            let customer = body["source"].as_str().unwrap().strip_prefix("acc-").unwrap();
            let device = body["meta_data"]["device_id"].as_str().unwrap();
            assert!(device.starts_with(&format!("device-{customer}-")), "{body}");
            n_first += f64::from(u8::from(customer.parse::<u32>().unwrap() < 100_000));
        }
        let share: f64 = n_first / 10_000.0;
        assert!((share - share_of_first_tenth).abs() < 0.03, "{share}");
        let n_by_card =
            bodies.iter().filter(|(_, body)| body["meta_data"]["card_fingerprint"].is_string()).count();
        assert!((3_500..4_500).contains(&n_by_card), "{n_by_card}");
        let n_different = |field: &str| {
            let values = bodies.iter().filter_map(|(_, body)| body["meta_data"][field].as_str());
            values.collect::<BTreeSet<_>>().len()
        };
        assert!((1_000..3_000).contains(&n_different("merchant_id")), "{}", n_different("merchant_id"));
        assert!((480..=500).contains(&n_different("bin")), "{}", n_different("bin"));
        assert!(n_different("ip") > 4_000, "{}", n_different("ip"));
    }
}

#[test]
fn a_reported_transaction_has_two_events_that_differ_in_the_status() {
    let (mut ids, mut times) = (BTreeSet::new(), BTreeSet::new());
    for events in requests(TransactionKind::Reported, 10_000).chunks(2) {
        let [(head, pending), (_, applied)] = events else { panic!("{events:?}") };
        assert!(head.starts_with("POST /ledgerwebhook "), "{head}");
        let (mut expected, pending) = (pending.clone(), &pending["data"]);
        expected["event"] = "transaction.applied".into();
        expected["data"]["status"] = "applied".into();
        assert_eq!((pending["status"].as_str(), applied), (Some("pending"), &expected));
        assert!(ids.insert(pending["transaction_id"].as_str().unwrap().to_owned()), "{pending}");
        times.insert(pending["created_at"].as_str().unwrap().parse::<DateTime<Utc>>().unwrap());
    }
    let seconds = (*times.last().unwrap() - *times.first().unwrap()).num_seconds();
    assert_eq!((ids.len(), times.len(), seconds), (5_000, 5_000, 4_999));
}

#[test]
fn a_body_is_what_follows_the_head_of_a_request() {
    let (requests, mut body) = (Requests::to("127.0.0.1:1", TransactionKind::Suspicious), Vec::new());
    requests.write_body(&mut body);
    let body: Json = serde_json::from_slice(&body).unwrap();
    assert!(body["transaction_id"].as_str().unwrap().ends_with("-000000000000"), "{body}");
}
