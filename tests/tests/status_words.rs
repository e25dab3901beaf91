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
fn a_payment_reported_in_the_words_of_its_trade_ends_at_its_last_status_also_after_a_restart() {
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
    check(
        &service,
        "b",
        &["held", "foo", "queued", "applied", "bar"],
        &["held", "foo", "foo", "applied", "applied"],
    );
    check(&service, "c", &["zoo", "foo", "bar", "foo", "zoo"], &["zoo", "foo", "bar", "bar", "bar"]);
    check(&service, "d", &["queued", "foo", "held", "foo", "bar"], &["queued", "foo", "held", "held", "bar"]);
    check(&service, "e", &["foo", "void", "baz"], &["foo", "void", "void"]);
}

#[test]
fn listed_words_end_alike_in_any_order_and_reported_twice() {
    let service = Service::start(&Home::new());
    let words = ["authorized", "captured", "settled", "chargeback"];
    for (n, order) in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]].into_iter().enumerate() {
        let id = format!("order-{n}");
        for index in order.into_iter().chain(order) {
            report(&service, &id, words[index]);
        }
        assert_eq!(status(&service, &id), json!("chargeback"), "{order:?}");
    }
}

#[test]
fn words_of_the_operator_rank_by_their_stage_and_a_changed_file_is_another_version() {
    let mut home = Home::with_rules(&[(
        "settled.ws",
        sample::rule("settled", r#"count(when stage == "settled", "P1D") >= 1"#),
    )]);
    std::fs::write(home.at("words.txt"), "gebucht = settled\nstorniert = void\n").unwrap();
    let words = home.at("words.txt").to_str().unwrap().to_owned();
    home.set("SERVICE_STATUS_WORDS", &words);
    let service = Service::start(&home);
    let sent = json!({"status": "Gebucht"});
    assert_eq!(service.inject(&sample::with(&sample::transaction("a"), &sent)).status, 200);
    let probe = |service: &Service, id: &str| {
        let answer = service.inject(&sample::transaction(id)).json();
        (answer["triggered"].as_array().unwrap().len(), answer["rule_set_version"].as_u64().unwrap())
    };
    assert_eq!(probe(&service, "p1").0, 1);
    check(
        &service,
        "b",
        &["Gebucht", "pending", "Storniert", "applied"],
        &["Gebucht", "Gebucht", "Storniert", "Storniert"],
    );
    let version = probe(&service, "p2").1;
    service.stop();
    std::fs::write(home.at("words.txt"), "gebucht = held\n").unwrap();
    let service = Service::start(&home);
    assert_eq!(probe(&service, "p3"), (0, version + 1));
    service.stop();
    assert_eq!(tollgate_tests::audit::replay(&home).all_follow(), 5);
}

#[test]
fn a_file_of_words_that_is_broken_ends_the_start() {
    let mut home = Home::new();
    std::fs::write(home.at("words.txt"), "gebucht = settled\nstorniert void\n").unwrap();
    for (file, said) in [("words.txt", "line 2"), ("missing.txt", "cannot be read")] {
        let path = home.at(file).to_str().unwrap().to_owned();
        home.set("SERVICE_STATUS_WORDS", &path);
        let output = home.command(&[]).output().unwrap();
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && reported.contains(said), "{reported}");
    }
}

#[test]
fn statuses_without_effect_are_listed_once_for_each_word_up_to_32() {
    let home = Home::new();
    let service = Service::start(&home);
    report(&service, "a", "settled");
    for word in ["pending", "PENDING", "held", "pending"] {
        report(&service, "a", word);
    }
    for n in 0..40 {
        report(&service, "b", "void");
        report(&service, "b", &format!("word-{n}"));
    }
    let words = |service: &Service, id: &str| -> Vec<String> {
        let listed = service.transaction(id).expect(200)["without_effect"].clone();
        let of_entry = |one: &Value| one["status"].as_str().unwrap().to_owned();
        listed.as_array().into_iter().flatten().map(of_entry).collect()
    };
    service.stop();
    let service = Service::start(&home);
    assert_eq!(words(&service, "a"), ["pending", "held"]);
    let listed = words(&service, "b");
    assert_eq!((listed.len(), &*listed[0], &*listed[31]), (32, "word-0", "word-31"));
    let first = service.transaction("a").expect(200)["without_effect"][0].clone();
    assert_eq!(first["event"], json!("transaction.updated"));
    report(&service, "c", "settled");
    assert_eq!(service.transaction("c").expect(200).get("without_effect"), None);
}
