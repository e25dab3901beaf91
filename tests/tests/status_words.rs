#![cfg(test)]
//! Statuses in the words of processors, schemes and standards, and words that no table has.

use serde_json::{Value, json};
use tollgate_tests::{Client, Home, Service, sample, status_sequences};

fn report(client: &Client, id: &str, status: &str) -> String {
    let data = sample::with(&sample::transaction(id), &json!({ "status": status }));
    let event = json!({"event": "transaction.updated", "data": data});
    client.post("/ledgerwebhook", &event).expect(200).as_str().unwrap().to_owned()
}

fn status(client: &Client, id: &str) -> Value {
    client.transaction(id).expect(200)["status"].clone()
}

#[test]
fn a_payment_told_in_the_words_of_its_trade_ends_at_its_last_status_also_after_a_restart() {
    let home = Home::new();
    let service = Service::start(&home);
    for (id, words) in status_sequences::of_payments() {
        for word in &words {
            report(&service, &id, word);
            assert_eq!(status(&service, &id), json!(word), "{words:?}");
        }
    }
    service.stop();
    let service = Service::start(&home);
    for (id, words) in status_sequences::of_payments() {
        assert_eq!(status(&service, &id), json!(words.last().unwrap()), "{words:?}");
        report(&service, &id, words[0]);
        assert_eq!(status(&service, &id), json!(words.last().unwrap()), "{words:?}");
    }
}

/// Checks which status stands after each report, and that the answer names it if it is another one.
#[track_caller]
fn check(client: &Client, id: &str, words: &[&str], expected: &[&str]) {
    for (word, expected) in words.iter().zip(expected) {
        let said = report(client, id, word);
        let plain = format!("transaction {id} from event transaction.updated processed");
        let stays = if word == expected { String::new() } else { format!("; its status stays {expected}") };
        assert_eq!(said, format!("{plain}{stays}"), "{word} of {words:?}");
        assert_eq!(status(client, id), json!(expected), "{word} of {words:?}");
    }
}

#[test]
fn a_word_that_is_not_listed_ranks_by_what_was_known_and_its_repetition_changes_nothing() {
    let service = Service::start(&Home::new());
    check(&service, "a", &["pending", "foo", "pending", "queued"], &["pending", "foo", "foo", "queued"]);
    check(&service, "b", &["held", "foo", "queued", "applied", "bar"], &["held", "foo", "foo", "applied", "applied"]);
    check(&service, "c", &["zoo", "foo", "bar", "foo", "zoo"], &["zoo", "foo", "bar", "bar", "bar"]);
    check(&service, "d", &["queued", "foo", "held", "foo", "bar"], &["queued", "foo", "held", "held", "bar"]);
    check(&service, "e", &["foo", "void", "baz"], &["foo", "void", "void"]);
}

#[test]
fn listed_words_end_alike_in_any_order_and_told_twice() {
    let service = Service::start(&Home::new());
    let words = ["authorized", "captured", "settled", "chargeback"];
    for (n, order) in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]].into_iter().enumerate() {
        let id = format!("order-{n}");
        for place in order.into_iter().chain(order) {
            report(&service, &id, words[place]);
        }
        assert_eq!(status(&service, &id), json!("chargeback"), "{order:?}");
    }
}
